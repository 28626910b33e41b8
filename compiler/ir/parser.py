"""Reads operations, blocks and regions from MLIR text.

What enters: source text in the custom or generic form of any registered dialect, and in generic form of any other.
What leaves: a top-level op; several of them are put into a `builtin.module`. Values and blocks may be used before
they are defined: a placeholder stands in and is replaced when the definition comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from pyiree.compiler.ir import registry
from pyiree.compiler.ir.attribute_parser import AttributeParser
from pyiree.compiler.ir.attributes import Attribute, DenseArrayAttr
from pyiree.compiler.ir.core import Block, Operation, Region, UnregisteredOp, Value
from pyiree.compiler.ir.diagnostics import CompileError, ParseError
from pyiree.compiler.ir.fields import ONE
from pyiree.compiler.ir.format import compile_format
from pyiree.compiler.ir.lexer import Source
from pyiree.compiler.ir.location import UNKNOWN, Location, UnknownLoc
from pyiree.compiler.ir.location_parser import parse_location
from pyiree.compiler.ir.traits import IsolatedFromAbove, SameVariadicOperandSize, Terminator, implicit_terminator
from pyiree.compiler.ir.types import Type
from pyiree.compiler.ir.verifier import verify as verify_operation


def parse(text: str, filename: str = "<text>", *, verify: bool = False) -> Any:
    """The top-level op of a text; a `builtin.module` around several ops."""
    parser = Parser(Source(text, filename))
    op = parser.parse_top_level()
    if verify:
        verify_operation(op)
    return op


def parse_module(text: str, filename: str = "<text>", *, verify: bool = False) -> Any:
    """The ops of a text as a `builtin.module`, also where the text is a single op of another kind."""
    op = parse(text, filename, verify=verify)
    module_class: Any = registry.lookup_operation("builtin.module")
    if isinstance(op, module_class):
        return op
    module = module_class()
    module.body_block.append(op)
    return module


class ForwardRef(Value):
    """Stands for a value that is used before its definition; its type is None until known."""

    __slots__ = ("name", "position")

    def __init__(self, name: str, position: int, type: Type | None) -> None:
        super().__init__(type)  # type: ignore[arg-type]
        self.name = name
        self.position = position


class Argument(NamedTuple):
    """A region argument as written: its name, type and location."""

    name: str
    type: Type
    location: Location
    position: int
    attributes: dict[str, Attribute]


class _DeferredLoc(UnknownLoc):
    """A location alias that is defined further down."""

    __slots__ = ("name",)

    def __new__(cls, name: str) -> _DeferredLoc:
        self = object.__new__(cls)
        self._text, self.name = None, name
        return self


class Parser(AttributeParser):
    """Operations and what they are made of; declared ops parse themselves with these methods."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._values: dict[str, Value | Sequence[Value]] = {}
        self._pending: dict[str, ForwardRef] = {}
        self._blocks: dict[str, Block] = {}
        self._pending_blocks: dict[str, int] = {}
        self._defined: list[str] = []
        self._dialects = ["builtin"]
        self._deferred: list[tuple[Any, _DeferredLoc]] = []
        #: How many results the op now being read is given names for.
        self.num_result_names = 0
        self.op_position = 0

    # Top level.

    def parse_top_level(self) -> Operation:
        """Aliases and ops up to the end of the text."""
        ops: list[Operation] = []
        while self.kind != "EOF":
            if self.kind in ("HASH", "BANG") and self._parse_alias_definition():
                continue
            ops.append(self.parse_operation())
        self._check_pending()
        for op in ops:
            self._resolve_locations(op)
        if len(ops) == 1 and not (ops[0].results or ops[0].operands):
            return ops[0]
        module_class: Any = registry.lookup_operation("builtin.module")
        if module_class is None:
            raise self.error("a text of several ops needs the builtin dialect to be registered")
        module = module_class()
        for op in ops:
            module.body_block.append(op)
        return module

    def _parse_alias_definition(self) -> bool:
        is_type, name = self.kind == "BANG", self.token[1:]
        self.advance()
        self.parse_punctuation("=")
        if is_type:
            self.type_aliases[name] = self.parse_type()
        else:
            self.attribute_aliases[name] = self.parse_attribute()
        return True

    def unknown_alias(self, name: str, position: int) -> Attribute:
        if name.startswith("loc"):
            return _DeferredLoc(name)
        return super().unknown_alias(name, position)

    def _resolve_locations(self, root: Operation) -> None:
        """Replaces location aliases that were used before their definition."""
        for holder, deferred in self._deferred:
            found = self.attribute_aliases.get(deferred.name)
            holder.location = found if isinstance(found, Location) else UNKNOWN
        self._deferred.clear()

    def _set_location(self, holder: Any, location: Location) -> None:
        holder.location = location
        if isinstance(location, _DeferredLoc):
            self._deferred.append((holder, location))

    # Values.

    def parse_operand(self, type: Type | None = None) -> Value:
        """`%name`; a placeholder if it is not defined yet."""
        if self.kind != "VALUE":
            self.fail_expected("an SSA value")
        token, position = self.token, self.start
        self.advance()
        return self._lookup(token, position, type)

    def parse_optional_operand(self, type: Type | None = None) -> Value | None:
        """`%name` if one is next."""
        return self.parse_operand(type) if self.kind == "VALUE" else None

    def _lookup(self, token: str, position: int, type: Type | None = None) -> Value:
        name, pack, number = token.partition("#")
        found = self._values.get(name)
        if found is None:
            found = self._pending.get(token)
            if found is None:
                found = self._pending[token] = ForwardRef(token, position, type)
        elif found.__class__ is list:
            index = int(number) if pack else 0
            if index >= len(found):  # type: ignore[arg-type]
                raise self.error_at(position, f"'{name}' has {len(found)} results, not {index + 1}")  # type: ignore
            found = found[index]  # type: ignore[index]
        elif pack and number != "0":
            raise self.error_at(position, f"'{name}' has only one result")
        if type is not None:
            self.resolve(found, type, position)  # type: ignore[arg-type]
        return found  # type: ignore[return-value]

    def parse_operands(self) -> list[Value]:
        """Zero or more comma separated `%name`s."""
        if self.kind != "VALUE":
            return []
        return self.parse_list(self.parse_operand)

    def resolve(self, value: Value, type: Type, position: int | None = None) -> Value:
        """Checks (or, for a value not defined yet, records) the type of an operand; returns the value."""
        if value.type is None:
            value.type = type
        elif value.type is not type:
            at = self.start if position is None else position
            raise self.error_at(at, f"operand has type {value.type}, but {type} is written here")
        return value

    def resolve_all(self, values: Sequence[Value], types: Sequence[Type], position: int | None = None) -> list[Value]:
        """`resolve` for lists of one length."""
        if len(values) != len(types):
            at = self.start if position is None else position
            raise self.error_at(at, f"{len(values)} operands, but {len(types)} types")
        return [self.resolve(v, t, position) for v, t in zip(values, types)]

    def parse_typed_operand(self) -> Value:
        """`%name : type`."""
        value, position = self.parse_operand(), self.start
        self.parse_punctuation(":")
        return self.resolve(value, self.parse_type(), position)

    def _define(self, name: str, value: Value | list[Value], position: int) -> None:
        if name in self._values:
            raise self.error_at(position, f"'{name}' is defined twice")
        self._values[name] = value
        self._defined.append(name)
        if self._pending:
            if value.__class__ is list:
                for i, one in enumerate(value):  # type: ignore[arg-type]
                    self._settle(f"{name}#{i}", one)
                self._settle(name, value[0])  # type: ignore[index]
            else:
                self._settle(name, value)  # type: ignore[arg-type]
                self._settle(f"{name}#0", value)  # type: ignore[arg-type]

    def _settle(self, name: str, value: Value) -> None:
        reference = self._pending.pop(name, None)
        if reference is not None:
            if reference.type is not None and reference.type is not value.type:
                raise self.error_at(
                    reference.position, f"'{name}' is used as {reference.type}, but defined as {value.type}"
                )
            reference.replace_all_uses_with(value)

    def _check_pending(self) -> None:
        for name, reference in self._pending.items():
            raise self.error_at(reference.position, f"'{name}' is not defined")

    # Operations.

    def parse_operation(self) -> Operation:
        """One op with its result names and location; it is not in a block yet."""
        names: list[tuple[str, int, int]] = []
        if self.kind == "VALUE":
            names = self._parse_result_names()
        outer_count, outer_position = self.num_result_names, self.op_position
        self.num_result_names = sum([count for _, count, _ in names])
        position = self.op_position = self.start
        location = self.source.location(position)
        try:
            if self.kind == "STRING":
                op = self._parse_generic(position)
            elif self.kind == "ID":
                op = self._parse_custom(position)
            else:
                self.fail_expected("an operation")
        except ParseError:
            raise
        except CompileError as error:
            raise ParseError(error.message, error.location if error.location is not UNKNOWN else location) from error
        self.num_result_names, self.op_position = outer_count, outer_position
        if self.kind == "ID" and self.token == "loc":
            self._set_location(op, parse_location(self))
        elif op.location is UNKNOWN:
            op.location = location
        if names:
            self._name_results(op, names, position)
        return op

    def _parse_result_names(self) -> list[tuple[str, int, int]]:
        names = []
        while True:
            if self.kind != "VALUE":
                self.fail_expected("the name of a result")
            name, position, count = self.token, self.start, 1
            self.advance()
            if self.parse_optional(":"):
                count = self.parse_integer()
            names.append((name, count, position))
            if not self.parse_optional(","):
                break
        self.parse_punctuation("=")
        return names

    def _name_results(self, op: Operation, names: list[tuple[str, int, int]], position: int) -> None:
        results = op._results
        if len(names) == 1 and len(results) == 1 and names[0][1] == 1:
            self._define(names[0][0], results[0], names[0][2])
            return
        total = sum([count for _, count, _ in names])
        if total != len(results):
            raise self.error_at(position, f"'{op.name}' has {len(results)} results, but {total} are named")
        start = 0
        for name, count, at in names:
            group = list(results[start : start + count])
            self._define(name, group[0] if count == 1 else group, at)
            start += count

    def _parse_custom(self, position: int) -> Operation:
        name = self.token
        cls: Any = None
        if "." not in name:
            cls = registry.lookup_operation(f"{self._dialects[-1]}.{name}")
            cls = cls or registry.lookup_operation(f"builtin.{name}")
        else:
            cls = registry.lookup_operation(name)
        if cls is None:
            raise self.error_at(position, f"op '{name}' is not registered; other ops need the generic form")
        self.advance()
        read = parser_of(cls)
        if read is None:
            raise self.error_at(position, f"op '{cls.name}' has no form of its own: write it in the generic form")
        return read(self)

    def _parse_generic(self, position: int) -> Operation:
        name = self.parse_string()
        self.parse_punctuation("(")
        operands = self.parse_operands()
        self.parse_punctuation(")")
        successors = self.parse_list(self.parse_successor, "[", "]") if self.at("[") else []
        properties = self.parse_optional_properties()
        cls: Any = registry.lookup_operation(name)
        regions = self._parse_generic_regions(cls) if self.at("(") else []
        attributes = self.parse_optional_attr_dict()
        self.parse_punctuation(":")
        at = self.start
        type = self.parse_function_type()
        operands = self.resolve_all(operands, type.inputs, at)
        if cls is None:
            segments = properties.pop("operandSegmentSizes", None), properties.pop("resultSegmentSizes", None)
            return UnregisteredOp(
                name, operands, type.results, properties, attributes, regions, successors, UNKNOWN,
                *[tuple(s) if isinstance(s, DenseArrayAttr) else None for s in segments],
            )  # fmt: skip
        return self.build_registered(cls, operands, type.results, properties, attributes, regions, successors)

    def _parse_generic_regions(self, cls: Any) -> list[Region]:
        isolated = cls is not None and IsolatedFromAbove in cls.traits
        dialect = "" if cls is None else cls.default_dialect
        return self.parse_list(
            lambda: self.parse_region(isolated=isolated, default_dialect=dialect), "(", ")"
        )

    def build_registered(
        self,
        cls: Any,
        operands: Sequence[Value],
        result_types: Sequence[Type],
        properties: dict[str, Attribute],
        attributes: dict[str, Attribute],
        regions: Sequence[Region] = (),
        successors: Sequence[Block] = (),
    ) -> Operation:
        """An op of a declared class from its flat parts: sorts attributes, fills in defaults and segments."""
        definition = cls.definition
        for name in [n for n in attributes if n in definition.attribute_by_name]:
            properties[name] = attributes.pop(name)
        segments: list[tuple[int, ...] | None] = []
        for name, wanted in (
            ("operandSegmentSizes", definition.segmented_operands),
            ("resultSegmentSizes", definition.segmented_results),
        ):
            found = properties.pop(name, None) or attributes.pop(name, None)
            segments.append(tuple(found) if wanted and isinstance(found, DenseArrayAttr) else None)
        for field in definition.attributes:
            if field.default is not None:
                properties.setdefault(field.name, field.default)
        if definition.segmented_operands and segments[0] is None:
            segments[0] = self._implied_segments(cls, len(operands))
        if definition.segmented_results and segments[1] is None:
            raise self.error_at(self.op_position, f"'{cls.name}' needs resultSegmentSizes")
        op = cls.__new__(cls)
        op.build(operands, result_types, properties, attributes, regions, successors, UNKNOWN, *segments)
        return op

    def _implied_segments(self, cls: Any, count: int) -> tuple[int, ...]:
        """The operand segments of an op that is written without: all groups of one length."""
        fields = cls.definition.operands
        singles = sum(f.arity == ONE for f in fields)
        share, rest = divmod(count - singles, len(fields) - singles)
        if rest or share < 0 or not (SameVariadicOperandSize in cls.traits or share == 0):
            raise self.error_at(self.op_position, f"'{cls.name}' needs operandSegmentSizes")
        return tuple([1 if f.arity == ONE else share for f in fields])

    # Blocks and regions.

    def parse_successor(self) -> Block:
        """`^name`."""
        if self.kind != "BLOCK":
            self.fail_expected("a block name")
        name, position = self.token, self.start
        self.advance()
        found = self._blocks.get(name)
        if found is None:
            found = self._blocks[name] = Block()
            self._pending_blocks[name] = position
        return found

    def parse_successor_with_operands(self) -> tuple[Block, list[Value]]:
        """`^name(%a, %b : i32, f32)`."""
        block = self.parse_successor()
        operands: list[Value] = []
        if self.parse_optional("("):
            operands = self.parse_operands()
            if operands:
                self.parse_punctuation(":")
                operands = self.resolve_all(operands, self.parse_type_list())
            self.parse_punctuation(")")
        return block, operands

    def parse_argument(self, *, type: Type | None = None, allow_attributes: bool = False) -> Argument:
        """`%name: type {attributes} loc(…)`; given a `type`, only the name is written."""
        if self.kind != "VALUE":
            self.fail_expected("an argument name")
        name, position = self.token, self.start
        self.advance()
        if type is None:
            self.parse_punctuation(":")
            type = self.parse_type()
        attributes = self.parse_optional_attr_dict() if allow_attributes else {}
        location: Location = self.source.location(position)
        if self.kind == "ID" and self.token == "loc":
            location = parse_location(self)
        return Argument(name, type, location, position, attributes)

    def parse_argument_list(self, opening: str = "(", closing: str = ")", **kwargs: Any) -> list[Argument]:
        """`(%a: i32, %b: f32)`."""
        return self.parse_list(lambda: self.parse_argument(**kwargs), opening, closing)

    def _add_arguments(self, block: Block, arguments: Iterable[Argument]) -> None:
        for argument in arguments:
            value = block.add_argument(argument.type)
            self._set_location(value, argument.location)
            self._define(argument.name, value, argument.position)

    def parse_region(
        self,
        arguments: Sequence[Argument] | None = None,
        *,
        isolated: bool = False,
        default_dialect: str = "",
        op_class: Any = None,
    ) -> Region:
        """`{ … }`. `arguments` were read before and belong to the entry block.

        Give `op_class` where the op is declared: its traits say whether values of the outside are visible, which
        dialect may be left out, and which terminator is implied.
        """
        terminator = None
        if op_class is not None:
            isolated = IsolatedFromAbove in op_class.traits
            default_dialect = op_class.default_dialect
            terminator = implicit_terminator(op_class)
        region = Region()
        outer_blocks, outer_pending, outer_defined = self._blocks, self._pending_blocks, self._defined
        outer_values, outer_forward = self._values, self._pending
        self._blocks, self._pending_blocks, self._defined = {}, {}, []
        if isolated:
            self._values, self._pending = {}, {}
        self._dialects.append(default_dialect)
        self.parse_punctuation("{")
        if arguments is not None:
            entry = region.append(Block())
            self._add_arguments(entry, arguments)
        if not self.at("}"):
            if self.kind != "BLOCK" or arguments is not None:
                entry = region.blocks[0] if region.blocks else region.append(Block())
                self._parse_ops(entry)
            while self.kind == "BLOCK":
                self._parse_block(region)
        for name, position in self._pending_blocks.items():
            raise self.error_at(position, f"block '{name}' is not defined")
        closing = self.start
        if isolated:
            self._check_pending()
        self._dialects.pop()
        if isolated:
            self._values, self._pending = outer_values, outer_forward
        else:
            for name in self._defined:
                del self._values[name]
        self._blocks, self._pending_blocks, self._defined = outer_blocks, outer_pending, outer_defined
        if terminator is not None:
            self.add_terminator(region, terminator, closing)
        self.parse_punctuation("}")
        return region

    def parse_optional_region(self, arguments: Sequence[Argument] | None = None, **kwargs: Any) -> Region | None:
        """`{ … }` if one is next."""
        return self.parse_region(arguments, **kwargs) if self.at("{") else None

    def add_terminator(self, region: Region, name: str, position: int) -> None:
        """Ends a region in the named op of no operands unless it has a terminator."""
        if not region.blocks:
            region.append(Block())
        block = region.blocks[-1]
        if block._last is None or not block._last.has_trait(Terminator):
            cls: Any = registry.lookup_operation(name)
            block.append(cls(location=self.source.location(position)))

    def _parse_block(self, region: Region) -> None:
        name, position = self.token, self.start
        self.advance()
        block = self._blocks.get(name)
        if block is None:
            block = self._blocks[name] = Block()
        elif name in self._pending_blocks:
            del self._pending_blocks[name]
        else:
            raise self.error_at(position, f"block '{name}' is defined twice")
        region.append(block)
        if self.at("("):
            self._add_arguments(block, self.parse_argument_list())
        self.parse_punctuation(":")
        self._parse_ops(block)

    def _parse_ops(self, block: Block) -> None:
        parse_operation, append = self.parse_operation, block.append
        while self.kind != "BLOCK" and self.token != "}":
            if self.kind == "EOF":
                self.fail_expected("'}'")
            append(parse_operation())


def parser_of(cls: Any) -> Callable[[Parser], Operation] | None:
    """How an op class reads its own form, or None where it has only the generic one."""
    if hasattr(cls, "parse"):
        return cls.parse
    if getattr(cls, "format", None) is None:
        return None
    code = cls._format_code
    if code is None:
        code = compile_format(cls)
    return code.parse


__all__ = ["ForwardRef", "Parser", "parse", "parse_module"]
