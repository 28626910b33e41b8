"""Operations as MLIR text.

What enters: an op. What leaves: the text that `iree-opt` prints for it, with its way of naming values and blocks,
its result packs, aliases and trailing locations. A nested region is numbered from where the region around it ended,
so names are given as regions are entered and taken back as they are left.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Container, Iterable
from typing import Any

from pyiree.compiler.ir.attribute_printer import AttributePrinter
from pyiree.compiler.ir.attributes import Attribute, DenseArrayAttr
from pyiree.compiler.ir.core import Block, Operation, Region, Value
from pyiree.compiler.ir.format import compile_format
from pyiree.compiler.ir.location import UNKNOWN, Location
from pyiree.compiler.ir.quoting import symbol_text
from pyiree.compiler.ir.traits import IsolatedFromAbove, SameVariadicOperandSize
from pyiree.compiler.ir.types import FunctionType, Type, i32


def print_operation(
    op: Operation,
    *,
    generic: bool = False,
    debug_info: bool = False,
    elide_large_constants: bool | int = False,
) -> str:
    """The text of an op. `elide_large_constants` may be a number of elements (True: 32)."""
    printer = Printer(generic=generic, debug_info=debug_info, elide_large_constants=elide_large_constants)
    return printer.print_root(op)


class Printer(AttributePrinter):
    """Writes one op and all inside it; ops that print themselves call its methods."""

    def __init__(
        self, *, generic: bool = False, debug_info: bool = False, elide_large_constants: bool | int = False
    ) -> None:
        super().__init__()
        self.generic = generic
        self.debug_info = debug_info
        if elide_large_constants:
            self.elide_limit = 32 if elide_large_constants is True else elide_large_constants
        self._out: list[str] = []
        self.emit = self._out.append
        #: A line break and the indentation of the ops being printed.
        self.indent = "\n"
        self._names: dict[Value, str] = {}
        self._packs: dict[Value, str] = {}
        self._blocks: dict[Block, str] = {}
        self._used: set[str] = set()
        self._used_log: list[str] = []
        self._prenamed: dict[Region, tuple] = {}
        self._next_value = self._next_argument = self._next_conflict = 0
        self._dialects = ["builtin"]
        self._aliases: dict[Any, str] = {}
        #: Depth, name, number and text of each alias: an alias used by another has a smaller depth.
        self._alias_lines: list[tuple[int, str, int, str]] = []
        self._alias_depths: dict[Any, int] = {}
        self._alias_depth = 0
        self._alias_counts: dict[str, int] = {}
        self._location_aliases: dict[Location, str] = {}

    # Aliases.

    def alias_of(self, thing: Any) -> str | None:
        found = self._aliases.get(thing)
        if found is None:
            sigil = "!" if isinstance(thing, Type) else "#"
            around, self._alias_depth = self._alias_depth, 0
            text = thing.text(self)
            depth = self._alias_depths[thing] = self._alias_depth
            self._alias_depth = around
            key = sigil + thing.alias
            # A name that ends in a digit would run into its number.
            separator = "_" if key[-1].isdigit() else ""
            count = self._alias_counts.get(key, 0)
            self._alias_counts[key] = count + 1
            found = self._aliases[thing] = f"{key}{f'{separator}{count}' if count else ''}"
            self._alias_lines.append((depth, key, count, f"{found} = {text}\n"))
        self._alias_depth = max(self._alias_depth, self._alias_depths[thing] + 1)
        return found

    def _location_alias(self, location: Location) -> str:
        if location is UNKNOWN:
            return "loc(unknown)"
        found = self._location_aliases.get(location)
        if found is None:
            count = len(self._location_aliases)
            found = self._location_aliases[location] = f"#loc{count or ''}"
        return f"loc({found})"

    def print_location(self, location: Location) -> None:
        """The trailing ` loc(…)` of an op or argument, where locations are wanted."""
        if self.debug_info:
            self.emit(f" {self._location_alias(location)}")

    # Roots.

    def print_root(self, op: Operation) -> str:
        """The whole text, with the definitions of the aliases it uses."""
        self._free_operands(op)
        self.name_results(op)
        if self.generic:
            self._number_all(op)
        self.print_operation(op)
        text = "".join(self._out)
        if (op.parent_op is None and op.name == "builtin.module") or self._alias_lines:
            text += "\n"
        lines = "".join([line for *_, line in sorted(self._alias_lines)])
        if self._location_aliases:
            plain = AttributePrinter()
            text = text if text.endswith("\n") else text + "\n"
            text += "".join([f"{name} = loc({at.body(plain)})\n" for at, name in self._location_aliases.items()])
        return lines + text

    def _free_operands(self, op: Operation) -> None:
        """Values of the outside still need names when a part of a program is printed."""
        if op.block is None or IsolatedFromAbove in op.traits:
            return
        inside = {r for nested in op.walk() for r in nested._results}
        for nested in op.walk():
            inside.update(a for region in nested.regions for block in region.blocks for a in block.arguments)
        for nested in op.walk():
            for value in nested._operands:
                if value not in inside and value not in self._names:
                    owner = value.defining_op
                    if owner is None:
                        self._name_value(value, "")
                    else:
                        self.name_results(owner)
            for target in nested._successors:
                if target.region is None or not op.is_ancestor_of(target.region.parent_op or op):
                    self._blocks.setdefault(target, f"^bb{len(self._blocks)}")

    # Names.

    def _name_value(self, value: Value, hint: str) -> None:
        self._names[value] = "%" + self._unique(hint)

    def _unique(self, hint: str) -> str:
        if not hint:
            name = str(self._next_value)
            self._next_value += 1
            return name
        name, used = hint, self._used
        while name in used:
            name = f"{hint}_{self._next_conflict}"
            self._next_conflict += 1
        used.add(name)
        self._used_log.append(name)
        return name

    def name_results(self, op: Operation) -> None:
        """Gives the results of an op their names: its own hints, else the next number, `%0:2` for packs."""
        results = op._results
        if not results:
            return
        hints = op.result_names() if not self.generic and hasattr(op, "result_names") else None
        if len(results) == 1:
            name = "%" + self._unique(_clean(hints[0]) if hints and hints[0] else "")
            self._names[results[0]] = self._packs[results[0]] = name
            return
        # A hint at a later result starts a pack of its own there.
        starts = [0] + [i for i in range(1, len(results)) if hints and hints[i]] + [len(results)]
        for start, end in itertools.pairwise(starts):
            hint = _clean(hints[start]) if hints and hints[start] else ""
            name = "%" + self._unique(hint)
            if end - start == 1:
                self._names[results[start]] = self._packs[results[start]] = name
                continue
            self._packs[results[start]] = f"{name}:{end - start}"
            for i in range(start, end):
                self._names[results[i]] = f"{name}#{i - start}"

    def _name_region(self, region: Region) -> None:
        parent = region.parent_op
        hints = None
        if parent is not None and not self.generic and hasattr(parent, "block_argument_names"):
            hints = parent.block_argument_names(region)
        for number, block in enumerate(region.blocks):
            self._blocks[block] = f"^bb{number}"
            for i, argument in enumerate(block.arguments):
                if argument in self._names:
                    continue
                hint = ""
                if number == 0:
                    hint = _clean(hints[i]) if hints and hints[i] else ""
                    if not hint:
                        hint = f"arg{self._next_argument}"
                        self._next_argument += 1
                self._name_value(argument, hint)
            op = block._first
            while op is not None:
                self.name_results(op)
                op = op._next

    def _number_all(self, root: Operation) -> None:
        """In the generic form numbers are unique in the whole text, and given to the last region first."""
        stack = list(root.regions)
        while stack:
            region = stack.pop()
            self._name_region(region)
            stack.extend([inner for block in region.blocks for op in block.ops for inner in op.regions])

    def name(self, value: Value) -> str:
        """The name of a value: `%0`, `%c1`, `%3#1`."""
        found = self._names.get(value)
        return f"<<unknown {value!r}>>" if found is None else found

    def names(self, values: Iterable[Value]) -> str:
        """Comma separated names."""
        get = self._names.get
        return ", ".join([get(v) or self.name(v) for v in values])

    def rename(self, value: Value, name: str) -> None:
        """Makes `value` print under a name chosen before (block arguments that shadow an operand)."""
        self._names[value] = name

    def block_name(self, block: Block) -> str:
        """`^bb0`."""
        return self._blocks.get(block, "^<<unknown block>>")

    # Operations.

    def print_operation(self, op: Operation) -> None:
        """One op: results, body, location."""
        emit, results = self.emit, op._results
        if results:
            packs = self._packs
            if len(results) == 1:
                emit(f"{packs[results[0]]} = ")
            else:
                emit(", ".join([packs[r] for r in results if r in packs]) + " = ")
        write = None if self.generic else printer_of(op)
        if write is None:
            self.print_generic(op)
        else:
            name, dialect = op.name, op.name.partition(".")[0]
            if dialect == self._dialects[-1] and name.count(".") == 1:
                name = name[len(dialect) + 1 :]
            emit(name)
            write(self, op)
        if self.debug_info:
            self.print_location(op.location)

    def print_generic(self, op: Operation) -> None:
        """The form that every op has: `"d.op"(%a)[^bb] <{…}> ({…}) {…} : (…) -> …`."""
        emit = self.emit
        emit(f'"{op.name}"({self.names(op._operands)})')
        if op._successors:
            emit(f"[{', '.join([self.block_name(b) for b in op._successors])}]")
        properties = all_properties(op)
        if properties:
            emit(f" <{self.dict_text(sorted(properties.items()))}>")
        if op.regions:
            emit(" (")
            for i, region in enumerate(op.regions):
                if i:
                    emit(", ")
                self.print_region(region, arguments=True, terminator=True)
            emit(")")
        if op.attributes:
            emit(f" {self.dict_text(sorted(op.attributes.items()))}")
        emit(f" : {self.type_text_uncached(op.operand_types, op.result_types)}")

    def type_text_uncached(self, inputs: Iterable[Type], results: Iterable[Type]) -> str:
        """The text of a function type that need not be made for it."""
        results = tuple(results)
        left = self.types_text(inputs)
        if len(results) == 1 and not isinstance(results[0], FunctionType):
            return f"({left}) -> {self.type_text(results[0])}"
        return f"({left}) -> ({self.types_text(results)})"

    # Regions and blocks.

    def print_region(
        self,
        region: Region,
        *,
        arguments: bool = True,
        terminator: bool = True,
        empty_block: bool = False,
    ) -> None:
        """`{ … }`. `arguments`: whether the entry block shows its header when it has arguments.

        `terminator=False` leaves out the last op of single blocks. `empty_block` writes `^bb0:` for an entry block
        without ops.
        """
        saved, saved_log = self._counters(), len(self._used_log)
        parent = region.parent_op
        self._dialects.append(parent.default_dialect if parent is not None else "")
        prenamed = self._prenamed.pop(region, None)
        if prenamed is None:
            if not self.generic:
                self._name_region(region)
        else:
            (self._next_value, self._next_argument, self._next_conflict), names = prenamed
            self._used.update(names)
            self._used_log.extend(names)
        emit, outer = self.emit, self.indent
        emit("{")
        if region.blocks:
            inner = outer + "  "
            for number, block in enumerate(region.blocks):
                if number == 0:
                    header = (arguments and bool(block.arguments)) or (empty_block and not len(block))
                    # A branch to the entry block needs its name.
                    header = header or bool(block._users)
                else:
                    header = True
                if header:
                    emit(outer)
                    self._print_block_header(block)
                self.indent = inner
                last = block._last if not terminator and len(region.blocks) == 1 else None
                op = block._first
                while op is not None:
                    if op is not last:
                        emit(inner)
                        self.print_operation(op)
                    op = op._next
            self.indent = outer
        emit(outer)
        emit("}")
        self._dialects.pop()
        self._restore(saved, saved_log)

    def _counters(self) -> tuple[int, int, int]:
        return self._next_value, self._next_argument, self._next_conflict

    def _restore(self, counters: tuple[int, int, int], log_length: int) -> list[str]:
        """Takes back the names given since then; returns them."""
        self._next_value, self._next_argument, self._next_conflict = counters
        names = self._used_log[log_length:]
        del self._used_log[log_length:]
        self._used.difference_update(names)
        return names

    def _print_block_header(self, block: Block) -> None:
        emit = self.emit
        emit(self._blocks[block])
        if block.arguments:
            emit("(")
            self.print_arguments(block.arguments)
            emit(")")
        emit(":")
        if not block.is_entry:
            names = [self.block_name(b) for b in block.predecessors]
            if not names:
                emit("  // no predecessors")
            else:
                names.sort(key=lambda n: int(n[3:]) if n[3:].isdigit() else -1)
                emit(f"  // {f'{len(names)} preds' if len(names) > 1 else 'pred'}: {', '.join(names)}")

    def print_arguments(self, arguments: Iterable[Value]) -> None:
        """`%arg0: i32, %arg1: f32`."""
        for i, argument in enumerate(arguments):
            if i:
                self.emit(", ")
            self.print_argument(argument)

    def print_argument(self, argument: Any, attributes: Any = None) -> None:
        """`%arg0: i32 {attributes}`."""
        self.emit(f"{self.name(argument)}: {self.type_text(argument.type)}")
        if attributes:
            self.emit(f" {self.dict_text(attributes.items())}")
        self.print_location(argument.location)

    def print_optional_region(self, region: Region, **kwargs: Any) -> None:
        """` { … }` unless the region is empty."""
        if region.blocks:
            self.emit(" ")
            self.print_region(region, **kwargs)

    def name_region_arguments(self, region: Region) -> None:
        """Names a region's values ahead of its printing, for ops that write arguments in their own syntax.

        `print_region` then goes on with these names.
        """
        saved, saved_log = self._counters(), len(self._used_log)
        self._name_region(region)
        after = self._counters()
        self._prenamed[region] = (after, self._restore(saved, saved_log))

    # Small pieces for ops that print themselves.

    def print_successor(self, block: Block, operands: Iterable[Value] = ()) -> None:
        """`^bb1(%0, %1 : i32, f32)`."""
        operands = tuple(operands)
        self.emit(self.block_name(block))
        if operands:
            self.emit(f"({self.names(operands)} : {self.types_text([v.type for v in operands])})")

    def print_symbol(self, name: str) -> None:
        """`@name`."""
        self.emit(symbol_text(name))

    def print_attr_dict(self, op: Operation, elided: Iterable[str] = (), *, keyword: bool = False) -> None:
        """` {…}`: discardable attributes and those properties that are neither in `elided` nor at their default."""
        if not op.attributes and not op.properties:
            return
        skip = set(elided)
        entries = [item for item in sorted(op.attributes.items()) if item[0] not in skip]
        entries.extend(_unwritten_properties(op, skip))
        if entries:
            self.emit(f" attributes {self.dict_text(entries)}" if keyword else f" {self.dict_text(entries)}")

    def print_format_attributes(self, op: Operation, written: frozenset[str], keyword: bool) -> None:
        """What `attr-dict` means in a format: ` <name = value>` for properties that the format does not write, then
        ` {…}` for discardable attributes."""
        if not written.issuperset(op.properties):
            entries = _unwritten_properties(op, written)
            if entries:
                self.emit(f" <{', '.join([self.entry_text(n, a, elided=True) for n, a in entries])}>")
        if op.attributes:
            entries = sorted(op.attributes.items())
            self.emit(f" attributes {self.dict_text(entries)}" if keyword else f" {self.dict_text(entries)}")


def _unwritten_properties(op: Operation, written: Container[str]) -> list[tuple[str, Attribute]]:
    """The properties that are not written otherwise nor at their default, in the order of declaration."""
    definition = getattr(op, "definition", None)
    if definition is None:
        return [item for item in sorted(op.properties.items()) if item[0] not in written]
    properties = op.properties
    return [
        (field.name, properties[field.name])
        for field in definition.attributes
        if field.name in properties and field.name not in written and properties[field.name] is not field.default
    ]


def _clean(hint: str) -> str:
    """A hint as the lexer reads it: spaces become `_`, other characters their code; before a digit stands a `_`."""
    text = "".join([_clean_character(c) for c in hint])
    return f"_{text}" if text[:1].isdigit() else text


def _clean_character(c: str) -> str:
    if c.isascii() and (c.isalnum() or c in "_.$-"):
        return c
    return "_" if c == " " else c.encode().hex().upper()


def all_properties(op: Operation) -> dict[str, Attribute]:
    """The inherent attributes, with the segment sizes that the op keeps beside them."""
    definition = getattr(op, "definition", None)
    if op.operand_segments is None and op.result_segments is None:
        return op.properties
    properties = dict(op.properties)
    implied = SameVariadicOperandSize in op.traits
    if op.operand_segments is not None and not implied and (definition is None or definition.segmented_operands):
        properties["operandSegmentSizes"] = DenseArrayAttr(i32, op.operand_segments)
    if op.result_segments is not None and (definition is None or definition.segmented_results):
        properties["resultSegmentSizes"] = DenseArrayAttr(i32, op.result_segments)
    return properties


def printer_of(op: Operation) -> Callable[[Printer, Any], None] | None:
    """How an op's own form is written, or None where it has only the generic one."""
    cls = type(op)
    if hasattr(cls, "print"):
        return _print_by_hand
    if getattr(cls, "format", None) is None:
        return None
    code = cls._format_code
    if code is None:
        code = compile_format(cls)
    return code.print


def _print_by_hand(printer: Printer, op: Any) -> None:
    op.print(printer)


