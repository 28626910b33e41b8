"""The base of the errors that pyiree raises itself, and those of settings and of bad module and object files."""


class PyireeError(Exception):
    """Base of the errors of the runtime, the compiler and the front end."""


class ConfigError(PyireeError, ValueError):
    """A setting or its PYIREE_* variable holds something that it can't."""


class ModuleError(PyireeError, ValueError):
    """A `.vmfb` file is damaged, or asks for something that this runtime does not have."""


class LinkError(PyireeError):
    """Objects cannot be linked into one that needs nothing else."""
