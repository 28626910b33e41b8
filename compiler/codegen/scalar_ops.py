"""One arith or math op on scalars or vectors, as LLVM IR.

Enters: the op's dialect name, its operands as `llvm.values.Value`, the loop IR types and the op's attribute.
Leaves: the result's LLVM value.

Rules: half and bfloat arithmetic is done in f32 and rounded once an op; integers wrap; a bool is i1 in registers; a
bfloat is an i16 there, since LLVM takes vectors of them from block to block by calls where the CPU has no such floats;
no fast-math flags, no contraction. maximumf and minimumf pass NaN on and order the zeros; maxnumf and minnumf
drop it. A conversion of a float to an integer is what the op says: undefined out of range.
"""

from __future__ import annotations

from collections.abc import Sequence

from .llvm import values as lv
from .llvm.function import Function
from .llvm.rounding import round_to_bfloat
from .loops import ELEMENT_BITS, SMALL_FLOATS, Type
from .math import emit_math
from .small_floats import FORMATS, extend, truncate
from .target import Target

_LLVM_ELEMENTS = {
    "i1": lv.I1, "i2": "i2", "i4": "i4", "i6": "i6", "i8": lv.I8, "i16": lv.I16, "i32": lv.I32, "i64": lv.I64,
    "f16": lv.F16, "bf16": lv.I16, "f32": lv.F32, "f64": lv.F64,
    **dict.fromkeys(SMALL_FLOATS, lv.I8),
}  # fmt: skip

# name → the method of `Function` that is the op itself
_DIRECT = {
    "arith.addi": "add", "arith.subi": "sub", "arith.muli": "mul", "arith.divsi": "sdiv", "arith.divui": "udiv",
    "arith.remsi": "srem", "arith.remui": "urem", "arith.andi": "and_", "arith.ori": "or_", "arith.xori": "xor",
    "arith.shli": "shl", "arith.shrsi": "ashr", "arith.shrui": "lshr",
    "arith.maxsi": "smax", "arith.minsi": "smin", "arith.maxui": "umax", "arith.minui": "umin",
    "arith.addf": "fadd", "arith.subf": "fsub", "arith.mulf": "fmul", "arith.divf": "fdiv", "arith.remf": "frem",
    "arith.negf": "fneg", "arith.select": "select",
}  # fmt: skip

_CASTS = {
    "arith.extsi": "sext", "arith.extui": "zext", "arith.trunci": "trunc", "arith.sitofp": "sitofp",
    "arith.uitofp": "uitofp", "arith.fptosi": "fptosi", "arith.fptoui": "fptoui",
}  # fmt: skip

#: Floats whose bits are integers in registers.
FLOATS_AS_BITS = frozenset({*FORMATS, "bf16"})
_FROM_INTEGER = ("arith.sitofp", "arith.uitofp")
_MOVES = frozenset({"arith.select", "arith.bitcast", "arith.extf", "arith.truncf"})


def llvm_type(type: Type) -> str:
    """The register type of a loop IR type."""
    return lv.vec(type.lanes, _LLVM_ELEMENTS[type.elem])


def llvm_storage(elem: str) -> str:
    """The type of one element in memory."""
    return lv.I8 if ELEMENT_BITS[elem] < 8 else _LLVM_ELEMENTS[elem]


def emit_scalar_op(
    fn: Function,
    target: Target,
    name: str,
    operands: list[lv.Value],
    type: Type,
    attrs,
    operand_types: Sequence[Type] = (),
) -> lv.Value:
    """Writes one op; `type` is the result's. The operands' types are needed where integers may be floats."""
    if type.elem in FLOATS_AS_BITS or any(t.elem in FLOATS_AS_BITS for t in operand_types):
        return _on_bits(fn, target, name, operands, type, attrs, operand_types)
    if name not in _MOVES and any(lv.elem(v.ty) == lv.F16 for v in operands):
        return _in_f32(fn, target, name, operands, type, attrs)
    result = llvm_type(type)
    if lv.elem(result) == lv.F16 and name in _FROM_INTEGER:
        return fn.fptrunc(_integer_to_be_rounded(fn, name, operands[0]), result)
    direct = _DIRECT.get(name)
    if direct is not None:
        return getattr(fn, direct)(*operands)
    cast = _CASTS.get(name)
    if cast is not None:
        return fn.cast(cast, operands[0], result)
    special = _SPECIAL.get(name)
    if special is not None:
        return special(fn, operands, result, attrs)
    return emit_math(fn, name, operands, target)


def _on_bits(fn, target, name, operands, type, attrs, operand_types) -> lv.Value:
    """Floats that are integers here: moved as such, and computed with in f32."""
    if name == "arith.bitcast":
        # Floats of less than a byte have one in registers, integers only their bits.
        result = llvm_type(type)
        return fn.bitcast(operands[0], result) if type.bits > 8 else _resize(fn, operands[0], result, "zext")
    if name == "arith.select":
        return fn.select(*operands)
    wide = []
    types = []
    for value, kind in zip(operands, operand_types, strict=True):
        small = kind.elem in FLOATS_AS_BITS
        wide.append(extend_bits(fn, value, kind.elem) if small else value)
        types.append(kind.with_elem("f32") if small else kind)
    if type.elem not in FLOATS_AS_BITS:
        if name == "arith.extf":
            # f32 may be wider than the result, which holds every number of eight bits.
            name = "arith.truncf" if lv.bits(llvm_type(type)) < 32 else name
            if type.elem == "f32":
                return wide[0]
        return emit_scalar_op(fn, target, name, wide, type, attrs, types)
    in_f32 = type.with_elem("f32")
    if type.elem == "bf16" and name in _FROM_INTEGER:
        value = _integer_to_be_rounded(fn, name, operands[0])
    elif type.elem == "bf16" and name == "arith.truncf":
        value = wide[0]
    elif name in ("arith.truncf", "arith.extf"):
        bits = lv.bits(wide[0].ty)
        value = wide[0] if bits == 32 else fn.fpext(wide[0], lv.F32) if bits < 32 else _to_odd(fn, wide[0])
    else:
        value = emit_scalar_op(fn, target, name, wide, in_f32, attrs, types)
    return truncate_to_bits(fn, value, type.elem)


def extend_bits(fn: Function, x: lv.Value, elem: str) -> lv.Value:
    """The bits of a float as f32, exactly."""
    if elem == "bf16":
        return fn.bitcast(fn.shl(fn.zext(x, lv.I32), 16), lv.F32)
    return extend(fn, x, elem)


def truncate_to_bits(fn: Function, x: lv.Value, elem: str) -> lv.Value:
    """The bits of f32 (of any float for bf16), rounded once to nearest even."""
    return round_to_bfloat(fn, x) if elem == "bf16" else truncate(fn, x, elem)


def _to_odd(fn, x) -> lv.Value:
    """f64 as f32, to the odd one of its neighbours where it is neither: what rounds that again rounds once."""
    nearest = fn.fptrunc(x, lv.F32)
    back, bits = fn.fpext(nearest, lv.F64), fn.bitcast(nearest, lv.I32)
    even = fn.icmp("eq", fn.and_(bits, 1), 0)
    below = fn.fcmp("olt", fn.fabs(back), fn.fabs(x))
    above = fn.fcmp("ogt", fn.fabs(back), fn.fabs(x))
    step = fn.sub(fn.zext(fn.and_(below, even), lv.I32), fn.zext(fn.and_(above, even), lv.I32))
    return fn.bitcast(fn.add(bits, step), lv.F32)


def _in_f32(fn, target, name, operands, type, attrs) -> lv.Value:
    wide = [fn.fpext(v, lv.F32) if lv.elem(v.ty) == lv.F16 else v for v in operands]
    if not type.is_float:
        return emit_scalar_op(fn, target, name, wide, type, attrs)
    value = emit_scalar_op(fn, target, name, wide, type.with_elem("f32"), attrs)
    return fn.fptrunc(value, llvm_type(type))


def _integer_to_be_rounded(fn, name, x) -> lv.Value:
    """A float that rounds to a 16-bit one as the integer does: f64 holds every integer up to 53 bits, and a wider one
    rounds to odd before it gets there."""
    op = _CASTS[name]
    if lv.bits(x.ty) <= 32:
        return fn.cast(op, x, lv.F32 if lv.bits(x.ty) <= 16 else lv.F64)
    # The lower 11 bits only matter as "something is there": fold them into one sticky bit.
    sticky = fn.zext(fn.icmp("ne", fn.and_(x, 0x7FF), 0), lv.I64)
    sticky = fn.shl(sticky, 11)
    folded = fn.or_(fn.and_(x, ~0x7FF), sticky)
    magnitude_fits = fn.icmp("ult", fn.add(x, 1 << 52), 1 << 53)
    return fn.cast(op, fn.select(magnitude_fits, x, folded), lv.F64)


def _compare_float(fn, operands, result, predicate):
    return fn.fcmp(predicate, *operands)


def _compare_int(fn, operands, result, predicate):
    return fn.icmp(predicate, *operands)


def _constant_number(value: lv.Value) -> float | None:
    """The number of a float constant, scalar or the same in every lane."""
    if not value.is_constant:
        return None
    text = value.ref
    if text == "zeroinitializer":
        return 0.0
    if text.startswith("splat ("):
        text = text[text.index(" ", 7) + 1 : -1]
    if not text.startswith("0x") or text[2] in "HR":
        return None
    return lv.struct.unpack("<d", lv.struct.pack("<Q", int(text, 16)))[0]


def _extremum(fn, operands, maximum: bool):
    """IEEE maximum and minimum. Against a constant that is neither NaN nor the wrong zero one compare suffices:
    an unordered comparison keeps a NaN operand."""
    x, y = operands
    if _constant_number(x) is not None:
        x, y = y, x
    number = _constant_number(y)
    if number is not None and number == number:
        negative_zero = number == 0 and lv.struct.pack("<d", number)[7] & 0x80
        if number != 0 or bool(negative_zero) != maximum:
            return fn.select(fn.fcmp("ugt" if maximum else "ult", x, y), x, y)
    return fn.intrinsic("maximum" if maximum else "minimum", x, y)


def _maximum(fn, operands, result, attrs):
    return _extremum(fn, operands, True)


def _minimum(fn, operands, result, attrs):
    return _extremum(fn, operands, False)


def _number_extremum(predicate: str):
    def emit(fn, operands, result, attrs):
        x, y = operands
        better = fn.or_(fn.fcmp(predicate, x, y), fn.fcmp("uno", y, y))
        return fn.select(better, x, y)

    return emit


def _extend_float(fn, operands, result, attrs):
    return fn.fpext(operands[0], result)


def _truncate_float(fn, operands, result, attrs):
    (x,) = operands
    return fn.fptrunc(x, result)


def _bitcast(fn, operands, result, attrs):
    return fn.bitcast(operands[0], result)


def _index_cast(fn, operands, result, attrs):
    return _resize(fn, operands[0], result, "sext")


def _index_cast_unsigned(fn, operands, result, attrs):
    return _resize(fn, operands[0], result, "zext")


def _resize(fn, x, result, extend):
    if lv.bits(x.ty) == lv.bits(result):
        return x
    return fn.cast("trunc" if lv.bits(x.ty) > lv.bits(result) else extend, x, result)


def _ceil_div_unsigned(fn, operands, result, attrs):
    x, y = operands
    quotient = fn.udiv(x, y)
    inexact = fn.icmp("ne", fn.mul(quotient, y), x)
    return fn.add(quotient, fn.zext(inexact, result))


def _rounded_division(up: bool):
    """Quotient towards plus or minus infinity: the truncated one, moved by one where it is inexact."""

    def emit(fn, operands, result, attrs):
        x, y = operands
        quotient = fn.sdiv(x, y)
        inexact = fn.icmp("ne", fn.mul(quotient, y), x)
        same_sign = fn.icmp("sge", fn.xor(x, y), 0)
        moves = fn.and_(inexact, same_sign if up else fn.not_(same_sign))
        return (fn.add if up else fn.sub)(quotient, fn.zext(moves, result))

    return emit


_SPECIAL = {
    "arith.cmpf": _compare_float,
    "arith.cmpi": _compare_int,
    "arith.maximumf": _maximum,
    "arith.minimumf": _minimum,
    "arith.maxnumf": _number_extremum("ogt"),
    "arith.minnumf": _number_extremum("olt"),
    "arith.extf": _extend_float,
    "arith.truncf": _truncate_float,
    "arith.bitcast": _bitcast,
    "arith.index_cast": _index_cast,
    "arith.index_castui": _index_cast_unsigned,
    "arith.ceildivui": _ceil_div_unsigned,
    "arith.ceildivsi": _rounded_division(True),
    "arith.floordivsi": _rounded_division(False),
}
