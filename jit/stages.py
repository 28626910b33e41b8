"""The stages of a jitted function: Traced, Lowered, Compiled, as `jax.stages` has them.

What enters: a function's trace.  What leaves, stage by stage: its jaxpr, its StableHLO and the text of every
phase of the compiler, and a loaded program that can be called, inspected and saved.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import jax
from pyiree.dispatch import Call, call_key, numpy_type
from pyiree.errors import SignatureError
from pyiree.jax_internals import AbstractRef, JaxTraced, bytes_without_locations, module_text
from pyiree.program import Built, Options, build
from pyiree.signature import leaf_type, refuse
from pyiree.special_values import refuse_special_values
from pyiree.trace import LoweredFunction, lower

PHASES = ("stablehlo", "input", "flow", "stream", "hal", "vm", "kernel", "llvm", "asm")


class MemoryStats(NamedTuple):
    """Sizes in bytes: of arguments, results, donated arguments, closed-over arrays and the `.vmfb`."""

    argument_size_in_bytes: int
    output_size_in_bytes: int
    alias_size_in_bytes: int
    constant_size_in_bytes: int
    generated_code_size_in_bytes: int


class Stage:
    """What all stages know: the structure and types of the arguments and results (static ones left out)."""

    _jax_traced: JaxTraced

    @property
    def in_tree(self) -> Any:
        """The tree of `(args, kwargs)`."""
        return self._jax_traced.in_tree

    @property
    def in_avals(self) -> Any:
        """The types of the arguments, as `(args, kwargs)`."""
        return self._jax_traced.in_avals

    @property
    def args_info(self) -> Any:
        """The types of the arguments and which are donated, as `(args, kwargs)`."""
        return self._jax_traced.args_info

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """The numbers of the flattened arguments that are donated."""
        return self._jax_traced.donate_argnums

    @property
    def out_tree(self) -> Any:
        """The tree of the results."""
        return self._jax_traced.out_tree

    @property
    def out_info(self) -> Any:
        """The results, with a `jax.ShapeDtypeStruct` for each array."""
        return jax.tree_util.tree_map(lambda out: jax.ShapeDtypeStruct(out.shape, out.dtype), self._jax_traced.out_info)


class Traced(Stage):
    """A function traced for one signature."""

    def __init__(
        self,
        jax_traced: JaxTraced,
        options: Options,
        seconds: float,
        leaf_names: Callable[[], list[str]],
        find: Callable[[], Compiled | None],
        publish: Callable[[Compiled], None],
    ):
        self._jax_traced = jax_traced
        self._options = options
        self._seconds = seconds
        self._leaf_names = leaf_names
        self._find = find
        self._publish = publish

    @property
    def jaxpr(self) -> Any:
        """jax's own form of the function."""
        return self._jax_traced.jaxpr

    @property
    def fun_name(self) -> str:
        """The name of the function."""
        return self._jax_traced.fun_name

    @property
    def out_avals(self) -> Any:
        """The types of the results."""
        return self._jax_traced.out_avals

    def lower(self) -> Lowered:
        """The function in StableHLO."""
        return Lowered(self)


class Lowered(Stage):
    """A function in StableHLO.

    Closed-over arrays of more than 4 KiB are the leading arguments of `main`, so that neither compile time
    nor the cache depends on their bytes.
    """

    def __init__(self, traced: Traced):
        started = time.perf_counter()
        self._traced = traced
        self._jax_traced = traced._jax_traced
        self._options = traced._options
        self._function: LoweredFunction = lower(traced._jax_traced)
        self._seconds = {"trace": traced._seconds, "lower": time.perf_counter() - started}

    def as_text(
        self,
        phase: str = "stablehlo",
        *,
        dialect: str | None = None,
        debug_info: bool = False,
        large_constants: bool = True,
    ) -> str:
        """The program at one phase: stablehlo, input, flow, stream, hal, vm, kernel, llvm or asm.

        `debug_info` keeps the source lines; without `large_constants` long literals are elided.
        """
        phase = dialect or phase
        if phase not in PHASES:
            raise ValueError(f"there is no phase {phase!r}; the phases are {', '.join(PHASES)}")
        if phase == "stablehlo":
            return module_text(self._function.module, debug_info, large_constants)
        from pyiree.compiler import pipeline

        return pipeline.phase_text(
            self._function.module,
            phase,
            self._options.compile_options(None),
            debug_info=debug_info,
            large_constants=large_constants,
        )

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """The StableHLO module in memory."""
        if dialect not in (None, "stablehlo"):
            raise ValueError(f"only the stablehlo module is kept in memory, not {dialect!r}; use as_text")
        return self._function.module

    def cost_analysis(self) -> dict[str, float]:
        """Estimates of the work by jax: `flops`, `bytes accessed`, `transcendentals`."""
        analysis = self._function.jax_lowered.cost_analysis()
        return dict(analysis[0] if isinstance(analysis, (list, tuple)) else analysis or {})

    def compile(self) -> Compiled:
        """The loaded program; the one of the jitted function where it has this signature already."""
        known = self._traced._find()
        if known is None:
            known = Compiled(self)
            self._traced._publish(known)
        return known


class Compiled(Stage):
    """A loaded program for one signature."""

    def __init__(self, lowered: Lowered):
        from pyiree.runtime import session

        function = lowered._function
        self._lowered = lowered
        self._jax_traced = lowered._jax_traced
        self._built = _build(function, lowered._options, lowered._seconds)
        with lowered._options.explaining_the_cpu():
            self._module = session.load(
                self._built.vmfb, devices=lowered._options.device, providers=_providers(function.callbacks)
            )
        self._main = self._module["main"]
        self._calls: dict[tuple[Any, ...], Call] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, tree = jax.tree_util.tree_flatten((args, kwargs))
        key = call_key(leaves, tree, None)
        call = self._calls.get(key)
        if call is None:
            self._check(tree, leaves)
            call = self._calls[key] = self.call_for(leaves)
        results = call(leaves)
        refuse_special_values(results, self._lowered._function.name)
        return results

    def call_for(self, leaves: list[Any]) -> Call:
        """This program as it is called with leaves of these kinds; they have its signature."""
        function = self._lowered._function
        return Call(
            leaves,
            function.kept,
            function.in_avals,
            function.out_avals,
            function.donated,
            function.constants,
            self._program,
            self.out_tree,
            function.closed_refs,
            function.written,
            function.name,
            self._lowered._traced._leaf_names,
        )

    @cached_property
    def _program(self) -> Any:
        function = self._lowered._function
        constants = [(constant.shape, constant.dtype) for constant in function.constants]
        return self._main.bind(
            constants + [numpy_type(aval) for aval in function.in_avals],
            [numpy_type(aval) for aval in function.out_avals],
        )

    def _check(self, tree: Any, leaves: list[Any]) -> None:
        name = self._lowered._function.name
        if tree != self.in_tree:
            expected, given = _counts_in_words(self.in_tree), _counts_in_words(tree)
            if expected == given:
                expected, given = f"arguments {self.in_tree}", str(tree)
            raise SignatureError(f"{name} was compiled for {expected}, not {given}")
        for number, (aval, leaf) in enumerate(zip(jax.tree_util.tree_leaves(self.in_avals), leaves, strict=True)):
            kind = leaf_type(leaf)
            if isinstance(leaf, jax.core.Tracer):
                raise SignatureError(
                    f"{name} is compiled and can't be transformed by jax any more; use the jitted function"
                )
            is_other = isinstance(kind, AbstractRef) != isinstance(aval, AbstractRef)
            if kind is None or is_other or (kind.shape, kind.dtype) != (aval.shape, aval.dtype):
                where = self._lowered._traced._leaf_names()[number]
                refuse(leaf, where, name)
                given = type(leaf).__name__ if kind is None else _in_words(kind)
                raise SignatureError(f"{name} was compiled for {_in_words(aval)} as {where}, not {given}")

    @property
    def from_cache(self) -> bool:
        """Whether the program came from the cache on disk."""
        return self._built.from_cache

    @property
    def timing(self) -> dict[str, float]:
        """The seconds that each phase took, `trace` and `lower` first."""
        return {**self._lowered._seconds, **self._built.timing}

    @cached_property
    def vmfb(self) -> bytes:
        """The `.vmfb`, complete in itself: closed-over arrays are inside."""
        if not self._lowered._function.constants:
            return self._built.vmfb
        complete = lower(self._jax_traced, constant_limit=2**63)
        return _build(complete, self._lowered._options, {}).vmfb

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the `.vmfb`; `pyiree.load` and `iree-run-module` read it, but for programs that call Python."""
        if self._lowered._function.callbacks:
            warnings.warn(
                f"{path} needs the Python functions of this process that"
                f" {self._lowered._function.name} calls back: nothing else can run it",
                stacklevel=2,
            )
        Path(path).write_bytes(self.vmfb)

    def as_text(self, phase: str = "asm", **options: Any) -> str:
        """The program at one phase, see `Lowered.as_text`."""
        return self._lowered.as_text(phase, **options)

    def cost_analysis(self) -> dict[str, float]:
        """Estimates of the work, see `Lowered.cost_analysis`."""
        return self._lowered.cost_analysis()

    def memory_analysis(self) -> MemoryStats:
        """How large arguments, results and code are."""
        function = self._lowered._function
        by_leaf = dict(zip(function.kept, map(_bytes_of, function.in_avals)))
        return MemoryStats(
            argument_size_in_bytes=sum(by_leaf.values()),
            output_size_in_bytes=sum(map(_bytes_of, function.out_avals)),
            alias_size_in_bytes=sum(by_leaf[n] for n in function.donated),
            constant_size_in_bytes=sum(constant.nbytes for constant in function.constants),
            generated_code_size_in_bytes=len(self._built.vmfb),
        )

    def runtime_executable(self) -> Any:
        """The loaded module of the runtime."""
        return self._module


def _providers(callbacks: tuple[Any, ...]) -> dict[str, Any]:
    """The Python functions that a program calls, as the module that it imports them from."""
    if not callbacks:
        return {}
    from pyiree.callback_errors import raising_as_jax_does
    from pyiree.runtime.modules.callbacks import callback_module
    from pyiree.runtime.vmfb.host_calls import CALLBACK_MODULE

    return {CALLBACK_MODULE: callback_module(map(raising_as_jax_does, callbacks))}


def _build(function: LoweredFunction, options: Options, prior: dict[str, float]) -> Built:
    return build(
        function.module,
        bytes_without_locations(function.module),
        function.name,
        options,
        cacheable=not function.calls_host,
        prior=prior,
    )


def _counts_in_words(tree: Any) -> str:
    """How many arguments a call has, and the names of those that it names."""
    args, kwargs = tree.children()
    count, names = len(args.children()), [f"{name}=" for name in kwargs.node_data()[1]]
    text = f"{count} positional argument{'' if count == 1 else 's'}"
    return f"{text} and {', '.join(names)}" if names else text


def _in_words(aval: Any) -> str:
    return f"{'mutable ' if isinstance(aval, AbstractRef) else ''}{aval.dtype}{list(aval.shape)}"


def _bytes_of(aval: Any) -> int:
    shape, dtype = numpy_type(aval)
    size = dtype.itemsize
    for extent in shape:
        size *= extent
    return size
