"""Picks the strategy of a dispatch by its root.

Enters: a dispatch graph. Leaves: the `build` function of one strategy.
"""

from __future__ import annotations

from collections.abc import Callable

from ...dialects.fourier import is_transform
from ..dispatch import DispatchGraph
from ..plan import Plan
from ..structured import is_structured, structured
from ..target import Target
from . import contraction, elementwise, fourier, pointwise_loop, reduction, scan, scatter, sort, topk

Strategy = Callable[[DispatchGraph, Target], Plan]

# Ops that have a strategy of their own.
_ROOTS: dict[str, Strategy] = {
    scatter.SCATTER: scatter.build,
    scan.SCAN: scan.build,
    sort.SORT: sort.build,
    topk.TOPK: topk.build,
    pointwise_loop.FOR: pointwise_loop.build,
}


def select_strategy(graph: DispatchGraph) -> Strategy:
    """The strategy for the kind of op that the dispatch is about."""
    for op in graph.ops:
        if op.name in _ROOTS:
            return _ROOTS[op.name]
        if is_transform(op):
            return fourier.build
    views = [structured(op) for op in graph.ops if is_structured(op)]
    reductions = [view for view in views if view.reductions]
    if any(contraction.is_product(view) for view in reductions):
        return contraction.build
    if reductions:
        return reduction.build
    return elementwise.build
