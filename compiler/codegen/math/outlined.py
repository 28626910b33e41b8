"""Functions that the math ops put into a module once: cold paths, and bodies too large to inline.

Enters: a module, a name, argument types and an emitter of the body. Leaves: the function, the same one each
time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..llvm.function import Function
from ..llvm.values import Value, bits, elem, lanes


def outlined(
    module, name: str, args: Sequence[str], ret: str, body: Callable[..., Value], attrs: str = "noinline"
) -> Function:
    """The module's internal function `name`; `body(fn, *arguments)` emits it on the first call."""
    for function in module.functions:
        if function.name == name:
            return function
    function = module.function(name, [(f"a{k}", ty) for k, ty in enumerate(args)], ret, "internal", attrs)
    function.ret(body(function, *function.args.values()))
    return function


def lanewise(fn, name: str, x: Value, y: Value, chosen: Value, body: Callable[..., Value]) -> Value:
    """A copy of y in which each chosen lane is `body(fn, lane of x)`: a cold function of the module."""
    if x.lanes == 1:
        return body(fn, x)

    def loop(fn: Function, x: Value, y: Value, chosen: Value) -> Value:
        return _patch_lanes(fn, x, y, chosen, body)

    full_name = f"{name}.v{lanes(x.ty)}f{bits(x.ty)}"
    callee = outlined(fn.module, full_name, [x.ty, y.ty, chosen.ty], y.ty, loop, "noinline cold")
    return fn.call(callee, x, y, chosen)


def _patch_lanes(fn: Function, x: Value, y: Value, chosen: Value, body) -> Value:
    element = elem(x.ty)
    source, result, flags = (_spilled(fn, v) for v in (x, y, fn.zext(chosen, "i8")))
    with fn.for_(0, x.lanes, name="lane") as lane:
        flag = fn.load("i8", fn.gep(flags, lane.index, "i8"))
        with fn.if_(fn.icmp("ne", flag, 0)):
            fn.store(
                body(fn, fn.load(element, fn.gep(source, lane.index, element))),
                fn.gep(result, lane.index, element),
            )
    return fn.load(y.ty, result)


def _spilled(fn: Function, value: Value) -> Value:
    """A stack copy, to index lanes at run time."""
    slot = fn.alloca(value.ty)
    fn.store(value, slot)
    return slot
