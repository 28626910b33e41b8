"""What the comparison of an iree_linalg_ext.sort is about.

Enters: the body of a sort. Leaves: a `SortOrder` where the body compares one number, computed from one element of
either side in the same way. Its `kind` says how the element makes that number, where the form is a known one, so that
elements can be turned into numbers and back:

    PLAIN      the element is the number
    BITS       the bits of a float, those of negative ones turned over: the total order of floats
    NUMBERS    like that, but both zeros are equal and every NaN is the last, and equal to the others
"""

from __future__ import annotations

from pyiree.compiler.dialects.arith import AndIOp, OrIOp, XOrIOp
from pyiree.compiler.dialects.arith_casts import BitcastOp
from pyiree.compiler.dialects.arith_comparisons import CmpFOp, CmpIOp, SelectOp
from pyiree.compiler.dialects.scalar_folding import is_float, is_integer
from pyiree.compiler.ir.attributes import FloatAttr
from pyiree.compiler.ir.core import Block, BlockArgument, Operation, Value
from pyiree.compiler.ir.rewrite import constant_value
from pyiree.compiler.ir.types import FloatType, IntegerType
from pyiree.runtime.vmfb.lazy_dataclass import dataclass

PLAIN, BITS, NUMBERS = "plain", "bits", "numbers"

_NARROW = 16

#: Rows of so many bytes are sorted in the local memory of a workgroup, which has room for them twice.
LOCAL_ROW_BYTES = 48 << 10


@dataclass(frozen=True)
class SortOrder:
    """The number that a comparison is about: `value` in the body, computed from the element of tensor `number`."""

    body: Block
    value: Value
    number: int
    predicate: str
    kind: str | None

    @property
    def argument(self) -> Value:
        """The element of the left side."""
        return self.body.arguments[2 * self.number]

    @property
    def bits(self) -> int:
        """The width of the number."""
        return self.value.type.width  # type: ignore[attr-defined]

    @property
    def falls(self) -> bool:
        """Whether the greatest number comes first."""
        return self.predicate in ("sgt", "ugt")

    @property
    def has_element_keys(self) -> bool:
        """Whether elements can be told from numbers in which they are sorted."""
        if self.kind == PLAIN:
            return self.bits >= _NARROW // 2
        return self.kind is not None and self.is_signed and self.bits >= _NARROW

    @property
    def is_signed(self) -> bool:
        """Whether the numbers are compared as signed ones."""
        return self.predicate in ("slt", "sgt")


def place_bits(order: SortOrder, tensors: int, extent: int) -> int | None:
    """How many bits below its number tell the place of an element among `extent`, where rows are sorted by both in one
    number: 0 where elements can be told from their numbers and need no place, None where rows are sorted otherwise."""
    if tensors == 1 and order.has_element_keys:
        return 0
    if not _NARROW // 2 <= order.bits <= 2 * _NARROW:
        return None
    return _NARROW if order.bits <= _NARROW and extent <= 1 << _NARROW else 2 * _NARROW


def sorts_in_vectors(op: Operation) -> bool:
    """Whether a sort is one of numbers that kernels sort in vectors."""
    order, shape = sort_order(op.regions[0].entry), op.results[0].type.shape  # type: ignore[attr-defined]
    extent = shape[op.dimension]  # type: ignore[attr-defined]
    return order is not None and extent is not None and place_bits(order, len(op.results), extent) is not None


def code_bits(order: SortOrder, places: int) -> int:
    """The width of a number with `places` bits for the place of an element."""
    return 2 * max(order.bits, places) if places else max(order.bits, _NARROW)


def sort_order(body: Block) -> SortOrder | None:
    """The order of a sort's body, or None where it compares otherwise."""
    orders = nested_orders(body)
    return orders[0] if len(orders) == 1 else None


def nested_orders(body: Block) -> list[SortOrder]:
    """The orders that a sort's body compares in, each of those that are equal in the ones before: it yields
    less | equal & (the same of the next). Empty where it compares otherwise."""
    (compared,) = body.terminator.operands  # type: ignore[union-attr]
    orders: list[SortOrder] = []
    while True:
        first, rest = _less_or(compared)
        order = _order(first, body)
        if order is None:
            return []
        orders.append(order)
        if rest is None:
            return orders
        compared = rest


def _less_or(value: Value) -> tuple[Value, Value | None]:
    """x < y and what decides if x == y, of x < y | x == y & that; the value itself if it is no such thing."""
    if not isinstance(value.defining_op, OrIOp):
        return value, None
    sides = list(value.defining_op.operands)
    for less, both in (sides, sides[::-1]):
        if isinstance(both.defining_op, AndIOp):
            parts = list(both.defining_op.operands)
            for equal, rest in (parts, parts[::-1]):
                if _compared(equal, "eq") is not None and _compared(equal, "eq") == _compared(less):
                    return less, rest
    return value, None


def _compared(value: Value, predicate: str | None = None) -> list[Value] | None:
    """What an integer comparison compares."""
    op = value.defining_op
    return list(op.operands) if isinstance(op, CmpIOp) and predicate in (None, op.predicate) else None


def ops_of(value: Value, body: Block) -> list[Operation]:
    """The ops of a body that a value in it follows from, in order."""
    needed = {value.defining_op}
    for op in body.reversed_ops:
        if op in needed:
            needed.update(v.defining_op for v in op.operands)
    return [op for op in body.ops if op in needed]


def _order(compared: Value, body: Block) -> SortOrder | None:
    """The order of one comparison."""
    compare = compared.defining_op
    if not isinstance(compare, CmpIOp) or not isinstance(compare.operands[0].type, IntegerType):
        return None
    predicate = compare.predicate
    left, right = compare.operands
    if left.type.width not in (1, 8, 16, 32, 64) or predicate not in ("slt", "sgt", "ult", "ugt"):  # type: ignore[attr-defined]
        return None
    arguments: set[tuple[int, int]] = set()
    if not _alike(left, right, body, arguments) or len(arguments) != 1:
        return None
    ((first, second),) = arguments
    if first > second:
        left, first, second = right, second, first
        predicate = predicate.translate(str.maketrans("lg", "gl"))
    if second != first + 1 or first % 2:
        return None
    return SortOrder(body, left, first // 2, predicate, _kind(left, body.arguments[first]))


def _alike(x: Value, y: Value, body: Block, arguments: set[tuple[int, int]]) -> bool:
    """Whether two values are computed in the same way from arguments of the body, which are noted in pairs."""
    if isinstance(x, BlockArgument) or isinstance(y, BlockArgument):
        inside = [isinstance(v, BlockArgument) and v.block is body for v in (x, y)]
        if all(inside):
            arguments.add((x.index, y.index))
        return all(inside) or (not any(inside) and x is y)
    left, right = x.defining_op, y.defining_op
    if left.block is not body or right.block is not body:  # type: ignore[union-attr]
        return x is y
    return (
        _form(left) == _form(right)  # type: ignore[arg-type]
        and x.index == y.index
        and all(_alike(a, b, body, arguments) for a, b in zip(left.operands, right.operands, strict=True))  # type: ignore[union-attr]
    )


def _form(op: Operation) -> tuple:
    return op.name, len(op.operands), dict(op.properties), dict(op.attributes), op.result_types, len(op.regions)


def _kind(value: Value, argument: Value) -> str | None:
    if value is argument:
        return PLAIN if value.type.width > 1 else None  # type: ignore[attr-defined]
    number = _rising_float(value)
    if number is None or not isinstance(argument.type, FloatType):
        return None
    if number is argument:
        return BITS
    number = _with_one_nan(number, argument)
    return NUMBERS if number is not None and _with_one_zero(number) is argument else None


def _rising_float(value: Value) -> Value | None:
    """The float whose bits are turned over where it is negative: select(bits < 0, bits ^ 0111…, bits)."""
    select = value.defining_op
    if not isinstance(select, SelectOp):
        return None
    condition, turned, bits = select.operands
    compare, flip, cast = condition.defining_op, turned.defining_op, bits.defining_op
    if not (isinstance(compare, CmpIOp) and isinstance(flip, XOrIOp) and isinstance(cast, BitcastOp)):
        return None
    most = (1 << (bits.type.width - 1)) - 1  # type: ignore[attr-defined]
    known = (
        compare.predicate == "slt"
        and compare.operands[0] is bits
        and is_integer(constant_value(compare.operands[1]), 0)
        and flip.operands[0] is bits
        and is_integer(constant_value(flip.operands[1]), most)
    )
    return cast.operands[0] if known else None


def _with_one_nan(value: Value, argument: Value) -> Value | None:
    """What is taken where the argument is no NaN: select(argument != argument, NaN, value)."""
    select = value.defining_op
    if not isinstance(select, SelectOp):
        return None
    condition, nan, number = select.operands
    compare, constant = condition.defining_op, constant_value(nan)
    known = (
        isinstance(compare, CmpFOp)
        and compare.predicate in ("une", "uno")
        and list(compare.operands) == [argument, argument]
        and isinstance(constant, FloatAttr)
        and constant.value != constant.value
        and not constant.bits >> (constant.type.width - 1)  # type: ignore[attr-defined]
    )
    return number if known else None


def _with_one_zero(value: Value) -> Value | None:
    """The number that is 0 where it is a zero: select(number == 0, 0, number)."""
    select = value.defining_op
    if not isinstance(select, SelectOp):
        return None
    condition, zero, number = select.operands
    compare = condition.defining_op
    known = (
        isinstance(compare, CmpFOp)
        and compare.predicate == "oeq"
        and compare.operands[0] is number
        and is_float(constant_value(compare.operands[1]), 0.0)
        and is_float(constant_value(zero), 0.0)
    )
    return number if known else None
