"""The driver `local-sync`: everything runs at once, in order, on the calling thread."""

from pyiree.runtime.hal.device import Device
from pyiree.runtime.hal.layout import DEVICE_SYNC
from pyiree.runtime.task.executor import calling_thread_executor


def create_device(index: int) -> Device:
    return Device("local-sync", DEVICE_SYNC, calling_thread_executor(), index)
