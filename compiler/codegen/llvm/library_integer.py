"""128-bit division and remainder, which LLVM calls on every target."""

from __future__ import annotations

from .emit import Module
from .function import Function
from .values import I64, Value, const, zero

_I128 = "i128"

# name → (signed, gives the remainder)
DIVISIONS = {
    "__udivti3": (False, False),
    "__umodti3": (False, True),
    "__divti3": (True, False),
    "__modti3": (True, True),
}


def define_division(m: Module, name: str) -> None:
    """Quotients round towards zero; a remainder has the sign of the dividend."""
    signed, remainder = DIVISIONS[name]
    f = m.function(name, [("dividend", _I128), ("divisor", _I128)], _I128, "hidden", '"no-builtins"')
    x, y = f.args.values()
    if not signed:
        f.ret(_divide(f, x, y)[remainder])
        return
    result = _divide(f, f.intrinsic("abs", x, const(0, "i1")), f.intrinsic("abs", y, const(0, "i1")))[remainder]
    negative = f.icmp("slt", x if remainder else f.xor(x, y), 0)
    f.ret(f.select(negative, f.sub(zero(_I128), result), result))


def _divide(f: Function, x: Value, y: Value) -> tuple[Value, Value]:
    """Unsigned quotient and remainder: one 64-bit division where both fit, else a bit at a time."""
    small = f.icmp("eq", f.lshr(f.or_(x, y), 64), 0)
    quotient, rest = f.if_else(small, lambda: _divide_64(f, x, y), lambda: _divide_bits(f, x, y), name="divide")
    return quotient, rest


def _divide_64(f: Function, x: Value, y: Value) -> list[Value]:
    x, y = f.trunc(x, I64), f.trunc(y, I64)
    return [f.zext(f.udiv(x, y), _I128), f.zext(f.urem(x, y), _I128)]


def _divide_bits(f: Function, x: Value, y: Value) -> list[Value]:
    """Shifts the dividend's bits, from its highest set one, into a remainder and subtracts where it fits."""
    skipped = f.intrinsic("ctlz", x, const(0, "i1"))
    count = f.sub(const(128, _I128), skipped)
    # Two shifts: for a zero dividend the count would be the full width, which one shift may not have.
    pending = f.shl(x, f.and_(skipped, 127))
    with f.while_([count, pending, zero(_I128), zero(_I128)], name="bit") as loop:
        left, pending, rest, quotient = loop.carried
        loop.condition(f.icmp("ne", left, 0))
        # The bit that leaves `rest` at the top also says that the divisor fits.
        carry = f.icmp("slt", rest, 0)
        rest = f.or_(f.shl(rest, 1), f.lshr(pending, 127))
        fits = f.or_(carry, f.icmp("uge", rest, y))
        rest = f.select(fits, f.sub(rest, y), rest)
        quotient = f.or_(f.shl(quotient, 1), f.zext(fits, _I128))
        loop.yield_(f.sub(left, 1), f.shl(pending, 1), rest, quotient)
    _, _, rest, quotient = loop.results
    return [quotient, rest]
