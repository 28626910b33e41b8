"""arith and math → vm.

Enters: arith and math ops on scalars. Leaves: ops of the same meaning; the differences between the two are made up
for: narrow integers are brought to 32 bits where the upper bits count, shift amounts have 32 bits, conversions to
integers cut instead of rounding. Float ops whose results would differ (`remf`, `minimumf`, …) have no conversion.
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.ir.attributes import FloatAttr
from pyiree.compiler.ir.core import Value
from pyiree.compiler.ir.diagnostics import ConversionError
from pyiree.compiler.ir.types import Type, f32, f64, i32, i64
from pyiree.compiler.vm.conversion import Converter, converts
from pyiree.compiler.vm.types import is_ref


def _width(type: Type) -> int:
    return 64 if type.is_index else type.width


def _suffix(value: Value) -> str:
    return "ref" if is_ref(value.type) else str(value.type)


@converts("arith.constant")
def _constant(conv: Converter, op: Any) -> None:
    type = conv.type(op.result.type, op)
    value = op.value
    if isinstance(value, FloatAttr):
        # A small float is held as its bits.
        converted = conv.constant(value, type) if type in (f32, f64) else conv.constant(value.bits, i32)
    else:
        converted = conv.constant(value.value, type)
    conv.replace(op, converted)


# ------------------------------------------------------------------ integers


_MODULAR = {"arith.addi": "add", "arith.subi": "sub", "arith.muli": "mul"}
_BITWISE = {"arith.andi": "and", "arith.ori": "or", "arith.xori": "xor"}
#: On i1, sums are exclusive ors and products are ands.
_ON_BITS = {"add": "xor", "sub": "xor", "mul": "and"}
_SIGNED = {"arith.divsi": "div", "arith.remsi": "rem", "arith.minsi": "min", "arith.maxsi": "max"}
_UNSIGNED = {"arith.divui": "div", "arith.remui": "rem", "arith.minui": "min", "arith.maxui": "max"}


@converts(*_MODULAR)
def _modular(conv: Converter, op: Any) -> None:
    lhs, rhs = conv.values((op.lhs, op.rhs))
    operation = _MODULAR[op.name]
    if _width(op.lhs.type) == 1:
        operation = _ON_BITS[operation]
    conv.replace(op, conv.emit(f"{operation}.{lhs.type}", lhs, rhs))


@converts(*_BITWISE)
def _bitwise(conv: Converter, op: Any) -> None:
    lhs, rhs = conv.values((op.lhs, op.rhs))
    conv.replace(op, conv.emit(f"{_BITWISE[op.name]}.{lhs.type}", lhs, rhs))


@converts(*_SIGNED)
def _signed(conv: Converter, op: Any) -> None:
    lhs, rhs = _operands(conv, op, signed=True)
    _replace_narrow(conv, op, conv.emit(f"{_SIGNED[op.name]}.{lhs.type}.s", lhs, rhs))


@converts(*_UNSIGNED)
def _unsigned(conv: Converter, op: Any) -> None:
    lhs, rhs = _operands(conv, op, signed=False)
    _replace_narrow(conv, op, conv.emit(f"{_UNSIGNED[op.name]}.{lhs.type}.u", lhs, rhs))


def _operands(conv: Converter, op: Any, *, signed: bool) -> tuple[Value, Value]:
    extend = conv.signed if signed else conv.unsigned
    return extend(conv.value(op.lhs), op.lhs.type), extend(conv.value(op.rhs), op.rhs.type)


def _replace_narrow(conv: Converter, op: Any, value: Value) -> None:
    """An i1 is kept as 0 or 1."""
    if _width(op.result.type) == 1:
        value = conv.emit("and.i32", value, conv.constant(1, i32))
    conv.replace(op, value)


@converts("arith.ceildivui")
def _ceil_divide_unsigned(conv: Converter, op: Any) -> None:
    """(a - 1) / b + 1, and 0 for 0."""
    lhs, rhs = _operands(conv, op, signed=False)
    one, zero = conv.constant(1, lhs.type), conv.constant(0, lhs.type)
    up = conv.emit(f"add.{lhs.type}", conv.emit(f"div.{lhs.type}.u", conv.emit(f"sub.{lhs.type}", lhs, one), rhs), one)
    nonzero = conv.emit(f"cmp.nz.{lhs.type}", lhs)
    _replace_narrow(conv, op, conv.emit(f"select.{lhs.type}", nonzero, up, zero))


@converts("arith.ceildivsi", "arith.floordivsi")
def _directed_divide(conv: Converter, op: Any) -> None:
    """The quotient toward zero, moved by one where there is a remainder and the exact quotient lies further."""
    lhs, rhs = _operands(conv, op, signed=True)
    type = str(lhs.type)
    quotient = conv.emit(f"div.{type}.s", lhs, rhs)
    inexact = conv.emit(f"cmp.nz.{type}", conv.emit(f"rem.{type}.s", lhs, rhs))
    negative = conv.emit(f"cmp.lt.{type}.s", conv.emit(f"xor.{type}", lhs, rhs), conv.constant(0, lhs.type))
    moves = op.name == "arith.ceildivsi"
    if moves:
        negative = conv.emit("xor.i32", negative, conv.constant(1, i32))
    step = conv.emit("and.i32", inexact, negative)
    step = conv.emit("ext.i32.i64.u", step) if lhs.type is i64 else step
    _replace_narrow(conv, op, conv.emit(f"{'add' if moves else 'sub'}.{type}", quotient, step))


@converts("arith.shli", "arith.shrui", "arith.shrsi")
def _shift(conv: Converter, op: Any) -> None:
    amount = conv.to_i32(conv.unsigned(conv.value(op.rhs), op.rhs.type))
    value = conv.value(op.lhs)
    if op.name == "arith.shli":
        mnemonic = f"shl.{value.type}"
    elif op.name == "arith.shrui":
        value, mnemonic = conv.unsigned(value, op.lhs.type), f"shr.{value.type}.u"
    else:
        value, mnemonic = conv.signed(value, op.lhs.type), f"shr.{value.type}.s"
    _replace_narrow(conv, op, conv.emit(mnemonic, value, amount))


@converts("arith.cmpi")
def _compare_integers(conv: Converter, op: Any) -> None:
    predicate = op.predicate
    lhs, rhs = _operands(conv, op, signed=predicate.startswith("s"))
    if predicate in ("eq", "ne"):
        conv.replace(op, conv.emit(f"cmp.{predicate}.{lhs.type}", lhs, rhs))
    else:
        relation = _COMPARISONS[predicate[1:]]
        conv.replace(op, conv.emit(f"cmp.{relation}.{lhs.type}.{predicate[0]}", lhs, rhs))


@converts("arith.select")
def _select(conv: Converter, op: Any) -> None:
    condition, on_true, on_false = conv.values((op.condition, op.true_value, op.false_value))
    conv.replace(op, conv.emit(f"select.{_suffix(on_true)}", condition, on_true, on_false))


# ------------------------------------------------------------------ conversions of integers


@converts("arith.extsi", "arith.extui", "arith.index_cast", "arith.index_castui", "arith.trunci")
def _resize(conv: Converter, op: Any) -> None:
    source, target = op.operands[0].type, op.result.type
    value, wanted = conv.value(op.operands[0]), conv.type(target, op)
    if _width(target) > _width(source):
        signed = op.name in ("arith.extsi", "arith.index_cast")
        value = conv.signed(value, source) if signed else conv.unsigned(value, source)
        if wanted is i64:
            value = conv.emit("ext.i32.i64.s" if signed else "ext.i32.i64.u", value)
    elif wanted is i32 and value.type is i64:
        value = conv.emit("trunc.i64.i32", value)
    if _width(target) < _width(source):
        _replace_narrow(conv, op, value)
    else:
        conv.replace(op, value)


@converts("arith.bitcast")
def _bitcast(conv: Converter, op: Any) -> None:
    value, wanted = conv.value(op.operands[0]), conv.type(op.result.type, op)
    conv.replace(op, value if value.type is wanted else conv.emit(f"bitcast.{value.type}.{wanted}", value))


# ------------------------------------------------------------------ floats


_FLOAT_OPS = {
    "arith.addf": "add", "arith.subf": "sub", "arith.mulf": "mul", "arith.divf": "div", "arith.negf": "neg",
    "math.absf": "abs", "math.ceil": "ceil", "math.floor": "floor", "math.round": "round", "math.sqrt": "sqrt",
    "math.rsqrt": "rsqrt", "math.atan": "atan", "math.atan2": "atan2", "math.cos": "cos", "math.sin": "sin",
    "math.exp": "exp", "math.exp2": "exp2", "math.expm1": "expm1", "math.log": "log", "math.log10": "log10",
    "math.log1p": "log1p", "math.log2": "log2", "math.powf": "pow", "math.tanh": "tanh", "math.erf": "erf",
    "math.fma": "fma",
}  # fmt: skip


def _check_float(conv: Converter, op: Any, type: Type) -> None:
    if type not in (f32, f64):
        raise ConversionError(f"'{op.name}' on {type}: the VM computes in f32 and f64 only", op.location)


@converts(*_FLOAT_OPS)
def _float(conv: Converter, op: Any) -> None:
    type = op.result.type
    _check_float(conv, op, type)
    conv.replace(op, conv.emit(f"{_FLOAT_OPS[op.name]}.{type}", *conv.values(op.operands)))


@converts("math.roundeven")
def _round_even(conv: Converter, op: Any) -> None:
    _check_float(conv, op, op.result.type)
    conv.replace(op, conv.emit(f"round.{op.result.type}.even", conv.value(op.operands[0])))


def _cut(conv: Converter, value: Value) -> Value:
    """A float without its fraction."""
    type = value.type
    negative = conv.emit(f"cmp.lt.{type}.o", value, conv.constant(0.0, type))
    return conv.emit(f"select.{type}", negative, conv.emit(f"ceil.{type}", value), conv.emit(f"floor.{type}", value))


@converts("math.trunc")
def _truncate(conv: Converter, op: Any) -> None:
    _check_float(conv, op, op.result.type)
    conv.replace(op, _cut(conv, conv.value(op.operands[0])))


@converts("math.absi", "math.ctlz")
def _integer_unary(conv: Converter, op: Any) -> None:
    type = op.result.type
    if op.name == "math.absi":
        value = conv.signed(conv.value(op.operands[0]), type)
        _replace_narrow(conv, op, conv.emit(f"abs.{value.type}", value))
        return
    value = conv.unsigned(conv.value(op.operands[0]), type)
    zeros = conv.emit(f"ctlz.{value.type}", value)
    missing = 32 - _width(type) if value.type is i32 else 0
    _replace_narrow(conv, op, conv.emit(f"sub.{value.type}", zeros, conv.constant(missing, value.type)))


_COMPARISONS = {"eq": "eq", "gt": "gt", "ge": "gte", "lt": "lt", "le": "lte", "ne": "ne"}


@converts("arith.cmpf")
def _compare_floats(conv: Converter, op: Any) -> None:
    type = op.lhs.type
    _check_float(conv, op, type)
    lhs, rhs = conv.values((op.lhs, op.rhs))
    predicate = op.predicate
    if predicate in ("false", "true"):
        conv.replace(op, conv.constant(int(predicate == "true"), i32))
        return
    unordered = [conv.emit(f"cmp.nan.{type}", v) for v in (lhs, rhs)] if predicate in ("uno", "ord", "one") else []
    either = conv.emit("or.i32", *unordered) if unordered else None
    if predicate == "uno":
        conv.replace(op, either)
        return
    ordered = conv.emit("xor.i32", either, conv.constant(1, i32)) if either is not None else None
    if predicate == "ord":
        conv.replace(op, ordered)
        return
    relation = _COMPARISONS[predicate[1:]]
    result = conv.emit(f"cmp.{relation}.{type}.{predicate[0]}", lhs, rhs)
    # The VM's ordered inequality is also true for what is not a number.
    conv.replace(op, conv.emit("and.i32", result, ordered) if ordered is not None else result)


@converts("arith.sitofp", "arith.uitofp")
def _integer_to_float(conv: Converter, op: Any) -> None:
    source, target = op.operands[0].type, op.result.type
    _check_float(conv, op, target)
    signed = op.name == "arith.sitofp"
    value = conv.value(op.operands[0])
    value = conv.signed(value, source) if signed else conv.unsigned(value, source)
    if target is f64 and value.type is i32:
        value = conv.emit("ext.i32.i64.s" if signed else "ext.i32.i64.u", value)
    conv.replace(op, conv.emit(f"cast.{'s' if signed else 'u'}{value.type}.{target}", value))


@converts("arith.fptosi", "arith.fptoui")
def _float_to_integer(conv: Converter, op: Any) -> None:
    """The VM rounds to the nearest; without a fraction there is nothing to round."""
    source, target = op.operands[0].type, op.result.type
    _check_float(conv, op, source)
    sign = "s" if op.name == "arith.fptosi" else "u"
    cut, wanted = _cut(conv, conv.value(op.operands[0])), conv.type(target, op)
    if source is f64 and wanted is i32:
        value = conv.emit("trunc.i64.i32", conv.emit(f"cast.f64.{sign}i64", cut))
    else:
        value = conv.emit(f"cast.{source}.{sign}{wanted}", cut)
    _replace_narrow(conv, op, value)


@converts("arith.extf", "arith.truncf")
def _float_to_float(conv: Converter, op: Any) -> None:
    source, target = op.operands[0].type, op.result.type
    _check_float(conv, op, source)
    _check_float(conv, op, target)
    mnemonic = "ext.f32.f64" if target is f64 else "trunc.f64.f32"
    conv.replace(op, conv.emit(mnemonic, conv.value(op.operands[0])))
