"""The error that a bad module file gives."""

from pyiree.runtime.errors import PyireeError


class ModuleError(PyireeError, ValueError):
    """A `.vmfb` file is damaged, or asks for something that this runtime does not have."""
