"""What a running program can end with."""

from pyiree.runtime.vmfb.abi import STATUS_NAMES
from pyiree.runtime.vmfb.errors import PyireeError


class VmError(PyireeError, RuntimeError):
    """A program or an import failed: an IREE status code, a message, and where it happened."""

    def __init__(self, status: int, message: str = "", trace: tuple[str, ...] = ()):
        self.status = status
        self.message = message
        self.trace = trace
        name = STATUS_NAMES[status] if 0 <= status < len(STATUS_NAMES) else f"status {status}"
        text = f"{name}: {message}" if message else name
        super().__init__(f"{text} (in {', called from '.join(trace)})" if trace else text)


class ClosedError(PyireeError, RuntimeError):
    """A module or context is used after it was closed."""
