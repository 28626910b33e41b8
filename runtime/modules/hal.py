"""The module `hal`, version 7, that bytecode imports.

Enters: devices. Leaves: `HalModule`, whose `import_module()` a VM context resolves imports against. Imports
on the path of a call are native; those that happen once a program are here.
"""

import ctypes
import fnmatch
import math
import sys

import numpy as np
from pyiree.runtime.hal import layout
from pyiree.runtime.hal.device import Device
from pyiree.runtime.hal.element_types import dtype_of
from pyiree.runtime.hal.executable import create_executable, supported_format
from pyiree.runtime.native.image import image
from pyiree.runtime.native.layout import (
    BUFFER_DATA,
    BUFFER_LENGTH,
    FAILED_PRECONDITION,
    INCOMPATIBLE,
    INVALID_ARGUMENT,
    OBJECT_TYPE,
    TYPE_BUFFER,
    TYPE_HAL_BUFFER_VIEW,
    TYPE_HAL_DEVICE,
)
from pyiree.runtime.native.python_objects import read_word
from pyiree.runtime.vm.context import ImportModule
from pyiree.runtime.vm.errors import VmError
from pyiree.runtime.vmfb.abi import HAL_IMPORTS, HAL_MINIMUM_VERSION

_PREFIX = "hal."
_NATIVE = {
    "devices.count": "hal_devices_count",
    "devices.get": "hal_devices_get",
    "device.allocator": "hal_device_allocator",
    "device.queue.alloca": "hal_import_queue_alloca",
    "device.queue.dealloca": "hal_import_queue_dealloca",
    "device.queue.fill": "hal_import_queue_fill",
    "device.queue.update": "hal_import_queue_update",
    "device.queue.copy": "hal_import_queue_copy",
    "device.queue.read": "hal_import_queue_read",
    "device.queue.write": "hal_import_queue_write",
    "device.queue.barrier": "hal_import_queue_barrier",
    "device.queue.execute": "hal_import_queue_execute",
    "device.queue.execute.indirect": "hal_import_queue_execute_indirect",
    "device.queue.flush": "hal_import_queue_flush",
    "allocator.allocate": "hal_allocator_allocate",
    "allocator.import": "hal_allocator_import",
    "allocator.select": "hal_allocator_select",
    "buffer.assert": "hal_import_buffer_assert",
    "buffer.subspan": "hal_import_buffer_subspan",
    "buffer.length": "hal_import_buffer_length",
    "buffer.load": "hal_import_buffer_load",
    "buffer.store": "hal_import_buffer_store",
    "buffer.allocation.preserve": "hal_import_buffer_allocation",
    "buffer.allocation.discard": "hal_import_buffer_allocation",
    "buffer.allocation.is_terminal": "hal_import_buffer_allocation",
    "buffer_view.create": "hal_import_buffer_view_create",
    "buffer_view.assert": "hal_import_buffer_view_assert",
    "buffer_view.buffer": "hal_import_buffer_view_buffer",
    "buffer_view.element_type": "hal_import_buffer_view_element_type",
    "buffer_view.encoding_type": "hal_import_buffer_view_encoding_type",
    "buffer_view.rank": "hal_import_buffer_view_rank",
    "buffer_view.dim": "hal_import_buffer_view_dim",
    "command_buffer.create": "hal_import_command_buffer_create",
    "command_buffer.finalize": "hal_import_command_buffer_finalize",
    "command_buffer.execution_barrier": "hal_import_command_buffer_execution_barrier",
    "command_buffer.fill_buffer": "hal_import_command_buffer_fill_buffer",
    "command_buffer.update_buffer": "hal_import_command_buffer_update_buffer",
    "command_buffer.copy_buffer": "hal_import_command_buffer_copy_buffer",
    "command_buffer.dispatch": "hal_import_command_buffer_dispatch",
    "command_buffer.dispatch.indirect": "hal_import_command_buffer_dispatch_indirect",
    "command_buffer.advise_buffer": "hal_import_command_buffer_note",
    "command_buffer.begin_debug_group": "hal_import_command_buffer_note",
    "command_buffer.end_debug_group": "hal_import_command_buffer_note",
    "executable.lookup.function": "hal_import_executable_lookup_function",
    "fence.create": "hal_import_fence_create",
    "fence.join": "hal_import_fence_join",
    "fence.query": "hal_import_fence_query",
    "fence.signal": "hal_import_fence_signal",
    "fence.fail": "hal_import_fence_fail",
    "fence.await": "hal_import_fence_await",
    "ex.file.from_memory": "hal_import_file_from_memory",
}


def _bytes_of(ref: int, what: str) -> bytes:
    """The bytes of a vm.buffer."""
    if not ref:
        raise VmError(FAILED_PRECONDITION, f"{what} is a null reference")
    if read_word(ref + OBJECT_TYPE) != TYPE_BUFFER:
        raise VmError(INVALID_ARGUMENT, f"{what} is not a buffer of bytes")
    return ctypes.string_at(read_word(ref + BUFFER_DATA), read_word(ref + BUFFER_LENGTH))


class HalModule:
    """The HAL as one program sees it: its devices, and what its executables demand."""

    def __init__(self, devices: list[Device]):
        if not 1 <= len(devices) <= layout.MAXIMUM_DEVICES:
            raise ValueError(f"a program takes 1 to {layout.MAXIMUM_DEVICES} devices, not {len(devices)}")
        self.devices = devices
        self.needs_alignment = False  # an executable expects 64-byte aligned memory
        self.state = (ctypes.c_int64 * (layout.STATE_BYTES // 8))()
        self.state[layout.STATE_DEVICE_COUNT // 8] = len(devices)
        for index, device in enumerate(devices):
            self.state[layout.STATE_DEVICES // 8 + index] = device.address

    def import_module(self) -> ImportModule:
        """Every import of the module by its name."""
        native = image()
        functions = {name: native.address(export) for name, export in _NATIVE.items()}
        functions["device.query.i64"] = self._device_query
        functions["executable.create"] = self._executable_create
        functions["buffer_view.trace"] = self._buffer_view_trace
        conventions = {name.removeprefix(_PREFIX): text for name, text in HAL_IMPORTS.items()}
        state = ctypes.addressof(self.state)
        return ImportModule(functions, state, HAL_MINIMUM_VERSION, conventions, keep_alive=self)

    def _device_query(self, device: int, category: int, key: int) -> tuple[int, int]:
        if not device or read_word(device + OBJECT_TYPE) != TYPE_HAL_DEVICE:
            raise VmError(INVALID_ARGUMENT, "device.query needs a device")
        asked = _bytes_of(category, "the category of a device query").decode(errors="replace")
        pattern = _bytes_of(key, "the key of a device query").decode(errors="replace")
        queried = next(d for d in self.devices if d.address == device)
        if asked == "hal.device.id":
            return 1, int(fnmatch.fnmatchcase(queried.id, pattern))
        if asked == "hal.executable.format":
            return 1, int(pattern == supported_format())
        if asked == "hal.device" and pattern == "concurrency":
            return 1, queried.executor.workers + 1
        return 0, 0

    def _executable_create(self, device: int, affinity: int, kind: int, data: int, constants: int) -> int:
        name = _bytes_of(kind, "an executable's format").decode(errors="replace")
        if name != supported_format():
            raise VmError(
                INCOMPATIBLE, f"executables of format {name} cannot run here, {supported_format()} can"
            )
        values = np.frombuffer(_bytes_of(constants, "constants"), np.uint32).tolist() if constants else []
        address, own = create_executable(_bytes_of(data, "an executable's data"), values)
        if not own:
            self.needs_alignment = True
        return address

    def _buffer_view_trace(self, key: int, views: list[tuple[int]]) -> None:
        """Prints tensors to the standard error stream, as `flow.tensor.trace` asks."""
        print(f"=== {_bytes_of(key, 'a trace key').decode(errors='replace')} ===", file=sys.stderr)
        for (view,) in views:
            if not view or read_word(view + OBJECT_TYPE) != TYPE_HAL_BUFFER_VIEW:
                raise VmError(INVALID_ARGUMENT, "buffer_view.trace needs buffer views")
            rank = read_word(view + layout.VIEW_RANK)
            shape = [read_word(view + layout.VIEW_DIMS + 8 * k) for k in range(rank)]
            data = read_word(read_word(view + layout.VIEW_BUFFER) + layout.BUFFER_DATA)
            data += read_word(view + layout.VIEW_OFFSET)
            raw = ctypes.string_at(data, read_word(view + layout.VIEW_LENGTH))
            dtype = dtype_of(read_word(view + layout.VIEW_ELEMENT_TYPE))
            array = np.frombuffer(raw, dtype, count=math.prod(shape)).reshape(shape)
            print(f"{'x'.join(map(str, [*shape, dtype.name]))}={array}", file=sys.stderr)
