"""How one LAPACK routine is called for arrays of certain shapes, worked out once.

Enters: the kinds of the operands, and a description of the routine (`lapack_routines`), which asks a `CallBuilder` for
results, scratch memory and workspaces and names the arguments of the Fortran call. Leaves: a plan as native code reads
it (`lapack_layout`). Nothing in it changes once it is built, so that threads may share it.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from pyiree.runtime.hal.element_types import element_type_of
from pyiree.runtime.modules import lapack_layout as layout
from pyiree.runtime.modules.lapack_library import routine_address
from pyiree.runtime.native.image import image
from pyiree.runtime.native.layout import INVALID_ARGUMENT
from pyiree.runtime.vm.errors import VmError

_ALIGNMENT = 64
_I32 = np.dtype("int32")


class Spec(NamedTuple):
    """Shape and dtype of an array; leading dimensions are the batch."""

    shape: tuple[int, ...]
    dtype: np.dtype


@dataclass(frozen=True)
class Array:
    """Memory that a call works on: an operand, a result, scratch, or constant bytes."""

    place: int
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

    @property
    def record(self) -> tuple[int, int, int, int]:
        """The words by which native code knows it."""
        return self.place, self.number, self.skipped, self.item_bytes if self.is_batched else 0


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


class CallBuilder:
    """What the description of a routine builds its plan with."""

    def __init__(self, letter: str, operands: Sequence[Spec], attributes: dict[str, int], core_ranks: Sequence[int]):
        self.letter = letter
        self.attributes = attributes
        self.dtype = np.dtype({"s": "float32", "d": "float64", "c": "complex64", "z": "complex128"}[letter])
        self.real = np.dtype({"s": "float32", "d": "float64", "c": "float32", "z": "float64"}[letter])
        self.complex = np.dtype({"s": "complex64", "d": "complex128", "c": "complex64", "z": "complex128"}[letter])
        self.is_complex = self.dtype.kind == "c"
        self.operands = list(operands)
        self._core = [spec.shape[len(spec.shape) - rank :] for spec, rank in zip(operands, core_ranks)]
        batches = {spec.shape[: len(spec.shape) - rank] for spec, rank in zip(operands, core_ranks)}
        if len(batches) != 1:
            raise VmError(INVALID_ARGUMENT, f"the operands differ in their batch dimensions: {sorted(batches)}")
        self.batch = batches.pop()
        self.count = math.prod(self.batch)
        for number, spec in enumerate(operands):
            if spec.dtype not in (self.dtype, _I32):
                raise VmError(INVALID_ARGUMENT, f"operand {number} has the dtype {spec.dtype}, not {self.dtype}")
        self.results: list[tuple[Spec, int]] = []  # and the operand that each starts as a copy of, or -1
        self.copies: list[tuple[int, int, int]] = []  # offset in the scratch memory, operand, bytes
        self.scratch_bytes = 0
        self.routine = 0
        self.arguments: list[Array] = []
        self.guard: Array | None = None
        self.failure: Array | None = None
        self.unpacks: list[tuple[Array, Array, Array]] = []
        self.constants: list[np.ndarray] = []  # what arguments in memory that never changes refer to

    def char(self, name: str) -> str:
        """An attribute that is a character."""
        return chr(self.attributes[name])

    def operand(self, number: int) -> Array:
        """An operand that is only read."""
        return Array(layout.PLACE_OPERAND, number, self._core[number], self.operands[number].dtype)

    def overwritten(self, number: int) -> Array:
        """The next result, which starts as a copy of an operand."""
        return self.result(self._core[number], self.operands[number].dtype, number)

    def result(self, shape: tuple[int, ...], dtype: np.dtype | None = None, source: int = -1) -> Array:
        """The next result; `shape` is that of one item of the batch."""
        kind = self.dtype if dtype is None else np.dtype(dtype)
        self.results.append((Spec((*self.batch, *shape), kind), source))
        return Array(layout.PLACE_RESULT, len(self.results) - 1, shape, kind)

    def info(self) -> Array:
        """The next result, which is LAPACK's `info`."""
        self.failure = self.result((), _I32)
        return self.failure

    def copied(self, number: int) -> Array:
        """Scratch memory that starts as a copy of an operand."""
        array = self._scratch(self._core[number], self.operands[number].dtype, True)
        self.copies.append((array.number, number, array.item_bytes * self.count))
        return array

    def scratch(self, shape: tuple[int, ...], dtype: np.dtype | None = None) -> Array:
        """Memory that each item of the batch uses anew."""
        return self._scratch(shape, self.dtype if dtype is None else np.dtype(dtype), False)

    def scratch_results(self, shape: tuple[int, ...], dtype: np.dtype) -> Array:
        """Memory for something of each item of the batch."""
        return self._scratch(shape, dtype, True)

    def _scratch(self, shape: tuple[int, ...], dtype: np.dtype, is_batched: bool) -> Array:
        array = Array(layout.PLACE_SCRATCH, self.scratch_bytes, shape, dtype, 0, is_batched)
        size = array.item_bytes * (self.count if is_batched else 1)
        self.scratch_bytes += (max(size, 1) + _ALIGNMENT - 1) // _ALIGNMENT * _ALIGNMENT
        return array

    def must_be_finite(self, array: Array) -> None:
        """Leaves out items with NaN or infinity, for which the routine might not end: their `info` says so."""
        self.guard = array

    def unpack(self, imaginary: Array, packed: Array, out: Array) -> None:
        """After the call: makes complex eigenvectors of those of a real matrix, whose pairs are two columns each."""
        self.unpacks.append((imaginary, packed, out))

    def workspaces(self, *dtypes: np.dtype) -> list[Workspace]:
        """Workspaces; each stands for two arguments in a row, memory and length."""
        return [Workspace(dtype) for dtype in dtypes]

    def call(self, routine: str, *arguments: Any) -> None:
        """Names the Fortran routine and its arguments: arrays, integers, characters, numbers as NumPy scalars, and
        workspaces, which are followed by their lengths."""
        self.routine = routine_address(self.letter + routine)
        if self.count and any(isinstance(argument, Workspace) for argument in arguments):
            self._ask(arguments)
        self.arguments = [made for argument in arguments for made in self._made(argument)]

    def _ask(self, arguments: Sequence[Any]) -> None:
        """Lets the routine tell the sizes of the workspaces; it looks at no array then."""
        nowhere = np.zeros(16, np.int64)
        keep: list[np.ndarray] = []
        for argument in arguments:
            if isinstance(argument, Workspace):
                keep += [argument.answer, argument.length]
            else:
                keep.append(nowhere if isinstance(argument, Array) else _constant(argument))
        table = (ctypes.c_int64 * (layout.TABLE_BYTES // 8))()
        table[: 2 * len(keep) : 2] = [content.__array_interface__["data"][0] for content in keep]
        image().fortran_batch(self.routine, 1, ctypes.addressof(table))

    def _made(self, argument: Any) -> list[Array]:
        if isinstance(argument, Array):
            return [argument]
        if isinstance(argument, Workspace):
            size = argument.accept_answer() if self.count else 1
            return [self.scratch((size,), argument.answer.dtype), self._fixed(argument.length)]
        return [self._fixed(_constant(argument))]

    def _fixed(self, content: np.ndarray) -> Array:
        self.constants.append(content)
        return Array(layout.PLACE_FIXED, content.__array_interface__["data"][0], (), content.dtype, 0, False)


def _constant(argument: Any) -> np.ndarray:
    """Memory that a Fortran routine can read a number or a character from."""
    if isinstance(argument, str):
        return np.frombuffer(argument.encode() + b"\0" * 7, np.uint8)
    return np.array([argument], np.int32) if isinstance(argument, int) else np.array([argument])


class Plan:
    """A finished call in memory that native code reads; `address` is valid while this object lives."""

    def __init__(self, built: CallBuilder, element_types: Sequence[int], scalars: Sequence[int]):
        self._keep: list[Any] = [built.constants]
        key = [
            word
            for spec, element_type in zip(built.operands, element_types)
            for word in (element_type, len(spec.shape), *spec.shape)
        ]
        results = [
            (
                spec.dtype.itemsize * math.prod(spec.shape),
                element_type_of(spec.dtype),
                len(spec.shape),
                self._words(spec.shape),
                source,
            )
            for spec, source in built.results
        ]
        unpacks = [array.record for arrays in built.unpacks for array in arrays]
        guard, failure = built.guard, built.failure
        fields = {
            layout.PLAN_ROUTINE: built.routine,
            layout.PLAN_COUNT: built.count,
            layout.PLAN_OPERANDS: len(built.operands),
            layout.PLAN_SCALARS: len(scalars),
            layout.PLAN_RESULTS: len(results),
            layout.PLAN_ARGUMENTS: len(built.arguments),
            layout.PLAN_COPIES: len(built.copies),
            layout.PLAN_UNPACKS: len(built.unpacks),
            layout.PLAN_KEY: self._words([*key, *scalars]),
            layout.PLAN_RESULT_RECORDS: self._records(results),
            layout.PLAN_ARGUMENT_RECORDS: self._records([array.record for array in built.arguments]),
            layout.PLAN_COPY_RECORDS: self._records(built.copies),
            layout.PLAN_UNPACK_RECORDS: self._records(unpacks),
            layout.PLAN_SCRATCH_BYTES: built.scratch_bytes,
            layout.PLAN_FLOAT_BYTES: built.real.itemsize,
        }
        if guard is not None and failure is not None:
            fields[layout.PLAN_GUARD] = self._words(guard.record)
            fields[layout.PLAN_GUARD_ITEM] = guard.item_bytes
            fields[layout.PLAN_INFO] = self._words(failure.record)
        if built.unpacks:
            fields[layout.PLAN_ORDER] = built.unpacks[0][1].rows
        self._plan = (ctypes.c_int64 * (layout.PLAN_BYTES // 8))()
        for place, value in fields.items():
            self._plan[place // 8] = value
        self.address = ctypes.addressof(self._plan)
        self.result_count = len(results)

    def follow_by(self, address: int) -> None:
        """Links the plan in front of another one."""
        self._plan[layout.PLAN_NEXT // 8] = address

    def _words(self, values: Sequence[int]) -> int:
        words = (ctypes.c_int64 * (len(values) + 1))(*values)
        self._keep.append(words)
        return ctypes.addressof(words)

    def _records(self, records: Sequence[Sequence[int]]) -> int:
        return self._words([word for record in records for word in record])
