"""`bitcast_convert` between elements of different widths: the wide one is the narrow ones, low bits first."""

from __future__ import annotations

from typing import Any

from pyiree.compiler.input.converter import Converter, converts
from pyiree.compiler.input.elements import BOOLEAN, COMPLEX, signless
from pyiree.compiler.input.emitter import PARALLEL, identity_map
from pyiree.compiler.input.values import Lazy, Tensor
from pyiree.compiler.ir.core import Value
from pyiree.compiler.ir.types import index


@converts("stablehlo.bitcast_convert")
def _bitcast_convert(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    (operand,) = operands
    source, result = operand.shaped.element, c.result_shaped(op)
    if COMPLEX in (source.kind, result.element.kind):
        raise c.emitter.unsupported(op, "of complex numbers")
    if source.type.width == result.element.type.width:
        return [c.elementwise(op, operands)]
    if BOOLEAN in (source.kind, result.element.kind):
        raise c.emitter.unsupported(op, "of i1")
    if 0 in result.shape:
        return [Tensor(result, c.emitter.empty(result.type))]
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

    outputs = [(emitter.empty(result.type), identity_map(rank))]
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

    outputs = [(emitter.empty(result.type), identity_map(rank))]
    return Tensor(result, emitter.generic([], outputs, (PARALLEL,) * rank, compute).results[0])
