"""Sessions: load a `.vmfb` on devices and call its functions.

Enters: a `.vmfb` (a path, which is memory-mapped, or bytes) and device names. Leaves: `Module`, whose
functions take NumPy arrays, device arrays or anything array-like, and give device arrays:

    module = load("add.vmfb")
    result = module.main(x, y)                      # DeviceArray
    add = module["main"].bind([((4,), "float32")] * 2, [((4,), "float32")])
    [z] = add([x, y])                               # NumPy arrays in and out, the fast way

Nothing of the compiler or of jax is imported.
"""

import os
import reprlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from pyiree.runtime.hal import layout
from pyiree.runtime.hal.device import Device, memory_pool
from pyiree.runtime.hal.device_array import (
    ANY_MEMORY_TYPE,
    ANY_USAGE,
    DeviceArray,
    view_of_buffer,
    wait_for_fence,
)
from pyiree.runtime.hal.element_types import ElementTypeError
from pyiree.runtime.hal.executable import supported_format
from pyiree.runtime.hal.registry import get_device
from pyiree.runtime.modules.hal import HalModule
from pyiree.runtime.native.image import image
from pyiree.runtime.native.layout import INCOMPATIBLE, OBJECT_COUNT, OBJECT_TYPE, TYPE_HAL_BUFFER_VIEW
from pyiree.runtime.native.python_objects import read_word
from pyiree.runtime.program import Program, Spec
from pyiree.runtime.vm import context as vm
from pyiree.runtime.vm.errors import VmError
from pyiree.runtime.vm.module import Module as VmModule
from pyiree.runtime.vm.values import Ref
from pyiree.runtime.vmfb.digest import executable_digest, stated_digest
from pyiree.runtime.vmfb.errors import ModuleError
from pyiree.runtime.vmfb.host_calls import LAPACK_MODULE

_HIDDEN_EXPORTS = ("__init", "__deinit")
_COMPILED_ALIGNMENT = 64


def load(
    source: str | os.PathLike[str] | bytes | bytearray | memoryview,
    *,
    devices: str | Sequence[str] = ("local-task",),
    providers: dict[str, vm.ImportModule] | None = None,
) -> "Module":
    """Opens a `.vmfb` on devices, named by their drivers; a driver named twice gives two devices.

    `providers` are modules to import from besides `hal`.
    """
    names = (devices,) if isinstance(devices, str) else tuple(devices)
    chosen = [get_device(name, names[:index].count(name)) for index, name in enumerate(names)]
    if isinstance(source, (bytes, bytearray, memoryview)):
        module = VmModule(bytes(source))
    else:
        module = VmModule.load(source)
    return Module(module, chosen, providers or {})


def _check_digest(module: VmModule) -> None:
    """Compares the executables with the digest that our compiler leaves in a module."""
    definition = module.definition
    stated = stated_digest([(a.key, a.value) for a in definition.attrs])
    if stated is None:
        return
    if stated != executable_digest(segment.data for segment in definition.rodata_segments):
        raise ModuleError(f"{module.name}: its executables do not match their digest; the file is damaged")


def _host_modules(module: VmModule) -> dict[str, vm.ImportModule]:
    """The modules of the runtime, besides `hal`, that a program imports from."""
    if any(dependency.name == LAPACK_MODULE for dependency in module.definition.dependencies):
        from pyiree.runtime.modules.lapack import lapack_module

        imported = [item.full_name.partition(".") for item in module.definition.imported_functions]
        return {LAPACK_MODULE: lapack_module({name for owner, _, name in imported if owner == LAPACK_MODULE})}
    return {}


class Module:
    """A loaded module. Its exported functions are items and attributes: `module["main"]`, `module.main(x)`."""

    def __init__(self, module: VmModule, devices: list[Device], providers: dict[str, vm.ImportModule]):
        _check_digest(module)
        self.devices = devices
        self.name = module.name
        self._hal = HalModule(devices)
        own = {"hal": self._hal.import_module(), **_host_modules(module)}
        try:
            self.context = vm.Context(module, {**own, **providers})
        except VmError as error:
            if error.status == INCOMPATIBLE:  # which says what is wanted, as IREE's modules do too
                error.add_note(f"this machine runs executables of the format {supported_format()}")
            raise
        self._functions: dict[str, Function] = {}

    @property
    def executor(self) -> Any:
        """Where calls wait and help."""
        return self.devices[0].executor

    @property
    def needs_alignment(self) -> bool:
        """Whether arguments must be 64-byte aligned: iree-compile's kernels expect it."""
        return self._hal.needs_alignment

    @property
    def exports(self) -> tuple[str, ...]:
        """The names of the functions that can be called."""
        return tuple(name for name in self.context.module.exports if name not in _HIDDEN_EXPORTS)

    @property
    def functions(self) -> dict[str, "Function"]:
        """The exported functions by name."""
        return {name: self[name] for name in self.exports}

    def __getitem__(self, name: str) -> "Function":
        if name not in self._functions:
            if name not in self.exports:
                known = ", ".join(self.exports) or "none"
                raise KeyError(f"{self.name} exports no function {name!r}; its exports: {known}")
            self._functions[name] = Function(self, name)
        return self._functions[name]

    def __getattr__(self, name: str) -> "Function":
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def close(self) -> None:
        """Lets go of the module's state; results that were given out stay valid."""
        self.context.close()

    def __enter__(self) -> "Module":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Module {self.name}: {', '.join(self.exports)} on {', '.join(map(repr, self.devices))}>"


class Function:
    """An exported function. Calling it gives device arrays: one as it is, several as a tuple."""

    def __init__(self, module: Module, name: str):
        self.module = module
        self.context = module.context
        self.name = name
        self._function = self.context.function(name)
        self.reflection = self.context.module.reflection(name)
        self.is_async = self.reflection.get("iree.abi.model") == "coarse-fences"
        convention = self._function.convention
        # An asynchronous function takes two fences more: what to wait for, and what to signal.
        self._codes = convention.arguments[:-2] if self.is_async else convention.arguments
        self._result_codes = convention.results
        self.prepared = self._function.prepare()

    @property
    def declaration(self) -> str:
        """The function as its compiler wrote it down, if it did."""
        return self.reflection.get("iree.abi.declaration", self.name)

    @property
    def takes_only_views(self) -> bool:
        """Whether it is synchronous and all of its arguments and results are arrays."""
        return not self.is_async and set(self._codes) | set(self._result_codes) <= {"r"}

    def check_counts(self, arguments: int, results: int) -> None:
        """Raises if the function takes or gives another number of values."""
        if (arguments, results) != (len(self._codes), len(self._result_codes)):
            raise TypeError(
                f"{self.name} takes {len(self._codes)} values and gives {len(self._result_codes)}; "
                f"it was to be bound to {arguments} and {results}"
            )

    def bind(self, arguments: Sequence[Spec], results: Sequence[Spec]) -> Program:
        """The function for NumPy arrays of these shapes and dtypes only, which is called much faster."""
        return Program(self, arguments, results)

    def __call__(self, *arguments: Any) -> Any:
        results = self._call(arguments)
        if not results:
            return None
        return results[0] if len(results) == 1 else tuple(results)

    def call_numpy(self, arrays: Sequence[Any]) -> list[np.ndarray]:
        """NumPy arrays of any kind in; new, writable NumPy arrays out."""
        results = self._call(arrays)
        return [np.array(r) if isinstance(r, DeviceArray) else np.asarray(r) for r in results]

    def _call(self, arguments: Sequence[Any]) -> list[Any]:
        if len(arguments) != len(self._codes):
            count = f"{len(self._codes)} argument{'' if len(self._codes) == 1 else 's'}"
            raise TypeError(f"{self.name} takes {count}, not {len(arguments)}: {self.declaration}")
        lent: list[_Lent] = []
        values: list[Any] = []
        fences: list[Ref] = []
        for code, argument in zip(self._codes, arguments):
            if code != "r":
                values.append(argument)
            elif isinstance(argument, DeviceArray):
                fence = argument.fence
                if fence is not None and self.is_async:
                    fences.append(fence)
                elif fence is not None:
                    argument.block_until_ready()
                values.append(argument.view)
            elif isinstance(argument, np.ma.MaskedArray):
                raise TypeError(
                    f"{self.name}: argument {len(values)} is a masked array, whose mask would be lost;"
                    " pass .filled() values, or .data and .mask as two arguments"
                )
            else:
                try:
                    if self.is_async:
                        values.append(DeviceArray.from_numpy(argument).view)
                    else:
                        lent.append(_Lent(argument, self.module.needs_alignment))
                        values.append(lent[-1].view)
                except ElementTypeError:
                    raise ElementTypeError(
                        f"{self.name}: argument {len(values)} is {_in_words(argument)},"
                        " and devices have no element type for it"
                    ) from None
        if self.is_async:
            return self._call_async(values, fences)
        executor = self.module.executor
        after = executor.last_submission
        try:
            results = self._drive(values)
        except BaseException:
            executor.cancel(after)
            raise
        finally:
            for item in lent:
                item.take_back(executor, after)
        return [self._wrap(value, None) for value in results]

    def _drive(self, values: list[Any]) -> list[Any]:
        executor = self.module.executor
        invocation = self._function.start(*values)
        while not invocation.step():
            executor.start_if_wanted()
        return invocation.results()

    def _call_async(self, values: list[Any], fences: list[Ref]) -> list[Any]:
        executor = self.module.executor
        for fence in fences[:-1]:  # one is handed over; the others are waited for here
            wait_for_fence(fence, executor)
        wait = fences[-1] if fences else None
        signal = Ref(image().hal_fence_create(executor.address))
        results = self._drive([*values, wait, signal])
        executor.start_if_wanted()
        return [self._wrap(value, signal) for value in results]

    def _wrap(self, value: Any, fence: Ref | None) -> Any:
        if not isinstance(value, Ref):
            return value
        if read_word(value.address + OBJECT_TYPE) != TYPE_HAL_BUFFER_VIEW:
            raise TypeError(f"{self.name} gave a reference that is no array")
        return DeviceArray(value, fence, self.module.executor)

    def __repr__(self) -> str:
        return f"<Function {self.declaration}>"


def _in_words(argument: Any) -> str:
    """What was given that is no array of numbers."""
    array = np.asarray(argument)
    if array.ndim:
        return f"an array of {array.dtype}"
    value = array.item()
    if isinstance(value, int):
        return "an int of more than 64 bits"
    return "None" if value is None else f"the {type(value).__name__} {reprlib.repr(value)}"


class _Lent:
    """An array whose memory a synchronous call reads in place."""

    def __init__(self, value: Any, needs_alignment: bool):
        array = np.asarray(value)
        native = array.dtype.isnative
        array = array if native else array.astype(array.dtype.newbyteorder("="))
        array = np.require(array, requirements=("C", "A"))
        if needs_alignment and array.__array_interface__["data"][0] % _COMPILED_ALIGNMENT:
            array = _aligned_copy(array)
        self._array = array
        size = array.nbytes
        buffer = image().hal_buffer_wrap(
            array.__array_interface__["data"][0],
            size,
            ANY_MEMORY_TYPE,
            ANY_USAGE,
            layout.BUFFER_KIND_BORROWED,
            0,
        )
        if not buffer:
            raise MemoryError("no memory for a buffer")
        self._buffer = Ref(buffer)
        self.view = view_of_buffer(self._buffer, size, array.shape, array.dtype)

    def take_back(self, executor: Any, after: int) -> None:
        """Ends the loan: what the module still holds gets its own memory."""
        self.view = None
        if read_word(self._buffer.address + OBJECT_COUNT) == 1:
            return
        executor.drain(after)
        if not image().buffer_keep(self._buffer.address, memory_pool()):
            raise MemoryError("no memory to keep an argument")


def _aligned_copy(array: np.ndarray) -> np.ndarray:
    raw = np.empty(array.nbytes + _COMPILED_ALIGNMENT, np.uint8)
    start = -raw.__array_interface__["data"][0] % _COMPILED_ALIGNMENT
    copy = raw[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    np.copyto(copy, array)
    return copy
