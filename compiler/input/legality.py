"""What the compiler takes, and the error that names all it doesn't.

Enters: the functions of a module in which an op was found that has no conversion. Leaves: one error that lists
every such op of the program with the line of the user's code it comes from, and says what to do.
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.errors import UnsupportedError
from pyiree.compiler.input.calls import ANNOTATIONS, CUSTOM_CALLS
from pyiree.compiler.input.converter import CONVERSIONS, TERMINATORS, is_scalar_op
from pyiree.compiler.input.import_mlir import SourceReader

#: What to do about ops that have no conversion.
ADVICE = {
    "stablehlo.custom_call": "call it outside of the compiled function",
    "stablehlo.rng": "use jax.random",
    "stablehlo.all_reduce": "collectives need more than one device",
    "stablehlo.all_gather": "collectives need more than one device",
    "stablehlo.all_to_all": "collectives need more than one device",
    "stablehlo.collective_permute": "collectives need more than one device",
    "stablehlo.reduce_scatter": "collectives need more than one device",
    "stablehlo.infeed": "pass the data as an argument",
    "stablehlo.outfeed": "return the data as a result",
}
DEFAULT_ADVICE = "leave it outside of the compiled function, or use jax.jit for this one"


def unsupported_name(op: Any) -> str | None:
    """How to call an op that has no conversion (a custom call with its target), or None if it has one."""
    name = op.name
    if name == "stablehlo.custom_call":
        target = op.attributes["call_target_name"].value
        return None if target in ANNOTATIONS or target in CUSTOM_CALLS else f"{name} @{target}"
    return None if _is_supported(name) else name


def _is_supported(name: str) -> bool:
    return name in CONVERSIONS or name in TERMINATORS or is_scalar_op(name)


def explain_unsupported(
    first: UnsupportedError, functions: dict[str, Any], reader: SourceReader
) -> UnsupportedError:
    """The error about all unsupported ops: those without a conversion, and the one that was just met."""
    callers: dict[str, tuple[Any, str]] = {}
    ops = list(_walk(functions))
    for op, function in ops:
        if op.name == "func.call":
            callers.setdefault(op.attributes["callee"].value, (op, function))
    named = ((unsupported_name(op), _user_line(op, function, callers, reader)) for op, function in ops)
    found = dict.fromkeys((name, place) for name, place in named if name is not None)
    for name, place in first.ops:
        found.setdefault((name, place))
    listed = list(found)
    advice = next((ADVICE[n] for n in [name.partition(" ")[0] for name, _ in listed] if n in ADVICE), DEFAULT_ADVICE)
    return UnsupportedError(listed, advice)


def _walk(functions: dict[str, Any]) -> Any:
    """Every op, with the name of the function that it is in."""
    for name, function in functions.items():
        pending = list(function.regions)
        while pending:
            for block in pending.pop(0).blocks:
                for view in block.operations:
                    yield view.operation, name
                    pending.extend(view.operation.regions)


def _user_line(op: Any, function: str, callers: dict[str, tuple[Any, str]], reader: SourceReader) -> str:
    """`file:line` of the user's code that an op comes from: its own, or that of the call that leads to it."""
    frame = reader.location(op.location).innermost_file()
    if frame is not None:
        return f"{frame.filename}:{frame.line}"
    if function not in callers:
        return "an unknown location"
    call, outer = callers[function]
    return _user_line(call, outer, {k: v for k, v in callers.items() if k != function}, reader)
