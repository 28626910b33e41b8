"""The driver registry: device names to the drivers that make them. The seam for further kinds of device.

A driver is a function `create_device(index) -> Device`. It must be registered before a module is loaded on
it.
"""

from collections.abc import Callable

from pyiree.runtime.fork import fork_safe_lock
from pyiree.runtime.hal.device import Device
from pyiree.runtime.hal.drivers import local_sync, local_task, null
from pyiree.runtime.vmfb.errors import PyireeError

_drivers: dict[str, Callable[[int], Device]] = {
    "local-task": local_task.create_device,
    "local-sync": local_sync.create_device,
    "null": null.create_device,
}
_devices: dict[tuple[str, int], Device] = {}
_lock = fork_safe_lock()


class UnknownDriverError(PyireeError, ValueError):
    """No driver of that name is registered."""


def register_driver(name: str, create_device: Callable[[int], Device]) -> None:
    """Makes a driver known by a name."""
    _drivers[name] = create_device


def driver_names() -> list[str]:
    """The registered drivers."""
    return sorted(_drivers)


def get_device(name: str, index: int = 0) -> Device:
    """The device `index` of a driver, made at the first call and then kept for the process."""
    if name not in _drivers:
        import difflib  # only for messages

        near = difflib.get_close_matches(name, driver_names(), 1)
        advice = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(driver_names())}"
        raise UnknownDriverError(f"no driver is called {name!r}; {advice}")
    with _lock:
        if (name, index) not in _devices:
            _devices[name, index] = _drivers[name](index)
        return _devices[name, index]
