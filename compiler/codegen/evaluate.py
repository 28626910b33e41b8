"""The value of a tensor at an index, by asking its producers (pull).

Enters: a tensor value of the dispatch and one index per dim, in a `LaneScope`. Leaves: a loop IR value, a scalar where
all lanes agree and a vector otherwise. Producers are evaluated at composed indices, so fusion is what happens when
nothing is stored: a binding is a load, slices, pads, reshapes and concatenations are index arithmetic.

A mask here is a condition of the program (inside the padded part, the piece of a concatenation that an index falls
into); which lanes of a tail exist is the scope's own mask. Loads respect both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..ir.affine import AffineBinary, AffineConstant, AffineDim, AffineExpr
from ..ir.core import Block, BlockArgument, Operation, Value
from ..ir.types import TensorType
from . import indexing
from .complex_values import Complex, Element, by_parts, constant, emit_complex_op, is_complex
from .dispatch import CONSTANTS, LOAD, KernelContext, kept_dims, mixed_sizes, reassociation
from .elements import constant_number, element_name, emit_element_op, unsupported
from .indexing import Index, LaneScope
from .loops import BOOL, INDEX, vector
from .loops import Value as LoopValue
from .memory import load_at, load_pair_at
from .structured import StructuredOp, is_structured, structured

Indices = tuple[Index, ...]


#: Values that are asked for by one another before the chain is cut; each takes about ten of Python's 1000 calls.
_MAX_DEPTH = 24


class _TooDeepError(Exception):
    """Names a value that has to be evaluated before the one that was asked for."""

    def __init__(self, key: tuple) -> None:
        super().__init__()
        self.key = key


class Evaluator:
    """Evaluates tensor values in one scope. `provided` holds values that a loop has at hand: a reduction's result,
    a row kept in local memory; asked for at their index, they are used instead of their producer. `starts` are what
    the tensors that a loop carries in memory start with, in whose place they lie."""

    def __init__(
        self,
        context: KernelContext,
        scope: LaneScope,
        provided: dict | None = None,
        starts: dict[Value, Value] | None = None,
    ):
        self.context = context
        self.builder = context.builder
        self.scope = scope
        self.provided: dict[Value, Callable[[Evaluator, Indices], LoopValue]] = {} if provided is None else provided
        self.starts = starts or {}
        self.observe: Callable[[Value, Indices], None] | None = None
        self.on_reduction: Callable[[StructuredOp, int, Indices], LoopValue] | None = None
        """Gives the result of a reduction that no loop has provided; on paper only."""
        self._memo: dict = {}
        self._depth = 0

    def value_at(self, value: Value, indices: Indices, mask: LoopValue | None = None) -> Element:
        """Element `indices` of a tensor value."""
        key = (value, indices, mask)
        found = self._memo.get(key)
        if found is not None:
            return found
        if self._depth:
            if self._depth > _MAX_DEPTH:
                raise _TooDeepError(key)
            return self._remembered(key)
        # Hundreds of ops may be fused into one kernel, more than Python's stack holds. What lies too deep is evaluated
        # first, and what asked for it again, which by then finds most of what it needs.
        pending = [key]
        while pending:
            try:
                self._remembered(pending[-1])
                pending.pop()
            except _TooDeepError as error:
                pending.append(error.key)
        return self._memo[key]

    def _remembered(self, key: tuple) -> Element:
        value, indices, mask = key
        self._depth += 1
        try:
            if value in self.provided:
                found = self.provided[value](self, indices)
            else:
                found = self._compute(value, indices, mask)
                if self.observe is not None and mask is None:
                    self.observe(value, indices)
        finally:
            self._depth -= 1
        self._memo[key] = found
        return found

    def _compute(self, value: Value, indices: Indices, mask: LoopValue | None) -> LoopValue:
        if isinstance(value, BlockArgument):
            if value in self.starts:
                return self.value_at(self.starts[value], indices, mask)
            raise unsupported(value.block.region.parent_op, "a tensor argument is read without a load")
        op = value.defining_op
        handler = _HANDLERS.get(op.name)
        if handler is not None:
            return handler(self, op, indices, mask)
        if is_structured(op):
            return self._structured(op, value.index, indices, mask)
        if op.name.startswith(("arith.", "math.")):
            operands = [self._element_operand(v, indices, mask) for v in op.operands]
            return emit_element_op(self.builder, op, operands, self._lane_mask(mask))
        raise unsupported(op, "it is not a tensor op that can be fused into a kernel")

    def _element_operand(self, value: Value, indices: Indices, mask: LoopValue | None) -> LoopValue:
        if isinstance(value.type, TensorType):
            return self.value_at(value, indices, mask)
        return self.context.scalar(value)

    def _lane_mask(self, mask: LoopValue | None) -> LoopValue | None:
        """The lanes that exist and where the program wants the value."""
        scope_mask = self.scope.mask
        if mask is None or scope_mask is None:
            return scope_mask if mask is None else mask
        return self.builder.and_(scope_mask, self.builder.splat(mask, scope_mask.lanes))

    # -- bindings and constants

    def _load(self, op: Operation, indices: Indices, mask: LoopValue | None) -> LoopValue:
        context, builder = self.context, self.builder
        full = self._sliced(op, indices, op.result.type.shape)
        source = op.operands[0]
        strides = context.row_major(context.shape(source))
        linear = indexing.linear(full, strides, builder)
        buffer = context.buffer(source)
        if not is_complex(op.result.type):
            return load_at(self.scope, buffer, linear, mask)
        return Complex(*load_pair_at(self.scope, buffer, indexing.scale(linear, 2, builder), mask))

    def _sliced(self, op: Operation, indices: Indices, shape: tuple[int | None, ...]) -> Indices:
        """The index in the whole of an element of a slice, which has a shape."""
        builder = self.builder
        full = [indexing.of(offset) for offset in mixed_sizes(op, "offsets", self.context)]
        steps = mixed_sizes(op, "strides", self.context)
        for index, d in zip(indices, kept_dims(op, shape), strict=True):
            full[d] = indexing.add(indexing.scale(index, steps[d], builder), full[d], builder)
        return tuple(full)

    def _constant(self, op: Operation, indices: Indices, mask: LoopValue | None) -> LoopValue:
        return constant(self.builder, constant_number(op), op.result.type)

    def _empty(self, op: Operation, indices: Indices, mask: LoopValue | None) -> LoopValue:
        """Contents that no one wrote; zero is as good as anything."""
        return constant(self.builder, 0, op.result.type)

    # -- slices and reshapes

    def place_in_whole(self, op: Operation, indices: Indices) -> Indices:
        """Where an element of the slice that a `tensor.insert_slice` puts in lies in the result."""
        return self._sliced(op, indices, op.operands[0].type.shape)

    def _extract_slice(self, op: Operation, indices: Indices, mask: LoopValue | None) -> LoopValue:
        return self.value_at(op.operands[0], self._sliced(op, indices, op.result.type.shape), mask)

    def _expand_shape(self, op: Operation, indices: Indices, mask: LoopValue | None) -> LoopValue:
        builder = self.builder
        shape = self.context.shape(op.result)
        source = []
        for group in reassociation(op):
            strides = self.context.row_major(tuple([shape[d] for d in group]))
            source.append(indexing.linear([indices[d] for d in group], strides, builder))
        return self.value_at(op.operands[0], tuple(source), mask)

    def _collapse_shape(self, op: Operation, indices: Indices, mask: LoopValue | None) -> LoopValue:
        shape = self.context.shape(op.operands[0])
        source: list[Index] = [indexing.ZERO] * len(shape)
        for index, group in zip(indices, reassociation(op), strict=True):
            for d, part in zip(group, self._delinearized(index, [shape[d] for d in group]), strict=True):
                source[d] = part
        return self.value_at(op.operands[0], tuple(source), mask)

    def _delinearized(self, index: Index, shape: list) -> list[Index]:
        """The row-major digits of an index."""
        digits: list[Index] = []
        strides = self.context.row_major(tuple(shape))
        for size, stride in zip(shape[:-1], strides[:-1], strict=True):
            if size.__class__ is int and size == 1:
                digits.append(indexing.ZERO)
                continue
            whole, index = self.scope_divide(index, stride)
            digits.append(whole)
        return [*digits, index] if shape else []

    def scope_divide(self, index: Index, divisor) -> tuple[Index, Index]:
        """Quotient and remainder; symbolic where the parts show that nothing carries over."""
        if divisor.__class__ is int:
            whole, rest = indexing.split(index, divisor)
            reach = self.scope.bounds(rest)
            if reach is not None and reach[0] >= 0 and reach[1] < divisor:
                return whole, rest
        else:
            whole, rest, reach = indexing.ZERO, index, None
        value = self.scope.value(rest)
        quotient, remainder = self.scope.divide(value, divisor, None if reach is None else reach[1] + 1)
        return indexing.add(whole, indexing.of(quotient), self.builder), indexing.of(remainder)

    def _cast(self, op: Operation, indices: Indices, mask: LoopValue | None) -> LoopValue:
        return self.value_at(op.operands[0], indices, mask)

    def _bitcast(self, op: Operation, indices: Indices, mask: LoopValue | None) -> LoopValue:
        value = self.value_at(op.operands[0], indices, mask)
        type = vector(element_name(op.result.type), value.lanes)
        if type.bits != value.type.bits:
            raise unsupported(op, "its elements change their width")
        return value if type is value.type else self.builder.op("arith.bitcast", (value,), type)

    def _splat(self, op: Operation, indices: Indices, mask: LoopValue | None) -> LoopValue:
        return self.context.scalar(op.operands[0])

    # -- pieces

    def _inside(self, index: Index, size) -> LoopValue | None:
        """0 <= index < size as one unsigned comparison; None where it always holds, a constant where it never does."""
        builder = self.builder
        reach = self.scope.bounds(index)
        if reach is not None and size.__class__ is int:
            if reach[0] >= 0 and reach[1] < size:
                return None
            if reach[1] < 0 or reach[0] >= size:
                return builder.const(0, BOOL)
            self.scope.compared(index, size)
        small = size.__class__ is int and reach is not None and reach[0] >= -(1 << 31) and reach[1] < 1 << 31
        value = self.scope.value(index, "i32" if small else "i64")
        limit = builder.index(size)
        if small:
            limit = builder.const(min(size, (1 << 31) - 1), vector("i32"))
        limit = builder.splat(limit, value.lanes)
        return builder.op("arith.cmpi", (value, limit), vector("i1", value.lanes), "ult")

    def _both(self, x: LoopValue | None, y: LoopValue | None) -> LoopValue | None:
        if _is_never(x) or _is_never(y):
            return self.builder.const(0, BOOL)
        if x is not None and y is not None:
            lanes = max(x.lanes, y.lanes)
            x, y = self.builder.splat(x, lanes), self.builder.splat(y, lanes)
        return self.builder.and_(x, y)

    def _choose(self, condition: LoopValue | None, inside: LoopValue, outside: LoopValue) -> LoopValue:
        if condition is None:
            return inside
        builder = self.builder
        lanes = max(condition.lanes, inside.lanes, outside.lanes)

        def choose(x: LoopValue, y: LoopValue) -> LoopValue:
            return builder.select(*[builder.splat(v, lanes) for v in (condition, x, y)])

        return by_parts(choose, inside, outside)

    def _pad(self, op: Operation, indices: Indices, mask: LoopValue | None) -> LoopValue:
        builder, source = self.builder, op.operands[0]
        low = mixed_sizes(op, "low", self.context)
        condition, moved = None, []
        for index, before, size in zip(indices, low, self.context.shape(source), strict=True):
            index = indexing.add(index, indexing.of(builder.sub(0, before)), builder)
            condition = self._both(condition, self._inside(index, size))
            moved.append(index)
        outside = self.context.scalar(op.regions[0].blocks[0].terminator.operands[0])
        if _is_never(condition):
            return outside
        return self._choose(condition, self.value_at(source, tuple(moved), self._both(mask, condition)), outside)

    def _concat(self, op: Operation, indices: Indices, mask: LoopValue | None) -> LoopValue:
        builder, dim = self.builder, int(op.get_attr("dim"))
        result, before = None, 0
        for part in op.operands:
            size = self.context.shape(part)[dim]
            index = indexing.add(indices[dim], indexing.of(builder.sub(0, before)), builder)
            before = builder.add(before, size)
            if size.__class__ is int and size == 0:
                continue
            condition = self._inside(index, size)
            if _is_never(condition):
                continue
            moved = (*indices[:dim], index, *indices[dim + 1 :])
            piece = self.value_at(part, moved, self._both(mask, condition))
            if condition is None:
                return piece
            result = piece if result is None else self._choose(condition, piece, result)
        return self._empty(op, indices, mask) if result is None else result

    def _insert_slice(self, op: Operation, indices: Indices, mask: LoopValue | None) -> LoopValue:
        builder, context = self.builder, self.context
        source, into = op.operands[:2]
        offsets, sizes, steps = (mixed_sizes(op, field, context) for field in ("offsets", "sizes", "strides"))
        condition, moved = None, []
        for index, offset, size, step in zip(indices, offsets, sizes, steps, strict=True):
            index = indexing.add(index, indexing.of(builder.sub(0, offset)), builder)
            if step.__class__ is not int or step != 1:
                condition = self._both(condition, self._inside(index, builder.mul(size, step)))
                index, rest = self.scope_divide(index, step)
                exact = self.scope.value(rest)
                zero = builder.const(0, exact.type)
                condition = self._both(
                    condition, builder.op("arith.cmpi", (exact, zero), vector("i1", exact.lanes), "eq")
                )
            else:
                condition = self._both(condition, self._inside(index, size))
            moved.append(index)
        if _is_never(condition):
            return self.value_at(into, indices, mask)
        kept = kept_dims(op, source.type.shape)
        inside = self.value_at(source, tuple([moved[d] for d in kept]), self._both(mask, condition))
        return inside if condition is None else self._choose(condition, inside, self.value_at(into, indices, mask))

    # -- structured ops

    def _structured(self, op: Operation, number: int, indices: Indices, mask: LoopValue | None) -> LoopValue:
        view = structured(op)
        if view.reductions:
            if self.on_reduction is not None:
                return self.on_reduction(view, number, indices)
            raise unsupported(op, "the result of a reduction is used before its loop has finished")
        loops: list[Index] = [indexing.ZERO] * view.rank
        for expression, index in zip(view.output_map(number), indices, strict=True):
            if isinstance(expression, AffineDim):
                loops[expression.position] = index
        if view.body is None:
            return self.scalar_or_element(view.inputs[0], (), mask)
        return self.body_results(view, loops, mask)[number]

    def body_results(self, view: StructuredOp, loops: list[Index], mask: LoopValue | None) -> list[LoopValue]:
        """What the body of an all-parallel op yields at one point of its domain."""
        key = (view.op, tuple(loops), mask)
        found = self._memo.get(key)
        if found is None:
            arguments = self.body_inputs(view, loops, mask)
            for k, output in enumerate(view.outputs):
                argument = view.body.arguments[len(view.inputs) + k]
                if argument.has_uses:
                    arguments[argument] = self.operand_at(output, view.output_map(k), loops, mask)
            found = self._memo[key] = self.run_body(view.body, arguments, loops, mask)
        return found

    def body_inputs(self, view: StructuredOp, loops: list[Index], mask: LoopValue | None) -> dict[Value, LoopValue]:
        """The body's input arguments at one point of the domain; those that it does not read are left out."""
        return {
            argument: self.operand_at(operand, map_, loops, mask)
            for argument, (operand, map_) in zip(view.body.arguments, view.input_maps(), strict=False)
            if argument.has_uses
        }

    def step_inputs(self, view: StructuredOp, loops: list[Index], wanted: Sequence[Value] | None) -> list[LoopValue]:
        """The values that one step of a reduction takes: `wanted` ones of the body, or all inputs."""
        if wanted is None:
            return [self.operand_at(operand, map_, loops, None) for operand, map_ in view.input_maps()]
        return self.run_body(view.body, self.body_inputs(view, loops, None), loops, None, wanted)

    def operand_at(self, operand: Value, map_, loops: list[Index], mask: LoopValue | None) -> LoopValue:
        return self.scalar_or_element(operand, tuple([self.composed(e, loops) for e in map_]), mask)

    def scalar_or_element(self, value: Value, indices: Indices, mask: LoopValue | None) -> LoopValue:
        if isinstance(value.type, TensorType):
            return self.value_at(value, indices, mask)
        return self.context.scalar(value)

    def composed(self, expression: AffineExpr, loops: list[Index]) -> Index:
        """An affine expression over the loops, as an index."""
        if isinstance(expression, AffineDim):
            return loops[expression.position]
        if isinstance(expression, AffineConstant):
            return indexing.constant(expression.value)
        if isinstance(expression, AffineBinary):
            left = self.composed(expression.lhs, loops)
            if expression.kind == "+":
                return indexing.add(left, self.composed(expression.rhs, loops), self.builder)
            if isinstance(expression.rhs, AffineConstant):
                factor = expression.rhs.value
                if expression.kind == "*":
                    return indexing.scale(left, factor, self.builder)
                if expression.kind in ("mod", "floordiv"):
                    return self.scope_divide(left, factor)[expression.kind == "mod"]
        raise ValueError(f"indexing map has {expression}, which is not supported")

    # -- bodies

    def run_body(
        self,
        body: Block,
        values: dict[Value, LoopValue],
        loops: list[Index],
        mask: LoopValue | None,
        wanted: Sequence[Value] | None = None,
    ) -> list[LoopValue]:
        """Runs a body on its arguments' values; gives what it yields, or the values that are `wanted`."""
        values = dict(values)
        positions: dict[Value, Index] = {}
        if wanted is None:
            wanted = body.terminator.operands
        for op in _needed_ops(body, wanted, values):
            name = op.name
            if name == "linalg.index":
                positions[op.result] = loops[int(op.get_attr("dim"))]
            elif name in ("arith.index_cast", "arith.index_castui") and op.operands[0] in positions:
                # Positions are made in the type in which they are wanted: narrow lanes are cheaper.
                values[op.result] = self.scope.value(positions[op.operands[0]], element_name(op.result.type))
            elif name == "tensor.extract":
                indices = [self._position(v, values, positions) for v in op.operands[1:]]
                values[op.result] = self.value_at(op.operands[0], tuple(indices), mask)
            elif name in CONSTANTS:
                values[op.result] = constant(self.builder, constant_number(op), op.result.type)
            elif name in _LINEAR and (position := self._linear(op, values, positions)) is not None:
                positions[op.result] = position
            elif name.startswith(("arith.", "math.", "complex.")):
                operands = [self._body_value(v, values, positions) for v in op.operands]
                values[op.result] = self._body_op(op, operands, mask)
            else:
                raise unsupported(op, "it cannot stand in the body of a linalg op")
        return [self._body_value(v, values, positions) for v in wanted]

    def _body_op(self, op: Operation, operands: list[Element], mask: LoopValue | None) -> Element:
        if op.name == "arith.select" and operands[1].__class__ is Complex:
            return self._choose(*operands)
        found = emit_complex_op(op, operands)
        if found is not None:
            return found
        if op.name.startswith("complex."):
            raise unsupported(op, "arithmetic on complex numbers is to be written out on their parts")
        return emit_element_op(self.builder, op, operands, self._lane_mask(mask))

    def _body_value(self, value: Value, values: dict, positions: dict) -> LoopValue:
        found = values.get(value)
        if found is None:
            if value in positions:
                found = self.scope.value(positions[value])
            else:
                found = self.context.scalar(value)
            values[value] = found
        return found

    def _linear(self, op: Operation, values: dict, positions: dict) -> Index | None:
        """A sum or multiple of positions as one, so that reading there is no gather; None for other arithmetic."""
        if not op.result.type.is_index:
            return None
        if not any(v in positions for v in op.operands):
            return None
        known = [positions.get(v) or _constant_index(self._body_value(v, values, positions)) for v in op.operands]
        if None in known:
            return None
        x, y = known
        if op.name == "arith.addi":
            return indexing.add(x, y, self.builder)
        if op.name == "arith.subi":
            return indexing.add(x, indexing.scale(y, -1, self.builder), self.builder)
        if x.is_constant:
            x, y = y, x
        return indexing.scale(x, y.constant, self.builder) if y.is_constant else None

    def _position(self, value: Value, values: dict, positions: dict) -> Index:
        """An index operand of tensor.extract."""
        if value in positions:
            return positions[value]
        scalar = self._body_value(value, values, positions)
        return indexing.of(scalar) if scalar.type.elem == INDEX.elem else indexing.as_index(scalar, self.scope)


def _is_never(condition: LoopValue | None) -> bool:
    return condition is not None and condition.const == 0


_LINEAR = frozenset({"arith.addi", "arith.subi", "arith.muli"})


def _constant_index(value: Element) -> Index | None:
    return None if value.__class__ is Complex or value.const is None else indexing.of(value)


def _needed_ops(body: Block, wanted: Sequence[Value], known: dict) -> list[Operation]:
    """The ops that the wanted values come from, in order; values that are known need none."""
    needed = set(wanted)
    ops = []
    for op in body.reversed_ops:
        if any(result in needed and result not in known for result in op.results):
            needed.update(op.operands)
            ops.append(op)
    ops.reverse()
    return ops


_HANDLERS = {
    LOAD: Evaluator._load,
    "arith.constant": Evaluator._constant,
    "tensor.empty": Evaluator._empty,
    "tensor.extract_slice": Evaluator._extract_slice,
    "tensor.expand_shape": Evaluator._expand_shape,
    "tensor.collapse_shape": Evaluator._collapse_shape,
    "tensor.cast": Evaluator._cast,
    "tensor.bitcast": Evaluator._bitcast,
    "tensor.splat": Evaluator._splat,
    "tensor.pad": Evaluator._pad,
    "tensor.concat": Evaluator._concat,
    "tensor.insert_slice": Evaluator._insert_slice,
}
