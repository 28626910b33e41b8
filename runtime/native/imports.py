"""What the native runtime calls: functions of the C library and of Python.

Enters: the symbols of its shared object, in memory. Leaves: each word named `import.…` points to that function.
"""

import ctypes

IMPORT_PREFIX = "import."


def fill_imports(symbols: dict[str, int]) -> list[str]:
    """Says where the functions are that a loaded shared object calls; gives those that no library has."""
    missing = []
    libraries = (ctypes.pythonapi, ctypes.CDLL(None), ctypes.CDLL("libm.so.6"))
    for symbol, address in symbols.items():
        if symbol.startswith(IMPORT_PREFIX):
            name = symbol.removeprefix(IMPORT_PREFIX)
            function = next((getattr(library, name) for library in libraries if hasattr(library, name)), None)
            if function is None:
                missing.append(name)
                continue
            ctypes.c_void_p.from_address(address).value = ctypes.cast(function, ctypes.c_void_p).value
    return missing
