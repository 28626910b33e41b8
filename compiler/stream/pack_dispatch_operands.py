"""iree-stream-pack-dispatch-operands: numbers reach dispatch functions as words of 32 bits.

Before: dispatches and their functions take numbers of any type.
After:  they take i32 only; wide ones are two words, the low one first.

    stream.cmd.dispatch @e::@f(%n : index) …        func.func @f(%n: index, %b: !stream.binding)
    →
    %0 = arith.index_castui %n : index to i64       func.func @f(%lo: i32, %hi: i32, %b: !stream.binding) {
    %lo = arith.trunci %0 : i64 to i32                %0 = arith.extui %lo : i32 to i64
    %1 = arith.shrui %0, %c32 : i64                   …
    %hi = arith.trunci %1 : i64 to i32                %3 = arith.ori %0, %2 : i64
    stream.cmd.dispatch @e::@f(%lo, %hi : i32, i32)   %n = arith.index_castui %3 : i64 to index
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.dialects.arith import ConstantOp, OrIOp, ShLIOp, ShRUIOp
from pyiree.compiler.dialects.arith_casts import BitcastOp, ExtUIOp, IndexCastUIOp, TruncIOp
from pyiree.compiler.dialects.complex import CreateOp, ImOp, ReOp
from pyiree.compiler.dialects.functions import FunctionOp
from pyiree.compiler.ir.attributes import Attribute, IntegerAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, BlockArgument, Operation, Value
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import (
    ComplexType,
    FloatType,
    IntegerType,
    Type,
    bit_width,
    i32,
    i64,
)
from pyiree.compiler.stream.dispatch_sites import functions_of, set_signature
from pyiree.compiler.stream.ops import BindingType, CmdDispatchOp, CmdExecuteOp, ExecutableOp


@register_pass("iree-stream-pack-dispatch-operands")
def pack_dispatch_operands(module: Operation, context: PassContext) -> None:
    """Changes every dispatch function and every dispatch of a module."""
    for executable in module.walk_type(ExecutableOp):
        for function in functions_of(executable):
            _unpack_arguments(function)
    for dispatch in list(module.walk_type(CmdDispatchOp)):
        builder = Builder.before(dispatch.parent_of_type(CmdExecuteOp), dispatch.location)  # type: ignore[arg-type]
        dispatch.uniform_operands = [word for v in dispatch.uniform_operands for word in words_of(builder, v)]


def words_of(b: Builder, value: Value) -> list[Value]:
    """A number as i32 values."""
    type = value.type
    if isinstance(type, ComplexType):
        return [*words_of(b, b.insert(ReOp(value)).result), *words_of(b, b.insert(ImOp(value)).result)]
    if type.is_index:
        value = b.insert(IndexCastUIOp(value, out=i64)).out
    elif isinstance(type, FloatType):
        value = b.insert(BitcastOp(value, out=IntegerType(bit_width(type)))).out
    width = bit_width(value.type)
    if width <= 32:
        return [value if width == 32 else b.insert(ExtUIOp(value, out=i32)).out]
    if width < 64:
        value = b.insert(ExtUIOp(value, out=i64)).out
    high = b.insert(ShRUIOp(value, _thirty_two(b))).result
    return [b.insert(TruncIOp(v, out=i32)).out for v in (value, high)]


def _thirty_two(b: Builder) -> Value:
    return b.insert(ConstantOp(IntegerAttr(32, i64))).result


def _unpack_arguments(function: FunctionOp) -> None:
    block = function.entry_block
    builder = Builder.at_start(block, function.location)
    old: list[BlockArgument] = list(block.arguments)
    attributes: list[dict[str, Attribute]] = []
    for argument in old:
        kept = function.argument_attributes(argument.index).value
        first = len(block.arguments)
        value = from_words(builder, block, argument.type)
        words = len(block.arguments) - first
        if value.defining_op is None:
            attributes.append(kept)
        else:
            value.defining_op.attributes.update(kept)
            attributes.extend([{}] * words)
        argument.replace_all_uses_with(value)
    for argument in reversed(old):
        block.erase_argument(argument.index)
    set_signature(function, attributes)


def from_words(b: Builder, block: Block, type: Type) -> Any:
    """A number of a type put together from new i32 arguments; a binding stays what it is."""
    if isinstance(type, BindingType):
        return block.add_argument(type)
    if isinstance(type, ComplexType):
        real = from_words(b, block, type.element_type)
        return b.insert(CreateOp(real, from_words(b, block, type.element_type))).result
    width = 64 if type.is_index else bit_width(type)
    value: Value = block.add_argument(i32)
    if width > 32:
        low = b.insert(ExtUIOp(value, out=i64)).out
        high = b.insert(ExtUIOp(block.add_argument(i32), out=i64)).out
        value = b.insert(OrIOp(low, b.insert(ShLIOp(high, _thirty_two(b))).result)).result
    if width not in (32, 64):
        value = b.insert(TruncIOp(value, out=IntegerType(width))).out
    if type.is_index:
        return b.insert(IndexCastUIOp(value, out=type)).out
    if isinstance(type, FloatType):
        return b.insert(BitcastOp(value, out=type)).out
    return value
