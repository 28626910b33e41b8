"""jaxlib's types, attributes, constants and locations as ours.

Enters: jaxlib MLIR objects. Leaves: shapes, `Element`s, Python values, our locations, and constants whose bytes
are a view of jaxlib's where their format allows it (no copy, whatever their size). Everything that repeats is read
once: types and locations by identity of the MLIR object.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pyiree.compiler.input import jaxlib_mlir
from pyiree.compiler.input.elements import COMPLEX, FLOAT, Element, element
from pyiree.compiler.input.sizes import Size, type_shape
from pyiree.compiler.ir.attribute_parser import AttributeParser
from pyiree.compiler.ir.attributes import ArrayAttr, Attribute, FloatAttr, IntegerAttr
from pyiree.compiler.ir.core import Value
from pyiree.compiler.ir.dense import DenseElementsAttr
from pyiree.compiler.ir.lexer import Source
from pyiree.compiler.ir.location import (
    UNKNOWN,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    Location,
    NameLoc,
    visit_parts_first,
)
from pyiree.compiler.ir.types import TensorType
from pyiree.runtime.vmfb.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Shaped:
    """A StableHLO tensor type: shape, element, and our tensor type.

    A dynamic dim is a `Size` in the shape of a value, and None in what the reader reads.
    """

    shape: tuple[Any, ...]
    element: Element
    type: TensorType

    @classmethod
    def of(cls, shape: Sequence[int | Size], element: Element) -> Shaped:
        """The tensor type of a value's shape."""
        return cls(tuple(shape), element, TensorType(type_shape(shape), element.type))

    @property
    def sizes(self) -> tuple[Value, ...]:
        """The dynamic dims, in order."""
        return () if self.type.has_static_shape else tuple([n.value for n in self.shape if isinstance(n, Size)])


class SourceReader:
    """Reads types and locations of one jaxlib module, each distinct one once."""

    def __init__(self) -> None:
        self._shaped: dict[Any, Shaped | None] = {}
        self._locations: dict[Any, Location] = {}

    def shaped(self, type: Any) -> Shaped | None:
        """The tensor type, or None for what is no ranked tensor (tokens, tuples)."""
        found = self._shaped.get(type, self)
        if found is not self:
            return found
        read = self._read_shaped(type)
        self._shaped[type] = read
        return read

    def _read_shaped(self, type: Any) -> Shaped | None:
        ir = jaxlib_mlir.mlir()
        if not isinstance(type, ir.RankedTensorType):
            return None
        spelling = str(type.element_type)
        if spelling.startswith("!"):
            return None
        kind = element(spelling)
        shape = tuple(None if type.is_dynamic_dim(i) else n for i, n in enumerate(type.shape))
        return Shaped(shape, kind, TensorType(shape, kind.type))

    def location(self, location: Any) -> Location:
        """Our location for one of jaxlib's."""
        found = self._locations.get(location.attr)
        if found is None:
            visit_parts_first(location, self._missing_parts, self._add_location)
            found = self._locations[location.attr]
        return found

    def _missing_parts(self, location: Any) -> list[Any]:
        ir = jaxlib_mlir.mlir()
        parts: list[Any] = []
        if isinstance(location, ir.NameLoc):
            parts = [location.child_loc]
        elif isinstance(location, ir.CallSiteLoc):
            parts = [location.callee, location.caller]
        elif isinstance(location, ir.FusedLoc):
            parts = location.locations
        return [part for part in parts if part.attr not in self._locations]

    def _add_location(self, location: Any) -> None:
        ir, known = jaxlib_mlir.mlir(), self._locations
        read: Location = UNKNOWN
        if isinstance(location, ir.NameLoc):
            read = NameLoc(location.name_str, known[location.child_loc.attr])
        elif isinstance(location, ir.CallSiteLoc):
            read = CallSiteLoc(known[location.callee.attr], known[location.caller.attr])
        elif isinstance(location, ir.FileLineColLoc):
            read = FileLineColLoc(location.filename, location.start_line, location.start_col)
        elif isinstance(location, ir.FusedLoc):
            read = FusedLoc([known[part.attr] for part in location.locations])
        known[location.attr] = read


class PlacedReader(SourceReader):
    """Reads a module that the compiler wrote, all of it at one place of the user's program."""

    def __init__(self, place: Location) -> None:
        super().__init__()
        self._place = place

    def location(self, location: Any) -> Location:
        return self._place


def read_constant(op: Any, shaped: Shaped) -> tuple[Attribute | None, np.ndarray | None]:
    """The value of a `stablehlo.constant`: (scalar attribute of a splat, None) or (None, array).

    Arrays of types that NumPy lacks (bf16, f8) come as unsigned integers of their width, bools as uint8, complex
    numbers as complex, sub-byte integers one a byte.
    """
    try:
        value = op.attributes["value"]
        if value.is_splat:
            return _splat(value, shaped.element), None
        return None, _storage(np.asarray(memoryview(value)), shaped.element)
    except (TypeError, BufferError, AttributeError):
        # Complex, bf16, f8, sub-byte and resource constants have no buffer in jaxlib's bindings.
        return _from_text(op.get_asm(print_generic_op_form=True, enable_debug_info=False), shaped)


def _storage(array: np.ndarray, kind: Element) -> np.ndarray:
    return array.view(np.uint8) if array.dtype == np.bool_ else array


def _splat(value: Any, kind: Element) -> Attribute:
    scalar = value.get_splat_value()
    if kind.kind != FLOAT:
        return IntegerAttr(int(scalar.value), kind.type)
    try:
        # The bits, not the number: a NaN keeps its payload.
        raw = bytes(np.asarray(memoryview(value)).reshape(-1)[:1])
    except (BufferError, ValueError):
        return FloatAttr(scalar.value, kind.type)
    return FloatAttr.from_bits(int.from_bytes(raw, "little"), kind.type) if raw else FloatAttr(0.0, kind.type)


def _from_text(text: str, shaped: Shaped) -> tuple[Attribute | None, np.ndarray | None]:
    """The value of a constant op from its text, which is short or hex."""
    begin, end = text.index("dense<"), text.rindex("> : tensor<")
    literal = f"{text[begin:end]}> : {shaped.type}"
    dense = AttributeParser(Source(literal, "<constant>")).parse_attribute()
    if not isinstance(dense, DenseElementsAttr):
        raise ValueError(f"a constant of {shaped.type} that is no dense literal")
    if not dense.is_splat:
        return None, dense.data
    if shaped.element.kind == COMPLEX:
        part = shaped.element.type.element_type  # type: ignore[attr-defined]
        number = dense.data[0]
        return ArrayAttr([FloatAttr(float(number.real), part), FloatAttr(float(number.imag), part)]), None
    return dense.splat_value(), None
