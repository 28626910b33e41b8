"""iree-stream-fold-uniform-operands: dispatch functions don't ask for what they could know.

Before: a number may be the same constant, or the same as another number, wherever a function is dispatched.
After:  such constants stand in the function, and of equal numbers only the first is passed.

    stream.cmd.dispatch @e::@f(%n, %c4, %n : i32, i32, i32) …        func.func @f(%a: i32, %b: i32, %c: i32, …)
    →
    stream.cmd.dispatch @e::@f(%n : i32) …                           func.func @f(%a: i32, …) { %b = 4, %c is %a
"""

from __future__ import annotations

from pyiree.compiler.dialects.arith import ConstantOp
from pyiree.compiler.ir.attributes import Attribute
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Operation, Value
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.stream.dispatch_sites import DispatchFunction, dispatch_functions


@register_pass("iree-stream-fold-uniform-operands")
def fold_uniform_operands(module: Operation, context: PassContext) -> None:
    """Removes numbers that dispatch functions of a module need not be given."""
    for function in dispatch_functions(module):
        _fold_equal(function)
        _inline_constants(function)


def constant_of(value: Value) -> Attribute | None:
    """The constant that a value is known to be."""
    op = value.defining_op
    return op.value if isinstance(op, ConstantOp) else None


def _key(value: Value) -> object:
    constant = constant_of(value)
    return value if constant is None else constant


def _fold_equal(function: DispatchFunction) -> None:
    numbers = function.numbers
    first: dict[tuple, int] = {}
    folded = []
    for i, number in enumerate(numbers):
        key = tuple([_key(site.uniform_operands[i]) for site in function.sites])
        original = first.setdefault(key, i)
        if original != i and numbers[original].type is number.type:
            number.replace_all_uses_with(numbers[original])
            folded.append(i)
    if folded:
        function.erase_numbers(folded)


def _inline_constants(function: DispatchFunction) -> None:
    builder = Builder.at_start(function.function.entry_block, function.function.location)
    inlined = []
    for i, number in enumerate(function.numbers):
        values = {constant_of(site.uniform_operands[i]) for site in function.sites}
        constant = values.pop()
        if constant is not None and not values:
            number.replace_all_uses_with(builder.insert(ConstantOp(constant)).result)
            inlined.append(i)
    if inlined:
        function.erase_numbers(inlined)
