"""The instructions that compute values: integers, floats, comparisons, casts, intrinsics.

`Function` adds memory, vectors and control flow. The rules that hold for every method:
- A Python number is taken wherever one operand is a Value; it becomes a constant of that Value's type (splatted).
- Operands of different types are an error here, with the function's name, not later in LLVM's parser.
- Nothing has fast-math or no-wrap flags unless the caller passes `flags`.
"""

from __future__ import annotations

from collections.abc import Sequence

from .rounding import round_to_bfloat
from .values import (
    BF16,
    I64,
    VOID,
    Value,
    bits,
    const,
    elem,
    mask_of,
    suffix,
    with_elem,
    zero,
)


class Instructions:
    """A list of instructions under construction: every method appends some."""

    def __init__(self, module, name: str):
        self.module, self.name = module, name
        self.lines: list[str] = []
        self._count = 0

    # -- raw emission

    def value(self, ty: str, text: str, hint: str = "v") -> Value:
        """Appends `%hint.N = text`."""
        self._count = n = self._count + 1
        ref = f"%{hint}.{n}"
        self.lines.append(f"  {ref} = {text}")
        return Value(ref, ty)

    def effect(self, text: str) -> None:
        """Appends an instruction without a result."""
        self.lines.append("  " + text)

    def comment(self, text: str) -> None:
        self.lines.append("  ; " + text)

    def placeholder(self, ty: str, hint: str) -> Value:
        """Reserves a line for a phi that is written when its inputs are known."""
        return self.value(ty, "", hint)

    def _pair(self, x, y) -> tuple[Value, Value]:
        if x.__class__ is not Value:
            x = const(x, y.ty)
        elif y.__class__ is not Value:
            y = const(y, x.ty)
        if x.ty != y.ty:
            raise TypeError(f"operands of types {x.ty} and {y.ty} in @{self.name}: {x}, {y}")
        return x, y

    def _binary(self, op: str, x, y, flags: str = "") -> Value:
        if x.__class__ is not Value or y.__class__ is not Value or x.ty is not y.ty:
            x, y = self._pair(x, y)
        self._count = n = self._count + 1
        ref = f"%{op}.{n}"
        self.lines.append(f"  {ref} = {op}{' ' + flags if flags else ''} {x.ty} {x.ref}, {y.ref}")
        return Value(ref, x.ty)

    # -- integers (folding constants keeps addresses short and the text small)

    def add(self, x, y, flags: str = "") -> Value:
        x, y = self._pair(x, y)
        if x.const is not None and y.const is not None:
            return const(x.const + y.const, x.ty)
        if y.const == 0:
            return x
        return y if x.const == 0 else self._binary("add", x, y, flags)

    def sub(self, x, y, flags: str = "") -> Value:
        x, y = self._pair(x, y)
        if x.const is not None and y.const is not None:
            return const(x.const - y.const, x.ty)
        return x if y.const == 0 else self._binary("sub", x, y, flags)

    def mul(self, x, y, flags: str = "") -> Value:
        x, y = self._pair(x, y)
        if x.const is not None and y.const is not None:
            return const(x.const * y.const, x.ty)
        if y.const == 1:
            return x
        if x.const == 1:
            return y
        return zero(x.ty) if 0 in (x.const, y.const) else self._binary("mul", x, y, flags)

    def and_(self, x, y) -> Value:
        x, y = self._pair(x, y)
        if x.const is not None and y.const is not None:
            return const(x.const & y.const, x.ty)
        return self._binary("and", x, y)

    def or_(self, x, y) -> Value:
        return self._binary("or", x, y)

    def xor(self, x, y) -> Value:
        return self._binary("xor", x, y)

    def not_(self, x: Value) -> Value:
        return self._binary("xor", x, const(-1, x.ty))

    def shl(self, x, y, flags: str = "") -> Value:
        return self._binary("shl", x, y, flags)

    def lshr(self, x, y) -> Value:
        return self._binary("lshr", x, y)

    def ashr(self, x, y) -> Value:
        return self._binary("ashr", x, y)

    def sdiv(self, x, y, flags: str = "") -> Value:
        return self._binary("sdiv", x, y, flags)

    def udiv(self, x, y, flags: str = "") -> Value:
        return self._binary("udiv", x, y, flags)

    def srem(self, x, y) -> Value:
        return self._binary("srem", x, y)

    def urem(self, x, y) -> Value:
        return self._binary("urem", x, y)

    def smin(self, x, y) -> Value:
        return self.intrinsic("smin", *self._pair(x, y))

    def smax(self, x, y) -> Value:
        return self.intrinsic("smax", *self._pair(x, y))

    def umin(self, x, y) -> Value:
        return self.intrinsic("umin", *self._pair(x, y))

    def umax(self, x, y) -> Value:
        return self.intrinsic("umax", *self._pair(x, y))

    # -- floats

    def fadd(self, x, y, flags: str = "") -> Value:
        return self._binary("fadd", x, y, flags)

    def fsub(self, x, y, flags: str = "") -> Value:
        return self._binary("fsub", x, y, flags)

    def fmul(self, x, y, flags: str = "") -> Value:
        return self._binary("fmul", x, y, flags)

    def fdiv(self, x, y, flags: str = "") -> Value:
        return self._binary("fdiv", x, y, flags)

    def frem(self, x, y) -> Value:
        """C's fmod; becomes calls of `llvm.library`'s fmod or fmodf, lane by lane."""
        return self._binary("frem", x, y)

    def fneg(self, x: Value) -> Value:
        return self.value(x.ty, f"fneg {x.ty} {x.ref}", "fneg")

    def fabs(self, x: Value) -> Value:
        return self.intrinsic("fabs", x)

    def copysign(self, magnitude, sign) -> Value:
        return self.intrinsic("copysign", *self._pair(magnitude, sign))

    def sqrt(self, x: Value) -> Value:
        return self.intrinsic("sqrt", x)

    def fma(self, a, b, c) -> Value:
        """a * b + c, rounded once. Slow (a library call a lane) where the target has no FMA: ask
        `target.has_fma`."""
        if not (a.__class__ is b.__class__ is c.__class__ is Value):
            ty = next(v.ty for v in (a, b, c) if v.__class__ is Value)
            a, b, c = (v if v.__class__ is Value else const(v, ty) for v in (a, b, c))
        if not (a.ty == b.ty == c.ty):
            raise TypeError(f"fma of types {a.ty}, {b.ty} and {c.ty} in @{self.name}")
        return self.intrinsic("fma", a, b, c)

    def ldexp(self, x: Value, exponent: Value) -> Value:
        name = f"llvm.ldexp.{suffix(x.ty)}.{suffix(exponent.ty)}"
        return self.call_intrinsic(name, x.ty, x, exponent)

    # -- comparisons and choice

    def icmp(self, predicate: str, x, y) -> Value:
        x, y = self._pair(x, y)
        return self.value(mask_of(x.ty), f"icmp {predicate} {x.ty} {x.ref}, {y.ref}", "cmp")

    def fcmp(self, predicate: str, x, y) -> Value:
        x, y = self._pair(x, y)
        return self.value(mask_of(x.ty), f"fcmp {predicate} {x.ty} {x.ref}, {y.ref}", "cmp")

    def select(self, condition: Value, x, y) -> Value:
        x, y = self._pair(x, y)
        return self.value(x.ty, f"select {condition.ty} {condition.ref}, {x.ty} {x.ref}, {y.ty} {y.ref}", "select")

    # -- casts: the target may be given as an element type; it gets the operand's lanes

    def cast(self, op: str, x: Value, ty: str) -> Value:
        if ty[0] != "<":
            ty = with_elem(x.ty, ty)
        if ty == x.ty:
            return x
        if x.const is not None and op in ("trunc", "sext", "zext"):
            width = bits(x.ty)
            return const(x.const & ((1 << width) - 1) if op == "zext" else x.const, ty)
        return self.value(ty, f"{op} {x.ty} {x.ref} to {ty}", op)

    def trunc(self, x: Value, ty: str) -> Value:
        return self.cast("trunc", x, ty)

    def zext(self, x: Value, ty: str) -> Value:
        return self.cast("zext", x, ty)

    def sext(self, x: Value, ty: str) -> Value:
        return self.cast("sext", x, ty)

    def sitofp(self, x: Value, ty: str) -> Value:
        return self.cast("sitofp", x, ty)

    def uitofp(self, x: Value, ty: str) -> Value:
        return self.cast("uitofp", x, ty)

    def fptosi(self, x: Value, ty: str) -> Value:
        """Undefined for NaN and values out of range: see `fptosi_sat`."""
        return self.cast("fptosi", x, ty)

    def fptoui(self, x: Value, ty: str) -> Value:
        return self.cast("fptoui", x, ty)

    def fptosi_sat(self, x: Value, ty: str) -> Value:
        """NaN gives 0, values out of range the nearest integer of the type."""
        ty = with_elem(x.ty, elem(ty))
        return self.call_intrinsic(f"llvm.fptosi.sat.{suffix(ty)}.{suffix(x.ty)}", ty, x)

    def fptoui_sat(self, x: Value, ty: str) -> Value:
        ty = with_elem(x.ty, elem(ty))
        return self.call_intrinsic(f"llvm.fptoui.sat.{suffix(ty)}.{suffix(x.ty)}", ty, x)

    def fpext(self, x: Value, ty: str) -> Value:
        return self.cast("fpext", x, ty)

    def fptrunc(self, x: Value, ty: str) -> Value:
        """Narrows a float, one rounding to nearest even; to bfloat see `rounding.round_to_bfloat`."""
        if elem(ty) == BF16:
            return self.bitcast(round_to_bfloat(self, x), BF16)
        return self.cast("fptrunc", x, ty)

    def bitcast(self, x: Value, ty: str) -> Value:
        """Same bits, other type. An element type of equal width gets the lanes of `x`; otherwise `ty` is
        literal."""
        if ty[0] != "<" and bits(ty) == bits(x.ty):
            ty = with_elem(x.ty, ty)
        return x if ty == x.ty else self.value(ty, f"bitcast {x.ty} {x.ref} to {ty}", "bitcast")

    def ptrtoint(self, x: Value, ty: str = I64) -> Value:
        return self.value(ty, f"ptrtoint {x.ty} {x.ref} to {ty}", "addr")

    # -- intrinsics

    def intrinsic(self, name: str, *args: Value, flags: str = "") -> Value:
        """llvm.<name> overloaded on its first argument's type, which is also the result's: sqrt, fma, ctlz,
        umax…"""
        return self.call_intrinsic(f"llvm.{name}.{suffix(args[0].ty)}", args[0].ty, *args, flags=flags)

    def call_intrinsic(self, name: str, ret: str, *args: Value, flags: str = "") -> Value:
        """An intrinsic by its full name."""
        if name not in self.module.declarations:
            self.module.declare(name, ret, [a.ty for a in args])
        return self._call(name, ret, args, flags)

    def _call(self, name: str, ret: str, args: Sequence[Value], flags: str = "") -> Value:
        target = name if name[0] in "%@" else "@" + name
        operands = ", ".join([f"{a.ty} {a.ref}" for a in args])
        text = f"call {flags + ' ' if flags else ''}{ret} {target}({operands})"
        if ret == VOID:
            self.effect(text)
            return Value("void", VOID)
        return self.value(ret, text, _hint(name))


def _hint(callee: str) -> str:
    """What a call's result is named after: llvm.fma.f32 → fma, llvm.vector.reduce.fadd.v8f32 → reduce."""
    if not callee.startswith("llvm."):
        return "call"
    parts = callee.split(".")
    return parts[2] if parts[1] in ("vector", "x86", "aarch64") else parts[1]
