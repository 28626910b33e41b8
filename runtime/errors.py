"""The base of the errors that pyiree raises itself: the runtime's, the compiler's and the front end's."""


class PyireeError(Exception):
    """Base of the errors that pyiree raises itself."""
