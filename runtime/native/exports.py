"""What the native image exports: name → (module, function, signature). Pure data.

To add a native function, decorate it with `native(signature)` in any module of the runtime and list it here;
functions that it calls need no entry. Types: int64, float32, float64, and void as a result.
"""

_OBJECTS = "pyiree.runtime.native.objects"


def _rows(module: str, **functions: str) -> dict[str, tuple[str, str, str]]:
    return {name: (module, name, signature) for name, signature in functions.items()}


EXPORTS: dict[str, tuple[str, str, str]] = {
    **_rows(
        _OBJECTS,
        retain="void(int64)",
        release="void(int64)",
        python_object_create="int64(int64,int64,int64)",
        python_object_destroy="void(int64)",
        take_pending="int64()",
        buffer_wrap="int64(int64,int64,int64,int64)",
        buffer_allocate="int64(int64,int64)",
        buffer_destroy="void(int64)",
        list_allocate="int64(int64,int64)",
        list_resize="int64(int64,int64)",
        list_destroy="void(int64)",
    ),
}
