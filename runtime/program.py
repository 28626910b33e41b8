"""Bound functions: NumPy arrays of known shapes and dtypes in, NumPy arrays out, by one native call.

Enters: a function of a session, the specs of its arguments and results. Leaves: `Program`, called with a list
of arrays. `Program.entry` is the native callable itself, for callers that count nanoseconds.
"""

import math
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from pyiree.runtime.calls import entry_layout as entry
from pyiree.runtime.calls.extension import METH_O, builtin, layout_is_known, numpy_function
from pyiree.runtime.calls.launch_plan import LaunchPlan, Range, plan_of
from pyiree.runtime.hal.device import memory_pool
from pyiree.runtime.hal.element_types import dtype_of, element_type_of
from pyiree.runtime.native.image import image
from pyiree.runtime.vm.invocation import Invocation

if TYPE_CHECKING:
    from pyiree.runtime.session import Function

Spec = tuple[tuple[int, ...], Any]  # shape, dtype
_LONG_NANOSECONDS = 20_000_000
_COMPILED_ALIGNMENT = 64  # of arguments of modules that iree-compile made


class _Table(np.ndarray):
    """A program's table, which the native entry reads through this array's data pointer.

    It is the entry's self, so what it refers to lives as long as the callable.
    """

    keep: list[Any]


class Program:
    """A function bound to the shapes and dtypes of its arguments: `program(arrays) -> list of arrays`.

    Results are new, writable arrays over aligned memory, which goes back to the pool when they die. Arguments
    are read during the call and not kept. It may be called from several threads at once.
    """

    def __init__(self, function: "Function", arguments: Sequence[Spec], results: Sequence[Spec]):
        self._function = function
        self.argument_specs = [(tuple(shape), np.dtype(dtype)) for shape, dtype in arguments]
        self.result_specs = [(tuple(shape), np.dtype(dtype)) for shape, dtype in results]
        function.check_counts(len(arguments), len(results))
        self.is_native = layout_is_known() and function.takes_only_views
        self.entry: Callable[[Any], list[np.ndarray]] = self._slow
        self._is_planned = False
        if self.is_native:
            self._table = self._make_table()
            self.entry = builtin("program_entry", self._table, METH_O)

    def __call__(self, arrays: Sequence[Any]) -> list[np.ndarray]:
        return self.entry(arrays)

    def _make_table(self) -> _Table:
        function = self._function
        words = np.zeros(entry.TABLE_BYTES // 8, np.int64)
        table = words.view(_Table)
        arguments, keep_arguments = _value_records(self.argument_specs)
        results, keep_results = _value_records(self.result_specs)
        # Bound to parts, not to self: the program would keep itself alive through its own table.
        slow, finish = _Slow(function, self.argument_specs), _Finish(function)
        call = function.prepared
        alignment = _COMPILED_ALIGNMENT if function.module.needs_alignment else 1
        values = len(self.argument_specs) + len(self.result_specs)
        side = entry.CALL_WORDS + 8 * values
        sources = side + entry.CALL_SIDE_BYTES * values
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
            entry.TABLE_NEW_ARRAY: numpy_function(entry.NEW_FROM_DESCR),
            entry.TABLE_NDARRAY: id(np.ndarray),
            entry.TABLE_LIST: id(list),
            entry.TABLE_TUPLE: id(tuple),
            entry.TABLE_POOL: memory_pool(),
            entry.TABLE_EXECUTOR: function.module.executor.address,
            entry.TABLE_DURATION: entry.GIL_NANOSECONDS + 1,  # unknown: give up the GIL
            entry.TABLE_ALIGNMENT: alignment,
            entry.TABLE_INSTANCE_BYTES: sources,
            entry.TABLE_SIDE: side,
            entry.TABLE_SOURCES: sources,
        }
        for place, value in fields.items():
            words[place // 8] = value
        table.keep = [function, slow, finish, keep_arguments, keep_results]
        slow.entry = weakref.ref(table)
        # Not at exit: another thread may still be in a call then, and the process frees all anyway.
        # What the table refers to has to outlive it: the instances do.
        weakref.finalize(table, _free_instances, words, table.keep).atexit = False
        return table

    @property
    def table(self) -> _Table:
        """The table, for native callers; whoever has it keeps all that it names alive."""
        return self._table

    def make_plan(self) -> None:
        """Looks for a launch plan, with which calls that are short need no interpreter.

        It takes 0.2 ms for each argument or result, so a program that was seen to last is left alone.
        """
        if self._is_planned or not self.is_native or self._function.module.needs_alignment:
            return
        if self._table[entry.TABLE_DURATION // 8] > _LONG_NANOSECONDS:
            return
        self._is_planned = True
        plan = plan_of(self._function, self.argument_specs, self.result_specs)
        if plan is not None:
            record, keep = _plan_record(plan, len(self.argument_specs))
            words = len(self.argument_specs) + 2 * len(plan.allocations) + len(plan.launches)
            self._table.keep.append(keep)
            self._table[entry.TABLE_INSTANCE_BYTES // 8] += 8 * words
            self._table[entry.TABLE_PLAN // 8] = record  # last: other threads may be calling

    def _slow(self, arrays: Sequence[Any]) -> list[np.ndarray]:
        return self._function.call_numpy(conform(arrays, self.argument_specs, self._function.name))

    def __repr__(self) -> str:
        return f"<Program {self._function.name}: {self.argument_specs} -> {self.result_specs}>"


def _free_instances(words: np.ndarray, keep: list[Any]) -> None:
    image().program_free_instances(words.ctypes.data)
    keep.clear()


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
        records[words * k + entry.VALUE_SIZE // 8] = dtype.itemsize * math.prod(shape)
    return records.ctypes.data, tuple(keep)


def _plan_record(plan: LaunchPlan, arguments: int) -> tuple[int, Any]:
    """The address of a plan's record, and what it refers to."""
    launches = []
    keep: list[Any] = []
    for launch in plan.launches:
        bindings = words_of([word for binding in launch.bindings for word in binding])
        keep.append(bindings)
        launches += [launch.place, launch.commands, launch.device, bindings.ctypes.data, len(launch.bindings)]
    results: list[int] = []
    for k, result in enumerate(plan.results):
        results += [*result, _is_own(plan.results, k, arguments)]
    arrays = [words_of(plan.allocations), words_of(launches), words_of(results)]
    allocations, launched, given = (array.ctypes.data for array in arrays)
    record = words_of([allocations, len(plan.allocations), launched, len(plan.launches), given])
    return record.ctypes.data, (record, arrays, keep)


def _is_own(results: Sequence[Range], index: int, arguments: int) -> bool:
    """Whether an allocation is a result's alone."""
    own = results[index]
    alone = sum(other.source == own.source for other in results) == 1
    return own.source >= arguments and own.offset == 0 and alone


def words_of(values: Sequence[int]) -> np.ndarray:
    """An array of these words, for native code to read."""
    return np.array([*values, 0], np.int64)  # not empty, so that it has an address of its own


class _Slow:
    """Calls the entry again with arguments that it takes, made from those that it did not take."""

    entry: Any

    def __init__(self, function: "Function", specs: Sequence[Spec]):
        self._function, self._specs = function, specs

    def __call__(self, arrays: Sequence[Any]) -> list[np.ndarray]:
        ready = conform(arrays, self._specs, self._function.name)
        return builtin("program_entry", self.entry(), METH_O)(ready)


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
        raise TypeError(f"{name} takes {len(specs)} arrays, not {len(given)}")
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
