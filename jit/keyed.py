"""`KeyedFunction`: a jitted function whose programs a process finds by the user's key, without jax.

What enters: a function, the key that the user gave it, and calls.  What leaves: results.  The first process that
makes a call leaves in the cache how its program is called: which leaves it takes, the types of its arguments and
results, and the structure of the results.  A later process reads that for the same key and types of arguments;
neither is the function traced nor jax imported.

That holds for functions alone: for what a method or another object computes, no key of its class can stand.  And
it holds for NumPy arrays and Python's numbers in tuples, lists and dicts with text keys.  All other calls, and
programs that call back into Python or close over large or mutable arrays, are a `JitFunction`'s.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from pyiree import cache, config
from pyiree.errors import NumberTooLargeError

_PLAIN_KINDS = frozenset("biufc")
_NUMBERS = (bool, int, float, complex)
Structure = Any  # "*" for a leaf, None, or a tuple of "tuple", "list" or a dict's keys, and the parts
Signature = tuple[Structure, tuple[Any, ...], bool]
Run = Callable[[Sequence[Any]], Any]


class KeyedFunction:
    """A function with a `cache_key`; what is no call without jax is left to a `JitFunction`."""

    def __init__(self, function: Callable[..., Any], cache_key: str, jax_options: dict[str, Any], options: Any):
        self._function = function
        self._cache_key = cache_key
        self._jax_options = jax_options
        self._options = options
        self._calls: dict[Signature, Run] = {}
        self._is_function = isinstance(function, types.FunctionType)
        self._name = getattr(function, "__name__", type(function).__name__)
        self._told: set[str] = set()
        functools.update_wrapper(self, function, updated=())

    @functools.cached_property
    def jitted(self) -> Any:
        """The function as `jit` makes it without a key."""
        from pyiree.jitted import JitFunction

        return JitFunction(self._function, self._jax_options, self._options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves: list[Any] = []
        structure = flatten((args, kwargs), leaves)
        leaf_types = _types_of(leaves)
        if leaf_types is None or not self._is_function or _jax_must_see_it():
            self._tell_why_not(leaves)
            return self.jitted(*args, **kwargs)
        signature = (structure, leaf_types, _x64())
        call = self._calls.get(signature)
        if call is None:
            call = self._calls[signature] = self._call_for(signature, args, kwargs, leaves)
        return call(leaves)

    def _call_for(self, signature: Signature, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any]) -> Run:
        watching = config.dump is not None or bool(config.print_after)  # the passes must run to be seen
        disk = None if watching else cache.configured()
        key = self._key(signature)
        found = None if disk is None else disk.calls.get(key)
        if disk is not None and found is not None:
            call = _recorded_call(json.loads(found), disk, self._options.device, self._name)
            if call is not None:
                config.say("cache", f"{self._name}: called as {disk.calls.folder}/{key}.call says, untraced")
                return call
        compiled = self.jitted.lower(*args, **kwargs).compile()
        if disk is not None:
            reason = _why_it_is_traced(compiled)
            if reason is None:
                disk.calls.put(key, json.dumps(_record_of(compiled)).encode())
            else:
                config.say("cache", f"{self._name}: its cache_key has no use, every process must trace it: {reason}")
        return compiled.call_for(leaves)  # type: ignore[no-any-return]

    def _key(self, signature: Signature) -> str:
        """What decides the program, the function aside, for which the user's key stands."""
        source = json.dumps([self._cache_key, signature, _jax_variables(), _jax_version()])
        return cache.program_key(b"cache_key " + source.encode(), self._options.key())

    def _tell_why_not(self, leaves: Sequence[Any]) -> None:
        """Says, once for each reason, that a call is made as without a key."""
        if not self._is_function:
            reason = f"a {type(self._function).__name__} is no plain function"
        else:
            foreign = next((leaf for leaf in leaves if _types_of([leaf]) is None), None)
            reason = "jax traces it or looks for NaNs" if foreign is None else f"it is called with {_in_words(foreign)}"
        self._say_once(reason)

    def _say_once(self, reason: str) -> None:
        if config.logs("cache") and reason not in self._told:
            self._told.add(reason)
            config.say("cache", f"{self._name}: called as without its cache_key, since {reason}")

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        self._say_once("it is a method")
        return self.jitted.__get__(instance, owner)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.jitted, name)

    def __repr__(self) -> str:
        return f"<pyiree.jit of {self._name}, cache_key={self._cache_key!r}>"


# Structures.


def flatten(value: Any, leaves: list[Any]) -> Structure:
    """The structure of plain containers, in the order of jax's; whatever else there is goes to `leaves`."""
    kind = type(value)
    if kind is tuple or kind is list:
        return (kind.__name__, tuple([flatten(part, leaves) for part in value]))
    if kind is dict and all(type(name) is str for name in value):
        names = tuple(sorted(value))
        return (names, tuple([flatten(value[name], leaves) for name in names]))
    if value is None:
        return None
    leaves.append(value)
    return "*"


def unflatten(structure: Structure, leaves: Iterator[Any]) -> Any:
    """The containers again; the structure may have become lists on its way through JSON."""
    if structure == "*":
        return next(leaves)
    if structure is None:
        return None
    kind, parts = structure
    values = [unflatten(part, leaves) for part in parts]
    if kind == "tuple":
        return tuple(values)
    return values if kind == "list" else dict(zip(kind, values))


# Types and jax's configuration.


def _types_of(leaves: Sequence[Any]) -> tuple[Any, ...] | None:
    """The type of each leaf; None if jax must say what one of them is."""
    found: list[Any] = []
    for leaf in leaves:
        kind = type(leaf)
        if kind in _NUMBERS:
            found.append(kind.__name__)
        elif kind is np.ndarray or isinstance(leaf, np.generic):
            dtype = leaf.dtype
            if dtype.kind not in _PLAIN_KINDS or not dtype.isnative:
                return None
            found.append((kind is np.ndarray, dtype.str, leaf.shape))
        else:
            return None
    return tuple(found)


def _in_words(leaf: Any) -> str:
    """What a leaf is that has no type without jax."""
    if type(leaf) is dict:
        return "a dict whose keys are not all text"
    if isinstance(leaf, (np.ndarray, np.generic)):
        return f"{type(leaf).__name__} of {leaf.dtype}"
    return f"{type(leaf).__module__}.{type(leaf).__name__}"


def _jax_must_see_it() -> bool:
    """Whether jax is there and in the middle of a transformation, in which calls are traced, or looks for NaNs."""
    if "jax" not in sys.modules:
        return any(_is_true(os.environ.get(name, "")) for name in ("JAX_DEBUG_NANS", "JAX_DEBUG_INFS"))
    from pyiree.jax_internals import trace_state_clean
    from pyiree.special_values import checks_are_on_somewhere

    return not trace_state_clean() or checks_are_on_somewhere()


def _is_true(text: str) -> bool:
    return text.strip().lower() in ("1", "y", "yes", "t", "true", "on")


def _x64() -> bool:
    """Whether jax has 64-bit types, or would have them."""
    jax = sys.modules.get("jax")
    if jax is not None:
        return bool(jax.config.jax_enable_x64)
    return _is_true(os.environ.get("JAX_ENABLE_X64", ""))


def _jax_variables() -> list[tuple[str, str]]:
    """The variables that configure jax, but for the one whose meaning is a part of the signature."""
    return sorted((n, v) for n, v in os.environ.items() if n.startswith("JAX_") and n != "JAX_ENABLE_X64")


@functools.cache
def _jax_version() -> str:
    from importlib.metadata import version

    return version("jax")


# Records: how a program is called.


def _why_it_is_traced(compiled: Any) -> str | None:
    """What a program has that no record tells a process without jax; None if it has nothing of the kind."""
    function = compiled._lowered._function
    if function.calls_host or function.callbacks:
        return "it calls back into Python"
    if function.closed_refs:
        return "it closes over a mutable array"
    if function.constants:
        largest = max(function.constants, key=lambda constant: constant.nbytes)
        return f"it closes over an array of {largest.nbytes} bytes, more than 4 KiB; pass it as an argument"
    for aval in (*function.in_avals, *function.out_avals):
        if not _is_plain(aval):
            return f"it takes or gives {aval.dtype}, which is no type of NumPy's own"
    if not _structure_of_results(compiled)[1]:
        return "its results are in containers other than tuples, lists and dicts whose keys are text"
    return None


def _record_of(compiled: Any) -> dict[str, Any]:
    """How a program is called that need not be traced."""
    function = compiled._lowered._function
    return {
        "program": compiled._built.key,
        "kept": list(function.kept),
        "arguments": [(aval.shape, aval.dtype.str) for aval in function.in_avals],
        "results": [(aval.shape, aval.dtype.str) for aval in function.out_avals],
        "structure": _structure_of_results(compiled)[0],
    }


def _structure_of_results(compiled: Any) -> tuple[Structure, bool]:
    """The containers of the results, and whether that is all of them: there are classes that jax alone knows."""
    numbers = list(range(compiled.out_tree.num_leaves))
    found: list[Any] = []
    structure = flatten(compiled.out_tree.unflatten(numbers), found)
    return structure, found == numbers


def _is_plain(aval: Any) -> bool:
    return isinstance(aval.dtype, np.dtype) and aval.dtype.kind in _PLAIN_KINDS


def _recorded_call(record: dict[str, Any], disk: cache.DiskCache, device: str, name: str) -> Run | None:
    """The program that a record is of; None where the cache no longer has it."""
    vmfb = disk.get(record["program"])
    if vmfb is None:
        return None
    from pyiree.runtime import session

    specs = [[(tuple(shape), np.dtype(text)) for shape, text in record[name]] for name in ("arguments", "results")]
    program = session.load(vmfb, devices=device)["main"].bind(*specs)
    entry, structure = program.entry, record["structure"]
    taken = [(n, dtype) for n, (_, dtype) in zip(record["kept"], specs[0])]

    def call(leaves: Sequence[Any]) -> Any:
        results = entry([_as_argument(leaves, n, dtype, name) for n, dtype in taken])
        return results[0] if structure == "*" else unflatten(structure, iter(results))

    return call


def _as_argument(leaves: Sequence[Any], n: int, dtype: np.dtype, function: str) -> np.ndarray:
    """An array of the program's type; Python's numbers that do not fit are an error, as with jax."""
    leaf = leaves[n]
    if type(leaf) is np.ndarray and leaf.dtype == dtype:
        return leaf
    try:
        return np.asarray(leaf, dtype)
    except OverflowError:
        raise NumberTooLargeError.of(function, leaf, f"its leaf number {n}", dtype) from None
