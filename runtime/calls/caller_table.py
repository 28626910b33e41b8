"""Callers: the tables by which the native entry finds the program of a Python call.

Enters: what the arguments of a call are (structures, leaves), the program that takes them and what its results become.
Leaves: `Record`s, and an array with the caller's table in it for the `_native` field of a `NativeCallable`.
"""

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from pyiree.runtime.calls import caller_layout as layout
from pyiree.runtime.calls.entry_layout import FLAGS_READABLE, HEADER, NUMBER_VALUE
from pyiree.runtime.calls.extension import layout_is_known
from pyiree.runtime.calls.native_callable import NativeCallable, may_be_native
from pyiree.runtime.hal.device_array import DeviceArray
from pyiree.runtime.native.python_objects import read_word
from pyiree.runtime.program import Program, words_of


class Structure(NamedTuple):
    """A node of a tree of arguments or results: one of the TOKEN_* kinds, its children, and what it names."""

    kind: int
    children: "tuple[Structure, ...]" = ()
    type: Any = None
    objects: Any = None  # of a dict: its keys; of a static argument: the value


LEAF = Structure(layout.TOKEN_LEAF)


class Leaf(NamedTuple):
    """What one leaf of the arguments must be: one of the LEAF_* kinds."""

    kind: int
    type: type
    dtype: Any = None
    shape: tuple[int, ...] = ()
    number_format: int = 0  # of what is converted
    size: int = 0  # of an array that is converted: its bytes then
    array_kind: Any = None  # of another library's array: what `Library.kind` gives
    layout: Any = None  # and what `Library.layout` gives; None: any is good


class Library(NamedTuple):
    """Another library's arrays: functions of one, and how `put(kind, target, [NumPy array], devices)` makes one."""

    pointer: Callable[[Any], int]  # raises where the array was deleted
    kind: Callable[[Any], Any]
    layout: Callable[[Any], Any]
    place: Callable[[Any], Any]
    place_type: type
    ready: Callable[[Any], bool]
    wait: Callable[[Any], Any]
    put: Callable[..., Any]
    target: Any
    devices: Any


class Guard(NamedTuple):
    """When records hold: `getter(state)` is `wanted`, and the items of `context()` are those of the record's."""

    context: Callable[[], tuple[Any, ...]]
    getter: Callable[[Any], Any]
    state: Any
    wanted: Any


class Record:
    """One signature with its program, in the memory that the native entry reads."""

    def __init__(
        self,
        *,
        context: tuple[Any, ...],
        arguments: Sequence[Structure],
        keywords: dict[str, Structure],
        leaves: Sequence[Leaf],
        inputs: Sequence[int],
        constants: Sequence[np.ndarray],
        program: Program,
        output: Structure | None,
        unflatten: Callable[[list[Any]], Any],
        as_device_arrays: bool,
        library: Library | None,
        result_kinds: Sequence[Any],
        deleted: Sequence[int],
    ):
        """`inputs` says for each argument of the program which leaf it is, or -1 - the number of a constant.

        `output` is the structure of the results, or None where only `unflatten` can make it. The results are arrays of
        the `library`, of `result_kinds`, or device arrays, or else NumPy arrays.
        """
        program.make_plan()
        self.leaf_count = len(leaves)
        self._keep: list[Any] = [context, program.table, constants, unflatten, leaves, arguments, keywords, output]
        names = [id(name) for name in keywords]
        kinds = [shape for shape, _ in program.result_specs] if library is None else list(result_kinds)
        unused = [n for n, leaf in enumerate(leaves) if leaf.kind == layout.LEAF_FOREIGN and n not in inputs]
        foreign = any(leaf.kind == layout.LEAF_FOREIGN for leaf in leaves)
        result_kind = layout.RESULT_DEVICE if as_device_arrays else layout.RESULT_NUMPY
        made = _device_record().ctypes.data
        if library is not None:
            result_kind, made = layout.RESULT_FOREIGN, self._library(library)
        self._made = made
        fields = {
            layout.RECORD_CONTEXT: id(context),
            layout.RECORD_ARGUMENTS: len(arguments),
            layout.RECORD_NAMES: self._words(names),
            layout.RECORD_NAME_COUNT: len(names),
            layout.RECORD_TOKENS: self._tokens([*arguments, *keywords.values()]),
            layout.RECORD_LEAVES: self._words([word for leaf in leaves for word in self._leaf(leaf)]),
            layout.RECORD_LEAF_COUNT: len(leaves),
            layout.RECORD_PROGRAM: program.table.ctypes.data,
            layout.RECORD_INPUTS: self._words(inputs),
            layout.RECORD_CONSTANTS: self._words([id(constant) for constant in constants]),
            layout.RECORD_RESULT_KIND: result_kind,
            layout.RECORD_OUTPUT: self._tokens([output]) if output is not None else 0,
            layout.RECORD_UNFLATTEN: id(unflatten),
            layout.RECORD_LIBRARY: made,
            layout.RECORD_KINDS: self._words([id(kind) for kind in kinds]),
            layout.RECORD_DELETED: self._words(deleted),
            layout.RECORD_DELETED_COUNT: len(deleted),
            layout.RECORD_DELETE: id(_DELETE),
            layout.RECORD_UNUSED: self._words(unused),
            layout.RECORD_UNUSED_COUNT: len(unused),
            layout.RECORD_HOLDS: int(foreign or len(deleted) > 0),
        }
        self._keep += [kinds, library]
        self.address = self._words([fields[place] for place in range(0, layout.RECORD_BYTES, 8)])

    def _words(self, values: Sequence[int]) -> int:
        """The address of these words."""
        array = words_of(values)
        self._keep.append(array)
        return array.ctypes.data

    def _library(self, library: Library) -> int:
        """The address of another library's record."""
        methods = [library.pointer, library.kind, library.layout, library.place, library.place_type]
        last = [library.ready, True, library.wait, library.put, library.target, library.devices]
        return self._words([id(item) for item in (*methods, *last)])

    def _tokens(self, structures: Sequence[Structure]) -> int:
        return self._words([word for structure in structures for word in self._token(structure)])

    def _token(self, node: Structure) -> list[int]:
        """The words of a node and of all below it."""
        objects = id(node.objects)
        key = 0
        if node.kind == layout.TOKEN_DICT:
            objects = self._words([id(name) for name in node.objects])
            key = id(type(node.objects[0])) if node.objects else 0
        own = [node.kind, len(node.children), id(node.type), objects, key]
        return own + [word for child in node.children for word in self._token(child)]

    def _leaf(self, leaf: Leaf) -> list[int]:
        detail = leaf.number_format
        if leaf.kind == layout.LEAF_FOREIGN:
            order = 0 if leaf.layout is None else id(leaf.layout)
            return [leaf.kind, id(leaf.type), id(leaf.array_kind), order, 0, self._made, 0]
        if leaf.kind == layout.LEAF_DEVICE:
            detail = _device_record().ctypes.data
        dims = self._words(leaf.shape)
        last = leaf.size if leaf.kind == layout.LEAF_NARROWED else id(leaf.shape)
        return [leaf.kind, id(leaf.type), id(leaf.dtype), len(leaf.shape), dims, detail, last]


_DELETE = "delete"


@cache
def _field_place(kind: type, name: str) -> int:
    """Where a slot lies in instances of a class: the offset in its member descriptor."""
    member = read_word(id(kind.__dict__[name]) + HEADER + 24)  # behind d_type, d_name, d_qualname: the PyMemberDef
    return read_word(member + 16)  # behind its name and type


@cache
def _device_record() -> np.ndarray:
    empty = words_of([_field_place(DeviceArray, name) for name in _EMPTY_FIELDS])
    fields = [_field_place(DeviceArray, name) for name in _FIELDS]
    types = [id(type(np.zeros(1).__dlpack__())), id(np.ndarray)]
    record = words_of([id(DeviceArray), *fields, empty.ctypes.data, len(_EMPTY_FIELDS), id(None), *types])
    _kept.append(empty)
    return record


_FIELDS = ("_capsule", "_host", "_shape", "_dtype")
_EMPTY_FIELDS = ("_host", "_view", "_fence", "_executor")
_kept: list[np.ndarray] = []


@cache
def native_calls_work(kind: type[NativeCallable]) -> bool:
    """Whether instances of a class, and all other objects, lie in memory as the native entry expects."""
    if not layout_is_known() or not may_be_native(kind):
        return False
    device = DeviceArray.of_result(np.zeros((2, 3), np.float32))
    fields = {name: getattr(device, name) for name in {*_FIELDS, *_EMPTY_FIELDS}}
    return (
        all(read_word(id(device) + _field_place(DeviceArray, name)) == id(v) for name, v in fields.items())
        and ctypes.c_double.from_address(id(1.5) + NUMBER_VALUE).value == 1.5
        and ctypes.c_double.from_address(id(1 - 2.5j) + NUMBER_VALUE + 8).value == -2.5
    )


def is_plain_scalar(value: np.generic) -> bool:
    """Whether a NumPy scalar's bytes lie in it where the native entry reads them."""
    return ctypes.string_at(id(value) + NUMBER_VALUE, value.dtype.itemsize) == value.tobytes()


def is_readable(array: np.ndarray) -> bool:
    """Whether the runtime can read an array in place."""
    return type(array) is np.ndarray and array.flags.num & FLAGS_READABLE == FLAGS_READABLE


class _CallerTable(np.ndarray):
    """A caller's table; what it refers to lives as long as it does."""

    keep: tuple[Any, ...]


def caller_table(slow: Callable[..., Any], guard: Guard, records: Sequence[Record]) -> np.ndarray:
    """A table for `NativeCallable._native`: the calls of these records are native, all others are `slow(self, …)`."""
    addresses = words_of([record.address for record in records])
    table = np.zeros(layout.CALLER_BYTES // 8, np.int64).view(_CallerTable)
    fields = {
        layout.CALLER_SLOW: id(slow),
        layout.CALLER_GUARD: id(guard.context),
        layout.CALLER_GETTER: id(guard.getter),
        layout.CALLER_STATE: id(guard.state),
        layout.CALLER_WANTED: id(guard.wanted),
        layout.CALLER_RECORDS: addresses.ctypes.data,
        layout.CALLER_RECORD_COUNT: len(records),
        layout.CALLER_LEAVES: max((record.leaf_count for record in records), default=0),
        layout.CALLER_LAST: -1,
    }
    for place, value in fields.items():
        table[place // 8] = value
    table.keep = (slow, guard, addresses, tuple(records))
    return table


def last_record(table: np.ndarray) -> int:
    """The number of the record that took the last call; -1 if none has."""
    return int(table[layout.CALLER_LAST // 8])


def forget_last(table: np.ndarray) -> None:
    """Notes that the last call was a slow one."""
    table[layout.CALLER_LAST // 8] = -1
