"""Text of types, attributes and locations.

What enters: types and attributes. What leaves: MLIR text. The plain `AttributePrinter` writes everything in full;
`printer.Printer` derives from it and puts aliases in place of affine maps and whatever else asks for one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pyiree.compiler.ir.quoting import is_bare_identifier, quote

if TYPE_CHECKING:
    from pyiree.compiler.ir.attributes import Attribute
    from pyiree.compiler.ir.location import Location
    from pyiree.compiler.ir.types import Type


class AttributePrinter:
    """Writes types and attributes; `alias_uses` counts what was written as an alias."""

    #: Constants of more elements than this are left out, or None to print everything.
    elide_limit: int | None = None

    def __init__(self) -> None:
        self.alias_uses = 0

    def alias_of(self, thing: Any) -> str | None:
        """The alias to write instead of a type or attribute, or None."""
        return None

    def type_text(self, type: Type) -> str:
        """The text of a type."""
        if type._text is not None:
            return type._text
        return self.text_of(type)

    def attr_text(self, attribute: Attribute) -> str:
        """The text of an attribute, with its type."""
        if attribute._text is not None and not attribute.alias:
            return attribute._text
        return self.text_of(attribute)

    def text_of(self, thing: Any) -> str:
        """The text of a type or attribute, kept with it unless it depends on this printer."""
        if thing.alias:
            alias = self.alias_of(thing)
            if alias is not None:
                self.alias_uses += 1
                return alias
        before = self.alias_uses
        text = thing.text(self)
        if self.alias_uses == before and len(text) < 4096:
            thing._text = text
        return text

    def attr_text_elided(self, attribute: Attribute) -> str:
        """The text of an attribute where i64 and f64 are understood, as in arrays."""
        text = attribute.default_typed_text()
        return self.attr_text(attribute) if text is None else text

    def entry_text(self, name: str, attribute: Attribute, elided: bool = False) -> str:
        """`name = value`, or only the name for a unit attribute; `elided` leaves out the types i64 and f64."""
        key = name if is_bare_identifier(name) else quote(name)
        if attribute.is_unit:
            return key
        return f"{key} = {self.attr_text_elided(attribute) if elided else self.attr_text(attribute)}"

    def dict_text(self, items: Iterable[tuple[str, Attribute]]) -> str:
        """`{a = 1 : i32, b}` of entries in the order given."""
        return "{" + ", ".join([self.entry_text(name, attribute) for name, attribute in items]) + "}"

    def types_text(self, types: Iterable[Type]) -> str:
        """Comma separated types."""
        return ", ".join([self.type_text(t) for t in types])

    def location_text(self, location: Location) -> str:
        """The text of a location inside another one."""
        return location.body(self)


