
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
// 29: def _load(
static inline float4 _load(__global const float* source, int source_1, int start, int row, int column, int pitch, int rows, int columns) {
    // 46: return vector(cuda.vload(source, start + row * pitch + column, vector.lanes, aligned=True))
    return *(__global const float4*)(source + pg_wrap_index_int(start + row * pitch + column, source_1));
}

// 16: def multiply_add(x, y, z, whole: cuda.constexpr):
static inline float multiply_add(float x, float y, float z) {
    // 20: return cuda.fma(x, y, z)
    return fma(x, y, z);
}

// 35: def store_vector(
static inline void store_vector(float4 total, __global float* c, int c_1, int place, float alpha, float beta) {
    // 47: value = scaled(total)
    float4 value = total;
    // 53: cuda.vstore(stored(value), c, place, aligned=aligned)
    *(__global float4*)(c + (place < 0 ? place + c_1 : place)) = value;
}

// 63: def multiply_tiles(
__kernel void multiply_tiles(
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
    int a_pitch,
    int a_batch,
    int b_pitch,
    int b_batch,
    int c_pitch,
    int c_batch,
    int split,
    int chunk,
    float alpha,
    float beta) {
    __local float tile_a[160] __attribute__((aligned(128)));
    __local float tile_b[160] __attribute__((aligned(128)));
    float4 next_a_0;
    float4 next_b_0;
    float4 rows_0;
    float4 columns_0;
    float acc_0_0, acc_0_1, acc_0_2, acc_0_3, acc_1_0, acc_1_1, acc_1_2, acc_1_3;
    float acc_2_0, acc_2_1, acc_2_2, acc_2_3, acc_3_0, acc_3_1, acc_3_2, acc_3_3;
    int place = 0;
    // 125: flat_a = a.T.ravel() if a_transposed and a.ndim == 2 else a.ravel()
    int flat_a_1 = a_n0 * a_n1;
    // 126: flat_b = b.T.ravel() if b_transposed and b.ndim == 2 else b.ravel()
    int flat_b_1 = b_n0 * b_n1;
    // 127: flat_c = c.ravel()
    int flat_c_1 = c_n0 * c_n1;
    // 129: thread = np.int32(cuda.threadIdx.x) % threads
    int thread = (int)get_local_id(0) & 15;
    // 130: mine = np.int32(cuda.threadIdx.x) // threads
    int mine = (int)get_local_id(0) >> 4;
    // 131: thread_row = thread // threads_n * lanes
    int thread_row = (thread >> 2) * 4;
    // 132: thread_column = thread % threads_n * lanes
    int thread_column = (thread & 3) * 4;
    // 133: tiles_n = (n + (tile_n - 1)) // tile_n
    int tiles_n = as_int((uint)n + 15) >> 4;
    // 134: block = type(m)(cuda.blockIdx.x)
    int block = (int)get_group_id(0);
    // 152: tiles_m = (m + (tile_m - 1)) // tile_m
    int tiles_m = as_int((uint)m + 15) >> 4;
    // 153: tiles = tiles_m * tiles_n
    int tiles = as_int((uint)tiles_m * (uint)tiles_n);
    // 154: matrix = block // tiles
    int matrix = pg_floordiv_int(block, tiles);
    // 155: within = block % tiles
    int within = pg_mod_int(block, tiles);
    // 156: band = within // (group * tiles_n)
    int band = pg_floordiv_int(within, as_int(4 * (uint)tiles_n));
    // 157: band_height = max(min(type(m)(group), tiles_m - band * group), 1)
    int band_height = max(min(4, as_int((uint)tiles_m - (uint)band * 4)), 1);
    // 158: within = within % (group * tiles_n)
    within = pg_mod_int(within, as_int(4 * (uint)tiles_n));
    // 159: row0 = (band * group + within % band_height) * tile_m
    int row0 = as_int(((uint)band * 4 + (uint)pg_mod_int(within, band_height)) * 16);
    // 160: column0 = within // band_height * tile_n
    int column0 = as_int((uint)pg_floordiv_int(within, band_height) * 16);
    // 165: c_start = matrix * c_batch
    int c_start = as_int((uint)matrix * (uint)c_batch);
    // 166: begin_k = matrix % split * chunk
    int begin_k = as_int((uint)pg_mod_int(matrix, split) * (uint)chunk);
    // 167: end_m, end_k = m, min(k, begin_k + chunk)
    int end_m = m;
    int end_k = min(k, as_int((uint)begin_k + (uint)chunk));
    // 168: matrix = matrix // split
    matrix = pg_floordiv_int(matrix, split);
    // 169: a_start, b_start = matrix * a_batch, matrix * b_batch
    int a_start = as_int((uint)matrix * (uint)a_batch);
    int b_start = as_int((uint)matrix * (uint)b_batch);
    // 173: acc[i, j] = 0
    acc_0_0 = 0.0f;
    acc_0_1 = 0.0f;
    acc_0_2 = 0.0f;
    acc_0_3 = 0.0f;
    acc_1_0 = 0.0f;
    acc_1_1 = 0.0f;
    acc_1_2 = 0.0f;
    acc_1_3 = 0.0f;
    acc_2_0 = 0.0f;
    acc_2_1 = 0.0f;
    acc_2_2 = 0.0f;
    acc_2_3 = 0.0f;
    acc_3_0 = 0.0f;
    acc_3_1 = 0.0f;
    acc_3_2 = 0.0f;
    acc_3_3 = 0.0f;
    // 174: steps = (end_k - begin_k + (tile_k - 1)) // tile_k
    int steps = as_int((uint)end_k - (uint)begin_k + 3) >> 2;
    // 175: buffer = mine * 2
    int buffer = mine * 2;
    // 176: for step in range(type(m)(0), steps + 1):
    int t1 = as_int((uint)steps + 1);
    for (int step_ = 0; step_ < t1; step_ += 1) {
        int position = 0;
        int x = 0;
        // 177: if step < steps:
        if (step_ < steps) {
            // 178: k0 = begin_k + step * tile_k
            int k0 = as_int((uint)begin_k + (uint)step_ * 4);
            // 180: position = thread + load * threads
            position = thread;
            // 185: y, x = row0 + position // (tile_k // lanes), k0 + position % (tile_k // lanes) * lanes
            int y = as_int((uint)row0 + (uint)position);
            x = as_int((uint)k0 + (uint)((position & 0) * 4));
            // 186: next_a[load] = _load(flat_a, a_start, y, x, a_pitch, end_m, end_k, vector, aligned, exact)
            next_a_0 = _load(a, flat_a_1, a_start, y, x, a_pitch, end_m, end_k);
            // 188: position = thread + load * threads
            position = thread;
            // 193: y, x = k0 + position // (tile_n // lanes), column0 + position % (tile_n // lanes) * lanes
            y = as_int((uint)k0 + (uint)(position >> 2));
            x = as_int((uint)column0 + (uint)((position & 3) * 4));
            // 194: next_b[load] = _load(flat_b, b_start, y, x, b_pitch, end_k, n, vector, aligned, exact)
            next_b_0 = _load(b, flat_b_1, b_start, y, x, b_pitch, end_k, n);
        }
        // 195: if step > 0:
        if (step_ > 0) {
            // 196: for first in range(np.int32(0), np.int32(tile_k), np.int32(unroll)):
            for (int first = 0; first < 4; first += 4) {
                // 199: place = thread_row + part * (tile_m // groups_m)
                place = thread_row;
                // 200: rows[part] = cuda.vload(tile_a, (buffer, first + depth, place), lanes, aligned=True)
                rows_0 = *(__local const float4*)(tile_a + (buffer * 80 + first * 20 + (place < 0 ? place + 20 : place)));
                // 202: place = thread_column + part * (tile_n // groups_n)
                place = thread_column;
                // 203: columns[part] = cuda.vload(tile_b, (buffer, first + depth, place), lanes, aligned=True)
                columns_0 = *(__local const float4*)(tile_b + (buffer * 80 + first * 20 + (place < 0 ? place + 20 : place)));
                // 206: acc[i, j] = multiply_add(
                acc_0_0 = multiply_add(rows_0.s0, columns_0.s0, acc_0_0);
                acc_0_1 = multiply_add(rows_0.s0, columns_0.s1, acc_0_1);
                acc_0_2 = multiply_add(rows_0.s0, columns_0.s2, acc_0_2);
                acc_0_3 = multiply_add(rows_0.s0, columns_0.s3, acc_0_3);
                acc_1_0 = multiply_add(rows_0.s1, columns_0.s0, acc_1_0);
                acc_1_1 = multiply_add(rows_0.s1, columns_0.s1, acc_1_1);
                acc_1_2 = multiply_add(rows_0.s1, columns_0.s2, acc_1_2);
                acc_1_3 = multiply_add(rows_0.s1, columns_0.s3, acc_1_3);
                acc_2_0 = multiply_add(rows_0.s2, columns_0.s0, acc_2_0);
                acc_2_1 = multiply_add(rows_0.s2, columns_0.s1, acc_2_1);
                acc_2_2 = multiply_add(rows_0.s2, columns_0.s2, acc_2_2);
                acc_2_3 = multiply_add(rows_0.s2, columns_0.s3, acc_2_3);
                acc_3_0 = multiply_add(rows_0.s3, columns_0.s0, acc_3_0);
                acc_3_1 = multiply_add(rows_0.s3, columns_0.s1, acc_3_1);
                acc_3_2 = multiply_add(rows_0.s3, columns_0.s2, acc_3_2);
                acc_3_3 = multiply_add(rows_0.s3, columns_0.s3, acc_3_3);
                // 199: place = thread_row + part * (tile_m // groups_m)
                place = thread_row;
                // 200: rows[part] = cuda.vload(tile_a, (buffer, first + depth, place), lanes, aligned=True)
                rows_0 = *(__local const float4*)(tile_a + (buffer * 80 + (first + 1) * 20 + (place < 0 ? place + 20 : place)));
                // 202: place = thread_column + part * (tile_n // groups_n)
                place = thread_column;
                // 203: columns[part] = cuda.vload(tile_b, (buffer, first + depth, place), lanes, aligned=True)
                columns_0 = *(__local const float4*)(tile_b + (buffer * 80 + (first + 1) * 20 + (place < 0 ? place + 20 : place)));
                // 206: acc[i, j] = multiply_add(
                acc_0_0 = multiply_add(rows_0.s0, columns_0.s0, acc_0_0);
                acc_0_1 = multiply_add(rows_0.s0, columns_0.s1, acc_0_1);
                acc_0_2 = multiply_add(rows_0.s0, columns_0.s2, acc_0_2);
                acc_0_3 = multiply_add(rows_0.s0, columns_0.s3, acc_0_3);
                acc_1_0 = multiply_add(rows_0.s1, columns_0.s0, acc_1_0);
                acc_1_1 = multiply_add(rows_0.s1, columns_0.s1, acc_1_1);
                acc_1_2 = multiply_add(rows_0.s1, columns_0.s2, acc_1_2);
                acc_1_3 = multiply_add(rows_0.s1, columns_0.s3, acc_1_3);
                acc_2_0 = multiply_add(rows_0.s2, columns_0.s0, acc_2_0);
                acc_2_1 = multiply_add(rows_0.s2, columns_0.s1, acc_2_1);
                acc_2_2 = multiply_add(rows_0.s2, columns_0.s2, acc_2_2);
                acc_2_3 = multiply_add(rows_0.s2, columns_0.s3, acc_2_3);
                acc_3_0 = multiply_add(rows_0.s3, columns_0.s0, acc_3_0);
                acc_3_1 = multiply_add(rows_0.s3, columns_0.s1, acc_3_1);
                acc_3_2 = multiply_add(rows_0.s3, columns_0.s2, acc_3_2);
                acc_3_3 = multiply_add(rows_0.s3, columns_0.s3, acc_3_3);
                // 199: place = thread_row + part * (tile_m // groups_m)
                place = thread_row;
                // 200: rows[part] = cuda.vload(tile_a, (buffer, first + depth, place), lanes, aligned=True)
                rows_0 = *(__local const float4*)(tile_a + (buffer * 80 + (first + 2) * 20 + (place < 0 ? place + 20 : place)));
                // 202: place = thread_column + part * (tile_n // groups_n)
                place = thread_column;
                // 203: columns[part] = cuda.vload(tile_b, (buffer, first + depth, place), lanes, aligned=True)
                columns_0 = *(__local const float4*)(tile_b + (buffer * 80 + (first + 2) * 20 + (place < 0 ? place + 20 : place)));
                // 206: acc[i, j] = multiply_add(
                acc_0_0 = multiply_add(rows_0.s0, columns_0.s0, acc_0_0);
                acc_0_1 = multiply_add(rows_0.s0, columns_0.s1, acc_0_1);
                acc_0_2 = multiply_add(rows_0.s0, columns_0.s2, acc_0_2);
                acc_0_3 = multiply_add(rows_0.s0, columns_0.s3, acc_0_3);
                acc_1_0 = multiply_add(rows_0.s1, columns_0.s0, acc_1_0);
                acc_1_1 = multiply_add(rows_0.s1, columns_0.s1, acc_1_1);
                acc_1_2 = multiply_add(rows_0.s1, columns_0.s2, acc_1_2);
                acc_1_3 = multiply_add(rows_0.s1, columns_0.s3, acc_1_3);
                acc_2_0 = multiply_add(rows_0.s2, columns_0.s0, acc_2_0);
                acc_2_1 = multiply_add(rows_0.s2, columns_0.s1, acc_2_1);
                acc_2_2 = multiply_add(rows_0.s2, columns_0.s2, acc_2_2);
                acc_2_3 = multiply_add(rows_0.s2, columns_0.s3, acc_2_3);
                acc_3_0 = multiply_add(rows_0.s3, columns_0.s0, acc_3_0);
                acc_3_1 = multiply_add(rows_0.s3, columns_0.s1, acc_3_1);
                acc_3_2 = multiply_add(rows_0.s3, columns_0.s2, acc_3_2);
                acc_3_3 = multiply_add(rows_0.s3, columns_0.s3, acc_3_3);
                // 199: place = thread_row + part * (tile_m // groups_m)
                place = thread_row;
                // 200: rows[part] = cuda.vload(tile_a, (buffer, first + depth, place), lanes, aligned=True)
                rows_0 = *(__local const float4*)(tile_a + (buffer * 80 + (first + 3) * 20 + (place < 0 ? place + 20 : place)));
                // 202: place = thread_column + part * (tile_n // groups_n)
                place = thread_column;
                // 203: columns[part] = cuda.vload(tile_b, (buffer, first + depth, place), lanes, aligned=True)
                columns_0 = *(__local const float4*)(tile_b + (buffer * 80 + (first + 3) * 20 + (place < 0 ? place + 20 : place)));
                // 206: acc[i, j] = multiply_add(
                acc_0_0 = multiply_add(rows_0.s0, columns_0.s0, acc_0_0);
                acc_0_1 = multiply_add(rows_0.s0, columns_0.s1, acc_0_1);
                acc_0_2 = multiply_add(rows_0.s0, columns_0.s2, acc_0_2);
                acc_0_3 = multiply_add(rows_0.s0, columns_0.s3, acc_0_3);
                acc_1_0 = multiply_add(rows_0.s1, columns_0.s0, acc_1_0);
                acc_1_1 = multiply_add(rows_0.s1, columns_0.s1, acc_1_1);
                acc_1_2 = multiply_add(rows_0.s1, columns_0.s2, acc_1_2);
                acc_1_3 = multiply_add(rows_0.s1, columns_0.s3, acc_1_3);
                acc_2_0 = multiply_add(rows_0.s2, columns_0.s0, acc_2_0);
                acc_2_1 = multiply_add(rows_0.s2, columns_0.s1, acc_2_1);
                acc_2_2 = multiply_add(rows_0.s2, columns_0.s2, acc_2_2);
                acc_2_3 = multiply_add(rows_0.s2, columns_0.s3, acc_2_3);
                acc_3_0 = multiply_add(rows_0.s3, columns_0.s0, acc_3_0);
                acc_3_1 = multiply_add(rows_0.s3, columns_0.s1, acc_3_1);
                acc_3_2 = multiply_add(rows_0.s3, columns_0.s2, acc_3_2);
                acc_3_3 = multiply_add(rows_0.s3, columns_0.s3, acc_3_3);
            }
            // 209: buffer ^= 1
            buffer = buffer ^ 1;
        }
        // 210: if step < steps:
        if (step_ < steps) {
            // 212: position = thread + load * threads
            position = thread;
            // 217: x = position % (tile_k // lanes) * lanes
            x = (position & 0) * 4;
            // 219: tile_a[buffer, x + lane, position // (tile_k // lanes)] = next_a[load][lane]
            tile_a[buffer * 80 + (x < 0 ? x + 4 : x) * 20 + position] = next_a_0.s0;
            tile_a[buffer * 80 + pg_wrap_index_int(x + 1, 4) * 20 + position] = next_a_0.s1;
            tile_a[buffer * 80 + pg_wrap_index_int(x + 2, 4) * 20 + position] = next_a_0.s2;
            tile_a[buffer * 80 + pg_wrap_index_int(x + 3, 4) * 20 + position] = next_a_0.s3;
            // 221: position = thread + load * threads
            position = thread;
            // 227: x = position % (tile_n // lanes) * lanes
            x = (position & 3) * 4;
            // 228: cuda.vstore(next_b[load], tile_b, (buffer, position // (tile_n // lanes), x), aligned=True)
            *(__local float4*)(tile_b + (buffer * 80 + (position >> 2) * 20 + (x < 0 ? x + 20 : x))) = next_b_0;
            // 229: cuda.syncthreads()
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        }
    }
    // 233: row = row0 + thread_row + (i // lanes * (tile_m // groups_m) + i % lanes)
    int row = as_int((uint)row0 + (uint)thread_row);
    // 235: column = column0 + thread_column + part * (tile_n // groups_n)
    int column = as_int((uint)column0 + (uint)thread_column);
    // 236: place = c_start + row * c_pitch + column
    place = as_int((uint)c_start + (uint)row * (uint)c_pitch + (uint)column);
    // 238: line = vector(acc[i, part * 4], acc[i, part * 4 + 1], acc[i, part * 4 + 2], acc[i, part * 4 + 3])
    float4 line = (float4)(acc_0_0, acc_0_1, acc_0_2, acc_0_3);
    // 242: store_vector(line, flat_c, place, alpha, beta, scaled, stored, scaling, True)
    store_vector(line, c, flat_c_1, place, alpha, beta);
    // 233: row = row0 + thread_row + (i // lanes * (tile_m // groups_m) + i % lanes)
    row = as_int((uint)row0 + (uint)thread_row + 1);
    // 235: column = column0 + thread_column + part * (tile_n // groups_n)
    column = as_int((uint)column0 + (uint)thread_column);
    // 236: place = c_start + row * c_pitch + column
    place = as_int((uint)c_start + (uint)row * (uint)c_pitch + (uint)column);
    // 238: line = vector(acc[i, part * 4], acc[i, part * 4 + 1], acc[i, part * 4 + 2], acc[i, part * 4 + 3])
    line = (float4)(acc_1_0, acc_1_1, acc_1_2, acc_1_3);
    // 242: store_vector(line, flat_c, place, alpha, beta, scaled, stored, scaling, True)
    store_vector(line, c, flat_c_1, place, alpha, beta);
    // 233: row = row0 + thread_row + (i // lanes * (tile_m // groups_m) + i % lanes)
    row = as_int((uint)row0 + (uint)thread_row + 2);
    // 235: column = column0 + thread_column + part * (tile_n // groups_n)
    column = as_int((uint)column0 + (uint)thread_column);
    // 236: place = c_start + row * c_pitch + column
    place = as_int((uint)c_start + (uint)row * (uint)c_pitch + (uint)column);
    // 238: line = vector(acc[i, part * 4], acc[i, part * 4 + 1], acc[i, part * 4 + 2], acc[i, part * 4 + 3])
    line = (float4)(acc_2_0, acc_2_1, acc_2_2, acc_2_3);
    // 242: store_vector(line, flat_c, place, alpha, beta, scaled, stored, scaling, True)
    store_vector(line, c, flat_c_1, place, alpha, beta);
    // 233: row = row0 + thread_row + (i // lanes * (tile_m // groups_m) + i % lanes)
    row = as_int((uint)row0 + (uint)thread_row + 3);
    // 235: column = column0 + thread_column + part * (tile_n // groups_n)
    column = as_int((uint)column0 + (uint)thread_column);
    // 236: place = c_start + row * c_pitch + column
    place = as_int((uint)c_start + (uint)row * (uint)c_pitch + (uint)column);
    // 238: line = vector(acc[i, part * 4], acc[i, part * 4 + 1], acc[i, part * 4 + 2], acc[i, part * 4 + 3])
    line = (float4)(acc_3_0, acc_3_1, acc_3_2, acc_3_3);
    // 242: store_vector(line, flat_c, place, alpha, beta, scaled, stored, scaling, True)
    store_vector(line, c, flat_c_1, place, alpha, beta);
}
