"""Type converters: which types a conversion leaves, and how values cross between old and new ones.

What enters: rules, one for each kind of type. What leaves: for a type the types that stand for it (one, several or
none), and casts between the two sides where a value is needed in both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pyiree.compiler.ir import registry
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Operation, Region, Value
from pyiree.compiler.ir.diagnostics import ConversionError
from pyiree.compiler.ir.location import Location
from pyiree.compiler.ir.types import FunctionType, Type

Rule = Callable[[Any], "Type | Sequence[Type] | None"]
Materialize = Callable[[Builder, Sequence[Type], Sequence[Value], Location], "Sequence[Value] | None"]


def make_cast(builder: Builder, types: Sequence[Type], values: Sequence[Value], location: Location) -> list[Value]:
    """Values as values of other types by `builtin.unrealized_conversion_cast`."""
    cast_class: Any = registry.lookup_operation("builtin.unrealized_conversion_cast")
    if cast_class is None:
        raise ConversionError("a conversion needs the builtin dialect to be registered", location)
    cast = cast_class(list(values), outputs=list(types), location=location)
    return list(builder.insert(cast).results)


class TypeConverter:
    """Rules from types to types; those added later are asked first. A type that no rule takes stays as it is."""

    def __init__(self) -> None:
        self._rules: list[tuple[Any, Rule]] = []
        self._cache: dict[Type, tuple[Type, ...]] = {}
        self._source: list[Materialize] = []
        self._target: list[Materialize] = []

    def add(self, kind: Any, rule: Rule) -> TypeConverter:
        """A rule for types of a class (or tuple of classes): a type, a list of types, or None for "not mine"."""
        self._rules.insert(0, (kind, rule))
        self._cache.clear()
        return self

    def add_source_materialization(self, make: Materialize) -> None:
        """How new values are turned back into an old type where something unconverted still reads it."""
        self._source.insert(0, make)

    def add_target_materialization(self, make: Materialize) -> None:
        """How old values are turned into new types where something converted reads them."""
        self._target.insert(0, make)

    def convert(self, type: Type) -> tuple[Type, ...]:
        """The types that stand for `type`."""
        found = self._cache.get(type)
        if found is None:
            found = self._cache[type] = self._apply(type)
        return found

    def _apply(self, type: Type) -> tuple[Type, ...]:
        for kind, rule in self._rules:
            if isinstance(type, kind):
                result = rule(type)
                if result is not None:
                    return (result,) if isinstance(result, Type) else tuple(result)
        return (type,)

    def convert_one(self, type: Type) -> Type:
        """The one type that stands for `type`; an error if there are several."""
        types = self.convert(type)
        if len(types) != 1:
            raise ValueError(f"{type} becomes {len(types)} types, where one is needed")
        return types[0]

    def convert_types(self, types: Iterable[Type]) -> list[Type]:
        """All types that stand for a list of types, in one list."""
        return [new for old in types for new in self.convert(old)]

    def convert_function_type(self, type: FunctionType) -> FunctionType:
        """A function type with inputs and results converted."""
        return FunctionType(self.convert_types(type.inputs), self.convert_types(type.results))

    def is_legal(self, thing: Any) -> bool:
        """Whether a type, the types of an op, or those of a region's arguments stay as they are."""
        if isinstance(thing, Operation):
            return all(self.is_legal(v.type) for v in (*thing.operands, *thing.results))
        if isinstance(thing, Region):
            return all(self.is_legal(a.type) for block in thing.blocks for a in block.arguments)
        if isinstance(thing, FunctionType):
            return all(self.is_legal(t) for t in (*thing.inputs, *thing.results))
        return self.convert(thing) == (thing,)

    def to_source(self, builder: Builder, type: Type, values: Sequence[Value], location: Location) -> Value:
        """New values as one value of the old type."""
        if len(values) == 1 and values[0].type is type:
            return values[0]
        for make in self._source:
            made = make(builder, (type,), values, location)
            if made is not None:
                return made[0]
        return make_cast(builder, (type,), values, location)[0]

    def to_target(
        self, builder: Builder, types: Sequence[Type], values: Sequence[Value], location: Location
    ) -> list[Value]:
        """Old values as values of the new types."""
        if tuple(types) == tuple(v.type for v in values):
            return list(values)
        for make in self._target:
            made = make(builder, types, values, location)
            if made is not None:
                return list(made)
        return make_cast(builder, types, values, location)
