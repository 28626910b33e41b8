"""iree-stream-annotate-dispatch-arguments: dispatch functions learn what their arguments may be.

Before: functions know nothing of the places that dispatch them.
After:  numbers have `stream.values` where all possible ones are constants, and `stream.alignment`, a divisor of all of
        them; bindings have the alignment of the bytes that they begin at.

    … @f(%c20 : index) { ro %a[%c0 for %c64] … }    … @f(%c40 : index) { ro %a[%c128 for %c64] … }
    →
    func.func @f(%n: index {stream.alignment = 4 : index, stream.values = [20 : index, 40 : index]},
                 %b: !stream.binding {stream.alignment = 64 : index})
"""

from __future__ import annotations

import math
from functools import reduce

from pyiree.compiler.dialects.arith import AddIOp, ConstantOp, MaxSIOp, MaxUIOp, MinSIOp, MinUIOp, MulIOp, SelectOp
from pyiree.compiler.dialects.arith_casts import IndexCastOp, IndexCastUIOp
from pyiree.compiler.dialects.util import AlignOp
from pyiree.compiler.ir.attributes import ArrayAttr, Attribute, IntegerAttr
from pyiree.compiler.ir.core import Operation, Value
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import IntegerType, i1, index
from pyiree.compiler.stream.dispatch_sites import DispatchFunction, dispatch_functions
from pyiree.compiler.stream.fold_uniform_operands import constant_of
from pyiree.compiler.stream.layout_slices import SLICE_ALIGNMENT

ALIGNMENT, VALUES = "stream.alignment", "stream.values"
#: How far back a divisor is looked for.
_DEPTH = 8


@register_pass("iree-stream-annotate-dispatch-arguments")
def annotate_dispatch_arguments(module: Operation, context: PassContext) -> None:
    """Puts attributes on the arguments of the dispatch functions of a module."""
    for function in dispatch_functions(module):
        _annotate(function)


def _annotate(function: DispatchFunction) -> None:
    arguments = function.function.entry_block.arguments
    attributes = [function.function.argument_attributes(i).value for i in range(len(arguments))]
    for i, number in enumerate(function.numbers):
        values = [site.uniform_operands[i] for site in function.sites]
        attributes[number.index].update(_of_number(values))
    for i, binding in enumerate(function.bindings):
        offsets = [site.resource_offsets[i] for site in function.sites]
        alignment = math.gcd(SLICE_ALIGNMENT, reduce(math.gcd, [divisor(v) for v in offsets]))
        attributes[binding.index][ALIGNMENT] = IntegerAttr(alignment, index)
    function.function.set_argument_attributes(attributes)


def _of_number(values: list[Value]) -> dict[str, Attribute]:
    type = values[0].type
    if not (type.is_index or isinstance(type, IntegerType)):
        return {}
    found: dict[str, Attribute] = {}
    constants = {constant_of(v) for v in values}
    if None not in constants:
        found[VALUES] = ArrayAttr(sorted(constants, key=lambda c: c.value))  # type: ignore[union-attr,arg-type,return-value]
    alignment = reduce(math.gcd, [divisor(v) for v in values])
    if alignment > 1 and type is not i1:
        found[ALIGNMENT] = IntegerAttr(alignment, index)
    return found


def divisor(value: Value, depth: int = _DEPTH) -> int:
    """A number that divides a value; 0 for zero itself, which everything divides."""
    op = value.defining_op
    if isinstance(op, ConstantOp):
        return abs(op.value.value) if isinstance(op.value, IntegerAttr) else 1
    if op is None or depth == 0:
        return 1

    def of(operand: Value) -> int:
        return divisor(operand, depth - 1)

    if isinstance(op, MulIOp):
        return of(op.lhs) * of(op.rhs)
    if isinstance(op, AddIOp | MaxSIOp | MaxUIOp | MinSIOp | MinUIOp):
        return math.gcd(of(op.lhs), of(op.rhs))
    if isinstance(op, SelectOp):
        return math.gcd(of(op.true_value), of(op.false_value))
    if isinstance(op, AlignOp):
        return math.gcd(of(op.alignment), 0)
    if isinstance(op, IndexCastOp | IndexCastUIOp):
        return of(op.in_)
    return 1
