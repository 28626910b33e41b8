"""The HAL's native imports as Python functions, on one device."""

import ctypes

import numpy as np
import pytest
from pyiree.runtime.hal import layout
from pyiree.runtime.hal.registry import get_device
from pyiree.runtime.modules.hal import _NATIVE, HalModule
from pyiree.runtime.native.image import image
from pyiree.runtime.native.layout import ACCESS_ORIGIN_HOST, SLOW, SUSPEND
from pyiree.runtime.native.python_objects import read_word
from pyiree.runtime.vm.errors import VmError


class Hal:
    """`hal.call("fence.create", device, 0)`: slots in, the first result slot out; failures raise VmError."""

    def __init__(self, driver):
        self.device_object = get_device(driver)
        self.device = self.device_object.address
        self.module = HalModule([self.device_object])
        self.state = ctypes.addressof(self.module.state)
        self._kept = []

    def call(self, name, *slots, results=1):
        arguments = (ctypes.c_int64 * (len(slots) + 1))(*slots)
        outcome = (ctypes.c_int64 * 80)()
        function = getattr(image(), _NATIVE[name])
        while True:
            status = function(self.state, ctypes.addressof(arguments), ctypes.addressof(outcome))
            if status != SUSPEND:
                break
            self.device_object.executor.start_if_wanted()
        if status not in (0, SLOW):
            raise VmError(status, ctypes.string_at(ctypes.addressof(outcome) + 8, outcome[0]).decode())
        return outcome[0] if results == 1 else list(outcome[:results])

    def buffer(self, size, content=None):
        address = self.call("device.queue.alloca", self.device, -1, 0, 0, 0, 48, 3075, size, 0)
        if content is not None:
            self.array(address)[:] = content
        return address

    def array(self, buffer):
        length = read_word(buffer + layout.BUFFER_LENGTH)
        root = read_word(buffer + layout.BUFFER_ROOT) or buffer
        data = read_word(root + layout.BUFFER_DATA) + read_word(buffer + layout.BUFFER_OFFSET)
        return np.frombuffer((ctypes.c_ubyte * length).from_address(data), np.uint8)

    def text(self, data):
        """A vm.buffer over bytes."""
        memory = ctypes.create_string_buffer(data, len(data))
        self._kept.append(memory)
        return image().buffer_wrap(ctypes.addressof(memory), len(data), ACCESS_ORIGIN_HOST, 0)

    def fence(self):
        return self.call("fence.create", self.device, 0)

    def wait(self, *fences, timeout=-1):
        return self.call("fence.await", timeout, 0, len(fences), *fences)


@pytest.fixture(params=["local-sync", "local-task"])
def hal(request):
    return Hal(request.param)


@pytest.fixture
def null_hal():
    return Hal("null")
