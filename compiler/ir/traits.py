"""Traits: properties of ops that passes, the verifier and the parser ask for.

What enters: a trait in the `traits` of an op class. What leaves: `op.has_trait(Pure)`, and for some traits a check
that the verifier runs on each op.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyiree.compiler.ir.diagnostics import VerifyError
from pyiree.compiler.ir.types import element_type_of


class Trait:
    """A named property, with an optional check of the op."""

    __slots__ = ("check", "name")

    def __init__(self, name: str, check: Callable[[Any], None] | None = None) -> None:
        self.name = name
        self.check = check

    def __repr__(self) -> str:
        return self.name


def _check_same_operands_and_result_type(op: Any) -> None:
    types = {v.type for v in op.operands} | {r.type for r in op.results}
    if len(types) > 1:
        found = ", ".join(map(str, [*op.operand_types, *op.result_types]))
        message = f"'{op.name}' requires the same type for all operands and results, found {found}"
        raise VerifyError(message, op.location)


def _check_same_operand_types(op: Any) -> None:
    if len({v.type for v in op.operands}) > 1:
        found = ", ".join(map(str, op.operand_types))
        raise VerifyError(f"'{op.name}' requires operands of one type, found {found}", op.location)


def _check_elementwise_shapes(op: Any) -> None:
    shapes = {getattr(v.type, "shape", None) for v in (*op.operands, *op.results)}
    ranks = {None if s is None else len(s) for s in shapes}
    dims = [{d for d in column if d is not None} for column in zip(*shapes)] if None not in shapes else []
    if len(ranks) > 1 or any(len(d) > 1 for d in dims):
        found = ", ".join(map(str, [*op.operand_types, *op.result_types]))
        raise VerifyError(f"'{op.name}' requires operands and results of one shape, found {found}", op.location)


def _check_same_element_type(op: Any) -> None:
    if len({element_type_of(v.type) for v in (*op.operands, *op.results)}) > 1:
        found = ", ".join(map(str, [*op.operand_types, *op.result_types]))
        raise VerifyError(f"'{op.name}' requires one element type, found {found}", op.location)


def _check_single_block(op: Any) -> None:
    for region in op.regions:
        if len(region.blocks) > 1:
            raise VerifyError(f"'{op.name}' expects regions of one block, found {len(region.blocks)}", op.location)


#: Last in its block; passes control on.
Terminator = Trait("Terminator")
#: A terminator that leaves the enclosing region or function.
ReturnLike = Trait("ReturnLike")
#: No side effects: dead ones go, equal ones merge, and it may be moved.
Pure = Trait("Pure")
#: As pure as the ops in its regions.
RecursivelyPure = Trait("RecursivelyPure")
#: Effects of ops that are not pure; an op with none of these and not `Pure` may do anything.
MemoryRead = Trait("MemoryRead")
MemoryWrite = Trait("MemoryWrite")
MemoryAlloc = Trait("MemoryAlloc")
MemoryFree = Trait("MemoryFree")
#: Its one result is its `value` attribute.
ConstantLike = Trait("ConstantLike")
Commutative = Trait("Commutative")
#: Values of the outside are not visible in its regions.
IsolatedFromAbove = Trait("IsolatedFromAbove")
#: Holds uniquely named symbols in its region.
SymbolTable = Trait("SymbolTable")
#: Has a `sym_name`.
Symbol = Trait("Symbol")
#: Its blocks need no terminator.
NoTerminator = Trait("NoTerminator")
#: Its regions are graphs: the order of ops carries no dominance.
GraphRegion = Trait("GraphRegion", _check_single_block)
SingleBlock = Trait("SingleBlock", _check_single_block)
SameOperandsAndResultType = Trait("SameOperandsAndResultType", _check_same_operands_and_result_type)
SameTypeOperands = Trait("SameTypeOperands", _check_same_operand_types)
SameOperandsAndResultShape = Trait("SameOperandsAndResultShape", _check_elementwise_shapes)
SameOperandsAndResultElementType = Trait("SameOperandsAndResultElementType", _check_same_element_type)
#: All its variadic operand groups are of one length, so the generic form does not write their sizes.
SameVariadicOperandSize = Trait("SameVariadicOperandSize")
#: Maps over the elements of its shaped operands.
Elementwise = Trait("Elementwise", _check_elementwise_shapes)


class HasParent(Trait):
    """The op may only stand directly in one of the named ops."""

    __slots__ = ("parents",)

    def __init__(self, *parents: str) -> None:
        super().__init__(f"HasParent{parents}", self._check)
        self.parents = parents

    def _check(self, op: Any) -> None:
        parent = op.parent_op
        if parent is None or parent.name not in self.parents:
            raise VerifyError(f"'{op.name}' expects parent op {' or '.join(map(repr, self.parents))}", op.location)


class ImplicitTerminator(Trait):
    """Single-block regions end in the named op of no operands; text may leave it out."""

    __slots__ = ("terminator",)

    def __init__(self, terminator: str) -> None:
        super().__init__(f"ImplicitTerminator({terminator})", _check_single_block)
        self.terminator = terminator


def implicit_terminator(op: Any) -> str | None:
    """The name of the terminator that may be left out in the regions of an op (or op class), or None."""
    return next((t.terminator for t in op.traits if isinstance(t, ImplicitTerminator)), None)
