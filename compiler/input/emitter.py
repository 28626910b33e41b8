"""Writes our ops, one function at a time.

Enters: op names, operands and types from the conversion families. Leaves: ops at the current place, with the
current location. Constants and empty tensors are written once, at the start of the function, where every region
sees them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pyiree.compiler.dialects.arith_attributes import CmpFPredicate, CmpIPredicate
from pyiree.compiler.dialects.linalg import IteratorTypeAttr
from pyiree.compiler.errors import UnsupportedError
from pyiree.compiler.ir import registry
from pyiree.compiler.ir.affine import AffineDim, AffineMap
from pyiree.compiler.ir.attributes import ArrayAttr, Attribute, DenseArrayAttr, FloatAttr, IntegerAttr
from pyiree.compiler.ir.core import Block, Operation, Region, Value
from pyiree.compiler.ir.location import UNKNOWN, Location
from pyiree.compiler.ir.rewrite import constant_value
from pyiree.compiler.ir.types import ComplexType, FloatType, TensorType, Type, i1, i64, index

PARALLEL, REDUCTION = "parallel", "reduction"


@functools.cache
def operation_class(name: str) -> type[Operation]:
    """The declared class of an op name."""
    found = registry.lookup_operation(name)
    if found is None:
        raise LookupError(f"op '{name}' is not declared")
    # `Emitter.make` builds ops without the constructor, which would ask for it.
    found.definition  # type: ignore[attr-defined]  # noqa: B018
    return found


@functools.cache
def _predicate(kind: str, name: str) -> Attribute:
    return (CmpIPredicate if kind == "arith.cmpi" else CmpFPredicate).from_python(name)


class Emitter:
    """The place and the location where ops are written, and what the function has of constants."""

    def __init__(self, entry: Block) -> None:
        self.entry = entry
        self.block = entry
        self.location: Location = UNKNOWN
        self._anchor: Operation | None = None
        self._constants: dict[Any, Value] = {}
        self._empties: dict[TensorType, Value] = {}
        self._arithmetic: dict[Any, Value] = {}

    # Ops.

    def emit(
        self,
        name: str,
        operands: Sequence[Value],
        types: Sequence[Type],
        properties: dict[str, Attribute] | None = None,
        regions: Sequence[Region] = (),
        operand_segments: tuple[int, ...] | None = None,
    ) -> Operation:
        """An op at the end of the current block."""
        op = self.make(name, operands, types, properties, regions, operand_segments)
        self.block.append(op)
        return op

    def make(
        self,
        name: str,
        operands: Sequence[Value],
        types: Sequence[Type],
        properties: dict[str, Attribute] | None = None,
        regions: Sequence[Region] = (),
        operand_segments: tuple[int, ...] | None = None,
    ) -> Operation:
        """An op that is in no block yet."""
        cls = operation_class(name)
        return cls.__new__(cls).build(
            operands,
            types,
            properties,
            None,
            regions,
            (),
            self.location,
            operand_segments,
        )

    @contextmanager
    def inside(self, block: Block) -> Iterator[Block]:
        """Writes into another block for a while."""
        outer, self.block = self.block, block
        try:
            yield block
        finally:
            self.block = outer

    # What the function has once.

    def _hoist(self, op: Operation) -> Value:
        if self._anchor is None:
            self.entry.prepend(op)
        else:
            self.entry.insert_after(self._anchor, op)
        self._anchor = op
        return op.results[0]

    def constant(self, attribute: Any) -> Value:
        """The value of a scalar or dense attribute; a complex number is an array of its two parts."""
        found = self._constants.get(attribute)
        if found is None:
            if isinstance(attribute, ArrayAttr):
                type = ComplexType(attribute[0].type)
                op = self.make("complex.constant", (), (type,), {"value": attribute})
            else:
                op = self.make("arith.constant", (), (attribute.type,), {"value": attribute})
            found = self._constants[attribute] = self._hoist(op)
        return found

    def empty(self, type: TensorType, sizes: Sequence[Value] = ()) -> Value:
        """A tensor of undefined contents; `sizes` are those of its dynamic dims."""
        if sizes:
            return self.emit("tensor.empty", sizes, (type,)).results[0]
        found = self._empties.get(type)
        if found is None:
            found = self._empties[type] = self._hoist(self.make("tensor.empty", (), (type,)))
        return found

    def host_arithmetic(self, name: str, *operands: Value) -> Value:
        """An index that ops of the host make of integers or indices; what is there already is not made again."""
        commutes = name in ("arith.addi", "arith.muli", "arith.maxsi", "arith.minsi")
        key = (name, *(sorted(operands, key=id) if commutes else operands))
        for block in (self.entry, self.block):
            found = self._arithmetic.get((block, key))
            if found is not None:
                return found
        made = self.binary(name, *operands) if len(operands) == 2 else self.cast(name, operands[0], index)
        self._arithmetic[self.block, key] = made
        return made

    def dim(self, tensor: Value, dimension: int) -> Value:
        """`tensor.dim`, here."""
        return self.emit("tensor.dim", (tensor, self.integer(dimension, index)), (index,)).results[0]

    def place_after(self, source: Value, op: Operation) -> None:
        """Puts an op where `source` has just been defined, so that all users of `source` see it too."""
        owner = source.defining_op
        if owner is not None and owner.block is not None:
            # A hoisted source is followed by others yet to be hoisted: leave those in front.
            if owner.block is self.entry and self._is_hoisted(owner):
                self.entry.insert_after(self._anchor, op)  # type: ignore[arg-type]
            else:
                owner.block.insert_after(owner, op)
            return
        block = source.block  # type: ignore[attr-defined]
        if block is self.entry and self._anchor is not None:
            block.insert_after(self._anchor, op)
        else:
            block.prepend(op)

    def _is_hoisted(self, op: Operation) -> bool:
        return op.name in ("arith.constant", "complex.constant", "tensor.empty")

    # Scalars.

    def unary(self, name: str, x: Value) -> Value:
        """An op of one operand and a result of its type."""
        return self.emit(name, (x,), (x.type,)).results[0]

    def binary(self, name: str, x: Value, y: Value) -> Value:
        """An op of two operands and a result of their type; with a constant it may be one of them (`x * 1`)."""
        op = self.make(name, (x, y), (x.type,))
        constants = [constant_value(x), constant_value(y)]
        if constants != [None, None]:
            folded = op.fold(constants) if hasattr(op, "fold") else None
            if folded is not None and folded[0] in (x, y):
                op.drop_all_references()
                return folded[0]
        self.block.append(op)
        return op.results[0]

    def cast(self, name: str, x: Value, type: Type) -> Value:
        """An op of one operand and a result of another type."""
        return self.emit(name, (x,), (type,)).results[0]

    def cmpi(self, predicate: str, x: Value, y: Value) -> Value:
        """`arith.cmpi`."""
        return self.emit("arith.cmpi", (x, y), (i1,), {"predicate": _predicate("arith.cmpi", predicate)}).results[0]

    def cmpf(self, predicate: str, x: Value, y: Value) -> Value:
        """`arith.cmpf`."""
        return self.emit("arith.cmpf", (x, y), (i1,), {"predicate": _predicate("arith.cmpf", predicate)}).results[0]

    def select(self, condition: Value, x: Value, y: Value) -> Value:
        """`arith.select`."""
        return x if x is y else self.emit("arith.select", (condition, x, y), (x.type,)).results[0]

    def integer(self, value: int, type: Type) -> Value:
        """An integer or index constant."""
        return self.constant(IntegerAttr(value, type))

    def float(self, value: float, type: Type) -> Value:
        """A float constant."""
        return self.constant(FloatAttr(value, type))

    def zero(self, type: Type) -> Value:
        """The zero of a scalar type."""
        if isinstance(type, ComplexType):
            return self.constant(ArrayAttr([FloatAttr(0.0, type.element_type)] * 2))
        return self.float(0.0, type) if isinstance(type, FloatType) else self.integer(0, type)

    def is_zero(self, x: Value) -> Value:
        """Whether an integer is zero."""
        return self.cmpi("eq", x, self.integer(0, x.type))

    def as_index(self, x: Value, is_signed: bool = True) -> Value:
        """An integer as an index."""
        return self.cast("arith.index_cast" if is_signed else "arith.index_castui", x, index)

    # Tensors.

    def generic(
        self,
        inputs: Sequence[tuple[Value, AffineMap]],
        outputs: Sequence[tuple[Value, AffineMap]],
        iterators: Sequence[str],
        body: Callable[[list[Value]], Sequence[Value]],
    ) -> Operation:
        """A `linalg.generic` at the current place; `body` makes the yielded scalars from the block's arguments."""
        op = self.make_generic(inputs, outputs, iterators, body)
        self.block.append(op)
        return op

    def make_generic(
        self,
        inputs: Sequence[tuple[Value, AffineMap]],
        outputs: Sequence[tuple[Value, AffineMap]],
        iterators: Sequence[str],
        body: Callable[[list[Value]], Sequence[Value]],
    ) -> Operation:
        """A `linalg.generic` that is in no block yet."""
        operands = [value for value, _ in (*inputs, *outputs)]
        block = Block([value.type.element_type for value in operands])  # type: ignore[attr-defined]
        # As `inside` does, which would cost as much as an op.
        outer, self.block = self.block, block
        try:
            yielded = body(block.arguments)  # type: ignore[arg-type]
            self.emit("linalg.yield", yielded, ())
        finally:
            self.block = outer
        return self.make(
            "linalg.generic",
            operands,
            [value.type for value, _ in outputs],
            {
                "indexing_maps": ArrayAttr([m for _, m in (*inputs, *outputs)]),
                "iterator_types": iterator_types(tuple(iterators)),
            },
            (Region(block),),
            (len(inputs), len(outputs)),
        )

    def linalg_index(self, dimension: int) -> Value:
        """The index of an iteration along a dimension, inside a generic's body."""
        return self.emit("linalg.index", (), (index,), {"dim": IntegerAttr(dimension, i64)}).results[0]

    # Reports.

    def unsupported(self, op: Any, detail: str) -> UnsupportedError:
        """The error about a jaxlib op, for `raise`."""
        location = self.location.innermost_file()
        place = f"{location.filename}:{location.line}" if location is not None else "an unknown location"
        return UnsupportedError([(f"{op.name} {detail}".strip(), place)])


@functools.cache
def iterator_types(names: tuple[str, ...]) -> ArrayAttr:
    """`["parallel", "reduction"]` as linalg's attribute."""
    return ArrayAttr([IteratorTypeAttr(name) for name in names])


@functools.cache
def identity_map(rank: int) -> AffineMap:
    """`(d0, …) -> (d0, …)`."""
    return AffineMap.identity(rank)


@functools.cache
def projection(rank: int, dims: tuple[int, ...]) -> AffineMap:
    """`(d0, …) -> (d[dims[0]], d[dims[1]], …)`."""
    return AffineMap(rank, 0, [AffineDim(d) for d in dims])


def int_array(values: Sequence[int]) -> DenseArrayAttr:
    """`array<i64: …>`."""
    return DenseArrayAttr(i64, values)
