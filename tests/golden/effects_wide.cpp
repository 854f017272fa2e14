#include <sycl/ext/oneapi/free_function_queries.hpp>
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>
#include <sycl/bit_cast.hpp>
#include <sycl/atomic_fence.hpp>
#include <sycl/atomic_ref.hpp>
#include <sycl/group_barrier.hpp>
#include <sycl/ext/oneapi/work_group_static.hpp>
#include <sycl/ext/oneapi/experimental/builtins.hpp>
#include <sycl/builtins.hpp>
// numbers are what the text says: no product is fused with a sum, and no sum is reordered
#pragma clang fp contract(off) reassociate(off)

namespace syclext = sycl::ext::oneapi;
namespace syclexp = sycl::ext::oneapi::experimental;

namespace portagpu {
using uchar = unsigned char;
using uint = unsigned int;
using ulong = unsigned long;
using sycl::fmax;
using sycl::isnan;
using sycl::min;
static inline sycl::nd_item<3> pg_item() { return syclext::this_work_item::get_nd_item<3>(); }
template <class T>
using pg_atomic_global = sycl::atomic_ref<T, sycl::memory_order::relaxed, sycl::memory_scope::device,
                                         sycl::access::address_space::global_space>;
template <class T>
using pg_atomic_local = sycl::atomic_ref<T, sycl::memory_order::relaxed, sycl::memory_scope::work_group,
                                         sycl::access::address_space::local_space>;

__attribute__((always_inline)) static inline float pg_warp_shuffle_some_float(ulong* cells, uchar* flags, float value, uint lane_or_delta, int mode, bool here) {
    // what the rows before have comes first, in 32 bits: compilers for CPUs then see that neighbours' numbers are, too
    const int row = ((int)pg_item().get_local_id(0) * (int)pg_item().get_local_range(1) + (int)pg_item().get_local_id(1)) * (int)pg_item().get_local_range(2);
    const int id = row + (int)pg_item().get_local_id(2);
    const int lane = id & 31;
    const int first = id - lane;
    const int lanes = min(32, (int)(pg_item().get_local_range(2) * pg_item().get_local_range(1) * pg_item().get_local_range(0)) - first);
    uint* values = (uint*)cells;
    values[id] = sycl::bit_cast<uint>(value);
    flags[id] = here;
    sycl::group_barrier(pg_item().get_group());
    const int operand = mode == 1 || mode == 2 ? (int)min(lane_or_delta, 64u) : (int)(lane_or_delta & 31);
    const int from = mode == 0 ? operand : mode == 1 ? lane - operand : mode == 2 ? lane + operand : lane ^ operand;
    const int source = mode == 0 ? first + operand : mode == 1 ? id - operand : mode == 2 ? id + operand : id ^ operand;
    float result = value;
    if (from >= 0 && from < lanes) {
        const float passed = sycl::bit_cast<float>(values[source]);
        result = flags[source] ? passed : value; // what is chosen where a thread is not here itself, nobody reads
    }
    return result;
}

__attribute__((always_inline)) static inline int pg_syncthreads_count_int(int* cell, int condition) {
    sycl::group_barrier(pg_item().get_group());
    if (pg_item().get_local_linear_id() == 0) *cell = 0;
    sycl::group_barrier(pg_item().get_group());
    if (condition) pg_atomic_local<int>(*cell).fetch_add(1);
    sycl::group_barrier(pg_item().get_group());
    int count = *cell;
    sycl::group_barrier(pg_item().get_group());
    return count;
}

__attribute__((always_inline)) static inline ulong pg_warp_ballots_some_uint(ulong* cells, uchar* flags, uint mask, bool condition, bool here) {
    // what the rows before have comes first, in 32 bits: compilers for CPUs then see that neighbours' numbers are, too
    const int row = ((int)pg_item().get_local_id(0) * (int)pg_item().get_local_range(1) + (int)pg_item().get_local_id(1)) * (int)pg_item().get_local_range(2);
    const int id = row + (int)pg_item().get_local_id(2);
    const int lane = id & 31;
    const int first = id - lane;
    const int lanes = min(32, (int)(pg_item().get_local_range(2) * pg_item().get_local_range(1) * pg_item().get_local_range(0)) - first);
    flags[id] = here ? condition ? 3 : 1 : 0;
    sycl::group_barrier(pg_item().get_group());
    // a byte for each thread, eight at once: a product moves their bits into its upper byte
    const ulong* bytes = (const ulong*)(flags + first);
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

static inline float pg_atomic_max_float_global(float* place, float operand) {
    pg_atomic_global<int> cell(*(int*)place);
    int expected = cell.load(), desired;
    do {
        const float old = sycl::bit_cast<float>(expected);
        const float updated = isnan(old) || isnan(operand) ? old : fmax(old, operand);
        desired = sycl::bit_cast<int>(updated);
    } while (desired != expected && !cell.compare_exchange_strong(expected, desired));
    return sycl::bit_cast<float>(expected);
}

static inline uint pg_atomic_cas_uint_global(uint* place, uint expected, uint updated) {
    pg_atomic_global<int> cell(*(int*)place);
    int old = sycl::bit_cast<int>(expected);
    cell.compare_exchange_strong(old, sycl::bit_cast<int>(updated));
    return sycl::bit_cast<uint>(old);
}

static inline uint pg_atomic_inc_uint_global(uint* place, uint operand) {
    pg_atomic_global<int> cell(*(int*)place);
    int expected = cell.load(), desired;
    do {
        const uint old = sycl::bit_cast<uint>(expected);
        const uint updated = old >= operand ? 0 : old + 1;
        desired = sycl::bit_cast<int>(updated);
    } while (desired != expected && !cell.compare_exchange_strong(expected, desired));
    return sycl::bit_cast<uint>(expected);
}
// 34: def effects(counts, sums, x):
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<3>))
void effects_(
    uint* counts_,
    float* sums_,
    const float* __restrict x) {
    alignas(128) static syclexp::work_group_static<int[1]> pg_memory_pg_vote;
    int (&pg_vote)[1] = pg_memory_pg_vote;
    alignas(128) static syclexp::work_group_static<ulong[2048]> pg_memory_pg_warp;
    ulong (&pg_warp)[2048] = pg_memory_pg_warp;
    alignas(128) static syclexp::work_group_static<uchar[2048]> pg_memory_pg_warp_flags;
    uchar (&pg_warp_flags)[2048] = pg_memory_pg_warp_flags;
    const int pg_blockDim_x = (int)pg_item().get_local_range(2);
    int found_ = 0;
    // 34: def effects(counts, sums, x):
    int pg_live1 = true;
    // 36: i = cuda.grid(1)
    long i = (long)pg_item().get_group(2) * pg_blockDim_x + (int)pg_item().get_local_id(2);
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
        if ((int)pg_item().get_local_id(2) == 0) {
            // 45: cuda.atomic.add(sums, 0, mine)
            pg_atomic_global<float>(*(sums_ + 0L)).fetch_add(mine_);
            // 46: cuda.atomic.max(sums, 1, mine)
            pg_atomic_max_float_global(sums_ + 1L, mine_);
            // 47: cuda.atomic.cas(counts, 2, 0, found)
            pg_atomic_cas_uint_global(counts_ + 2L, 0u, (uint)found_);
            // 48: cuda.atomic.inc(counts, 3, 7)
            pg_atomic_inc_uint_global(counts_ + 3L, 7u);
            // 49: cuda.threadfence()
            sycl::atomic_fence(sycl::memory_order::seq_cst, sycl::memory_scope::device);
            // 50: counts[0] = ballot
            counts_[0L] = (uint)ballot_;
            // 51: print("block", cuda.blockIdx.x, mine)
            syclexp::printf("block %ld %f\n", (long)pg_item().get_group(2), (double)mine_);
        }
    }
}
}  // namespace portagpu
