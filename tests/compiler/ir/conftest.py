"""A small dialect for the IR's own tests, and the real `iree-opt` as a judge of text."""


import pytest
from pyiree.compiler.ir import types as T
from pyiree.compiler.ir.attributes import Attribute, IntegerAttr, TypedAttr
from pyiree.compiler.ir.constraints import AnyType, SignlessIntegerLike
from pyiree.compiler.ir.core import Region
from pyiree.compiler.ir.definition import Op
from pyiree.compiler.ir.fields import (
    Attr,
    IntArrayProp,
    IntProp,
    Operand,
    OptionalIntProp,
    OptionalOperand,
    OptionalStringProp,
    OptionalUnitAttr,
    Result,
    Results,
    Successor,
    SymbolName,
    TypeProp,
    Variadic,
)
from pyiree.compiler.ir.format import directive
from pyiree.compiler.ir.parametrized import BitEnumAttr, DialectType, EnumAttr, Keyword, int_enum
from pyiree.compiler.ir.registry import register_constant_materializer
from pyiree.compiler.ir.traits import (
    Commutative,
    ConstantLike,
    HasParent,
    ImplicitTerminator,
    IsolatedFromAbove,
    Pure,
    SameOperandsAndResultType,
    Symbol,
    SymbolTable,
    Terminator,
)
from pyiree.compiler.ir.types import FunctionType, Type


class OverflowAttr(BitEnumAttr, name="t.overflow"):
    """Flags of additions."""

    cases = ("none", "nsw", "nuw")


class KindAttr(EnumAttr, name="t.kind"):
    """A bare word in formats."""

    cases = ("small", "large")
    bare = True


class BoxType(DialectType, name="t.box"):
    """`!t.box<i32>`."""

    element: Type


class ResourceType(DialectType, name="t.resource"):
    """`!t.resource<external>` or `!t.resource<external, 4>`."""

    lifetime: Keyword
    alignment: int | None = None
    format = "`<` $lifetime (`,` $alignment^)? `>`"


class TokenType(DialectType, name="t.token"):
    """`!t.token`."""


class ConstantOp(Op, name="t.constant"):
    """%c1_i32 = t.constant 1 : i32"""

    value: Attr[TypedAttr]
    result: Result[AnyType]
    traits = (Pure, ConstantLike)
    format = "attr-dict $value"

    def infer_types(self):
        return [self.value.type]

    def result_names(self):
        return [f"c{self.value.value}"] if isinstance(self.value, IntegerAttr) else None


class AddOp(Op, name="t.add"):
    """%2 = t.add %0, %1 overflow<nsw> : i32"""

    lhs: Operand[SignlessIntegerLike]
    rhs: Operand[SignlessIntegerLike]
    overflow: Attr[OverflowAttr] = OverflowAttr("none")
    result: Result[SignlessIntegerLike]
    traits = (Pure, Commutative, SameOperandsAndResultType)
    format = "$lhs `,` $rhs (`overflow` `` $overflow^)? attr-dict `:` type($result)"

    def fold(self, constants):
        lhs, rhs = constants
        if rhs is not None and rhs.value == 0:
            return [self.lhs]
        if lhs is not None and rhs is not None:
            return [IntegerAttr(lhs.value + rhs.value, lhs.type)]
        return None


class CompareOp(Op, name="t.compare"):
    """%1 = t.compare eq, %0, %0 : i32"""

    predicate: int_enum("predicate", {"eq": 0, "ne": 1}, T.i64)
    lhs: Operand[SignlessIntegerLike]
    rhs: Operand[SignlessIntegerLike]
    result: Result[T.i1]
    traits = (Pure,)
    format = "$predicate `,` $lhs `,` $rhs attr-dict `:` type($lhs)"


@directive("Sized")
class Sized:
    """`!t.box<i32>{%n}, …`: types with a size for each."""

    @staticmethod
    def print(printer, op, types, sizes):
        parts = [f"{printer.type_text(t)}{{{printer.name(s)}}}" for t, s in zip(types, sizes)]
        printer.emit(", ".join(parts))

    @staticmethod
    def parse(parser):
        types, sizes = [], []

        def one():
            types.append(parser.parse_type())
            parser.parse_punctuation("{")
            sizes.append(parser.parse_operand(T.index))
            parser.parse_punctuation("}")

        parser.parse_list(one)
        return types, sizes


class AwaitOp(Op, name="t.await"):
    """%r = t.await sync %t => %x : !t.box<i32>{%n}"""

    sync: OptionalUnitAttr
    timepoint: Operand[TokenType]
    resources: Variadic[BoxType]
    sizes: Variadic[T.IndexType]
    results: Results[BoxType]
    format = "(`sync` $sync^)? $timepoint `=>` $resources `:` Sized(type($resources), $sizes) attr-dict"

    def infer_types(self):
        return [r.type for r in self.resources]


class MiscOp(Op, name="t.misc"):
    """Most attribute kinds at once."""

    count: IntProp[T.i32]
    kind: Attr[KindAttr]
    shape: IntArrayProp[T.i64]
    of: TypeProp[Type]
    note: OptionalStringProp
    limit: OptionalIntProp[T.index]
    extra: OptionalOperand[T.i32]
    more: Variadic[T.i32]
    format = (
        "$kind $count `shape` `=` $shape `of` $of (`note` $note^)? (`limit` $limit^):(`unlimited`)? "
        "(`extra` $extra^)? (`(` $more^ `)`)? attr-dict"
    )


class BranchOp(Op, name="t.br"):
    """t.br ^bb1(%0 : i32)"""

    arguments: Variadic[AnyType]
    dest: Successor
    traits = (Pure, Terminator)
    format = "$dest (`(` $arguments^ `:` type($arguments) `)`)? attr-dict"


class CondBranchOp(Op, name="t.cond_br"):
    """t.cond_br %c, ^bb1, ^bb2"""

    condition: Operand[T.i1]
    true_dest: Successor
    false_dest: Successor
    traits = (Pure, Terminator)
    format = "$condition `,` $true_dest `,` $false_dest attr-dict"


class ReturnOp(Op, name="t.return"):
    """t.return %0 : i32"""

    operands: Variadic[AnyType]
    traits = (Pure, Terminator, HasParent("t.func"))
    format = "attr-dict ($operands^ `:` type($operands))?"


class YieldOp(Op, name="t.yield"):
    """t.yield %0 : i32"""

    operands: Variadic[AnyType]
    traits = (Pure, Terminator)
    format = "attr-dict ($operands^ `:` type($operands))?"


class ScopeOp(Op, name="t.scope"):
    """t.scope { … }: a region of one block with a terminator that need not be written."""

    body: Region
    results: Results[AnyType]
    traits = (ImplicitTerminator("t.yield"),)
    format = "(`->` type($results)^)? $body attr-dict"


class FuncOp(Op, name="t.func"):
    """t.func @f (i32) -> i32 { … }"""

    sym_name: SymbolName
    sym_visibility: OptionalStringProp
    function_type: TypeProp[FunctionType]
    body: Region
    traits = (IsolatedFromAbove, Symbol)
    default_dialect = "t"

    def print(self, printer):
        printer.emit(f" {self.sym_visibility} " if self.sym_visibility else " ")
        printer.print_symbol(self.sym_name)
        printer.name_region_arguments(self.body)
        printer.emit("(")
        if self.body.blocks:
            printer.print_arguments(self.body.entry.arguments)
        else:
            printer.emit(printer.types_text(self.function_type.inputs))
        printer.emit(f") -> ({printer.types_text(self.function_type.results)})")
        printer.print_attr_dict(self, ("sym_name", "sym_visibility", "function_type"), keyword=True)
        printer.print_optional_region(self.body, arguments=False)

    @classmethod
    def parse(cls, parser):
        visibility = parser.parse_optional_identifier()
        name = parser.parse_symbol_name()
        arguments = []
        if parser.text[parser.start :].lstrip("( ").startswith("%"):
            arguments = parser.parse_argument_list()
            types = [a.type for a in arguments]
        else:
            types = parser.parse_list(parser.parse_type, "(", ")")
        results = parser.parse_optional_arrow_types()
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_optional_region(arguments, op_class=cls)
        return cls(
            name, visibility, FunctionType(types, results), body=body, attributes=dict(attributes)
        )


class TableOp(Op, name="t.table"):
    """t.table { … }: a nested symbol table."""

    sym_name: SymbolName
    body: Region
    traits = (SymbolTable, Symbol, ImplicitTerminator("t.yield"))
    format = "$sym_name $body attr-dict"


def _constant(attribute: Attribute, type: Type, location):
    return ConstantOp(attribute, location=location) if isinstance(attribute, TypedAttr) else None


register_constant_materializer("t", _constant)


@pytest.fixture(scope="session")
def t():
    """The ops, types and attributes of the test dialect, by class name."""
    import types

    found = {k: v for k, v in globals().items() if isinstance(v, type) and v.__module__ == __name__}
    return types.SimpleNamespace(**found)


@pytest.fixture(scope="session")
def iree_opt(iree_tool):
    """A function (text, *flags) that runs `iree-opt` on a text."""

    def run(text: str, *flags: str) -> str:
        return iree_tool("iree-opt", "--allow-unregistered-dialect", *flags, "-", input=text).stdout.strip()

    return run
