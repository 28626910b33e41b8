"""From a call's leaves to its program: one dict look-up, the program, and results of the caller's kind.

What enters: the flattened arguments of a call.  What leaves: its results.  `call_key` names everything about
the leaves that decides how they are handed over; a table maps it to a `Call`, which was built the first time
by the slow path.  `native_calls` hands calls that come again over to the runtime's native entry.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from pyiree.array import Array, from_foreign, numpy_reader, refuse_deleted
from pyiree.errors import NumberTooLargeError
from pyiree.jax_internals import (
    JAX_KINDS,
    ArrayImpl,
    PRNGKeyArray,
    Ref,
    float0,
    key_data,
    key_kind,
    key_type,
    put_on_device,
    shaped_array,
    wrap_key,
)
from pyiree.mutable_arrays import MutableArrays

_ndarray = np.ndarray


def call_key(leaves: list[Any], tree: Any, context: Any, statics: Any = ()) -> tuple[Any, ...]:
    """The key of a call; arrays of other libraries are replaced in `leaves` by views of them."""
    key = [tree, context, statics]
    add = key.append
    for n, leaf in enumerate(leaves):
        kind = type(leaf)
        if kind is _ndarray:
            add(leaf.shape)
            add(leaf.dtype)
        elif kind is ArrayImpl or kind is Ref:
            add(leaf.aval)
        elif kind is PRNGKeyArray:  # its own type is made each time that one asks for it
            add(key_kind(leaf))
            add(key_data(leaf).aval)
        elif kind in _SCALARS:
            add(kind)
        elif kind is Array:
            add(kind)
            add(leaf.shape)
            add(leaf.dtype)
        elif isinstance(leaf, np.generic):
            add(kind)
            add(leaf.dtype)
        else:
            array = from_foreign(leaf)
            if array is None:
                add(kind)
                add(getattr(leaf, "dtype", None))  # jax has numbers with one
            else:
                leaves[n] = array
                add(array.aval if type(array) is ArrayImpl else (array.shape, array.dtype))
    return tuple(key)


_SCALARS = frozenset((bool, int, float, complex))


def plain_key(args: tuple[Any, ...], context: Any) -> tuple[Any, ...] | None:
    """The key of a call with nothing but NumPy or device arrays, which needs no flattening; None for other calls."""
    key = [context]
    add = key.append
    for arg in args:
        kind = type(arg)
        if kind is not _ndarray:
            if kind is not Array:
                return None
            add(kind)
        add(arg.shape)
        add(arg.dtype)
    return tuple(key)


def numpy_type(aval: Any) -> tuple[tuple[int, ...], np.dtype]:
    """The shape and dtype that a value of this type has in the program; keys are their integers."""
    if isinstance(aval.dtype, np.dtype):
        return tuple(aval.shape), np.dtype("bool") if aval.dtype == float0 else aval.dtype
    key_shape, dtype = key_type(aval.dtype)
    return (*aval.shape, *key_shape), dtype


class Call:
    """One program, as called with leaves of certain kinds. `program` takes and gives NumPy arrays."""

    __slots__ = (
        "_inputs",
        "_is_direct",
        "_leaf_names",
        "_mutable",
        "_name",
        "_run",
        "_unflatten",
        "_wrap",
        "constants",
        "donated",
        "in_avals",
        "is_native",
        "kept",
        "out_avals",
        "out_tree",
        "program",
        "types",
    )

    def __init__(
        self,
        leaves: Sequence[Any],
        kept: Sequence[int],
        in_avals: Sequence[Any],
        out_avals: Sequence[Any],
        donated: Sequence[int],
        constants: list[Any],
        program: Any,
        out_tree: Any,
        closed_refs: Sequence[Ref],
        written: Sequence[int | None],
        name: str,
        leaf_names: Callable[[], list[str]],
    ):
        kinds = {type(leaf) for leaf in leaves}
        on_device = Array in kinds and not kinds & JAX_KINDS
        self._inputs = [(n, numpy_reader(leaves[n], numpy_type(aval)[1])) for n, aval in zip(kept, in_avals)]
        self.kept, self.in_avals, self.out_avals = kept, in_avals, out_avals
        self.constants, self.program, self.out_tree = constants, program, out_tree
        self.types: Any = None  # the arguments with each leaf as its type, for `lower()` after the call
        self.is_native: bool | None = None  # whether the native entry takes such calls; None: not tried yet
        self._name, self._leaf_names = name, leaf_names
        self._unflatten = out_tree.unflatten
        self.donated = [n for n in donated if isinstance(leaves[n], (ArrayImpl, PRNGKeyArray, Array))]
        self._run = program.entry
        if on_device:
            self._wrap = _device_wrappers(out_avals)
        else:
            self._wrap = _host_wrappers(out_avals, as_jax=bool(kinds & JAX_KINDS))
        self._mutable: MutableArrays | None = None
        if any(number is not None for number in written):
            dtypes = [numpy_type(aval)[1] for aval in in_avals]
            self._mutable = MutableArrays(leaves, kept, closed_refs, dtypes, written)
            as_own = self._wrap or [None] * len(written)
            as_jax = [_host_wrapper(aval, as_jax=True) for aval in out_avals]
            self._wrap = [own if number is None else jax for own, jax, number in zip(as_own, as_jax, written)]
        # The program itself looks at layouts, so that NumPy arrays of its own dtypes go to it as they are.
        self._is_direct = (
            self._wrap is None
            and not constants
            and list(kept) == list(range(len(leaves)))
            and all(type(leaf) is _ndarray and leaf.dtype == aval.dtype for leaf, aval in zip(leaves, in_avals))
        )

    def __call__(self, leaves: Sequence[Any]) -> Any:
        if self._is_direct:
            return self._unflatten(self._run(leaves))
        try:
            arrays = [read(leaves[n]) for n, read in self._inputs]
        except OverflowError:
            place = next(k for k, (n, read) in enumerate(self._inputs) if _overflows(read, leaves[n]))
            raise self._too_large(place, leaves) from None
        if self.constants:
            arrays = self.constants + arrays
        if self._mutable is not None:
            arrays = arrays + self._mutable.closed_values(leaves)
        results = self._run(arrays)
        for n in self.donated:
            leaves[n].delete()
        if self._wrap is not None:
            results = [value if wrap is None else wrap(value) for value, wrap in zip(results, self._wrap)]
        if self._mutable is not None:
            results = self._mutable.write(leaves, results)
        return self._unflatten(results)

    def _too_large(self, place: int, leaves: Sequence[Any]) -> NumberTooLargeError:
        """The error for a number of Python's that does not fit the program's argument in this place."""
        n, dtype = self.kept[place], numpy_type(self.in_avals[place])[1]
        return NumberTooLargeError.of(self._name, leaves[n], self._leaf_names()[n], dtype)

    @property
    def writes_arguments(self) -> bool:
        """Whether there are mutable arrays among the arguments or closed over."""
        return self._mutable is not None


def _overflows(read: Callable[[Any], np.ndarray], leaf: Any) -> bool:
    try:
        read(leaf)
    except OverflowError:
        return True
    return False


def _host_wrappers(out_avals: Sequence[Any], as_jax: bool) -> list[Callable[[Any], Any] | None] | None:
    """What turns each NumPy result into the caller's kind; None where nothing has to be done."""
    wrappers = [_host_wrapper(aval, as_jax) for aval in out_avals]
    return wrappers if any(wrappers) else None


def _host_wrapper(aval: Any, as_jax: bool) -> Callable[[Any], Any] | None:
    if aval.dtype == float0:
        return lambda array: np.zeros(aval.shape, float0)
    if not isinstance(aval.dtype, np.dtype):
        data = shaped_array(*numpy_type(aval))
        return lambda array: wrap_key(put_on_device(array, data), aval.dtype)
    if as_jax:
        plain = shaped_array(aval.shape, aval.dtype, aval.weak_type)
        return lambda array: put_on_device(array, plain)
    return None


def _device_wrappers(out_avals: Sequence[Any]) -> list[Callable[[Any], Any] | None] | None:
    """Keys and float0 have no device array: they come back as jax and NumPy hold them."""
    return [_host_wrapper(aval, as_jax=False) or Array.of_result for aval in out_avals] or None


def of_callers_kind(function: Any) -> Callable[..., Any]:
    """A function of device arrays as one that takes any kind of array and gives the kind it was given."""

    def call(*args: Any) -> Any:
        kinds = {type(arg) for arg in args}
        as_jax = bool(kinds & JAX_KINDS)
        if Array in kinds and not as_jax:
            return function(*args)
        results = function.call_numpy([leaf if isinstance(leaf, np.ndarray) else _to_numpy(leaf) for leaf in args])
        if as_jax:
            results = [put_on_device(array, shaped_array(array.shape, array.dtype)) for array in results]
        return results[0] if len(results) == 1 else tuple(results)

    return call


def _to_numpy(leaf: Any) -> np.ndarray:
    if type(leaf) is ArrayImpl and leaf.is_deleted():
        refuse_deleted(leaf)
    if isinstance(leaf, PRNGKeyArray):
        leaf = key_data(leaf)
    array = from_foreign(leaf)
    return np.asarray(leaf) if array is None else array
