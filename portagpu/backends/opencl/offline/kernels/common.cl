// What clang's header and libclc leave out of the functions that generated programs call, for every target.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_fp16 : enable // of the compiler: whether the target has it, the generator asked
#define vload_half(offset, place) ((float)(place)[offset])
#define atom_add(place, value) __sync_fetch_and_add(place, value)
#define atom_sub(place, value) __sync_fetch_and_sub(place, value)
#define atom_and(place, value) __sync_fetch_and_and(place, value)
#define atom_or(place, value) __sync_fetch_and_or(place, value)
#define atom_xor(place, value) __sync_fetch_and_xor(place, value)
#define atom_max(place, value) __atomic_fetch_max(place, value, __ATOMIC_RELAXED)
#define atom_min(place, value) __atomic_fetch_min(place, value, __ATOMIC_RELAXED)
#define atom_xchg(place, value) __atomic_exchange_n(place, value, __ATOMIC_RELAXED)
#define atom_cmpxchg(place, compared, value) __sync_val_compare_and_swap(place, compared, value)
