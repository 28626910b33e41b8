"""The base of the errors that pyiree raises itself, and the errors that bad module and object files give."""


class PyireeError(Exception):
    """Base of the errors of the runtime, the compiler and the front end."""


class ModuleError(PyireeError, ValueError):
    """A `.vmfb` file is damaged, or asks for something that this runtime does not have."""


class LinkError(PyireeError):
    """Objects cannot be linked into one that needs nothing else."""
