"""iree-dispatch-creation-fold-unit-extent-dims: nothing is reduced along a dim of one element.

Before: linalg.generic {indexing_maps = [(d0, d1) -> (d0, d1), (d0, d1) -> (d0)],
                        iterator_types = ["parallel", "reduction"]}
          ins(%0 : tensor<8x1xf32>) outs(%init : tensor<8xf32>) …
After:  linalg.generic {indexing_maps = [(d0) -> (d0, 0), (d0) -> (d0)], iterator_types = ["parallel"]}
          ins(%0 : tensor<8x1xf32>) outs(%init : tensor<8xf32>) …

What stays is elementwise, or reduces along fewer dims.
"""

from __future__ import annotations

from pyiree.compiler.dialects.arith import ConstantOp
from pyiree.compiler.dialects.linalg import GenericOp
from pyiree.compiler.ir.affine import AffineConstant, AffineDim, AffineExpr, AffineMap
from pyiree.compiler.ir.attributes import ArrayAttr, IntegerAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Operation
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import index


@register_pass("iree-dispatch-creation-fold-unit-extent-dims", on=("util.func", "util.initializer"))
def fold_unit_reductions(func: Operation, context: PassContext) -> None:
    """Drops the loops of one round that generics reduce along."""
    for op in list(func.walk_type(GenericOp)):
        ranges = op.loop_ranges()
        unit = [d for d, kind in enumerate(op.iterators()) if kind != "parallel" and ranges[d] == 1]
        if unit:
            _drop_loops(op, unit)


def _drop_loops(op: GenericOp, dropped: list[int]) -> None:
    kept = [d for d in range(len(op.iterators())) if d not in dropped]
    replacements: list[AffineExpr] = [AffineConstant(0)] * len(op.iterators())
    for new, old in enumerate(kept):
        replacements[old] = AffineDim(new)
    maps = [AffineMap(len(kept), 0, [e.substitute(replacements) for e in map_.results]) for map_ in op.maps()]
    op.indexing_maps = ArrayAttr(maps)
    op.iterator_types = ArrayAttr([op.iterator_types[d] for d in kept])
    for inner in list(op.body_block.ops):
        if inner.name == "linalg.index":
            if inner.dim in dropped:
                zero = Builder.before(inner).insert(ConstantOp(IntegerAttr(0, index)))
                inner.replace_all_uses_with(zero.results)
                inner.erase()
            else:
                inner.dim = kept.index(inner.dim)
