"""The printing half of an assembly format.

What enters: the elements of a format (`format_parser.py`). What leaves: a function that writes an op. Spaces follow
MLIR's rules for literals, so they are decided here once, not per op.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyiree.compiler.ir.definition import AttrField, OpDefinition, ValueField, operand_groups, result_groups
from pyiree.compiler.ir.directives import lookup_directive
from pyiree.compiler.ir.fields import ONE, OPTIONAL
from pyiree.compiler.ir.format_parser import (
    Directive,
    FormatError,
    Literal,
    OptionalGroup,
    OptionalList,
    Spacing,
    Variable,
)
from pyiree.compiler.ir.quoting import quote, symbol_text
from pyiree.compiler.ir.traits import implicit_terminator

Emit = Callable[[Any, Any], None]


def is_unit(definition: OpDefinition, element: Any) -> bool:
    """Whether a format variable is a unit attribute."""
    field = definition.by_name.get(element.name)
    return isinstance(field, AttrField) and field.spec.style == "unit"


def element_name(element: Any) -> str | None:
    """The field that a format variable names; None for other elements."""
    return element.name if isinstance(element, Variable) else None


class FormatPrinter:
    """Turns the elements of an op class's format into a function that writes an op."""

    def __init__(self, cls: Any, elements: list[Any]) -> None:
        self.cls = cls
        self.definition: OpDefinition = cls.definition
        self.spacing = Spacing(True, False)
        #: Attributes that the format writes itself, so that attr-dict leaves them out.
        self.written: set[str] = set()
        #: Attribute fields that are written as a bare presence, by the literal of their group.
        self.silent_units: set[str] = set()
        self._collect(elements)

    def _collect(self, elements: list[Any]) -> None:
        for element in elements:
            if isinstance(element, Variable):
                if isinstance(self.field(element.name), AttrField):
                    self.written.add(element.name)
            elif isinstance(element, Directive):
                self._collect([a for a in element.args if not isinstance(a, str)])
            elif isinstance(element, OptionalGroup):
                self._collect(element.elements)
                self._collect(element.otherwise)
            elif isinstance(element, OptionalList):
                for clause in element.clauses:
                    self._collect(clause)

    def field(self, name: str) -> Any:
        found = self.definition.by_name.get(name) or self.definition.by_name.get(name.rstrip("_"))
        if found is None:
            raise FormatError(f"the op has no field '{name}'")
        return found

    # Printing.

    def printer(self, elements: list[Any]) -> Emit:
        pieces = self.print_pieces(elements)
        if len(pieces) == 1:
            return pieces[0]

        def write(printer: Any, op: Any) -> None:
            for piece in pieces:
                piece(printer, op)

        return write

    def print_pieces(self, elements: list[Any]) -> list[Emit]:
        pieces: list[Emit] = []
        fixed = ""
        for element in elements:
            if isinstance(element, Literal):
                fixed += self.spacing.literal(element.text)
                continue
            if isinstance(element, OptionalGroup | OptionalList):
                # Whether a space is due is decided by what the group begins with.
                if fixed:
                    pieces.append(_emit_text(fixed))
                    fixed = ""
                pieces.append(self.print_group(element))
                continue
            if isinstance(element, Directive) and element.name in ("attr-dict", "attr-dict-with-keyword"):
                if fixed:
                    pieces.append(_emit_text(fixed))
                    fixed = ""
                pieces.append(self.print_attr_dict(element.name.endswith("keyword")))
                self.spacing.space, self.spacing.punctuation = True, False
                continue
            if element_name(element) in self.silent_units:
                continue
            fixed += self.spacing.element()
            pieces.extend(_merge(fixed, self.print_element(element)))
            fixed = ""
        if fixed:
            pieces.append(_emit_text(fixed))
        return pieces

    def print_attr_dict(self, keyword: bool) -> Emit:
        written = frozenset(self.written)
        return lambda printer, op: printer.print_format_attributes(op, written, keyword)

    def print_group(self, group: Any) -> Emit:
        if isinstance(group, OptionalList):
            clauses = []
            space, punctuation = self.spacing.space, self.spacing.punctuation
            for clause in group.clauses:
                self.spacing = Spacing(space, punctuation)
                present = self.any_present(clause)
                clauses.append((present, self.printer(clause)))

            def write_list(printer: Any, op: Any) -> None:
                for present, write in clauses:
                    if present(op):
                        write(printer, op)

            return write_list
        present = self.presence(group.anchor)
        for element in group.elements:
            if isinstance(element, Variable) and is_unit(self.definition, element) and element is group.anchor:
                self.silent_units.add(element.name)
        then = self.printer(group.elements) if group.elements else None
        otherwise = self.printer(group.otherwise) if group.otherwise else None

        def write(printer: Any, op: Any) -> None:
            if present(op):
                if then is not None:
                    then(printer, op)
            elif otherwise is not None:
                otherwise(printer, op)

        return write

    def any_present(self, elements: list[Any]) -> Callable[[Any], bool]:
        checks = [self.presence(e) for e in elements if isinstance(e, Variable | Directive)]
        for element in elements:
            if isinstance(element, Variable) and is_unit(self.definition, element):
                self.silent_units.add(element.name)
        return lambda op: any(check(op) for check in checks)

    def presence(self, anchor: Any) -> Callable[[Any], bool]:
        """Whether what the anchor names is there."""
        if isinstance(anchor, Directive):
            names = [a for a in anchor.args if isinstance(a, Variable | Directive)]
            if anchor.name == "functional-type":
                return lambda op: bool(op._operands or op._results)
            checks = [self.presence(a) for a in names]
            return lambda op: any(check(op) for check in checks)
        field = self.field(anchor.name)
        if isinstance(field, AttrField):
            name, default = field.name, field.default
            return lambda op: op.properties.get(name, default) is not default
        if isinstance(field, ValueField):
            if field.arity == ONE:
                return lambda op: True
            groups = result_groups if field in self.definition.results else operand_groups
            position = field.position
            return lambda op: bool(groups(op)[position])
        python_name = field.python_name
        if field in self.definition.regions:
            if field.variadic:
                return lambda op: bool(getattr(op, python_name))
            return lambda op: not getattr(op, python_name).is_empty
        return lambda op: bool(getattr(op, python_name))

    def print_element(self, element: Any) -> Emit:
        if isinstance(element, Variable):
            return self.print_variable(self.field(element.name))
        name, args = element.name, element.args
        if name == "type":
            return self.print_type(args[0])
        if name in ("qualified", "ref"):
            if isinstance(args[0], Variable) and isinstance(self.field(args[0].name), AttrField):
                attribute = self.field(args[0].name).name
                return lambda printer, op: printer.emit(printer.attr_text(op.properties[attribute]))
            return self.print_element(args[0])
        if name == "operands":
            return lambda printer, op: printer.emit(printer.names(op._operands))
        if name == "functional-type":
            inputs, results = self.type_getter(args[0]), self.type_getter(args[1])
            return lambda printer, op: printer.emit(printer.type_text_uncached(inputs(op), results(op)))
        if name == "regions":
            return _print_regions
        if name == "successors":
            return lambda printer, op: printer.emit(", ".join([printer.block_name(b) for b in op._successors]))
        return self.print_custom(element)

    def print_variable(self, field: Any) -> Emit:
        if isinstance(field, ValueField):
            if field.arity == ONE and self.definition.operands_simple:
                position = field.position
                return lambda printer, op: printer.emit(printer.name(op._operands[position]))
            position = field.position
            return lambda printer, op: printer.emit(printer.names(operand_groups(op)[position]))
        if isinstance(field, AttrField):
            return _print_attribute(field)
        python_name = field.python_name
        if field in self.definition.regions:
            if field.variadic:
                return _print_regions
            return lambda printer, op: printer.print_region(
                getattr(op, python_name), terminator=_needs_terminator(op)
            )
        if field.variadic:
            return lambda printer, op: printer.emit(
                ", ".join([printer.block_name(b) for b in getattr(op, python_name)])
            )
        return lambda printer, op: printer.emit(printer.block_name(getattr(op, python_name)))

    def print_type(self, argument: Any) -> Emit:
        types = self.type_getter(argument)

        def write(printer: Any, op: Any) -> None:
            found = types(op)
            printer.emit(printer.type_text(found[0]) if len(found) == 1 else printer.types_text(found))

        return write

    def type_getter(self, argument: Any) -> Callable[[Any], tuple]:
        """The types of a group, as a tuple."""
        if isinstance(argument, Directive):
            if argument.name == "operands":
                return lambda op: op.operand_types
            if argument.name == "results":
                return lambda op: op.result_types
            if argument.name in ("type", "ref"):
                return self.type_getter(argument.args[0])
            raise FormatError(f"'{argument.name}' has no type")
        field = self.field(argument.name)
        if not isinstance(field, ValueField):
            raise FormatError(f"'{argument.name}' is neither operand nor result")
        position = field.position
        if field in self.definition.results:
            if self.definition.results_simple:
                return lambda op: (op._results[position].type,)
            return lambda op: tuple([v.type for v in result_groups(op)[position]])
        if self.definition.operands_simple:
            return lambda op: (op._operands[position].type,)
        return lambda op: tuple([v.type for v in operand_groups(op)[position]])

    def print_custom(self, element: Directive) -> Emit:
        hook = lookup_directive(element.name)
        if hook is None:
            raise FormatError(f"there is no directive '{element.name}'; register it with @directive")
        getters = [self.argument_getter(a) for a in element.args]
        return lambda printer, op: hook.print(printer, op, *[get(op) for get in getters])

    def argument_getter(self, argument: Any) -> Callable[[Any], Any]:
        if isinstance(argument, str):
            return lambda op: argument
        if isinstance(argument, Directive):
            if argument.name == "ref":
                return self.argument_getter(argument.args[0])
            if argument.name == "attr-dict":
                return lambda op: op.attributes
            types = self.type_getter(argument)
            inner = argument.args[0] if argument.args else None
            field = self.field(inner.name) if isinstance(inner, Variable) else None
            arity = field.arity if field is not None else None
            if arity == ONE:
                return lambda op: types(op)[0]
            if arity == OPTIONAL:
                return lambda op: (types(op) or (None,))[0]
            return types
        field = self.field(argument.name)
        if isinstance(field, AttrField):
            name = field.name
            return lambda op: op.properties.get(name)
        python_name = field.python_name
        return lambda op: getattr(op, python_name)


def _emit_text(text: str) -> Emit:
    return lambda printer, op: printer.emit(text)


def _merge(fixed: str, piece: Emit) -> list[Emit]:
    return [_emit_text(fixed), piece] if fixed else [piece]


def _needs_terminator(op: Any) -> bool:
    """Whether the last op must be written: an implied one without operands need not."""
    implied = implicit_terminator(op)
    if implied is None:
        return True
    for region in op.regions:
        last = region.blocks[-1].last_op if region.blocks else None
        if last is None or last.name != implied or last.operands or last.attributes:
            return True
    return False


def _print_regions(printer: Any, op: Any) -> None:
    for i, region in enumerate(op.regions):
        if i:
            printer.emit(", ")
        printer.print_region(region, terminator=_needs_terminator(op))


def _stripped_text(printer: Any, attribute: Any) -> str:
    """The parameters alone, unless an alias stands for the whole attribute."""
    if attribute.alias:
        return printer.attr_text(attribute)
    return attribute.print_parameters(printer).lstrip()


def _print_attribute(field: AttrField) -> Emit:
    name, style = field.name, field.spec.style
    if style == "symbol_name":
        return lambda printer, op: printer.emit(symbol_text(op.properties[name].value))
    if style == "string":
        return lambda printer, op: printer.emit(quote(op.properties[name].value))
    if style == "integer":
        return lambda printer, op: printer.emit(op.properties[name].bare_text())
    if style == "int_array":
        return lambda printer, op: printer.emit(f"[{op.properties[name].bare_text()}]")
    if style == "type":
        return lambda printer, op: printer.emit(printer.type_text(op.properties[name].value))
    if style == "int_enum":
        to_python = field.spec.to_python
        return lambda printer, op: printer.emit(to_python(op.properties[name]))  # type: ignore[misc]
    if style == "keyword":
        return lambda printer, op: printer.emit(op.properties[name].value)
    if style == "stripped":
        return lambda printer, op: printer.emit(_stripped_text(printer, op.properties[name]))
    if style == "unit":
        return lambda printer, op: printer.emit(name)
    return lambda printer, op: printer.emit(printer.attr_text(op.properties[name]))
