
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
// 32: def _load(
static inline float4 u_load_(__global const float* source_, int source_1_, int start_, int row_, int column_, int pitch_, int rows_, int columns_) {
    // 49: return vector(cuda.vload(source, start + row * pitch + column, vector.lanes, aligned=True))
    return *(__global const float4*)(source_ + pg_wrap_index_int(start_ + row_ * pitch_ + column_, source_1_));
}

// 19: def multiply_add(x, y, z, whole: cuda.constexpr):
static inline float multiply_add_(float x, float y, float z) {
    // 23: return cuda.fma(x, y, z)
    return fma(x, y, z);
}

// 38: def store_vector(
static inline void store_vector_(float4 total_, __global float* c, int c_1_, int place_, float alpha_, float beta_) {
    // 50: value = scaled(total)
    float4 value_ = total_;
    // 56: cuda.vstore(stored(value), c, place, aligned=aligned)
    *(__global float4*)(c + (place_ < 0 ? place_ + c_1_ : place_)) = value_;
}

// 66: def multiply_tiles(
__kernel void multiply_tiles_(
    __global float* a,
    int a_n0,
    int a_n1,
    __global float* b,
    int b_n0,
    int b_n1,
    __global float* c,
    int c_n0,
    int c_n1,
    int m,
    int n,
    int k,
    int a_pitch_,
    int a_batch_,
    int b_pitch_,
    int b_batch_,
    int c_pitch_,
    int c_batch_,
    int split_,
    int chunk_,
    float alpha_,
    float beta_) {
    __local float tile_a_[160] __attribute__((aligned(128)));
    __local float tile_b_[160] __attribute__((aligned(128)));
    float4 next_a__0;
    float4 next_b__0;
    float4 rows__0;
    float4 columns__0;
    float acc__0_0, acc__0_1, acc__0_2, acc__0_3, acc__1_0, acc__1_1, acc__1_2, acc__1_3;
    float acc__2_0, acc__2_1, acc__2_2, acc__2_3, acc__3_0, acc__3_1, acc__3_2, acc__3_3;
    int place_ = 0;
    // 128: flat_a = a.T.ravel() if a_transposed and a.ndim == 2 else a.ravel()
    int flat_a_1_ = a_n0 * a_n1;
    // 129: flat_b = b.T.ravel() if b_transposed and b.ndim == 2 else b.ravel()
    int flat_b_1_ = b_n0 * b_n1;
    // 130: flat_c = c.ravel()
    int flat_c_1_ = c_n0 * c_n1;
    // 132: thread = np.int32(cuda.threadIdx.x) % threads
    int thread_ = (int)get_local_id(0) & 15;
    // 133: mine = np.int32(cuda.threadIdx.x) // threads
    int mine_ = (int)get_local_id(0) >> 4;
    // 134: thread_row = thread // threads_n * lanes
    int thread_row_ = (thread_ >> 2) * 4;
    // 135: thread_column = thread % threads_n * lanes
    int thread_column_ = (thread_ & 3) * 4;
    // 136: tiles_n = (n + (tile_n - 1)) // tile_n
    int tiles_n_ = as_int((uint)n + 15) >> 4;
    // 137: block = type(m)(cuda.blockIdx.x)
    int block_ = (int)get_group_id(0);
    // 155: tiles_m = (m + (tile_m - 1)) // tile_m
    int tiles_m_ = as_int((uint)m + 15) >> 4;
    // 156: tiles = tiles_m * tiles_n
    int tiles_ = as_int((uint)tiles_m_ * (uint)tiles_n_);
    // 157: matrix = block // tiles
    int matrix_ = pg_floordiv_int(block_, tiles_);
    // 158: within = block % tiles
    int within_ = pg_mod_int(block_, tiles_);
    // 159: band = within // (group * tiles_n)
    int band_ = pg_floordiv_int(within_, as_int(4 * (uint)tiles_n_));
    // 160: band_height = max(min(type(m)(group), tiles_m - band * group), 1)
    int band_height_ = max(min(4, as_int((uint)tiles_m_ - (uint)band_ * 4)), 1);
    // 161: within = within % (group * tiles_n)
    within_ = pg_mod_int(within_, as_int(4 * (uint)tiles_n_));
    // 162: row0 = (band * group + within % band_height) * tile_m
    int row0_ = as_int(((uint)band_ * 4 + (uint)pg_mod_int(within_, band_height_)) * 16);
    // 163: column0 = within // band_height * tile_n
    int column0_ = as_int((uint)pg_floordiv_int(within_, band_height_) * 16);
    // 168: c_start = matrix * c_batch
    int c_start_ = as_int((uint)matrix_ * (uint)c_batch_);
    // 169: begin_k = matrix % split * chunk
    int begin_k_ = as_int((uint)pg_mod_int(matrix_, split_) * (uint)chunk_);
    // 170: end_m, end_k = m, min(k, begin_k + chunk)
    int end_m_ = m;
    int end_k_ = min(k, as_int((uint)begin_k_ + (uint)chunk_));
    // 171: matrix = matrix // split
    matrix_ = pg_floordiv_int(matrix_, split_);
    // 172: a_start, b_start = matrix * a_batch, matrix * b_batch
    int a_start_ = as_int((uint)matrix_ * (uint)a_batch_);
    int b_start_ = as_int((uint)matrix_ * (uint)b_batch_);
    // 176: acc[i, j] = 0
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
    // 177: steps = (end_k - begin_k + (tile_k - 1)) // tile_k
    int steps_ = as_int((uint)end_k_ - (uint)begin_k_ + 3) >> 2;
    // 178: buffer = mine * 2
    int buffer_ = mine_ * 2;
    // 179: for step in range(type(m)(0), steps + 1):
    int t1 = as_int((uint)steps_ + 1);
    for (int step_ = 0; step_ < t1; step_ += 1) {
        int position_ = 0;
        int x = 0;
        // 180: if step < steps:
        if (step_ < steps_) {
            // 181: k0 = begin_k + step * tile_k
            int k0 = as_int((uint)begin_k_ + (uint)step_ * 4);
            // 183: position = thread + load * threads
            position_ = thread_;
            // 188: y, x = row0 + position // (tile_k // lanes), k0 + position % (tile_k // lanes) * lanes
            int y = as_int((uint)row0_ + (uint)position_);
            x = as_int((uint)k0 + (uint)((position_ & 0) * 4));
            // 189: next_a[load] = _load(flat_a, a_start, y, x, a_pitch, end_m, end_k, vector, aligned, exact)
            next_a__0 = u_load_(a, flat_a_1_, a_start_, y, x, a_pitch_, end_m_, end_k_);
            // 191: position = thread + load * threads
            position_ = thread_;
            // 196: y, x = k0 + position // (tile_n // lanes), column0 + position % (tile_n // lanes) * lanes
            y = as_int((uint)k0 + (uint)(position_ >> 2));
            x = as_int((uint)column0_ + (uint)((position_ & 3) * 4));
            // 197: next_b[load] = _load(flat_b, b_start, y, x, b_pitch, end_k, n, vector, aligned, exact)
            next_b__0 = u_load_(b, flat_b_1_, b_start_, y, x, b_pitch_, end_k_, n);
        }
        // 198: if step > 0:
        if (step_ > 0) {
            // 199: for first in range(np.int32(0), np.int32(tile_k), np.int32(unroll)):
            for (int first_ = 0; first_ < 4; first_ += 4) {
                // 202: place = thread_row + part * (tile_m // groups_m)
                place_ = thread_row_;
                // 203: rows[part] = cuda.vload(tile_a, (buffer, first + depth, place), lanes, aligned=True)
                rows__0 = *(__local const float4*)(tile_a_ + (buffer_ * 80 + first_ * 20 + place_));
                // 205: place = thread_column + part * (tile_n // groups_n)
                place_ = thread_column_;
                // 206: columns[part] = cuda.vload(tile_b, (buffer, first + depth, place), lanes, aligned=True)
                columns__0 = *(__local const float4*)(tile_b_ + (buffer_ * 80 + first_ * 20 + place_));
                // 209: acc[i, j] = multiply_add(
                acc__0_0 = multiply_add_(rows__0.s0, columns__0.s0, acc__0_0);
                acc__0_1 = multiply_add_(rows__0.s0, columns__0.s1, acc__0_1);
                acc__0_2 = multiply_add_(rows__0.s0, columns__0.s2, acc__0_2);
                acc__0_3 = multiply_add_(rows__0.s0, columns__0.s3, acc__0_3);
                acc__1_0 = multiply_add_(rows__0.s1, columns__0.s0, acc__1_0);
                acc__1_1 = multiply_add_(rows__0.s1, columns__0.s1, acc__1_1);
                acc__1_2 = multiply_add_(rows__0.s1, columns__0.s2, acc__1_2);
                acc__1_3 = multiply_add_(rows__0.s1, columns__0.s3, acc__1_3);
                acc__2_0 = multiply_add_(rows__0.s2, columns__0.s0, acc__2_0);
                acc__2_1 = multiply_add_(rows__0.s2, columns__0.s1, acc__2_1);
                acc__2_2 = multiply_add_(rows__0.s2, columns__0.s2, acc__2_2);
                acc__2_3 = multiply_add_(rows__0.s2, columns__0.s3, acc__2_3);
                acc__3_0 = multiply_add_(rows__0.s3, columns__0.s0, acc__3_0);
                acc__3_1 = multiply_add_(rows__0.s3, columns__0.s1, acc__3_1);
                acc__3_2 = multiply_add_(rows__0.s3, columns__0.s2, acc__3_2);
                acc__3_3 = multiply_add_(rows__0.s3, columns__0.s3, acc__3_3);
                // 202: place = thread_row + part * (tile_m // groups_m)
                place_ = thread_row_;
                // 203: rows[part] = cuda.vload(tile_a, (buffer, first + depth, place), lanes, aligned=True)
                rows__0 = *(__local const float4*)(tile_a_ + (buffer_ * 80 + (first_ + 1) * 20 + place_));
                // 205: place = thread_column + part * (tile_n // groups_n)
                place_ = thread_column_;
                // 206: columns[part] = cuda.vload(tile_b, (buffer, first + depth, place), lanes, aligned=True)
                columns__0 = *(__local const float4*)(tile_b_ + (buffer_ * 80 + (first_ + 1) * 20 + place_));
                // 209: acc[i, j] = multiply_add(
                acc__0_0 = multiply_add_(rows__0.s0, columns__0.s0, acc__0_0);
                acc__0_1 = multiply_add_(rows__0.s0, columns__0.s1, acc__0_1);
                acc__0_2 = multiply_add_(rows__0.s0, columns__0.s2, acc__0_2);
                acc__0_3 = multiply_add_(rows__0.s0, columns__0.s3, acc__0_3);
                acc__1_0 = multiply_add_(rows__0.s1, columns__0.s0, acc__1_0);
                acc__1_1 = multiply_add_(rows__0.s1, columns__0.s1, acc__1_1);
                acc__1_2 = multiply_add_(rows__0.s1, columns__0.s2, acc__1_2);
                acc__1_3 = multiply_add_(rows__0.s1, columns__0.s3, acc__1_3);
                acc__2_0 = multiply_add_(rows__0.s2, columns__0.s0, acc__2_0);
                acc__2_1 = multiply_add_(rows__0.s2, columns__0.s1, acc__2_1);
                acc__2_2 = multiply_add_(rows__0.s2, columns__0.s2, acc__2_2);
                acc__2_3 = multiply_add_(rows__0.s2, columns__0.s3, acc__2_3);
                acc__3_0 = multiply_add_(rows__0.s3, columns__0.s0, acc__3_0);
                acc__3_1 = multiply_add_(rows__0.s3, columns__0.s1, acc__3_1);
                acc__3_2 = multiply_add_(rows__0.s3, columns__0.s2, acc__3_2);
                acc__3_3 = multiply_add_(rows__0.s3, columns__0.s3, acc__3_3);
                // 202: place = thread_row + part * (tile_m // groups_m)
                place_ = thread_row_;
                // 203: rows[part] = cuda.vload(tile_a, (buffer, first + depth, place), lanes, aligned=True)
                rows__0 = *(__local const float4*)(tile_a_ + (buffer_ * 80 + (first_ + 2) * 20 + place_));
                // 205: place = thread_column + part * (tile_n // groups_n)
                place_ = thread_column_;
                // 206: columns[part] = cuda.vload(tile_b, (buffer, first + depth, place), lanes, aligned=True)
                columns__0 = *(__local const float4*)(tile_b_ + (buffer_ * 80 + (first_ + 2) * 20 + place_));
                // 209: acc[i, j] = multiply_add(
                acc__0_0 = multiply_add_(rows__0.s0, columns__0.s0, acc__0_0);
                acc__0_1 = multiply_add_(rows__0.s0, columns__0.s1, acc__0_1);
                acc__0_2 = multiply_add_(rows__0.s0, columns__0.s2, acc__0_2);
                acc__0_3 = multiply_add_(rows__0.s0, columns__0.s3, acc__0_3);
                acc__1_0 = multiply_add_(rows__0.s1, columns__0.s0, acc__1_0);
                acc__1_1 = multiply_add_(rows__0.s1, columns__0.s1, acc__1_1);
                acc__1_2 = multiply_add_(rows__0.s1, columns__0.s2, acc__1_2);
                acc__1_3 = multiply_add_(rows__0.s1, columns__0.s3, acc__1_3);
                acc__2_0 = multiply_add_(rows__0.s2, columns__0.s0, acc__2_0);
                acc__2_1 = multiply_add_(rows__0.s2, columns__0.s1, acc__2_1);
                acc__2_2 = multiply_add_(rows__0.s2, columns__0.s2, acc__2_2);
                acc__2_3 = multiply_add_(rows__0.s2, columns__0.s3, acc__2_3);
                acc__3_0 = multiply_add_(rows__0.s3, columns__0.s0, acc__3_0);
                acc__3_1 = multiply_add_(rows__0.s3, columns__0.s1, acc__3_1);
                acc__3_2 = multiply_add_(rows__0.s3, columns__0.s2, acc__3_2);
                acc__3_3 = multiply_add_(rows__0.s3, columns__0.s3, acc__3_3);
                // 202: place = thread_row + part * (tile_m // groups_m)
                place_ = thread_row_;
                // 203: rows[part] = cuda.vload(tile_a, (buffer, first + depth, place), lanes, aligned=True)
                rows__0 = *(__local const float4*)(tile_a_ + (buffer_ * 80 + (first_ + 3) * 20 + place_));
                // 205: place = thread_column + part * (tile_n // groups_n)
                place_ = thread_column_;
                // 206: columns[part] = cuda.vload(tile_b, (buffer, first + depth, place), lanes, aligned=True)
                columns__0 = *(__local const float4*)(tile_b_ + (buffer_ * 80 + (first_ + 3) * 20 + place_));
                // 209: acc[i, j] = multiply_add(
                acc__0_0 = multiply_add_(rows__0.s0, columns__0.s0, acc__0_0);
                acc__0_1 = multiply_add_(rows__0.s0, columns__0.s1, acc__0_1);
                acc__0_2 = multiply_add_(rows__0.s0, columns__0.s2, acc__0_2);
                acc__0_3 = multiply_add_(rows__0.s0, columns__0.s3, acc__0_3);
                acc__1_0 = multiply_add_(rows__0.s1, columns__0.s0, acc__1_0);
                acc__1_1 = multiply_add_(rows__0.s1, columns__0.s1, acc__1_1);
                acc__1_2 = multiply_add_(rows__0.s1, columns__0.s2, acc__1_2);
                acc__1_3 = multiply_add_(rows__0.s1, columns__0.s3, acc__1_3);
                acc__2_0 = multiply_add_(rows__0.s2, columns__0.s0, acc__2_0);
                acc__2_1 = multiply_add_(rows__0.s2, columns__0.s1, acc__2_1);
                acc__2_2 = multiply_add_(rows__0.s2, columns__0.s2, acc__2_2);
                acc__2_3 = multiply_add_(rows__0.s2, columns__0.s3, acc__2_3);
                acc__3_0 = multiply_add_(rows__0.s3, columns__0.s0, acc__3_0);
                acc__3_1 = multiply_add_(rows__0.s3, columns__0.s1, acc__3_1);
                acc__3_2 = multiply_add_(rows__0.s3, columns__0.s2, acc__3_2);
                acc__3_3 = multiply_add_(rows__0.s3, columns__0.s3, acc__3_3);
            }
            // 212: buffer ^= 1
            buffer_ = buffer_ ^ 1;
        }
        // 213: if step < steps:
        if (step_ < steps_) {
            // 215: position = thread + load * threads
            position_ = thread_;
            // 220: x = position % (tile_k // lanes) * lanes
            x = (position_ & 0) * 4;
            // 222: tile_a[buffer, x + lane, position // (tile_k // lanes)] = next_a[load][lane]
            tile_a_[buffer_ * 80 + x * 20 + position_] = next_a__0.s0;
            tile_a_[buffer_ * 80 + (x + 1) * 20 + position_] = next_a__0.s1;
            tile_a_[buffer_ * 80 + (x + 2) * 20 + position_] = next_a__0.s2;
            tile_a_[buffer_ * 80 + (x + 3) * 20 + position_] = next_a__0.s3;
            // 224: position = thread + load * threads
            position_ = thread_;
            // 230: x = position % (tile_n // lanes) * lanes
            x = (position_ & 3) * 4;
            // 231: cuda.vstore(next_b[load], tile_b, (buffer, position // (tile_n // lanes), x), aligned=True)
            *(__local float4*)(tile_b_ + (buffer_ * 80 + (position_ >> 2) * 20 + x)) = next_b__0;
            // 232: cuda.syncthreads()
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        }
    }
    // 236: row = row0 + thread_row + (i // lanes * (tile_m // groups_m) + i % lanes)
    int row_ = as_int((uint)row0_ + (uint)thread_row_);
    // 238: column = column0 + thread_column + part * (tile_n // groups_n)
    int column_ = as_int((uint)column0_ + (uint)thread_column_);
    // 239: place = c_start + row * c_pitch + column
    place_ = as_int((uint)c_start_ + (uint)row_ * (uint)c_pitch_ + (uint)column_);
    // 241: line = vector(acc[i, part * 4], acc[i, part * 4 + 1], acc[i, part * 4 + 2], acc[i, part * 4 + 3])
    float4 line_ = (float4)(acc__0_0, acc__0_1, acc__0_2, acc__0_3);
    // 245: store_vector(line, flat_c, place, alpha, beta, scaled, stored, scaling, True)
    store_vector_(line_, c, flat_c_1_, place_, alpha_, beta_);
    // 236: row = row0 + thread_row + (i // lanes * (tile_m // groups_m) + i % lanes)
    row_ = as_int((uint)row0_ + (uint)thread_row_ + 1);
    // 238: column = column0 + thread_column + part * (tile_n // groups_n)
    column_ = as_int((uint)column0_ + (uint)thread_column_);
    // 239: place = c_start + row * c_pitch + column
    place_ = as_int((uint)c_start_ + (uint)row_ * (uint)c_pitch_ + (uint)column_);
    // 241: line = vector(acc[i, part * 4], acc[i, part * 4 + 1], acc[i, part * 4 + 2], acc[i, part * 4 + 3])
    line_ = (float4)(acc__1_0, acc__1_1, acc__1_2, acc__1_3);
    // 245: store_vector(line, flat_c, place, alpha, beta, scaled, stored, scaling, True)
    store_vector_(line_, c, flat_c_1_, place_, alpha_, beta_);
    // 236: row = row0 + thread_row + (i // lanes * (tile_m // groups_m) + i % lanes)
    row_ = as_int((uint)row0_ + (uint)thread_row_ + 2);
    // 238: column = column0 + thread_column + part * (tile_n // groups_n)
    column_ = as_int((uint)column0_ + (uint)thread_column_);
    // 239: place = c_start + row * c_pitch + column
    place_ = as_int((uint)c_start_ + (uint)row_ * (uint)c_pitch_ + (uint)column_);
    // 241: line = vector(acc[i, part * 4], acc[i, part * 4 + 1], acc[i, part * 4 + 2], acc[i, part * 4 + 3])
    line_ = (float4)(acc__2_0, acc__2_1, acc__2_2, acc__2_3);
    // 245: store_vector(line, flat_c, place, alpha, beta, scaled, stored, scaling, True)
    store_vector_(line_, c, flat_c_1_, place_, alpha_, beta_);
    // 236: row = row0 + thread_row + (i // lanes * (tile_m // groups_m) + i % lanes)
    row_ = as_int((uint)row0_ + (uint)thread_row_ + 3);
    // 238: column = column0 + thread_column + part * (tile_n // groups_n)
    column_ = as_int((uint)column0_ + (uint)thread_column_);
    // 239: place = c_start + row * c_pitch + column
    place_ = as_int((uint)c_start_ + (uint)row_ * (uint)c_pitch_ + (uint)column_);
    // 241: line = vector(acc[i, part * 4], acc[i, part * 4 + 1], acc[i, part * 4 + 2], acc[i, part * 4 + 3])
    line_ = (float4)(acc__3_0, acc__3_1, acc__3_2, acc__3_3);
    // 245: store_vector(line, flat_c, place, alpha, beta, scaled, stored, scaling, True)
    store_vector_(line_, c, flat_c_1_, place_, alpha_, beta_);
}
