"""The util dialect: functions, globals, initializers, and what else programs need that is no computation.

Names, operands and text are IREE's. Buffers of the host are in `util_buffers.py`, types and attributes in
`util_types.py`.
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.dialects import assembly as _assembly  # noqa: F401  (registers the directives)
from pyiree.compiler.dialects.functions import FunctionOp
from pyiree.compiler.dialects.tied_results import tied_operand_indices
from pyiree.compiler.dialects.util_buffers import *  # noqa: F403  (this module is the whole dialect)
from pyiree.compiler.dialects.util_lists import *  # noqa: F403  (this module is the whole dialect)
from pyiree.compiler.dialects.util_types import (
    IntAssumptionAttr,
    PtrType,
)
from pyiree.compiler.ir.attributes import ArrayAttr, Attribute, IntegerAttr
from pyiree.compiler.ir.constraints import AnyType, SignlessIntegerOrIndex
from pyiree.compiler.ir.core import Block, Region
from pyiree.compiler.ir.definition import Op
from pyiree.compiler.ir.fields import (
    Attr,
    Operand,
    OptionalAttr,
    OptionalStringProp,
    OptionalUnitAttr,
    Result,
    Results,
    SymbolName,
    SymbolRef,
    TypeProp,
    Variadic,
)
from pyiree.compiler.ir.format import directive
from pyiree.compiler.ir.traits import (
    Commutative,
    IsolatedFromAbove,
    MemoryRead,
    MemoryWrite,
    Pure,
    ReturnLike,
    SameOperandsAndResultType,
    SameTypeOperands,
    Symbol,
    Terminator,
)
from pyiree.compiler.ir.types import FunctionType, IndexType, Type, bit_width, i1, i32, index

Constants = list[Attribute | None]


class FuncOp(FunctionOp, name="util.func"):
    """A function of the host program; results may be tied to arguments.

    util.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> { … }
    """

    tied_operands: OptionalAttr[ArrayAttr]
    inlining_policy: OptionalAttr[Attribute]
    writes_public = True
    ties_results = True


class ReturnOp(Op, name="util.return"):
    """Returns from a function or initializer."""

    operands: Variadic[AnyType]
    traits = (Pure, Terminator, ReturnLike)
    format = "attr-dict ($operands^ `:` type($operands))?"

    def verify_(self) -> None:
        function = self.parent_op
        if isinstance(function, FuncOp) and self.operand_types != tuple(function.function_type.results):
            found = ", ".join(map(str, self.operand_types))
            raise self.error(f"returns ({found}) from a function of type {function.function_type}")


class CallOp(Op, name="util.call"):
    """Calls a function by name.

    %0 = util.call @f(%a) : (tensor<4xf32>) -> %a
    """

    callee: SymbolRef
    operands: Variadic[AnyType]
    tied_operands: OptionalAttr[ArrayAttr]
    arg_attrs: OptionalAttr[ArrayAttr]
    res_attrs: OptionalAttr[ArrayAttr]
    results: Results[AnyType]
    format = (
        "$callee `(` $operands `)` attr-dict `:` custom<OperandTypeList>(type($operands)) `->` "
        "custom<TiedFunctionResultList>(ref($operands), ref(type($operands)), type($results), $tied_operands)"
    )

    def tied_indices(self) -> list[int]:
        """For each result the number of the operand it is tied to, or -1."""
        return tied_operand_indices(self.tied_operands, len(self.results))


class InitializerOp(Op, name="util.initializer"):
    """Runs once when the module is loaded, in the order of the module.

    util.initializer { … util.return }
    """

    function_type: TypeProp[FunctionType] = FunctionType()
    body: Region
    traits = (IsolatedFromAbove,)

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


# Globals.


@directive("InliningPolicy")
class InliningPolicy:
    """`<inlining_policy = #util.inline.never>`, or nothing."""

    @staticmethod
    def print(printer: Any, op: Any, policy: Any) -> None:
        if policy is not None:
            printer.emit(f" <inlining_policy = {printer.attr_text(policy)}>")

    @staticmethod
    def parse(parser: Any) -> Any:
        if not parser.parse_optional("<"):
            return None
        braces = parser.parse_optional("{")
        parser.parse_literal("inlining_policy")
        parser.parse_punctuation("=")
        policy = parser.parse_attribute()
        if braces:
            parser.parse_punctuation("}")
        parser.parse_punctuation(">")
        return policy


@directive("TypeOrAttr")
class TypeOrAttr:
    """`: type`, or `= value` of which the type is known (or `: type = value`)."""

    @staticmethod
    def print(printer: Any, op: Any, type: Any, value: Any) -> None:
        if value is None or getattr(value, "type", None) is not type.value:
            printer.emit(f": {printer.type_text(type.value)}")
            if value is not None:
                printer.emit(f" = {printer.attr_text(value)}")
        else:
            printer.emit(f"= {printer.attr_text(value)}")

    @staticmethod
    def parse(parser: Any) -> tuple[Type, Any]:
        type = parser.parse_type() if parser.parse_optional(":") else None
        value = parser.parse_attribute(type) if parser.parse_optional("=") else None
        if type is None:
            if value is None:
                parser.fail_expected("':' or '='")
            type = value.type
        return type, value


class GlobalOp(Op, name="util.global"):
    """A variable of the module, with an initial value or an initializer that stores one.

    util.global private mutable @x = 5 : i32
    """

    sym_visibility: OptionalStringProp
    sym_name: SymbolName
    type: TypeProp[Type]
    is_mutable: OptionalUnitAttr
    initial_value: OptionalAttr[Attribute]
    inlining_policy: OptionalAttr[Attribute]
    traits = (Symbol,)
    format = (
        "custom<SymbolVisibility>($sym_visibility) (`mutable` $is_mutable^)? $sym_name `` "
        "custom<InliningPolicy>($inlining_policy) attr-dict custom<TypeOrAttr>($type, $initial_value)"
    )

    @property
    def is_public(self) -> bool:
        """Whether other modules see it."""
        return self.sym_visibility in (None, "public")


class GlobalAddressOp(Op, name="util.global.address"):
    """The address of a global, for indirect loads and stores."""

    global_: SymbolRef
    is_immutable: OptionalUnitAttr
    result: Result[PtrType]
    traits = (Pure,)
    format = "(`immutable` $is_immutable^)? $global attr-dict `:` qualified(type($result))"

    def result_names(self) -> list[str]:
        return [f"ptr_{self.global_.leaf}"]


class GlobalLoadOp(Op, name="util.global.load"):
    """The value of a global; `immutable` says that it never changes once initialized.

    %0 = util.global.load immutable @x : tensor<4xf32>
    """

    global_: SymbolRef
    is_immutable: OptionalUnitAttr
    result: Result[AnyType]
    traits = (MemoryRead,)
    format = "(`immutable` $is_immutable^)? $global attr-dict `:` type($result)"

    def result_names(self) -> list[str]:
        return [self.global_.leaf]


class GlobalLoadIndirectOp(Op, name="util.global.load.indirect"):
    """The value of a global by its address."""

    global_: Operand[PtrType]
    is_immutable: OptionalUnitAttr
    result: Result[AnyType]
    traits = (MemoryRead,)
    format = "(`immutable` $is_immutable^)? $global attr-dict `:` qualified(type($global)) `->` type($result)"

    def infer_types(self) -> list[Type]:
        return [self.global_.type.target_type]


class GlobalStoreOp(Op, name="util.global.store"):
    """Sets a global.

    util.global.store %0, @x : i32
    """

    value: Operand[AnyType]
    global_: SymbolRef
    traits = (MemoryWrite,)
    format = "$value `,` $global attr-dict `:` type($value)"


class GlobalStoreIndirectOp(Op, name="util.global.store.indirect"):
    """Sets a global by its address."""

    value: Operand[AnyType]
    global_: Operand[PtrType]
    traits = (MemoryWrite,)
    format = "$value `,` $global attr-dict `:` type($value) `->` qualified(type($global))"


# Values.


class NullOp(Op, name="util.null"):
    """The null reference of a type, or a zero."""

    result: Result[AnyType]
    traits = (Pure,)
    format = "attr-dict `:` type($result)"


class CastOp(Op, name="util.cast"):
    """A reference as another reference type."""

    operand: Operand[AnyType]
    result: Result[AnyType]
    traits = (Pure,)
    format = "$operand attr-dict `:` type($operand) `to` type($result)"

    def fold(self, constants: Constants) -> list[Any] | None:
        return [self.operand] if self.operand.type is self.result.type else None


class _Comparison(Op):
    lhs: Operand[AnyType]
    rhs: Operand[AnyType]
    result: Result[i1]
    traits = (Pure, Commutative, SameTypeOperands)
    format = "operands attr-dict `:` type($lhs)"


class CmpEQOp(_Comparison, name="util.cmp.eq"):
    """Whether two values are the same."""

    def fold(self, constants: Constants) -> list[Any] | None:
        return [IntegerAttr(1, i1)] if self.lhs is self.rhs else None


class CmpNEOp(_Comparison, name="util.cmp.ne"):
    """Whether two values differ."""

    def fold(self, constants: Constants) -> list[Any] | None:
        return [IntegerAttr(0, i1)] if self.lhs is self.rhs else None


class _Range(Op):
    operands: Variadic[SignlessIntegerOrIndex]
    result: Result[SignlessIntegerOrIndex]
    traits = (Pure, SameOperandsAndResultType)
    format = "$operands attr-dict `:` type($result)"

    def _fold(self, constants: Constants, choose: Any) -> list[Any] | None:
        distinct = list(dict.fromkeys(self.operands))
        if len(distinct) == 1:
            return [distinct[0]]
        values = [c.value for c in constants if isinstance(c, IntegerAttr)]
        return [IntegerAttr(choose(values), self.result.type)] if len(values) == len(constants) else None


class RangeMinOp(_Range, name="util.range.min"):
    """The smallest of several sizes."""

    def fold(self, constants: Constants) -> list[Any] | None:
        return self._fold(constants, min)


class RangeMaxOp(_Range, name="util.range.max"):
    """The largest of several sizes."""

    def fold(self, constants: Constants) -> list[Any] | None:
        return self._fold(constants, max)


class AlignOp(Op, name="util.align"):
    """A size rounded up to a multiple of an alignment, which is a power of two.

    %1 = util.align %0, %c64 : index
    """

    value: Operand[SignlessIntegerOrIndex]
    alignment: Operand[SignlessIntegerOrIndex]
    result: Result[SignlessIntegerOrIndex]
    traits = (Pure, SameOperandsAndResultType)
    format = "$value `,` $alignment attr-dict `:` type($result)"

    def fold(self, constants: Constants) -> list[Any] | None:
        value, alignment = constants
        if isinstance(alignment, IntegerAttr):
            if alignment.value == 1:
                return [self.value]
            if isinstance(value, IntegerAttr):
                step = alignment.value
                return [IntegerAttr((value.value + step - 1) // step * step, self.result.type)]
        inner = self.value.defining_op
        if isinstance(inner, AlignOp) and inner.alignment is self.alignment:
            return [self.value]
        return None


class SizeOfOp(Op, name="util.sizeof"):
    """The bytes of a scalar type.

    %0 = util.sizeof f32
    """

    sizedType: TypeProp[Type]
    size: Result[IndexType]
    traits = (Pure,)
    format = "$sizedType attr-dict-with-keyword"

    def fold(self, constants: Constants) -> list[Any] | None:
        return None if self.sizedType.is_index else [IntegerAttr((bit_width(self.sizedType) + 7) // 8, index)]


class SwitchOp(Op, name="util.switch"):
    """One of several values by an index, or a default.

    %0 = util.switch i32 from [%a, %b] at %i else %d : i32
    """

    index_: Operand[IndexType]
    default_value: Operand[AnyType]
    values: Variadic[AnyType]
    result: Result[AnyType]
    traits = (Pure,)

    def infer_types(self) -> list[Type]:
        return [self.default_value.type]

    def print(self, printer: Any) -> None:
        type = printer.type_text(self.result.type)
        printer.emit(
            f" {type} from [{printer.names(self.values)}] at {printer.name(self.index_)} "
            f"else {printer.name(self.default_value)}"
        )
        printer.print_attr_dict(self)
        printer.emit(f" : {type}")

    @classmethod
    def parse(cls, parser: Any) -> Any:
        type = parser.parse_type()
        parser.parse_literal("from")
        values = parser.parse_list(lambda: parser.parse_operand(type), "[", "]")
        parser.parse_literal("at")
        position = parser.parse_operand(index)
        parser.parse_literal("else")
        default = parser.parse_operand(type)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        parser.parse_type()
        return cls(position, default, values, attributes=attributes)

    def fold(self, constants: Constants) -> list[Any] | None:
        which = constants[0]
        if isinstance(which, IntegerAttr):
            within = 0 <= which.value < len(self.values)
            return [self.values[which.value] if within else self.default_value]
        distinct = {self.default_value, *self.values}
        return [self.default_value] if len(distinct) == 1 else None


class AssumeIntOp(Op, name="util.assume.int"):
    """Integers of which bounds or divisors are known.

    %1 = util.assume.int %0<umin = 4, umax = 8> : index
    """

    operands: Variadic[SignlessIntegerOrIndex]
    assumptions: Attr[ArrayAttr]
    results: Results[SignlessIntegerOrIndex]
    traits = (Pure,)

    def infer_types(self) -> tuple[Type, ...]:
        return self.operand_types

    def print(self, printer: Any) -> None:
        entries = []
        for operand, assumptions in zip(self.operands, self.assumptions):
            texts = [a.body() for a in assumptions]
            suffix = "" if not texts else texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
            entries.append(printer.name(operand) + suffix)
        printer.emit(f" {', '.join(entries)}")
        printer.print_attr_dict(self, ("assumptions",))
        printer.emit(f" : {printer.types_text(self.result_types)}")

    @classmethod
    def parse(cls, parser: Any) -> Any:
        operands: list[Any] = []
        assumptions: list[ArrayAttr] = []

        def one() -> IntAssumptionAttr:
            return IntAssumptionAttr(*IntAssumptionAttr.parse_parameters(parser))

        def entry() -> None:
            operands.append(parser.parse_operand())
            if parser.at("["):
                assumptions.append(ArrayAttr(parser.parse_list(one, "[", "]")))
            else:
                assumptions.append(ArrayAttr([one()] if parser.at("<") else []))

        parser.parse_list(entry)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        parser.resolve_all(operands, parser.parse_type_list())
        return cls(operands, ArrayAttr(assumptions), attributes=attributes)


class OptimizationBarrierOp(Op, name="util.optimization_barrier"):
    """The operands, which nothing may be known about afterwards.

    %1 = util.optimization_barrier %0 : tensor<4xf32>
    """

    operands: Variadic[AnyType]
    results: Results[AnyType]
    format = "attr-dict ($operands^ `:` type($operands))?"

    def infer_types(self) -> tuple[Type, ...]:
        return self.operand_types


class UnreachableOp(Op, name="util.unreachable"):
    """Ends a block that control never leaves."""

    message: OptionalStringProp
    traits = (Terminator, ReturnLike)
    format = "($message^)? attr-dict"


class StatusCheckOkOp(Op, name="util.status.check_ok"):
    """Fails the invocation unless the status is 0.

    util.status.check_ok %0, "what failed"
    """

    status: Operand[i32]
    message: OptionalStringProp
    format = "$status (`,` $message^)? attr-dict"
