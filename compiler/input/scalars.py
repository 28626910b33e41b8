"""Element-wise StableHLO and CHLO ops as scalar arith and math ops.

Enters: the scalar operands of one element, their StableHLO element types (signedness included) and the op.
Leaves: the scalar result, with StableHLO's semantics spelled out: `x / 0 = -1` and `x % 0 = x` for integers,
shifts past the width give 0 or the sign, float to integer conversion saturates and takes NaN to 0. Nothing here
reorders or contracts floating point arithmetic. The same table serves the bodies of element-wise ops, of
reductions and of comparators.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyiree.compiler.input.elements import BOOLEAN, COMPLEX, FLOAT, SIGNED, UNSIGNED, Element, signless
from pyiree.compiler.input.jaxlib_mlir import dialect_attribute
from pyiree.compiler.ir.types import f32

if TYPE_CHECKING:
    from pyiree.compiler.input.emitter import Emitter
    from pyiree.compiler.ir.core import Value

#: A lowering: emitter, scalar operands, their elements, the result's element, the jaxlib op.
ScalarLowering = Callable[["Emitter", list, list, Element, Any], "Value"]

SCALAR_LOWERINGS: dict[str, ScalarLowering] = {}


def _lowers(*names: str) -> Callable[[ScalarLowering], ScalarLowering]:
    def register(function: ScalarLowering) -> ScalarLowering:
        for name in names:
            SCALAR_LOWERINGS[name] = function
        return function

    return register


def _unary_float(name: str) -> ScalarLowering:
    return lambda s, args, elements, result, op: s.unary(name, args[0])


# Float functions with a twin of the same meaning.
for _source, _target in {
    "stablehlo.cbrt": "math.cbrt",
    "stablehlo.ceil": "math.ceil",
    "stablehlo.cosine": "math.cos",
    "stablehlo.exponential": "math.exp",
    "stablehlo.exponential_minus_one": "math.expm1",
    "stablehlo.floor": "math.floor",
    "stablehlo.log": "math.log",
    "stablehlo.log_plus_one": "math.log1p",
    "stablehlo.round_nearest_afz": "math.round",
    "stablehlo.round_nearest_even": "math.roundeven",
    "stablehlo.rsqrt": "math.rsqrt",
    "stablehlo.sine": "math.sin",
    "stablehlo.sqrt": "math.sqrt",
    "stablehlo.tan": "math.tan",
    "stablehlo.tanh": "math.tanh",
    "chlo.acos": "math.acos",
    "chlo.acosh": "math.acosh",
    "chlo.asin": "math.asin",
    "chlo.asinh": "math.asinh",
    "chlo.atan": "math.atan",
    "chlo.atanh": "math.atanh",
    "chlo.cosh": "math.cosh",
    "chlo.erf": "math.erf",
    "chlo.erfc": "math.erfc",
    "chlo.sinh": "math.sinh",
    "chlo.tan": "math.tan",
}.items():
    SCALAR_LOWERINGS[_source] = _unary_float(_target)

# Ops chosen by the kind of the element: (float, signed, unsigned, bool).
_BY_KIND = {
    "stablehlo.add": ("arith.addf", "arith.addi", "arith.addi", "arith.ori"),
    "stablehlo.subtract": ("arith.subf", "arith.subi", "arith.subi", None),
    "stablehlo.multiply": ("arith.mulf", "arith.muli", "arith.muli", "arith.andi"),
    "stablehlo.maximum": ("arith.maximumf", "arith.maxsi", "arith.maxui", "arith.ori"),
    "stablehlo.minimum": ("arith.minimumf", "arith.minsi", "arith.minui", "arith.andi"),
    "stablehlo.and": (None, "arith.andi", "arith.andi", "arith.andi"),
    "stablehlo.or": (None, "arith.ori", "arith.ori", "arith.ori"),
    "stablehlo.xor": (None, "arith.xori", "arith.xori", "arith.xori"),
}
_KIND_INDEX = {FLOAT: 0, SIGNED: 1, UNSIGNED: 2, BOOLEAN: 3}


def _binary_by_kind(names: tuple[str | None, ...]) -> ScalarLowering:
    def lower(s: Emitter, args: list, elements: list, result: Element, op: Any) -> Value:
        name = names[_KIND_INDEX[elements[0].kind]]
        if name is None:
            raise s.unsupported(op, f"on {elements[0].spelling}")
        return s.binary(name, args[0], args[1])

    return lower


for _source, _names in _BY_KIND.items():
    SCALAR_LOWERINGS[_source] = _binary_by_kind(_names)


@_lowers("stablehlo.atan2")
def _atan2(s: Emitter, args: list, elements: list, result: Element, op: Any) -> Value:
    return s.binary("math.atan2", args[0], args[1])


@_lowers("stablehlo.abs")
def _abs(s: Emitter, args: list, elements: list, result: Element, op: Any) -> Value:
    (x,) = args
    if elements[0].kind == FLOAT:
        return s.unary("math.absf", x)
    if elements[0].kind == UNSIGNED:
        return x
    zero = s.integer(0, x.type)
    return s.select(s.cmpi("sge", x, zero), x, s.binary("arith.subi", zero, x))


@_lowers("stablehlo.negate")
def _negate(s: Emitter, args: list, elements: list, result: Element, op: Any) -> Value:
    (x,) = args
    if elements[0].kind == FLOAT:
        return s.unary("arith.negf", x)
    return s.binary("arith.subi", s.integer(0, x.type), x)


@_lowers("stablehlo.not")
def _not(s: Emitter, args: list, elements: list, result: Element, op: Any) -> Value:
    (x,) = args
    return s.binary("arith.xori", x, s.integer(-1, x.type))


@_lowers("stablehlo.sign")
def _sign(s: Emitter, args: list, elements: list, result: Element, op: Any) -> Value:
    (x,) = args
    if elements[0].kind == FLOAT:
        # NaN and the two zeros are their own sign; a format without zero has to be compared in another.
        wide = _with_infinities(s, x)
        signed_one = s.binary("math.copysign", s.float(1.0, x.type), x)
        return s.select(s.cmpf("one", wide, s.zero(wide.type)), signed_one, x)
    zero, one = s.zero(x.type), s.integer(1, x.type)
    if elements[0].kind == UNSIGNED:
        return s.select(s.cmpi("eq", x, zero), zero, one)
    below = s.select(s.cmpi("slt", x, zero), s.integer(-1, x.type), one)
    return s.select(s.cmpi("eq", x, zero), zero, below)


@_lowers("stablehlo.logistic")
def _logistic(s: Emitter, args: list, elements: list, result: Element, op: Any) -> Value:
    """1 / (1 + exp(-x)), written so that exp never overflows: far below zero the result is exp(x) itself. Rounded once:
    the steps between are of f32 at least."""
    (x,) = args
    if x.type.width < 32:
        x = s.cast("arith.extf", x, f32)
    one = s.float(1.0, x.type)
    decay = s.unary("math.exp", s.unary("arith.negf", s.unary("math.absf", x)))
    above = s.select(s.cmpf("oge", x, s.zero(x.type)), one, decay)
    y = s.binary("arith.divf", above, s.binary("arith.addf", one, decay))
    return y if y.type is args[0].type else s.cast("arith.truncf", y, args[0].type)


@_lowers("chlo.square")
def _square(s: Emitter, args: list, elements: list, result: Element, op: Any) -> Value:
    return s.binary("arith.mulf" if elements[0].kind == FLOAT else "arith.muli", args[0], args[0])


def _with_infinities(s: Emitter, x: Value) -> Value:
    """A float in a type that has infinities, and zeros: some of eight bits and less have none."""
    return s.cast("arith.extf", x, f32) if x.type.width < 16 else x


@_lowers("stablehlo.is_finite")
def _is_finite(s: Emitter, args: list, elements: list, result: Element, op: Any) -> Value:
    x = _with_infinities(s, args[0])
    return s.cmpf("one", s.unary("math.absf", x), s.float(float("inf"), x.type))


@_lowers("chlo.is_inf")
def _is_inf(s: Emitter, args: list, elements: list, result: Element, op: Any) -> Value:
    x = _with_infinities(s, args[0])
    return s.cmpf("oeq", s.unary("math.absf", x), s.float(float("inf"), x.type))


@_lowers("chlo.is_pos_inf")
def _is_pos_inf(s: Emitter, args: list, elements: list, result: Element, op: Any) -> Value:
    x = _with_infinities(s, args[0])
    return s.cmpf("oeq", x, s.float(float("inf"), x.type))


@_lowers("chlo.is_neg_inf")
def _is_neg_inf(s: Emitter, args: list, elements: list, result: Element, op: Any) -> Value:
    x = _with_infinities(s, args[0])
    return s.cmpf("oeq", x, s.float(float("-inf"), x.type))


@_lowers("stablehlo.divide")
def _divide(s: Emitter, args: list, elements: list, result: Element, op: Any) -> Value:
    x, y = args
    if elements[0].kind == FLOAT:
        return s.binary("arith.divf", x, y)
    if elements[0].kind == BOOLEAN:
        raise s.unsupported(op, "on i1")
    minus_one, one = s.integer(-1, x.type), s.integer(1, x.type)
    by_zero = s.cmpi("eq", y, s.integer(0, y.type))
    if elements[0].kind == UNSIGNED:
        quotient = s.binary("arith.divui", x, s.select(by_zero, one, y))
        return s.select(by_zero, minus_one, quotient)
    # Both guarded cases divide by one instead; INT_MIN / -1 wraps to INT_MIN, which is the dividend itself.
    overflows = _overflows(s, x, y)
    quotient = s.binary("arith.divsi", x, s.select(s.binary("arith.ori", by_zero, overflows), one, y))
    return s.select(by_zero, minus_one, quotient)


@_lowers("stablehlo.remainder")
def _remainder(s: Emitter, args: list, elements: list, result: Element, op: Any) -> Value:
    x, y = args
    if elements[0].kind == FLOAT:
        return s.binary("arith.remf", x, y)
    if elements[0].kind == BOOLEAN:
        raise s.unsupported(op, "on i1")
    one = s.integer(1, x.type)
    by_zero = s.cmpi("eq", y, s.integer(0, y.type))
    if elements[0].kind == UNSIGNED:
        remainder = s.binary("arith.remui", x, s.select(by_zero, one, y))
    else:
        # INT_MIN % -1 is 0, as is the remainder by one that stands in for it.
        unsafe = s.binary("arith.ori", by_zero, _overflows(s, x, y))
        remainder = s.binary("arith.remsi", x, s.select(unsafe, one, y))
    return s.select(by_zero, x, remainder)


def _overflows(s: Emitter, x: Value, y: Value) -> Value:
    """Whether a signed division is INT_MIN / -1."""
    smallest = s.cmpi("eq", x, s.integer(-(1 << (x.type.width - 1)), x.type))
    return s.binary("arith.andi", smallest, s.cmpi("eq", y, s.integer(-1, y.type)))


@_lowers("stablehlo.shift_left", "stablehlo.shift_right_logical", "stablehlo.shift_right_arithmetic")
def _shift(s: Emitter, args: list, elements: list, result: Element, op: Any) -> Value:
    x, amount = args
    width = x.type.width
    within = s.cmpi("ult", amount, s.integer(width, amount.type)) if width > 1 else s.is_zero(amount)
    if op.name == "stablehlo.shift_right_arithmetic":
        # Past the width only the sign is left, which is what a shift by width - 1 leaves too.
        return s.binary("arith.shrsi", x, s.select(within, amount, s.integer(width - 1, amount.type)))
    name = "arith.shli" if op.name == "stablehlo.shift_left" else "arith.shrui"
    # The amount is made harmless as well: a shift past the width has no value that a select could leave out.
    zero = s.integer(0, amount.type)
    return s.select(within, s.binary(name, x, s.select(within, amount, zero)), s.integer(0, x.type))


@_lowers("stablehlo.popcnt")
def _popcnt(s: Emitter, args: list, elements: list, result: Element, op: Any) -> Value:
    return s.unary("math.ctpop", args[0])


@_lowers("stablehlo.count_leading_zeros")
def _count_leading_zeros(s: Emitter, args: list, elements: list, result: Element, op: Any) -> Value:
    return s.unary("math.ctlz", args[0])


@_lowers("stablehlo.power")
def _power(s: Emitter, args: list, elements: list, result: Element, op: Any) -> Value:
    base, exponent = args
    if elements[0].kind == FLOAT:
        return s.binary("math.powf", base, exponent)
    if elements[0].kind == BOOLEAN:
        raise s.unsupported(op, "on i1")
    return _integer_power(s, base, exponent, elements[0].kind == SIGNED)


def _integer_power(s: Emitter, base: Value, exponent: Value, signed: bool) -> Value:
    """Square and multiply over every bit of the exponent; the product wraps."""
    zero, one = s.integer(0, base.type), s.integer(1, base.type)
    product, square = one, base
    bits = base.type.width - (1 if signed else 0)
    for bit in range(bits):
        odd = s.cmpi("ne", s.binary("arith.andi", exponent, s.integer(1 << bit, exponent.type)), zero)
        product = s.binary("arith.muli", product, s.select(odd, square, one))
        if bit + 1 < bits:
            square = s.binary("arith.muli", square, square)
    if not signed:
        return product
    # A negative exponent leaves 1/base rounded to zero, which differs from zero for 1 and -1 only.
    minus_one = s.integer(-1, base.type)
    odd = s.cmpi("ne", s.binary("arith.andi", exponent, one), zero)
    alternating = s.select(odd, minus_one, one)
    of_minus_one = s.select(s.cmpi("eq", base, minus_one), alternating, zero)
    negative = s.select(s.cmpi("eq", base, one), one, of_minus_one)
    return s.select(s.cmpi("slt", exponent, zero), negative, product)


@_lowers("stablehlo.select")
def _select(s: Emitter, args: list, elements: list, result: Element, op: Any) -> Value:
    return s.select(*args)


@_lowers("stablehlo.clamp")
def _clamp(s: Emitter, args: list, elements: list, result: Element, op: Any) -> Value:
    low, x, high = args
    raised = SCALAR_LOWERINGS["stablehlo.maximum"](s, [low, x], [elements[1]] * 2, result, op)
    return SCALAR_LOWERINGS["stablehlo.minimum"](s, [raised, high], [elements[1]] * 2, result, op)


_FLOAT_PREDICATES = {"EQ": "oeq", "NE": "une", "LT": "olt", "LE": "ole", "GT": "ogt", "GE": "oge"}


@_lowers("stablehlo.compare")
def _compare(s: Emitter, args: list, elements: list, result: Element, op: Any) -> Value:
    x, y = args
    direction = dialect_attribute(op, "comparison_direction", "ComparisonDirectionAttr").value
    if elements[0].kind == FLOAT:
        kind = dialect_attribute(op, "compare_type", "ComparisonTypeAttr")
        if kind is not None and kind.value == "TOTALORDER":
            return s.cmpi(_integer_predicate(direction, True), total_order_key(s, x), total_order_key(s, y))
        return s.cmpf(_FLOAT_PREDICATES[direction], x, y)
    return s.cmpi(_integer_predicate(direction, elements[0].kind == SIGNED), x, y)


def _integer_predicate(direction: str, signed: bool) -> str:
    if direction in ("EQ", "NE"):
        return direction.lower()
    return ("s" if signed else "u") + direction.lower()


def total_order_key(s: Emitter, x: Value) -> Value:
    """The bits of a float as a signed integer in the total order: -NaN < -inf < … < -0 < 0 < … < inf < NaN."""
    bits = s.cast("arith.bitcast", x, signless(x.type.width))
    least = s.integer(-(1 << (x.type.width - 1)), bits.type)
    if x.type.name == "f8E8M0FNU":
        # All bits are exponent.
        return s.binary("arith.xori", bits, least)
    if x.type.name.endswith("FNUZ"):
        # The only NaN has the bits of -0.
        negated = s.select(s.cmpi("eq", bits, least), least, s.binary("arith.subi", least, bits))
        return s.select(s.cmpi("slt", bits, s.integer(0, bits.type)), negated, bits)
    flipped = s.binary("arith.xori", bits, s.integer((1 << (x.type.width - 1)) - 1, bits.type))
    return s.select(s.cmpi("slt", bits, s.integer(0, bits.type)), flipped, bits)


@_lowers("stablehlo.convert")
def _convert(s: Emitter, args: list, elements: list, result: Element, op: Any) -> Value:
    return convert(s, args[0], elements[0], result)


def convert(s: Emitter, x: Value, source: Element, target: Element) -> Value:
    """`stablehlo.convert` of one scalar."""
    if COMPLEX in (source.kind, target.kind):
        raise ValueError("complex conversion isn't scalar")
    if source is target:
        return x
    if target.kind == BOOLEAN:
        if source.kind == FLOAT:
            return s.cmpf("une", x, s.float(0.0, x.type))
        return s.cmpi("ne", x, s.integer(0, x.type))
    if source.kind == FLOAT:
        return _convert_float(s, x, target) if target.kind == FLOAT else _float_to_integer(s, x, target)
    if target.kind == FLOAT:
        return s.cast("arith.sitofp" if source.kind == SIGNED else "arith.uitofp", x, target.type)
    if source.type.width == target.type.width:
        return x
    if source.type.width > target.type.width:
        return s.cast("arith.trunci", x, target.type)
    return s.cast("arith.extsi" if source.kind == SIGNED else "arith.extui", x, target.type)


def _convert_float(s: Emitter, x: Value, target: Element) -> Value:
    if x.type.width < target.type.width:
        return s.cast("arith.extf", x, target.type)
    if x.type.width == target.type.width:
        # f16 and bf16 (or two f8 formats): neither holds the other, f32 holds both.
        x = s.cast("arith.extf", x, f32)
    return s.cast("arith.truncf", x, target.type)


def _float_to_integer(s: Emitter, x: Value, target: Element) -> Value:
    """Towards zero; out of range saturates, NaN gives 0. Where a guard answers, the raw conversion isn't read."""
    signed = target.kind == SIGNED
    width = target.type.width
    low = -(1 << (width - 1)) if signed else 0
    high = (1 << (width - 1)) - 1 if signed else (1 << width) - 1
    if x.type.width < 32:
        x = s.cast("arith.extf", x, f32)
    raw = s.cast("arith.fptosi" if signed else "arith.fptoui", x, target.type)
    # high + 1 is a power of two, so that it is exact in f32 and f64 (high itself may round up to it).
    too_high = s.cmpf("oge", x, s.float(float(high + 1), x.type))
    if signed:
        too_low = s.cmpf("ole", x, s.float(float(low), x.type))
    else:
        too_low = s.cmpf("ole", x, s.float(-1.0, x.type))
    saturated = s.select(too_low, s.integer(low, target.type), raw)
    saturated = s.select(too_high, s.integer(high, target.type), saturated)
    return s.select(s.cmpf("uno", x, x), s.integer(0, target.type), saturated)


@_lowers("stablehlo.bitcast_convert")
def _bitcast_convert(s: Emitter, args: list, elements: list, result: Element, op: Any) -> Value:
    (x,) = args
    if x.type is result.type:
        return x
    return s.cast("arith.bitcast", x, result.type)


@_lowers("stablehlo.reduce_precision")
def _reduce_precision(s: Emitter, args: list, elements: list, result: Element, op: Any) -> Value:
    attributes = op.attributes
    exponent_bits, mantissa_bits = attributes["exponent_bits"].value, attributes["mantissa_bits"].value
    return reduce_precision(s, args[0], exponent_bits, mantissa_bits)


#: Mantissa bits by format.
MANTISSA_BITS = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}


def reduce_precision(s: Emitter, x: Value, exponent_bits: int, mantissa_bits: int) -> Value:
    """Rounds to a format of fewer bits and back, on the bits: to nearest even, overflow to infinity, what is below
    the narrow format's normal range to zero of its sign. NaN stays, but a format without mantissa has none: it gives
    infinity, as StableHLO's reference does."""
    width = x.type.width
    mantissa = MANTISSA_BITS[x.type.name]
    exponent = width - 1 - mantissa
    word = signless(width)
    bits = s.cast("arith.bitcast", x, word)
    magnitude_mask = (1 << (width - 1)) - 1
    infinity = ((1 << exponent) - 1) << mantissa
    reduced = bits
    if mantissa_bits < mantissa:
        dropped = mantissa - mantissa_bits
        # Half of the last kept place, less one, plus the last kept bit: ties go to even.
        last = s.binary("arith.shrui", bits, s.integer(dropped, word))
        last = s.binary("arith.andi", last, s.integer(1, word))
        bias = s.binary("arith.addi", last, s.integer((1 << (dropped - 1)) - 1, word))
        reduced = s.binary("arith.addi", bits, bias)
        reduced = s.binary("arith.andi", reduced, s.integer(-(1 << dropped), word))
    if exponent_bits < exponent:
        old_bias, new_bias = (1 << (exponent - 1)) - 1, (1 << (exponent_bits - 1)) - 1
        largest, smallest = old_bias + new_bias, old_bias - new_bias
        sign = s.binary("arith.andi", reduced, s.integer(-(1 << (width - 1)), word))
        field = s.binary("arith.andi", reduced, s.integer(infinity, word))
        overflowed = s.binary("arith.ori", sign, s.integer(infinity, word))
        too_large = s.cmpi("ugt", field, s.integer(largest << mantissa, word))
        too_small = s.cmpi("ule", field, s.integer(smallest << mantissa, word))
        reduced = s.select(too_small, sign, s.select(too_large, overflowed, reduced))
    magnitude = s.binary("arith.andi", bits, s.integer(magnitude_mask, word))
    is_nan = s.cmpi("ugt", magnitude, s.integer(infinity, word))
    if mantissa_bits == 0:
        return s.cast("arith.bitcast", s.select(is_nan, s.integer(infinity, word), reduced), x.type)
    return s.select(is_nan, x, s.cast("arith.bitcast", reduced, x.type))

