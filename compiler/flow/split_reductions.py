"""iree-dispatch-creation-split-reduction-ops: large reductions to few results are done in blocks.

Before: %1 = linalg.generic … sum of tensor<1048576xf32> to tensor<f32>
After:  %1 = tensor.expand_shape %0 … to tensor<64x16384xf32>
        %2 = linalg.generic … sum along the second dim, to tensor<64xf32>
        %3 = linalg.generic … sum of the 64

A product of few rows with a factor whose columns lie side by side is done in blocks of that factor's rows: each block
is one run of memory, and few columns could not be shared out otherwise.

A reduction along runs shorter than a few vectors, and along other dims farther out, first combines what lies on top
of each other, for all places of the runs beside each other: [16, 1024, 8, 8] reduced along the second and the last
dim becomes [16, 8, 8] and then [16, 8].

How many blocks there are follows from the shapes alone, so that any number of workers gives the same bits. Blocks are
in order, so the first of equal elements still wins (argmax). What is left when no number of blocks fits is reduced on
its own and is what the last reduction starts from.
"""

from __future__ import annotations

from pyiree.compiler.dialects.arith import AddIOp, ConstantOp, MulIOp
from pyiree.compiler.dialects.linalg import GenericOp, IndexOp, YieldOp
from pyiree.compiler.dialects.linalg_generalize import generalize
from pyiree.compiler.dialects.linalg_interface import PARALLEL as PARALLEL_LOOP
from pyiree.compiler.dialects.linalg_interface import REDUCTION as REDUCTION_LOOP
from pyiree.compiler.dialects.linalg_interface import IteratorTypeAttr, LinalgOp
from pyiree.compiler.flow.op_kinds import (
    CONTRACTION,
    REDUCTION,
    element_count,
    is_sum_of_products,
    keeps_workgroups_busy,
    kind_of,
)
from pyiree.compiler.flow.static_tensors import fill_scalar, filled, in_blocks, part_of_dim
from pyiree.compiler.ir.affine import AffineDim, AffineExpr, AffineMap
from pyiree.compiler.ir.attributes import ArrayAttr, IntegerAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Operation, Value
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import bit_width, index
from pyiree.runtime.vmfb.lazy_dataclass import dataclass

#: Points of a block: enough for a workgroup, and few enough that there are many blocks.
BLOCK = 1 << 14
MAX_BLOCKS = 128
#: The same for products of few rows: elements of the columns' factor, blocks, and products of each that pay for adding
#: up what the blocks give.
_PRODUCT_BLOCK = 1 << 17
_MOST_PRODUCT_BLOCKS = 16
_LEAST_PRODUCTS = 32
#: More columns are shared out in parts that are wide enough.
_MOST_COLUMNS, _MOST_COLUMNS_OF_ROWS = 1 << 13, 1 << 11
_MOST_ROWS = 16
#: Places of a run that are too few to be reduced as they come, and runs on top of each other that pay for waiting.
_SHORT_RUN = 64
_LEAST_ON_TOP = 16


@register_pass("iree-dispatch-creation-split-reduction-ops", on=("util.func", "util.initializer"))
def split_reductions(func: Operation, context: PassContext) -> None:
    """Splits the reductions that few workgroups would have to do alone."""
    for op in list(func.walk_type(LinalgOp)):
        kind = kind_of(op)
        if kind not in (REDUCTION, CONTRACTION) or op.parent_of_type(GenericOp) is not None:
            continue
        ranges = op.loop_ranges()
        if any(size is None for size in ranges) or 0 in ranges:
            continue
        wanted = _blocks_of_products(op) if is_sum_of_products(op) else None
        loop = _longest_reduced(op)
        if wanted is None and kind == REDUCTION and _needs_blocks(op):
            wanted = max(2, min(MAX_BLOCKS, element_count(ranges) // BLOCK, ranges[loop]))
        run = _short_run(op) if kind == REDUCTION and isinstance(op, GenericOp) else []
        if run:
            _Split(op, run).run()
        elif wanted is not None:
            _Split(op, [loop], fitting_count(ranges[loop], wanted)).run()


def block_count(extent: int, points: int) -> int:
    """Blocks of a loop of `extent` rounds over `points` points in all: near the wanted size, whole ones if possible."""
    return fitting_count(extent, max(2, min(MAX_BLOCKS, points // BLOCK, extent)))


def fitting_count(extent: int, wanted: int) -> int:
    """About as many blocks as wanted: a number that divides the extent, if there is one."""
    fitting = [n for n in range(max(2, wanted // 2), 2 * wanted + 1) if extent % n == 0]
    return min(fitting, key=lambda n: abs(n - wanted)) if fitting else wanted


def _reduced_loops(op: LinalgOp) -> list[int]:
    return [d for d, kind in enumerate(op.iterators()) if kind != PARALLEL_LOOP]


def _longest_reduced(op: LinalgOp) -> int:
    ranges = op.loop_ranges()
    return max(_reduced_loops(op), key=lambda d: ranges[d])


def _needs_blocks(op: LinalgOp) -> bool:
    """Whether an op reduces much to little."""
    ranges, reduced = op.loop_ranges(), _reduced_loops(op)
    rows = [d for d in range(len(ranges)) if d not in reduced]
    largest = max(op.maps()[: len(op.inputs)], key=lambda map_: len(map_.results))
    side_by_side = bool(rows and largest.results) and largest.dim_positions()[-1] == rows[-1]
    inner = element_count([ranges[d] for d in reduced])
    return not keeps_workgroups_busy([ranges[d] for d in rows], inner, side_by_side=side_by_side)


def _short_run(op: GenericOp) -> list[int]:
    """The innermost reduced loops, if others are farther out than a kept one and these are short."""
    ranges, reduced = op.loop_ranges(), _reduced_loops(op)
    order = max(op.maps()[: len(op.inputs)], key=lambda map_: len(map_.results)).dim_positions()
    kept = [place for place, loop in enumerate(order) if loop not in reduced]
    if None in order or len(set(order)) < len(ranges) or not kept or any(op.walk_type(IndexOp)):
        return []
    run = [loop for loop in order[kept[-1] + 1 :] if ranges[loop] > 1]
    on_top = element_count([ranges[loop] for loop in order[: kept[-1]] if loop in reduced])
    is_short = element_count([ranges[loop] for loop in run]) < _SHORT_RUN
    return run if is_short and on_top >= _LEAST_ON_TOP else []


def _blocks_of_products(op: LinalgOp) -> int | None:
    """The blocks wanted of a product of few rows, along its longest loop; None if it is better done as it is."""
    ranges, reduced = op.loop_ranges(), _reduced_loops(op)
    left, right, result = (set(map_.dim_positions()) - set(reduced) for map_ in op.maps())
    last = op.maps()[2].dim_positions()[-1:]
    if not last or left & right or bit_width(op.outputs[0].type.element_type) < 32:
        return None
    (column,) = last
    columns = [map_ for map_, dims in zip(op.maps(), (left, right)) if column in dims]
    extent, products = ranges[column], element_count([ranges[d] for d in reduced])
    rows = element_count([ranges[d] for d in result]) // extent
    if any(map_.dim_positions()[-1] != column for map_ in columns):
        return None
    if extent > (_MOST_COLUMNS if rows == 1 else _MOST_COLUMNS_OF_ROWS) or rows > _MOST_ROWS:
        return None
    blocks = min(_MOST_PRODUCT_BLOCKS, extent * products // _PRODUCT_BLOCK, products // (_LEAST_PRODUCTS * rows))
    return blocks if blocks >= 2 else None


@dataclass
class Combiner:
    """How a body takes one more element: `elements` are its values that meet the results so far, one for each result,
    in `ops`, which are all that depends on those."""

    elements: list[Value]
    ops: list[Operation]


def combiner_of(op: GenericOp) -> Combiner | None:
    """The combiner of a reduction's body, or None if its results don't each meet one element."""
    block = op.body_block
    accumulators = block.arguments[len(op.inputs) :]
    dependent = set(accumulators)
    ops = []
    for inner in block.ops:
        if any(operand in dependent for operand in inner.operands):
            dependent.update(inner.results)
            ops.append(inner)
    elements = []
    for accumulator, yielded in zip(accumulators, block.terminator.operands):
        made = yielded.defining_op
        if made is None or len(made.operands) != (3 if made.name == "arith.select" else 2):
            return None
        pair = made.operands[-2:]
        if accumulator not in pair:
            return None
        element = pair[0] if pair[1] is accumulator else pair[1]
        if element in dependent or element.type is not accumulator.type:
            return None
        elements.append(element)
    ops = ops[:-1]
    known = dependent | set(elements)
    for inner in ops:
        if inner.regions or not all(v in known or _is_constant(v) for v in inner.operands):
            return None
    return Combiner(elements, ops)


def _is_constant(value: Value) -> bool:
    return isinstance(value.defining_op, ConstantOp)


class _Split:
    """One reduction that is split along one of its loops, into so many blocks; or along some, each round a block."""

    def __init__(self, op: LinalgOp, loops: list[int], blocks: int | None = None) -> None:
        self.op = op
        self.loops = loops
        self.loop = loops[0]
        self.blocks = blocks
        self.builder = Builder.before(op, op.location)

    def run(self) -> None:
        builder, old = self.builder, self.op
        if not isinstance(old, GenericOp):
            self.op = builder.insert(generalize(old))
        ranges = self.op.loop_ranges()
        scalars = [fill_scalar(builder, value) for value in self.op.outputs]
        combiner = combiner_of(self.op)
        if combiner is None or None in scalars or not self._runs_plainly():
            if self.op is not old:
                self.op.erase()
            return
        starts = list(self.op.outputs)
        if self.blocks is None:
            partials = self._rounds(ranges, scalars)  # type: ignore[arg-type]
        else:
            extent = ranges[self.loop]
            size = extent // self.blocks
            partials = self._partials(self.blocks, size, scalars)  # type: ignore[arg-type]
            if self.blocks * size < extent:
                starts = self._rest(self.blocks * size, extent)
        results = self._combined(combiner, partials, starts)
        old.replace_all_uses_with(results)
        old.erase()
        if self.op is not old:
            self.op.erase()

    def _runs_plainly(self) -> bool:
        """Whether the loop is a dim of its own wherever it is used, and nothing is read at computed places."""
        uses = [e for map_ in self.op.maps() for e in map_.results if e.used_dims() & set(self.loops)]
        return all(isinstance(e, AffineDim) for e in uses) and all(
            inner.name != "tensor.extract" for inner in self.op.body_block.ops
        )

    def _places(self, number: int) -> list[int]:
        """The dims of an operand along which the loop runs."""
        return [p for p, d in enumerate(self.op.maps()[number].dim_positions()) if d == self.loop]

    def _partials(self, blocks: int, size: int, scalars: list[Value]) -> list[Value]:
        """The results of each block."""
        op, builder = self.op, self.builder
        inputs, maps = [], []
        for number, value in enumerate(op.inputs):
            exprs: list[AffineExpr] = []
            places = self._places(number)
            for p, expr in enumerate(op.maps()[number].results):
                if p in places:
                    exprs.append(AffineDim(0))
                exprs.append(_shifted(expr))
            for p in reversed(places):
                value = in_blocks(builder, part_of_dim(builder, value, p, 0, blocks * size), p, blocks)
            inputs.append(value)
            maps.append(AffineMap(len(op.iterators()) + 1, 0, exprs))
        outputs = [filled(builder, s, [blocks, *v.type.shape]) for s, v in zip(scalars, op.outputs)]
        for map_ in op.maps()[len(op.inputs) :]:
            maps.append(AffineMap(map_.num_dims + 1, 0, [AffineDim(0), *map(_shifted, map_.results)]))
        kinds = [IteratorTypeAttr(PARALLEL_LOOP), *op.iterator_types]
        return self._copy(inputs, outputs, maps, kinds, size)

    def _rounds(self, ranges: list[int], scalars: list[Value]) -> list[Value]:
        """The results of each round of the loops, beside each other."""
        op, builder = self.op, self.builder
        extents = [ranges[loop] for loop in self.loops]
        outputs = [filled(builder, s, [*v.type.shape, *extents]) for s, v in zip(scalars, op.outputs)]
        maps, count = list(op.maps()), len(op.inputs)
        beside = [AffineDim(loop) for loop in self.loops]
        maps[count:] = [AffineMap(m.num_dims, 0, [*m.results, *beside]) for m in maps[count:]]
        kinds = [
            IteratorTypeAttr(PARALLEL_LOOP) if loop in self.loops else kind
            for loop, kind in enumerate(op.iterator_types)
        ]
        return self._copy(list(op.inputs), outputs, maps, kinds, None)

    def _rest(self, start: int, extent: int) -> list[Value]:
        """The results for what is left behind the blocks."""
        op, builder = self.op, self.builder
        inputs = []
        for number, value in enumerate(op.inputs):
            for p in self._places(number):
                value = part_of_dim(builder, value, p, start, extent - start)
            inputs.append(value)
        return self._copy(inputs, list(op.outputs), list(op.maps()), list(op.iterator_types), None, start)

    def _copy(
        self, inputs: list[Value], outputs: list[Value], maps: list[AffineMap], kinds: list, size: int | None,
        start: int = 0,
    ) -> list[Value]:  # fmt: skip
        """The op over other operands, its indices along the loop still those of the whole."""
        op = self.op
        made = op.clone()
        made.inputs, made.outputs = inputs, outputs
        made.indexing_maps, made.iterator_types = ArrayAttr(maps), ArrayAttr(kinds)
        for result, output in zip(made.results, outputs):
            result.type = output.type
        self.builder.insert(made)
        for inner in list(made.body_block.ops):
            if isinstance(inner, IndexOp):
                self._move_index(inner, size, start)
        return list(made.results)

    def _move_index(self, inner: IndexOp, size: int | None, start: int) -> None:
        is_split = inner.dim == self.loop
        inner.dim = inner.dim + (size is not None)
        if not is_split:
            return
        b = Builder.after(inner)
        users = list(inner.result.uses)
        if size is not None:
            number = b.insert(IndexOp(0)).result
            before = b.insert(MulIOp(number, b.insert(ConstantOp(IntegerAttr(size, index))).result)).result
        else:
            before = b.insert(ConstantOp(IntegerAttr(start, index))).result
        moved = b.insert(AddIOp(before, inner.result)).result
        for use in users:
            use.owner.set_operand(use.index, moved)

    def _combined(self, combiner: Combiner, partials: list[Value], starts: list[Value]) -> list[Value]:
        """The results of the blocks, combined in order."""
        op = self.op
        accumulators = op.body_block.arguments[len(op.inputs) :]
        elements = [value.type for value in accumulators]
        body = Block([*elements, *elements])
        builder = Builder.at_end(body, op.location)
        mapping: dict[Value, Value] = dict(zip(accumulators, body.arguments[len(elements) :]))
        mapping.update(zip(combiner.elements, body.arguments))
        for inner in combiner.ops:
            for operand in inner.operands:
                if operand not in mapping and _is_constant(operand):
                    mapping[operand] = builder.insert(operand.defining_op.clone()).results[0]
            builder.insert(inner.clone(mapping))
        builder.insert(YieldOp([mapping[v] for v in op.body_block.terminator.operands]))
        kept = [d for d, kind in enumerate(op.iterators()) if kind == PARALLEL_LOOP]
        again = len(self.loops)
        rank = len(kept) + again
        loops = range(len(op.iterators()))
        replaced: list[AffineExpr] = [AffineDim(again + kept.index(d) if d in kept else 0) for d in loops]
        outputs = [[e.substitute(replaced) for e in map_.results] for map_ in op.maps()[len(op.inputs) :]]
        reduced = [AffineDim(d) for d in range(again)]
        beside = [exprs + reduced if self.blocks is None else reduced + exprs for exprs in outputs]
        maps = [AffineMap(rank, 0, exprs) for exprs in (*beside, *outputs)]
        kinds = [*[IteratorTypeAttr(REDUCTION_LOOP)] * again, *[IteratorTypeAttr(PARALLEL_LOOP)] * len(kept)]
        made = GenericOp(
            partials, starts, ArrayAttr(maps), ArrayAttr(kinds), body=body, result_types=[v.type for v in starts],
            location=op.location,
        )  # fmt: skip
        return list(self.builder.insert(made).results)


def _shifted(expr: AffineExpr) -> AffineExpr:
    """An expression of loops that have one more in front of them."""
    return expr.substitute([AffineDim(d + 1) for d in range(max(expr.used_dims(), default=-1) + 1)])
