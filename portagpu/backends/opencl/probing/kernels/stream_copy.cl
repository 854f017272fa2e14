// Copies vectors of 16 bytes: item i starts at i * spacing and goes on in steps of stride, `passes` times over.
__kernel void stream_copy(__global float4 *target, __global const float4 *source, int spacing, int stride, int count,
                          int passes)
{
    const int first = get_global_id(0) * spacing;
    for (int pass = 0; pass < passes; ++pass)
        for (int step = 0; step < count; ++step) {
            const int at = first + step * stride;
            target[at] = source[at] + (float)pass;
        }
}
