"""Every name of jax that isn't public, in one place, with what we rely on it for.

What enters: jax 0.10.2.  What leaves: functions and types with stable names for the rest of the front end.
A new jax that moves one of them fails in this file (and in tests/jit/test_jax_internals.py), nowhere else.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import inspect
import io
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jax._src import config as _jax_config
from jax._src import core as _core
from jax._src import pjit as _pjit
from jax._src import source_info_util as _source_info_util
from jax._src.array import ArrayImpl
from jax._src.core import Ref
from jax._src.dtypes import ExtendedDType
from jax._src.interpreters import mlir as _mlir
from jax._src.lib import xla_client as _xla_client
from jax._src.literals import TypedNdArray as _TypedNdArray
from jax._src.literals import typed_scalar_types as _typed_scalar_types
from jax._src.random.prng import PRNGKeyArray
from jax._src.sharding_impls import UNSPECIFIED as _UNSPECIFIED
from jax._src.stages import Traced as JaxTraced
from jax._src.state.types import AbstractRef
from jaxlib.mlir import passmanager as _passmanager
from pyiree.errors import UnsupportedError

__all__ = [
    "JAX_KINDS",
    "AbstractRef",
    "ArrayImpl",
    "ExtendedDType",
    "JaxTraced",
    "Lowering",
    "PRNGKeyArray",
    "Ref",
    "array_methods",
    "bytes_without_locations",
    "called_back",
    "device_layout",
    "float0",
    "jit_arguments",
    "key_data",
    "key_kind",
    "key_type",
    "lift_constants",
    "lower_for_cpu",
    "module_text",
    "put_on_device",
    "ref_type",
    "ref_value",
    "set_ref_value",
    "shaped_array",
    "top_trace",
    "trace_context",
    "trace_getter",
    "trace_state",
    "trace_state_clean",
    "watch_special_checks",
    "wrap_key",
]

# An op's source line is the user's, never ours.
_source_info_util.register_exclusion(os.path.dirname(__file__))

shaped_array = _core.ShapedArray

#: The classes of jax's own values: where an argument is one, results are jax's too. The typed ones are literals that
#: jax's functions make of numbers.
JAX_KINDS = frozenset({ArrayImpl, PRNGKeyArray, Ref, _TypedNdArray, *_typed_scalar_types})
float0 = jax.dtypes.float0

# True outside of every jax transformation: then arguments are values and a compiled program may run.
trace_state_clean = _core.trace_state_clean

# Everything in jax's configuration that changes a trace (x64, matmul precision, dtype promotion, meshes).
trace_context = _jax_config.trace_context


def _renew_thread_pool() -> None:
    """In a forked child, the threads with which MLIR verifies modules are gone: waiting for them has no end."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_mlir.global_thread_pool))  # destroying it would wait too
    _mlir.global_thread_pool = _mlir.ir.ThreadPool()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_thread_pool)


# The same two questions in parts, for the native entry: it asks for the current trace, and compares the items of the
# context, among them the named axes, with those of an earlier call.
trace_getter = type(_core.trace_state_strong_ref).value.fget
trace_state, top_trace = _core.trace_state_strong_ref, _core.eval_trace


def watch_special_checks(changed: Callable[[Any], None]) -> None:
    """Has `changed` called with the new value of `jax_debug_nans` or `jax_debug_infs`, for all threads or one. They are
    no part of the trace context, as they change no trace."""
    for option in (_jax_config.debug_nans, _jax_config.debug_infs):
        hooks = option._update_global_hook, option._update_thread_local_hook

        def both(value: Any, hook: Callable[[Any], None] | None) -> None:
            if hook is not None:
                hook(value)
            changed(value)

        option._add_hooks(*(functools.partial(both, hook=hook) for hook in hooks))


class JitArguments(NamedTuple):
    """The static and donated arguments of a `jax.jit`, resolved against the function's signature."""

    static_argnums: tuple[int, ...]
    static_argnames: tuple[str, ...]
    donate_argnums: tuple[int, ...]
    donate_argnames: tuple[str, ...]


def jit_arguments(jitted: Any) -> JitArguments:
    """Which arguments of the jitted function are static or donated, by number and by name."""
    info = jitted._jit_info
    return JitArguments(info.static_argnums, info.static_argnames, info.donate_argnums, info.donate_argnames)


class Lowering(NamedTuple):
    """A lowered function: its module and how the caller's leaves map onto the arguments of `main`.

    `closed_refs` are mutable arrays that the function closes over, the last arguments; `written` says of each result
    which argument, a mutable array, has it as its new value, None for the function's own results.
    """

    module: Any
    lowered: Any
    kept: tuple[int, ...]
    in_avals: tuple[Any, ...]
    out_avals: tuple[Any, ...]
    donated: tuple[bool, ...]
    callbacks: tuple[Any, ...]
    calls_host: bool
    closed_refs: tuple[Ref, ...]
    written: tuple[int | None, ...]


def refuse_leaked(traced: JaxTraced) -> None:
    """jax's error for a value of an earlier trace that a function closes over."""
    for constant in traced._consts:
        if isinstance(constant, _core.Tracer):
            raise _core.escaped_tracer_error(constant)


def lower_for_cpu(traced: JaxTraced) -> Lowering:
    """Lowers to a StableHLO module in memory, for the CPU whatever jax's default device is."""
    lowered = traced.lower(lowering_platforms=("cpu",))
    lowering = lowered._lowering
    arguments = lowering.compile_args
    if arguments["num_devices"] > 1:
        raise UnsupportedError([("sharding over several devices", traced.fun_name)], "pyiree runs on one device")
    module = lowering.stablehlo()
    mutable = arguments["mut"]
    [main] = [
        op for op in module.body.operations if getattr(op, "sym_name", None) is not None and op.sym_name.value == "main"
    ]
    shapes = arguments["shape_poly_state"]
    if shapes is not None and shapes.uses_dim_vars:
        # A function that was exported for shapes of any size is called: its shapes are those of this call.
        refined = _mlir.refine_polymorphic_shapes(module)
    else:
        refined = module
    return Lowering(
        module=refined,
        lowered=lowered,
        kept=tuple(sorted(arguments["kept_var_idx"])),
        in_avals=tuple(arguments["global_in_avals"]),
        out_avals=tuple(arguments["global_out_avals"]),
        donated=tuple(
            "tf.aliasing_output" in attributes or "jax.buffer_donor" in attributes for attributes in main.arg_attrs
        ),
        callbacks=tuple(arguments["host_callbacks"]),
        calls_host=bool(
            arguments["host_callbacks"]
            or arguments["keepalive"]
            or arguments["ordered_effects"]
            or arguments["unordered_effects"]
        ),
        closed_refs=tuple(mutable.in_mut) if mutable else (),
        written=tuple(mutable.out_mut) if mutable else (None,) * len(arguments["global_out_avals"]),
    )


def called_back(function: Any) -> Any:
    """The user's function in what jax makes of it for a callback; None if it is not found."""
    pending, seen = [function], set()
    while pending:
        found = pending.pop()
        if hasattr(found, "callback_func"):
            return inspect.unwrap(found.callback_func)
        if id(found) in seen or not inspect.isfunction(found):
            continue
        seen.add(id(found))
        for cell in found.__closure__ or ():
            with contextlib.suppress(ValueError):  # a variable without a value yet
                pending.append(cell.cell_contents)
    return None


def lift_constants(traced: JaxTraced, limit: int) -> tuple[JaxTraced, list[Any]]:
    """The trace with closed-over arrays of more than `limit` bytes as leading arguments, and those arrays.

    Functions jitted inside the traced one are looked into as well.  Without this, each constant would be
    copied, hashed and written out as part of the module.
    """
    closed = traced._params["jaxpr"]
    if closed.jaxpr.effects:  # effects may name arguments by number
        return traced, []
    closed, constants = _lift(closed, limit, {})
    if not constants:
        return traced, []
    lifted = JaxTraced(
        [_pjit.convert_to_metaty(constant) for constant in constants] + list(traced._meta_tys_flat),
        {**_with_leading(traced._params, len(constants)), "jaxpr": closed},
        traced._in_tree,
        traced.out_tree,
        [*constants, *traced._consts],
    )
    return lifted, constants


def _lift(closed: Any, limit: int, seen: dict[int, tuple[Any, list[Any]]]) -> tuple[Any, list[Any]]:
    known = seen.get(id(closed))
    if known is not None:
        return known
    jaxpr = closed.jaxpr
    lifted: dict[int, tuple[Any, Any]] = {}  # id of the array -> its variable, the array
    kept = []
    renamed = {}
    for var, constant in zip(jaxpr.constvars, closed.consts):
        is_array = isinstance(getattr(constant, "dtype", None), np.dtype) and not isinstance(constant, _core.Ref)
        if not is_array or constant.nbytes <= limit:
            kept.append((var, constant))
        else:
            renamed[var] = lifted.setdefault(id(constant), (var, constant))[0]
    equations = []
    for equation in jaxpr.eqns:
        if equation.primitive is _pjit.jit_p:
            inner, constants = _lift(equation.params["jaxpr"], limit, seen)
            if constants:
                leading = [lifted.setdefault(id(c), (_core.Var(_core.shaped_abstractify(c)), c))[0] for c in constants]
                equation = equation.replace(
                    invars=[*leading, *equation.invars],
                    params={**_with_leading(equation.params, len(leading)), "jaxpr": inner},
                )
        if renamed:
            equation = equation.replace(
                invars=[v if isinstance(v, _core.Literal) else renamed.get(v, v) for v in equation.invars]
            )
        equations.append(equation)
    result = closed, []
    if lifted:
        debug = jaxpr.debug_info
        if debug.arg_names is not None:
            debug = debug._replace(arg_names=("constant",) * len(lifted) + tuple(debug.arg_names))
        variables = [var for var, _ in lifted.values()]
        lifted_jaxpr = jaxpr.replace(
            constvars=[var for var, _ in kept],
            invars=[*variables, *jaxpr.invars],
            outvars=[v if isinstance(v, _core.Literal) else renamed.get(v, v) for v in jaxpr.outvars],
            eqns=equations,
            debug_info=debug,
        )
        constants = [constant for _, constant in lifted.values()]
        result = _core.ClosedJaxpr(lifted_jaxpr, [constant for _, constant in kept]), constants
    seen[id(closed)] = result
    return result


def _with_leading(params: dict[str, Any], count: int) -> dict[str, Any]:
    """The parameters of a jit equation that has `count` more plain arguments before the others."""
    return {
        **params,
        "in_shardings": (_UNSPECIFIED,) * count + tuple(params["in_shardings"]),
        "in_layouts": (None,) * count + tuple(params["in_layouts"]),
        "donated_invars": (False,) * count + tuple(params["donated_invars"]),
    }


def device_layout(array: ArrayImpl) -> Any:
    """The memory layout of an array on its device, an object to compare with that of another array."""
    return array._pjrt_layout


def array_methods() -> dict[str, Any]:
    """What `jax.Array`s are asked for their memory, as functions of one; see `caller_table.Library`."""
    sharding, devices = _cpu_placement()
    return {
        "pointer": ArrayImpl.unsafe_buffer_pointer,
        "kind": ArrayImpl.aval.fget,
        "layout": ArrayImpl._pjrt_layout.fget,
        "place": ArrayImpl._sharding.fget,
        "place_type": jax.sharding.SingleDeviceSharding,
        "ready": ArrayImpl.is_ready,
        "wait": ArrayImpl.block_until_ready,
        "put": _xla_client.batched_device_put,
        "target": sharding,
        "devices": devices,
    }


def put_on_device(array: np.ndarray, aval: Any) -> ArrayImpl:
    """A `jax.Array` of type `aval` on the CPU; shares the memory if that starts at a multiple of 64 bytes."""
    sharding, devices = _cpu_placement()
    return _xla_client.batched_device_put(aval, sharding, [array], devices)


@functools.cache
def _cpu_placement() -> tuple[Any, list[Any]]:
    device = jax.local_devices(backend="cpu")[0]
    return jax.sharding.SingleDeviceSharding(device), [device]


def key_data(keys: PRNGKeyArray) -> ArrayImpl:
    """The integers behind an array of PRNG keys."""
    return keys._base_array


def key_kind(keys: PRNGKeyArray) -> Any:
    """By which algorithm an array of PRNG keys is used."""
    return keys._impl


def key_type(dtype: Any) -> tuple[tuple[int, ...], np.dtype]:
    """What one PRNG key of this dtype is made of: the shape and dtype of its integers."""
    return tuple(dtype._impl.key_shape), np.dtype("uint32")


def ref_type(ref: Ref) -> AbstractRef:
    """The type of a mutable array, a new object for each: jax takes two that are the same for one array."""
    aval = ref.aval
    return AbstractRef(aval.inner_aval, aval.memory_space, aval.kind)


def ref_value(ref: Ref) -> Any:
    """The `jax.Array` that a mutable array holds now."""
    return ref._refs._buf


def set_ref_value(ref: Ref, value: Any) -> None:
    """Makes `value` what the mutable array holds."""
    ref._refs._buf._replace_with(value)


def wrap_key(data: ArrayImpl, dtype: Any) -> PRNGKeyArray:
    """An array of PRNG keys over these integers."""
    return PRNGKeyArray(dtype._impl, data)


def bytes_without_locations(module: Any) -> bytes:
    """The module as MLIR bytecode, equal for equal programs wherever their source lines are."""
    with module.context:
        bare = module.operation.clone()
        _passmanager.PassManager.parse("builtin.module(strip-debuginfo)").run(bare)
        buffer = io.BytesIO()
        bare.write_bytecode(buffer)
    return buffer.getvalue()


def module_text(module: Any, debug_info: bool, large_constants: bool) -> str:
    """The module as text; `debug_info` adds locations, without `large_constants` long literals are elided."""
    return module.operation.get_asm(enable_debug_info=debug_info, large_elements_limit=None if large_constants else 16)
