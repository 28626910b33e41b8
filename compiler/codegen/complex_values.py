"""Complex numbers as two values.

Enters: values that are `LoopValue`s or, for complex elements, `Complex` pairs of them. Leaves: the few operations that
code generation does on whole elements, part by part. Arithmetic on complex numbers is written out in the program as
float ops on their parts; in memory the parts lie side by side, so a complex buffer is one of floats, twice as long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..ir.core import Operation
from ..ir.types import ComplexType
from .elements import element_name
from .loops import KernelBuilder, Value, vector


class Complex:
    """A complex value: its real and imaginary part."""

    __slots__ = ("im", "re")

    def __init__(self, re: Value, im: Value):
        self.re, self.im = re, im

    @property
    def lanes(self) -> int:
        return max(self.re.lanes, self.im.lanes)


Element = Value | Complex


def is_complex(type) -> bool:
    """Whether a scalar type, or a tensor's element type, is complex."""
    return isinstance(getattr(type, "element_type", type), ComplexType) or isinstance(type, ComplexType)


def part_element(type) -> str:
    """The loop IR element that memory of a type holds."""
    if not is_complex(type):
        return element_name(type)
    type = type if isinstance(type, ComplexType) else type.element_type
    return element_name(type.element_type)


def parts_of(value: Element) -> tuple[Value, ...]:
    return (value.re, value.im) if value.__class__ is Complex else (value,)


def from_parts(type, parts: Sequence[Value]) -> Element:
    """The element of a type from its parts."""
    return Complex(*parts) if is_complex(type) else parts[0]


def part_count(type) -> int:
    return 2 if is_complex(type) else 1


def all_parts(values: Sequence[Element]) -> list[Value]:
    """The parts of several values, as loops carry them."""
    return [part for value in values for part in parts_of(value)]


def elements_of_parts(types: Sequence, parts: Sequence[Value]) -> list[Element]:
    """Several values from all their parts."""
    elements, at = [], 0
    for type in types:
        count = part_count(type)
        elements.append(from_parts(type, parts[at : at + count]))
        at += count
    return elements


def by_parts(function: Callable[..., Value], *values: Element) -> Element:
    """Applies a function to the real parts and to the imaginary ones; a plain value goes into both."""
    if not any(v.__class__ is Complex for v in values):
        return function(*values)
    return Complex(
        function(*[v.re if v.__class__ is Complex else v for v in values]),
        function(*[v.im if v.__class__ is Complex else v for v in values]),
    )


def constant(builder: KernelBuilder, number: complex | float | int, type) -> Element:
    """A number as an element of a type."""
    kind = vector(part_element(type))
    if not is_complex(type):
        return builder.const(number, kind)
    number = complex(number)
    return Complex(builder.const(number.real, kind), builder.const(number.imag, kind))


def stand_in(builder: KernelBuilder, type) -> Element:
    """A value that nothing computes, for a survey."""
    kind = vector(part_element(type))
    return from_parts(type, [builder.stand_in(kind) for _ in range(part_count(type))])


def emit_complex_op(op: Operation, operands: Sequence[Element]) -> Element | None:
    """complex.create, re and im; None for other ops."""
    if op.name == "complex.create":
        return Complex(*operands)
    if op.name == "complex.re":
        return operands[0].re
    if op.name == "complex.im":
        return operands[0].im
    return None
