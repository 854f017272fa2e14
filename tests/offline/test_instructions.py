"""Instructions are counted by kind, in each language; what compilers make of kernels has the kinds that it should."""

from __future__ import annotations

import pytest
from compilers import compiler_of
from planted import matrix, wide

from portagpu.backends.offline import InstructionMix
from portagpu.backends.opencl.offline import nvptx
from portagpu.backends.opencl.offline.instructions import amdgcn, counting, cpus, ptx, xe
from portagpu.backends.opencl.offline.targets import TARGETS

AMDGCN = {
    "v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], 0": ("matrix", 0),
    "v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]": ("matrix", 0),
    "global_load_dwordx4 v[0:3], v4, s[0:1]": ("loads", 16),
    "global_load_b96 v[0:2], v4, s[0:1]": ("loads", 12),
    "global_load_d16_b16 v0, v4, s[0:1]": ("loads", 2),
    "global_load_ubyte v0, v4, s[0:1]": ("loads", 1),
    "global_store_b64 v4, v[0:1], s[0:1]": ("stores", 8),
    "flat_load_dword v0, v[2:3]": ("loads", 4),
    "global_load_lds_dword v[0:1], off": ("asynchronous", 0),
    "scratch_load_b128 v[0:3], off, s0": ("scratch", 0),
    "buffer_store_dword v0, off, s[0:3], 0 offset:4": ("scratch", 0),
    "s_load_b64 s[0:1], s[0:1], 0x0": ("scalar_loads", 0),
    "ds_read_b128 v[0:3], v4": ("local", 0),
    "ds_bpermute_b32 v0, v1, v2": None,
    "v_fma_f32 v0, v1, v2, v3": ("fma", 0),
    "v_mad_u64_u32 v[0:1], s0, v2, v3, v[4:5]": None,
    "v_exp_f32_e32 v0, v1": ("special", 0),
    "global_atomic_add_u32 v0, v1, s[0:1]": ("atomics", 0),
    "s_barrier": ("barriers", 0),
    "s_barrier_wait -1": None,
    "s_cbranch_scc1 .LBB0_1": ("branches", 0),
    "v_add_f32_e32 v0, v1, v2": None,
}
PTX = {
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r2}, {%f1}": ("matrix", 0),
    "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {%f1}, %rd1, %rd2, p": ("matrix", 0),
    "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1]": ("loads", 16),
    "ld.global.nc.L1::no_allocate.v2.u64 {%rd1, %rd2}, [%rd3]": ("loads", 16),
    "st.global.u8 [%rd1], %rs1": ("stores", 1),
    "ld.local.f32 %f1, [%rd1]": ("scratch", 0),
    "ld.shared.v4.f32 {%f1}, [%r1]": ("local", 0),
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1}, [%r2]": ("local", 0),
    "ld.param.u64 %rd1, [k_param_0]": ("scalar_loads", 0),
    "cp.async.cg.shared.global [%r1], [%rd1], 16": ("asynchronous", 0),
    "cp.async.commit_group": None,
    "fma.rn.f32 %f1, %f2, %f3, %f4": ("fma", 0),
    "mad.lo.s32 %r1, %r2, %r3, %r4": None,
    "ex2.approx.f32 %f1, %f2": ("special", 0),
    "atom.global.add.u32 %r1, [%rd1], %r2": ("atomics", 0),
    "bar.sync 0": ("barriers", 0),
    "bra $L__BB0_1": ("branches", 0),
}
SASS = {
    "HMMA.16816.F32 R4, R8, R12, R4": ("matrix", 0),
    "HGMMA.64x256x16.F32 R24, gdesc[UR4], R24": ("matrix", 0),
    "LDG.E.128.CONSTANT R4, desc[UR4][R2.64]": ("loads", 16),
    "LDG.E R4, desc[UR4][R2.64]": ("loads", 4),
    "STG.E.64 desc[UR4][R2.64], R4": ("stores", 8),
    "LDGSTS.E.BYPASS.128 [R1], desc[UR4][R2.64]": ("asynchronous", 0),
    "LDL R1, [R2]": ("scratch", 0),
    "LDS.128 R4, [R2]": ("local", 0),
    "FFMA R1, R2, R3, R4": ("fma", 0),
    "IMAD R1, R2, R3, R4": None,
    "MUFU.EX2 R1, R2": ("special", 0),
    "BAR.SYNC.DEFER_BLOCKING 0x0": ("barriers", 0),
}
XE = {
    "dpas.8x8 (8|M0) r10:f r10:f r20:hf r30.0:hf {Atomic,$1}": ("matrix", 0),
    "load.ugm.d32x4.a64 (16|M0) r2:8 [r8:4] {$1} // ex_desc:0x0": ("loads", 16),
    "load.ugm.d32x8t.a32.ca.ca (1|M0) r4:1 bti[255][r3:1] {$2} //": ("scalar_loads", 0),
    "load.ugm.d32.a32.ca.ca (32|M0) r2:2 ss[a0.2][r36:2] {$10} // ex": ("scratch", 0),
    "store.slm.d32.a32 (32|M0) [r4:2] r6:2 {$1} //": ("local", 0),
    "send.dc1 (16|M0) r22 r4 null:0 0x0 0x04205E00 {$5} // wr:2+0, rd:2; untyped surface read with xyzw // $1": (
        *("loads", 16),
    ),
    "send.dc0 (8|M0) r4 r3 null:0 0x0 0x02110800 {A@2,$7} // wr:1+0, rd:1; byte gathering read 32b // $178": (
        "loads",
        4,
    ),
    "send.dc0 (8|M0) null r9 r10:1 0x0 0x02030402 {$0} // wr:1+1, rd:0; byte scattering write 16b // $688": (
        "stores",
        2,
    ),
    "send.dc1 (16|M0) null r17 r50:8 0x0 0x080699FF {$3} // wr:4+8, rd:0; a64 dword scattering write // $1": (
        *("stores", 4),
    ),
    "send.dc0 (16|M0) r1 r2 null:0 0x0 0x04205EFE {$1} // wr:2+0, rd:2; untyped surface read with x // $1": (
        *("local", 0),
    ),
    "mad (16|M0) r1.0<1>:f r2.0<1;0>:f r3.0<1;0>:f r4.0<1>:f": ("fma", 0),
    "math.exp (16|M0) r1.0<1>:f r2.0<1;1,0>:f": ("special", 0),
    "sync.bar null": ("barriers", 0),
    "jmpi _0_1": ("branches", 0),
}
X86 = {
    "vfmadd231ps\t(%rax), %zmm0, %zmm1": ("fma", 0),
    "vmovups\t(%rax,%rcx,4), %ymm0": ("loads", 32),
    "vmovss\t%xmm0, (%rax)": ("stores", 4),
    "vmovups\t%zmm1, 64(%rsp)": ("scratch", 0),
    "leaq\t(%rax,%rcx), %rdx": None,
    "vsqrtps\t%ymm0, %ymm1": ("special", 0),
    "jne\t.LBB0_1": ("branches", 0),
}
ARM = {
    "fmla\tv0.4s, v1.4s, v2.4s": ("fma", 0),
    "ldr\tq0, [x8]": ("loads", 16),
    "ldp\tq0, q1, [x8]": ("loads", 32),
    "str\ts0, [x8]": ("stores", 4),
    "str\tq0, [sp, #16]": ("scratch", 0),
    "add\tx0, x1, x2": None,
    "b.ne\t.LBB0_1": ("branches", 0),
}
TABLES = [
    *((amdgcn.kind_of, AMDGCN), (ptx.kind_of, PTX), (ptx.sass_kind_of, SASS), (xe.kind_of, XE)),
    *((cpus.kind_of("x86_64-linux"), X86), (cpus.kind_of("aarch64-linux"), ARM)),
]


@pytest.mark.parametrize("kind_of, table", TABLES, ids=["amdgcn", "PTX", "SASS", "Xe", "x86", "Arm"])
def test_kinds(kind_of, table):
    for text, kind in table.items():
        assert kind_of(text) == kind, text


def test_lines_of_the_program_are_told_and_removed():
    text = (
        '\t.file\t1 "/tmp" "kernel.cl"\n\t.file\t2 "other.h"\nk:\n\t.loc\t1 7 3\n\tscratch_load_b32 v0, off, s0\n'
        "\t.loc\t2 9 1\n\tscratch_load_b32 v1, off, s0\n\t.loc\t1 7 9\n\tscratch_store_b32 off, v0, s0\n"
    )
    mix, lines = counting.counted("amdgcn", amdgcn.instructions(text), amdgcn.kind_of)
    assert (mix.total, mix.scratch, lines) == (3, 3, {7: 2})
    assert counting.without_lines(text).count(".loc") == 0 and "scratch_store" in counting.without_lines(text)


def test_what_follows_from_a_mix():
    mix = InstructionMix(form="PTX", loads={4: 2, 16: 1})
    assert (mix.widest_load_bytes, mix.widest_store_bytes, mix.matrix_unit_used) == (16, 0, False)


@pytest.mark.each_value
@pytest.mark.parametrize("name", ["gfx942", "gfx1100", "dg2", "pvc", "sm_75", "sm_90", "x86-64-v3", "neoverse-v1"])
def test_vectors_are_wide_loads(name):
    mix = wide.compile_for(compiler_of(TARGETS[name]), block=64).figures.mix
    assert mix.widest_load_bytes == 16 == mix.widest_store_bytes, mix
    assert sum(mix.loads.values()) >= 1 and mix.scratch == 0 and not mix.matrix_unit_used


def test_matrix_units_are_seen():
    assert matrix.compile_for(compiler_of(TARGETS["gfx942"])).figures.mix.matrix == 1


def test_what_runs_is_shown_where_the_disassembler_is(disassembler):
    mix = wide.compile_for(compiler_of(TARGETS["sm_90"]), block=64).figures.mix
    assert mix.form == ("SASS" if nvptx.assemblers() else "PTX")
    assert mix.widest_load_bytes == 16 == mix.widest_store_bytes and sum(mix.loads.values()) == 2
