// NVIDIA's OpenCL takes inline assembly and half without asking for an extension.
#define asm __asm__
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
