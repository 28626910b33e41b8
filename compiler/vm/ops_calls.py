"""Calls, and ops that fail under a condition.

Enters: nothing. Leaves: op classes. A call of a function that may suspend the invocation ends its block: its results
are the arguments of the block where it goes on.

    %0 = vm.call @hal.device.allocator(%device) {nosideeffects} : (!vm.ref<!hal.device>) -> !vm.ref<!hal.allocator>
    vm.call.variadic @hal.buffer_view.assert(%view, %name, %t, %e, [%d0, %d1]) : (…, i64 ...)
    vm.call.yieldable @wait(%0) : (i32) -> ^bb1 (i32)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyiree.compiler.ir.attributes import ArrayAttr, TypeAttr
from pyiree.compiler.ir.core import Value
from pyiree.compiler.ir.dense import DenseElementsAttr
from pyiree.compiler.ir.fields import (
    Attr,
    Operand,
    OptionalStringProp,
    Result,
    Results,
    Successor,
    SymbolRef,
    Variadic,
)
from pyiree.compiler.ir.format import directive
from pyiree.compiler.ir.traits import Commutative, Pure, SameTypeOperands, Terminator
from pyiree.compiler.ir.types import TupleType, Type, VectorType, i16, i32
from pyiree.compiler.vm.ops_base import AnyVm, VmOp

__all__ = [
    "CallOp",
    "CallVariadicOp",
    "CallVariadicYieldableOp",
    "CallYieldableOp",
    "CheckEqOp",
    "CheckNeOp",
    "CheckNearlyEqOp",
    "CheckNzOp",
    "CondFailOp",
    "ImportResolvedOp",
    "segment_sizes_attr",
    "segment_types_attr",
]

NOT_A_SPAN = -1


def segment_sizes_attr(sizes: Sequence[int]) -> DenseElementsAttr:
    """How many values or tuples each parameter gets; -1 for those that are no spans."""
    return DenseElementsAttr.from_values(VectorType((len(sizes),), i16), list(sizes))


def segment_types_attr(types: Sequence[Type]) -> ArrayAttr:
    """The type of each parameter: of a span, that of its values or tuples."""
    return ArrayAttr([TypeAttr(t) for t in types])


class CallOp(VmOp, name="vm.call"):
    """Calls a function of this module or an import."""

    callee: SymbolRef
    operands: Variadic[AnyVm]
    results: Results[AnyVm]
    format = "$callee `(` operands `)` attr-dict `:` functional-type(operands, results)"


class _SegmentedCall(VmOp):
    """A call of an import with spans: the operands flat, and how they divide."""

    @property
    def sizes(self) -> list[int]:
        """The entry of each parameter, -1 where it is no span."""
        return [int(v) for v in self.segment_sizes.array()]

    @property
    def types(self) -> list[Type]:
        """The type of each parameter."""
        return [entry.value for entry in self.segment_types]


class CallVariadicOp(_SegmentedCall, name="vm.call.variadic"):
    """Calls an import that has spans: `[…]` holds the values of one, tuples in parentheses."""

    callee: SymbolRef
    segment_sizes: Attr[DenseElementsAttr]
    segment_types: Attr[ArrayAttr]
    operands: Variadic[AnyVm]
    results: Results[AnyVm]

    def print(self, printer: Any) -> None:
        remaining = list(self.operands)

        def take(count: int) -> str:
            text = printer.names(remaining[:count])
            del remaining[:count]
            return text

        parts, types = [], []
        for size, type in zip(self.sizes, self.types):
            if size == NOT_A_SPAN:
                parts.append(take(1))
                types.append(printer.type_text(type))
                continue
            types.append(f"{printer.type_text(type)} ...")
            if isinstance(type, TupleType):
                parts.append(f"[{', '.join([f'({take(len(type.types))})' for _ in range(size)])}]")
            else:
                parts.append(f"[{take(size)}]")
        printer.emit(f" {self.callee}({', '.join(parts)})")
        printer.print_attr_dict(self, ("callee", "segment_sizes", "segment_types"))
        printer.emit(f" : ({', '.join(types)})")
        results = self.result_types
        if results:
            text = printer.types_text(results)
            printer.emit(f" -> {text}" if len(results) == 1 else f" -> ({text})")

    @classmethod
    def parse(cls, parser: Any) -> Any:
        callee = parser.parse_symbol_ref()
        groups: list[list[Value]] = []

        def tuple_or_value() -> list[Value]:
            return parser.parse_list(parser.parse_operand, "(", ")") if parser.at("(") else [parser.parse_operand()]

        def argument() -> None:
            if parser.at("["):
                groups.append([v for group in parser.parse_list(tuple_or_value, "[", "]") for v in group])
            else:
                groups.append([parser.parse_operand()])

        parser.parse_list(argument, "(", ")")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        sizes, types, operands = [], [], []

        def parameter() -> None:
            if len(types) == len(groups):
                raise parser.error("more types than arguments")
            type, group = parser.parse_type(), groups[len(types)]
            types.append(type)
            members = type.types if isinstance(type, TupleType) else (type,)
            is_span = parser.parse_optional("...")
            sizes.append(len(group) // len(members) if is_span else NOT_A_SPAN)
            operands.extend(parser.resolve_all(group, list(members) * (len(group) // len(members))))

        parser.parse_list(parameter, "(", ")")
        properties = {
            "callee": callee,
            "segment_sizes": segment_sizes_attr(sizes),
            "segment_types": segment_types_attr(types),
        }
        results = parser.parse_optional_arrow_types()
        return parser.build_registered(cls, operands, results, properties, attributes)


@directive("ResultTypeList")
class ResultTypeList:
    """`(i32, i64)`: what the next block gets."""

    @staticmethod
    def print(printer: Any, op: Any, types: ArrayAttr) -> None:
        printer.emit(f"({printer.types_text([entry.value for entry in types])})")

    @staticmethod
    def parse(parser: Any) -> ArrayAttr:
        return segment_types_attr(parser.parse_list(parser.parse_type, "(", ")"))


class _YieldableCall(VmOp):
    """A call that may suspend the invocation; it goes on at a block that takes the results."""

    def branch_operands(self, successor: int) -> tuple[Value, ...]:
        """What the block gets beside the results of the call: nothing."""
        return ()


class CallYieldableOp(_YieldableCall, name="vm.call.yieldable"):
    """Calls a function that may suspend the invocation."""

    callee: SymbolRef
    operands: Variadic[AnyVm]
    result_types_: Attr[ArrayAttr]
    dest: Successor
    traits = (Terminator,)
    format = (
        "$callee `(` $operands `)` attr-dict `:` `(` type($operands) `)` `->` $dest "
        "custom<ResultTypeList>($result_types)"
    )


class CallVariadicYieldableOp(_YieldableCall, _SegmentedCall, name="vm.call.variadic.yieldable"):
    """Calls an import with spans that may suspend the invocation."""

    callee: SymbolRef
    segment_sizes: Attr[DenseElementsAttr]
    segment_types: Attr[ArrayAttr]
    operands: Variadic[AnyVm]
    result_types_: Attr[ArrayAttr]
    dest: Successor
    traits = (Terminator,)
    format = (
        "$callee `(` $operands `)` `` "
        'custom<VmProperties>("segment_sizes", "segment_types", $segment_sizes, $segment_types) attr-dict '
        "`:` `(` type($operands) `)` `->` $dest custom<ResultTypeList>($result_types)"
    )


class ImportResolvedOp(VmOp, name="vm.import.resolved"):
    """1 if an optional import was found when the module was loaded, else 0."""

    import_: SymbolRef
    result: Result[i32]
    traits = (Pure,)
    format = "$import attr-dict `:` type($result)"

    def result_names(self) -> list[str]:
        return ["has_" + "".join([c if c.isalnum() else "_" for c in self.import_.leaf])]


# ------------------------------------------------------------------ failing: pseudo ops, written with branches


class CondFailOp(VmOp, name="vm.cond_fail"):
    """Ends the invocation if the condition is not 0; with one operand that is the status too.

    vm.cond_fail %status, "what failed"
    """

    condition: Operand[i32]
    status: Operand[i32]
    message: OptionalStringProp

    def print(self, printer: Any) -> None:
        condition = "" if self.condition is self.status else f"{printer.name(self.condition)}, "
        printer.emit(f" {condition}{printer.name(self.status)}")
        if self.message is not None:
            printer.emit(f", {printer.attr_text(self.properties['message'])}")
        printer.print_attr_dict(self, ("message",))

    @classmethod
    def parse(cls, parser: Any) -> Any:
        condition = status = parser.parse_operand(i32)
        comma = parser.parse_optional(",")
        if comma and parser.kind == "VALUE":
            status = parser.parse_operand(i32)
            comma = parser.parse_optional(",")
        message = parser.parse_string() if comma else None
        return cls(condition, status, message, attributes=parser.parse_optional_attr_dict())


class _BinaryCheck(VmOp):
    """Ends the invocation unless a relation holds."""

    lhs: Operand[AnyVm]
    rhs: Operand[AnyVm]
    message: OptionalStringProp
    traits = (SameTypeOperands,)
    format = "$lhs `,` $rhs (`,` $message^)? attr-dict `:` type($lhs)"


class CheckEqOp(_BinaryCheck, name="vm.check.eq"):
    """Ends the invocation unless two values are equal."""

    traits = (Commutative,)


class CheckNeOp(_BinaryCheck, name="vm.check.ne"):
    """Ends the invocation if two values are equal."""

    traits = (Commutative,)


class CheckNearlyEqOp(_BinaryCheck, name="vm.check.nearly_eq"):
    """Ends the invocation unless two floats are nearly equal."""

    traits = (Commutative,)


class CheckNzOp(VmOp, name="vm.check.nz"):
    """Ends the invocation if a value is 0."""

    value: Operand[AnyVm]
    message: OptionalStringProp
    format = "$value (`,` $message^)? attr-dict `:` type($value)"


