"""What the native entry has to know to take a jitted function's calls over from Python.

What enters: a call that Python has made, and its arguments.  What leaves: the record of its signature; or None for
calls that stay in Python: custom pytree nodes, PRNG keys, mutable arrays, arguments that have to be converted.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np
from pyiree.array import is_read_in_place, there_are_only_cpus
from pyiree.dispatch import Call, numpy_type
from pyiree.jax_internals import (
    ArrayImpl,
    array_methods,
    device_layout,
    float0,
    shaped_array,
    top_trace,
    trace_context,
    trace_getter,
    trace_state,
)
from pyiree.runtime.calls import caller_layout as layout
from pyiree.runtime.calls.caller_table import (
    LEAF,
    Guard,
    Leaf,
    Library,
    Record,
    Structure,
    is_plain_scalar,
    is_readable,
)
from pyiree.runtime.hal.device_array import DeviceArray
from pyiree.signature import Arguments

GUARD = Guard(trace_context, trace_getter, trace_state, top_trace)

_DEEPEST = 100  # levels of a structure: the native entry goes down by recursion

_MOST_NARROWED = 4096  # elements: NumPy converts more of them faster

_ELEMENT_FORMATS = {
    ("float64", "float32"): layout.FORMAT_F32,
    ("complex128", "complex64"): layout.FORMAT_C64,
    ("int64", "int32"): layout.FORMAT_I32,
    ("uint64", "uint32"): layout.FORMAT_I32,
}

_NUMBER_FORMATS = {
    (bool, "bool"): layout.FORMAT_BOOL,
    (int, "int32"): layout.FORMAT_I32,
    (int, "int64"): layout.FORMAT_I64,
    (float, "float32"): layout.FORMAT_F32,
    (float, "float64"): layout.FORMAT_F64,
    (complex, "complex64"): layout.FORMAT_C64,
    (complex, "complex128"): layout.FORMAT_C128,
}


class _StaysInPython(Exception):
    """The native entry has no word for something in the call."""


def record_of(call: Call, arguments: Arguments, context: tuple[Any, ...]) -> Record | None:
    """The record of a call with these arguments; None if the native entry can't make such calls."""
    if not call.program.is_native or call.writes_arguments:
        return None
    leaves = arguments.leaves
    try:
        positional, keywords = _parameters(arguments)
        kinds = {type(leaf) for leaf in leaves}
        library = _jax_arrays() if ArrayImpl in kinds else None
        for aval in call.out_avals:
            if not isinstance(aval.dtype, np.dtype) or aval.dtype == float0:
                raise _StaysInPython
        if not all(is_readable(constant) for constant in call.constants):
            raise _StaysInPython
        dtypes = {n: numpy_type(aval)[1] for n, aval in zip(call.kept, call.in_avals)}
        return Record(
            context=context,
            arguments=positional,
            keywords=keywords,
            leaves=[_leaf(leaf, dtypes.get(n)) for n, leaf in enumerate(leaves)],
            inputs=[*range(-1, -1 - len(call.constants), -1), *call.kept],
            constants=call.constants,
            program=call.program,
            output=_result_structure(call.out_tree),
            unflatten=call.out_tree.unflatten,
            as_device_arrays=DeviceArray in kinds,
            library=library,
            result_kinds=[shaped_array(aval.shape, aval.dtype, aval.weak_type) for aval in call.out_avals],
            deleted=call.donated,
        )
    except _StaysInPython:
        return None


def _parameters(arguments: Arguments) -> tuple[list[Structure], dict[str, Structure]]:
    """The structures of the positional and the keyword arguments; the static ones are among them again."""
    args, kwargs = arguments.tree.children()
    positional = [_structure(tree) for tree in args.children()]
    names = kwargs.node_data()[1]
    keywords = {sys.intern(name): _structure(tree) for name, tree in zip(names, kwargs.children())}
    for which, _, value in arguments.statics:  # numbers come in ascending order
        if isinstance(which, int):
            positional.insert(which, _static(value))
        else:
            keywords[sys.intern(which)] = _static(value)
    return positional, keywords


def _structure(tree: Any, depth: int = 0) -> Structure:
    """A pytree of jax's as the native entry reads it."""
    if depth > _DEEPEST:
        raise _StaysInPython
    node = tree.node_data()
    if node is None:
        return LEAF
    kind, keys = node
    if kind is type(None):
        return Structure(layout.TOKEN_NONE, type=kind)
    children = tuple(_structure(child, depth + 1) for child in tree.children())
    if kind is tuple:
        return Structure(layout.TOKEN_TUPLE, children, tuple)
    if kind is list:
        return Structure(layout.TOKEN_LIST, children, list)
    if kind is dict and len({type(key) for key in keys}) <= 1 and all(type(key) in (str, int) for key in keys):
        return Structure(layout.TOKEN_DICT, children, dict, list(keys))
    raise _StaysInPython


def _result_structure(tree: Any) -> Structure | None:
    try:
        return _structure(tree)
    except _StaysInPython:
        return None


def _static(value: Any) -> Structure:
    """A static argument; values whose comparison runs Python code stay in Python."""
    if type(value) in (int, str, float, bool, bytes):
        return Structure(layout.TOKEN_EQUAL, type=type(value), objects=value)
    kind = type(value)
    if value is None or (kind.__eq__ is object.__eq__ and kind.__hash__ is object.__hash__):  # equal to nothing else
        return Structure(layout.TOKEN_SAME, objects=value)
    raise _StaysInPython


def _leaf(value: Any, dtype: np.dtype | None) -> Leaf:
    """What a leaf has to be; `dtype` is that of the program's argument, None where the program doesn't use it."""
    kind = type(value)
    number = _NUMBER_FORMATS.get((kind, str(dtype)))
    if number is not None:
        return Leaf(layout.LEAF_NUMBER, kind, number_format=number)
    if dtype is None and kind in (bool, int, float, complex):
        return Leaf(layout.LEAF_NUMBER, kind)
    if kind is ArrayImpl:
        return _jax_leaf(value, dtype)
    if isinstance(value, (np.ndarray, DeviceArray, np.generic)):
        if dtype is not None and value.dtype != dtype:
            return _narrowed_leaf(value, dtype)
        if kind is np.ndarray:
            return Leaf(layout.LEAF_ARRAY, kind, value.dtype, value.shape)
        if kind is DeviceArray:
            return Leaf(layout.LEAF_DEVICE, kind, value.dtype, value.shape)
        if isinstance(value, np.generic) and is_plain_scalar(value):
            return Leaf(layout.LEAF_SCALAR, kind)
    raise _StaysInPython


def _narrowed_leaf(value: Any, dtype: np.dtype) -> Leaf:
    """A small array of a wider type than the program's, as NumPy makes them and jax, without x64, doesn't."""
    wanted = _ELEMENT_FORMATS.get((value.dtype.name, dtype.name)) if value.dtype.isnative else None
    if type(value) is not np.ndarray or wanted is None or value.size > _MOST_NARROWED:
        raise _StaysInPython
    size = value.size * dtype.itemsize
    return Leaf(layout.LEAF_NARROWED, np.ndarray, value.dtype, value.shape, number_format=wanted, size=size)


def _jax_leaf(value: ArrayImpl, dtype: np.dtype | None) -> Leaf:
    if value.is_deleted() or not there_are_only_cpus():
        raise _StaysInPython
    if dtype is None:
        return Leaf(layout.LEAF_FOREIGN, ArrayImpl, array_kind=value.aval)
    if not is_read_in_place(value, dtype):
        raise _StaysInPython
    # Arrays of less than two axes have but one layout.
    order = device_layout(value) if value.ndim > 1 else None
    return Leaf(layout.LEAF_FOREIGN, ArrayImpl, array_kind=value.aval, layout=order)


@functools.cache
def _jax_arrays() -> Library:
    return Library(**array_methods())
