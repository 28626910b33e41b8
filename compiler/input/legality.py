"""What the compiler takes, and the error that names all it doesn't.

Enters: the functions of a module in which an op was found that has no conversion. Leaves: one error that lists
every such op of the program with the line of the user's code it comes from, and says what to do.
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.errors import UnsupportedError
from pyiree.compiler.input.calls import ANNOTATIONS
from pyiree.compiler.input.converter import CONVERSIONS, EXPANDED_CHLO, TERMINATORS
from pyiree.compiler.input.import_mlir import SourceReader
from pyiree.compiler.input.scalars import SCALAR_LOWERINGS

#: What to do about ops that have no conversion.
ADVICE = {
    "stablehlo.custom_call": "call it outside of the compiled function",
    "stablehlo.fft": "transform outside of the compiled function",
    "stablehlo.rng_bit_generator": "use JAX's default threefry keys (jax.random.key(seed))",
    "stablehlo.rng": "use jax.random",
    "stablehlo.cholesky": "factorize outside of the compiled function",
    "stablehlo.triangular_solve": "solve outside of the compiled function",
    "stablehlo.dynamic_reshape": "give the function concrete shapes",
    "stablehlo.dynamic_broadcast_in_dim": "give the function concrete shapes",
    "stablehlo.dynamic_iota": "give the function concrete shapes",
    "stablehlo.real_dynamic_slice": "give the function concrete shapes",
    "stablehlo.dynamic_pad": "give the function concrete shapes",
    "stablehlo.dynamic_gather": "give the function concrete shapes",
    "stablehlo.dynamic_conv": "give the function concrete shapes",
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
        return None if target in ANNOTATIONS else f"{name} @{target}"
    return None if _is_supported(name) else name


def _is_supported(name: str) -> bool:
    if name in CONVERSIONS or name in SCALAR_LOWERINGS or name in TERMINATORS:
        return True
    dialect, _, short = name.partition(".")
    return dialect == "chlo" and short in EXPANDED_CHLO


def explain_unsupported(
    first: UnsupportedError, functions: dict[str, Any], reader: SourceReader
) -> UnsupportedError:
    """The error about all unsupported ops: those without a conversion, and the one that was just met."""
    named = ((unsupported_name(op), user_line(op, reader)) for op in _walk(functions))
    found = dict.fromkeys((name, place) for name, place in named if name is not None)
    for name, place in first.ops:
        found.setdefault((name.strip(), place))
    listed = list(found)
    advice = next((ADVICE[n] for n in [name.partition(" ")[0] for name, _ in listed] if n in ADVICE), DEFAULT_ADVICE)
    return UnsupportedError(listed, advice)


def _walk(functions: dict[str, Any]) -> Any:
    pending = [region for function in functions.values() for region in function.regions]
    while pending:
        region = pending.pop(0)
        for block in region.blocks:
            for view in block.operations:
                op = view.operation
                yield op
                pending.extend(op.regions)


def user_line(op: Any, reader: SourceReader) -> str:
    """`file:line` of the user's code that an op comes from."""
    frame = reader.location(op.location).innermost_file()
    return "an unknown location" if frame is None else f"{frame.filename}:{frame.line}"
