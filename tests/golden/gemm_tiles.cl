
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
// 24: def _load(source, row, column, rows, columns, vector: cuda.constexpr, exact: cuda.constexpr):
static inline float4 _load(__global const float* source, int source_1, int source_2, int source_3, int row, int column, int rows, int columns) {
    // 27: return cuda.vload(source, (row, column), vector.lanes, aligned=True)
    return *(__global const float4*)(source + ((row < 0 ? row + source_1 : row) * source_3 + (column < 0 ? column + source_2 : column)));
}

// 39: def multiply_tiles(
__kernel void multiply_tiles(
    __global float* a,
    int a_n0,
    int a_n1,
    __global float* b,
    int b_n0,
    int b_n1,
    __global float* c,
    int c_n0,
    int c_n1) {
    __local float tile_a[160] __attribute__((aligned(128)));
    __local float tile_b[160] __attribute__((aligned(128)));
    float4 next_a_0;
    float4 next_b_0;
    float4 rows_0;
    float4 columns_0;
    float acc_0_0, acc_0_1, acc_0_2, acc_0_3, acc_1_0, acc_1_1, acc_1_2, acc_1_3;
    float acc_2_0, acc_2_1, acc_2_2, acc_2_3, acc_3_0, acc_3_1, acc_3_2, acc_3_3;
    // 60: m, n = np.int32(c.shape[0]), np.int32(c.shape[1])
    int m = c_n0;
    int n = c_n1;
    // 61: k = np.int32(a.shape[0]) if a_transposed else np.int32(a.shape[1])
    int k = a_n1;
    // 77: thread = np.int32(cuda.threadIdx.x)
    int thread = (int)get_local_id(0);
    // 78: thread_row = thread // threads_n * lanes
    int thread_row = (thread >> 2) * 4;
    // 79: thread_column = thread % threads_n * lanes
    int thread_column = (thread & 3) * 4;
    // 80: tiles_m = (m + (tile_m - 1)) // tile_m
    int tiles_m = m + 15 >> 4;
    // 81: tiles_n = (n + (tile_n - 1)) // tile_n
    int tiles_n = n + 15 >> 4;
    // 82: block = np.int32(cuda.blockIdx.x)
    int block = (int)get_group_id(0);
    // 83: band = block // (group * tiles_n)
    int band = pg_floordiv_int(block, 4 * tiles_n);
    // 84: band_height = max(min(np.int32(group), tiles_m - band * group), 1)
    int band_height = max(min(4, tiles_m - band * 4), 1);
    // 85: within = block % (group * tiles_n)
    int within = pg_mod_int(block, 4 * tiles_n);
    // 86: row0 = (band * group + within % band_height) * tile_m
    int row0 = (band * 4 + pg_mod_int(within, band_height)) * 16;
    // 87: column0 = within // band_height * tile_n
    int column0 = pg_floordiv_int(within, band_height) * 16;
    // 91: acc[i, j] = 0
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
    // 92: steps = (k + (tile_k - 1)) // tile_k
    int steps = k + 3 >> 2;
    // 94: for step in range(np.int32(0), steps + 1):
    int t1 = steps + 1;
    int buffer = 0;
    for (int step_ = 0; step_ < t1; step_ += 1) {
        int position = 0;
        int x = 0;
        // 95: if step < steps:
        if (step_ < steps) {
            // 96: k0 = step * tile_k
            int k0 = step_ * 4;
            // 98: position = thread + load * threads
            position = thread;
            // 103: y, x = row0 + position // (tile_k // lanes), k0 + position % (tile_k // lanes) * lanes
            int y = row0 + position;
            x = k0 + (position & 0) * 4;
            // 104: next_a[load] = _load(a, y, x, m, k, vector, exact)
            next_a_0 = _load(a, a_n0, a_n1, a_n1, y, x, m, k);
            // 106: position = thread + load * threads
            position = thread;
            // 111: y, x = k0 + position // (tile_n // lanes), column0 + position % (tile_n // lanes) * lanes
            y = k0 + (position >> 2);
            x = column0 + (position & 3) * 4;
            // 112: next_b[load] = _load(b, y, x, k, n, vector, exact)
            next_b_0 = _load(b, b_n0, b_n1, b_n1, y, x, k, n);
        }
        // 113: if step > 0:
        if (step_ > 0) {
            // 116: place = thread_row + part * (tile_m // groups_m)
            int place = thread_row;
            // 117: rows[part] = cuda.vload(tile_a, (buffer, depth, place), lanes, aligned=True)
            rows_0 = *(__local const float4*)(tile_a + (buffer * 80 + place));
            // 119: place = thread_column + part * (tile_n // groups_n)
            place = thread_column;
            // 120: columns[part] = cuda.vload(tile_b, (buffer, depth, place), lanes, aligned=True)
            columns_0 = *(__local const float4*)(tile_b + (buffer * 80 + place));
            // 123: acc[i, j] = cuda.fma(rows[i // lanes][i % lanes], columns[j // lanes][j % lanes], acc[i, j])
            acc_0_0 = fma(rows_0.s0, columns_0.s0, acc_0_0);
            acc_0_1 = fma(rows_0.s0, columns_0.s1, acc_0_1);
            acc_0_2 = fma(rows_0.s0, columns_0.s2, acc_0_2);
            acc_0_3 = fma(rows_0.s0, columns_0.s3, acc_0_3);
            acc_1_0 = fma(rows_0.s1, columns_0.s0, acc_1_0);
            acc_1_1 = fma(rows_0.s1, columns_0.s1, acc_1_1);
            acc_1_2 = fma(rows_0.s1, columns_0.s2, acc_1_2);
            acc_1_3 = fma(rows_0.s1, columns_0.s3, acc_1_3);
            acc_2_0 = fma(rows_0.s2, columns_0.s0, acc_2_0);
            acc_2_1 = fma(rows_0.s2, columns_0.s1, acc_2_1);
            acc_2_2 = fma(rows_0.s2, columns_0.s2, acc_2_2);
            acc_2_3 = fma(rows_0.s2, columns_0.s3, acc_2_3);
            acc_3_0 = fma(rows_0.s3, columns_0.s0, acc_3_0);
            acc_3_1 = fma(rows_0.s3, columns_0.s1, acc_3_1);
            acc_3_2 = fma(rows_0.s3, columns_0.s2, acc_3_2);
            acc_3_3 = fma(rows_0.s3, columns_0.s3, acc_3_3);
            // 116: place = thread_row + part * (tile_m // groups_m)
            place = thread_row;
            // 117: rows[part] = cuda.vload(tile_a, (buffer, depth, place), lanes, aligned=True)
            rows_0 = *(__local const float4*)(tile_a + (buffer * 80 + 20 + place));
            // 119: place = thread_column + part * (tile_n // groups_n)
            place = thread_column;
            // 120: columns[part] = cuda.vload(tile_b, (buffer, depth, place), lanes, aligned=True)
            columns_0 = *(__local const float4*)(tile_b + (buffer * 80 + 20 + place));
            // 123: acc[i, j] = cuda.fma(rows[i // lanes][i % lanes], columns[j // lanes][j % lanes], acc[i, j])
            acc_0_0 = fma(rows_0.s0, columns_0.s0, acc_0_0);
            acc_0_1 = fma(rows_0.s0, columns_0.s1, acc_0_1);
            acc_0_2 = fma(rows_0.s0, columns_0.s2, acc_0_2);
            acc_0_3 = fma(rows_0.s0, columns_0.s3, acc_0_3);
            acc_1_0 = fma(rows_0.s1, columns_0.s0, acc_1_0);
            acc_1_1 = fma(rows_0.s1, columns_0.s1, acc_1_1);
            acc_1_2 = fma(rows_0.s1, columns_0.s2, acc_1_2);
            acc_1_3 = fma(rows_0.s1, columns_0.s3, acc_1_3);
            acc_2_0 = fma(rows_0.s2, columns_0.s0, acc_2_0);
            acc_2_1 = fma(rows_0.s2, columns_0.s1, acc_2_1);
            acc_2_2 = fma(rows_0.s2, columns_0.s2, acc_2_2);
            acc_2_3 = fma(rows_0.s2, columns_0.s3, acc_2_3);
            acc_3_0 = fma(rows_0.s3, columns_0.s0, acc_3_0);
            acc_3_1 = fma(rows_0.s3, columns_0.s1, acc_3_1);
            acc_3_2 = fma(rows_0.s3, columns_0.s2, acc_3_2);
            acc_3_3 = fma(rows_0.s3, columns_0.s3, acc_3_3);
            // 116: place = thread_row + part * (tile_m // groups_m)
            place = thread_row;
            // 117: rows[part] = cuda.vload(tile_a, (buffer, depth, place), lanes, aligned=True)
            rows_0 = *(__local const float4*)(tile_a + (buffer * 80 + 40 + place));
            // 119: place = thread_column + part * (tile_n // groups_n)
            place = thread_column;
            // 120: columns[part] = cuda.vload(tile_b, (buffer, depth, place), lanes, aligned=True)
            columns_0 = *(__local const float4*)(tile_b + (buffer * 80 + 40 + place));
            // 123: acc[i, j] = cuda.fma(rows[i // lanes][i % lanes], columns[j // lanes][j % lanes], acc[i, j])
            acc_0_0 = fma(rows_0.s0, columns_0.s0, acc_0_0);
            acc_0_1 = fma(rows_0.s0, columns_0.s1, acc_0_1);
            acc_0_2 = fma(rows_0.s0, columns_0.s2, acc_0_2);
            acc_0_3 = fma(rows_0.s0, columns_0.s3, acc_0_3);
            acc_1_0 = fma(rows_0.s1, columns_0.s0, acc_1_0);
            acc_1_1 = fma(rows_0.s1, columns_0.s1, acc_1_1);
            acc_1_2 = fma(rows_0.s1, columns_0.s2, acc_1_2);
            acc_1_3 = fma(rows_0.s1, columns_0.s3, acc_1_3);
            acc_2_0 = fma(rows_0.s2, columns_0.s0, acc_2_0);
            acc_2_1 = fma(rows_0.s2, columns_0.s1, acc_2_1);
            acc_2_2 = fma(rows_0.s2, columns_0.s2, acc_2_2);
            acc_2_3 = fma(rows_0.s2, columns_0.s3, acc_2_3);
            acc_3_0 = fma(rows_0.s3, columns_0.s0, acc_3_0);
            acc_3_1 = fma(rows_0.s3, columns_0.s1, acc_3_1);
            acc_3_2 = fma(rows_0.s3, columns_0.s2, acc_3_2);
            acc_3_3 = fma(rows_0.s3, columns_0.s3, acc_3_3);
            // 116: place = thread_row + part * (tile_m // groups_m)
            place = thread_row;
            // 117: rows[part] = cuda.vload(tile_a, (buffer, depth, place), lanes, aligned=True)
            rows_0 = *(__local const float4*)(tile_a + (buffer * 80 + 60 + place));
            // 119: place = thread_column + part * (tile_n // groups_n)
            place = thread_column;
            // 120: columns[part] = cuda.vload(tile_b, (buffer, depth, place), lanes, aligned=True)
            columns_0 = *(__local const float4*)(tile_b + (buffer * 80 + 60 + place));
            // 123: acc[i, j] = cuda.fma(rows[i // lanes][i % lanes], columns[j // lanes][j % lanes], acc[i, j])
            acc_0_0 = fma(rows_0.s0, columns_0.s0, acc_0_0);
            acc_0_1 = fma(rows_0.s0, columns_0.s1, acc_0_1);
            acc_0_2 = fma(rows_0.s0, columns_0.s2, acc_0_2);
            acc_0_3 = fma(rows_0.s0, columns_0.s3, acc_0_3);
            acc_1_0 = fma(rows_0.s1, columns_0.s0, acc_1_0);
            acc_1_1 = fma(rows_0.s1, columns_0.s1, acc_1_1);
            acc_1_2 = fma(rows_0.s1, columns_0.s2, acc_1_2);
            acc_1_3 = fma(rows_0.s1, columns_0.s3, acc_1_3);
            acc_2_0 = fma(rows_0.s2, columns_0.s0, acc_2_0);
            acc_2_1 = fma(rows_0.s2, columns_0.s1, acc_2_1);
            acc_2_2 = fma(rows_0.s2, columns_0.s2, acc_2_2);
            acc_2_3 = fma(rows_0.s2, columns_0.s3, acc_2_3);
            acc_3_0 = fma(rows_0.s3, columns_0.s0, acc_3_0);
            acc_3_1 = fma(rows_0.s3, columns_0.s1, acc_3_1);
            acc_3_2 = fma(rows_0.s3, columns_0.s2, acc_3_2);
            acc_3_3 = fma(rows_0.s3, columns_0.s3, acc_3_3);
            // 124: buffer ^= 1
            buffer = buffer ^ 1;
        }
        // 125: if step < steps:
        if (step_ < steps) {
            // 127: position = thread + load * threads
            position = thread;
            // 132: x = position % (tile_k // lanes) * lanes
            x = (position & 0) * 4;
            // 134: tile_a[buffer, x + lane, position // (tile_k // lanes)] = next_a[load][lane]
            tile_a[buffer * 80 + x * 20 + position] = next_a_0.s0;
            tile_a[buffer * 80 + (x + 1) * 20 + position] = next_a_0.s1;
            tile_a[buffer * 80 + (x + 2) * 20 + position] = next_a_0.s2;
            tile_a[buffer * 80 + (x + 3) * 20 + position] = next_a_0.s3;
            // 136: position = thread + load * threads
            position = thread;
            // 142: x = position % (tile_n // lanes) * lanes
            x = (position & 3) * 4;
            // 143: cuda.vstore(next_b[load], tile_b, (buffer, position // (tile_n // lanes), x), aligned=True)
            *(__local float4*)(tile_b + (buffer * 80 + (position >> 2) * 20 + x)) = next_b_0;
            // 144: cuda.syncthreads()
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        }
    }
    // 147: row = row0 + thread_row + (i // lanes * (tile_m // groups_m) + i % lanes)
    int row = row0 + thread_row;
    // 149: column = column0 + thread_column + part * (tile_n // groups_n)
    int column = column0 + thread_column;
    // 152: line = vector(acc[i, part * 4], acc[i, part * 4 + 1], acc[i, part * 4 + 2], acc[i, part * 4 + 3])
    float4 line = (float4)(acc_0_0, acc_0_1, acc_0_2, acc_0_3);
    // 155: cuda.vstore(line, c, (row, column), aligned=True)
    *(__global float4*)(c + (row * c_n1 + column)) = line;
    // 147: row = row0 + thread_row + (i // lanes * (tile_m // groups_m) + i % lanes)
    row = row0 + thread_row + 1;
    // 149: column = column0 + thread_column + part * (tile_n // groups_n)
    column = column0 + thread_column;
    // 152: line = vector(acc[i, part * 4], acc[i, part * 4 + 1], acc[i, part * 4 + 2], acc[i, part * 4 + 3])
    line = (float4)(acc_1_0, acc_1_1, acc_1_2, acc_1_3);
    // 155: cuda.vstore(line, c, (row, column), aligned=True)
    *(__global float4*)(c + (row * c_n1 + column)) = line;
    // 147: row = row0 + thread_row + (i // lanes * (tile_m // groups_m) + i % lanes)
    row = row0 + thread_row + 2;
    // 149: column = column0 + thread_column + part * (tile_n // groups_n)
    column = column0 + thread_column;
    // 152: line = vector(acc[i, part * 4], acc[i, part * 4 + 1], acc[i, part * 4 + 2], acc[i, part * 4 + 3])
    line = (float4)(acc_2_0, acc_2_1, acc_2_2, acc_2_3);
    // 155: cuda.vstore(line, c, (row, column), aligned=True)
    *(__global float4*)(c + (row * c_n1 + column)) = line;
    // 147: row = row0 + thread_row + (i // lanes * (tile_m // groups_m) + i % lanes)
    row = row0 + thread_row + 3;
    // 149: column = column0 + thread_column + part * (tile_n // groups_n)
    column = column0 + thread_column;
    // 152: line = vector(acc[i, part * 4], acc[i, part * 4 + 1], acc[i, part * 4 + 2], acc[i, part * 4 + 3])
    line = (float4)(acc_3_0, acc_3_1, acc_3_2, acc_3_3);
    // 155: cuda.vstore(line, c, (row, column), aligned=True)
    *(__global float4*)(c + (row * c_n1 + column)) = line;
}
