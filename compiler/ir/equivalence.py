"""Structural equality of IR: the same ops in the same order with the same attributes, types and connections.

What enters: ops. What leaves: for two of them True, or False; for one a key that equal ones share. Locations play no
part.
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.ir.core import Operation, Region


def structurally_equal(left: Operation, right: Operation) -> bool:
    """Whether two ops print the same, names and locations aside."""
    return _Comparison().ops(left, right)


class _Comparison:
    def __init__(self) -> None:
        self.partner: dict[Any, Any] = {}

    def ops(self, left: Operation, right: Operation) -> bool:
        if (
            left.name != right.name
            or type(left) is not type(right)
            or left.result_types != right.result_types
            or left.operand_types != right.operand_types
            or left.properties != right.properties
            or left.attributes != right.attributes
            or (left.operand_segments or ()) != (right.operand_segments or ())
            or (left.result_segments or ()) != (right.result_segments or ())
            or len(left.regions) != len(right.regions)
        ):
            return False
        if not self.pair(left._operands, right._operands) or not self.pair(left._results, right._results):
            return False
        if not self.pair(left._successors, right._successors):
            return False
        return all(self.regions(a, b) for a, b in zip(left.regions, right.regions))

    def pair(self, left: Any, right: Any) -> bool:
        """Values and blocks correspond one to one; one met before its definition is paired where it is first met."""
        if len(left) != len(right):
            return False
        return all(
            self.partner.setdefault(a, b) is b and self.partner.setdefault((b,), a) is a
            for a, b in zip(left, right)
        )

    def regions(self, left: Region, right: Region) -> bool:
        if not self.pair(left.blocks, right.blocks):
            return False
        for a, b in zip(left.blocks, right.blocks):
            if a.argument_types != b.argument_types or not self.pair(a.arguments, b.arguments):
                return False
            if len(a) != len(b) or not all(self.ops(x, y) for x, y in zip(a.ops, b.ops)):
                return False
        return True


def structural_key(op: Operation, without: tuple[str, ...] = ()) -> tuple:
    """What ops have in common that print the same, names and locations aside; the attributes of `op` itself that
    `without` names are left out. Values from outside count as themselves."""
    parts: list[Any] = []
    _append_key(op, parts, {}, without)
    return tuple(parts)


def _append_key(op: Operation, parts: list[Any], numbers: dict[Any, int], without: tuple[str, ...]) -> None:
    properties, attributes = op.properties, op.attributes
    if without:
        properties = {k: v for k, v in properties.items() if k not in without}
        attributes = {k: v for k, v in attributes.items() if k not in without}
    parts += (
        op.name,
        tuple([numbers.get(v, v) for v in op._operands]),
        tuple([r.type for r in op._results]),
        frozenset(properties.items()) if properties else None,
        frozenset(attributes.items()) if attributes else None,
        op.operand_segments or None,
        op.result_segments or None,
        tuple([numbers.setdefault(b, len(numbers)) for b in op._successors]),
        len(op.regions),
    )
    for result in op._results:
        numbers[result] = len(numbers)
    for region in op.regions:
        parts.append(len(region.blocks))
        for block in region.blocks:
            parts.append(numbers.setdefault(block, len(numbers)))
            parts.append(block.argument_types)
            for argument in block.arguments:
                numbers[argument] = len(numbers)
            parts.append(len(block))
            for inner in block.ops:
                _append_key(inner, parts, numbers, ())
