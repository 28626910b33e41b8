"""Function to StableHLO: one trace by jax, lowered for the CPU, in memory.

What enters: a `jax.jit` function and arguments or their types.  What leaves: a StableHLO module whose ops
carry the user's source lines, with large closed-over arrays as leading arguments of `main` (compile time must
not grow with their bytes), and how the caller's leaves map onto the arguments.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pyiree.errors import UnsupportedError
from pyiree.jax_internals import ArrayImpl, JaxTraced, Lowering, lift_constants, lower_for_cpu, refuse_leaked
from pyiree.runtime.vmfb.lazy_dataclass import dataclass

# Larger closed-over arrays become arguments; smaller ones are worth folding.
CONSTANT_LIMIT = 4096


@dataclass(slots=True)
class LoweredFunction:
    """A module and its calling convention.

    `main` takes `constants`, then the leaves numbered `kept`; `donated` are leaves whose buffer is given up.
    `callbacks` are the Python functions that it calls, by number; they live in this process alone. Mutable arrays are
    arguments like others, `closed_refs` the last ones; `written` has for each result the argument that it replaces.
    """

    name: str
    module: Any
    constants: list[np.ndarray]
    kept: tuple[int, ...]
    in_avals: tuple[Any, ...]
    out_avals: tuple[Any, ...]
    donated: tuple[int, ...]
    callbacks: tuple[Any, ...]
    calls_host: bool
    closed_refs: tuple[Any, ...]
    written: tuple[int | None, ...]
    jax_lowered: Any


def lower(traced: JaxTraced, constant_limit: int = CONSTANT_LIMIT) -> LoweredFunction:
    """The StableHLO of a trace; arrays of more than `constant_limit` bytes become arguments."""
    refuse_leaked(traced)
    if traced._num_consts:
        raise UnsupportedError([("mutable array", traced.fun_name)], "pass a jax.Ref as an argument to jax.jit instead")
    lifted, constants = lift_constants(traced, constant_limit)
    lowering: Lowering = lower_for_cpu(lifted)
    count = len(constants)
    used = [n for n in lowering.kept if n < count]
    return LoweredFunction(
        name=traced.fun_name,
        module=lowering.module,
        constants=[_snapshot(constants[n], aval.dtype) for n, aval in zip(used, lowering.in_avals)],
        kept=tuple(n - count for n in lowering.kept if n >= count),
        in_avals=lowering.in_avals[len(used) :],
        out_avals=lowering.out_avals,
        donated=tuple(n - count for n, donated in zip(lowering.kept, lowering.donated) if donated and n >= count),
        callbacks=lowering.callbacks,
        calls_host=lowering.calls_host,
        closed_refs=lowering.closed_refs,
        written=tuple(None if n is None else n - len(used) for n in lowering.written),
        jax_lowered=lowering.lowered,
    )


def _snapshot(constant: Any, dtype: np.dtype) -> np.ndarray:
    """The value that a closed-over array has now, as jax promises: later writes to it don't count."""
    immutable = isinstance(constant, ArrayImpl)
    return np.asarray(constant, dtype, "C") if immutable else np.array(constant, dtype, order="C")
