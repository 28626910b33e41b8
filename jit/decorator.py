"""`jit`: the options by which a function is compiled.

What enters: a function and `jax.jit`'s options.  What leaves: a `JitFunction`; or, with a `cache_key`, a
`KeyedFunction`, for which jax is not imported before it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pyiree.errors import ConfigError
from pyiree.program import DEFAULT_DEVICE, options_for


def jit(
    fun: Callable[..., Any] | None = None,
    /,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    inline: bool = False,
    device: Any = None,
    backend: str | None = None,
    target_cpu: str | None = None,
    compiler_options: Mapping[str, Any] | None = None,
    cache_key: str | None = None,
    **shardings: Any,
) -> Any:
    """Compiles a function of arrays, anew for each combination of shapes, dtypes and static values.

    It takes the arguments of `jax.jit` and means the same by them, and can be used bare, with options, or on
    methods and transformed functions alike::

        @pyiree.jit
        def f(x, y): return jnp.tanh(x @ y)

        @pyiree.jit(static_argnames="n")
        def g(x, n): return x * n

    Arrays come back as the kind that was passed: NumPy arrays for NumPy arrays, `jax.Array`s for
    `jax.Array`s, `pyiree.Array`s for `pyiree.Array`s.  `device` is one of pyiree's ("local-task",
    "local-sync") or a CPU device of jax; `target_cpu` is the CPU to compile for; `compiler_options` are
    fields of the compiler's options.  `in_shardings` and `out_shardings` may name a single device.

    `cache_key` names what the function computes: programs are found on disk by it and by the types of the
    arguments, and neither traced nor looked at by jax.  Who gives one changes it whenever the function, what
    it closes over, or jax's configuration changes (`jax_enable_x64` and variables JAX_… aside).  Methods and other
    objects that are no plain functions are compiled as without a key.
    """
    unknown = set(shardings) - {"in_shardings", "out_shardings"}
    if unknown:
        raise TypeError(f"jit() got an unexpected keyword argument {sorted(unknown)[0]!r}")
    options = options_for(_device_name(device, backend), target_cpu, compiler_options)
    jax_options = dict(
        static_argnums=static_argnums,
        static_argnames=static_argnames,
        donate_argnums=donate_argnums,
        donate_argnames=donate_argnames,
        keep_unused=keep_unused,
        inline=inline,
        **shardings,
    )

    if cache_key is not None:
        _check_key(cache_key, jax_options)

    def decorate(function: Callable[..., Any]) -> Any:
        if cache_key is not None:
            from pyiree.keyed import KeyedFunction

            return KeyedFunction(function, cache_key, jax_options, options)
        from pyiree.jitted import JitFunction

        return JitFunction(function, jax_options, options)

    return decorate if fun is None else decorate(fun)


def _device_name(device: Any, backend: str | None) -> str:
    if device is not None and backend is not None:
        raise ValueError("give jit a device or a backend, not both")
    chosen = backend if device is None else device
    if chosen is None or chosen in ("cpu", "llvm-cpu"):
        return DEFAULT_DEVICE
    if isinstance(chosen, str):
        return chosen
    if getattr(chosen, "platform", None) == "cpu":
        return DEFAULT_DEVICE
    raise ConfigError(f"pyiree compiles for the CPU and can't use the device {chosen}")


def _check_key(cache_key: Any, jax_options: Mapping[str, Any]) -> None:
    if not isinstance(cache_key, str) or not cache_key:
        raise TypeError(f"cache_key is a text that names what the function computes, not {cache_key!r}")
    for name in ("static_argnums", "static_argnames"):
        if jax_options[name] not in (None, (), []):
            raise TypeError(f"jit() takes no {name} with a cache_key: make the values a part of the key instead")
