"""Sums of products of any layout, batched or not, with what is fused before and after them.

Enters: a dispatch whose root multiplies and sums. Leaves: the kernel of a matrix product where the dispatch is one of
known size, that of a reduction where the factors have no dims of their own; else register tiles, several rows of one
factor against vectors along the other's contiguous dim, with a loop over the summed dims inside. Loads that rows or
vectors share are one load.
"""

from __future__ import annotations

from ..dispatch import DispatchGraph
from ..plan import Plan
from ..reducers import dot_factors
from ..row_kernel import RowKernel
from ..stages import Reduction
from ..structured import StructuredOp, dim_of
from ..target import Target
from . import reduction
from .matmul.build import build_matmul
from .matmul.shape import matmul_shape
from .register_tiles import RegisterTiles


def is_product(view: StructuredOp) -> bool:
    """Whether an op sums products of two inputs."""
    return len(view.inputs) == 2 and (view.is_dot or dot_factors(view) is not None)


def build(graph: DispatchGraph, target: Target) -> Plan:
    """The kernel of a dispatch with a sum of products."""
    kernel = RowKernel(graph, target)
    shape = None if kernel.is_empty else matmul_shape(kernel)
    plan = None if shape is None else build_matmul(kernel, shape)
    if plan is not None:
        return plan
    if any(_is_contraction(found) for found in kernel.domain.reductions):
        return RegisterTiles(kernel).build()
    return reduction.build(graph, target)


def _is_contraction(found: Reduction) -> bool:
    """Whether a sum of products has row dims that only the one factor has, and such that only the other has."""
    view = found.view
    if not is_product(view):
        return False
    rows = {d for d in view.parallel if found.loops[d].terms}
    left, right = ({dim_of(e) for e in map_} for _, map_ in view.input_maps())
    return bool(rows & (left - right)) and bool(rows & (right - left))
