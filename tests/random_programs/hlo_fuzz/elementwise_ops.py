"""Element-wise ops of random programs. Each function adds an op to a scope."""

import dataclasses

from . import element_types as et
from .program import Value, convert, relative, tensor

NUMBERS = (*et.INTEGERS, *et.FLOATS, *et.SMALL_FLOATS, *et.COMPLEX)
REAL = (*et.INTEGERS, *et.FLOATS, *et.SMALL_FLOATS)
FLOATS = (*et.FLOATS, *et.SMALL_FLOATS)
LOGICAL = ("i1", *et.INTEGERS)
INEXACT = (*FLOATS, *et.COMPLEX)

#: The interpreter rounds f8E3M4 by adding 16, which that type does not have.
ROUNDED = tuple(e for e in FLOATS if e != "f8E3M4")

EXACT_UNARY = {
    "abs": (*et.SIGNED, *FLOATS), "ceil": ROUNDED, "floor": ROUNDED, "round_nearest_even": ROUNDED,
    "round_nearest_afz": ROUNDED, "negate": NUMBERS, "not": LOGICAL, "popcnt": et.INTEGERS,
    "count_leading_zeros": et.INTEGERS, "sign": (*et.SIGNED, *FLOATS), "sqrt": FLOATS,
}  # fmt: skip
FUNCTIONS = (
    "exponential", "exponential_minus_one", "log", "log_plus_one", "sine", "cosine", "tan", "tanh", "logistic", "cbrt",
    "rsqrt", "sqrt", "sign",
)  # fmt: skip
EXACT_BINARY = {
    "add": ("i1", *NUMBERS), "subtract": NUMBERS, "multiply": ("i1", *REAL), "divide": FLOATS,
    "maximum": ("i1", *REAL), "minimum": ("i1", *REAL), "and": LOGICAL, "or": LOGICAL, "xor": LOGICAL,
    "shift_left": et.INTEGERS, "shift_right_arithmetic": et.INTEGERS, "shift_right_logical": et.INTEGERS,
    "remainder": FLOATS,
}  # fmt: skip


def unary(s):
    name = s.choices.pick(EXACT_UNARY)
    x = s.any(EXACT_UNARY[name])
    s.emit(name, [x], x.element, x.shape)


def function(s):
    name = s.choices.pick(FUNCTIONS)
    # The interpreter's complex functions lose all digits of small numbers in some, and overflow in others.
    among = INEXACT if name in ("exponential", "log", "sine", "cosine") else FLOATS
    x = s.any(among)
    if name == "logistic":
        _logistic(s, x)
    else:
        s.emit(name, [x], x.element, x.shape, error=relative(x.element, 4.0))


def _logistic(s, x):
    """The interpreter's exponential overflows where the result is only denormal: it gets exp(min(x, 0)) /
    (1 + exp(-|x|)) in f64 instead."""
    result = Value(s.fresh(), x.element, x.shape, False)
    wide, name = tensor(x.shape, "f64"), result.name
    lines = [
        f"{name}w = stablehlo.convert {x.name} : ({x.type}) -> {wide}",
        f"{name}a = stablehlo.abs {name}w : {wide}",
        f"{name}n = stablehlo.negate {name}a : {wide}",
        f"{name}o = stablehlo.constant dense<1.0> : {wide}",
        f"{name}m = stablehlo.constant dense<0.0> : {wide}",
        f"{name}l = stablehlo.minimum {name}w, {name}m : {wide}",
        f"{name}t = stablehlo.exponential {name}l : {wide}",
        f"{name}x = stablehlo.exponential {name}n : {wide}",
        f"{name}b = stablehlo.add {name}o, {name}x : {wide}",
        f"{name}q = stablehlo.divide {name}t, {name}b : {wide}",
    ]
    plain = [*lines, f"{name} = stablehlo.convert {name}q : ({wide}) -> {result.type}"]
    raw = dataclasses.replace(result, name=name + "r")
    moved = [
        *lines,
        f"{raw.name} = stablehlo.convert {name}q : ({wide}) -> {raw.type}",
        *relative(x.element, 4.0)(raw, result),
    ]
    text = f'{name} = "stablehlo.logistic"({x.name}) : ({x.type}) -> {result.type}'
    s.add(text, [x], [result], "\n  ".join(plain), "\n  ".join(moved))
    s.values.append(result)


def binary(s):
    name = s.choices.pick(EXACT_BINARY)
    x = s.any(EXACT_BINARY[name])
    y = s.of(x.element, x.shape)
    if s.choices.chance(50):
        x, y = y, x
    s.emit(name, [x, y], x.element, x.shape)


def inexact_binary(s):
    name, among = s.choices.pick(
        [("power", FLOATS), ("atan2", FLOATS), ("multiply", et.COMPLEX), ("divide", et.COMPLEX)]
    )
    x = s.any(among)
    y = s.of(x.element, x.shape)
    s.emit(name, [x, y], x.element, x.shape, error=relative(x.element, 4.0))


def integer_division(s):
    """Divisors are made odd: division by zero is left open by the specification."""
    x = s.any(et.INTEGERS)
    y = s.of(x.element, x.shape)
    one = s.constant(x.element, x.shape, et.np_full(x.shape, 1, x.element))
    odd = s.emit("or", [y, one], x.element, x.shape)
    s.emit(s.choices.pick(("divide", "remainder")), [x, odd], x.element, x.shape)


def integer_power(s):
    x = s.any(et.INTEGERS)
    y = s.of(x.element, x.shape)
    # XLA takes the upper half of the unsigned exponents for negative ones.
    largest = 7 if x.element[0] == "i" else 2 ** (et.width(x.element) - 1) - 1
    high = s.constant(x.element, x.shape, et.np_full(x.shape, largest, x.element))
    y = s.emit("and", [y, high], x.element, x.shape)
    s.emit("power", [x, y], x.element, x.shape)


def compare(s):
    x = s.any()
    y = s.of(x.element, x.shape)
    direction = s.choices.pick(("EQ", "NE", "LT", "LE", "GT", "GE")[: 2 if x.element in et.COMPLEX else 6])
    s.emit("compare", [x, y], "i1", x.shape, f" {{{comparison(direction, x.element)}}}")


def comparison(direction, element):
    """The attributes of a `compare`."""
    kind = "SIGNED" if element in et.SIGNED else "UNSIGNED" if element in ("i1", *et.UNSIGNED) else "FLOAT"
    return (
        f"comparison_direction = #stablehlo<comparison_direction {direction}>, "
        f"compare_type = #stablehlo<comparison_type {kind}>"
    )


def select(s):
    x = s.any()
    y = s.of(x.element, x.shape)
    flag = s.of("i1", () if s.choices.chance(20) else x.shape)
    s.emit("select", [flag, x, y], x.element, x.shape)


def clamp(s):
    x = s.any(("i1", *REAL))
    low = s.of(x.element, () if s.choices.chance(40) else x.shape)
    high = s.of(x.element, () if s.choices.chance(40) else x.shape)
    s.emit("clamp", [low, x, high], x.element, x.shape)


def conversion(s):
    convert(s, s.any(), s.choices.element())


def is_finite(s):
    x = s.any(FLOATS)
    s.emit("is_finite", [x], "i1", x.shape)


def complex_parts(s):
    if s.choices.chance(50):
        x = s.any(("f32", "f64"))
        s.emit("complex", [x, s.of(x.element, x.shape)], f"complex<{x.element}>", x.shape)
        return
    x = s.any(et.COMPLEX)
    name = s.choices.pick(("real", "imag", "abs"))
    part = x.element[8:-1]
    s.emit(name, [x], part, x.shape, error=relative(part, 4.0) if name == "abs" else None)


def reduce_precision(s):
    x = s.any(et.FLOATS)
    exponent, mantissa = s.choices.integer(1, 11), s.choices.integer(0, 52)
    s.emit("reduce_precision", [x], x.element, x.shape,
           f" {{exponent_bits = {exponent} : i32, mantissa_bits = {mantissa} : i32}}")  # fmt: skip


def bitcast(s):
    """Between types of one width, or with a last dim more or less."""
    x = s.any((*et.INTEGERS, *FLOATS))
    if et.is_float(x.element):
        # The bits of a NaN that an op makes are anyone's.
        nan = s.emit("compare", [x, x], "i1", x.shape, f" {{{comparison('NE', x.element)}}}")
        one = s.constant(x.element, x.shape, et.np_full(x.shape, 1, x.element))
        x = s.emit("select", [nan, one, x], x.element, x.shape)
    element = s.choices.element((*et.INTEGERS, *FLOATS))
    old, new = et.width(x.element), et.width(element)
    if old == new:
        s.emit("bitcast_convert", [x], element, x.shape)
    elif old > new and x.size * (old // new) <= 4000:
        s.emit("bitcast_convert", [x], element, (*x.shape, old // new))
    elif old < new:
        if not x.shape or x.shape[-1] != new // old:
            if et.is_float(x.element):
                return
            x = s.of(x.element, (*x.shape[:-1], new // old))
        s.emit("bitcast_convert", [x], element, x.shape[:-1])


OPS = {
    unary: 6, function: 4, binary: 10, inexact_binary: 2, integer_division: 2, integer_power: 1, compare: 4, select: 4,
    clamp: 2, conversion: 8, is_finite: 1, complex_parts: 3, reduce_precision: 2, bitcast: 3,
}  # fmt: skip
