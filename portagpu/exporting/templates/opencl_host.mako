/* Launches the kernel of ${view.export.name}.cl, which lies in the current folder, through the OpenCL API (1.2).
 *
 *     cc -std=c99 -o ${view.export.name}_host ${view.export.name}_host.c -lOpenCL
 *     ./${view.export.name}_host [number of the device]
 *
 * Made by PortaGPU ${view.version}. Sizes and numbers are below; what the arrays begin with is written where they are made.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE ${view.export.size}
% for name, value in view.numbers:
#define ${name}_value ${value}
% endfor
#define SHARED_BYTES ${view.shared}
% for array in view.arrays:
% if array.ndim:
static const size_t ${array.name}_shape[${array.ndim}] = {${", ".join(["SIZE"] * array.ndim)}};
% endif
% endfor
static const size_t block[${view.export.axes}] = {${", ".join(map(str, view.export.block[:view.export.axes]))}};
% if view.faults:
static const char *const faults[] = {
% for fault in view.faults:
    "${fault}",
% endfor
};
% endif

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

% if any(a.fill.startswith("float16_") for a in view.arrays):
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

% endif
% if any(a.fill.startswith("bfloat16_") for a in view.arrays):
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

% endif
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

    char *text = text_of("${view.export.name}.cl");
    cl_program program = clCreateProgramWithSource(context, 1, (const char **)&text, NULL, &status);
    check(status, "clCreateProgramWithSource");
    if (clBuildProgram(program, 1, &device, "${view.options}", NULL, NULL) != CL_SUCCESS) {
        static char log[65536];
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
        fprintf(stderr, "the program does not compile:\n%s\n", log);
        return 1;
    }
    cl_kernel kernel = clCreateKernel(program, "${view.export.kernel_source.name}", &status);
    check(status, "clCreateKernel");

% for array in view.arrays:
    /* ${array.name} */
    size_t ${array.name}_count = ${array.parts};
% if array.ndim:
    for (int n = 0; n < ${array.ndim}; n++) ${array.name}_count *= ${array.name}_shape[n];
% endif
    ${array.type} *${array.name}_data = allocate(${array.name}_count * sizeof(${array.type}));
    for (size_t k = 0; k < ${array.name}_count; k++) ${array.name}_data[k] = ${array.fill};
    cl_mem ${array.name}_memory = clCreateBuffer(
        context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, ${array.name}_count * sizeof(${array.type}), ${array.name}_data, &status);
    check(status, "clCreateBuffer: ${array.name}");

% endfor
% if view.faults:
    cl_long raised[${view.fault_size}] = {0};
    cl_mem raised_memory = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof raised, raised, &status);
    check(status, "clCreateBuffer");

% endif
% for setting in view.settings:
    check(${setting}, "clSetKernelArg");
% endfor
    size_t extents[${view.export.axes}] = {${", ".join(view.blocks)}};
    size_t total[${view.export.axes}];
    for (int n = 0; n < ${view.export.axes}; n++) total[n] = (extents[n] + block[n] - 1) / block[n] * block[n];
    check(clEnqueueNDRangeKernel(queue, kernel, ${view.export.axes}, NULL, total, block, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    check(clFinish(queue), "clFinish");

% if view.faults:
    check(clEnqueueReadBuffer(queue, raised_memory, CL_TRUE, 0, sizeof raised, raised, 0, NULL, NULL), "clEnqueueReadBuffer");
    if (raised[0] != 0) {
        fprintf(stderr, "the kernel raised %s\n", faults[raised[0] - 1]);
        return 1;
    }
% endif
% for array in view.arrays:
    check(clEnqueueReadBuffer(
              queue, ${array.name}_memory, CL_TRUE, 0, ${array.name}_count * sizeof(${array.type}), ${array.name}_data, 0, NULL, NULL),
          "clEnqueueReadBuffer: ${array.name}");
    double ${array.name}_sum = 0;
    for (size_t k = 0; k < ${array.name}_count; k++) ${array.name}_sum += ${array.read.format(array.name + "_data[k]")};
    printf("${array.name}: first %.9g, sum %.17g\n", ${array.read.format(array.name + "_data[0]")}, ${array.name}_sum);
% endfor

% for array in view.arrays:
    clReleaseMemObject(${array.name}_memory);
    free(${array.name}_data);
% endfor
% if view.faults:
    clReleaseMemObject(raised_memory);
% endif
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    free(text);
    return 0;
}
