"""One function of StableHLO as linalg on tensors.

Enters: a jaxlib function and the values of its arguments. Leaves: our ops, written through an `Emitter`, and the
results. Calls are inlined on the way; element-wise ops read broadcasts, transposes, constants and iotas in place
(`values.py`); every other op has its function in `CONVERSIONS`, one family a file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyiree.compiler.input import jaxlib_mlir
from pyiree.compiler.input.complex_scalars import COMPLEX_LOWERINGS, EXPANDED_COMPLEX, convert_complex
from pyiree.compiler.input.elements import BOOLEAN, COMPLEX, FLOAT, SIGNED, Element, element
from pyiree.compiler.input.emitter import PARALLEL, Emitter, identity_map, projection
from pyiree.compiler.input.import_mlir import PlacedReader, Shaped, SourceReader, read_constant
from pyiree.compiler.input.imports import Imports
from pyiree.compiler.input.log_gamma import log_gamma
from pyiree.compiler.input.scalars import SCALAR_LOWERINGS
from pyiree.compiler.input.sizes import Size, common_shape, index_of, is_static, size_of, type_shape
from pyiree.compiler.input.values import Elements, Iota, Lazy, Tensor, Uniform, View, known_integers
from pyiree.compiler.ir.affine import AffineMap
from pyiree.compiler.ir.attributes import ArrayAttr, Attribute, IntegerAttr
from pyiree.compiler.ir.core import Block, Value
from pyiree.compiler.ir.dense import DenseElementsAttr
from pyiree.compiler.ir.location import CallSiteLoc, Location
from pyiree.compiler.ir.rewrite import constant_value
from pyiree.compiler.ir.types import TensorType, i1, i32, index

#: A conversion: the converter, the jaxlib op and its operands; returns the results.
Conversion = Callable[["Converter", Any, list], Sequence[Lazy]]

CONVERSIONS: dict[str, Conversion] = {}

#: The shape of an op's results from its operands, where the program leaves dims open.
ShapeRule = Callable[["Converter", Any, list], Sequence[Any]]

#: Ops that take dynamic shapes, element-wise ones aside, with the rule for their results.
SHAPE_RULES: dict[str, ShapeRule | None] = {}

#: CHLO functions without a twin among our ops: written out in StableHLO by jaxlib, one scalar at a time.
EXPANDED_CHLO = frozenset(
    {
        "chlo.bessel_i1e",
        "chlo.digamma",
        "chlo.erf_inv",
        "chlo.lgamma",
        "chlo.mulhi",
        "chlo.next_after",
        "chlo.polygamma",
        "chlo.zeta",
    }
)

_I32 = element("i32")

#: Ops that stand for the body of another function, with the attribute that names it.
CALLEE_NAMES = {"func.call": "callee", "stablehlo.composite": "decomposition"}

#: Ops that end a block and hand over its operands.
TERMINATORS = frozenset({"stablehlo.return", "func.return"})

#: Scalar ops that the host can compute; integers of other widths stay on the device.
_HOST_INTEGER_WIDTHS = frozenset({1, 32, 64})
_NOT_ON_HOST = frozenset({"stablehlo.popcnt", "stablehlo.count_leading_zeros", "stablehlo.power"})


def converts(*names: str) -> Callable[[Conversion], Conversion]:
    """Declares the conversion of ops by name; it sees dynamic shapes only if `SHAPE_RULES` has the op."""

    def register(function: Conversion) -> Conversion:
        for name in names:
            CONVERSIONS[name] = function
        return function

    return register


def is_scalar_op(name: str) -> bool:
    """Whether an op is a function of scalars, applied to each element."""
    return name in SCALAR_LOWERINGS or name in COMPLEX_LOWERINGS or name in EXPANDED_CHLO


def _is_host_arithmetic(result: Element, operands: Sequence[Element]) -> bool:
    """Whether an op is arithmetic of loop counters and the like, which the host does with its own integers."""
    return all(
        element.kind not in (FLOAT, COMPLEX) and element.type.width in _HOST_INTEGER_WIDTHS
        for element in (result, *operands)
    )


class Converter:
    """Converts the ops of one function and of the functions that it calls."""

    def __init__(self, emitter: Emitter, reader: SourceReader, functions: dict[str, Any], imports: Imports) -> None:
        self.emitter = emitter
        self.reader = reader
        self.functions = functions
        self.imports = imports
        #: What concatenations were made of: their dimension and parts, for those who read one part at a time.
        self.parts: dict[Value, tuple[int, list[Lazy]]] = {}
        self.has_sizes = False  # whether shapes may hold sizes that are known when the program runs
        self.generators = 0  # `stablehlo.rng` ops so far, each of which has a key of its own
        self._scope: dict[Any, Lazy] = {}
        self._caller: Location | None = None

    # Blocks and calls.

    def convert_block(self, block: Any) -> list[Lazy]:
        """Converts the ops of a block whose arguments are bound; returns the operands of its terminator."""
        scope, emitter, location_of, caller = self._scope, self.emitter, self.reader.location, self._caller
        for view in block.operations:
            op = view.operation
            name = op.name
            operands = [scope[value] for value in op.operands]
            if name in TERMINATORS:
                return operands
            here = location_of(op.location)
            emitter.location = here if caller is None else CallSiteLoc(here, caller)
            if self.has_sizes:
                self._check_shapes(op, operands)
            convert = CONVERSIONS.get(name)
            if convert is not None:
                results = convert(self, op, operands)
            elif is_scalar_op(name):
                results = [self.elementwise(op, operands)]
            else:
                raise emitter.unsupported(op, "")
            for value, result in zip(op.results, results):
                scope[value] = result
        raise ValueError("a block without a terminator")

    def bind(self, value: Any, lazy: Lazy) -> None:
        """Gives a jaxlib value (a block argument) its meaning."""
        self._scope[value] = lazy

    def value_of(self, value: Any) -> Lazy:
        """What a jaxlib value has been converted to."""
        return self._scope[value]

    def knows(self, value: Any) -> bool:
        """Whether a jaxlib value has been converted already."""
        return value in self._scope

    def call(self, name: str, arguments: Sequence[Lazy]) -> list[Lazy]:
        """Inlines a function of the module; the ops say where they were called from."""
        outer, self._caller = self._caller, self.emitter.location
        results = self.inline(self.functions[name], arguments)
        self._caller = outer
        return results

    def inline(self, function: Any, arguments: Sequence[Lazy]) -> list[Lazy]:
        """Converts the body of a function here, with `arguments` for its parameters."""
        outer, self._scope = self._scope, {}
        block = function.regions[0].blocks[0]
        for parameter, argument in zip(block.arguments, arguments):
            self._scope[parameter] = argument
        results = self.convert_block(block)
        self._scope = outer
        return results

    def write_out(self, text: str, arguments: Sequence[Lazy]) -> list[Lazy]:
        """Converts a function given as StableHLO text here; all of its ops stand where the op stands that it is for."""
        reader, caller = self.reader, self._caller
        self.reader, self._caller = PlacedReader(self.emitter.location), None
        module = jaxlib_mlir.load_module(text)
        results = self.inline(module.body.operations[0], arguments)
        self.reader, self._caller = reader, caller
        return results

    # Types.

    def shaped(self, value: Any) -> Shaped:
        """Shape and element of a jaxlib value that is a tensor."""
        found = self.reader.shaped(value.type)
        if found is None:
            raise TypeError(f"{value.type} is no ranked tensor")
        return found

    def result_shaped(self, op: Any) -> Shaped:
        """Shape and element of the first result."""
        found = self.shaped(op.results[0])
        return found if found.type.has_static_shape else self.results_shaped(op)[0]

    def results_shaped(self, op: Any) -> list[Shaped]:
        """Shapes and elements of the results, which share one shape where it is dynamic."""
        found = [self.shaped(value) for value in op.results]
        if all(shaped.type.has_static_shape for shaped in found):
            return found
        operands = [self._scope[value] for value in op.operands]
        rule = SHAPE_RULES.get(op.name, _common_shape if is_scalar_op(op.name) else None)
        if rule is None:
            raise self.emitter.unsupported(op, "of a dynamic shape")
        # What the type says is so; the rule knows the rest.
        ruled = rule(self, op, operands)
        return [
            Shaped.of([r if n is None else n for n, r in zip(shaped.shape, ruled)], shaped.element) for shaped in found
        ]

    def _check_shapes(self, op: Any, operands: Sequence[Any]) -> None:
        if op.name in SHAPE_RULES or is_scalar_op(op.name):
            return
        if any(isinstance(operand, Lazy) and not is_static(operand.shaped.shape) for operand in operands):
            raise self.emitter.unsupported(op, "of a dynamic shape")

    # Sizes.

    def argument(self, shaped: Shaped, value: Value) -> Tensor:
        """An argument of the function, with its dynamic dims measured."""
        if shaped.type.has_static_shape:
            return Tensor(shaped, value)
        self.has_sizes = True
        emitter = self.emitter
        shape = [Size(emitter, emitter.dim(value, i)) if n is None else n for i, n in enumerate(shaped.shape)]
        return Tensor(Shaped(tuple(shape), shaped.element, shaped.type), value)

    def sizes_in(self, lazy: Lazy) -> list[int | Size]:
        """The integers of a vector (or of one rank-0 tensor) as sizes; those on the device are read first."""
        emitter = self.emitter
        scalars = self.elements_of(lazy)
        if scalars is None:
            value, element = self.tensor(lazy), lazy.shaped.element.type
            if lazy.shaped.shape:
                places = [(emitter.integer(i, index),) for i in range(lazy.shaped.shape[0])]
            else:
                places = [()]
            scalars = [emitter.emit("tensor.extract", (value, *place), (element,)).results[0] for place in places]
        return [s.value if isinstance(s, IntegerAttr) else size_of(emitter, s) for s in scalars]

    def integers(self, shape: Sequence[int | Size]) -> Elements:
        """A shape as a vector, from which `sizes_in` has it again."""
        kind, cast = element("i64"), self.emitter.cast
        numbers: list[Attribute | Value] = [
            cast("arith.index_cast", n.value, kind.type) if isinstance(n, Size) else IntegerAttr(n, kind.type)
            for n in shape
        ]
        return Elements(Shaped.of((len(numbers),), kind), numbers)

    def elements_of(self, lazy: Lazy) -> list[Attribute | Value] | None:
        """The integers of a small tensor in order, if the host knows them."""
        if isinstance(lazy, Elements):
            return list(lazy.scalars)
        if isinstance(lazy, Uniform) and is_static(lazy.shaped.shape):
            scalar = lazy.attribute if lazy.scalar is None else lazy.scalar
            return [scalar] * math.prod(lazy.shaped.shape)
        known = known_integers(lazy)
        return None if known is None else [IntegerAttr(n, lazy.shaped.element.type) for n in known]

    def of_type(self, value: Value, type: TensorType) -> Value:
        """The tensor in a type that knows more or less of its shape."""
        return value if value.type is type else self.emitter.cast("tensor.cast", value, type)

    # Element-wise ops.

    def elementwise(self, op: Any, operands: Sequence[Lazy]) -> Lazy:
        """An op of the scalar table over all elements."""
        result = self.result_shaped(op)
        elements = [operand.shaped.element for operand in operands]
        if op.name == "stablehlo.convert" and elements[0] is result.element:
            return operands[0]

        def compute(scalars: list[Value]) -> list[Value]:
            return [self.scalar(op, scalars, elements, result.element)]

        if operands and all(isinstance(operand, Uniform) for operand in operands):
            if all(operand.attribute is not None for operand in operands):
                folded = self._fold(compute, [operand.attribute for operand in operands])
                if folded is not None:
                    return Uniform(result, folded)
            if op.name not in _NOT_ON_HOST and _is_host_arithmetic(result.element, elements):
                return Uniform(result, scalar=compute([self.uniform_scalar(o) for o in operands])[0])
        if any(isinstance(operand, Elements) for operand in operands) and _is_host_arithmetic(result.element, elements):
            columns = [self.elements_of(operand) for operand in operands]
            if op.name not in _NOT_ON_HOST and None not in columns:
                return Elements(result, [self._host_element(compute, row) for row in zip(*columns)])
        return self.map(result, operands, compute)

    def _host_element(
        self, compute: Callable[[list[Value]], Sequence[Value]], operands: Sequence[Attribute | Value]
    ) -> Attribute | Value:
        if all(isinstance(operand, Attribute) for operand in operands):
            folded = self._fold(compute, list(operands))
            if folded is not None:
                return folded
        return compute([self.scalar_of(operand) for operand in operands])[0]

    def scalar_of(self, element: Attribute | Value) -> Value:
        """A constant or a scalar as a scalar."""
        return self.emitter.constant(element) if isinstance(element, Attribute) else element

    def _fold(self, compute: Callable[[list[Value]], Sequence[Value]], operands: list[Attribute]) -> Attribute | None:
        """The constant that scalar ops make of constants, or None if one of them doesn't fold."""
        scratch = Block()
        with self.emitter.inside(scratch):
            scalars = [self.emitter.constant(attribute) for attribute in operands]
            (result,) = compute(scalars)
        folded = _folded(scratch, result)
        for op in scratch.ops:
            # Constants are shared with the program, which should not think that it needs them.
            op.drop_all_references()
        return folded

    def scalar(self, op: Any, operands: list[Value], elements: list[Element], result: Element) -> Value:
        """One scalar op of the tables, or written out by jaxlib."""
        name = op.name
        if result.kind == COMPLEX or any(element.kind == COMPLEX for element in elements):
            on_complex = COMPLEX_LOWERINGS.get(name)
            if on_complex is not None:
                return on_complex(self, operands, elements, result, op)
            if name not in EXPANDED_COMPLEX:
                raise self.emitter.unsupported(op, "of complex numbers")
        elif name in SCALAR_LOWERINGS:
            return SCALAR_LOWERINGS[name](self.emitter, operands, elements, result, op)
        elif name in COMPLEX_LOWERINGS:
            return COMPLEX_LOWERINGS[name](self, operands, elements, result, op)
        expanded = self.expand(name, operands, elements, result)
        return log_gamma(self.emitter, operands[0], expanded) if name == "chlo.lgamma" else expanded

    def expand(self, name: str, operands: list[Value], elements: list[Element], result: Element) -> Value:
        """A function that jaxlib writes out, as scalar ops here."""
        spellings = tuple(element.spelling for element in elements)
        module = jaxlib_mlir.expand_scalar(name, spellings, result.spelling)
        return self.scalar_block(module.body.operations[0].regions[0].blocks[0], operands)[0]

    def map(
        self, result: Shaped, operands: Sequence[Lazy], compute: Callable[[list[Value]], Sequence[Value]]
    ) -> Tensor:
        """`compute` over every element of the operands, which have the result's shape or none."""
        (tensor,) = self.map_many([result], operands, compute)
        return tensor

    def map_many(
        self,
        results: Sequence[Shaped],
        operands: Sequence[Lazy],
        compute: Callable[[list[Value]], Sequence[Value]],
    ) -> list[Tensor]:
        """As `map`, for several results of one shape."""
        rank = len(results[0].shape)
        inputs, read = self.read_operands(operands, rank)
        identity = identity_map(rank)
        outputs = [(self.emitter.empty(result.type, result.sizes), identity) for result in results]
        op = self.emitter.generic(inputs, outputs, (PARALLEL,) * rank, lambda arguments: compute(read(arguments)))
        return [Tensor(result, value) for result, value in zip(results, op.results)]

    def read_operands(
        self, operands: Sequence[Lazy], rank: int, dims: Sequence[int] | None = None
    ) -> tuple[list[tuple[Value, AffineMap]], Callable[[list[Value]], list[Value]]]:
        """How a generic over `rank` loops reads operands: its inputs, and the scalars from its block's arguments.

        Dimension `i` of an operand runs along loop `dims[i]` (along loop `i` where `dims` is left out); an operand
        of rank 0 is the same everywhere.
        """
        inputs: dict[tuple[Value, AffineMap], int] = {}
        readers: list[Callable[[list[Value]], Value]] = []
        loops = tuple(range(rank)) if dims is None else tuple(dims)
        for operand in operands:
            element = operand.shaped.element
            if isinstance(operand, Uniform):
                scalar = self.uniform_scalar(operand)
                readers.append(lambda arguments, scalar=scalar: scalar)
            elif isinstance(operand, Iota):
                loop = loops[operand.dimension]
                readers.append(lambda arguments, loop=loop, element=element: self.iota_scalar(loop, element))
            else:
                if isinstance(operand, View):
                    source, along = operand.source, tuple(loops[d] for d in operand.dims)
                else:
                    source, along = self.tensor(operand), loops if operand.shaped.shape else ()
                position = inputs.setdefault((source, projection(rank, along)), len(inputs))
                readers.append(lambda arguments, position=position: arguments[position])
        return list(inputs), lambda arguments: [reader(arguments) for reader in readers]

    def with_ranges(
        self, inputs: Sequence[tuple[Value, AffineMap]], rank: int, ranges: Mapping[int, int | Size]
    ) -> list[tuple[Value, AffineMap]]:
        """The inputs, and an empty one along those summed loops (`ranges`) that no input runs along: how often a loop
        runs is known from the operands alone."""
        told = {d for _, map_ in inputs for d in map_.dim_positions()}
        untold = tuple(d for d in ranges if d not in told)
        if not untold:
            return list(inputs)
        shape = [ranges[d] for d in untold]
        sizes = [n.value for n in shape if isinstance(n, Size)]
        empty = self.emitter.empty(TensorType(type_shape(shape), i1), sizes)
        return [*inputs, (empty, projection(rank, untold))]

    def iota_scalar(self, loop: int, element: Element) -> Value:
        """The index along a loop, inside a generic, as an element."""
        emitter = self.emitter
        position = emitter.linalg_index(loop)
        if element.kind in (FLOAT, COMPLEX):
            number = emitter.cast("arith.index_cast", position, i32)
            if element.kind == COMPLEX:
                return convert_complex(self, number, _I32, element)
            return emitter.cast("arith.sitofp", number, element.type)
        return emitter.cast("arith.index_cast", position, element.type)

    def uniform_scalar(self, uniform: Uniform) -> Value:
        """The scalar of a uniform tensor."""
        if uniform.scalar is not None:
            return uniform.scalar
        return self.emitter.constant(uniform.attribute)

    # Regions of scalar ops: reducers, comparators, expansions.

    def scalar_block(
        self, block: Any, arguments: Sequence[Value], around: Mapping[Any, Value] | None = None
    ) -> list[Value]:
        """The ops of a block on rank-0 tensors as scalar ops; returns the operands of its terminator. `around` has the
        scalars of the block that this one is a branch in."""
        emitter = self.emitter
        scope: dict[Any, Value] = {**(around or {}), **dict(zip(block.arguments, arguments))}

        def scalar(value: Any) -> Value:
            found = scope.get(value)
            if found is None:
                outer = self._scope.get(value)
                if not isinstance(outer, Uniform):
                    raise emitter.unsupported(value.owner, "read inside a reducer from outside")
                found = scope[value] = self.uniform_scalar(outer)
            return found

        for view in block.operations:
            op = view.operation
            name = op.name
            operands = [scalar(value) for value in op.operands]
            if name in TERMINATORS:
                return operands
            if is_scalar_op(name):
                elements = [self.shaped(value).element for value in op.operands]
                results = [self.scalar(op, operands, elements, self.result_shaped(op).element)]
            elif name == "stablehlo.constant":
                results = [self.uniform_scalar(self.constant(op))]
            elif name in ("stablehlo.reshape", "stablehlo.broadcast_in_dim"):
                results = operands
            elif name in CALLEE_NAMES:
                callee = self.functions[op.attributes[CALLEE_NAMES[name]].value]
                results = self.scalar_block(callee.regions[0].blocks[0], operands)
            elif name in ("stablehlo.if", "stablehlo.case"):
                results = self._chosen_scalars(op, operands[0], scope)
            else:
                raise emitter.unsupported(op, "inside the body of another op")
            scope.update(zip(op.results, results))
        raise ValueError("a block without a terminator")

    def _chosen_scalars(self, op: Any, selector: Value, scope: Mapping[Any, Value]) -> list[Value]:
        """The results of a branch on scalars: all branches are computed, one is chosen, the last if no other is."""
        emitter = self.emitter
        branches = [self.scalar_block(region.blocks[0], (), scope) for region in op.regions]
        chosen = branches[-1]
        for number in reversed(range(len(branches) - 1)):
            if op.name == "stablehlo.if":
                flag = selector
            else:
                flag = emitter.cmpi("eq", selector, emitter.integer(number, selector.type))
            chosen = [emitter.select(flag, x, other) for x, other in zip(branches[number], chosen)]
        return chosen

    # Constants.

    def constant(self, op: Any) -> Lazy:
        """A `stablehlo.constant`."""
        shaped = self.result_shaped(op)
        splat, array = read_constant(op, shaped)
        if splat is not None:
            return Uniform(shaped, attribute=splat)
        return Tensor(shaped, self.emitter.constant(DenseElementsAttr(shaped.type, array)))

    # Materialisation.

    def tensor(self, lazy: Lazy) -> Value:
        """The value as an SSA tensor. It is written where its parts are known, so that it serves every later use."""
        if isinstance(lazy, Tensor):
            return lazy.value
        if isinstance(lazy, Elements):
            scalars = [self.scalar_of(element) for element in lazy.scalars]
            return self.emitter.emit("tensor.from_elements", scalars, (lazy.shaped.type,)).results[0]
        if lazy.shaped.sizes:
            return self._materialize_here(lazy)
        if lazy.materialized is None:
            lazy.materialized = self._materialize(lazy)
        return lazy.materialized

    def _materialize_here(self, lazy: Uniform | Iota | View) -> Value:
        """A value of a dynamic shape, where its sizes are known; each use writes it again."""
        shaped = lazy.shaped
        if isinstance(lazy, Uniform):
            return self.fill(self.uniform_scalar(lazy), shaped.type, shaped.sizes)
        return self.map(shaped, [lazy], lambda scalars: scalars).value

    def _materialize(self, lazy: Uniform | Iota | View) -> Value:
        emitter, shaped = self.emitter, lazy.shaped
        rank = len(shaped.shape)
        if 0 in shaped.shape:
            return emitter.empty(shaped.type)
        if isinstance(lazy, Uniform):
            if lazy.attribute is not None:
                return emitter.constant(DenseElementsAttr.splat(shaped.type, lazy.attribute))
            assert lazy.scalar is not None
            if rank == 0:
                op = emitter.make("tensor.from_elements", (lazy.scalar,), (shaped.type,))
            else:
                op = self.make_fill(lazy.scalar, shaped.type)
            emitter.place_after(lazy.scalar, op)
            return op.results[0]
        empty = emitter.empty(shaped.type)
        inputs, read = self.read_operands([lazy], rank)
        op = emitter.make_generic(
            inputs, [(empty, identity_map(rank))], (PARALLEL,) * rank, lambda arguments: read(arguments)
        )
        emitter.place_after(lazy.source if isinstance(lazy, View) else empty, op)
        return op.results[0]

    def make_fill(self, scalar: Value, type: TensorType, sizes: Sequence[Value] = ()) -> Any:
        """A `linalg.fill` of an empty tensor that is in no block yet."""
        return self.emitter.make("linalg.fill", (scalar, self.emitter.empty(type, sizes)), (type,), None, (), (1, 1))

    def fill(self, scalar: Value, type: TensorType, sizes: Sequence[Value] = ()) -> Value:
        """A tensor filled with a scalar, here; `sizes` are those of its dynamic dims."""
        number = constant_value(scalar)
        if sizes and isinstance(number, ArrayAttr) and number[0] != number[1]:
            # A complex number of two different parts is no pattern that the host can fill memory with.
            outputs = [(self.emitter.empty(type, sizes), identity_map(type.rank))]
            iterators = (PARALLEL,) * type.rank
            return self.emitter.generic([], outputs, iterators, lambda arguments: [scalar]).results[0]
        op = self.make_fill(scalar, type, sizes)
        self.emitter.block.append(op)
        return op.results[0]

    # Host scalars.

    def host_scalar(self, lazy: Lazy) -> Value:
        """The one element of a rank-0 tensor as an SSA scalar outside of any generic."""
        if isinstance(lazy, Uniform):
            return self.uniform_scalar(lazy)
        value = self.tensor(lazy)
        return self.emitter.emit("tensor.extract", (value,), (lazy.shaped.element.type,)).results[0]

    def clamped_index(self, scalar: Value, element: Element, limit: int | Size) -> Value:
        """An integer as an index between 0 and `limit`."""
        emitter = self.emitter
        if element.kind == BOOLEAN:
            raise TypeError("a bool is no index")
        zero, highest = emitter.integer(0, index), index_of(emitter, limit)
        position = emitter.as_index(scalar, element.kind == SIGNED)
        if element.kind == SIGNED:
            return emitter.binary("arith.minsi", emitter.binary("arith.maxsi", position, zero), highest)
        return emitter.binary("arith.minui", position, highest)


def _common_shape(c: Converter, op: Any, operands: Sequence[Lazy]) -> list[int | Size]:
    """The shape of an element-wise op: its operands have it, some of them knowing more of it; scalars have none."""
    rank = len(c.shaped(op.results[0]).shape)
    return common_shape([operand.shaped.shape for operand in operands if len(operand.shaped.shape) == rank])


def _folded(block: Block, result: Value) -> Attribute | None:
    """The constant that a value of a block of scalar ops is, or None if one of the ops doesn't fold."""
    known: dict[Value, Attribute] = {}

    def value_of(value: Value) -> Attribute | None:
        return known[value] if value in known else constant_value(value)

    for op in block.ops:
        folded = op.fold([value_of(v) for v in op.operands]) if hasattr(op, "fold") else None
        if folded is None:
            return None
        attribute = folded[0] if isinstance(folded[0], Attribute) else value_of(folded[0])
        if attribute is None:
            return None
        known[op.results[0]] = attribute
    return value_of(result)
