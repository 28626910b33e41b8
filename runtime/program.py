"""Bound functions: NumPy arrays of known shapes and dtypes in, NumPy arrays out, by one native call.

Enters: a function of a session, the specs of its arguments and results. Leaves: `Program`, called with a list
of arrays. `Program.entry` is the native callable itself, for callers that count nanoseconds.
"""

import ctypes
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from pyiree.runtime import entry_layout as entry
from pyiree.runtime.hal.device import memory_pool
from pyiree.runtime.hal.element_types import dtype_of, element_type_of
from pyiree.runtime.native.image import image
from pyiree.runtime.vm.invocation import Invocation

if TYPE_CHECKING:
    from pyiree.runtime.session import Function

Spec = tuple[tuple[int, ...], Any]  # shape, dtype
_METH_O = 0x0008
_COMPILED_ALIGNMENT = 64  # of arguments of modules that iree-compile made


class _MethodDefinition(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


_definitions: list[_MethodDefinition] = []  # a definition must outlive the callables made from it


def _builtin(function: int, owner: Any, name: bytes) -> Callable[[Any], Any]:
    """A Python callable of one argument on a native function, which gets `owner` as its self."""
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    known = next((d for d in _definitions if d.function == function), None)
    if known is None:
        known = _MethodDefinition(name, function, _METH_O, None)
        _definitions.append(known)
    return make(ctypes.addressof(known), owner, None)


def _numpy_function(index: int) -> int:
    """The address of a function in NumPy's C API table."""
    from numpy._core import _multiarray_umath

    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = pointer(_multiarray_umath._ARRAY_API, None)
    return ctypes.c_void_p.from_address(table + 8 * index).value


def check_layout() -> bool:
    """Whether objects of this Python and NumPy lie in memory as the native entry expects."""
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)[:, 1:, :]

    def word(place: int, kind: Any = ctypes.c_int64) -> Any:
        return kind.from_address(place).value

    at = id(array)
    dims, strides = word(at + entry.ARRAY_DIMS), word(at + entry.ARRAY_STRIDES)
    several, pair = [array, array, array], (array, dims)
    return (
        word(at + entry.OBJECT_TYPE_FIELD) == id(np.ndarray)
        and word(at + entry.ARRAY_DATA) == array.__array_interface__["data"][0]
        and word(at + entry.ARRAY_RANK, ctypes.c_int32) == 3
        and word(at + entry.ARRAY_DTYPE) == id(array.dtype)
        and word(at + entry.ARRAY_BASE) == id(array.base)
        and tuple(word(dims + 8 * k) for k in range(3)) == array.shape
        and tuple(word(strides + 8 * k) for k in range(3)) == array.strides
        and word(at + entry.ARRAY_FLAGS, ctypes.c_int32) & entry.FLAGS_READABLE == 0x100
        and word(id(several) + entry.SEQUENCE_SIZE) == 3
        and word(word(id(several) + entry.LIST_ITEMS_FIELD) + 16) == at
        and word(id(pair) + entry.SEQUENCE_SIZE) == 2
        and word(id(pair) + entry.TUPLE_ITEMS) == at
    )


class _Table(np.ndarray):
    """A program's table, which the native entry reads through this array's data pointer.

    It is the entry's self, so what it refers to lives as long as the callable.
    """

    keep: tuple[Any, ...]


_layout_is_known: bool | None = None


class Program:
    """A function bound to the shapes and dtypes of its arguments: `program(arrays) -> list of arrays`.

    Results are new, writable arrays over aligned memory, which goes back to the pool when they die. Arguments
    are read during the call and not kept. It may be called from several threads at once.
    """

    def __init__(self, function: "Function", arguments: Sequence[Spec], results: Sequence[Spec]):
        global _layout_is_known
        if _layout_is_known is None:
            _layout_is_known = check_layout()
        self._function = function
        self.argument_specs = [(tuple(shape), np.dtype(dtype)) for shape, dtype in arguments]
        self.result_specs = [(tuple(shape), np.dtype(dtype)) for shape, dtype in results]
        function.check_counts(len(arguments), len(results))
        self._is_native = _layout_is_known and function.takes_only_views
        self.entry: Callable[[Any], list[np.ndarray]] = self._slow
        if self._is_native:
            self._table = self._make_table()
            self.entry = _builtin(image().address("program_entry"), self._table, b"program_entry")

    def __call__(self, arrays: Sequence[Any]) -> list[np.ndarray]:
        return self.entry(arrays)

    def _make_table(self) -> _Table:
        function = self._function
        words = np.zeros(entry.TABLE_BYTES // 8, np.int64)
        table = words.view(_Table)
        address = words.ctypes.data
        arguments, keep_arguments = _value_records(self.argument_specs)
        results, keep_results = _value_records(self.result_specs)
        # Bound to parts, not to self: the program would keep itself alive through its own table.
        slow, finish = _Slow(function, self.argument_specs), _Finish(function)
        call = function.prepared
        alignment = _COMPILED_ALIGNMENT if function.module.needs_alignment else 1
        fields = {
            entry.TABLE_CONTEXT: call.context,
            entry.TABLE_FUNCTION: call.ordinal,
            entry.TABLE_ARGUMENT_COUNT: len(self.argument_specs),
            entry.TABLE_RESULT_COUNT: len(self.result_specs),
            entry.TABLE_ARGUMENTS: arguments,
            entry.TABLE_RESULTS: results,
            entry.TABLE_SLOW: id(slow),
            entry.TABLE_FINISH: id(finish),
            entry.TABLE_MISMATCH: id(_raise_mismatch),
            entry.TABLE_NEW_ARRAY: _numpy_function(entry.NEW_FROM_DESCR),
            entry.TABLE_NDARRAY: id(np.ndarray),
            entry.TABLE_LIST: id(list),
            entry.TABLE_TUPLE: id(tuple),
            entry.TABLE_POOL: memory_pool(),
            entry.TABLE_EXECUTOR: function.module.executor.address,
            entry.TABLE_DURATION: entry.GIL_NANOSECONDS + 1,  # unknown: give up the GIL
            entry.TABLE_ALIGNMENT: alignment,
        }
        for place, value in fields.items():
            words[place // 8] = value
        table.keep = (function, slow, finish, keep_arguments, keep_results)
        slow.entry = weakref.ref(table)
        # Not at exit: another thread may still be in a call then, and the process frees all anyway.
        weakref.finalize(table, _free_instances, words, address).atexit = False
        return table

    def _slow(self, arrays: Sequence[Any]) -> list[np.ndarray]:
        return self._function.call_numpy(conform(arrays, self.argument_specs, self._function.name))

    def __repr__(self) -> str:
        return f"<Program {self._function.name}: {self.argument_specs} -> {self.result_specs}>"


def _free_instances(words: np.ndarray, address: int) -> None:
    image().program_free_instances(address)
    del words


def _value_records(specs: Sequence[Spec]) -> tuple[int, tuple[Any, ...]]:
    """The address of the records of arguments or results, and what they refer to."""
    words = entry.VALUE_BYTES // 8
    records = np.zeros(words * len(specs) + 1, np.int64)
    keep: list[Any] = [records]
    for k, (shape, dtype) in enumerate(specs):
        dims = np.array([*shape, 0], np.int64)
        keep += [dims, dtype]
        records[words * k + entry.VALUE_DTYPE // 8] = id(dtype)
        records[words * k + entry.VALUE_ELEMENT_TYPE // 8] = element_type_of(dtype)
        records[words * k + entry.VALUE_RANK // 8] = len(shape)
        records[words * k + entry.VALUE_DIMS // 8] = dims.ctypes.data
        records[words * k + entry.VALUE_SIZE // 8] = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    return records.ctypes.data, tuple(keep)


class _Slow:
    """Calls the entry again with arguments that it takes, made from those that it did not take."""

    entry: Any

    def __init__(self, function: "Function", specs: Sequence[Spec]):
        self._function, self._specs = function, specs
        self._builtin = image().address("program_entry")

    def __call__(self, arrays: Sequence[Any]) -> list[np.ndarray]:
        ready = conform(arrays, self._specs, self._function.name)
        return _builtin(self._builtin, self.entry(), b"program_entry")(ready)


class _Finish:
    """Drives a call to its end that the native entry could not finish within a slice."""

    def __init__(self, function: "Function"):
        self._function = function

    def __call__(self, invocation: int, state: int) -> None:
        call = Invocation.adopt(self._function.context, invocation)
        executor = self._function.module.executor
        done = call.settle(state)
        while not done:
            executor.start_if_wanted()
            done = call.step()


def _raise_mismatch(index: int, element_type: int) -> None:
    if element_type < 0:
        raise TypeError(f"result {index} of the program is not an array")
    raise TypeError(f"result {index} of the program has the unexpected dtype {dtype_of(element_type)}")


def conform(arrays: Sequence[Any], specs: Sequence[Spec], name: str) -> list[np.ndarray]:
    """Plain, contiguous arrays of exactly these shapes and dtypes; an error where the values are others."""
    given = list(arrays)
    if len(given) != len(specs):
        raise TypeError(f"{name} takes {len(specs)} arrays, {len(given)} were given")
    ready = []
    for k, (value, (shape, dtype)) in enumerate(zip(given, specs)):
        array = np.asarray(value)
        if array.shape != shape or array.dtype.newbyteorder("=") != dtype:
            raise TypeError(
                f"argument {k} of {name} must be {dtype}{list(shape)}, not {array.dtype}{list(array.shape)}"
            )
        plain = np.require(array.view(np.ndarray), requirements=("C", "A"))
        if plain.dtype is not dtype:  # an equal one, or one of the other byte order
            plain = plain.view(dtype) if plain.dtype.isnative else plain.astype(dtype)
        ready.append(plain)
    return ready
