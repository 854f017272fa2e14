/* Launches the kernel of product.cl, which lies in the current folder, through the OpenCL API (1.2).
 *
 *     cc -std=c99 -o product_host product_host.c -lOpenCL
 *     ./product_host [number of the device]
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

#define SIZE 21
#define SHARED_BYTES 16
static const size_t a_shape[2] = {SIZE, SIZE};
static const size_t b_shape[2] = {SIZE, SIZE};
static const size_t c_shape[2] = {SIZE, SIZE};
static const size_t block[2] = {8, 8};

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

    char *text = text_of("product.cl");
    cl_program program = clCreateProgramWithSource(context, 1, (const char **)&text, NULL, &status);
    check(status, "clCreateProgramWithSource");
    if (clBuildProgram(program, 1, &device, "", NULL, NULL) != CL_SUCCESS) {
        static char log[65536];
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
        fprintf(stderr, "the program does not compile:\n%s\n", log);
        return 1;
    }
    cl_kernel kernel = clCreateKernel(program, "product_", &status);
    check(status, "clCreateKernel");

    /* a */
    size_t a_count = 1;
    for (int n = 0; n < 2; n++) a_count *= a_shape[n];
    cl_float *a_data = allocate(a_count * sizeof(cl_float));
    for (size_t k = 0; k < a_count; k++) a_data[k] = 0.25f * (float)(k % 7);
    cl_mem a_memory = clCreateBuffer(
        context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, a_count * sizeof(cl_float), a_data, &status);
    check(status, "clCreateBuffer: a");

    /* b */
    size_t b_count = 1;
    for (int n = 0; n < 2; n++) b_count *= b_shape[n];
    cl_float *b_data = allocate(b_count * sizeof(cl_float));
    for (size_t k = 0; k < b_count; k++) b_data[k] = 0.25f * (float)(k % 7);
    cl_mem b_memory = clCreateBuffer(
        context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, b_count * sizeof(cl_float), b_data, &status);
    check(status, "clCreateBuffer: b");

    /* c */
    size_t c_count = 1;
    for (int n = 0; n < 2; n++) c_count *= c_shape[n];
    cl_float *c_data = allocate(c_count * sizeof(cl_float));
    for (size_t k = 0; k < c_count; k++) c_data[k] = 0.25f * (float)(k % 7);
    cl_mem c_memory = clCreateBuffer(
        context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, c_count * sizeof(cl_float), c_data, &status);
    check(status, "clCreateBuffer: c");

    check(clSetKernelArg(kernel, 0, sizeof(cl_mem), &a_memory), "clSetKernelArg");
    check(clSetKernelArg(kernel, 1, sizeof(cl_int), &(cl_int){a_shape[0]}), "clSetKernelArg");
    check(clSetKernelArg(kernel, 2, sizeof(cl_int), &(cl_int){a_shape[1]}), "clSetKernelArg");
    check(clSetKernelArg(kernel, 3, sizeof(cl_mem), &b_memory), "clSetKernelArg");
    check(clSetKernelArg(kernel, 4, sizeof(cl_int), &(cl_int){b_shape[0]}), "clSetKernelArg");
    check(clSetKernelArg(kernel, 5, sizeof(cl_int), &(cl_int){b_shape[1]}), "clSetKernelArg");
    check(clSetKernelArg(kernel, 6, sizeof(cl_mem), &c_memory), "clSetKernelArg");
    check(clSetKernelArg(kernel, 7, sizeof(cl_int), &(cl_int){c_shape[0]}), "clSetKernelArg");
    check(clSetKernelArg(kernel, 8, sizeof(cl_int), &(cl_int){c_shape[1]}), "clSetKernelArg");
    check(clSetKernelArg(kernel, 9, sizeof(cl_int), &(cl_int){c_shape[1]}), "clSetKernelArg");
    check(clSetKernelArg(kernel, 10, sizeof(cl_int), &(cl_int){1}), "clSetKernelArg");
    size_t extents[2] = {a_shape[1], a_shape[0]};
    size_t total[2];
    for (int n = 0; n < 2; n++) total[n] = (extents[n] + block[n] - 1) / block[n] * block[n];
    check(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, total, block, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    check(clFinish(queue), "clFinish");

    check(clEnqueueReadBuffer(
              queue, a_memory, CL_TRUE, 0, a_count * sizeof(cl_float), a_data, 0, NULL, NULL),
          "clEnqueueReadBuffer: a");
    double a_sum = 0;
    for (size_t k = 0; k < a_count; k++) a_sum += (double)a_data[k];
    printf("a: first %.9g, sum %.17g\n", (double)a_data[0], a_sum);
    check(clEnqueueReadBuffer(
              queue, b_memory, CL_TRUE, 0, b_count * sizeof(cl_float), b_data, 0, NULL, NULL),
          "clEnqueueReadBuffer: b");
    double b_sum = 0;
    for (size_t k = 0; k < b_count; k++) b_sum += (double)b_data[k];
    printf("b: first %.9g, sum %.17g\n", (double)b_data[0], b_sum);
    check(clEnqueueReadBuffer(
              queue, c_memory, CL_TRUE, 0, c_count * sizeof(cl_float), c_data, 0, NULL, NULL),
          "clEnqueueReadBuffer: c");
    double c_sum = 0;
    for (size_t k = 0; k < c_count; k++) c_sum += (double)c_data[k];
    printf("c: first %.9g, sum %.17g\n", (double)c_data[0], c_sum);

    clReleaseMemObject(a_memory);
    free(a_data);
    clReleaseMemObject(b_memory);
    free(b_data);
    clReleaseMemObject(c_memory);
    free(c_data);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    free(text);
    return 0;
}
