"""Bodies of reductions in random programs, and how far evaluators may differ in their results.

Enters: a scope and an element type. Leaves: a `Reducer`. All bodies are associative, most are commutative too.
"""

from dataclasses import dataclass

from . import element_types as et
from .element_types import tensor
from .elementwise_ops import comparison


@dataclass(frozen=True)
class Reducer:
    """Elements of the operands, numbers to begin with (None: any), the region, and the kind of error."""

    elements: tuple[str, ...]
    inits: tuple
    region: str
    kind: str = "exact"


def region(elements, lines, results, arguments="lr"):
    """A region over scalars: arguments %l0, %l1, …, %r0, …; lines without their types filled in."""
    given = ", ".join(f"%{side}{i}: {tensor((), e)}" for side in arguments for i, e in enumerate(elements))
    made = ", ".join(tensor((), e) for e in elements)
    body = "\n    ".join(lines)
    return f"({{\n  ^bb0({given}):\n    {body}\n    stablehlo.return {', '.join(results)} : {made}\n  }})"


def _op(name, result, operands, element):
    kind = tensor((), element)
    return f'{result} = "stablehlo.{name}"({", ".join(operands)}) : ({", ".join([kind] * len(operands))}) -> {kind}'


def single(element, name):
    """A reduction by one op."""
    kind = "exact"
    if name in ("add", "multiply") and (et.is_float(element) or element in et.COMPLEX):
        kind = "sum" if name == "add" else "product"
    lines = [_op(name, "%x", ["%l0", "%r0"], element)]
    return Reducer((element,), (None,), region((element,), lines, ["%x"]), kind)


def names_for(element):
    """Ops that reduce numbers of an element type."""
    if element == "i1":
        return ("and", "or", "xor")
    if element in et.COMPLEX:
        # Products of parts that are out of range on the way are NaN in one order and none in another.
        return ("add",)
    if et.is_float(element):
        return ("add", "maximum", "minimum", "multiply")
    return ("add", "maximum", "minimum", "multiply", "and", "or", "xor")


def arg_max(element, index, direction):
    """Value and position; ties go to the lower position."""
    flag, kind = tensor((), "i1"), tensor((), element)
    place = tensor((), index)
    lines = [
        f'%b = "stablehlo.compare"(%l0, %r0) {{{comparison(direction, element)}}} : ({kind}, {kind}) -> {flag}',
        f'%n = "stablehlo.compare"(%l0, %l0) {{{comparison("NE", element)}}} : ({kind}, {kind}) -> {flag}',
        f'%e = "stablehlo.compare"(%l0, %r0) {{{comparison("EQ", element)}}} : ({kind}, {kind}) -> {flag}',
        f'%i = "stablehlo.compare"(%l1, %r1) {{{comparison("LT", index)}}} : ({place}, {place}) -> {flag}',
        f"%o = stablehlo.or %b, %n : {flag}",
        f"%a = stablehlo.and %e, %i : {flag}",
        f"%s = stablehlo.or %o, %a : {flag}",
        f"%x = stablehlo.select %o, %l0, %r0 : {flag}, {kind}",
        f"%y = stablehlo.select %s, %l1, %r1 : {flag}, {place}",
    ]
    low = float("-inf") if direction == "GT" else float("inf")
    return Reducer((element, index), (low, 0), region((element, index), lines, ["%x", "%y"]))


def extremes(first, second):
    """Two results: the least of one operand, the greatest of another, in one region."""
    lines = [_op("minimum", "%x", ["%r0", "%l0"], first), _op("maximum", "%y", ["%l1", "%r1"], second)]
    return Reducer((first, second), (None, None), region((first, second), lines, ["%x", "%y"]))


def joined(element):
    """a + b + a*b of integers, which is associative."""
    lines = [
        _op("multiply", "%m", ["%l0", "%r0"], element), _op("add", "%s", ["%l0", "%r0"], element),
        _op("add", "%x", ["%m", "%s"], element),
    ]  # fmt: skip
    return Reducer((element,), (0,), region((element,), lines, ["%x"]))


def product_of_complex(element):
    """Pairs of integers multiplied as complex numbers: each result reads both operands."""
    lines = [
        _op("multiply", "%a", ["%l0", "%r0"], element), _op("multiply", "%b", ["%l1", "%r1"], element),
        _op("multiply", "%c", ["%l0", "%r1"], element), _op("multiply", "%d", ["%l1", "%r0"], element),
        _op("subtract", "%x", ["%a", "%b"], element), _op("add", "%y", ["%c", "%d"], element),
    ]  # fmt: skip
    return Reducer((element, element), (1, 0), region((element, element), lines, ["%x", "%y"]))


def affine(element):
    """Functions x*a + b of integers, one after the other: associative, but not commutative."""
    lines = [
        _op("multiply", "%x", ["%l0", "%r0"], element), _op("multiply", "%m", ["%l1", "%r0"], element),
        _op("add", "%y", ["%m", "%r1"], element),
    ]  # fmt: skip
    return Reducer((element, element), (1, 0), region((element, element), lines, ["%x", "%y"]))


def selected(element, direction):
    """The lesser or greater, spelled as a comparison and a selection."""
    flag, kind = tensor((), "i1"), tensor((), element)
    lines = [
        f'%b = "stablehlo.compare"(%l0, %r0) {{{comparison(direction, element)}}} : ({kind}, {kind}) -> {flag}',
        f"%x = stablehlo.select %b, %l0, %r0 : {flag}, {kind}",
    ]
    return Reducer((element,), (None,), region((element,), lines, ["%x"]))


def draw(c, element, several=True, ordered=False):
    """A random reducer whose first operand has an element type."""
    kind = c.integer(0, 8)
    integer = element in et.INTEGERS
    if several and kind == 1 and (et.is_float(element) or integer):
        made = arg_max(element, c.pick(("i32", "i64", "ui8")), c.pick(("GT", "LT")))
        return made if et.is_float(element) else Reducer(made.elements, (None, 0), made.region)
    if several and kind == 2 and (et.is_float(element) or integer):
        return extremes(element, c.pick(("f32", "i32", "i8", "ui16")))
    if kind == 3 and integer:
        return joined(element)
    if several and kind == 4 and integer:
        return product_of_complex(element)
    if several and ordered and kind == 5 and integer:
        return affine(element)
    if kind == 6 and integer:
        return selected(element, c.pick(("LT", "GE")))
    return single(element, c.pick(names_for(element)))
