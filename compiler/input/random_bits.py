"""`stablehlo.rng_bit_generator` and `stablehlo.rng`: the counters of ThreeFry and Philox, as XLA arranges them.

Enters: a state of 64-bit words: the key, then the counter (with Philox two words of it, or one, beside which the key
serves as the other). Leaves: the state with its counter moved on, and random bits. A block of bits is a function of the
key and of a counter; it has two words (ThreeFry) or four (Philox), and elements take them in a fixed order, so
that the bits are the same on every machine. Shapes may hold sizes that are known when the program runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pyiree.compiler.input.calls import CUSTOM_CALLS
from pyiree.compiler.input.converter import SHAPE_RULES, Converter, converts
from pyiree.compiler.input.elements import FLOAT, Element, element
from pyiree.compiler.input.emitter import Emitter
from pyiree.compiler.input.import_mlir import Shaped
from pyiree.compiler.input.jaxlib_mlir import dialect_attribute
from pyiree.compiler.input.scalars import MANTISSA_BITS, convert
from pyiree.compiler.input.shapes import broadcast, collapse, concatenate, extract_slice, reshape, reshaped
from pyiree.compiler.input.sizes import Size, divided, index_of, is_static, product, size_of
from pyiree.compiler.input.values import Iota, Lazy, Tensor, Uniform
from pyiree.compiler.ir.attributes import IntegerAttr
from pyiree.compiler.ir.core import Value
from pyiree.compiler.ir.types import i32, i64, index
from pyiree.runtime.vmfb.lazy_dataclass import dataclass

Shape = Sequence[int | Size]

_WORD, _LONG = element("ui32"), element("ui64")

_THREEFRY_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_THREEFRY_PARITY = 0x1BD11BDA
_PHILOX_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_PHILOX_WEYL = (0x9E3779B9, 0xBB67AE85)
_PHILOX_ROUNDS = 10


def _low(s: Emitter, x: Value) -> Value:
    return s.cast("arith.trunci", x, i32)


def _high(s: Emitter, x: Value) -> Value:
    return _low(s, s.binary("arith.shrui", x, s.integer(32, i64)))


def _long(s: Emitter, low: Value, high: Value) -> Value:
    """The number of two words."""
    shifted = s.binary("arith.shli", s.cast("arith.extui", high, i64), s.integer(32, i64))
    return s.binary("arith.ori", shifted, s.cast("arith.extui", low, i64))


def _rotate_left(s: Emitter, x: Value, count: int) -> Value:
    left = s.binary("arith.shli", x, s.integer(count, i32))
    return s.binary("arith.ori", left, s.binary("arith.shrui", x, s.integer(32 - count, i32)))


def threefry(s: Emitter, key: Sequence[Value], block: Sequence[Value]) -> list[Value]:
    """ThreeFry-2x32 with 20 rounds."""
    parity = s.binary("arith.xori", s.binary("arith.xori", key[0], key[1]), s.integer(_THREEFRY_PARITY, i32))
    keys = [key[0], key[1], parity]
    x, y = (s.binary("arith.addi", word, k) for word, k in zip(block, keys))
    for group in range(5):
        for count in _THREEFRY_ROTATIONS[group % 2]:
            x = s.binary("arith.addi", x, y)
            y = s.binary("arith.xori", _rotate_left(s, y, count), x)
        x = s.binary("arith.addi", x, keys[(group + 1) % 3])
        y = s.binary("arith.addi", y, keys[(group + 2) % 3])
        y = s.binary("arith.addi", y, s.integer(group + 1, i32))
    return [x, y]


def philox(s: Emitter, key: Sequence[Value], block: Sequence[Value]) -> list[Value]:
    """Philox-4x32 with 10 rounds."""
    words, keys = list(block), list(key)
    for _ in range(_PHILOX_ROUNDS):
        products = [
            s.binary("arith.muli", s.cast("arith.extui", word, i64), s.integer(factor, i64))
            for word, factor in zip((words[0], words[2]), _PHILOX_MULTIPLIERS)
        ]
        mixed = [
            s.binary("arith.xori", s.binary("arith.xori", _high(s, product), word), k)
            for product, word, k in zip(reversed(products), (words[1], words[3]), keys)
        ]
        words = [mixed[0], _low(s, products[1]), mixed[1], _low(s, products[0])]
        keys = [s.binary("arith.addi", k, s.integer(step, i32)) for k, step in zip(keys, _PHILOX_WEYL)]
    return words


@dataclass
class _State:
    """The words of a generator's state as tensors of rank 0."""

    words: list[Lazy]
    is_philox: bool

    @property
    def key(self) -> Lazy:
        return self.words[0]

    @property
    def counter(self) -> list[Lazy]:
        """The low word and, where it has one, the high word."""
        return [self.words[1], self.words[2] if len(self.words) > 2 else self.words[0]]


def _element_of(c: Converter, tensor: Lazy, number: int) -> Lazy:
    value = extract_slice(c, c.tensor(tensor), [number], [1], [1])
    return Tensor(Shaped.of((), tensor.shaped.element), reshape(c, value, ()))


def _blocks(c: Converter, state: _State, count: int | Size) -> list[Lazy]:
    """The words of `count` blocks in a row, as tensors of one dimension."""
    words = 4 if state.is_philox else 2
    results = [Shaped.of((count,), _WORD)] * words

    def compute(scalars: list[Value]) -> list[Value]:
        s = c.emitter
        key, low, high, number = scalars
        keys = (_low(s, key), _high(s, key))
        moved, above = _moved(s, low, high, number)
        if not state.is_philox:
            return threefry(s, keys, (_low(s, moved), _high(s, moved)))
        return philox(s, keys, (_low(s, moved), _high(s, moved), _low(s, above), _high(s, above)))

    operands = [state.key, *state.counter, Iota(Shaped.of((count,), _LONG), 0)]
    return list(c.map_many(results, operands, compute))


def _moved(s: Emitter, low: Value, high: Value, by: Value) -> tuple[Value, Value]:
    """A counter of two words, moved on."""
    moved = s.binary("arith.addi", low, by)
    carry = s.cast("arith.extui", s.cmpi("ult", moved, low), i64)
    return moved, s.binary("arith.addi", high, carry)


def _next_state(c: Converter, given: Lazy, state: _State, blocks: int | Size) -> Lazy:
    """The state whose counter stands after so many blocks. Where the key is the counter's upper word it stays."""
    length = given.shaped.shape[0]

    def compute(scalars: list[Value]) -> list[Value]:
        s = c.emitter
        old, number, low = scalars
        by = s.cast("arith.index_cast", index_of(s, blocks), i64)
        moved, _ = _moved(s, low, low, by)
        carry = s.cast("arith.extui", s.cmpi("ult", moved, low), i64)
        is_low = s.cmpi("eq", number, s.integer(1, i64))
        above = s.cmpi("eq", number, s.integer(2, i64))
        step = s.select(is_low, by, s.select(above, carry, s.integer(0, i64)))
        return [s.binary("arith.addi", old, step)]

    numbers = Iota(Shaped.of((length,), _LONG), 0)
    return c.map(given.shaped, [given, numbers, state.counter[0]], compute)


def _interleaved(c: Converter, parts: Sequence[Lazy], length: int | Size) -> Lazy:
    """The elements of parts in turns along the middle one of their three dimensions, which is then of a length."""
    kind = parts[0].shaped.element
    before, each, behind = parts[0].shaped.shape
    column = Shaped.of((before, each, 1, behind), kind)
    columns = [c.tensor(reshaped(c, part, column)) for part in parts]
    joined = concatenate(c, columns, 2, Shaped.of((before, each, len(parts), behind), kind).type)
    value = collapse(c, joined, (before, each * len(parts), behind), [[0], [1, 2], [3]])
    whole = Shaped.of((before, length, behind), kind)
    if each * len(parts) != length:
        value = extract_slice(c, value, [0, 0, 0], whole.shape, [1, 1, 1])
    return Tensor(whole, value)


def _longs(c: Converter, low: Lazy, high: Lazy) -> Lazy:
    return c.map(Shaped.of(low.shaped.shape, _LONG), [low, high], lambda words: [_long(c.emitter, *words)])


def _threefry_bits(c: Converter, state: _State, shape: Shape, width: int) -> tuple[Lazy, int | Size]:
    """Random words of a shape, and how many blocks they took."""
    if width == 64:
        blocks = product(shape)
        low, high = _blocks(c, state, blocks)
        return reshaped(c, _longs(c, low, high), Shaped.of(shape, _LONG)), blocks
    before, length, behind = _shared(c, shape)
    half = Shaped.of((before, divided(c.emitter, length + 1, 2), behind), _WORD)
    blocks = product(half.shape)
    words = [reshaped(c, word, half) for word in _blocks(c, state, blocks)]
    return reshaped(c, _interleaved(c, words, length), Shaped.of(shape, _WORD)), blocks


def _shared(c: Converter, shape: Shape) -> Shape:
    """The dimension along which two neighbours share a block, the first even one, or else the longest: the elements
    in front of it, its length, and the elements behind it."""
    every = [(product(shape[:d]), n, product(shape[d + 1 :])) for d, n in enumerate(shape)] or [(1, 1, 1)]
    if is_static(shape):
        return next((found for found in every if found[1] % 2 == 0), max(every, key=lambda found: found[1]))
    emitter = c.emitter

    def chosen(condition: Value, *choices: Shape) -> Shape:
        pairs = [[index_of(emitter, n) for n in pair] for pair in zip(*choices)]
        return [size_of(emitter, emitter.select(condition, *pair)) for pair in pairs]

    found: Shape = every[0]
    for other in every[1:]:
        found = chosen(emitter.cmpi("sgt", index_of(emitter, other[1]), index_of(emitter, found[1])), other, found)
    for other in reversed(every):
        rest = emitter.binary("arith.remui", index_of(emitter, other[1]), emitter.integer(2, index))
        found = chosen(emitter.is_zero(rest), other, found)
    return found


def _philox_bits(c: Converter, state: _State, shape: Shape, width: int) -> tuple[Lazy, int | Size]:
    """As `_threefry_bits`; elements take the words one after the other."""
    count = product(shape)
    blocks = divided(c.emitter, count * (2 if width == 64 else 1) + 3, 4)
    words = _blocks(c, state, blocks)
    if width == 64:
        words = [_longs(c, words[0], words[1]), _longs(c, words[2], words[3])]
    kind = words[0].shaped.element
    bits = _interleaved(c, [reshaped(c, word, Shaped.of((1, blocks, 1), kind)) for word in words], count)
    return reshaped(c, bits, Shaped.of(shape, kind)), blocks


def _random_bits(c: Converter, state: _State, shape: Shape, kind: Element) -> tuple[Lazy, int | Size]:
    if 0 in shape:
        return Uniform(Shaped.of(shape, kind), IntegerAttr(0, kind.type)), 0
    width = kind.type.width  # type: ignore[attr-defined]
    bits, blocks = (_philox_bits if state.is_philox else _threefry_bits)(c, state, shape, width)
    source = bits.shaped.element
    if source.type is kind.type:
        return Tensor(Shaped.of(shape, kind), c.tensor(bits)), blocks
    return c.map(Shaped.of(shape, kind), [bits], lambda x: [convert(c.emitter, x[0], source, kind)]), blocks


@converts("stablehlo.rng_bit_generator")
def _rng_bit_generator(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    return _generated(c, op, operands[0], c.shaped(op.results[1]))


def _dynamic_rng_bit_generator(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    """What jax.export makes of `rng_bit_generator`: behind the state is the shape of the bits."""
    return _generated(c, op, operands[0], Shaped.of(c.sizes_in(operands[1]), c.shaped(op.results[1]).element))


CUSTOM_CALLS["stablehlo.dynamic_rng_bit_generator"] = _dynamic_rng_bit_generator


def _generated(c: Converter, op: Any, given: Lazy, result: Shaped) -> list[Lazy]:
    """The next state, and the bits."""
    algorithm = dialect_attribute(op, "rng_algorithm", "RngAlgorithmAttr").value
    length = given.shaped.shape[0]
    if given.shaped.element is not _LONG or length not in ((2,) if algorithm == "THREE_FRY" else (2, 3)):
        raise c.emitter.unsupported(op, f"with a state of type {given.shaped.type}")
    if not result.element.is_integer or result.element.type.width not in (8, 16, 32, 64):  # type: ignore[attr-defined]
        raise c.emitter.unsupported(op, f"of {result.element.spelling}")
    state = _State([_element_of(c, given, number) for number in range(length)], algorithm != "THREE_FRY")
    bits, blocks = _random_bits(c, state, result.shape, result.element)
    return [_next_state(c, given, state, blocks), bits]


SHAPE_RULES["stablehlo.rng"] = lambda c, op, operands: c.sizes_in(operands[2])


@converts("stablehlo.rng")
def _rng(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    """Numbers between bounds, or normal ones. The op has no state, so that each has a key of its own and gives the same
    numbers in every call of the program."""
    result = c.result_shaped(op)
    kind = result.element
    is_normal = dialect_attribute(op, "rng_distribution", "RngDistributionAttr").value == "NORMAL"
    if not (kind.kind == FLOAT and kind.spelling in MANTISSA_BITS) and (is_normal or not kind.is_integer):
        raise c.emitter.unsupported(op, f"of {kind.spelling}")
    if 0 in result.shape:
        return [Uniform(result, scalar=c.emitter.zero(kind.type))]
    c.generators += 1
    words: list[Lazy] = [Uniform(Shaped.of((), _LONG), IntegerAttr(n, i64)) for n in (c.generators, 0)]
    bits, _ = _random_bits(c, _State(words, True), result.shape, _LONG)
    parameters = [broadcast(c, operand, result, []) for operand in operands[:2]]
    number = _normal if is_normal else _float_between if kind.kind == FLOAT else _integer_between
    return [c.map(result, [bits, *parameters], lambda scalars: [number(c, kind, *scalars)])]


def _fraction(s: Emitter, kind: Element, bits: Value, offset: float) -> Value:
    """A float from 0 up to, not including, 1, of as many bits as its kind has; in steps, the first at `offset`."""
    width = MANTISSA_BITS[kind.spelling]
    top = s.binary("arith.shrui", bits, s.integer(64 - width, i64))
    steps = s.cast("arith.sitofp", top, kind.type)
    if offset:
        steps = s.binary("arith.addf", steps, s.float(offset, kind.type))
    return s.binary("arith.mulf", steps, s.float(2.0**-width, kind.type))


def _float_between(c: Converter, kind: Element, bits: Value, low: Value, high: Value) -> Value:
    s = c.emitter
    width = s.binary("arith.subf", high, low)
    return s.binary("arith.addf", low, s.binary("arith.mulf", _fraction(s, kind, bits, 0.0), width))


def _integer_between(c: Converter, kind: Element, bits: Value, low: Value, high: Value) -> Value:
    s = c.emitter
    start, end = (convert(s, bound, kind, _LONG) for bound in (low, high))
    span = s.binary("arith.subi", end, start)
    span = s.select(s.is_zero(span), s.integer(1, i64), span)
    return convert(s, s.binary("arith.addi", start, s.binary("arith.remui", bits, span)), _LONG, kind)


def _normal(c: Converter, kind: Element, bits: Value, mean: Value, deviation: Value) -> Value:
    """By the inverse of the distribution, in the middle of a step so that it is finite."""
    s = c.emitter
    two = s.float(2.0, kind.type)
    doubled = s.binary("arith.mulf", two, _fraction(s, kind, bits, 0.5))
    centered = s.binary("arith.subf", doubled, s.float(1.0, kind.type))
    quantile = c.expand("chlo.erf_inv", [centered], [kind], kind)
    scaled = s.binary("arith.mulf", quantile, s.float(math.sqrt(2.0), kind.type))
    return s.binary("arith.addf", mean, s.binary("arith.mulf", scaled, deviation))
