"""Products of 16-bit neighbours, two a lane, added to 32-bit sums.

Enters: a vector of sums and two vectors of i32 whose halves are i16 or bfloat16 numbers. Leaves: the sums, each with
both products of its lane added: by the one instruction that does it, or else by two.
"""

from __future__ import annotations

from ..target import Target
from . import values as lv
from .function import Function


def emit_dot2(fn: Function, target: Target, kind: str, total: lv.Value, x: lv.Value, y: lv.Value) -> lv.Value:
    """total + low(x) * low(y) + high(x) * high(y) in every lane; `kind` is "i16" or "bf16"."""
    lanes = lv.lanes(total.ty)
    bits = 32 * lanes
    if kind == "bf16":
        halves = [fn.bitcast(v, lv.vec(2 * lanes, lv.BF16)) for v in (x, y)]
        return fn.call_intrinsic(f"llvm.x86.avx512bf16.dpbf16ps.{bits}", total.ty, total, *halves)
    halves = [fn.bitcast(v, lv.vec(2 * lanes, lv.I16)) for v in (x, y)]
    if target.has_avx512_vnni:
        return fn.call_intrinsic(f"llvm.x86.avx512.vpdpwssd.{bits}", total.ty, total, *halves)
    name = {512: "llvm.x86.avx512.pmaddw.d.512", 256: "llvm.x86.avx2.pmadd.wd", 128: "llvm.x86.sse2.pmadd.wd"}[bits]
    return fn.add(total, fn.call_intrinsic(name, total.ty, *halves))
