"""The error that a bad module file gives."""


class ModuleError(ValueError):
    """A `.vmfb` file is damaged, or asks for something that this runtime does not have."""
