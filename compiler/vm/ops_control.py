"""Modules, functions, calls and control flow.

Enters: nothing. Leaves: op classes.

    vm.module public @m {
      vm.import private @hal.fence.await(%timeout_millis : i32, %fences : !vm.ref<!hal.fence> ...) -> i32
      vm.func private @main(%arg0: i32) -> i32 { vm.return %arg0 : i32 }
      vm.export @main
    }
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.dialects.functions import FunctionOp
from pyiree.compiler.ir.attributes import ArrayAttr, Attribute, DenseArrayAttr, DictAttr, StringAttr, TypeAttr, UnitAttr
from pyiree.compiler.ir.core import Block, Region, Value
from pyiree.compiler.ir.fields import (
    IntArrayProp,
    Operand,
    OptionalAttr,
    OptionalIntProp,
    OptionalStringProp,
    OptionalUnitAttr,
    Result,
    Results,
    StringProp,
    Successor,
    SymbolName,
    SymbolRef,
    TypeProp,
    Variadic,
    VariadicSuccessor,
)
from pyiree.compiler.ir.traits import (
    HasParent,
    ImplicitTerminator,
    IsolatedFromAbove,
    Pure,
    ReturnLike,
    Symbol,
    SymbolTable,
    Terminator,
)
from pyiree.compiler.ir.types import FunctionType, Type, i32
from pyiree.compiler.vm.ops_base import AnyRef, AnyVm, VmOp
from pyiree.compiler.vm.ops_calls import *  # noqa: F403  (calls are part of this dialect)

# ------------------------------------------------------------------ structure


class ModuleOp(VmOp, name="vm.module"):
    """A module: what becomes one file."""

    sym_visibility: OptionalStringProp
    sym_name: SymbolName
    ordinal_counts: OptionalAttr[Attribute]
    version: OptionalIntProp[i32]
    body: Region
    traits = (
        IsolatedFromAbove,
        Symbol,
        SymbolTable,
        ImplicitTerminator("vm.module_terminator"),
    )
    format = "custom<SymbolVisibility>($sym_visibility) $sym_name attr-dict-with-keyword regions"

    @property
    def entry_block(self) -> Block:
        """The block of its symbols."""
        return self.body.entry


class ModuleTerminatorOp(VmOp, name="vm.module_terminator"):
    """The end of a module; never written."""

    traits = (Terminator, HasParent("vm.module"))
    format = "attr-dict"


class FuncOp(FunctionOp, name="vm.func"):
    """A function of the module."""

    ordinal: OptionalAttr[Attribute]
    inlining_policy: OptionalAttr[Attribute]
    traits = (IsolatedFromAbove, Symbol, HasParent("vm.module"))


class InitializerOp(VmOp, name="vm.initializer"):
    """Runs when the module is loaded; merged into `__init`."""

    function_type: TypeProp[FunctionType] = FunctionType()
    body: Region
    traits = (IsolatedFromAbove, HasParent("vm.module"))

    @property
    def entry_block(self) -> Block:
        """The first block."""
        return self.body.entry

    def print(self, printer: Any) -> None:
        printer.print_attr_dict(self, ("function_type",), keyword=True)
        printer.emit(" ")
        printer.print_region(self.body)

    @classmethod
    def parse(cls, parser: Any) -> Any:
        attributes = parser.parse_optional_attr_dict_with_keyword()
        return cls(body=parser.parse_region(op_class=cls), attributes=attributes)


class ExportOp(VmOp, name="vm.export"):
    """Makes a function callable from outside, under its own name or another."""

    function_ref: SymbolRef
    export_name: StringProp
    ordinal: OptionalAttr[Attribute]

    def print(self, printer: Any) -> None:
        printer.emit(f" {self.function_ref}")
        if self.export_name != self.function_ref.leaf:
            printer.emit(f' as("{self.export_name}")')
        printer.print_attr_dict(self, ("function_ref", "export_name"), keyword=True)

    @classmethod
    def parse(cls, parser: Any) -> Any:
        function = parser.parse_symbol_ref()
        name = function.leaf
        if parser.parse_optional_literal("as"):
            parser.parse_punctuation("(")
            name = parser.parse_string()
            parser.parse_punctuation(")")
        properties = {"function_ref": function, "export_name": StringAttr(name)}
        return parser.build_registered(cls, (), (), properties, parser.parse_optional_attr_dict_with_keyword())


class ImportOp(VmOp, name="vm.import"):
    """A function of another module: the part of its name before the first dot names that module.

    vm.import private @hal.fence.join(%flags : i64, %fences : !vm.ref<!hal.fence> ...) -> !vm.ref<!hal.fence>
    """

    sym_name: SymbolName
    function_type: TypeProp[FunctionType]
    arg_attrs: OptionalAttr[ArrayAttr]
    res_attrs: OptionalAttr[ArrayAttr]
    sym_visibility: OptionalStringProp
    ordinal: OptionalAttr[Attribute]
    is_optional: OptionalUnitAttr
    minimum_version: OptionalIntProp[i32]
    traits = (Symbol,)

    def argument_attributes(self, number: int) -> DictAttr:
        """The attributes of a parameter: `vm.name`, `vm.variadic`."""
        return DictAttr() if self.arg_attrs is None else self.arg_attrs[number]

    def is_span(self, number: int) -> bool:
        """Whether a parameter stands for any number of values or tuples."""
        return self.argument_attributes(number).get("vm.variadic") is not None

    @property
    def is_variadic(self) -> bool:
        """Whether any parameter is a span."""
        return any(self.is_span(i) for i in range(len(self.function_type.inputs)))

    def print(self, printer: Any) -> None:
        printer.emit(f" {self.sym_visibility or 'public'} {'optional ' if self.is_optional else ''}")
        printer.print_symbol(self.sym_name)
        parts = []
        for i, type in enumerate(self.function_type.inputs):
            name = self.argument_attributes(i).get("vm.name")
            prefix = "" if name is None else f"%{name.value} : "
            parts.append(f"{prefix}{printer.type_text(type)}{' ...' if self.is_span(i) else ''}")
        printer.emit(f"({', '.join(parts)})")
        results = self.function_type.results
        if results:
            text = printer.types_text(results)
            printer.emit(f" -> {text}" if len(results) == 1 else f" -> ({text})")
        elided = ("sym_name", "function_type", "arg_attrs", "res_attrs", "is_optional", "sym_visibility")
        printer.print_attr_dict(self, elided, keyword=True)

    @classmethod
    def parse(cls, parser: Any) -> Any:
        properties: dict[str, Attribute] = {}
        for word in ("public", "private", "nested"):
            if parser.parse_optional_literal(word) and word != "public":
                properties["sym_visibility"] = StringAttr(word)
        if parser.parse_optional_literal("optional"):
            properties["is_optional"] = UnitAttr()
        properties["sym_name"] = StringAttr(parser.parse_symbol_name())
        types, attributes = [], []

        def parameter() -> None:
            found: dict[str, Attribute] = {}
            if parser.kind == "VALUE":
                found["vm.name"] = StringAttr(parser.token.removeprefix("%"))
                parser.advance()
                parser.parse_punctuation(":")
            types.append(parser.parse_type())
            if parser.parse_optional("..."):
                found["vm.variadic"] = UnitAttr()
            attributes.append(DictAttr(found))

        parser.parse_list(parameter, "(", ")")
        results = parser.parse_optional_arrow_types()
        properties["function_type"] = TypeAttr(FunctionType(types, results))
        if any(len(a) for a in attributes):
            properties["arg_attrs"] = ArrayAttr(attributes)
        return parser.build_registered(cls, (), (), properties, parser.parse_optional_attr_dict_with_keyword())


# ------------------------------------------------------------------ control flow


class BranchOp(VmOp, name="vm.br"):
    """Goes to a block.

    vm.br ^bb1(%0 : i32)
    """

    dest_operands: Variadic[AnyVm]
    dest: Successor
    traits = (Terminator,)

    def print(self, printer: Any) -> None:
        printer.emit(" ")
        printer.print_successor(self.dest, self.dest_operands)
        printer.print_attr_dict(self)

    @classmethod
    def parse(cls, parser: Any) -> Any:
        block, operands = parser.parse_successor_with_operands()
        return cls(operands, block, attributes=parser.parse_optional_attr_dict())

    def branch_operands(self, successor: int) -> tuple[Value, ...]:
        """What a successor gets."""
        return self.dest_operands


class YieldOp(BranchOp, name="vm.yield"):
    """Suspends the invocation; it goes on at the block."""


class BreakOp(BranchOp, name="vm.break"):
    """Stops in a debugger; goes on at the block."""


class CondBranchOp(VmOp, name="vm.cond_br"):
    """Goes to the first block if the condition is not 0, else to the second.

    vm.cond_br %c, ^bb1(%0 : i32), ^bb2
    """

    condition: Operand[i32]
    true_operands: Variadic[AnyVm]
    false_operands: Variadic[AnyVm]
    true_dest: Successor
    false_dest: Successor
    traits = (Terminator,)

    def print(self, printer: Any) -> None:
        printer.emit(f" {printer.name(self.condition)}, ")
        printer.print_successor(self.true_dest, self.true_operands)
        printer.emit(", ")
        printer.print_successor(self.false_dest, self.false_operands)
        printer.print_attr_dict(self)

    @classmethod
    def parse(cls, parser: Any) -> Any:
        condition = parser.parse_operand(i32)
        parser.parse_punctuation(",")
        true_dest, true_operands = parser.parse_successor_with_operands()
        parser.parse_punctuation(",")
        false_dest, false_operands = parser.parse_successor_with_operands()
        attributes = parser.parse_optional_attr_dict()
        return cls(condition, true_operands, false_operands, true_dest, false_dest, attributes=attributes)

    def branch_operands(self, successor: int) -> tuple[Value, ...]:
        """What a successor gets."""
        return self.false_operands if successor else self.true_operands

    def redirect(self, successor: int, block: Block) -> None:
        """Goes to another block in one case, and passes it nothing."""
        if successor:
            self.false_operands, self.false_dest = (), block
        else:
            self.true_operands, self.true_dest = (), block


class CondBreakOp(VmOp, name="vm.cond_break"):
    """Stops in a debugger if the condition is not 0; goes on at the block."""

    condition: Operand[i32]
    dest_operands: Variadic[AnyVm]
    dest: Successor
    traits = (Terminator,)

    def print(self, printer: Any) -> None:
        printer.emit(f" {printer.name(self.condition)}, ")
        printer.print_successor(self.dest, self.dest_operands)
        printer.print_attr_dict(self)

    @classmethod
    def parse(cls, parser: Any) -> Any:
        condition = parser.parse_operand(i32)
        parser.parse_punctuation(",")
        block, operands = parser.parse_successor_with_operands()
        return cls(condition, operands, block, attributes=parser.parse_optional_attr_dict())

    def branch_operands(self, successor: int) -> tuple[Value, ...]:
        """What a successor gets."""
        return self.dest_operands


class BranchTableOp(VmOp, name="vm.br_table"):
    """Goes to one of several blocks by an index; to the default where the index is outside.

    vm.br_table %i {
      default: ^bb1(%0 : i32),
      0: ^bb2
    }
    """

    index_: Operand[i32]
    default_operands: Variadic[AnyVm]
    case_operands: Variadic[AnyVm]
    case_operand_segments: IntArrayProp[i32]
    dests: VariadicSuccessor
    traits = (Terminator,)

    def branch_operands(self, successor: int) -> tuple[Value, ...]:
        """What a successor gets; number 0 is the default."""
        if successor == 0:
            return self.default_operands
        counts = self.case_operand_segments
        start = sum(counts[: successor - 1])
        return self.case_operands[start : start + counts[successor - 1]]

    def redirect(self, successor: int, block: Block) -> None:
        """Goes to another block in one case, and passes it nothing."""
        if successor == 0:
            self.default_operands = ()
        else:
            groups = [list(self.branch_operands(i + 1)) for i in range(len(self.case_operand_segments))]
            groups[successor - 1] = []
            self.case_operand_segments = [len(g) for g in groups]
            self.case_operands = [v for g in groups for v in g]
        self.successors = [*self.dests[:successor], block, *self.dests[successor + 1 :]]

    def print(self, printer: Any) -> None:
        indent = printer.indent
        printer.emit(f" {printer.name(self.index_)} {{{indent}  default: ")
        for number, block in enumerate(self.dests):
            if number:
                printer.emit(f",{indent}  {number - 1}: ")
            printer.print_successor(block, self.branch_operands(number))
        printer.emit(f"{indent}}}")
        printer.print_attr_dict(self, ("case_operand_segments",))

    @classmethod
    def parse(cls, parser: Any) -> Any:
        index = parser.parse_operand(i32)
        parser.parse_punctuation("{")
        parser.parse_literal("default")
        parser.parse_punctuation(":")
        block, defaults = parser.parse_successor_with_operands()
        blocks, groups = [block], []
        while parser.parse_optional(","):
            number = parser.parse_integer()
            if number != len(groups):
                raise parser.error(f"expected case {len(groups)}, found {number}")
            parser.parse_punctuation(":")
            block, operands = parser.parse_successor_with_operands()
            blocks.append(block)
            groups.append(operands)
        parser.parse_punctuation("}")
        flat = [v for group in groups for v in group]
        segments = DenseArrayAttr(i32, [len(g) for g in groups])
        return cls(index, defaults, flat, segments, blocks, attributes=parser.parse_optional_attr_dict())


class ReturnOp(VmOp, name="vm.return"):
    """Returns from a function."""

    operands: Variadic[AnyVm]
    traits = (Terminator, ReturnLike)
    format = "attr-dict ($operands^ `:` type($operands))?"


class FailOp(VmOp, name="vm.fail"):
    """Ends the invocation with a status other than 0.

    vm.fail %status, "what failed"
    """

    status: Operand[i32]
    message: OptionalStringProp
    traits = (Terminator,)
    format = "$status (`,` $message^)? attr-dict"


# ------------------------------------------------------------------ references, hints and debugging


class DiscardRefsOp(VmOp, name="vm.discard.refs"):
    """Gives up references that nothing reads any more."""

    refs: Variadic[AnyRef]
    format = "($refs^ `:` type($refs))? attr-dict"


class AssignRefOp(VmOp, name="vm.assign.ref"):
    """Another reference to the same object."""

    source: Operand[AnyRef]
    result: Result[AnyRef]
    format = "$source attr-dict `:` type($source) `->` type($result)"


class CastAnyRefOp(VmOp, name="vm.cast.any.ref"):
    """A reference as one of a certain type; fails at run time where the object has another.

    %1 = vm.cast.any.ref %0 : !vm.ref<?> -> !vm.buffer
    """

    operand: Operand[AnyRef]
    result: Result[AnyRef]
    traits = (Pure,)
    format = "$operand attr-dict `:` type($operand) `->` type($result)"


class CastRefAnyOp(VmOp, name="vm.cast.ref.any"):
    """A reference of a certain type as one of any; nothing happens at run time."""

    operand: Operand[AnyRef]
    result: Result[AnyRef]
    traits = (Pure,)
    format = "$operand attr-dict `:` type($operand) `->` type($result)"


class OptimizationBarrierOp(VmOp, name="vm.optimization_barrier"):
    """The operands, which nothing may be known about afterwards; gone before bytecode is made."""

    operands: Variadic[AnyVm]
    results: Results[AnyVm]
    format = "attr-dict ($operands^ `:` type($operands))?"

    def infer_types(self) -> tuple[Type, ...]:
        return self.operand_types


class TraceOp(VmOp, name="vm.trace"):
    """Records an event with values."""

    event_name: StringProp
    operands: Variadic[AnyVm]
    format = "$event_name `(` operands `)` attr-dict `:` type(operands)"


class PrintOp(VmOp, name="vm.print"):
    """Writes a message with values."""

    message: StringProp
    operands: Variadic[AnyVm]
    format = "$message `(` operands `)` attr-dict `:` type(operands)"
