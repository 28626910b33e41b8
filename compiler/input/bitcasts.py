"""`bitcast_convert` between elements of different widths: the wide one is the narrow ones, low bits first."""

from __future__ import annotations

from typing import Any

from pyiree.compiler.input.converter import SHAPE_RULES, Converter, converts
from pyiree.compiler.input.elements import COMPLEX, signless
from pyiree.compiler.input.emitter import PARALLEL, identity_map
from pyiree.compiler.input.values import Lazy, Tensor
from pyiree.compiler.ir.core import Value
from pyiree.compiler.ir.types import bit_width, f32, f64, i32, i64, index


def _bitcast_shape(c: Converter, op: Any, operands: list[Lazy]) -> list[Any]:
    """Narrow elements have a dim of their own, the last one, if it isn't the width that stays the same."""
    (operand,) = operands
    rank, shape = len(c.shaped(op.results[0]).shape), list(operand.shaped.shape)
    if rank <= len(shape):
        return shape[:rank]
    return [*shape, bit_width(operand.shaped.element.type) // bit_width(c.shaped(op.results[0]).element.type)]


SHAPE_RULES["stablehlo.bitcast_convert"] = _bitcast_shape


@converts("stablehlo.bitcast_convert")
def _bitcast_convert(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    (operand,) = operands
    source, result = operand.shaped.element, c.result_shaped(op)
    if source is result.element:
        return [operand]
    if 0 in result.shape:
        return [Tensor(result, c.emitter.empty(result.type, result.sizes))]
    if source.kind == COMPLEX:
        narrows = len(result.shape) > len(operand.shaped.shape)
        return [_split_complex(c, operand, result) if narrows else _join_complex(c, operand, result)]
    if source.type.width == result.element.type.width:
        return [c.elementwise(op, operands)]
    narrows = source.type.width > result.element.type.width
    return [_split(c, operand, result) if narrows else _join(c, operand, result)]


def _as_bits(c: Converter, value: Value) -> Value:
    type: Any = value.type
    return c.emitter.cast("arith.bitcast", value, signless(type.width)) if type.is_float else value


def _from_bits(c: Converter, bits: Value, type: Any) -> Value:
    return c.emitter.cast("arith.bitcast", bits, type) if type.is_float else bits


def _split(c: Converter, operand: Lazy, result: Any) -> Lazy:
    """Each element becomes a row of narrower ones."""
    emitter = c.emitter
    rank = len(result.shape)
    narrow = result.element.type
    inputs, read = c.read_operands([operand], rank, range(rank - 1))

    def compute(arguments: list[Value]) -> list[Value]:
        bits = _as_bits(c, read(arguments)[0])
        number = emitter.cast("arith.index_cast", emitter.linalg_index(rank - 1), bits.type)
        amount = emitter.binary("arith.muli", number, emitter.integer(narrow.width, bits.type))
        part = emitter.cast("arith.trunci", emitter.binary("arith.shrui", bits, amount), signless(narrow.width))
        return [_from_bits(c, part, narrow)]

    outputs = [(emitter.empty(result.type, result.sizes), identity_map(rank))]
    return Tensor(result, emitter.generic(inputs, outputs, (PARALLEL,) * rank, compute).results[0])


def _join(c: Converter, operand: Lazy, result: Any) -> Lazy:
    """Each row of narrow elements becomes one."""
    emitter = c.emitter
    rank = len(result.shape)
    wide = signless(result.element.type.width)
    narrow = operand.shaped.element.type
    source = c.tensor(operand)

    def compute(arguments: list[Value]) -> list[Value]:
        total: Value | None = None
        for part in range(wide.width // narrow.width):
            place = [*[emitter.linalg_index(d) for d in range(rank)], emitter.integer(part, index)]
            element = emitter.emit("tensor.extract", (source, *place), (narrow,)).results[0]
            bits = emitter.cast("arith.extui", _as_bits(c, element), wide)
            if part:
                bits = emitter.binary("arith.shli", bits, emitter.integer(part * narrow.width, wide))
            total = bits if total is None else emitter.binary("arith.ori", total, bits)
        assert total is not None
        return [_from_bits(c, total, result.element.type)]

    outputs = [(emitter.empty(result.type, result.sizes), identity_map(rank))]
    return Tensor(result, emitter.generic([], outputs, (PARALLEL,) * rank, compute).results[0])


def _split_complex(c: Converter, operand: Lazy, result: Any) -> Lazy:
    """Each of the two f64 becomes a complex number of two f32."""
    emitter = c.emitter
    rank = len(result.shape)
    inputs, read = c.read_operands([operand], rank, range(rank - 1))

    def compute(arguments: list[Value]) -> list[Value]:
        (number,) = read(arguments)
        parts = [emitter.cast(f"complex.{name}", number, f64) for name in ("re", "im")]
        is_first = emitter.cmpi("eq", emitter.linalg_index(rank - 1), emitter.integer(0, index))
        bits = emitter.cast("arith.bitcast", emitter.select(is_first, *parts), i64)
        words = [bits, emitter.binary("arith.shrui", bits, emitter.integer(32, i64))]
        floats = [emitter.cast("arith.bitcast", emitter.cast("arith.trunci", word, i32), f32) for word in words]
        return [emitter.emit("complex.create", floats, (result.element.type,)).results[0]]

    outputs = [(emitter.empty(result.type, result.sizes), identity_map(rank))]
    return Tensor(result, emitter.generic(inputs, outputs, (PARALLEL,) * rank, compute).results[0])


def _join_complex(c: Converter, operand: Lazy, result: Any) -> Lazy:
    """Two complex numbers of f32 become one of f64, each one part."""
    emitter = c.emitter
    rank = len(result.shape)
    source, narrow = c.tensor(operand), operand.shaped.element.type

    def part(number: int) -> Value:
        place = [*[emitter.linalg_index(d) for d in range(rank)], emitter.integer(number, index)]
        element = emitter.emit("tensor.extract", (source, *place), (narrow,)).results[0]
        floats = [emitter.cast(f"complex.{name}", element, f32) for name in ("re", "im")]
        low, high = (emitter.cast("arith.extui", emitter.cast("arith.bitcast", x, i32), i64) for x in floats)
        bits = emitter.binary("arith.ori", emitter.binary("arith.shli", high, emitter.integer(32, i64)), low)
        return emitter.cast("arith.bitcast", bits, f64)

    def compute(arguments: list[Value]) -> list[Value]:
        return [emitter.emit("complex.create", (part(0), part(1)), (result.element.type,)).results[0]]

    outputs = [(emitter.empty(result.type, result.sizes), identity_map(rank))]
    return Tensor(result, emitter.generic([], outputs, (PARALLEL,) * rank, compute).results[0])
