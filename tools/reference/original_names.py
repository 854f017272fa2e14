"""Names that the manual of numba.cuda documents: a test checks that each is here, or is said not to be portable."""

from __future__ import annotations

# inside kernels
DEVICE = """
threadIdx.x threadIdx.y threadIdx.z blockIdx.x blockIdx.y blockIdx.z blockDim.x blockDim.y blockDim.z
gridDim.x gridDim.y gridDim.z laneid warpsize grid gridsize
shared.array local.array const.array_like
atomic.add atomic.sub atomic.and_ atomic.or_ atomic.xor atomic.inc atomic.dec atomic.exch atomic.max atomic.min
atomic.nanmax atomic.nanmin atomic.cas atomic.compare_and_swap
syncthreads syncthreads_count syncthreads_and syncthreads_or syncwarp threadfence threadfence_block threadfence_system
cg.this_grid shfl_sync shfl_up_sync shfl_down_sync shfl_xor_sync all_sync any_sync eq_sync ballot_sync match_any_sync
match_all_sync activemask lanemask_lt popc brev clz ffs fma cbrt selp nanosleep
fp16.hfma fp16.hadd fp16.hsub fp16.hmul fp16.hdiv fp16.hneg fp16.habs fp16.hsin fp16.hcos fp16.hlog fp16.hlog10
fp16.hlog2 fp16.hexp fp16.hexp10 fp16.hexp2 fp16.hfloor fp16.hceil fp16.hsqrt fp16.hrsqrt fp16.hrcp fp16.hrint
fp16.htrunc fp16.heq fp16.hne fp16.hge fp16.hgt fp16.hle fp16.hlt fp16.hmax fp16.hmin
float32x4 float32x2 float64x2 int32x4 uint8x4 int64x3 float4 double2 int3 uint2 uchar4 char2 short4 ushort2 long2 ulong2
longlong2 ulonglong2
random.create_xoroshiro128p_states random.init_xoroshiro128p_states random.xoroshiro128p_uniform_float32
random.xoroshiro128p_uniform_float64 random.xoroshiro128p_normal_float32 random.xoroshiro128p_normal_float64
""".split()

# on the host
HOST = """
jit compile compile_ptx compile_for_current_device compile_ptx_for_current_device declare_device
to_device device_array device_array_like pinned pinned_array pinned_array_like mapped mapped_array mapped_array_like
managed_array as_cuda_array is_cuda_array from_cuda_array_interface open_ipc_array In Out InOut
stream default_stream legacy_default_stream per_thread_default_stream external_stream event event_elapsed_time
synchronize gpus gpus.current gpus.lst list_devices select_device get_current_device current_context close
require_context is_available is_supported_version is_float16_supported detect defer_cleanup profile_start profile_stop
profiling reduce Reduce runtime.get_version
set_memory_manager BaseCUDAMemoryManager HostOnlyCUDAMemoryManager GetIpcHandleMixin MemoryInfo MemoryPointer
MappedMemory PinnedMemory IpcHandle
""".split()

# of objects on the host, by the class here
MEMBERS = {
    "Dispatcher": """
        forall specialize extensions inspect_asm inspect_llvm inspect_sass inspect_types get_regs_per_thread
        get_shared_mem_per_block get_const_mem_size get_local_mem_per_thread get_max_threads_per_block overloads
    """.split(),
    "DeviceNDArray": """
        copy_to_host copy_to_device is_c_contiguous is_f_contiguous ravel reshape split transpose T view bind
        get_ipc_handle getitem setitem squeeze __cuda_array_interface__
    """.split(),
    "Stream": "synchronize auto_synchronize add_callback async_done".split(),
    "Event": "record synchronize wait query elapsed_time".split(),
}

LIBDEVICE = """
abs acos acosf acosh acoshf asin asinf asinh asinhf atan atan2 atan2f atanf atanh atanhf brev brevll byte_perm
cbrt cbrtf ceil ceilf clz clzll copysign copysignf cos cosf cosh coshf cospi cospif dadd_rd dadd_rn dadd_ru
dadd_rz ddiv_rd ddiv_rn ddiv_ru ddiv_rz dmul_rd dmul_rn dmul_ru dmul_rz double2float_rd double2float_rn
double2float_ru double2float_rz double2hiint double2int_rd double2int_rn double2int_ru double2int_rz
double2ll_rd double2ll_rn double2ll_ru double2ll_rz double2loint double2uint_rd double2uint_rn double2uint_ru
double2uint_rz double2ull_rd double2ull_rn double2ull_ru double2ull_rz double_as_longlong drcp_rd drcp_rn
drcp_ru drcp_rz dsqrt_rd dsqrt_rn dsqrt_ru dsqrt_rz erf erfc erfcf erfcinv erfcinvf erfcx erfcxf erff erfinv
erfinvf exp exp10 exp10f exp2 exp2f expf expm1 expm1f fabs fabsf fadd_rd fadd_rn fadd_ru fadd_rz fast_cosf
fast_exp10f fast_expf fast_fdividef fast_log10f fast_log2f fast_logf fast_powf fast_sincosf fast_sinf fast_tanf
fdim fdimf fdiv_rd fdiv_rn fdiv_ru fdiv_rz ffs ffsll finitef float2half_rn float2int_rd float2int_rn
float2int_ru float2int_rz float2ll_rd float2ll_rn float2ll_ru float2ll_rz float2uint_rd float2uint_rn
float2uint_ru float2uint_rz float2ull_rd float2ull_rn float2ull_ru float2ull_rz float_as_int floor floorf fma
fma_rd fma_rn fma_ru fma_rz fmaf fmaf_rd fmaf_rn fmaf_ru fmaf_rz fmax fmaxf fmin fminf fmod fmodf fmul_rd
fmul_rn fmul_ru fmul_rz frcp_rd frcp_rn frcp_ru frcp_rz frexp frexpf frsqrt_rn fsqrt_rd fsqrt_rn fsqrt_ru
fsqrt_rz fsub_rd fsub_rn fsub_ru fsub_rz hadd half2float hiloint2double hypot hypotf ilogb ilogbf int2double_rn
int2float_rd int2float_rn int2float_ru int2float_rz int_as_float isfinited isinfd isinff isnand isnanf j0 j0f j1
j1f jn jnf ldexp ldexpf lgamma lgammaf ll2double_rd ll2double_rn ll2double_ru ll2double_rz ll2float_rd
ll2float_rn ll2float_ru ll2float_rz llabs llmax llmin llrint llrintf llround llroundf log log10 log10f log1p
log1pf log2 log2f logb logbf logf longlong_as_double max min modf modff mul24 mul64hi mulhi nearbyint nearbyintf
nextafter nextafterf normcdf normcdff normcdfinv normcdfinvf popc popcll pow powf powi powif rcbrt rcbrtf
remainder remainderf remquo remquof rhadd rint rintf round roundf rsqrt rsqrtf sad saturatef scalbn scalbnf
signbitd signbitf sin sincos sincosf sincospi sincospif sinf sinh sinhf sinpi sinpif sqrt sqrtf tan tanf tanh
tanhf tgamma tgammaf trunc truncf uhadd uint2double_rn uint2float_rd uint2float_rn uint2float_ru uint2float_rz
ull2double_rd ull2double_rn ull2double_ru ull2double_rz ull2float_rd ull2float_rn ull2float_ru ull2float_rz
ullmax ullmin umax umin umul24 umul64hi umulhi urhadd usad y0 y0f y1 y1f yn ynf
""".split()
