"""The `builtin` dialect: the module, and the cast that stands between type systems during a conversion."""

from __future__ import annotations

from typing import Any

from pyiree.compiler.ir.attributes import StringAttr
from pyiree.compiler.ir.constraints import AnyType
from pyiree.compiler.ir.core import Block, Region
from pyiree.compiler.ir.definition import Op
from pyiree.compiler.ir.fields import OptionalStringProp, OptionalSymbolName, Results, Variadic
from pyiree.compiler.ir.traits import (
    GraphRegion,
    IsolatedFromAbove,
    NoTerminator,
    Pure,
    SingleBlock,
    Symbol,
    SymbolTable,
)


class ModuleOp(Op, name="builtin.module"):
    """A unit of compilation: a symbol table of functions, globals and executables.

    module @name attributes {…} { … }
    """

    sym_name: OptionalSymbolName
    sym_visibility: OptionalStringProp
    body: Region
    traits = (IsolatedFromAbove, SymbolTable, Symbol, NoTerminator, GraphRegion, SingleBlock)
    default_dialect = "builtin"

    def __init__(self, body: Any = None, **fields: Any) -> None:
        super().__init__(body=Block() if body is None else body, **fields)

    @property
    def body_block(self) -> Block:
        """The block of the module."""
        return self.body.entry

    def print(self, printer: Any) -> None:
        if self.sym_name is not None:
            printer.emit(" ")
            printer.print_symbol(self.sym_name)
        printer.print_attr_dict(self, ("sym_name",), keyword=True)
        printer.emit(" ")
        printer.print_region(self.body)

    @classmethod
    def parse(cls, parser: Any) -> ModuleOp:
        name = parser.parse_optional_symbol_name()
        attributes = parser.parse_optional_attr_dict_with_keyword()
        region = parser.parse_region(op_class=cls)
        if region.is_empty:
            region.append(Block())
        properties = {} if name is None else {"sym_name": StringAttr(name)}
        return parser.build_registered(cls, (), (), properties, attributes, [region])


class UnrealizedConversionCastOp(Op, name="builtin.unrealized_conversion_cast"):
    """Values of one type system as those of another; a conversion removes it again.

    %1 = builtin.unrealized_conversion_cast %0 : i32 to !vm.ref
    """

    inputs: Variadic[AnyType]
    outputs: Results[AnyType]
    traits = (Pure,)
    format = "($inputs^ `:` type($inputs))? `to` type($outputs) attr-dict"

    def fold(self, constants: Any) -> Any:
        """A cast of casts that gives back the original types is the original values."""
        source = self.operands[0].defining_op if self.operands else None
        if self.operand_types == self.result_types:
            return list(self.operands)
        if isinstance(source, UnrealizedConversionCastOp) and tuple(source.results) == self.operands:
            if source.operand_types == self.result_types:
                return list(source.operands)
        return None
