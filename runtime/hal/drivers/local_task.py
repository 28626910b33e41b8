"""The driver `local-task`: dispatches run on the process's worker threads and on the thread that waits."""

from pyiree.runtime.hal.device import Device
from pyiree.runtime.hal.layout import DEVICE_TASK
from pyiree.runtime.task.executor import shared_executor


def create_device(index: int) -> Device:
    return Device("local-task", DEVICE_TASK, shared_executor(), index)
