/* Launches the kernel of many_types.cl, which lies in the current folder, through the OpenCL API (1.2).
 *
 *     cc -std=c99 -o many_types_host many_types_host.c -lOpenCL
 *     ./many_types_host [number of the device]
 *
 * Made by PortaGPU VERSION. Sizes and numbers are below; what the arrays begin with is written where they are made.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE 300
#define w_value {{1.0, -2.0}}
#define SHARED_BYTES 16
static const size_t h_shape[1] = {SIZE};
static const size_t b_shape[1] = {SIZE};
static const size_t z_shape[1] = {SIZE};
static const size_t flags_shape[1] = {SIZE};
static const size_t counts_shape[1] = {SIZE};
static const size_t block[1] = {256};

static void check(cl_int status, const char *what) {
    if (status != CL_SUCCESS) {
        fprintf(stderr, "%s: OpenCL error %d\n", what, (int)status);
        exit(1);
    }
}

static void *allocate(size_t bytes) {
    void *memory = calloc(bytes ? bytes : 1, 1);
    if (memory == NULL) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
        exit(1);
    }
    return memory;
}

static char *text_of(const char *path) {
    FILE *file = fopen(path, "rb");
    long size = -1;
    if (file != NULL && fseek(file, 0, SEEK_END) == 0) size = ftell(file);
    if (size < 0) {
        fprintf(stderr, "%s cannot be read\n", path);
        exit(1);
    }
    rewind(file);
    char *text = allocate((size_t)size + 1);
    if (fread(text, 1, (size_t)size, file) != (size_t)size) {
        fprintf(stderr, "%s cannot be read\n", path);
        exit(1);
    }
    fclose(file);
    return text;
}

/* The device of a number, counted over all platforms. */
static cl_device_id device_of(unsigned number) {
    cl_platform_id platforms[16];
    cl_uint platform_count = 0;
    check(clGetPlatformIDs(16, platforms, &platform_count), "clGetPlatformIDs");
    for (cl_uint p = 0; p < platform_count && p < 16; p++) {
        cl_device_id devices[64];
        cl_uint count = 0;
        if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 64, devices, &count) != CL_SUCCESS) continue;
        if (count > 64) count = 64;
        if (number < count) return devices[number];
        number -= count;
    }
    fprintf(stderr, "there is no such OpenCL device\n");
    exit(1);
}

/* IEEE's half precision, for numbers that it has exactly. */
static cl_ushort float16_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude < 0x38800000) return (cl_ushort)sign;
    return (cl_ushort)(sign | ((magnitude - 0x38000000) >> 13));
}

static double float16_value(cl_ushort half) {
    int exponent = half >> 10 & 31, fraction = half & 1023;
    if (exponent == 31) return fraction ? NAN : half & 0x8000 ? -INFINITY : INFINITY;
    double value = exponent ? 1024 + fraction : fraction;
    for (int n = exponent ? exponent : 1; n < 25; n++) value /= 2;
    for (int n = 25; n < exponent; n++) value *= 2;
    return half & 0x8000 ? -value : value;
}

/* The upper half of a float. */
static cl_ushort bfloat16_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (cl_ushort)(bits >> 16);
}

static double bfloat16_value(cl_ushort half) {
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

int main(int argc, char **argv) {
    cl_int status;
    cl_device_id device = device_of(argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0);
    char name[256] = "";
    check(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name - 1, name, NULL), "clGetDeviceInfo");
    printf("device: %s\n", name);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    check(status, "clCreateCommandQueue");

    char *text = text_of("many_types.cl");
    cl_program program = clCreateProgramWithSource(context, 1, (const char **)&text, NULL, &status);
    check(status, "clCreateProgramWithSource");
    if (clBuildProgram(program, 1, &device, "", NULL, NULL) != CL_SUCCESS) {
        static char log[65536];
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
        fprintf(stderr, "the program does not compile:\n%s\n", log);
        return 1;
    }
    cl_kernel kernel = clCreateKernel(program, "many_types_", &status);
    check(status, "clCreateKernel");

    /* h */
    size_t h_count = 1;
    for (int n = 0; n < 1; n++) h_count *= h_shape[n];
    cl_ushort *h_data = allocate(h_count * sizeof(cl_ushort));
    for (size_t k = 0; k < h_count; k++) h_data[k] = float16_bits(0.25f * (float)(k % 7));
    cl_mem h_memory = clCreateBuffer(
        context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, h_count * sizeof(cl_ushort), h_data, &status);
    check(status, "clCreateBuffer: h");

    /* b */
    size_t b_count = 1;
    for (int n = 0; n < 1; n++) b_count *= b_shape[n];
    cl_ushort *b_data = allocate(b_count * sizeof(cl_ushort));
    for (size_t k = 0; k < b_count; k++) b_data[k] = bfloat16_bits(0.25f * (float)(k % 7));
    cl_mem b_memory = clCreateBuffer(
        context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, b_count * sizeof(cl_ushort), b_data, &status);
    check(status, "clCreateBuffer: b");

    /* z */
    size_t z_count = 2;
    for (int n = 0; n < 1; n++) z_count *= z_shape[n];
    cl_float *z_data = allocate(z_count * sizeof(cl_float));
    for (size_t k = 0; k < z_count; k++) z_data[k] = 0.25f * (float)(k % 7);
    cl_mem z_memory = clCreateBuffer(
        context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, z_count * sizeof(cl_float), z_data, &status);
    check(status, "clCreateBuffer: z");

    /* flags */
    size_t flags_count = 1;
    for (int n = 0; n < 1; n++) flags_count *= flags_shape[n];
    cl_uchar *flags_data = allocate(flags_count * sizeof(cl_uchar));
    for (size_t k = 0; k < flags_count; k++) flags_data[k] = (cl_uchar)(k % 2);
    cl_mem flags_memory = clCreateBuffer(
        context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, flags_count * sizeof(cl_uchar), flags_data, &status);
    check(status, "clCreateBuffer: flags");

    /* counts */
    size_t counts_count = 1;
    for (int n = 0; n < 1; n++) counts_count *= counts_shape[n];
    cl_long *counts_data = allocate(counts_count * sizeof(cl_long));
    for (size_t k = 0; k < counts_count; k++) counts_data[k] = (cl_long)(k % 7);
    cl_mem counts_memory = clCreateBuffer(
        context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, counts_count * sizeof(cl_long), counts_data, &status);
    check(status, "clCreateBuffer: counts");

    check(clSetKernelArg(kernel, 0, sizeof(cl_mem), &h_memory), "clSetKernelArg");
    check(clSetKernelArg(kernel, 1, sizeof(cl_int), &(cl_int){h_shape[0]}), "clSetKernelArg");
    check(clSetKernelArg(kernel, 2, sizeof(cl_mem), &b_memory), "clSetKernelArg");
    check(clSetKernelArg(kernel, 3, sizeof(cl_int), &(cl_int){1}), "clSetKernelArg");
    check(clSetKernelArg(kernel, 4, sizeof(cl_mem), &z_memory), "clSetKernelArg");
    check(clSetKernelArg(kernel, 5, sizeof(cl_mem), &flags_memory), "clSetKernelArg");
    check(clSetKernelArg(kernel, 6, sizeof(cl_int), &(cl_int){1}), "clSetKernelArg");
    check(clSetKernelArg(kernel, 7, sizeof(cl_mem), &counts_memory), "clSetKernelArg");
    check(clSetKernelArg(kernel, 8, sizeof(cl_double2), &(cl_double2)w_value), "clSetKernelArg");
    size_t extents[1] = {h_shape[0]};
    size_t total[1];
    for (int n = 0; n < 1; n++) total[n] = (extents[n] + block[n] - 1) / block[n] * block[n];
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, total, block, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    check(clFinish(queue), "clFinish");

    check(clEnqueueReadBuffer(
              queue, h_memory, CL_TRUE, 0, h_count * sizeof(cl_ushort), h_data, 0, NULL, NULL),
          "clEnqueueReadBuffer: h");
    double h_sum = 0;
    for (size_t k = 0; k < h_count; k++) h_sum += float16_value(h_data[k]);
    printf("h: first %.9g, sum %.17g\n", float16_value(h_data[0]), h_sum);
    check(clEnqueueReadBuffer(
              queue, b_memory, CL_TRUE, 0, b_count * sizeof(cl_ushort), b_data, 0, NULL, NULL),
          "clEnqueueReadBuffer: b");
    double b_sum = 0;
    for (size_t k = 0; k < b_count; k++) b_sum += bfloat16_value(b_data[k]);
    printf("b: first %.9g, sum %.17g\n", bfloat16_value(b_data[0]), b_sum);
    check(clEnqueueReadBuffer(
              queue, z_memory, CL_TRUE, 0, z_count * sizeof(cl_float), z_data, 0, NULL, NULL),
          "clEnqueueReadBuffer: z");
    double z_sum = 0;
    for (size_t k = 0; k < z_count; k++) z_sum += (double)z_data[k];
    printf("z: first %.9g, sum %.17g\n", (double)z_data[0], z_sum);
    check(clEnqueueReadBuffer(
              queue, flags_memory, CL_TRUE, 0, flags_count * sizeof(cl_uchar), flags_data, 0, NULL, NULL),
          "clEnqueueReadBuffer: flags");
    double flags_sum = 0;
    for (size_t k = 0; k < flags_count; k++) flags_sum += (double)flags_data[k];
    printf("flags: first %.9g, sum %.17g\n", (double)flags_data[0], flags_sum);
    check(clEnqueueReadBuffer(
              queue, counts_memory, CL_TRUE, 0, counts_count * sizeof(cl_long), counts_data, 0, NULL, NULL),
          "clEnqueueReadBuffer: counts");
    double counts_sum = 0;
    for (size_t k = 0; k < counts_count; k++) counts_sum += (double)counts_data[k];
    printf("counts: first %.9g, sum %.17g\n", (double)counts_data[0], counts_sum);

    clReleaseMemObject(h_memory);
    free(h_data);
    clReleaseMemObject(b_memory);
    free(b_data);
    clReleaseMemObject(z_memory);
    free(z_data);
    clReleaseMemObject(flags_memory);
    free(flags_data);
    clReleaseMemObject(counts_memory);
    free(counts_data);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    free(text);
    return 0;
}
