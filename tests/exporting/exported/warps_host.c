/* Launches the kernel of warps.cl, which lies in the current folder, through the OpenCL API (1.2).
 *
 *     cc -std=c99 -o warps_host warps_host.c -lOpenCL
 *     ./warps_host [number of the device]
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

#define SIZE 4096
#define SHARED_BYTES 16
static const size_t x_shape[1] = {SIZE};
static const size_t block[1] = {128};

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

    char *text = text_of("warps.cl");
    cl_program program = clCreateProgramWithSource(context, 1, (const char **)&text, NULL, &status);
    check(status, "clCreateProgramWithSource");
    if (clBuildProgram(program, 1, &device, "", NULL, NULL) != CL_SUCCESS) {
        static char log[65536];
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
        fprintf(stderr, "the program does not compile:\n%s\n", log);
        return 1;
    }
    cl_kernel kernel = clCreateKernel(program, "warps_", &status);
    check(status, "clCreateKernel");

    /* x */
    size_t x_count = 1;
    for (int n = 0; n < 1; n++) x_count *= x_shape[n];
    cl_int *x_data = allocate(x_count * sizeof(cl_int));
    for (size_t k = 0; k < x_count; k++) x_data[k] = (cl_int)(k % 7);
    cl_mem x_memory = clCreateBuffer(
        context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, x_count * sizeof(cl_int), x_data, &status);
    check(status, "clCreateBuffer: x");

    check(clSetKernelArg(kernel, 0, sizeof(cl_mem), &x_memory), "clSetKernelArg");
    size_t extents[1] = {x_shape[0]};
    size_t total[1];
    for (int n = 0; n < 1; n++) total[n] = (extents[n] + block[n] - 1) / block[n] * block[n];
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, total, block, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    check(clFinish(queue), "clFinish");

    check(clEnqueueReadBuffer(
              queue, x_memory, CL_TRUE, 0, x_count * sizeof(cl_int), x_data, 0, NULL, NULL),
          "clEnqueueReadBuffer: x");
    double x_sum = 0;
    for (size_t k = 0; k < x_count; k++) x_sum += (double)x_data[k];
    printf("x: first %.9g, sum %.17g\n", (double)x_data[0], x_sum);

    clReleaseMemObject(x_memory);
    free(x_data);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    free(text);
    return 0;
}
