"""What types and attributes have in common: parameters, interning, text.

What enters: a class and its parameters. What leaves: one object for each distinct value.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pyiree.compiler.ir.attribute_printer import AttributePrinter


def intern(cls: type, key: tuple) -> Any:
    """The one object of `cls` whose parameters are `key`."""
    table = cls._table  # type: ignore[attr-defined]
    found = table.get(key)
    if found is None:
        found = object.__new__(cls)
        found._text = None
        for name, value in zip(cls.parameters, key):  # type: ignore[attr-defined]
            setattr(found, name, value)
        # setdefault is atomic, so two threads that race here still agree on one object.
        found = table.setdefault(key, found)
    return found


class Interned:
    """Base of types and attributes. A class names its own `parameters`, in order, and makes them its slots.

    `_text` caches the printed form once it is known not to depend on aliases.
    """

    __slots__ = ("__weakref__", "_text")
    parameters: ClassVar[tuple[str, ...]] = ()
    #: The name under which the printer hoists it as `#name` (`!name` for types), or "" to write it in place.
    alias: ClassVar[str] = ""
    _table: ClassVar[dict[tuple, Any]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.parameters = cls.__mro__[1].parameters + tuple(cls.__dict__.get("parameters", ()))
        cls._table = {}

    def text(self, printer: Any) -> str:
        """The MLIR text; `printer` resolves nested types, attributes and aliases."""
        raise NotImplementedError

    def __str__(self) -> str:
        if self._text is None:
            return AttributePrinter().text_of(self)
        return self._text

    def __repr__(self) -> str:
        return str(self)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __reduce__(self) -> Any:
        return (intern, (type(self), tuple(getattr(self, name) for name in self.parameters)))
