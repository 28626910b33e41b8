"""How one LAPACK routine is called for arrays of certain shapes: built once, run for every call.

Enters: the kinds of the operands, and a description of the routine (`lapack_routines`), which asks a `CallBuilder` for
results, scratch memory and workspaces and names the arguments of the Fortran call. Leaves: a `Plan`, which makes the
results of a call from its operands. Nothing in it changes once it is built, so that threads may share it.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from pyiree.runtime.hal import layout
from pyiree.runtime.hal.device import memory_pool
from pyiree.runtime.hal.device_array import ANY_MEMORY_TYPE, ANY_USAGE, new_view
from pyiree.runtime.modules.lapack_library import one_thread, routine_address
from pyiree.runtime.native.image import image
from pyiree.runtime.native.layout import FORTRAN_ARGUMENTS, INVALID_ARGUMENT
from pyiree.runtime.native.python_objects import read_word
from pyiree.runtime.vm.errors import VmError
from pyiree.runtime.vm.values import Ref

_OPERAND, _RESULT, _SCRATCH, _FIXED = "operand", "result", "scratch", "fixed"
_ALIGNMENT = 64
_NOT_FINITE = -4  # what LAPACK itself says where it looks for NaN


class Spec(NamedTuple):
    """Shape and dtype of an array; leading dimensions are the batch."""

    shape: tuple[int, ...]
    dtype: np.dtype


@dataclass(frozen=True)
class Array:
    """Memory that a call works on: an operand, a result, scratch, or constant bytes."""

    place: str
    number: int  # which operand or result; offset in the scratch memory; address of constant bytes
    shape: tuple[int, ...]  # of one item of the batch
    dtype: np.dtype
    skipped: int = 0  # bytes in front of what the routine sees
    is_batched: bool = True

    @property
    def item_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def rows(self) -> int:
        """Of a matrix, which lies column by column."""
        return self.shape[-1]

    @property
    def columns(self) -> int:
        return self.shape[-2]

    @property
    def leading(self) -> int:
        """LAPACK's leading dimension."""
        return max(1, self.rows)


class Workspace:
    """Memory whose size the routine itself tells when it is asked with a length of -1."""

    def __init__(self, dtype: np.dtype):
        self.answer = np.zeros(1, dtype)
        self.length = np.full(1, -1, np.int32)

    def accept_answer(self) -> int:
        """The wanted length; a float may have been rounded down."""
        number = self.answer[0].real
        if self.answer.dtype.kind != "i":
            number = np.nextafter(number, number.dtype.type(np.inf))
        self.length[0] = max(1, math.ceil(number))
        return int(self.length[0])


@dataclass
class Plan:
    """A routine for operands of certain shapes."""

    batch: tuple[int, ...]
    results: list[Spec] = field(default_factory=list)
    result_sources: list[int | None] = field(default_factory=list)  # operands that they start as copies of
    scratch_bytes: int = 0
    scratch_sources: list[tuple[Array, int]] = field(default_factory=list)
    routine: int = 0
    arguments: list[Array] = field(default_factory=list)
    finite: Array | None = None  # what must have no NaN or infinity, or the routine might not end
    info: Array | None = None
    finish: Callable[[Callable[[Array], np.ndarray]], None] | None = None
    keep: list[Any] = field(default_factory=list)  # constant bytes

    @property
    def count(self) -> int:
        return math.prod(self.batch)

    def run(self, operands: Sequence[int]) -> list[int]:
        """Calls the routine for each item of the batch; operands and results are references to views."""
        results = [new_view(shape, dtype) for shape, dtype in self.results]
        bases = {
            _OPERAND: [view_address(view) for view in operands],
            _RESULT: [view_address(view.address) for view in results],
        }
        scratch, scratch_address = self._allocate_scratch()

        def address(array: Array) -> int:
            if array.place == _FIXED:
                return array.number
            if array.place == _SCRATCH:
                return scratch_address + array.number + array.skipped
            return bases[array.place][array.number] + array.skipped

        for number, source in enumerate(self.result_sources):
            if source is not None:
                size = read_word(operands[source] + layout.VIEW_LENGTH)
                ctypes.memmove(bases[_RESULT][number], bases[_OPERAND][source], size)
        for array, source in self.scratch_sources:
            ctypes.memmove(address(array), bases[_OPERAND][source], array.item_bytes * self.count)
        table = (ctypes.c_int64 * (2 * FORTRAN_ARGUMENTS))()
        for k, array in enumerate(self.arguments):
            table[2 * k] = address(array)
            table[2 * k + 1] = array.item_bytes if array.is_batched else 0

        def memory(array: Array) -> np.ndarray:
            size = array.item_bytes * self.count
            content = (ctypes.c_ubyte * size).from_address(address(array))
            return np.frombuffer(content, array.dtype).reshape(*self.batch, *array.shape)

        with one_thread():
            self._call(table, memory)
        if self.finish is not None and self.count:
            self.finish(memory)
        del scratch
        return [view.detach() for view in results]

    def _call(self, table: Any, memory: Callable[[Array], np.ndarray]) -> None:
        run, place = image().fortran_batch, ctypes.addressof(table)
        if self.finite is None or not self.count:
            run(self.routine, self.count, place)
            return
        finite = np.isfinite(memory(self.finite)).all(axis=(-2, -1)).reshape(-1)
        if finite.all():
            run(self.routine, self.count, place)
            return
        assert self.info is not None
        begin = list(table)
        infos = memory(self.info).reshape(-1)
        for item in range(self.count):
            if finite[item]:
                for k in range(FORTRAN_ARGUMENTS):
                    table[2 * k] = begin[2 * k] + item * begin[2 * k + 1]
                run(self.routine, 1, place)
            else:
                infos[item] = _NOT_FINITE

    def _allocate_scratch(self) -> tuple[Ref | None, int]:
        if not self.scratch_bytes:
            return None, 0
        buffer = image().hal_buffer_allocate(memory_pool(), self.scratch_bytes, ANY_MEMORY_TYPE, ANY_USAGE)
        if not buffer:
            raise MemoryError(f"no memory for {self.scratch_bytes} bytes of workspace")
        return Ref(buffer), read_word(buffer + layout.BUFFER_DATA)


def view_address(view: int) -> int:
    """The address of a view's first byte."""
    return read_word(read_word(view + layout.VIEW_BUFFER) + layout.BUFFER_DATA) + read_word(view + layout.VIEW_OFFSET)


class CallBuilder:
    """What the description of a routine builds its plan with."""

    def __init__(self, letter: str, operands: Sequence[Spec], attributes: dict[str, int], core_ranks: Sequence[int]):
        self.letter = letter
        self.attributes = attributes
        self.dtype = np.dtype({"s": "float32", "d": "float64", "c": "complex64", "z": "complex128"}[letter])
        self.real = np.dtype({"s": "float32", "d": "float64", "c": "float32", "z": "float64"}[letter])
        self.complex = np.dtype({"s": "complex64", "d": "complex128", "c": "complex64", "z": "complex128"}[letter])
        self.is_complex = self.dtype.kind == "c"
        self._operands = operands
        self._core = [spec.shape[len(spec.shape) - rank :] for spec, rank in zip(operands, core_ranks)]
        batches = {spec.shape[: len(spec.shape) - rank] for spec, rank in zip(operands, core_ranks)}
        if len(batches) != 1:
            raise VmError(INVALID_ARGUMENT, f"the operands differ in their batch dimensions: {sorted(batches)}")
        self.plan = Plan(batches.pop())
        for number, spec in enumerate(operands):
            if spec.dtype not in (self.dtype, np.dtype("int32")):
                raise VmError(INVALID_ARGUMENT, f"operand {number} has the dtype {spec.dtype}, not {self.dtype}")

    def char(self, name: str) -> str:
        """An attribute that is a character."""
        return chr(self.attributes[name])

    def operand(self, number: int) -> Array:
        """An operand that is only read."""
        return Array(_OPERAND, number, self._core[number], self._operands[number].dtype)

    def overwritten(self, number: int) -> Array:
        """The next result, which starts as a copy of an operand."""
        return self.result(self._core[number], self._operands[number].dtype, number)

    def result(self, shape: tuple[int, ...], dtype: np.dtype | None = None, source: int | None = None) -> Array:
        """The next result; `shape` is that of one item of the batch."""
        kind = self.dtype if dtype is None else np.dtype(dtype)
        self.plan.results.append(Spec((*self.plan.batch, *shape), kind))
        self.plan.result_sources.append(source)
        return Array(_RESULT, len(self.plan.results) - 1, shape, kind)

    def info(self) -> Array:
        """The next result, which is LAPACK's `info`."""
        self.plan.info = self.result((), np.dtype("int32"))
        return self.plan.info

    def copied(self, number: int) -> Array:
        """Scratch memory that starts as a copy of an operand."""
        array = self._scratch(self._core[number], self._operands[number].dtype, True)
        self.plan.scratch_sources.append((array, number))
        return array

    def scratch(self, shape: tuple[int, ...], dtype: np.dtype | None = None) -> Array:
        """Memory that each item of the batch uses anew."""
        return self._scratch(shape, self.dtype if dtype is None else np.dtype(dtype), False)

    def scratch_results(self, shape: tuple[int, ...], dtype: np.dtype) -> Array:
        """Memory for something of each item of the batch."""
        return self._scratch(shape, dtype, True)

    def _scratch(self, shape: tuple[int, ...], dtype: np.dtype, is_batched: bool) -> Array:
        start = self.plan.scratch_bytes
        array = Array(_SCRATCH, start, shape, dtype, 0, is_batched)
        size = array.item_bytes * (self.plan.count if is_batched else 1)
        self.plan.scratch_bytes = start + (max(size, 1) + _ALIGNMENT - 1) // _ALIGNMENT * _ALIGNMENT
        return array

    def workspaces(self, *dtypes: np.dtype) -> list[Workspace]:
        """Workspaces; each stands for two arguments in a row, memory and length."""
        return [Workspace(dtype) for dtype in dtypes]

    def call(self, routine: str, *arguments: Any) -> None:
        """Names the Fortran routine and its arguments: arrays, integers, characters, numbers as NumPy scalars, and
        workspaces, which are followed by their lengths."""
        self.plan.routine = routine_address(self.letter + routine)
        workspaces = [a for a in arguments if isinstance(a, Workspace)]
        if workspaces and self.plan.count:
            self._ask(arguments)
        self.plan.arguments = [made for argument in arguments for made in self._made(argument)]

    def _ask(self, arguments: Sequence[Any]) -> None:
        """Lets the routine tell the sizes of the workspaces; it looks at no array then."""
        nowhere = self._fixed(np.zeros(16, np.int64))
        table = (ctypes.c_int64 * (2 * FORTRAN_ARGUMENTS))()
        position = 0
        for argument in arguments:
            if isinstance(argument, Workspace):
                made = [self._fixed(argument.answer), self._fixed(argument.length)]
            else:
                made = [nowhere] if isinstance(argument, Array) else self._made(argument)
            for array in made:
                table[2 * position] = array.number
                position += 1
        with one_thread():
            image().fortran_batch(self.plan.routine, 1, ctypes.addressof(table))

    def _made(self, argument: Any) -> list[Array]:
        if isinstance(argument, Array):
            return [argument]
        if isinstance(argument, Workspace):
            size = argument.accept_answer() if self.plan.count else 1
            return [self.scratch((size,), argument.answer.dtype), self._fixed(argument.length)]
        if isinstance(argument, str):
            return [self._fixed(np.frombuffer(argument.encode() + b"\0" * 7, np.uint8))]
        return [self._fixed(np.array([argument], np.int32) if isinstance(argument, int) else np.array([argument]))]

    def _fixed(self, content: np.ndarray) -> Array:
        self.plan.keep.append(content)
        return Array(_FIXED, content.__array_interface__["data"][0], (), content.dtype, 0, False)
