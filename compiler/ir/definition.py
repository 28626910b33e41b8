"""Declared ops: a class whose annotations say operands, attributes, regions, successors and results.

What enters: `class AddFOp(Op, name="arith.addf")` with annotated fields, `traits`, and a `format` string or
`print`/`parse` methods. What leaves: an op class with accessors for its fields, a constructor with the fields as
parameters (operands first, then attributes, successors and regions, each in order of declaration; results by
`<field>=type` or `result_types=`), a verifier of the declaration, printer and parser.

A field named `in_` stands for the MLIR name `in`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, ClassVar

from pyiree.compiler.ir import registry
from pyiree.compiler.ir.attributes import Attribute
from pyiree.compiler.ir.constraints import AnyType
from pyiree.compiler.ir.core import Block, Operation, OpResult, Region, Value
from pyiree.compiler.ir.diagnostics import CompileError, VerifyError
from pyiree.compiler.ir.fields import (
    ONE,
    OPTIONAL,
    VARIADIC,
    Attr,
    AttrSpec,
    RegionField,
    RegionSpec,
    SuccessorSpec,
    ValueSpec,
    _ValueField,
)
from pyiree.compiler.ir.location import UNKNOWN, Location
from pyiree.compiler.ir.traits import SameOperandsAndResultType, Symbol, Trait
from pyiree.compiler.ir.types import Type


class ValueField:
    """A declared operand or result group."""

    __slots__ = ("arity", "constraint", "name", "position", "python_name")

    def __init__(self, python_name: str, spec: ValueSpec, position: int) -> None:
        self.python_name = python_name
        self.name = python_name.rstrip("_")
        self.constraint = spec.constraint
        self.arity = spec.arity
        self.position = position


class AttrField:
    """A declared attribute; `default` is filled in where none is given."""

    __slots__ = ("default", "name", "python_name", "spec")

    def __init__(self, python_name: str, spec: AttrSpec, default: Attribute | None) -> None:
        self.python_name = python_name
        self.name = python_name.rstrip("_")
        self.spec = spec
        self.default = default

    def convert(self, value: Any) -> Attribute | None:
        """The attribute for a Python value (attributes pass through)."""
        if value is None or isinstance(value, Attribute):
            return value
        if self.spec.from_python is None:
            raise TypeError(f"attribute '{self.name}' takes an attribute, not {type(value).__name__}")
        return self.spec.from_python(value)


class RegionOrSuccessorField:
    """A declared region or successor."""

    __slots__ = ("name", "position", "python_name", "variadic")

    def __init__(self, python_name: str, variadic: bool, position: int) -> None:
        self.python_name = python_name
        self.name = python_name.rstrip("_")
        self.variadic = variadic
        self.position = position


class OpDefinition:
    """The declaration of an op class, as lists of fields."""

    def __init__(self, op_name: str) -> None:
        self.op_name = op_name
        self.operands: list[ValueField] = []
        self.results: list[ValueField] = []
        self.attributes: list[AttrField] = []
        self.regions: list[RegionOrSuccessorField] = []
        self.successors: list[RegionOrSuccessorField] = []

    def finish(self) -> None:
        """Computes what the constructor, parser and verifier look up."""
        self.operands_simple = all(f.arity == ONE for f in self.operands)
        self.results_simple = all(f.arity == ONE for f in self.results)
        self.segmented_operands = sum(f.arity != ONE for f in self.operands) > 1
        self.segmented_results = sum(f.arity != ONE for f in self.results) > 1
        self.attribute_by_name = {f.name: f for f in self.attributes}
        self.by_name: dict[str, Any] = {
            f.name: f for f in (*self.operands, *self.results, *self.attributes, *self.regions, *self.successors)
        }
        self.positional = [
            f.python_name for f in (*self.operands, *self.attributes, *self.successors, *self.regions)
        ]
        self.result_names = [f.python_name for f in self.results]
        only = [f.constraint.only for f in self.results]
        #: How many operands an op has that needs nothing else from its constructor; -1 if it does.
        self.plain_operands = len(self.operands)
        if not self.operands_simple or self.regions or self.successors:
            self.plain_operands = -1
        if any(f.default is None and not f.spec.optional for f in self.attributes):
            self.plain_operands = -1
        self.default_properties = {f.name: f.default for f in self.attributes if f.default is not None}
        self.same_result_type = False
        self.known_result_types = only if self.results_simple and None not in only else None


def _value_getter(fields: list[ValueField], field: ValueField, slot: str) -> Callable[[Any], Any]:
    """Reads one group from the flat tuple in `slot`."""
    position, before, after = field.position, fields[: field.position], fields[field.position + 1 :]
    values_of = attrgetter(slot)
    segments = "operand_segments" if slot == "_operands" else "result_segments"
    if all(f.arity == ONE for f in before):
        if field.arity == ONE:
            return lambda op: values_of(op)[position]
        if all(f.arity == ONE for f in after):
            tail = len(after)
            if field.arity == VARIADIC:
                return lambda op: values_of(op)[position : len(values_of(op)) - tail]
            return lambda op: values_of(op)[position] if len(values_of(op)) > position + tail else None
    if sum(f.arity != ONE for f in fields) == 1 and field.arity == ONE:
        return lambda op: values_of(op)[position - len(fields)]

    def read(op: Any) -> Any:
        counts = getattr(op, segments)
        start = sum(counts[:position])
        if field.arity == ONE:
            return values_of(op)[start]
        if field.arity == VARIADIC:
            return values_of(op)[start : start + counts[position]]
        return values_of(op)[start] if counts[position] else None

    return read


def _operand_setter(definition: OpDefinition, field: ValueField) -> Callable[[Any, Any], None]:
    def write(op: Any, value: Any) -> None:
        groups = [list(group) for group in operand_groups(op)]
        groups[field.position] = _as_group(field, value)
        if definition.segmented_operands:
            op.operand_segments = tuple([len(g) for g in groups])
        op.set_operands([v for group in groups for v in group])

    return write


def operand_groups(op: Any) -> list[tuple[Value, ...]]:
    """The operands of a declared op, one tuple for each declared field."""
    return _groups(op.definition.operands, op._operands, op.operand_segments)


def result_groups(op: Any) -> list[tuple[Value, ...]]:
    """The results of a declared op, one tuple for each declared field."""
    return _groups(op.definition.results, op._results, op.result_segments)


def _groups(fields: list[ValueField], values: tuple, segments: tuple[int, ...] | None) -> list[tuple]:
    if segments is None:
        spare = len(values) - sum(f.arity == ONE for f in fields)
        segments = tuple([1 if f.arity == ONE else spare for f in fields])
    groups, start = [], 0
    for count in segments:
        groups.append(values[start : start + count])
        start += count
    return groups


def _as_group(field: ValueField, value: Any) -> Sequence[Any]:
    if field.arity == ONE:
        if value is None:
            raise TypeError(f"'{field.name}' is required")
        return (value,)
    if value is None:
        return ()
    if field.arity == OPTIONAL:
        return (value,)
    return tuple(value)


def _attribute_accessor(field: AttrField) -> property:
    name, spec = field.name, field.spec
    to_python = spec.to_python
    if to_python is None:

        def read(op: Any) -> Any:
            return op.properties.get(name)

    elif spec.style == "unit":

        def read(op: Any) -> Any:
            return name in op.properties

    else:

        def read(op: Any) -> Any:
            value = op.properties.get(name)
            return None if value is None else to_python(value)

    def write(op: Any, value: Any) -> None:
        attribute = field.convert(value)
        if attribute is None:
            op.properties.pop(name, None)
        else:
            op.properties[name] = attribute

    return property(read, write)


def _block_list_accessor(field: RegionOrSuccessorField, slot: str) -> property:
    position = field.position
    if field.variadic:
        return property(lambda op: getattr(op, slot)[position:])
    if slot != "_successors":
        return property(lambda op: op.regions[position])

    def write(op: Any, block: Block) -> None:
        op.set_successors([*op._successors[:position], block, *op._successors[position + 1 :]])

    return property(lambda op: op._successors[position], write)


#: Attributes of every op; a field of this name must cover all of what the name means.
_COVERING = {"operands": "operands", "results": "results", "regions": "regions", "successors": "successors"}


class OpMeta(type):
    """Reads the annotations of an op class into its `definition`."""

    def __new__(
        mcs, class_name: str, bases: tuple, namespace: dict[str, Any], name: str | None = None, **kwargs: Any
    ) -> Any:
        namespace.setdefault("__slots__", ())
        defaults = {}
        for field, annotation in namespace.get("__annotations__", {}).items():
            if field in namespace and "ClassVar" not in str(annotation):
                defaults[field] = namespace.pop(field)
        if name is not None:
            namespace["name"] = name
        cls = super().__new__(mcs, class_name, bases, namespace, **kwargs)
        cls._declare(defaults)
        return cls

    def __init__(cls, class_name: str, bases: tuple, namespace: dict[str, Any], **kwargs: Any) -> None:
        super().__init__(class_name, bases, namespace)

    def _declare(cls, defaults: dict[str, Any]) -> None:
        own = cls.__dict__.get("traits", ())
        inherited = [base.traits for base in cls.__bases__ if hasattr(base, "traits")]
        cls.traits = frozenset(own).union(*inherited)
        for trait in cls.traits:
            if not isinstance(trait, Trait):
                raise TypeError(f"{cls.__name__}: {trait!r} is not a trait")
        for field in inspect.get_annotations(cls):
            if field in _RESERVED:
                raise _reserved_name(cls, field)
        cls._defaults = defaults
        cls._format_code = None
        cls.definition = _undefined
        if "name" in cls.__dict__:
            registry.announce_operation(cls.name, cls)


class _Undefined:
    """Stands for the definition of a class until someone asks for it: a program uses a few of the many op classes.

    Whoever makes an op asks for it, by the constructor or before `build`.
    """

    def __get__(self, op: Any, cls: Any) -> OpDefinition:
        specs: dict[str, Any] = {}
        values: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            if issubclass(base, Operation) and base is not Operation:
                specs.update(_own_specs(base))
                values.update(base.__dict__.get("_defaults", {}))
        definition = _build_definition(cls, specs, values)
        same = SameOperandsAndResultType in cls.traits and not hasattr(cls, "infer_types")
        definition.same_result_type = same
        # Last: another thread may look at it at once.
        cls.definition = definition
        return definition


_undefined = _Undefined()


def _own_specs(cls: Any) -> dict[str, Any]:
    """The fields that a class itself declares."""
    found = cls.__dict__.get("_specs")
    if found is None:
        found = cls._specs = _evaluate_annotations(cls)
    return found  # type: ignore[no-any-return]


def _evaluate_annotations(cls: Any) -> dict[str, Any]:
    found = {}
    for field, annotation in inspect.get_annotations(cls).items():
        if isinstance(annotation, str):
            if annotation.startswith("ClassVar"):
                continue
            annotation = eval(annotation, vars(sys.modules[cls.__module__]), dict(vars(cls)))
        if annotation is Region:
            annotation = RegionField
        elif isinstance(annotation, type) and issubclass(annotation, _ValueField):
            annotation = annotation[AnyType]
        elif isinstance(annotation, type) and issubclass(annotation, Attribute):
            annotation = Attr[annotation]
        if isinstance(annotation, ValueSpec | AttrSpec | RegionSpec | SuccessorSpec):
            found[field] = annotation
        elif "ClassVar" not in str(annotation):
            raise TypeError(f"{cls.__name__}.{field}: {annotation!r} is not a kind of field")
    return found


def _build_definition(cls: Any, specs: dict[str, Any], values: dict[str, Any]) -> OpDefinition:
    definition = OpDefinition(cls.name)
    for field, spec in specs.items():
        if isinstance(spec, ValueSpec):
            group = definition.results if spec.is_result else definition.operands
            group.append(ValueField(field, spec, len(group)))
        elif isinstance(spec, AttrSpec):
            default = values.get(field)
            entry = AttrField(field, spec, None)
            entry.default = entry.convert(default)
            definition.attributes.append(entry)
        elif isinstance(spec, RegionSpec):
            definition.regions.append(RegionOrSuccessorField(field, spec.variadic, len(definition.regions)))
        else:
            definition.successors.append(RegionOrSuccessorField(field, spec.variadic, len(definition.successors)))
    definition.finish()
    for fields, slot in ((definition.operands, "_operands"), (definition.results, "_results")):
        for field in fields:
            read = _value_getter(fields, field, slot)
            write = _operand_setter(definition, field) if slot == "_operands" else None
            _set_accessor(cls, field.python_name, property(read, write), fields, definition)
    for field in definition.attributes:
        _set_accessor(cls, field.python_name, _attribute_accessor(field), (), definition)
    for field in definition.regions:
        accessor = _block_list_accessor(field, "regions")
        _set_accessor(cls, field.python_name, accessor, definition.regions, definition)
    for field in definition.successors:
        accessor = _block_list_accessor(field, "_successors")
        _set_accessor(cls, field.python_name, accessor, definition.successors, definition)
    return definition


def _reserved_name(cls: Any, name: str) -> TypeError:
    return TypeError(f"{cls.__name__}.{name}: every op has '{name}'; call the field '{name}_'")


def _set_accessor(
    cls: Any, name: str, accessor: property, fields: Sequence[Any], definition: OpDefinition
) -> None:
    if hasattr(Op, name):
        # The flat list and the field are the same thing when the field is the only one of its kind.
        alone = len(fields) == 1
        covers = name in _COVERING and alone and getattr(fields[0], "arity", VARIADIC) == VARIADIC
        if covers or (name == "result" and alone and fields[0].arity == ONE):
            return
        if name == "result" and fields is definition.results:
            setattr(cls, name, accessor)
            return
        raise _reserved_name(cls, name)
    setattr(cls, name, accessor)


#: Attributes of every op that no field may be called.
_RESERVED = frozenset(dir(Operation)) - {*_COVERING, "result", "name", "traits", "default_dialect"}


class Op(Operation, metaclass=OpMeta):
    """Base of declared ops. Beside fields, a class may define these:

    - `traits`: a tuple of traits
    - `format`: the assembly format, or `print(self, printer)` and `parse(cls, parser)` by hand
    - `infer_types(self)`: the result types, from the operands and attributes (results don't exist yet)
    - `verify_(self)`: raises through `self.error(…)`
    - `fold(self, constants)`: `constants` has an attribute or None for each operand; returns None (no change) or a
      list with a Value or Attribute for each result
    - `canonicalize_patterns`: a tuple of rewrite patterns
    - `result_names(self)`, `block_argument_names(self, region)`: name hints for text
    """

    definition: ClassVar[Any]
    format: ClassVar[str | None] = None
    canonicalize_patterns: ClassVar[tuple] = ()

    def __init__(
        self,
        *args: Any,
        result_types: Sequence[Type] | None = None,
        attributes: dict[str, Attribute] | None = None,
        location: Location = UNKNOWN,
        **fields: Any,
    ) -> None:
        definition = self.definition
        if not fields and len(args) == definition.plain_operands:
            # The usual small op: operands only, everything else at its default.
            self.build(args, (), definition.default_properties.copy(), attributes, (), (), location)
        else:
            if args:
                _name_arguments(self, args, fields)
            operands, segments = _take_operands(self, fields)
            properties = _take_properties(self, fields) if definition.attributes else {}
            regions = _take_regions(definition, fields) if definition.regions else ()
            successors = _take_successors(self, fields) if definition.successors else ()
            named = [fields.pop(n) for n in definition.result_names if n in fields] if fields else None
            if fields:
                raise TypeError(f"{type(self).__name__} has no field '{next(iter(fields))}'")
            self.build(operands, (), properties, attributes, regions, successors, location, segments)
            if named:
                self._set_named_results(named)
                return
        if definition.results:
            self.set_result_types(self.inferred_types() if result_types is None else result_types)

    def _set_named_results(self, named: list[Any]) -> None:
        fields = self.definition.results
        if len(named) != len(fields):
            raise TypeError(f"{type(self).__name__}: give a type for each of {', '.join(self.definition.result_names)}")
        groups = [_as_group(f, t) for f, t in zip(fields, named)]
        self.set_result_types([t for g in groups for t in g], tuple([len(g) for g in groups]))

    def set_result_types(self, types: Sequence[Type], segments: tuple[int, ...] | None = None) -> None:
        """Makes the results of an op that has none yet."""
        self._results = tuple([OpResult(t, self, i) for i, t in enumerate(types)])
        if self.definition.segmented_results:
            if segments is None:
                raise TypeError(f"{type(self).__name__} has several result groups: name each with its types")
            self.result_segments = segments

    def inferred_types(self) -> Sequence[Type]:
        """The result types that follow from the declaration; an error if they don't."""
        definition = self.definition
        if definition.same_result_type and self._operands:
            return [self._operands[0].type] * len(definition.results)
        infer = getattr(self, "infer_types", None)
        if infer is not None:
            return infer()
        if definition.known_result_types is not None:
            return definition.known_result_types
        if all(f.arity != ONE for f in self.definition.results):
            return ()
        names = ", ".join(self.definition.result_names)
        raise CompileError(f"'{self.name}' cannot infer the types of its results: give {names}", self.location)

    @classmethod
    def is_inherent(cls, name: str) -> bool:
        return name in cls.definition.attribute_by_name

    @property
    def symbol_name(self) -> str | None:
        """The name under which a symbol table holds this op, or None."""
        attribute = self.properties.get("sym_name") if Symbol in self.traits else None
        return None if attribute is None else attribute.value

    def error(self, message: str) -> CompileError:
        """An exception about this op, for `raise self.error(…)`."""
        return VerifyError(f"'{self.name}' {message}", self.location)


# The parts of the constructor.


def _name_arguments(op: Op, args: tuple, fields: dict[str, Any]) -> None:
    positional = op.definition.positional
    if len(args) > len(positional):
        raise TypeError(f"{type(op).__name__} takes {len(positional)} fields, given {len(args)}")
    for name, value in zip(positional, args):
        if name in fields:
            raise TypeError(f"{type(op).__name__}: field '{name}' is given twice")
        fields[name] = value


def _take_operands(op: Op, fields: dict[str, Any]) -> tuple[Sequence[Any], tuple[int, ...] | None]:
    definition, take = op.definition, fields.pop
    try:
        if definition.operands_simple:
            return [take(f.python_name) for f in definition.operands], None
        operands: list[Any] = []
        counts = []
        for f in definition.operands:
            group = _as_group(f, take(f.python_name) if f.arity == ONE else take(f.python_name, None))
            operands.extend(group)
            counts.append(len(group))
    except KeyError as missing:
        raise TypeError(f"{type(op).__name__}: operand '{missing.args[0]}' is missing") from None
    return operands, tuple(counts) if definition.segmented_operands else None


def _take_properties(op: Op, fields: dict[str, Any]) -> dict[str, Attribute]:
    properties = {}
    for f in op.definition.attributes:
        value = fields.pop(f.python_name, None)
        if value is None:
            value = f.default
        elif not isinstance(value, Attribute):
            value = f.convert(value)
        if value is not None:
            properties[f.name] = value
        elif not f.spec.optional:
            raise TypeError(f"{type(op).__name__}: attribute '{f.python_name}' is missing")
    return properties


def _take_regions(definition: OpDefinition, fields: dict[str, Any]) -> list[Region]:
    regions: list[Region] = []
    for f in definition.regions:
        value = fields.pop(f.python_name, None)
        if f.variadic:
            regions.extend(_as_region(r) for r in value or ())
        else:
            regions.append(_as_region(value))
    return regions


def _take_successors(op: Op, fields: dict[str, Any]) -> list[Block]:
    successors: list[Block] = []
    for f in op.definition.successors:
        value = fields.pop(f.python_name, None)
        if f.variadic:
            successors.extend(value or ())
        elif value is None:
            raise TypeError(f"{type(op).__name__}: successor '{f.python_name}' is missing")
        else:
            successors.append(value)
    return successors


def _as_region(value: Any) -> Region:
    if value is None:
        return Region()
    return value if isinstance(value, Region) else Region(value)
