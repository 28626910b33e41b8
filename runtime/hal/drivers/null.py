"""The driver `null`: every operation is accepted and nothing runs. For measuring what the host side costs."""

from pyiree.runtime.hal.device import Device
from pyiree.runtime.hal.layout import DEVICE_NULL
from pyiree.runtime.task.executor import calling_thread_executor


def create_device(index: int) -> Device:
    return Device("null", DEVICE_NULL, calling_thread_executor(), index)
