"""The base of the errors that pyiree raises itself, and the error that a bad module file gives."""


class PyireeError(Exception):
    """Base of the errors of the runtime, the compiler and the front end."""


class ModuleError(PyireeError, ValueError):
    """A `.vmfb` file is damaged, or asks for something that this runtime does not have."""
