__kernel void printing(__global int *target)
{
    printf("portagpu %d %s\n", target[0], "end");
    target[0] += 1;
}
