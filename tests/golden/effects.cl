#pragma OPENCL EXTENSION cl_khr_fp64 : enable

__attribute__((always_inline)) static inline float pg_warp_shuffle_some_float(__local ulong* cells, __local uchar* flags, float value, uint lane_or_delta, int mode, bool here) {
    // what the rows before have comes first, in 32 bits: compilers for CPUs then see that neighbours' numbers are, too
    const int row = ((int)get_local_id(2) * (int)get_local_size(1) + (int)get_local_id(1)) * (int)get_local_size(0);
    const int id = row + (int)get_local_id(0);
    const int lane = id & 31;
    const int first = id - lane;
    const int lanes = min(32, (int)(get_local_size(0) * get_local_size(1) * get_local_size(2)) - first);
    __local uint* values = (__local uint*)cells;
    values[id] = as_uint(value);
    flags[id] = here;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int operand = mode == 1 || mode == 2 ? (int)min(lane_or_delta, 64u) : (int)(lane_or_delta & 31);
    const int from = mode == 0 ? operand : mode == 1 ? lane - operand : mode == 2 ? lane + operand : lane ^ operand;
    const int source = mode == 0 ? first + operand : mode == 1 ? id - operand : mode == 2 ? id + operand : id ^ operand;
    float result = value;
    if (from >= 0 && from < lanes) {
        const float passed = as_float(values[source]);
        result = flags[source] ? passed : value; // what is chosen where a thread is not here itself, nobody reads
    }
    return result;
}

__attribute__((always_inline)) static inline int pg_syncthreads_count_int(__local int* cell, int condition) {
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (get_local_id(0) == 0 && get_local_id(1) == 0 && get_local_id(2) == 0) *cell = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (condition) atomic_inc(cell);
    barrier(CLK_LOCAL_MEM_FENCE);
    int count = *cell;
    barrier(CLK_LOCAL_MEM_FENCE);
    return count;
}

__attribute__((always_inline)) static inline ulong pg_warp_ballots_some_uint(__local ulong* cells, __local uchar* flags, uint mask, bool condition, bool here) {
    // what the rows before have comes first, in 32 bits: compilers for CPUs then see that neighbours' numbers are, too
    const int row = ((int)get_local_id(2) * (int)get_local_size(1) + (int)get_local_id(1)) * (int)get_local_size(0);
    const int id = row + (int)get_local_id(0);
    const int lane = id & 31;
    const int first = id - lane;
    const int lanes = min(32, (int)(get_local_size(0) * get_local_size(1) * get_local_size(2)) - first);
    flags[id] = here ? condition ? 3 : 1 : 0;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    // a byte for each thread, eight at once: a product moves their bits into its upper byte
    __local const ulong* bytes = (__local const ulong*)(flags + first);
    uint present = 0;
    present |= (uint)((bytes[0] & 0x0101010101010101ul) * 0x0102040810204080ul >> 56) << 0;
    present |= (uint)((bytes[1] & 0x0101010101010101ul) * 0x0102040810204080ul >> 56) << 8;
    present |= (uint)((bytes[2] & 0x0101010101010101ul) * 0x0102040810204080ul >> 56) << 16;
    present |= (uint)((bytes[3] & 0x0101010101010101ul) * 0x0102040810204080ul >> 56) << 24;
    present &= lanes < 32 ? (1u << lanes) - 1 : 0xFFFFFFFF;
    uint ballot = 0;
    ballot |= (uint)((bytes[0] >> 1 & 0x0101010101010101ul) * 0x0102040810204080ul >> 56) << 0;
    ballot |= (uint)((bytes[1] >> 1 & 0x0101010101010101ul) * 0x0102040810204080ul >> 56) << 8;
    ballot |= (uint)((bytes[2] >> 1 & 0x0101010101010101ul) * 0x0102040810204080ul >> 56) << 16;
    ballot |= (uint)((bytes[3] >> 1 & 0x0101010101010101ul) * 0x0102040810204080ul >> 56) << 24;
    ballot &= lanes < 32 ? (1u << lanes) - 1 : 0xFFFFFFFF;
    return (ulong)(present & mask) << 32 | (ballot & mask);
}

static inline float pg_atomic_add_float_global(volatile __global float* place, float operand) {
    volatile __global int* cell = (volatile __global int*)place;
    int seen = atomic_cmpxchg(cell, 0, 0);
    int expected;
    do {
        expected = seen;
        float old = as_float(expected);
        float updated = old + operand;
        if (as_int(updated) == expected) break;
        seen = atomic_cmpxchg(cell, expected, as_int(updated));
    } while (seen != expected);
    return as_float(expected);
}

static inline float pg_atomic_max_float_global(volatile __global float* place, float operand) {
    volatile __global int* cell = (volatile __global int*)place;
    int seen = atomic_cmpxchg(cell, 0, 0);
    int expected;
    do {
        expected = seen;
        float old = as_float(expected);
        float updated = isnan(old) || isnan(operand) ? old : fmax(old, operand);
        if (as_int(updated) == expected) break;
        seen = atomic_cmpxchg(cell, expected, as_int(updated));
    } while (seen != expected);
    return as_float(expected);
}

static inline uint pg_atomic_inc_uint_global(volatile __global uint* place, uint operand) {
    volatile __global int* cell = (volatile __global int*)place;
    int seen = atomic_cmpxchg(cell, 0, 0);
    int expected;
    do {
        expected = seen;
        uint old = as_uint(expected);
        uint updated = old >= operand ? 0 : old + 1;
        if (as_int(updated) == expected) break;
        seen = atomic_cmpxchg(cell, expected, as_int(updated));
    } while (seen != expected);
    return as_uint(expected);
}
// 34: def effects(counts, sums, x):
__kernel void effects_(
    __global uint* counts_,
    __global float* sums_,
    __global const float* restrict x) {
    __local int pg_vote[1] __attribute__((aligned(128)));
    __local ulong pg_warp[2048] __attribute__((aligned(128)));
    __local uchar pg_warp_flags[2048] __attribute__((aligned(128)));
    int found_ = 0;
    // 34: def effects(counts, sums, x):
    int pg_live1 = true;
    // 36: i = cuda.grid(1)
    int i = (int)get_global_id(0);
    // 37: mine = x[i]
    float mine_ = x[i];
    // 38: if mine < 0:
    if (mine_ < 0.0f) {
        // 39: raise ValueError("negative", mine)
        pg_live1 = false;
    }
    // 41: mine += cuda.shfl_down_sync(0xFFFFFFFF, mine, step)
    float t1 = pg_warp_shuffle_some_float(pg_warp + 1024, pg_warp_flags + 1024, mine_, 16u, 2, pg_live1);
    if (pg_live1) {
        mine_ = mine_ + t1;
    }
    float t2 = pg_warp_shuffle_some_float(pg_warp, pg_warp_flags, mine_, 8u, 2, pg_live1);
    if (pg_live1) {
        mine_ = mine_ + t2;
    }
    float t3 = pg_warp_shuffle_some_float(pg_warp + 1024, pg_warp_flags + 1024, mine_, 4u, 2, pg_live1);
    if (pg_live1) {
        mine_ = mine_ + t3;
    }
    float t4 = pg_warp_shuffle_some_float(pg_warp, pg_warp_flags, mine_, 2u, 2, pg_live1);
    if (pg_live1) {
        mine_ = mine_ + t4;
    }
    float t5 = pg_warp_shuffle_some_float(pg_warp + 1024, pg_warp_flags + 1024, mine_, 1u, 2, pg_live1);
    if (pg_live1) {
        mine_ = mine_ + t5;
    }
    // 42: found = cuda.syncthreads_count(mine > 1)
    int t6 = pg_syncthreads_count_int(pg_vote, pg_live1 ? (int)(mine_ > 1.0f) : 0);
    if (pg_live1) {
        found_ = t6;
    }
    // 43: ballot = cuda.ballot_sync(0xFFFFFFFF, mine > 2)
    ulong pg_t7_pair = pg_warp_ballots_some_uint(pg_warp, pg_warp_flags, 4294967295u, mine_ > 2.0f, pg_live1);
    if (pg_live1) {
        uint t7 = (uint)pg_t7_pair;
        int ballot_ = (int)t7;
        // 44: if cuda.threadIdx.x == 0:
        if ((int)get_local_id(0) == 0) {
            // 45: cuda.atomic.add(sums, 0, mine)
            pg_atomic_add_float_global((volatile __global float*)(sums_ + 0), mine_);
            // 46: cuda.atomic.max(sums, 1, mine)
            pg_atomic_max_float_global((volatile __global float*)(sums_ + 1), mine_);
            // 47: cuda.atomic.cas(counts, 2, 0, found)
            atomic_cmpxchg((volatile __global uint*)(counts_ + 2), 0u, (uint)found_);
            // 48: cuda.atomic.inc(counts, 3, 7)
            pg_atomic_inc_uint_global((volatile __global uint*)(counts_ + 3), 7u);
            // 49: cuda.threadfence()
            mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            // 50: counts[0] = ballot
            counts_[0] = (uint)ballot_;
            // 51: print("block", cuda.blockIdx.x, mine)
            printf("block %ld %f\n", (long)get_group_id(0), (double)mine_);
        }
    }
}
