#include <sycl/ext/oneapi/free_function_queries.hpp>
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>
#include <sycl/bit_cast.hpp>
#include <sycl/group_barrier.hpp>
#include <sycl/ext/oneapi/work_group_static.hpp>
#include <sycl/vector.hpp>
#include <sycl/builtins.hpp>
// numbers are what the text says: no product is fused with a sum, and no sum is reordered
#pragma clang fp contract(off) reassociate(off)

namespace syclext = sycl::ext::oneapi;
namespace syclexp = sycl::ext::oneapi::experimental;

namespace portagpu {
using uint = unsigned int;
using float4 = sycl::vec<float, 4>;
using sycl::fma;
using sycl::max;
using sycl::min;
static inline sycl::nd_item<3> pg_item() { return syclext::this_work_item::get_nd_item<3>(); }

static inline int pg_wrap_index_int(int index, int extent) {
    return index < 0 ? index + extent : index;
}

static inline int pg_floordiv_int(int a, int b) {
    if (b == 0) return 0;
    if (b == -1) return (int)(0 - (uint)a);
    int quotient = a / b;
    return (a - quotient * b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

static inline int pg_mod_int(int a, int b) {
    if (b == 0 || b == -1) return 0;
    int rest = a - a / b * b;
    return (rest != 0 && (rest < 0) != (b < 0)) ? rest + b : rest;
}
// 67: def _load(lines, row, column, rows, columns, plan: cuda.constexpr):
static inline float4 u_load_(const float* lines_memory_, int lines_memory_1_, int lines_start_, int lines_pitch_, int row_, int column_, int rows_, int columns_) {
    // 71: return vector(cuda.vload(lines.memory, lines.start + row * lines.pitch + column, vector.lanes, aligned=True))
    return *(const float4*)(lines_memory_ + pg_wrap_index_int(lines_start_ + row_ * lines_pitch_ + column_, lines_memory_1_));
}

// 21: def multiply_add(x, y, z, whole: cuda.constexpr):
static inline float multiply_add_(float x, float y, float z) {
    // 25: return cuda.fma(x, y, z)
    return fma(x, y, z);
}

// 137: def store_vector(total, c, place, matrix, row, column, factors, epilogue, aligned: cuda.constexpr):
static inline void store_vector_(float4 total_, float* c, int c_1_, int place_, int matrix_, int row_, int column_, float factors_alpha_, float factors_beta_) {
    // 139: value = epilogue.scaled(total)
    float4 value_ = total_;
    // 149: cuda.vstore(epilogue.stored(value), c, place, aligned=aligned)
    *(float4*)(c + (place_ < 0 ? place_ + c_1_ : place_)) = value_;
}

// 85: def multiply_tiles(a, b, c, offsets, extents, batch, split, factors, plan: cuda.constexpr, epilogue: cuda.constexpr):
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<3>))
void multiply_tiles_(
    float* a_memory_,
    int a_memory_n0_,
    int a_memory_n1_,
    int a_pitch_,
    int a_batch_,
    float* b_memory_,
    int b_memory_n0_,
    int b_memory_n1_,
    int b_pitch_,
    int b_batch_,
    float* c_memory_,
    int c_memory_n0_,
    int c_memory_n1_,
    int c_pitch_,
    int c_batch_,
    int extents_m_,
    int extents_n_,
    int extents_k_,
    int split_count_,
    int split_terms_,
    float factors_alpha_,
    float factors_beta_) {
    alignas(128) static syclexp::work_group_static<float[160]> pg_memory_tile_a_;
    float (&tile_a_)[160] = pg_memory_tile_a_;
    alignas(128) static syclexp::work_group_static<float[160]> pg_memory_tile_b_;
    float (&tile_b_)[160] = pg_memory_tile_b_;
    float4 next_a__0;
    float4 next_b__0;
    float4 rows__0;
    float4 columns__0;
    float acc__0_0, acc__0_1, acc__0_2, acc__0_3, acc__1_0, acc__1_1, acc__1_2, acc__1_3;
    float acc__2_0, acc__2_1, acc__2_2, acc__2_3, acc__3_0, acc__3_1, acc__3_2, acc__3_3;
    int place_ = 0;
    // 111: flat_a = a.memory.T.ravel() if a_transposed and a.memory.ndim == 2 else a.memory.ravel()
    int flat_a_1_ = a_memory_n0_ * a_memory_n1_;
    // 112: flat_b = b.memory.T.ravel() if b_transposed and b.memory.ndim == 2 else b.memory.ravel()
    int flat_b_1_ = b_memory_n0_ * b_memory_n1_;
    // 113: flat_c = c.memory.ravel()
    int flat_c_1_ = c_memory_n0_ * c_memory_n1_;
    // 115: thread = np.int32(cuda.threadIdx.x) % threads
    int thread_ = (int)pg_item().get_local_id(2) & 15;
    // 116: mine = np.int32(cuda.threadIdx.x) // threads
    int mine_ = (int)pg_item().get_local_id(2) >> 4;
    // 117: thread_row = thread // threads_n * lanes
    int thread_row_ = (thread_ >> 2) * 4;
    // 118: thread_column = thread % threads_n * lanes
    int thread_column_ = (thread_ & 3) * 4;
    // 119: tiles_n = (extents.n + (tile_n - 1)) // tile_n
    int tiles_n_ = sycl::bit_cast<int>((uint)extents_n_ + 15) >> 4;
    // 120: block = type(extents.m)(cuda.blockIdx.x)
    int block_ = (int)pg_item().get_group(2);
    // 138: tiles_m = (extents.m + (tile_m - 1)) // tile_m
    int tiles_m_ = sycl::bit_cast<int>((uint)extents_m_ + 15) >> 4;
    // 139: tiles = tiles_m * tiles_n
    int tiles_ = sycl::bit_cast<int>((uint)tiles_m_ * (uint)tiles_n_);
    // 140: matrix = block // tiles
    int matrix_ = pg_floordiv_int(block_, tiles_);
    // 141: within = block % tiles
    int within_ = pg_mod_int(block_, tiles_);
    // 142: band = within // (group * tiles_n)
    int band_ = pg_floordiv_int(within_, sycl::bit_cast<int>(4 * (uint)tiles_n_));
    // 143: band_height = max(min(type(extents.m)(group), tiles_m - band * group), 1)
    int band_height_ = max(min(4, sycl::bit_cast<int>((uint)tiles_m_ - (uint)band_ * 4)), 1);
    // 144: within = within % (group * tiles_n)
    within_ = pg_mod_int(within_, sycl::bit_cast<int>(4 * (uint)tiles_n_));
    // 145: row0 = (band * group + within % band_height) * tile_m
    int row0_ = sycl::bit_cast<int>(((uint)band_ * 4 + (uint)pg_mod_int(within_, band_height_)) * 16);
    // 146: column0 = within // band_height * tile_n
    int column0_ = sycl::bit_cast<int>((uint)pg_floordiv_int(within_, band_height_) * 16);
    // 151: c_start = matrix * c.batch
    int c_start_ = sycl::bit_cast<int>((uint)matrix_ * (uint)c_batch_);
    // 152: begin_k = matrix % split.count * split.terms
    int begin_k_ = sycl::bit_cast<int>((uint)pg_mod_int(matrix_, split_count_) * (uint)split_terms_);
    // 153: end_m, end_k = extents.m, min(extents.k, begin_k + split.terms)
    int end_k_ = min(extents_k_, sycl::bit_cast<int>((uint)begin_k_ + (uint)split_terms_));
    // 154: matrix = matrix // split.count
    matrix_ = pg_floordiv_int(matrix_, split_count_);
    // 155: a_start, b_start = matrix * a.batch, matrix * b.batch
    int a_start_ = sycl::bit_cast<int>((uint)matrix_ * (uint)a_batch_);
    int b_start_ = sycl::bit_cast<int>((uint)matrix_ * (uint)b_batch_);
    // 159: acc[i, j] = 0
    acc__0_0 = 0.0f;
    acc__0_1 = 0.0f;
    acc__0_2 = 0.0f;
    acc__0_3 = 0.0f;
    acc__1_0 = 0.0f;
    acc__1_1 = 0.0f;
    acc__1_2 = 0.0f;
    acc__1_3 = 0.0f;
    acc__2_0 = 0.0f;
    acc__2_1 = 0.0f;
    acc__2_2 = 0.0f;
    acc__2_3 = 0.0f;
    acc__3_0 = 0.0f;
    acc__3_1 = 0.0f;
    acc__3_2 = 0.0f;
    acc__3_3 = 0.0f;
    // 160: steps = (end_k - begin_k + (tile_k - 1)) // tile_k
    int steps_ = sycl::bit_cast<int>((uint)end_k_ - (uint)begin_k_ + 3) >> 2;
    // 161: buffer = mine * 2
    int buffer_ = mine_ * 2;
    // 162: for step in range(type(extents.m)(0), steps + 1):
    int t1 = sycl::bit_cast<int>((uint)steps_ + 1);
    for (int step_ = 0; step_ < t1; step_ += 1) {
        int position_ = 0;
        int x = 0;
        // 163: if step < steps:
        if (step_ < steps_) {
            // 164: k0 = begin_k + step * tile_k
            int k0 = sycl::bit_cast<int>((uint)begin_k_ + (uint)step_ * 4);
            // 166: position = thread + load * threads
            position_ = thread_;
            // 171: y, x = row0 + position // (tile_k // lanes), k0 + position % (tile_k // lanes) * lanes
            int y = sycl::bit_cast<int>((uint)row0_ + (uint)position_);
            x = sycl::bit_cast<int>((uint)k0 + (uint)((position_ & 0) * 4));
            // 172: next_a[load] = _load(Lines(flat_a, a_start, a.pitch), y, x, end_m, end_k, plan)
            next_a__0 = u_load_(a_memory_, flat_a_1_, a_start_, a_pitch_, y, x, extents_m_, end_k_);
            // 174: position = thread + load * threads
            position_ = thread_;
            // 179: y, x = k0 + position // (tile_n // lanes), column0 + position % (tile_n // lanes) * lanes
            y = sycl::bit_cast<int>((uint)k0 + (uint)(position_ >> 2));
            x = sycl::bit_cast<int>((uint)column0_ + (uint)((position_ & 3) * 4));
            // 180: next_b[load] = _load(Lines(flat_b, b_start, b.pitch), y, x, end_k, extents.n, plan)
            next_b__0 = u_load_(b_memory_, flat_b_1_, b_start_, b_pitch_, y, x, end_k_, extents_n_);
        }
        // 181: if step > 0:
        if (step_ > 0) {
            // 182: for first in range(np.int32(0), np.int32(tile_k), np.int32(unroll)):
            for (int first_ = 0; first_ < 4; first_ += 4) {
                // 185: place = thread_row + part * (tile_m // groups_m)
                place_ = thread_row_;
                // 186: rows[part] = cuda.vload(tile_a, (buffer, first + depth, place), lanes, aligned=True)
                rows__0 = *(const float4*)(tile_a_ + (buffer_ * 80 + first_ * 20 + place_));
                // 188: place = thread_column + part * (tile_n // groups_n)
                place_ = thread_column_;
                // 189: columns[part] = cuda.vload(tile_b, (buffer, first + depth, place), lanes, aligned=True)
                columns__0 = *(const float4*)(tile_b_ + (buffer_ * 80 + first_ * 20 + place_));
                // 192: acc[i, j] = multiply_add(
                acc__0_0 = multiply_add_(rows__0[0], columns__0[0], acc__0_0);
                acc__0_1 = multiply_add_(rows__0[0], columns__0[1], acc__0_1);
                acc__0_2 = multiply_add_(rows__0[0], columns__0[2], acc__0_2);
                acc__0_3 = multiply_add_(rows__0[0], columns__0[3], acc__0_3);
                acc__1_0 = multiply_add_(rows__0[1], columns__0[0], acc__1_0);
                acc__1_1 = multiply_add_(rows__0[1], columns__0[1], acc__1_1);
                acc__1_2 = multiply_add_(rows__0[1], columns__0[2], acc__1_2);
                acc__1_3 = multiply_add_(rows__0[1], columns__0[3], acc__1_3);
                acc__2_0 = multiply_add_(rows__0[2], columns__0[0], acc__2_0);
                acc__2_1 = multiply_add_(rows__0[2], columns__0[1], acc__2_1);
                acc__2_2 = multiply_add_(rows__0[2], columns__0[2], acc__2_2);
                acc__2_3 = multiply_add_(rows__0[2], columns__0[3], acc__2_3);
                acc__3_0 = multiply_add_(rows__0[3], columns__0[0], acc__3_0);
                acc__3_1 = multiply_add_(rows__0[3], columns__0[1], acc__3_1);
                acc__3_2 = multiply_add_(rows__0[3], columns__0[2], acc__3_2);
                acc__3_3 = multiply_add_(rows__0[3], columns__0[3], acc__3_3);
                // 185: place = thread_row + part * (tile_m // groups_m)
                place_ = thread_row_;
                // 186: rows[part] = cuda.vload(tile_a, (buffer, first + depth, place), lanes, aligned=True)
                rows__0 = *(const float4*)(tile_a_ + (buffer_ * 80 + (first_ + 1) * 20 + place_));
                // 188: place = thread_column + part * (tile_n // groups_n)
                place_ = thread_column_;
                // 189: columns[part] = cuda.vload(tile_b, (buffer, first + depth, place), lanes, aligned=True)
                columns__0 = *(const float4*)(tile_b_ + (buffer_ * 80 + (first_ + 1) * 20 + place_));
                // 192: acc[i, j] = multiply_add(
                acc__0_0 = multiply_add_(rows__0[0], columns__0[0], acc__0_0);
                acc__0_1 = multiply_add_(rows__0[0], columns__0[1], acc__0_1);
                acc__0_2 = multiply_add_(rows__0[0], columns__0[2], acc__0_2);
                acc__0_3 = multiply_add_(rows__0[0], columns__0[3], acc__0_3);
                acc__1_0 = multiply_add_(rows__0[1], columns__0[0], acc__1_0);
                acc__1_1 = multiply_add_(rows__0[1], columns__0[1], acc__1_1);
                acc__1_2 = multiply_add_(rows__0[1], columns__0[2], acc__1_2);
                acc__1_3 = multiply_add_(rows__0[1], columns__0[3], acc__1_3);
                acc__2_0 = multiply_add_(rows__0[2], columns__0[0], acc__2_0);
                acc__2_1 = multiply_add_(rows__0[2], columns__0[1], acc__2_1);
                acc__2_2 = multiply_add_(rows__0[2], columns__0[2], acc__2_2);
                acc__2_3 = multiply_add_(rows__0[2], columns__0[3], acc__2_3);
                acc__3_0 = multiply_add_(rows__0[3], columns__0[0], acc__3_0);
                acc__3_1 = multiply_add_(rows__0[3], columns__0[1], acc__3_1);
                acc__3_2 = multiply_add_(rows__0[3], columns__0[2], acc__3_2);
                acc__3_3 = multiply_add_(rows__0[3], columns__0[3], acc__3_3);
                // 185: place = thread_row + part * (tile_m // groups_m)
                place_ = thread_row_;
                // 186: rows[part] = cuda.vload(tile_a, (buffer, first + depth, place), lanes, aligned=True)
                rows__0 = *(const float4*)(tile_a_ + (buffer_ * 80 + (first_ + 2) * 20 + place_));
                // 188: place = thread_column + part * (tile_n // groups_n)
                place_ = thread_column_;
                // 189: columns[part] = cuda.vload(tile_b, (buffer, first + depth, place), lanes, aligned=True)
                columns__0 = *(const float4*)(tile_b_ + (buffer_ * 80 + (first_ + 2) * 20 + place_));
                // 192: acc[i, j] = multiply_add(
                acc__0_0 = multiply_add_(rows__0[0], columns__0[0], acc__0_0);
                acc__0_1 = multiply_add_(rows__0[0], columns__0[1], acc__0_1);
                acc__0_2 = multiply_add_(rows__0[0], columns__0[2], acc__0_2);
                acc__0_3 = multiply_add_(rows__0[0], columns__0[3], acc__0_3);
                acc__1_0 = multiply_add_(rows__0[1], columns__0[0], acc__1_0);
                acc__1_1 = multiply_add_(rows__0[1], columns__0[1], acc__1_1);
                acc__1_2 = multiply_add_(rows__0[1], columns__0[2], acc__1_2);
                acc__1_3 = multiply_add_(rows__0[1], columns__0[3], acc__1_3);
                acc__2_0 = multiply_add_(rows__0[2], columns__0[0], acc__2_0);
                acc__2_1 = multiply_add_(rows__0[2], columns__0[1], acc__2_1);
                acc__2_2 = multiply_add_(rows__0[2], columns__0[2], acc__2_2);
                acc__2_3 = multiply_add_(rows__0[2], columns__0[3], acc__2_3);
                acc__3_0 = multiply_add_(rows__0[3], columns__0[0], acc__3_0);
                acc__3_1 = multiply_add_(rows__0[3], columns__0[1], acc__3_1);
                acc__3_2 = multiply_add_(rows__0[3], columns__0[2], acc__3_2);
                acc__3_3 = multiply_add_(rows__0[3], columns__0[3], acc__3_3);
                // 185: place = thread_row + part * (tile_m // groups_m)
                place_ = thread_row_;
                // 186: rows[part] = cuda.vload(tile_a, (buffer, first + depth, place), lanes, aligned=True)
                rows__0 = *(const float4*)(tile_a_ + (buffer_ * 80 + (first_ + 3) * 20 + place_));
                // 188: place = thread_column + part * (tile_n // groups_n)
                place_ = thread_column_;
                // 189: columns[part] = cuda.vload(tile_b, (buffer, first + depth, place), lanes, aligned=True)
                columns__0 = *(const float4*)(tile_b_ + (buffer_ * 80 + (first_ + 3) * 20 + place_));
                // 192: acc[i, j] = multiply_add(
                acc__0_0 = multiply_add_(rows__0[0], columns__0[0], acc__0_0);
                acc__0_1 = multiply_add_(rows__0[0], columns__0[1], acc__0_1);
                acc__0_2 = multiply_add_(rows__0[0], columns__0[2], acc__0_2);
                acc__0_3 = multiply_add_(rows__0[0], columns__0[3], acc__0_3);
                acc__1_0 = multiply_add_(rows__0[1], columns__0[0], acc__1_0);
                acc__1_1 = multiply_add_(rows__0[1], columns__0[1], acc__1_1);
                acc__1_2 = multiply_add_(rows__0[1], columns__0[2], acc__1_2);
                acc__1_3 = multiply_add_(rows__0[1], columns__0[3], acc__1_3);
                acc__2_0 = multiply_add_(rows__0[2], columns__0[0], acc__2_0);
                acc__2_1 = multiply_add_(rows__0[2], columns__0[1], acc__2_1);
                acc__2_2 = multiply_add_(rows__0[2], columns__0[2], acc__2_2);
                acc__2_3 = multiply_add_(rows__0[2], columns__0[3], acc__2_3);
                acc__3_0 = multiply_add_(rows__0[3], columns__0[0], acc__3_0);
                acc__3_1 = multiply_add_(rows__0[3], columns__0[1], acc__3_1);
                acc__3_2 = multiply_add_(rows__0[3], columns__0[2], acc__3_2);
                acc__3_3 = multiply_add_(rows__0[3], columns__0[3], acc__3_3);
            }
            // 195: buffer ^= 1
            buffer_ = buffer_ ^ 1;
        }
        // 196: if step < steps:
        if (step_ < steps_) {
            // 198: position = thread + load * threads
            position_ = thread_;
            // 203: x = position % (tile_k // lanes) * lanes
            x = (position_ & 0) * 4;
            // 205: tile_a[buffer, x + lane, position // (tile_k // lanes)] = next_a[load][lane]
            tile_a_[buffer_ * 80 + x * 20 + position_] = next_a__0[0];
            tile_a_[buffer_ * 80 + (x + 1) * 20 + position_] = next_a__0[1];
            tile_a_[buffer_ * 80 + (x + 2) * 20 + position_] = next_a__0[2];
            tile_a_[buffer_ * 80 + (x + 3) * 20 + position_] = next_a__0[3];
            // 207: position = thread + load * threads
            position_ = thread_;
            // 213: x = position % (tile_n // lanes) * lanes
            x = (position_ & 3) * 4;
            // 214: cuda.vstore(next_b[load], tile_b, (buffer, position // (tile_n // lanes), x), aligned=True)
            *(float4*)(tile_b_ + (buffer_ * 80 + (position_ >> 2) * 20 + x)) = next_b__0;
            // 215: cuda.syncthreads()
            sycl::group_barrier(pg_item().get_group());
        }
    }
    // 219: row = row0 + thread_row + (i // lanes * (tile_m // groups_m) + i % lanes)
    int row_ = sycl::bit_cast<int>((uint)row0_ + (uint)thread_row_);
    // 221: column = column0 + thread_column + part * (tile_n // groups_n)
    int column_ = sycl::bit_cast<int>((uint)column0_ + (uint)thread_column_);
    // 222: place = c_start + row * c.pitch + column
    place_ = sycl::bit_cast<int>((uint)c_start_ + (uint)row_ * (uint)c_pitch_ + (uint)column_);
    // 224: line = vector(acc[i, part * 4], acc[i, part * 4 + 1], acc[i, part * 4 + 2], acc[i, part * 4 + 3])
    float4 line_ = float4(acc__0_0, acc__0_1, acc__0_2, acc__0_3);
    // 228: store_vector(line, flat_c, place, matrix, row, column, factors, epilogue, True)
    store_vector_(line_, c_memory_, flat_c_1_, place_, matrix_, row_, column_, factors_alpha_, factors_beta_);
    // 219: row = row0 + thread_row + (i // lanes * (tile_m // groups_m) + i % lanes)
    row_ = sycl::bit_cast<int>((uint)row0_ + (uint)thread_row_ + 1);
    // 221: column = column0 + thread_column + part * (tile_n // groups_n)
    column_ = sycl::bit_cast<int>((uint)column0_ + (uint)thread_column_);
    // 222: place = c_start + row * c.pitch + column
    place_ = sycl::bit_cast<int>((uint)c_start_ + (uint)row_ * (uint)c_pitch_ + (uint)column_);
    // 224: line = vector(acc[i, part * 4], acc[i, part * 4 + 1], acc[i, part * 4 + 2], acc[i, part * 4 + 3])
    line_ = float4(acc__1_0, acc__1_1, acc__1_2, acc__1_3);
    // 228: store_vector(line, flat_c, place, matrix, row, column, factors, epilogue, True)
    store_vector_(line_, c_memory_, flat_c_1_, place_, matrix_, row_, column_, factors_alpha_, factors_beta_);
    // 219: row = row0 + thread_row + (i // lanes * (tile_m // groups_m) + i % lanes)
    row_ = sycl::bit_cast<int>((uint)row0_ + (uint)thread_row_ + 2);
    // 221: column = column0 + thread_column + part * (tile_n // groups_n)
    column_ = sycl::bit_cast<int>((uint)column0_ + (uint)thread_column_);
    // 222: place = c_start + row * c.pitch + column
    place_ = sycl::bit_cast<int>((uint)c_start_ + (uint)row_ * (uint)c_pitch_ + (uint)column_);
    // 224: line = vector(acc[i, part * 4], acc[i, part * 4 + 1], acc[i, part * 4 + 2], acc[i, part * 4 + 3])
    line_ = float4(acc__2_0, acc__2_1, acc__2_2, acc__2_3);
    // 228: store_vector(line, flat_c, place, matrix, row, column, factors, epilogue, True)
    store_vector_(line_, c_memory_, flat_c_1_, place_, matrix_, row_, column_, factors_alpha_, factors_beta_);
    // 219: row = row0 + thread_row + (i // lanes * (tile_m // groups_m) + i % lanes)
    row_ = sycl::bit_cast<int>((uint)row0_ + (uint)thread_row_ + 3);
    // 221: column = column0 + thread_column + part * (tile_n // groups_n)
    column_ = sycl::bit_cast<int>((uint)column0_ + (uint)thread_column_);
    // 222: place = c_start + row * c.pitch + column
    place_ = sycl::bit_cast<int>((uint)c_start_ + (uint)row_ * (uint)c_pitch_ + (uint)column_);
    // 224: line = vector(acc[i, part * 4], acc[i, part * 4 + 1], acc[i, part * 4 + 2], acc[i, part * 4 + 3])
    line_ = float4(acc__3_0, acc__3_1, acc__3_2, acc__3_3);
    // 228: store_vector(line, flat_c, place, matrix, row, column, factors, epilogue, True)
    store_vector_(line_, c_memory_, flat_c_1_, place_, matrix_, row_, column_, factors_alpha_, factors_beta_);
}
}  // namespace portagpu
