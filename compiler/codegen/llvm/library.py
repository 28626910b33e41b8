"""The soft library: what LLVM's code generator may call, as LLVM IR, so that executables import nothing.

Enters: the name of an undefined symbol. Leaves: an object that defines it, compiled for the same target,
which the linker adds (`elf.link`'s `resolve`); nothing is there that nobody calls. Every function is exact:
memory functions, conversions of half and bfloat, rounding and fma for CPUs without the instructions, fmod,
ldexp, 128-bit division. There are no transcendental functions: kernels write those inline (`codegen.math`).

The functions carry "no-builtins", or LLVM would turn memcpy's loop into a call of memcpy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from . import library_float, library_half, library_memory
from .emit import Module
from .function import Function
from .library_integer import DIVISIONS, define_division
from .objects import ObjectCache, Unit, compile_object, compile_objects
from .values import BF16, F16, F32, F64, I32, Value

_Body = Callable[[Function], Value]
_F32_F64 = (("f", F32), ("", F64))


def _float_functions() -> dict[str, tuple[str, list[str], _Body]]:
    """name → (result, argument types, body), for functions of floats that come in f32 and f64."""
    table: dict[str, tuple[str, list[str], _Body]] = {}
    for suffix, ty in _F32_F64:
        for name, body in library_float.UNARY.items():
            table[name + suffix] = (ty, [ty], body)
        for name, body in library_float.BINARY.items():
            table[name + suffix] = (ty, [ty, ty], body)
        table["ldexp" + suffix] = (ty, [ty, I32], library_float.LDEXP[ty])
        table["fma" + suffix] = (ty, [ty, ty, ty], library_float.FMA[ty])
    return table


_FUNCTIONS: dict[str, tuple[str, list[str], _Body]] = {
    **library_memory.FUNCTIONS,
    **_float_functions(),
    "__extendhfsf2": (F32, [F16], library_half.extend_half),
    "__truncsfhf2": (F16, [F32], library_half.truncate_to_half),
    "__truncdfhf2": (F16, [F64], library_half.truncate_to_half),
    "__truncsfbf2": (BF16, [F32], library_half.truncate_to_bfloat),
    "__truncdfbf2": (BF16, [F64], library_half.truncate_to_bfloat),
}


def names() -> list[str]:
    """Every function that the library has."""
    return sorted([*_FUNCTIONS, *DIVISIONS])


def module_of(name: str, target) -> str | None:
    """LLVM IR that defines one function, or None for a name that the library does not have."""
    m = Module(target)
    if name in DIVISIONS:
        define_division(m, name)
    elif name in _FUNCTIONS:
        ret, args, body = _FUNCTIONS[name]
        f = m.function(name, [(f"arg{k}", ty) for k, ty in enumerate(args)], ret, "hidden", '"no-builtins"')
        f.ret(body(f, *f.args.values()))
    else:
        return None
    return m.text()


def object_of(name: str, target, cache: ObjectCache | None = None) -> bytes | None:
    """The object that defines a function, or None: the linker then reports the name."""
    unit = _unit(name, target)
    if unit is None:
        return None
    return _compiled(unit, target) if cache is None else compile_objects([unit], target, cache)[0]


@lru_cache(maxsize=256)
def _unit(name: str, target) -> Unit | None:
    text = module_of(name, target)
    return None if text is None else Unit(text)


@lru_cache(maxsize=256)
def _compiled(unit: Unit, target) -> bytes:
    """Programs of one process share these, since they ask for the same few again and again."""
    return compile_object(unit, target)
