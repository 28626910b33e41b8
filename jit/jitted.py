"""`JitFunction`: a Python function that is compiled for each signature it is called with.

What enters: a function and `jax.jit`'s options.  What leaves: a callable that finds the program of a call in
one dict look-up, makes it the first time, and steps aside for `jax.jit` wherever jax is transforming it.
"""

from __future__ import annotations

import functools
import sys
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from pyiree import config
from pyiree.array import Array, from_foreign
from pyiree.compiler.interpreter import for_compilation
from pyiree.dispatch import Call, call_key, plain_key
from pyiree.errors import SignatureError
from pyiree.example import example_arguments
from pyiree.jax_internals import jit_arguments, trace_context, trace_state_clean
from pyiree.native_calls import GUARD, record_of
from pyiree.runtime.calls.caller_table import (
    Record,
    caller_table,
    forget_last,
    last_record,
    native_calls_work,
)
from pyiree.runtime.calls.native_callable import NativeCallable, make_native
from pyiree.runtime.fork import fork_safe_rlock
from pyiree.signature import (
    Arguments,
    ArgumentSplitter,
    Signature,
    explain_miss,
    function_name,
    leaf_type,
    refuse,
    signature_of,
)
from pyiree.special_values import checks_are_on_somewhere, on_change, refuse_special_values
from pyiree.stages import Compiled, Lowered, Traced

_tree_flatten = jax.tree_util.tree_flatten
_MOST_RECORDS = 32  # signatures of one function whose calls are native; they are looked through one by one
_living: weakref.WeakSet[JitFunction] = weakref.WeakSet()


def _referable(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function for jax, which refers to it weakly; where that can't be (`numpy.tanh`), the second try is a crash."""
    try:
        weakref.ref(function)
    except TypeError:
        return functools.partial(function) if callable(function) else function
    return function


class JitFunction(NativeCallable):
    """A function that is compiled on demand; what `jit` gives."""

    def __init__(self, function: Callable[..., Any], jax_options: dict[str, Any], options: Any):
        self._jax_jit = jax.jit(_referable(function), **jax_options)
        self._function = function
        self._jax_options = jax_options
        self._options = options
        self._splitter = ArgumentSplitter(function, jit_arguments(self._jax_jit))
        self._any_static = self._splitter.any_static
        self._calls: dict[tuple[Any, ...], Call] = {}
        self._plain_calls: dict[tuple[Any, ...] | None, Call] = {}  # those of nothing but arrays, a look-up less
        self._compiled: dict[Signature, Compiled] = {}
        self._lock = fork_safe_rlock()
        self._records: list[tuple[Record, Call]] = []
        self._native = _NO_RECORDS
        self._types_of_last_slow_call: Arguments | None = None
        self.trace_count = 0
        functools.update_wrapper(self, function, updated=())
        _living.add(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """A call; the native entry makes it instead once there is a signature that it knows."""
        return self._call_slowly(*args, **kwargs)

    def _call_slowly(self, *args: Any, **kwargs: Any) -> Any:
        if not trace_state_clean():
            return self._inline(args, kwargs)
        context = trace_context()
        plain = None
        if not kwargs and not self._any_static:
            plain = plain_key(args, context)
            call = self._plain_calls.get(plain)
            if call is not None and call.is_native is not None:
                return self._made(call, args)  # no results are to be looked at: such calls are not native
        if self._any_static:
            leaves, tree, statics = self._splitter.split(args, kwargs)
        else:
            leaves, tree = _tree_flatten((args, kwargs))
            statics = ()
        given = list(leaves)
        key = call_key(leaves, tree, context, statics)
        call = self._calls.get(key)
        if call is None:
            if jax.config.jax_disable_jit or any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
                return self._inline(args, kwargs)
            with self._lock, for_compilation():
                call = self._call_for(key, Arguments(leaves, tree, statics))
            if plain is not None:
                self._plain_calls[plain] = call
        elif call.is_native is None and not checks_are_on_somewhere():
            with self._lock:
                self._make_native(call, Arguments(given, tree, statics), context)
        results = self._made(call, leaves)
        if checks_are_on_somewhere():
            again = functools.partial(self._one_by_one, args, kwargs)
            refuse_special_values(results, function_name(self._function), again)
        return results

    def _one_by_one(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """The function as jax runs it without compiling; NumPy's arrays become jax's, so that jax sees every op."""
        args, kwargs = jax.tree_util.tree_map(
            lambda leaf: jax.numpy.asarray(leaf) if isinstance(leaf, (Array, np.ndarray, np.generic)) else leaf,
            (args, kwargs),
        )
        self._function(*args, **kwargs)

    def _made(self, call: Call, leaves: Sequence[Any]) -> Any:
        """A call by Python."""
        self._types_of_last_slow_call = call.types
        forget_last(self._native)
        return call(leaves)

    def _make_native(self, call: Call, arguments: Arguments, context: tuple[Any, ...]) -> None:
        """Leaves further calls like this one, which is the second, to the native entry, where that can make them."""
        if call.is_native is not None:
            return
        record = record_of(call, arguments, context) if native_calls_work(JitFunction) else None
        call.is_native = record is not None
        if record is not None:
            self._records = [(record, call), *self._records[: _MOST_RECORDS - 1]]
            self._native = caller_table(JitFunction._call_slowly, GUARD, [record for record, _ in self._records])
            make_native(self)

    @property
    def _last_types(self) -> Arguments | None:
        """The types of the last call's arguments."""
        number, records = last_record(self._native), self._records  # another thread may be changing both
        return records[number][1].types if 0 <= number < len(records) else self._types_of_last_slow_call

    def _call_for(self, key: tuple[Any, ...], arguments: Arguments) -> Call:
        """The slow path: the program of a call that the table doesn't know."""
        call = self._calls.get(key)  # another thread may have made it meanwhile
        if call is None:
            types = self._types(arguments)
            signature = signature_of(arguments, types, trace_context())
            compiled = self._compiled.get(signature)
            if compiled is None:
                compiled = self._trace(arguments, types, signature).lower().compile()
            call = compiled.call_for(arguments.leaves)
            call.types = arguments._replace(leaves=types)
            self._calls[key] = call
        return call

    def _inline(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Under one of jax's transformations: what `jax.jit` of the function does."""
        args, kwargs = _without_device_arrays(args, kwargs)
        return self._jax_jit(*args, **kwargs)

    def _types(self, arguments: Arguments) -> list[Any]:
        """The type of each leaf; other libraries' arrays count as NumPy's, and jax says what can't be one."""
        types = []
        for n, leaf in enumerate(arguments.leaves):
            kind = leaf_type(leaf)
            if kind is None:
                refuse(leaf, self._splitter.leaf_names(arguments)[n], function_name(self._function))
            if kind is None and (array := from_foreign(leaf)) is not None:
                kind = leaf_type(array)
            if kind is None:
                args, kwargs = self._splitter.join(arguments, arguments.leaves)
                self._jax_jit.trace(*args, **kwargs)
                name = function_name(self._function)
                raise SignatureError(f"{name} can't be called with a {type(leaf).__name__}")
            types.append(kind)
        return types

    def _trace(self, arguments: Arguments, types: list[Any], signature: Signature | None = None) -> Traced:
        started = time.perf_counter()
        args, kwargs = self._splitter.join(arguments, types)
        try:
            jax_traced = self._jax_jit.trace(*args, **kwargs)
        except jax.errors.TracerArrayConversionError as error:
            error.add_note("pyiree: take jax.numpy's function in place of NumPy's, or call that by jax.pure_callback")
            raise
        if signature is None:
            signature = signature_of(arguments, types, trace_context())
        if signature not in self._compiled:
            self.trace_count += 1
            if config.logs("misses"):
                reason = explain_miss(signature, tuple(self._compiled), self._splitter.leaf_names(arguments))
                config.say("misses", f"{function_name(self._function)}: {reason}")
        return Traced(
            jax_traced,
            self._options,
            time.perf_counter() - started,
            functools.partial(self._splitter.leaf_names, arguments),
            functools.partial(self._compiled.get, signature),
            functools.partial(self._compiled.__setitem__, signature),
        )

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Traces the function for these arguments, or for their types given as `jax.ShapeDtypeStruct`."""
        arguments = self._splitter.split(args, kwargs)
        return self._trace(arguments, self._types(arguments))

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Lowers the function for these arguments.

        Without arguments: for those of the last call, or for the types that the function's annotations and
        defaults give.
        """
        if args or kwargs:
            return self.trace(*args, **kwargs).lower()
        types = self._last_types
        if types is not None:
            return self._trace(types, types.leaves).lower()
        args, kwargs = example_arguments(self._function, self._splitter)
        return self.trace(*args, **kwargs).lower()

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """The types of the results, without compiling."""
        return self.trace(*args, **kwargs).out_info

    def _leave_native(self) -> None:
        """Every call is Python's until it has been made twice again."""
        with self._lock:
            for call in (*self._calls.values(), *self._plain_calls.values()):
                call.is_native = None
            self._records = []
            self._native = _NO_RECORDS

    def clear_cache(self) -> None:
        """Forgets the traces and programs in memory; those on disk stay."""
        with self._lock:
            self._calls.clear()
            self._plain_calls.clear()
            self._compiled.clear()
            self._records = []
            self._native = _NO_RECORDS
            self._types_of_last_slow_call = None
            self._jax_jit.clear_cache()

    def _cache_size(self) -> int:
        """How many programs are in memory."""
        return len(self._compiled)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else BoundJitFunction(self, instance)

    def __reduce__(self) -> Any:
        """A decorated function is pickled by its name, as functions are; others with the function inside."""
        found: Any = sys.modules.get(self.__module__)
        for part in self.__qualname__.split("."):
            found = getattr(found, part, None)
        if found is self:
            return self.__qualname__
        return JitFunction, (self._function, self._jax_options, self._options)

    def __repr__(self) -> str:
        return f"<pyiree.jit of {function_name(self._function)}>"


def _without_device_arrays(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The arguments with NumPy arrays in the place of our own."""
    return jax.tree_util.tree_map(lambda leaf: np.asarray(leaf) if isinstance(leaf, Array) else leaf, (args, kwargs))


def _leave_all_native() -> None:
    for function in list(_living):
        function._leave_native()


on_change(_leave_all_native)
_NO_RECORDS = caller_table(JitFunction._call_slowly, GUARD, [])


class BoundJitFunction:  # a jitted method of one object, which is the first argument of each call and stage
    __doc__ = property(lambda self: self.__func__.__doc__)  # type: ignore[assignment]

    def __init__(self, jitted: JitFunction, instance: Any):
        self.__func__ = self.__wrapped__ = jitted  # the other names of the function come by `__getattr__`
        self.__self__ = instance
        self.__module__ = jitted.__module__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__func__(self.__self__, *args, **kwargs)

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """See `JitFunction.trace`."""
        return self.__func__.trace(self.__self__, *args, **kwargs)

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """See `JitFunction.lower`."""
        if args or kwargs:
            return self.__func__.lower(self.__self__, *args, **kwargs)
        return self.__func__.lower()

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """See `JitFunction.eval_shape`."""
        return self.__func__.eval_shape(self.__self__, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__func__, name)


def clear_caches() -> None:
    """Forgets the traces, programs and kernels of all jitted functions in memory; those on disk stay."""
    from pyiree.compiler.codegen.llvm.objects import forget_objects

    for function in list(_living):
        function.clear_cache()
    forget_objects()
