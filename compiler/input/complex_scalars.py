"""Element-wise ops on complex numbers as float ops on their two parts.

Enters: scalars of which some are complex. Leaves: the result, from `complex.re`, `complex.im` and `complex.create`
and float arithmetic between them. Exponential, logarithm, square and the inverse functions are written out by jaxlib's
expansion, which is exact in the corners; the others are here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from pyiree.compiler.input.elements import COMPLEX, Element, element
from pyiree.compiler.input.jaxlib_mlir import dialect_attribute
from pyiree.compiler.input.scalars import convert
from pyiree.compiler.ir.attributes import ArrayAttr
from pyiree.compiler.ir.dense import storage_dtype
from pyiree.compiler.ir.rewrite import constant_value
from pyiree.compiler.ir.types import ComplexType

if TYPE_CHECKING:
    from pyiree.compiler.input.converter import Converter
    from pyiree.compiler.ir.core import Value

#: A lowering: converter, scalar operands, their elements, the result's element, the jaxlib op (or None).
ComplexLowering = Callable[["Converter", list, list, Element, Any], "Value"]

COMPLEX_LOWERINGS: dict[str, ComplexLowering] = {}

#: Functions of complex numbers that jaxlib writes out.
EXPANDED_COMPLEX = frozenset(
    {
        "stablehlo.exponential",
        "stablehlo.log",
        "stablehlo.log_plus_one",
        "chlo.acos",
        "chlo.acosh",
        "chlo.asin",
        "chlo.asinh",
        "chlo.atan",
        "chlo.atanh",
        "chlo.square",
    }
)


def _lowers(*names: str) -> Callable[[ComplexLowering], ComplexLowering]:
    def register(function: ComplexLowering) -> ComplexLowering:
        for name in names:
            COMPLEX_LOWERINGS[name] = function
        return function

    return register


class Parts:
    """A complex number as two float scalars, and the arithmetic on them."""

    __slots__ = ("c", "im", "re")

    def __init__(self, c: Converter, re: Value, im: Value) -> None:
        self.c, self.re, self.im = c, re, im

    @classmethod
    def of(cls, c: Converter, value: Value) -> Parts:
        """The parts of a complex scalar."""
        part = value.type.element_type  # type: ignore[attr-defined]
        return cls(c, c.emitter.cast("complex.re", value, part), c.emitter.cast("complex.im", value, part))

    def value(self) -> Value:
        """The complex scalar."""
        emitter = self.c.emitter
        type = ComplexType(self.re.type)
        return emitter.emit("complex.create", (self.re, self.im), (type,)).results[0]

    def __add__(self, other: Parts) -> Parts:
        add = self.c.emitter.binary
        return Parts(self.c, add("arith.addf", self.re, other.re), add("arith.addf", self.im, other.im))

    def __sub__(self, other: Parts) -> Parts:
        subtract = self.c.emitter.binary
        return Parts(self.c, subtract("arith.subf", self.re, other.re), subtract("arith.subf", self.im, other.im))

    def __mul__(self, other: Parts) -> Parts:
        f = _Floats(self.c)
        return Parts(
            self.c,
            f.sub(f.mul(self.re, other.re), f.mul(self.im, other.im)),
            f.add(f.mul(self.re, other.im), f.mul(self.im, other.re)),
        )

    def __neg__(self) -> Parts:
        f = _Floats(self.c)
        return Parts(self.c, f.neg(self.re), f.neg(self.im))


class _Floats:
    """Float ops in short words."""

    def __init__(self, c: Converter) -> None:
        self.emitter = c.emitter

    def add(self, x: Value, y: Value) -> Value:
        return self.emitter.binary("arith.addf", x, y)

    def sub(self, x: Value, y: Value) -> Value:
        return self.emitter.binary("arith.subf", x, y)

    def mul(self, x: Value, y: Value) -> Value:
        return self.emitter.binary("arith.mulf", x, y)

    def div(self, x: Value, y: Value) -> Value:
        return self.emitter.binary("arith.divf", x, y)

    def neg(self, x: Value) -> Value:
        return self.emitter.unary("arith.negf", x)

    def call(self, name: str, x: Value) -> Value:
        return self.emitter.unary(f"math.{name}", x)

    def number(self, value: float, like: Value) -> Value:
        return self.emitter.float(value, like.type)

    def all(self, *conditions: Value) -> Value:
        return functools.reduce(lambda x, y: self.emitter.binary("arith.andi", x, y), conditions)


@_lowers("stablehlo.real")
def _real(c: Converter, args: list, elements: list, result: Element, op: Any) -> Value:
    return c.emitter.cast("complex.re", args[0], result.type) if elements[0].kind == COMPLEX else args[0]


@_lowers("stablehlo.imag")
def _imag(c: Converter, args: list, elements: list, result: Element, op: Any) -> Value:
    if elements[0].kind != COMPLEX:
        return c.emitter.zero(result.type)
    return c.emitter.cast("complex.im", args[0], result.type)


@_lowers("stablehlo.complex")
def _complex(c: Converter, args: list, elements: list, result: Element, op: Any) -> Value:
    return Parts(c, *args).value()


@_lowers("chlo.conj")
def _conj(c: Converter, args: list, elements: list, result: Element, op: Any) -> Value:
    x = Parts.of(c, args[0])
    return Parts(c, x.re, _Floats(c).neg(x.im)).value()


@_lowers("stablehlo.add")
def _add(c: Converter, args: list, elements: list, result: Element, op: Any) -> Value:
    return (Parts.of(c, args[0]) + Parts.of(c, args[1])).value()


@_lowers("stablehlo.subtract")
def _subtract(c: Converter, args: list, elements: list, result: Element, op: Any) -> Value:
    return (Parts.of(c, args[0]) - Parts.of(c, args[1])).value()


@_lowers("stablehlo.multiply")
def _multiply(c: Converter, args: list, elements: list, result: Element, op: Any) -> Value:
    return (Parts.of(c, args[0]) * Parts.of(c, args[1])).value()


@_lowers("stablehlo.negate")
def _negate(c: Converter, args: list, elements: list, result: Element, op: Any) -> Value:
    return (-Parts.of(c, args[0])).value()


@_lowers("stablehlo.select")
def _select(c: Converter, args: list, elements: list, result: Element, op: Any) -> Value:
    return c.emitter.select(*args)


@_lowers("stablehlo.compare")
def _compare(c: Converter, args: list, elements: list, result: Element, op: Any) -> Value:
    emitter = c.emitter
    direction = dialect_attribute(op, "comparison_direction", "ComparisonDirectionAttr").value
    x, y = Parts.of(c, args[0]), Parts.of(c, args[1])
    if direction == "EQ":
        return emitter.binary("arith.andi", emitter.cmpf("oeq", x.re, y.re), emitter.cmpf("oeq", x.im, y.im))
    if direction == "NE":
        return emitter.binary("arith.ori", emitter.cmpf("une", x.re, y.re), emitter.cmpf("une", x.im, y.im))
    raise emitter.unsupported(op, f"{direction} of complex numbers")


@_lowers("stablehlo.maximum", "stablehlo.minimum")
def _extreme(c: Converter, args: list, elements: list, result: Element, op: Any) -> Value:
    """By the real parts, then by the imaginary ones."""
    emitter = c.emitter
    x, y = Parts.of(c, args[0]), Parts.of(c, args[1])
    better = "ogt" if op.name == "stablehlo.maximum" else "olt"
    tied = emitter.binary(
        "arith.andi", emitter.cmpf("oeq", x.re, y.re), emitter.cmpf(better, x.im, y.im)
    )
    return emitter.select(emitter.binary("arith.ori", emitter.cmpf(better, x.re, y.re), tied), args[0], args[1])


@_lowers("stablehlo.convert")
def _convert(c: Converter, args: list, elements: list, result: Element, op: Any) -> Value:
    return convert_complex(c, args[0], elements[0], result)


def convert_complex(c: Converter, x: Value, source: Element, target: Element) -> Value:
    """`stablehlo.convert` to or from complex numbers; a real target gets the real part."""
    if source is target:
        return x
    emitter = c.emitter
    if source.kind != COMPLEX:
        part = element(str(target.type.element_type))  # type: ignore[attr-defined]
        return Parts(c, convert(emitter, x, source, part), emitter.zero(part.type)).value()
    parts = Parts.of(c, x)
    part = element(str(parts.re.type))
    if target.kind == COMPLEX:
        wanted = element(str(target.type.element_type))  # type: ignore[attr-defined]
        re, im = [convert(emitter, p, part, wanted) for p in (parts.re, parts.im)]
        return Parts(c, re, im).value()
    return convert(emitter, parts.re, part, target)


@_lowers("stablehlo.abs")
def _abs(c: Converter, args: list, elements: list, result: Element, op: Any) -> Value:
    return _magnitude(c, Parts.of(c, args[0]))


def _magnitude(c: Converter, x: Parts) -> Value:
    """The hypotenuse without overflow between: large * sqrt(1 + (small / large)²)."""
    f, emitter = _Floats(c), c.emitter
    re, im = f.call("absf", x.re), f.call("absf", x.im)
    large, small = emitter.binary("arith.maximumf", re, im), emitter.binary("arith.minimumf", re, im)
    ratio = f.div(small, large)
    scaled = f.mul(large, f.call("sqrt", f.add(f.number(1.0, ratio), f.mul(ratio, ratio))))
    # Equal parts cover zero and infinity, where the ratio isn't a number; an infinite part beats NaN.
    equal = f.mul(large, f.number(2.0**0.5, large))
    found = emitter.select(emitter.cmpf("oeq", large, small), equal, scaled)
    infinity = f.number(float("inf"), large)
    infinite = emitter.binary(
        "arith.ori", emitter.cmpf("oeq", re, infinity), emitter.cmpf("oeq", im, infinity)
    )
    return emitter.select(infinite, infinity, found)


@_lowers("stablehlo.sign")
def _sign(c: Converter, args: list, elements: list, result: Element, op: Any) -> Value:
    f, emitter = _Floats(c), c.emitter
    x = Parts.of(c, args[0])
    magnitude = _magnitude(c, x)
    is_zero = emitter.cmpf("oeq", magnitude, f.number(0.0, magnitude))
    divisor = emitter.select(is_zero, f.number(1.0, magnitude), magnitude)
    return Parts(c, f.div(x.re, divisor), f.div(x.im, divisor)).value()


@_lowers("stablehlo.divide")
def _divide(c: Converter, args: list, elements: list, result: Element, op: Any) -> Value:
    return divide(c, Parts.of(c, args[0]), Parts.of(c, args[1])).value()


def divide(c: Converter, x: Parts, y: Parts) -> Parts:
    """Smith's division: the quotient of the divisor's parts is at most one, so that nothing overflows on the way but
    sums of two large parts; these, and numbers so small that their products lack digits, are scaled first.

    By zero, by infinity and of infinity as C's annex G has it.
    """
    f = _Floats(c)
    x_scale, y_scale = _division_scale(c, x), _division_scale(c, y)
    inner = _smith_quotient(c, _times(c, x, x_scale), _times(c, y, y_scale))
    return _divide_corners(c, x, y, _times(c, inner, f.div(y_scale, x_scale)))


def _times(c: Converter, x: Parts, factor: Value) -> Parts:
    f = _Floats(c)
    return Parts(c, f.mul(x.re, factor), f.mul(x.im, factor))


def _division_scale(c: Converter, x: Parts) -> Value:
    """A power of two that takes a number away from the ends of its type's range."""
    f, emitter = _Floats(c), c.emitter
    info = np.finfo(storage_dtype(x.re.type))
    larger = emitter.binary("arith.maximumf", f.call("absf", x.re), f.call("absf", x.im))
    digits = info.nmant + 1
    tiny = emitter.cmpf("olt", larger, f.number(2.0 ** (info.minexp + digits), larger))
    huge = emitter.cmpf("oge", larger, f.number(2.0 ** (info.maxexp - 2), larger))
    usual = emitter.select(huge, f.number(0.25, larger), f.number(1.0, larger))
    return emitter.select(tiny, f.number(2.0 ** (2 * digits), larger), usual)


def _smith_quotient(c: Converter, x: Parts, y: Parts) -> Parts:
    f, emitter = _Floats(c), c.emitter
    re_wins = emitter.cmpf("oge", f.call("absf", y.re), f.call("absf", y.im))
    large, small = emitter.select(re_wins, y.re, y.im), emitter.select(re_wins, y.im, y.re)
    ratio = f.div(small, large)
    denominator = f.add(large, f.mul(small, ratio))
    # (a + bi) / (c + di): with |c| the larger, (a + br) and (b - ar) over c + dr; else (ar + b) and (br - a).
    first = emitter.select(re_wins, x.re, x.im)
    second = emitter.select(re_wins, x.im, x.re)
    re = f.div(f.add(first, f.mul(second, ratio)), denominator)
    # A difference is not the other way round and negated: the zero that equal numbers leave is +0.
    product = f.mul(first, ratio)
    difference = f.sub(emitter.select(re_wins, second, product), emitter.select(re_wins, product, second))
    return Parts(c, re, f.div(difference, denominator))


def _divide_corners(c: Converter, x: Parts, y: Parts, quotient: Parts) -> Parts:
    f, emitter = _Floats(c), c.emitter
    zero, infinity = f.number(0.0, x.re), f.number(float("inf"), x.re)
    magnitudes = [f.call("absf", part) for part in (x.re, x.im, y.re, y.im)]

    def both(name: str, a: Value, b: Value) -> Value:
        return emitter.binary(name, a, b)

    def copysign(magnitude: Value, sign: Value) -> Value:
        return emitter.binary("math.copysign", magnitude, sign)

    infinite = [emitter.cmpf("oeq", m, infinity) for m in magnitudes]
    finite = [emitter.cmpf("olt", m, infinity) for m in magnitudes]
    number = [emitter.cmpf("ord", p, p) for p in (x.re, x.im)]
    # By zero: infinities with the signs of the dividend.
    by_zero = both("arith.andi", emitter.cmpf("oeq", y.re, zero), emitter.cmpf("oeq", y.im, zero))
    by_zero = both("arith.andi", by_zero, both("arith.ori", *number))
    signed_infinity = copysign(infinity, y.re)
    # Of infinity by a finite number: infinite, in the direction of the product with the conjugate.
    of_infinity = both("arith.ori", infinite[0], infinite[1])
    of_infinity = both("arith.andi", of_infinity, both("arith.andi", finite[2], finite[3]))
    one = f.number(1.0, x.re)
    a, b = [copysign(emitter.select(i, one, zero), p) for i, p in zip(infinite[:2], (x.re, x.im))]
    infinite_re = f.mul(infinity, f.add(f.mul(a, y.re), f.mul(b, y.im)))
    infinite_im = f.mul(infinity, f.sub(f.mul(b, y.re), f.mul(a, y.im)))
    # Of a finite number by infinity: zero. The quotient is that, with its own signs, where one part alone is infinite.
    by_infinity = both("arith.ori", infinite[2], infinite[3])
    by_infinity = both("arith.andi", by_infinity, both("arith.andi", finite[0], finite[1]))
    by_infinity = both("arith.andi", by_infinity, emitter.cmpf("uno", quotient.re, quotient.im))
    p, q = [copysign(emitter.select(i, one, zero), part) for i, part in zip(infinite[2:], (y.re, y.im))]
    zero_re = f.mul(zero, f.add(f.mul(x.re, p), f.mul(x.im, q)))
    zero_im = f.mul(zero, f.sub(f.mul(x.im, p), f.mul(x.re, q)))
    re, im = quotient.re, quotient.im
    for condition, corner_re, corner_im in (
        (by_infinity, zero_re, zero_im),
        (of_infinity, infinite_re, infinite_im),
        (by_zero, f.mul(signed_infinity, x.re), f.mul(signed_infinity, x.im)),
    ):
        re, im = emitter.select(condition, corner_re, re), emitter.select(condition, corner_im, im)
    return Parts(c, re, im)


@_lowers("stablehlo.sine")
def _sine(c: Converter, args: list, elements: list, result: Element, op: Any) -> Value:
    x = Parts.of(c, args[0])
    im, re = _hyperbolic_sine(c, x.im, x.re)
    return Parts(c, re, im).value()


@_lowers("chlo.sinh")
def _sinh(c: Converter, args: list, elements: list, result: Element, op: Any) -> Value:
    x = Parts.of(c, args[0])
    return Parts(c, *_hyperbolic_sine(c, x.re, x.im)).value()


def _hyperbolic_sine(c: Converter, a: Value, b: Value) -> tuple[Value, Value]:
    """The parts of sinh(a + bi)."""
    f = _Floats(c)
    return _grown(c, "sinh", a, f.call("cos", b)), _grown(c, "cosh", a, f.call("sin", b))


@_lowers("stablehlo.cosine")
def _cosine(c: Converter, args: list, elements: list, result: Element, op: Any) -> Value:
    x = Parts.of(c, args[0])
    re, im = _hyperbolic_cosine(c, x.im, x.re)
    return Parts(c, re, _Floats(c).neg(im)).value()


@_lowers("chlo.cosh")
def _cosh(c: Converter, args: list, elements: list, result: Element, op: Any) -> Value:
    x = Parts.of(c, args[0])
    return Parts(c, *_hyperbolic_cosine(c, x.re, x.im)).value()


def _hyperbolic_cosine(c: Converter, a: Value, b: Value) -> tuple[Value, Value]:
    """The parts of cosh(a + bi)."""
    f = _Floats(c)
    return _grown(c, "cosh", a, f.call("cos", b)), _grown(c, "sinh", a, f.call("sin", b))


def _grown(c: Converter, name: str, a: Value, factor: Value) -> Value:
    """sinh(a) or cosh(a) times a number, also where the former alone is out of range. A factor of zero stays one."""
    f, emitter = _Floats(c), c.emitter
    value, size = f.call(name, a), f.call("absf", a)
    half = f.call("exp", f.mul(size, f.number(0.5, a)))
    quarter = f.mul(half, f.number(0.5, a))
    sign = f.number(1.0, a)
    if name == "sinh":
        quarter, sign = (emitter.binary("math.copysign", magnitude, a) for magnitude in (quarter, sign))
    is_large = emitter.cmpf("oeq", f.call("absf", value), f.number(float("inf"), a))
    product = emitter.select(is_large, f.mul(f.mul(factor, half), quarter), f.mul(value, factor))
    return emitter.select(emitter.cmpf("oeq", factor, f.number(0.0, a)), f.mul(sign, factor), product)


@_lowers("stablehlo.tanh")
def _tanh(c: Converter, args: list, elements: list, result: Element, op: Any) -> Value:
    x = Parts.of(c, args[0])
    re, im = _tangent(c, x.im, x.re)
    return Parts(c, im, re).value()


@_lowers("stablehlo.tan", "chlo.tan")
def _tan(c: Converter, args: list, elements: list, result: Element, op: Any) -> Value:
    x = Parts.of(c, args[0])
    return Parts(c, *_tangent(c, x.re, x.im)).value()


def _tangent(c: Converter, circular: Value, hyperbolic: Value) -> tuple[Value, Value]:
    """The parts of tan(a + bi) from t = tan(a), h = tanh(b) and s = 1 / cosh(b): ts² and h(1 + t²), over 1 + t²h².

    Where b is infinite, a may be anything; where a is zero, b may be NaN and the real part still is zero.
    """
    f, emitter = _Floats(c), c.emitter
    t, h = f.call("tan", circular), f.call("tanh", hyperbolic)
    zero, one = f.number(0.0, t), f.number(1.0, t)
    size = f.call("absf", hyperbolic)
    decides = emitter.cmpf("oeq", size, f.number(float("inf"), t))
    t = emitter.select(emitter.binary("arith.andi", decides, emitter.cmpf("uno", t, t)), zero, t)
    decay = f.call("exp", f.neg(size))
    s = f.div(f.add(decay, decay), f.add(one, f.mul(decay, decay)))
    t2 = f.mul(t, t)
    denominator = f.add(one, f.mul(t2, f.mul(h, h)))
    re = f.mul(f.div(f.mul(t, s), denominator), s)
    re = emitter.select(emitter.cmpf("oeq", circular, zero), circular, re)
    return re, f.div(f.mul(h, f.add(one, t2)), denominator)


@_lowers("stablehlo.exponential_minus_one")
def _exponential_minus_one(c: Converter, args: list, elements: list, result: Element, op: Any) -> Value:
    f, emitter = _Floats(c), c.emitter
    x = Parts.of(c, args[0])
    half = f.call("sin", f.mul(x.im, f.number(0.5, x.im)))
    versine = f.mul(f.number(2.0, half), f.mul(half, half))
    less_one = f.call("expm1", x.re)
    re = f.sub(f.mul(less_one, f.call("cos", x.im)), versine)
    # What is out of range is no smaller by one; a zero keeps its sign.
    whole = Parts.of(c, c.expand("stablehlo.exponential", args, elements, result))
    re = emitter.select(emitter.cmpf("oeq", less_one, f.number(float("inf"), re)), whole.re, re)
    im = emitter.select(emitter.cmpf("oeq", x.im, f.number(0.0, re)), x.im, whole.im)
    return Parts(c, re, im).value()


@_lowers("stablehlo.logistic")
def _logistic(c: Converter, args: list, elements: list, result: Element, op: Any) -> Value:
    decay = c.expand("stablehlo.exponential", [(-Parts.of(c, args[0])).value()], elements, result)
    one = _one(c, args[0])
    return divide(c, one, one + Parts.of(c, decay)).value()


@_lowers("stablehlo.sqrt")
def _sqrt(c: Converter, args: list, elements: list, result: Element, op: Any) -> Value:
    """jaxlib's expansion halves the magnitude, which costs numbers near the smallest their digits: these are scaled by
    a power of four first."""
    f, emitter = _Floats(c), c.emitter
    x = Parts.of(c, args[0])
    info = np.finfo(storage_dtype(x.re.type))
    digits = info.nmant + 1
    larger = emitter.binary("arith.maximumf", f.call("absf", x.re), f.call("absf", x.im))
    tiny, one = emitter.cmpf("olt", larger, f.number(2.0 ** (info.minexp + digits), larger)), f.number(1.0, larger)
    scaled = _times(c, x, emitter.select(tiny, f.number(4.0**digits, larger), one))
    root = Parts.of(c, c.expand("stablehlo.sqrt", [scaled.value()], elements, result))
    return _times(c, root, emitter.select(tiny, f.number(0.5**digits, larger), one)).value()


@_lowers("stablehlo.rsqrt")
def _rsqrt(c: Converter, args: list, elements: list, result: Element, op: Any) -> Value:
    f, x = _Floats(c), Parts.of(c, args[0])
    inverse = divide(c, _one(c, args[0]), Parts.of(c, _sqrt(c, args, elements, result, op)))
    # On the other side of the real axis, zeros as well.
    im = c.emitter.binary("math.copysign", inverse.im, f.neg(x.im))
    return Parts(c, inverse.re, im).value()


@_lowers("stablehlo.cbrt")
def _cbrt(c: Converter, args: list, elements: list, result: Element, op: Any) -> Value:
    f = _Floats(c)
    logarithm = Parts.of(c, c.expand("stablehlo.log", args, elements, result))
    third = f.number(1.0 / 3.0, logarithm.re)
    scaled = Parts(c, f.mul(logarithm.re, third), f.mul(logarithm.im, third)).value()
    return _unless_zero(c, args[0], c.expand("stablehlo.exponential", [scaled], elements, result))


@_lowers("stablehlo.power")
def _power(c: Converter, args: list, elements: list, result: Element, op: Any) -> Value:
    """x^(c + di) is |x|^c, which is exp(c log|x|) where it or |x| is out of range, times the exponential of -d arg x
    and of (c arg x + d log|x|)i."""
    f = _Floats(c)
    x, exponent = Parts.of(c, args[0]), Parts.of(c, args[1])
    known = constant_value(args[1])
    if isinstance(known, ArrayAttr) and (number := complex(*(part.value for part in known))) in (-1, 1, 2, 3):
        return _whole_power(c, args, elements, result, int(number.real))
    logarithm = Parts.of(c, c.expand("stablehlo.log", args[:1], elements[:1], result))
    size = _magnitude(c, x)
    power = c.emitter.binary("math.powf", size, exponent.re)
    least = f.number(float(np.finfo(storage_dtype(size.type)).tiny), size)
    infinity = f.number(float("inf"), size)
    bounds = [(c.emitter.cmpf("oge", v, least), c.emitter.cmpf("olt", v, infinity)) for v in (size, power)]
    in_range = f.all(*bounds[0], *bounds[1])
    whole = logarithm * exponent
    decay = f.neg(f.mul(exponent.im, logarithm.im))
    turn = Parts(c, c.emitter.select(in_range, decay, whole.re), whole.im)
    turned = Parts.of(c, c.expand("stablehlo.exponential", [turn.value()], elements[:1], result))
    return _power_corners(c, x, exponent, _times(c, turned, c.emitter.select(in_range, power, f.number(1.0, size))))


def _whole_power(c: Converter, args: list, elements: list, result: Element, exponent: int) -> Value:
    """The powers that are the number, a quotient or products, with their corners."""
    x = Parts.of(c, args[0])
    if exponent == 1:
        return args[0]
    if exponent == -1:
        return divide(c, _one(c, args[0]), x).value()
    square = c.expand("chlo.square", args[:1], elements[:1], result)
    return square if exponent == 2 else (Parts.of(c, square) * x).value()


def _power_corners(c: Converter, x: Parts, exponent: Parts, power: Parts) -> Value:
    """NaN for zero, and for all that is not finite; but 1 to the power of anything is 1, so is anything to the power of
    0, and zero and infinity to the power of a real number go to the limit if they have one."""
    f, emitter = _Floats(c), c.emitter
    zero, one, infinity, nan = [f.number(value, x.re) for value in (0.0, 1.0, float("inf"), float("nan"))]

    def equal(a: Value, b: Value) -> Value:
        return emitter.cmpf("oeq", a, b)

    size = f.call("absf", x.re)
    is_real, no_turn = equal(x.im, zero), equal(exponent.im, zero)
    is_zero = f.all(is_real, equal(x.re, zero))
    finite = [emitter.cmpf("olt", f.call("absf", part), infinity) for part in (x.re, x.im, exponent.re, exponent.im)]
    all_finite = f.all(*finite)
    rises = emitter.cmpf("ogt", exponent.re, zero)
    has_limit = emitter.select(is_zero, rises, f.all(equal(x.re, infinity), emitter.cmpf("one", exponent.re, zero)))
    limit = emitter.select(rises, size, zero)
    is_one = emitter.binary(
        "arith.ori", f.all(is_real, equal(x.re, one)), f.all(no_turn, equal(exponent.re, zero))
    )
    re, im = [emitter.select(is_zero, nan, emitter.select(all_finite, part, nan)) for part in (power.re, power.im)]
    for condition, corner in ((f.all(is_real, no_turn, has_limit), limit), (is_one, one)):
        re, im = emitter.select(condition, corner, re), emitter.select(condition, zero, im)
    return Parts(c, re, im).value()


def _one(c: Converter, like: Value) -> Parts:
    part = like.type.element_type  # type: ignore[attr-defined]
    return Parts(c, c.emitter.float(1.0, part), c.emitter.float(0.0, part))


def _unless_zero(c: Converter, x: Value, otherwise: Value) -> Value:
    """Zero for zero."""
    emitter = c.emitter
    parts = Parts.of(c, x)
    zero = emitter.zero(parts.re.type)
    is_zero = emitter.binary("arith.andi", emitter.cmpf("oeq", parts.re, zero), emitter.cmpf("oeq", parts.im, zero))
    return emitter.select(is_zero, Parts(c, zero, zero).value(), otherwise)


@_lowers("stablehlo.is_finite")
def _is_finite(c: Converter, args: list, elements: list, result: Element, op: Any) -> Value:
    emitter, f = c.emitter, _Floats(c)
    x = Parts.of(c, args[0])
    infinity = f.number(float("inf"), x.re)
    finite = [emitter.cmpf("olt", f.call("absf", part), infinity) for part in (x.re, x.im)]
    return emitter.binary("arith.andi", *finite)
