"""The kernels of `portagpu.bench.textbook.kernels` in CUDA C, line by line; sizes come last among the arguments.

Pointers are `__restrict__`, which the dialect's arrays are without a word: a peer should not lose by a missing one.
"""

from __future__ import annotations

TEXTS = {
    "saxpy": """\
__global__ void saxpy(float a, const float* __restrict__ x, float* __restrict__ y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}""",
    "saxpy_strided": """\
__global__ void saxpy_strided(float a, const float* __restrict__ x, float* __restrict__ y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = a * x[i] + y[i];
}""",
    "stencil": """\
__global__ void stencil(const float* __restrict__ old, float* __restrict__ fresh, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (0 < y && y < rows - 1 && 0 < x && x < columns - 1) {
        float around = old[(y - 1) * columns + x] + old[(y + 1) * columns + x] + old[y * columns + x - 1]
            + old[y * columns + x + 1];
        fresh[y * columns + x] = 0.5f * old[y * columns + x] + 0.125f * around;
    }
}""",
    "transpose": """\
__global__ void transpose(const float* __restrict__ source, float* __restrict__ target, int rows, int columns) {
    __shared__ float tile[32][33];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * 32 + tx, y = blockIdx.y * 32 + ty;
    for (int j = 0; j < 32; j += 8)
        if (x < columns && y + j < rows) tile[ty + j][tx] = source[(y + j) * columns + x];
    __syncthreads();
    x = blockIdx.y * 32 + tx, y = blockIdx.x * 32 + ty;
    for (int j = 0; j < 32; j += 8)
        if (x < rows && y + j < columns) target[(y + j) * rows + x] = tile[tx][ty + j];
}""",
    "matmul_naive": """\
__global__ void matmul_naive(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                             int m, int n, int depth) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < m && column < n) {
        float total = 0;
        for (int k = 0; k < depth; k++) total += a[row * depth + k] * b[k * n + column];
        c[row * n + column] = total;
    }
}""",
    "matmul_tiled": """\
__global__ void matmul_tiled(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                             int m, int n, int depth) {
    __shared__ float tile_a[16][16], tile_b[16][16];
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    int tx = threadIdx.x, ty = threadIdx.y;
    float total = 0;
    for (int start = 0; start < depth; start += 16) {
        bool inside_a = row < m && start + tx < depth, inside_b = column < n && start + ty < depth;
        tile_a[ty][tx] = inside_a ? a[row * depth + start + tx] : 0.0f;
        tile_b[ty][tx] = inside_b ? b[(start + ty) * n + column] : 0.0f;
        __syncthreads();
        for (int k = 0; k < 16; k++) total += tile_a[ty][k] * tile_b[k][tx];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = total;
}""",
    "n_body": """\
__global__ void n_body(const float* __restrict__ bodies, float* __restrict__ acceleration, int n) {
    __shared__ float tile[128][4];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
    int me = min(i, n - 1);
    float x = bodies[4 * me], y = bodies[4 * me + 1], z = bodies[4 * me + 2];
    float ax = 0, ay = 0, az = 0;
    for (int start = 0; start < n; start += 128) {
        for (int axis = 0; axis < 4; axis++) tile[t][axis] = start + t < n ? bodies[4 * (start + t) + axis] : 0.0f;
        __syncthreads();
        for (int k = 0; k < 128; k++) {
            float dx = tile[k][0] - x, dy = tile[k][1] - y, dz = tile[k][2] - z;
            float squared = dx * dx + dy * dy + dz * dz + 0.01f;
            float strength = tile[k][3] / (squared * sqrtf(squared));
            ax += strength * dx;
            ay += strength * dy;
            az += strength * dz;
        }
        __syncthreads();
    }
    if (i < n) acceleration[3 * i] = ax, acceleration[3 * i + 1] = ay, acceleration[3 * i + 2] = az;
}""",
    "black_scholes": """\
__device__ float normal_cdf(float x) { return 0.5f * erfcf(-x * sqrtf(0.5f)); }
__global__ void black_scholes(const float* __restrict__ price, const float* __restrict__ strike,
                              const float* __restrict__ years, float rate, float volatility,
                              float* __restrict__ call, float* __restrict__ put, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float s = price[i], x = strike[i], t = years[i];
        float spread = volatility * sqrtf(t);
        float d1 = (logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / spread;
        float d2 = d1 - spread;
        float discounted = x * expf(-rate * t);
        call[i] = s * normal_cdf(d1) - discounted * normal_cdf(d2);
        put[i] = discounted * normal_cdf(-d2) - s * normal_cdf(-d1);
    }
}""",
    "mandelbrot": """\
__device__ int escape_time(float c_re, float c_im, int most) {
    float z_re = 0, z_im = 0;
    for (int i = 0; i < most; i++) {
        float re = z_re * z_re - z_im * z_im + c_re;
        z_im = 2.0f * z_re * z_im + c_im;
        z_re = re;
        if (z_re * z_re + z_im * z_im >= 4.0f) return i;
    }
    return most;
}
__global__ void mandelbrot(float left, float top, float step, int* __restrict__ image, int most,
                           int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (y < rows && x < columns) image[y * columns + x] = escape_time(left + x * step, top + y * step, most);
}""",
    "histogram": """\
__global__ void histogram(const float* __restrict__ values, int* __restrict__ counts, int n) {
    __shared__ int block_counts[64];
    for (int b = threadIdx.x; b < 64; b += blockDim.x) block_counts[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int b = min((int)(values[i] * 64), 63);
        atomicAdd(&block_counts[b], 1);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < 64; b += blockDim.x) atomicAdd(&counts[b], block_counts[b]);
}""",
    "sum_blocks": """\
__global__ void sum_blocks(const float* __restrict__ values, float* __restrict__ partial, int n) {
    __shared__ float cache[256];
    int t = threadIdx.x;
    float total = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) total += values[i];
    cache[t] = total;
    __syncthreads();
    for (int width = 128; width > 0; width /= 2) {
        if (t < width) cache[t] += cache[t + width];
        __syncthreads();
    }
    if (t == 0) partial[blockIdx.x] = cache[0];
}""",
    "sum_warps": """\
__global__ void sum_warps(const float* __restrict__ values, float* __restrict__ partial, int n) {
    float total = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) total += values[i];
    for (int delta = 16; delta > 0; delta /= 2) total += __shfl_down_sync(0xFFFFFFFF, total, delta);
    if (threadIdx.x % 32 == 0) partial[(blockIdx.x * blockDim.x + threadIdx.x) / 32] = total;
}""",
    "bitonic_blocks": """\
__global__ void bitonic_blocks(const float* __restrict__ source, float* __restrict__ target) {
    __shared__ float chunk[512];
    int t = threadIdx.x, start = blockIdx.x * 512;
    chunk[t] = source[start + t];
    chunk[t + 256] = source[start + t + 256];
    for (int run = 2; run <= 512; run *= 2) {
        for (int distance = run / 2; distance > 0; distance /= 2) {
            __syncthreads();
            int low = 2 * t - (t & (distance - 1)), high = low + distance;
            bool upwards = (low & run) == 0;
            if ((chunk[low] > chunk[high]) == upwards) {
                float kept = chunk[low];
                chunk[low] = chunk[high];
                chunk[high] = kept;
            }
        }
    }
    __syncthreads();
    target[start + t] = chunk[t];
    target[start + t + 256] = chunk[t + 256];
}""",
    "chain": """\
__global__ void chain(const double* __restrict__ x, double* __restrict__ y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double v = x[i];
        for (int step = 0; step < 1024; step++) v = v * 0.999 + 0.001;
        y[i] = v;
    }
}""",
    "count_inside": """\
typedef unsigned long long word;
struct state { word s0, s1; };
__device__ word rotl(word x, int k) { return (x << k) | (x >> (64 - k)); }
__device__ word next(state* states, int i) {
    word s0 = states[i].s0, s1 = states[i].s1, result = s0 + s1;
    s1 ^= s0;
    states[i].s0 = rotl(s0, 55) ^ s1 ^ (s1 << 14);
    states[i].s1 = rotl(s1, 36);
    return result;
}
__device__ float uniform(state* states, int i) { return (float)(next(states, i) >> 11) * (1.0f / (1ull << 53)); }
__global__ void count_inside(state* __restrict__ states, int* __restrict__ inside, int samples, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int hits = 0;
        for (int sample = 0; sample < samples; sample++) {
            float x = uniform(states, i), y = uniform(states, i);
            if (x * x + y * y <= 1.0f) hits += 1;
        }
        inside[i] = hits;
    }
}""",
}
"""CUDA C by kernel; what it needs comes before it."""


def program(name: str) -> str:
    """The text as one program whose kernel is found by its plain name."""
    return 'extern "C" {\n' + TEXTS[name] + "\n}\n"
