"""The native runtime in this process: its shared object, loaded; its functions by name.

Enters: EXPORTS and the shared object. Leaves: `image()`, whose attributes are callable from Python and whose
`address(name)` gives a function's address for native callers.
"""

import ctypes

from pyiree.runtime.fork import fork_safe_lock
from pyiree.runtime.native.exports import EXPORT_PREFIX, EXPORTS
from pyiree.runtime.native.imports import fill_imports
from pyiree.runtime.native.object_code import NativeBuildError, object_code

_CTYPES = {"int64": ctypes.c_int64, "float32": ctypes.c_float, "float64": ctypes.c_double, "void": None}


class Image:
    """The loaded native functions: `image.name(…)` calls one without the GIL; `address` and `holding_gil`."""

    def __init__(self, shared_object: bytes):
        from pyiree.runtime.hal.elf_loader import load_elf

        # It stays mapped as long as the process lives: native threads may be in it.
        symbols = load_elf(shared_object).symbols
        unknown = fill_imports(symbols)
        if unknown:
            raise NativeBuildError(f"the native runtime calls {', '.join(unknown)}, which no library here has")
        self._addresses = {name: symbols.get(EXPORT_PREFIX + name) for name in EXPORTS}
        missing = [name for name, address in self._addresses.items() if not address]
        if missing:
            raise NativeBuildError(f"the native runtime lacks {', '.join(missing)}")

    def address(self, name: str) -> int:
        """The address of an export."""
        return self._addresses[name]

    def _callable(self, name: str, prototype):
        result, arguments = EXPORTS[name][2][:-1].split("(")
        types = [_CTYPES[a] for a in arguments.split(",") if a]
        return prototype(_CTYPES[result], *types)(self._addresses[name])

    def holding_gil(self, name: str):
        """The export as a callable that keeps the GIL: for short calls, at half the cost."""
        return self._callable(name, ctypes.PYFUNCTYPE)

    def __getattr__(self, name: str):
        if name not in EXPORTS:
            raise AttributeError(f"the native runtime exports no {name!r}")
        function = self._callable(name, ctypes.CFUNCTYPE)
        setattr(self, name, function)
        return function


_lock = fork_safe_lock()
_image: Image | None = None


def image() -> Image:
    """The native runtime of this process, built or loaded at the first call."""
    global _image
    if _image is None:
        with _lock:
            if _image is None:
                _image = Image(object_code())
    return _image
