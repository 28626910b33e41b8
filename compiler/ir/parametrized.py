"""Types and attributes that dialects declare.

What enters: `class ResourceType(DialectType, name="stream.resource")` with annotated parameters and, where the
default `<a, b>` does not fit, a `format` string or `print_parameters`/`parse_parameters` methods. What leaves: an
interned class that prints as `!stream.resource<…>` and parses itself.

Parameters may be `Type`, `Attribute` (or subclasses), `int`, `str` (quoted), `Keyword` (a bare word), `bool`,
`tuple[X, ...]` of these, or `X | None`. Enumerations derive from `EnumAttr`.
"""

from __future__ import annotations

import sys
from typing import Any, ClassVar

from pyiree.compiler.ir import parameter_format, registry
from pyiree.compiler.ir.attributes import Attribute, IntegerAttr
from pyiree.compiler.ir.fields import AttrSpec
from pyiree.compiler.ir.interned import Interned, intern
from pyiree.compiler.ir.parameters import Keyword, parameter_text, parse_parameter
from pyiree.compiler.ir.types import Type

__all__ = ["BitEnumAttr", "DialectAttr", "DialectType", "EnumAttr", "IntEnumSpec", "Keyword", "int_enum"]


class _ParametrizedMeta(type):
    """Turns annotated parameters into the slots of the class."""

    def __new__(
        mcs, class_name: str, bases: tuple, namespace: dict[str, Any], name: str | None = None, **kwargs: Any
    ) -> Any:
        annotations = {k: v for k, v in namespace.get("__annotations__", {}).items() if "ClassVar" not in str(v)}
        defaults = {k: namespace.pop(k) for k in annotations if k in namespace}
        namespace["__slots__"] = namespace["parameters"] = tuple(annotations)
        namespace["_annotations"] = annotations
        inherited = [getattr(base, "_defaults", {}) for base in reversed(bases)]
        namespace["_defaults"] = {k: v for entries in (*inherited, defaults) for k, v in entries.items()}
        if name is not None:
            namespace["mnemonic"] = name
        cls = super().__new__(mcs, class_name, bases, namespace, **kwargs)
        if name is not None:
            if issubclass(cls, Type):
                registry.announce_type(name, cls)
            else:
                registry.announce_attribute(name, cls)
        return cls

    def __init__(cls, class_name: str, bases: tuple, namespace: dict[str, Any], **kwargs: Any) -> None:
        super().__init__(class_name, bases, namespace)


class _Parametrized(Interned, metaclass=_ParametrizedMeta):
    """What dialect types and attributes have in common."""

    mnemonic: ClassVar[str] = ""
    format: ClassVar[str | None] = None
    _kinds: ClassVar[dict[str, Any] | None] = None
    _format_elements: ClassVar[Any] = None
    _sigil: ClassVar[str] = ""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        names = cls.parameters
        if len(args) != len(names) or kwargs:
            values = dict(zip(names, args))
            if len(args) > len(names) or not kwargs.keys().isdisjoint(values) or not kwargs.keys() <= set(names):
                raise TypeError(f"{cls.__name__} takes the parameters {', '.join(names)}")
            values.update(kwargs)
            defaults = cls._defaults  # type: ignore[attr-defined]
            try:
                args = tuple([values[n] if n in values else defaults[n] for n in names])
            except KeyError as missing:
                raise TypeError(f"{cls.__name__}: parameter '{missing.args[0]}' is missing") from None
        args = tuple([tuple(a) if isinstance(a, list) else a for a in args])
        known = cls._table.get(args)
        if known is not None:
            return known
        made = object.__new__(cls)
        made._text = None
        for name, value in zip(names, args):
            setattr(made, name, value)
        made.verify()
        return cls._table.setdefault(args, made)

    def verify(self) -> None:
        """Raises ValueError if the parameters do not fit; called once for each distinct object."""

    @classmethod
    def kinds(cls) -> dict[str, Any]:
        """For each parameter the annotation, evaluated."""
        if "_kinds" not in cls.__dict__:
            kinds: dict[str, Any] = {}
            for base in reversed(cls.__mro__):
                for name, annotation in base.__dict__.get("_annotations", {}).items():
                    if isinstance(annotation, str):
                        annotation = eval(annotation, vars(sys.modules[base.__module__]))
                    kinds[name] = annotation
            cls._kinds = kinds
        return cls._kinds  # type: ignore[return-value]

    def text(self, printer: Any) -> str:
        body = self.print_parameters(printer)
        return f"{self._sigil}{self.mnemonic}{body}"

    def print_parameters(self, printer: Any) -> str:
        """What follows the mnemonic."""
        if type(self).format is not None:
            return parameter_format.print_parameters(self, printer)
        if not self.parameters:
            return ""
        kinds = self.kinds()
        parts = [parameter_text(kinds[name], getattr(self, name), printer) for name in self.parameters]
        while parts and parts[-1] is None:
            parts.pop()
        return f"<{', '.join(['' if p is None else p for p in parts])}>" if parts else ""

    @classmethod
    def parse(cls, parser: Any) -> Any:
        """Reads what follows the mnemonic."""
        position = parser.start
        parsed = cls.parse_parameters(parser)
        if isinstance(parsed, cls):
            return parsed
        try:
            return cls(*parsed)
        except ValueError as error:
            raise parser.error_at(position, str(error)) from error

    @classmethod
    def parse_parameters(cls, parser: Any) -> Any:
        """The parameters (or the finished object) read from what follows the mnemonic."""
        if cls.format is not None:
            return parameter_format.parse_parameters(cls, parser)
        if not cls.parameters:
            return ()
        defaults = cls._defaults  # type: ignore[attr-defined]
        if not parser.parse_optional("<"):
            if all(name in defaults for name in cls.parameters):
                return tuple([defaults[name] for name in cls.parameters])
            parser.fail_expected("'<'")
        values = []
        kinds = cls.kinds()
        for i, name in enumerate(cls.parameters):
            if parser.at(">") and name in defaults:
                values.append(defaults[name])
                continue
            if i:
                parser.parse_punctuation(",")
            values.append(parse_parameter(kinds[name], parser))
        parser.parse_punctuation(">")
        return values


class DialectType(_Parametrized, Type):
    """Base of types declared by dialects."""

    _sigil = "!"


class DialectAttr(_Parametrized, Attribute):
    """Base of attributes declared by dialects. In op formats `$field` writes only the parameters."""

    _sigil = "#"

    @classmethod
    def field_spec(cls) -> AttrSpec:
        """How `Attr[ThisClass]` behaves as a field of an op."""
        return AttrSpec(cls, False, None, None, "stripped", cls)


class EnumAttr(_Parametrized, Attribute):
    """An attribute that is one word of `cases`; `#dialect.name<word>`.

    In op formats `$field` writes `<word>`, or the bare word if the class says `bare = True`. Fields read and take the
    word as a str.
    """

    _sigil = "#"
    value: str
    cases: ClassVar[tuple[str, ...]] = ()
    bare: ClassVar[bool] = False

    def verify(self) -> None:
        if self.value not in self.cases:
            raise ValueError(f"'{self.value}' is not one of {', '.join(self.cases)}")

    def print_parameters(self, printer: Any) -> str:
        return f"<{self.value}>"

    @classmethod
    def parse_parameters(cls, parser: Any) -> Any:
        parser.parse_punctuation("<")
        value = cls.parse_word(parser)
        parser.parse_punctuation(">")
        return (value,)

    @classmethod
    def parse_word(cls, parser: Any) -> str:
        """The bare word."""
        return parser.parse_one_of(cls.cases, cls.mnemonic)

    @classmethod
    def field_spec(cls) -> AttrSpec:
        """How `Attr[ThisClass]` behaves as a field of an op."""
        return AttrSpec(cls, False, lambda a: a.value, cls, "keyword" if cls.bare else "stripped", cls)


class BitEnumAttr(EnumAttr):
    """Any subset of `cases` (without the first, which names the empty set); words are joined by `, `."""

    def __new__(cls, value: str) -> Any:
        words = [w.strip() for w in str(value).split(",")]
        # One order for each set, so that equal sets are one object.
        ordered = [c for c in cls.cases if c in words]
        unknown = [w for w in words if w not in cls.cases]
        if unknown:
            raise ValueError(f"'{unknown[0]}' is not one of {', '.join(cls.cases)}")
        if len(ordered) > 1:
            ordered = [w for w in ordered if w != cls.cases[0]]
        return intern(cls, (",".join(ordered),))

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the set."""
        return tuple(w for w in self.value.split(",") if w != self.cases[0])

    def print_parameters(self, printer: Any) -> str:
        return f"<{self.value.replace(',', ', ')}>"

    @classmethod
    def parse_word(cls, parser: Any) -> str:
        words = [parser.parse_one_of(cls.cases, cls.mnemonic)]
        while parser.parse_optional(",") or parser.parse_optional("|"):
            words.append(parser.parse_one_of(cls.cases, cls.mnemonic))
        return ",".join(words)


def int_enum(description: str, cases: dict[str, int], value_type: Type) -> AttrSpec:
    """An integer attribute whose values have names (`arith.cmpi`'s predicate): reads as the name."""
    names = {number: name for name, number in cases.items()}

    def from_name(name: str) -> Attribute:
        if name not in cases:
            raise ValueError(f"'{name}' is not a {description} ({', '.join(cases)})")
        return IntegerAttr(cases[name], value_type)

    spec = AttrSpec(IntegerAttr, False, lambda a: names[a.value], from_name, "int_enum", value_type)
    return IntEnumSpec(spec, cases, description)


class IntEnumSpec(AttrSpec):
    """The field specification that `int_enum` makes; keeps the names for the format engine."""

    __slots__ = ("cases", "description")

    def __init__(self, spec: AttrSpec, cases: dict[str, int], description: str) -> None:
        super().__init__(spec.attr_class, False, spec.to_python, spec.from_python, spec.style, spec.value_type)
        self.cases = cases
        self.description = description

    def as_optional(self) -> AttrSpec:
        copy = IntEnumSpec(self, self.cases, self.description)
        copy.optional = True
        return copy
