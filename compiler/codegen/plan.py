"""What a strategy hands back: the kernel, and how many workgroups run it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field

from pyiree.runtime.vmfb.lazy_dataclass import dataclass

from .dispatch import KernelContext
from .elements import unsupported
from .indexing import Dim
from .loops import KernelFunction


@dataclass(frozen=True)
class CountExpression:
    """Part of a workgroup count that depends on the workload: an index op (arith.muli, …) on its operands, or, with
    the op "workload", value `number` of the dispatch's workload."""

    op: str
    operands: tuple[int | CountExpression, ...] = ()
    number: int = 0

    def evaluate(self, workload: Sequence[int]) -> int:
        if self.op == "workload":
            return workload[self.number]
        x, y = (v if v.__class__ is int else v.evaluate(workload) for v in self.operands)
        return _EVALUATE[self.op](x, y)


_EVALUATE = {
    "arith.addi": lambda x, y: x + y,
    "arith.subi": lambda x, y: x - y,
    "arith.muli": lambda x, y: x * y,
    "arith.divui": lambda x, y: x // y,
    "arith.remui": lambda x, y: x % y,
    "arith.ceildivui": lambda x, y: -(-x // y),
    "arith.minsi": min,
    "arith.maxsi": max,
}


@dataclass
class Plan:
    """A kernel and its workgroup count along x: the product of `factors`."""

    kernel: KernelFunction
    factors: list[int | CountExpression] = field(default_factory=list)

    @property
    def static_count(self) -> int | None:
        """The count where it is known at compile time."""
        if all(isinstance(f, int) for f in self.factors):
            return math.prod(self.factors)
        return None

    def count(self, workload: Sequence[int] = ()) -> int:
        """The count for a workload."""
        return math.prod([f if isinstance(f, int) else f.evaluate(workload) for f in self.factors])


def count_factors(
    context: KernelContext, extents: Sequence[Dim], tile_sizes: Sequence[int]
) -> list[int | CountExpression]:
    """Tiles of each extent; a size of 0 is one tile, which an extent of 0 does not have."""
    factors: list[int | CountExpression] = []
    for extent, size in zip(extents, tile_sizes, strict=True):
        if extent.__class__ is int:
            factors.append(-(-extent // size) if size else min(extent, 1))
        elif size:
            factors.append(CountExpression("arith.ceildivui", (count_expression(context, extent), size)))
        else:
            factors.append(CountExpression("arith.minsi", (count_expression(context, extent), 1)))
    return factors


def count_expression(context: KernelContext, value: Dim) -> int | CountExpression:
    """A dim of the kernel in terms of the dispatch's workload."""
    if value.__class__ is int or value.const is not None:
        return value if value.__class__ is int else value.const
    if value in context.ordinals:
        return CountExpression("workload", (), context.ordinals[value])
    op = value.op
    if op is None or op.name not in _EVALUATE:
        raise unsupported(context.graph.func, "its workgroup count depends on a value that is not in its workload")
    return CountExpression(op.name, tuple([count_expression(context, v) for v in op.operands]))
