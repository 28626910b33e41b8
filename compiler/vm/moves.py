"""Where an instruction may take over a reference instead of copying it.

Enters: a vm op. Leaves: the positions of operands whose register field allows MOVE, and how ops correspond to
instructions of `pyiree.runtime.vmfb.isa`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from pyiree.compiler.ir.core import Operation, Value
from pyiree.compiler.vm.types import is_ref
from pyiree.runtime.vmfb import isa

#: Ops whose list of operands takes references over. Others with lists (print, trace) only look at them.
_MOVING_LISTS = frozenset(
    ("call", "call.variadic", "call.yieldable", "call.variadic.yieldable", "return", "switch.ref", "discard.refs")
)
#: Ops that share another's instruction.
_INSTRUCTIONS = {"cast.ref.any": "assign.ref", "global.address": "const.i32"}


@cache
def mnemonic(name: str) -> str:
    """The name of the instruction that ops of a name are encoded as."""
    name = name[3:]
    return _INSTRUCTIONS.get(name, name)


@cache
def instruction(name: str) -> isa.Op | None:
    """The instruction that ops of a name are encoded as; None for pseudo ops."""
    return isa.OPS.get(mnemonic(name))


@cache
def _movable(name: str) -> tuple[frozenset[int], int | None]:
    """The single operands of ops of a name that may be moved, and the first of those that all may be (a list)."""
    single, rest, position = set(), None, 0
    found = instruction(name)
    for field in () if found is None else found.fields:
        if field.is_result or field.kind not in ("i", "I", "f", "F", "r", "R", "*"):
            continue
        if field.kind == "*":
            rest = position if mnemonic(name) in _MOVING_LISTS else None
        elif field.kind == "R":
            single.add(position)
        position += 1
    return frozenset(single), rest


def moved_operands(op: Operation, live_after: Any) -> dict[int, Value]:
    """The operand positions where an op takes over a reference that nothing reads any more.

    `live_after(value)` says whether a value is read later. A reference that the op also reads in a place where it
    cannot be moved stays; one that is read twice is moved at the last place. What branches pass on is not here.
    """
    single, rest = _movable(op.name)
    if not single and rest is None:
        return {}
    last: dict[Value, int] = {}
    kept: set[Value] = set()
    for position, value in enumerate(op.operands):
        if is_ref(value.type):
            if position in single or (rest is not None and position >= rest):
                last[value] = position
            else:
                kept.add(value)
    return {position: v for v, position in last.items() if v not in kept and not live_after(v)}
