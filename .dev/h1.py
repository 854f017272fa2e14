import sys, time, itertools
import numpy as np, torch
sys.path.insert(0, ".")
from portagpu import cuda
from portagpu.cuda import jit
from portagpu.blas.warpgroup_kernels import multiply_warpgroups, encode_maps
from portagpu.blas.vectors import vector_type
K = {}
def kernel(threads):
    if threads not in K: K[threads] = jit(multiply_warpgroups.py_func, block_dim=(threads,1,1))
    return K[threads]
def run(a, b, c, tm, tn, st, co, group, at, bt, scaled=False, exact=True, grid=132, maps=None, alpha=1, beta=0):
    # a: (1,m,k) or (1,k,m) as lies
    tk = 64
    m, n = c.shape[1:]
    k = a.shape[1] if at else a.shape[2]
    if maps is None:
        maps = cuda.device_array(32, np.uint64)
        ba = (1, tk, 64) if at else (1, tm, tk)
        bb = (1, tn, tk) if bt else (1, tk, 64)
        sa = (np.uint64(a.shape[1]*a.shape[2]*2), np.uint64(a.shape[2]*2)); sb = (np.uint64(b.shape[1]*b.shape[2]*2), np.uint64(b.shape[2]*2))
        encode_maps[1, 32](maps, a, b, tuple(map(np.uint32,a.shape)), tuple(map(np.uint32,b.shape)), sa, sb, ba, bb, "float16")
    kernel(128*(co+1))[grid, 128*(co+1)](maps, c, np.int32(k), np.float32(alpha), np.float32(beta), np.int32(0), np.int32(0), "float16", tm, tn, tk, st, co, group, at, bt, np.dtype("uint16"), vector_type("float16", 2), scaled, exact)
    return maps
rng = np.random.default_rng(0)
def check(m, n, k, at, bt, cfg, exact):
    A = rng.standard_normal((m, k)).astype(np.float16); B = rng.standard_normal((k, n)).astype(np.float16)
    a = cuda.to_device(np.ascontiguousarray(A.T if at else A)[None]); b = cuda.to_device(np.ascontiguousarray(B.T if bt else B)[None])
    c = cuda.to_device(np.full((1, m, n), np.nan, np.float16))
    run(a, b, c, *cfg, at, bt, exact=exact)
    r = c.copy_to_host()[0].astype(np.float64); w = A.astype(np.float64) @ B.astype(np.float64)
    print("check", m, n, k, at, bt, cfg, exact, "err", np.linalg.norm(r-w)/np.linalg.norm(w), flush=True)
def bench(n, cfg, at=False, bt=False):
    A = torch.randn(n, n, device="cuda", dtype=torch.float16)
    a = cuda.to_device(A.cpu().numpy()[None]); b = cuda.to_device(torch.randn(n, n).half().numpy()[None]); c = cuda.device_array((1, n, n), np.float16)
    maps = run(a, b, c, *cfg, at, bt)
    cuda.synchronize()
    ts = []
    for _ in range(8):
        t = time.perf_counter()
        for _ in range(5): run(a, b, c, *cfg, at, bt, maps=maps)
        cuda.synchronize(); ts.append((time.perf_counter()-t)/5)
    t = np.median(ts[2:])
    print("ours", n, cfg, at, bt, round(2*n**3/t/1e12, 1), flush=True)
def cublas(n, dt=torch.float16):
    A = torch.randn(n, n, device="cuda", dtype=dt); B = torch.randn(n, n, device="cuda", dtype=dt); C = torch.empty(n, n, device="cuda", dtype=dt)
    torch.matmul(A, B, out=C); torch.cuda.synchronize()
    ts = []
    for _ in range(8):
        t = time.perf_counter()
        for _ in range(5): torch.matmul(A, B, out=C)
        torch.cuda.synchronize(); ts.append((time.perf_counter()-t)/5)
    print("cublas", n, dt, round(2*n**3/np.median(ts[2:])/1e12, 1), flush=True)
if __name__ == "__main__":
    print(cuda.current_context().device.name, cuda.current_context().capabilities.architecture_ptx, cuda.current_context().capabilities.ptx_target)
    base = (128, 256, 4, 2, 16)
    for at, bt in itertools.product((False, True), repeat=2):
        try:
            check(256, 512, 192, at, bt, base, True)
            check(200, 296, 136, at, bt, base, False)
        except Exception as e:
            print("FAIL", at, bt, str(e)[:1500]); raise
    for n in (8192, 4096, 2048):
        cublas(n)
        for cfg in (base, (128, 256, 4, 2, 8), (256, 128, 4, 2, 16), (128, 128, 6, 2, 16), (192, 128, 5, 3, 16), (128,192,5,2,16)):
            try: bench(n, cfg)
            except Exception as e: print("FAIL", cfg, str(e)[:300])
        bench(n, base, False, True); bench(n, base, True, False)
        cublas(n)
