"""Exact float functions in LLVM IR: rounding to integers, fmod, ldexp, fma, minimum and maximum.

Each body takes the function and its arguments and gives the result; the type of the arguments decides the
width. The floating-point mode is round-to-nearest with denormals kept, as in every kernel.
"""

from __future__ import annotations

from pyiree.runtime.vmfb.lazy_dataclass import dataclass

from .function import Function
from .values import F32, F64, I64, Value, bits, const, int_like, zero


@dataclass(frozen=True)
class _Format:
    """The bits of a float type."""

    ty: str
    fraction: int  # stored fraction bits
    exponent_mask: int

    @property
    def word(self) -> str:
        return int_like(self.ty)

    @property
    def hidden(self) -> int:
        return 1 << self.fraction

    @property
    def infinity(self) -> int:
        return self.exponent_mask << self.fraction

    @property
    def bias(self) -> int:
        return self.exponent_mask >> 1


_FORMATS = {F32: _Format(F32, 23, 0xFF), F64: _Format(F64, 52, 0x7FF)}


# ------------------------------------------------------------------------------- rounding to integers


def _where_fractional(f: Function, x: Value, rounded: Value) -> Value:
    """`rounded` with the sign of x (zeros too), but x itself where it has no fraction: large, infinite,
    NaN."""
    limit = 2.0 ** _FORMATS[x.ty].fraction
    return f.select(f.fcmp("olt", f.fabs(x), limit), f.copysign(rounded, x), x)


def _toward_zero(f: Function, x: Value) -> Value:
    """The integer part of a value with a fraction; anything else gives an unspecified number, not used."""
    word = _FORMATS[x.ty].word
    in_range = f.select(f.fcmp("olt", f.fabs(x), 2.0 ** _FORMATS[x.ty].fraction), x, zero(x.ty))
    return f.copysign(f.sitofp(f.fptosi(in_range, word), x.ty), x)


def trunc(f: Function, x: Value) -> Value:
    return _where_fractional(f, x, _toward_zero(f, x))


def floor(f: Function, x: Value) -> Value:
    whole = _toward_zero(f, x)
    return _where_fractional(f, x, f.select(f.fcmp("ogt", whole, x), f.fsub(whole, 1.0), whole))


def ceil(f: Function, x: Value) -> Value:
    whole = _toward_zero(f, x)
    return _where_fractional(f, x, f.select(f.fcmp("olt", whole, x), f.fadd(whole, 1.0), whole))


def round_half_away(f: Function, x: Value) -> Value:
    whole = _toward_zero(f, x)
    away = f.fadd(whole, f.copysign(const(1.0, x.ty), x))
    return _where_fractional(f, x, f.select(f.fcmp("oge", f.fabs(f.fsub(x, whole)), 0.5), away, whole))


def round_half_even(f: Function, x: Value) -> Value:
    """Adding and taking away 2^fraction rounds in the current mode, to nearest even."""
    magic = f.copysign(const(2.0 ** _FORMATS[x.ty].fraction, x.ty), x)
    return _where_fractional(f, x, f.fsub(f.fadd(x, magic), magic))


# ------------------------------------------------------------------------------------------ fmod, ldexp


def fmod(f: Function, x: Value, y: Value) -> Value:
    """x - trunc(x / y) * y, exact: the remainder of integers, as many bits a step as the word leaves room
    for."""
    form = _FORMATS[x.ty]
    word = form.word
    ax, ay = f.bitcast(f.fabs(x), word), f.bitcast(f.fabs(y), word)
    undefined = f.or_(f.or_(f.icmp("eq", ay, 0), f.icmp("uge", ax, form.infinity)), f.icmp("ugt", ay, form.infinity))
    with f.if_(undefined, likely=False, name="undefined"):
        product = f.fmul(x, y)
        f.ret(f.fdiv(product, product))
    with f.if_(f.icmp("ult", ax, ay), name="smaller"):
        f.ret(x)
    mx, ex = _split(f, ax, form)
    my, ey = _split(f, ay, form)
    mx, my = f.zext(mx, I64), f.zext(my, I64)
    step = 64 - (form.fraction + 1)
    with f.while_([f.urem(mx, my), f.sub(ex, ey)], name="bits") as loop:
        rest, shift = loop.carried
        loop.condition(f.and_(f.icmp("ne", shift, 0), f.icmp("ne", rest, 0)))
        now = f.umin(shift, step)
        loop.yield_(f.urem(f.shl(rest, f.zext(now, I64)), my), f.sub(shift, now))
    rest = f.trunc(loop.results[0], word)
    return f.copysign(_join_exact(f, rest, ey, form), x)


def _split(f: Function, size: Value, form: _Format) -> tuple[Value, Value]:
    """Positive bits to (m, e) with value m * 2^(e - bias - fraction); e is at least 1."""
    exponent = f.lshr(size, form.fraction)
    fraction = f.and_(size, form.hidden - 1)
    subnormal = f.icmp("eq", exponent, 0)
    return f.select(subnormal, fraction, f.or_(fraction, form.hidden)), f.umax(exponent, 1)


def _join_exact(f: Function, m: Value, e: Value, form: _Format) -> Value:
    """The float m * 2^(e - bias - fraction), which is representable; m < 2^(fraction + 1), e at least 1."""
    lead = f.sub(f.intrinsic("ctlz", m, const(0, "i1")), bits(form.word) - 1 - form.fraction)
    shift = f.umin(lead, f.sub(e, 1))  # as far as the exponent lets it be normalised
    m, e = f.shl(m, shift), f.sub(e, shift)
    normal = f.icmp("uge", m, form.hidden)
    # A subnormal has exponent field 0 for the same scale as field 1.
    field = f.select(normal, e, zero(form.word))
    return f.bitcast(f.or_(f.shl(field, form.fraction), f.and_(m, form.hidden - 1)), form.ty)


def ldexp_f32(f: Function, x: Value, n: Value) -> Value:
    """Through f64, which holds every product exactly: one rounding, at the end."""
    n = f.smax(f.smin(n, 400), -400)
    return f.fptrunc(f.fmul(f.fpext(x, F64), _power_of_two(f, n)), F32)


def ldexp_f64(f: Function, x: Value, n: Value) -> Value:
    """Up to three multiplications by powers of two, of which only the last can round."""
    for _ in range(2):
        up = f.icmp("sgt", n, 1023)
        x = f.select(up, f.fmul(x, 2.0**1023), x)
        n = f.select(up, f.sub(n, 1023), n)
        # Not all the way down: a subnormal on the way would round twice.
        down = f.icmp("slt", n, -1022)
        x = f.select(down, f.fmul(x, 2.0 ** (-1022 + 53)), x)
        n = f.select(down, f.add(n, 1022 - 53), n)
    return f.fmul(x, _power_of_two(f, f.smax(f.smin(n, 1023), -1022)))


def _power_of_two(f: Function, n: Value) -> Value:
    """2^n as f64 for a normal exponent."""
    return f.bitcast(f.shl(f.sext(f.add(n, 1023), I64), 52), F64)


# ------------------------------------------------------------------------------------------------- fma


def fma_f32(f: Function, a: Value, b: Value, c: Value) -> Value:
    """The product is exact in f64; the sum is rounded to odd there, so that rounding to f32 sees what was
    lost."""
    product, addend = f.fmul(f.fpext(a, F64), f.fpext(b, F64)), f.fpext(c, F64)
    total = f.fadd(product, addend)
    back = f.fsub(total, product)
    error = f.fadd(f.fsub(product, f.fsub(total, back)), f.fsub(addend, back))
    word = f.bitcast(total, I64)
    even = f.icmp("eq", f.and_(word, 1), 0)
    # `one` is false for the NaN that infinities leave in `error`.
    adjust = f.and_(even, f.fcmp("one", error, 0.0))
    outward = f.icmp("sge", f.xor(word, f.bitcast(error, I64)), 0)
    step = f.select(outward, const(1, I64), const(-1, I64))
    odd = f.select(adjust, f.add(word, step), word)
    return f.fptrunc(f.bitcast(odd, F64), F32)


_WIDE = "i128"
_TOP = 125  # the operands' leading bit before they are aligned: the sum still fits, and 20 bits lie below


def fma_f64(f: Function, a: Value, b: Value, c: Value) -> Value:
    """In 128-bit integers: exact product, aligned sum with a sticky bit, one rounding."""
    form = _FORMATS[F64]
    words = [f.bitcast(v, I64) for v in (a, b, c)]
    sizes = [f.and_(w, (1 << 63) - 1) for w in words]
    odd_factor = f.or_(f.icmp("eq", sizes[0], 0), f.icmp("eq", sizes[1], 0))
    for size in sizes[:2]:
        odd_factor = f.or_(odd_factor, f.icmp("uge", size, form.infinity))
    with f.if_(odd_factor, likely=False, name="factor"):
        f.ret(f.fadd(f.fmul(a, b), c))
    with f.if_(f.icmp("uge", sizes[2], form.infinity), likely=False, name="addend"):
        f.ret(f.fadd(c, c))  # not a * b + c: the product of finite factors may overflow
    with f.if_(f.icmp("eq", sizes[2], 0), likely=False, name="product"):
        f.ret(f.fmul(a, b))  # adding the zero would lose the sign of a product that underflows

    (ma, ea), (mb, eb), (mc, ec) = (_split_normalised(f, size) for size in sizes)
    product = f.shl(f.mul(f.zext(ma, _WIDE), f.zext(mb, _WIDE)), _TOP - 105)
    addend = f.shl(f.zext(mc, _WIDE), _TOP - 52)
    product_exponent = f.sub(f.add(ea, eb), _TOP - 105)
    addend_exponent = f.sub(ec, _TOP - 52)
    exponent = f.smax(product_exponent, addend_exponent)
    product = _shift_right_sticky(f, product, f.sub(exponent, product_exponent))
    addend = _shift_right_sticky(f, addend, f.sub(exponent, addend_exponent))

    product_sign = f.xor(words[0], words[1])
    differ = f.icmp("slt", f.xor(product_sign, words[2]), 0)
    total = f.add(product, f.select(differ, f.sub(zero(_WIDE), addend), addend))
    negative = f.and_(differ, f.icmp("ult", product, addend))
    total = f.select(negative, f.sub(zero(_WIDE), total), total)
    sign = f.and_(f.select(negative, words[2], product_sign), -(1 << 63))
    with f.if_(f.icmp("eq", total, 0), likely=False, name="cancelled"):
        f.ret(zero(F64))
    return f.bitcast(f.or_(_round_wide(f, total, exponent), sign), F64)


def _split_normalised(f: Function, size: Value) -> tuple[Value, Value]:
    """Positive f64 bits to (m, e): value m * 2^e with the leading bit of m at 52."""
    form = _FORMATS[F64]
    m, e = _split(f, size, form)
    lead = f.sub(f.intrinsic("ctlz", m, const(0, "i1")), 11)
    return f.shl(m, lead), f.sub(f.sub(e, form.bias + form.fraction), lead)


def _shift_right_sticky(f: Function, x: Value, count: Value) -> Value:
    """x >> count, with the last bit set when a set bit was lost; count is an i64 of any size."""
    width = bits(x.ty)
    count = f.umin(count, width - 1)
    count = f.zext(count, x.ty) if width > 64 else count
    shifted = f.lshr(x, count)
    lost = f.icmp("ne", f.shl(shifted, count), x)
    return f.or_(shifted, f.zext(lost, x.ty))


def _round_wide(f: Function, total: Value, exponent: Value) -> Value:
    """total * 2^exponent (total > 0) to positive f64 bits, nearest even, subnormals and infinity included."""
    lead = f.intrinsic("ctlz", total, const(0, "i1"))
    total = f.shl(total, lead)
    high = f.trunc(f.lshr(total, 64), I64)
    high = f.or_(high, f.zext(f.icmp("ne", f.trunc(total, I64), 0), I64))
    biased = f.add(f.sub(exponent, f.trunc(lead, I64)), 127 + 1023)  # exponent field of the leading bit
    below = f.smax(f.sub(const(1, I64), biased), 0)  # places under the smallest normal
    high = _shift_right_sticky(f, high, below)
    # The leading bit adds one to the field; a subnormal has none there, and a carry moves it up by itself.
    field = f.shl(f.smax(f.sub(biased, 1), 0), 52)
    rounding = f.and_(high, 0x7FF)
    kept = f.lshr(high, 11)
    up = f.or_(
        f.icmp("ugt", rounding, 0x400),
        f.and_(f.icmp("eq", rounding, 0x400), f.icmp("ne", f.and_(kept, 1), 0)),
    )
    word = f.add(f.add(field, kept), f.zext(up, I64))
    infinity = const(_FORMATS[F64].infinity, I64)
    return f.select(f.icmp("sgt", biased, 2046), infinity, f.umin(word, infinity))


# --------------------------------------------------------------------------------- minimum and maximum


def fmin(f: Function, x: Value, y: Value) -> Value:
    """The smaller; a number rather than a NaN."""
    return f.select(f.fcmp("uno", y, y), x, f.select(f.fcmp("ult", y, x), y, x))


def fmax(f: Function, x: Value, y: Value) -> Value:
    return f.select(f.fcmp("uno", y, y), x, f.select(f.fcmp("ugt", y, x), y, x))


UNARY = {
    "trunc": trunc,
    "floor": floor,
    "ceil": ceil,
    "round": round_half_away,
    "roundeven": round_half_even,
    "rint": round_half_even,
    "nearbyint": round_half_even,
}
BINARY = {"fmod": fmod, "fmin": fmin, "fmax": fmax}
LDEXP = {F32: ldexp_f32, F64: ldexp_f64}
FMA = {F32: fma_f32, F64: fma_f64}
