"""Counted loops whose iterations work on every point alone: along which dims of what a loop carries.

Enters: an `scf.for` on tensors. Leaves: a `PointwiseLoop`, or None. Each carried value has the same *points*, dims
along which an iteration reads the carried values at the place that it computes and nowhere else, in any order of its
own; or it has none and is the same for all points. Along its other dims, which are few and short, an iteration may read
every element. A kernel then keeps all that belongs to a point in registers for all iterations:

    scf.for … iter_args(%s = %init) -> (tensor<3x1024xf32>) { … stack(f(s[0], s[1], s[2]), …) … }

has the points of dim 1 and three elements each. Dims that an op runs through together form a class; a slice, a
concatenation or a reshape that takes a dim apart breaks its class, and so does an op that has one class twice.

A carried tensor that iterations put slices into stays in memory, where it is of any size along its other dims and may
be read at places that are computed:

    scf.for %i … iter_args(%y = %init) -> (tensor<64x1024xf32>) { … tensor.insert_slice %x into %y[%i, 0] … }
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from pyiree.compiler.dialects.arith import ConstantOp
from pyiree.compiler.dialects.linalg import GenericOp
from pyiree.compiler.dialects.linalg_interface import LinalgOp
from pyiree.compiler.dialects.scf import ForOp
from pyiree.compiler.dialects.tensor_slices import InsertSliceOp
from pyiree.compiler.ir.core import Operation, Value
from pyiree.compiler.ir.dense import DenseElementsAttr
from pyiree.compiler.ir.types import TensorType
from pyiree.runtime.vmfb.lazy_dataclass import dataclass

#: Elements of a point that an iteration makes of one carried value, and of all of them together.
MAX_ELEMENTS = 16
MAX_STATE = 32

Node = tuple[object, int]


@dataclass(frozen=True)
class Carried:
    """One carried tensor, or a number: for each dim the number of the point dim that it is, or None.

    If it stays in memory, `updates` are the slices that an iteration puts into it, in order.
    """

    dims: tuple[int | None, ...]
    shape: tuple[int, ...]
    updates: tuple[InsertSliceOp, ...] = ()

    @property
    def elements(self) -> list[tuple[int | None, ...]]:
        """Every element of a point: its index along the other dims, None for a point dim."""
        return _elements(self.shape, self.dims)

    def updated(self, update: InsertSliceOp) -> list[tuple[int | None, ...]]:
        """The elements of a point in the slice that is put in: the same, as indices of the slice."""
        return _elements(*self._part(update))

    def _part(self, update: InsertSliceOp) -> tuple[tuple[int, ...], list[int | None]]:
        """The shape of a slice that is put in, and its dims."""
        dropped = set(update.dropped_dims())
        return update.source.type.shape, [n for d, n in enumerate(self.dims) if d not in dropped]  # type: ignore[attr-defined]

    @property
    def count(self) -> int:
        """How many elements of a point an iteration makes."""
        if self.updates:
            return sum([_count(*self._part(update)) for update in self.updates])
        return _count(self.shape, self.dims)


def _count(shape: Sequence[int], dims: Sequence[int | None]) -> int:
    return math.prod([size for size, dim in zip(shape, dims) if dim is None])


def _elements(shape: Sequence[int], dims: Sequence[int | None]) -> list[tuple[int | None, ...]]:
    places: list[tuple[int | None, ...]] = [()]
    for size, dim in zip(shape, dims):
        choices: Iterable[int | None] = range(size) if dim is None else (None,)
        places = [(*place, choice) for place in places for choice in choices]
    return places


@dataclass(frozen=True)
class PointwiseLoop:
    points: tuple[int, ...]
    """The extent of each point dim."""
    carried: tuple[Carried, ...]


def pointwise_loop(loop: ForOp) -> PointwiseLoop | None:
    """The points of a loop, or None where iterations are not independent for each of them."""
    step = _constant(loop.step)
    if loop.unsignedCmp or step is None or step <= 0 or not loop.iter_args:
        return None
    for value, result in zip(loop.iter_args, loop.results):
        type = value.type
        if not isinstance(type, TensorType):
            # Numbers of the host; a dispatch gives none.
            if result.has_uses:
                return None
        elif not type.has_static_shape or 0 in type.shape:
            return None
    classes = _DimClasses(loop)
    return classes.result() if classes.scan() else None


def _constant(value: Value) -> int | None:
    op = value.defining_op
    return op.value.value if isinstance(op, ConstantOp) else None


class _DimClasses:
    """Classes of dims that run together, as a union of (value or op, number) pairs."""

    def __init__(self, loop: ForOp) -> None:
        self.loop = loop
        self.parent: dict[Node, Node] = {}
        self.broken: set[Node] = set()
        #: Values that depend on what the loop carries.
        self.derived: set[Value] = {v for v in loop.iter_args if isinstance(v.type, TensorType)}
        self.several: list[list[Node]] = []
        #: Values of which an op takes a part that is known only when the loop runs.
        self.taken_apart: list[Value] = []

    def root(self, node: Node) -> Node:
        path = []
        while (up := self.parent.setdefault(node, node)) != node:
            path.append(node)
            node = up
        for passed in path:
            self.parent[passed] = node
        return node

    def join(self, x: Node, y: Node) -> None:
        """Two dims run together. Where a value from before the loop is read is no matter."""
        if any(isinstance(node[0], Value) and node[0] not in self.derived for node in (x, y)):
            return
        x, y = self.root(x), self.root(y)
        if x != y:
            self.parent[x] = y
            if x in self.broken:
                self.broken.add(y)

    def break_(self, node: Node) -> None:
        self.broken.add(self.root(node))

    # The body.

    def scan(self) -> bool:
        """Reads the body; False where an op is not understood."""
        body = self.loop.body_block
        end = body.terminator
        for op in body.ops:
            if op is not end and not self._op(op):
                return False
        for argument, following in zip(self.loop.iter_args, end.operands):
            for d in range(len(_shape(argument))):
                self.join((argument, d), (following, d))
        return True

    def _op(self, op: Operation) -> bool:
        tensors = [v for v in op.operands if isinstance(v.type, TensorType)]
        depends = any(v in self.derived for v in tensors) or self._gathers_derived(op)
        if depends:
            self.derived.update(op.results)
        if isinstance(op, ConstantOp):
            value = op.value
            return not isinstance(value, DenseElementsAttr) or value.is_splat
        name = op.name
        if isinstance(op, LinalgOp):
            return all(kind == "parallel" for kind in op.iterators()) and (not depends or self._linalg(op))
        if name.startswith(("arith.", "math.")):
            return self._all_together(op, tensors)
        if name in ("tensor.empty", "complex.constant"):
            return True
        slicing = {
            "tensor.extract_slice": self._extract_slice, "tensor.insert_slice": self._insert_slice,
            "tensor.concat": self._concat, "tensor.pad": self._pad,
            "tensor.expand_shape": self._reshape, "tensor.collapse_shape": self._reshape,
        }.get(name)  # fmt: skip
        if slicing is None:
            return False
        return not depends or slicing(op)

    def _gathers_derived(self, op: Operation) -> bool:
        return isinstance(op, GenericOp) and any(
            inner.name == "tensor.extract" and inner.operands[0] in self.derived for inner in op.body_block.ops
        )

    def _linalg(self, op: LinalgOp) -> bool:
        if self._gathers_derived(op):
            return False
        self.several.append([(op, d) for d in range(len(op.iterators()))])
        for value, map_ in zip((*op.operands, *op.results), (*op.maps(), *op.maps()[len(op.inputs) :])):
            for number, dim in enumerate(map_.dim_positions()):
                if dim is not None:
                    self.join((value, number), (op, dim))
                else:
                    self.break_((value, number))
        return True

    def _all_together(self, op: Operation, tensors: Sequence[Value]) -> bool:
        for result in op.results:
            if isinstance(result.type, TensorType):
                for value in tensors:
                    for d in range(len(result.type.shape)):
                        self.join((value, d), (result, d))
        return True

    def _extract_slice(self, op: Operation) -> bool:
        return self._part(op, op.operands[0], op.results[0])

    def _insert_slice(self, op: Operation) -> bool:
        for d in range(len(op.results[0].type.shape)):
            self.join((op.operands[1], d), (op.results[0], d))
        return self._part(op, op.results[0], op.operands[0])

    def _part(self, op: Operation, whole: Value, part: Value) -> bool:
        """A part of a whole: a dim of which it has all is one dim of both."""
        if op.sizes or op.strides:  # type: ignore[attr-defined]
            return False
        if op.offsets:  # type: ignore[attr-defined]
            self.taken_apart.append(whole)
        dropped = set(op.dropped_dims())  # type: ignore[attr-defined]
        number = 0
        for d, size in enumerate(whole.type.shape):  # type: ignore[attr-defined]
            if d in dropped:
                self.break_((whole, d))
                continue
            if op.static_sizes[d] == size:  # type: ignore[attr-defined]
                self.join((whole, d), (part, number))
            else:
                self.break_((whole, d))
                self.break_((part, number))
            number += 1
        return True

    def _concat(self, op: Operation) -> bool:
        along = op.dim  # type: ignore[attr-defined]
        for value in (*op.operands, *op.results):
            for d in range(len(value.type.shape)):  # type: ignore[attr-defined]
                if d == along:
                    self.break_((value, d))
                else:
                    self.join((value, d), (op.results[0], d))
        return True

    def _pad(self, op: Operation) -> bool:
        source, result = op.operands[0], op.results[0]
        if len(op.operands) > 1 or op.regions[0].blocks[0].terminator.operands[0] in self.derived:
            return False
        for d, (before, after) in enumerate(zip(source.type.shape, result.type.shape)):  # type: ignore[attr-defined]
            self.join((source, d), (result, d))
            if before != after:
                self.break_((source, d))
        return True

    def _reshape(self, op: Operation) -> bool:
        narrow, wide = op.results[0], op.operands[0]
        if op.name == "tensor.expand_shape":
            narrow, wide = wide, narrow
        for number, group in enumerate(op.get_attr("reassociation")):
            long = [int(d) for d in group if wide.type.shape[int(d)] != 1]  # type: ignore[attr-defined]
            if len(long) == 1:
                self.join((narrow, number), (wide, long[0]))
            elif long:
                self.break_((narrow, number))
                for d in long:
                    self.break_((wide, d))
        return True

    # The result.

    def result(self) -> PointwiseLoop | None:
        for nodes in (*self.several, *[[(v, d) for d in range(len(_shape(v)))] for v in self.derived]):
            self._break_doubles(nodes)
        numbers: dict[Node, int] = {}
        points: list[int] = []
        for value in sorted(self.loop.iter_args, key=lambda v: -len(_shape(v))):
            for d, size in enumerate(_shape(value)):
                node = self.root((value, d))
                if size != 1 and node not in self.broken and node not in numbers:
                    numbers[node] = len(points)
                    points.append(size)
        carried: list[Carried] = []
        in_memory: set[Value] = set()
        for value, following in zip(self.loop.iter_args, self.loop.yielded):
            shape = _shape(value)
            roots = [self.root((value, d)) for d in range(len(shape))]
            dims = tuple([numbers.get(node) if size != 1 else None for node, size in zip(roots, shape)])
            found = {d for d in dims if d is not None}
            if len(found) not in (0, len(points)):
                return None
            one = Carried(dims, shape)
            updates = _updates(value, following)
            names = [value, *[update.result for update in updates]]
            if one.count > MAX_ELEMENTS or any(v in names for v in self.taken_apart):
                # What is the same for all points has no memory that only one of them writes.
                if not updates or len(found) != len(points):
                    return None
                one = Carried(dims, shape, updates)
                in_memory.update(names)
            carried.append(one)
        counts = [c.count for c in carried]
        if max(counts) > MAX_ELEMENTS or sum(counts) > MAX_STATE or any(v not in in_memory for v in self.taken_apart):
            return None
        return PointwiseLoop(tuple(points), tuple(carried))

    def _break_doubles(self, nodes: Sequence[Node]) -> None:
        roots = [self.root(node) for node in nodes]
        for node in roots:
            if roots.count(node) > 1:
                self.broken.add(node)


def _updates(value: Value, following: Value) -> tuple[InsertSliceOp, ...]:
    """The slices that are put into a carried value to make the next one, in order; none if that is not all."""
    updates: list[InsertSliceOp] = []
    while following is not value:
        op = following.defining_op
        if not isinstance(op, InsertSliceOp):
            return ()
        updates.append(op)
        following = op.dest
    return tuple(reversed(updates))


def _shape(value: Value) -> tuple[int, ...]:
    return value.type.shape if isinstance(value.type, TensorType) else ()  # type: ignore[return-value]
