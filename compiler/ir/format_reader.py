"""The parsing half of an assembly format.

What enters: the elements of a format. What leaves: a function that reads an op: it gathers operands, types,
attributes, regions and successors by field, then fills in what the text leaves out. An operand's type is taken from
its value, so a format need only spell types that are new; forward references take theirs from what is spelled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyiree.compiler.ir.attributes import StringAttr, SymbolRefAttr, TypeAttr, UnitAttr
from pyiree.compiler.ir.core import Region
from pyiree.compiler.ir.definition import AttrField, ValueField
from pyiree.compiler.ir.directives import lookup_directive
from pyiree.compiler.ir.fields import ONE, OPTIONAL
from pyiree.compiler.ir.format_parser import (
    Directive,
    FormatError,
    Literal,
    OptionalGroup,
    OptionalList,
    Variable,
)
from pyiree.compiler.ir.format_printer import is_unit
from pyiree.compiler.ir.location import UNKNOWN
from pyiree.compiler.ir.traits import SameOperandsAndResultType, SameTypeOperands

Read = Callable[[Any, "Parts"], Any]


class Parts:
    """What a parser has read so far of an op: by field name, values and types."""

    __slots__ = ("attributes", "fields", "positions", "properties", "types")

    def __init__(self) -> None:
        self.fields: dict[str, Any] = {}
        self.types: dict[str, list[Any]] = {}
        self.properties: dict[str, Any] = {}
        self.attributes: dict[str, Any] = {}
        self.positions: dict[str, int] = {}


def operand_resolution(cls: Any) -> tuple[bool, bool]:
    """Whether all operands share one type, and whether the results do too."""
    same = SameOperandsAndResultType in cls.traits
    return same or SameTypeOperands in cls.traits, same


def compile_reader(compiler: Any, elements: list[Any]) -> Callable[[Any], Any]:
    """The function that reads what follows the op's name."""
    steps = _steps(compiler, elements)
    finish = _finisher(compiler.cls)

    def read(parser: Any) -> Any:
        parts = Parts()
        for step in steps:
            step(parser, parts)
        return finish(parser, parts)

    return read


def _steps(compiler: Any, elements: list[Any]) -> list[Read]:
    return [step for element in elements if (step := _step(compiler, element)) is not None]


def _run(steps: list[Read], parser: Any, parts: Parts) -> None:
    for step in steps:
        step(parser, parts)


def _step(compiler: Any, element: Any) -> Read | None:
    if isinstance(element, Literal):
        text = element.text.strip()
        if text in ("", "\\n"):
            return None
        if text.isidentifier() or len(text) == 1 or text in ("->", "::"):
            return lambda parser, parts: parser.parse_punctuation(text)
        return lambda parser, parts: parser.parse_literal(text)
    if isinstance(element, OptionalGroup):
        return _group_step(compiler, element)
    if isinstance(element, OptionalList):
        return _list_step(compiler, element)
    if isinstance(element, Variable):
        return _variable_step(compiler, compiler.field(element.name), qualified=False)
    name, args = element.name, element.args
    if name == "attr-dict":

        def read_attributes(parser: Any, parts: Parts) -> None:
            parts.properties.update(parser.parse_optional_properties())
            parts.attributes.update(parser.parse_optional_attr_dict())

        return read_attributes
    if name == "attr-dict-with-keyword":

        def read_attributes_with_keyword(parser: Any, parts: Parts) -> None:
            parts.properties.update(parser.parse_optional_properties())
            parts.attributes.update(parser.parse_optional_attr_dict_with_keyword())

        return read_attributes_with_keyword
    if name == "type":
        return _type_step(compiler, args[0])
    if name == "qualified":
        if isinstance(args[0], Directive):
            return _step(compiler, args[0])
        return _variable_step(compiler, compiler.field(args[0].name), qualified=True)
    if name == "operands":
        return lambda parser, parts: parts.fields.__setitem__("operands()", parser.parse_operands())
    if name == "functional-type":
        left, right = _type_key(compiler, args[0]), _type_key(compiler, args[1])

        def read_function_type(parser: Any, parts: Parts) -> None:
            parts.positions[left] = parser.start
            parts.types[left] = parser.parse_list(parser.parse_type, "(", ")")
            parser.parse_punctuation("->")
            parts.types[right] = parser.parse_result_types()

        return read_function_type
    if name == "regions":
        return lambda parser, parts: parts.fields.__setitem__(
            "regions()", parser.parse_list(lambda: parser.parse_region(op_class=compiler.cls))
        )
    if name == "successors":
        return lambda parser, parts: parts.fields.__setitem__(
            "successors()", parser.parse_list(parser.parse_successor)
        )
    return _custom_step(compiler, element)


# Optional parts: whether they are there is decided by what comes first.


def _group_step(compiler: Any, group: OptionalGroup) -> Read:
    elements = [e for e in group.elements if not (isinstance(e, Literal) and e.text.strip() in ("", "\\n"))]
    units = [
        compiler.field(e.name).name for e in elements if isinstance(e, Variable) and is_unit(compiler.definition, e)
    ]
    present = _presence_test(compiler, elements[0]) if elements else None
    if present is None:
        raise FormatError("an optional group must begin with a literal, a variable or a directive")
    spoken = [e for e in elements if not (isinstance(e, Variable) and is_unit(compiler.definition, e))] or elements
    then = _steps(compiler, spoken)
    otherwise = _steps(compiler, group.otherwise)

    def read(parser: Any, parts: Parts) -> None:
        if present(parser):
            for step in then:
                step(parser, parts)
            for unit in units:
                parts.properties[unit] = UnitAttr()
        else:
            for step in otherwise:
                step(parser, parts)

    return read


def _list_step(compiler: Any, group: OptionalList) -> Read:
    clauses = []
    for clause in group.clauses:
        silent = [e for e in clause if isinstance(e, Variable) and is_unit(compiler.definition, e)]
        units = [compiler.field(e.name).name for e in silent]
        spoken = [e for e in clause if e not in silent]
        clauses.append((_presence_test(compiler, spoken[0]), _steps(compiler, spoken), units))

    def read(parser: Any, parts: Parts) -> None:
        found = True
        while found:
            found = False
            for present, steps, units in clauses:
                if present(parser):
                    _run(steps, parser, parts)
                    for unit in units:
                        parts.properties[unit] = UnitAttr()
                    found = True

    return read


def _presence_test(compiler: Any, element: Any) -> Callable[[Any], bool]:
    if isinstance(element, Literal):
        text = element.text.strip()
        if text.isidentifier() or len(text) == 1 or text in ("->", "::"):
            return lambda parser: parser.at(text) or (text == ":" and parser.at("::"))
        return lambda parser: parser.text.startswith(text, parser.start)
    if isinstance(element, Directive):
        hook = lookup_directive(element.name)
        if hook is not None:
            is_present = getattr(hook, "is_present", None)
            if is_present is None:
                raise FormatError(f"directive '{element.name}' begins an optional group: it needs is_present(parser)")
            return is_present
        if element.name in ("functional-type",):
            return lambda parser: parser.at("(")
        if element.name == "type":
            return lambda parser: parser.kind in ("ID", "BANG") or parser.at("(")
        if element.name == "qualified":
            return _presence_test(compiler, element.args[0])
        raise FormatError(f"'{element.name}' cannot begin an optional group")
    if isinstance(element, OptionalGroup):
        raise FormatError("an optional group cannot begin with another one")
    field = compiler.field(element.name)
    if isinstance(field, ValueField):
        return lambda parser: parser.kind == "VALUE"
    if not isinstance(field, AttrField):
        opening = "PUNCT" if field in compiler.definition.regions else "BLOCK"
        return lambda parser: parser.kind == opening and (opening == "BLOCK" or parser.at("{"))
    style = field.spec.style
    if style == "unit":
        return lambda parser: parser.at(field.name)
    if style == "symbol_name" or field.spec.attr_class is SymbolRefAttr:
        return lambda parser: parser.kind == "SYMBOL"
    if style == "string" or field.spec.attr_class is StringAttr:
        return lambda parser: parser.kind == "STRING"
    if style == "integer":
        return lambda parser: parser.kind == "NUMBER" or parser.at("-") or parser.token in ("true", "false")
    if style == "int_array":
        return lambda parser: parser.at("[")
    if style == "int_enum":
        return lambda parser: parser.kind == "ID" and parser.token in field.spec.cases
    if style == "keyword":
        return lambda parser: parser.kind == "ID" and parser.token in field.spec.attr_class.cases
    if style == "stripped":
        return lambda parser: parser.at("<")
    if style == "type":
        return lambda parser: parser.kind in ("ID", "BANG") or parser.at("(")
    return lambda parser: (
        parser.kind in ("STRING", "NUMBER", "SYMBOL", "HASH") or parser.token in ("[", "{", "-", "dense", "array")
    )


# Variables and types.


def _variable_step(compiler: Any, field: Any, qualified: bool) -> Read:
    name = field.name
    if isinstance(field, ValueField):
        if field.arity == ONE:

            def read_one(parser: Any, parts: Parts) -> None:
                parts.positions[name] = parser.start
                parts.fields[name] = (parser.parse_operand(),)

            return read_one
        if field.arity == OPTIONAL:

            def read_optional(parser: Any, parts: Parts) -> None:
                parts.positions[name] = parser.start
                parts.fields[name] = (parser.parse_operand(),) if parser.kind == "VALUE" else ()

            return read_optional

        def read_many(parser: Any, parts: Parts) -> None:
            parts.positions[name] = parser.start
            parts.fields[name] = parser.parse_operands()

        return read_many
    if isinstance(field, AttrField):
        read_attribute = attribute_reader(field, qualified)

        def read_field(parser: Any, parts: Parts) -> None:
            parts.properties[name] = read_attribute(parser)

        return read_field
    if field in compiler.definition.regions:
        cls = compiler.cls
        if field.variadic:
            return lambda parser, parts: parts.fields.__setitem__(
                name, parser.parse_list(lambda: parser.parse_region(op_class=cls)) if parser.at("{") else []
            )
        return lambda parser, parts: parts.fields.__setitem__(name, [parser.parse_region(op_class=cls)])
    if field.variadic:
        return lambda parser, parts: parts.fields.__setitem__(
            name, parser.parse_list(parser.parse_successor) if parser.kind == "BLOCK" else []
        )
    return lambda parser, parts: parts.fields.__setitem__(name, [parser.parse_successor()])


def attribute_reader(field: AttrField, qualified: bool = False) -> Callable[[Any], Any]:
    """How `$field` of an attribute is read."""
    spec = field.spec
    style, cls = spec.style, spec.attr_class
    if style == "symbol_name":
        return lambda parser: StringAttr(parser.parse_symbol_name())
    if style == "string":
        return lambda parser: StringAttr(parser.parse_string())
    if style == "integer":

        def read_integer(parser: Any) -> Any:
            if parser.token in ("true", "false"):
                return parser.parse_attribute()
            return parser.parse_number_attribute(spec.value_type)

        return read_integer
    if style == "int_array":
        return lambda parser: spec.from_python(parser.parse_list(parser.parse_integer, "[", "]"))
    if style == "type":
        return lambda parser: TypeAttr(parser.parse_type())
    if style == "unit":

        def read_unit(parser: Any) -> Any:
            parser.parse_keyword(field.name)
            return UnitAttr()

        return read_unit
    if style == "int_enum":
        return lambda parser: spec.from_python(parser.parse_one_of(spec.cases, spec.description))
    if style == "keyword":
        return lambda parser: cls(cls.parse_word(parser))
    if style == "stripped" and not qualified:
        return lambda parser: parser.parse_attribute() if parser.kind == "HASH" else cls.parse(parser)

    def read_any(parser: Any) -> Any:
        position = parser.start
        value = parser.parse_attribute()
        if cls is not None and not isinstance(value, cls):
            wanted = getattr(cls, "__name__", str(cls))
            raise parser.error_at(position, f"attribute '{field.name}' must be a {wanted}, found {value}")
        return value

    return read_any


def _type_key(compiler: Any, argument: Any) -> str:
    """Under which name the types of an argument are kept."""
    if isinstance(argument, Directive):
        if argument.name in ("operands", "results"):
            return f"{argument.name}()"
        if argument.name in ("type", "ref"):
            return _type_key(compiler, argument.args[0])
        raise FormatError(f"'{argument.name}' has no type")
    return compiler.field(argument.name).name


def _type_step(compiler: Any, argument: Any) -> Read:
    key = _type_key(compiler, argument)
    single = isinstance(argument, Variable) and compiler.field(argument.name).arity == ONE
    if single:

        def read_one(parser: Any, parts: Parts) -> None:
            parts.types[key] = [parser.parse_type()]

        return read_one

    def read_many(parser: Any, parts: Parts) -> None:
        first = parser.parse_optional_type()
        found = [] if first is None else [first]
        while found and parser.parse_optional(","):
            found.append(parser.parse_type())
        parts.types[key] = found

    return read_many


# Directives of dialects.


def _custom_step(compiler: Any, element: Directive) -> Read:
    hook = lookup_directive(element.name)
    if hook is None:
        raise FormatError(f"there is no directive '{element.name}'; register it with @directive")
    inputs: list[Callable[[Any, Parts], Any]] = []
    outputs: list[Callable[[Parts, Any], None]] = []
    for argument in element.args:
        if isinstance(argument, str):
            inputs.append(lambda parser, parts, text=argument: text)
        elif isinstance(argument, Directive) and argument.name == "ref":
            inputs.append(_reference(compiler, argument.args[0]))
        else:
            outputs.append(_output(compiler, argument))

    def read(parser: Any, parts: Parts) -> None:
        found = hook.parse(parser, *[get(parser, parts) for get in inputs])
        if len(outputs) == 1:
            found = (found,)
        for put, value in zip(outputs, found):
            put(parts, value)

    return read


def _reference(compiler: Any, argument: Any) -> Callable[[Any, Parts], Any]:
    name = _type_key(compiler, argument)
    if isinstance(argument, Directive):
        return lambda parser, parts: parts.types.get(name)
    if isinstance(compiler.field(name), AttrField):
        return lambda parser, parts: parts.properties.get(name)
    return lambda parser, parts: parts.fields.get(name)


def _output(compiler: Any, argument: Any) -> Callable[[Parts, Any], None]:
    """Stores what a directive returns for an argument."""
    if isinstance(argument, Directive):
        if argument.name == "attr-dict":
            return lambda parts, value: parts.attributes.update(value)
        name = _type_key(compiler, argument)
        return lambda parts, value: parts.types.__setitem__(name, _as_list(value))
    field = compiler.field(argument.name)
    name = field.name
    if isinstance(field, AttrField):

        def put_attribute(parts: Parts, value: Any) -> None:
            attribute = field.convert(value)
            if attribute is not None:
                parts.properties[name] = attribute

        return put_attribute
    return lambda parts, value: parts.fields.__setitem__(name, _as_list(value))


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


# The end: from parts to an op.


def _finisher(cls: Any) -> Callable[[Any, Parts], Any]:
    definition = cls.definition
    same_operands, same_results = operand_resolution(cls)

    def finish(parser: Any, parts: Parts) -> Any:
        fields, types = parts.fields, parts.types
        operands: list[Any] = fields.get("operands()") or []
        counts: list[int] = []
        shared = None
        if same_operands:
            shared = next((t[0] for t in types.values() if t), None)
        if operands:
            if "operands()" in types:
                parser.resolve_all(operands, types["operands()"])
            counts = _split(definition.operands, len(operands))
        else:
            for field in definition.operands:
                group = fields.get(field.name, ())
                written = types.get(field.name)
                if written is not None:
                    if len(written) == 1 and len(group) == 1:
                        parser.resolve(group[0], written[0], parts.positions.get(field.name))
                    else:
                        parser.resolve_all(group, written, parts.positions.get(field.name))
                else:
                    only = shared if field.constraint.only is None else field.constraint.only
                    if only is not None:
                        for value in group:
                            parser.resolve(value, only, parts.positions.get(field.name))
                operands.extend(group)
                counts.append(len(group))
            if "operands()" in types:
                parser.resolve_all(operands, types["operands()"])
        for name in [n for n in parts.attributes if n in definition.attribute_by_name]:
            parts.properties[name] = parts.attributes.pop(name)
        properties = parts.properties
        for attribute in definition.attributes:
            if attribute.name not in properties:
                if attribute.default is not None:
                    properties[attribute.name] = attribute.default
                elif not attribute.spec.optional:
                    raise parser.error_at(
                        parser.op_position, f"'{cls.name}' needs the attribute '{attribute.name}'"
                    )
        regions = _gather(definition.regions, fields, "regions()", parser)
        successors = _gather(definition.successors, fields, "successors()", parser)
        op = cls.__new__(cls)
        op.build(
            operands, (), properties, parts.attributes, regions, successors, UNKNOWN,
            tuple(counts) if definition.segmented_operands else None,
        )  # fmt: skip
        if definition.results:
            _finish_results(parser, op, types, shared if same_results else None)
        return op

    return finish


def _split(fields: list[ValueField], count: int) -> list[int]:
    spare = count - sum(f.arity == ONE for f in fields)
    return [1 if f.arity == ONE else spare for f in fields]


def _gather(fields: list[Any], found: dict[str, Any], everything: str, parser: Any) -> list[Any]:
    if not fields:
        return []
    if everything in found:
        return found[everything]
    gathered: list[Any] = []
    for field in fields:
        items = found.get(field.name)
        if not items and not field.variadic and everything == "regions()":
            items = [Region()]
        gathered.extend(items or ())
    return gathered


def _finish_results(parser: Any, op: Any, types: dict[str, list[Any]], shared: Any) -> None:
    definition = op.definition
    everything = types.get("results()")
    if everything is not None:
        op.set_result_types(everything, tuple(_split(definition.results, len(everything))))
        return
    flat: list[Any] = []
    counts = []
    for field in definition.results:
        group = types.get(field.name)
        if group is None and field.arity == ONE and field.constraint.only is not None:
            group = [field.constraint.only]
        if group is None and shared is not None:
            group = [shared]
        if group is None:
            op.location = parser.source.location(parser.op_position)
            for value in op._operands:
                if value.type is None:
                    raise parser.error_at(value.position, f"the type of '{value.name}' must be known here")
            flat = list(op.inferred_types())
            op.set_result_types(flat, tuple(_split(definition.results, len(flat))))
            return
        flat.extend(group)
        counts.append(len(group))
    op.set_result_types(flat, tuple(counts))
