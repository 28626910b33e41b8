"""memcpy, memmove and memset in LLVM IR, with vector blocks and overlapping ends.

A range of 2^k … 2^(k+1) bytes is two blocks of 2^k bytes, one from each end; everything is loaded before
anything is stored, so that overlapping ranges are right without a special case. Longer ranges go in blocks
of 64 bytes.
"""

from __future__ import annotations

from .function import Function
from .values import I8, I16, I32, I64, PTR, Value, vec

_BLOCK = 64
_WIDE = vec(_BLOCK, I8)
_SMALL = ((32, vec(32, I8)), (16, vec(16, I8)), (8, I64), (4, I32), (2, I16))


def _at(f: Function, pointer: Value, offset) -> Value:
    return f.gep(pointer, offset, I8)


def copy(f: Function, target: Value, source: Value, size: Value) -> Value:
    """memmove, and memcpy too."""
    with f.if_(f.icmp("uge", size, _BLOCK), name="long"):
        end = f.sub(size, _BLOCK)
        # Copying upwards is right unless the target starts inside the source; then copy downwards.
        distance = f.sub(f.ptrtoint(target), f.ptrtoint(source))
        last, first = f.load(_WIDE, _at(f, source, end), 1), f.load(_WIDE, source, 1)
        f.if_else(
            f.icmp("ult", distance, size),
            lambda: _copy_down(f, target, source, end),
            lambda: _copy_up(f, target, source, end),
        )
        # The ends were read first, since either may have been overwritten by now.
        f.store(last, _at(f, target, end), 1)
        f.store(first, target, 1)
        f.ret(target)
    for count, ty in _SMALL:
        with f.if_(f.icmp("uge", size, count), name=f"bytes{count}"):
            end = f.sub(size, count)
            first, last = f.load(ty, source, 1), f.load(ty, _at(f, source, end), 1)
            f.store(first, target, 1)
            f.store(last, _at(f, target, end), 1)
            f.ret(target)
    with f.if_(f.icmp("eq", size, 1), name="byte"):
        f.store(f.load(I8, source), target)
    return target


def _copy_up(f: Function, target: Value, source: Value, end: Value) -> None:
    with f.for_(_BLOCK, end, _BLOCK, name="up") as loop:
        f.store(f.load(_WIDE, _at(f, source, loop.index), 1), _at(f, target, loop.index), 1)


def _copy_down(f: Function, target: Value, source: Value, end: Value) -> None:
    with f.while_([f.sub(end, _BLOCK)], name="down") as loop:
        (at,) = loop.carried
        loop.condition(f.icmp("sgt", at, 0))
        f.store(f.load(_WIDE, _at(f, source, at), 1), _at(f, target, at), 1)
        loop.yield_(f.sub(at, _BLOCK))


def fill(f: Function, target: Value, value: Value, size: Value) -> Value:
    """memset: the low byte of `value` in every byte."""
    byte = f.trunc(value, I8)
    with f.if_(f.icmp("uge", size, _BLOCK), name="long"):
        wide = f.splat(byte, _BLOCK)
        end = f.sub(size, _BLOCK)
        with f.for_(0, end, _BLOCK, name="block") as loop:
            f.store(wide, _at(f, target, loop.index), 1)
        f.store(wide, _at(f, target, end), 1)
        f.ret(target)
    for count, ty in _SMALL:
        with f.if_(f.icmp("uge", size, count), name=f"bytes{count}"):
            piece = f.bitcast(f.splat(byte, count), ty)
            f.store(piece, target, 1)
            f.store(piece, _at(f, target, f.sub(size, count)), 1)
            f.ret(target)
    with f.if_(f.icmp("eq", size, 1), name="byte"):
        f.store(byte, target)
    return target


FUNCTIONS = {
    "memcpy": (PTR, [PTR, PTR, I64], copy),
    "memmove": (PTR, [PTR, PTR, I64], copy),
    "memset": (PTR, [PTR, I32, I64], fill),
}
