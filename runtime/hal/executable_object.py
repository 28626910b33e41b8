"""The native object of an executable: its export records, its environment and the mapping they lie in."""

from pyiree.runtime.hal import layout as hal
from pyiree.runtime.native import layout
from pyiree.runtime.native.intrinsics import (
    I32,
    calloc,
    extern,
    free,
    load_i64,
    native,
    store_i64,
    symbol_address,
)
from pyiree.runtime.native.objects import object_allocate

_munmap = extern("munmap", 2, I32)
_destroy_address = symbol_address("hal_executable_destroy")


@native("int64(int64,int64,int64,int64)")
def hal_executable_create(mapping, mapping_bytes, count, constant_bytes):
    """An executable of `count` zeroed export records, which owns the mapping; 0 when memory is short."""
    executable = object_allocate(hal.EXECUTABLE_BYTES, layout.TYPE_HAL_EXECUTABLE, _destroy_address())
    exports = calloc(1, hal.EXPORT_BYTES * count + 8)
    environment = calloc(1, hal.ENVIRONMENT_BYTES + constant_bytes)
    if executable == 0 or exports == 0 or environment == 0:
        free(executable)
        free(exports)
        free(environment)
        return 0
    store_i64(environment + hal.ENVIRONMENT_CONSTANTS, environment + hal.ENVIRONMENT_BYTES)
    for k in range(count):
        store_i64(exports + hal.EXPORT_BYTES * k + hal.EXPORT_ENVIRONMENT, environment)
    store_i64(executable + hal.EXECUTABLE_EXPORTS, exports)
    store_i64(executable + hal.EXECUTABLE_COUNT, count)
    store_i64(executable + hal.EXECUTABLE_ENVIRONMENT, environment)
    store_i64(executable + hal.EXECUTABLE_MAPPING, mapping)
    store_i64(executable + hal.EXECUTABLE_MAPPING_BYTES, mapping_bytes)
    return executable


@native("void(int64)")
def hal_executable_destroy(executable):
    _munmap(
        load_i64(executable + hal.EXECUTABLE_MAPPING), load_i64(executable + hal.EXECUTABLE_MAPPING_BYTES)
    )
    free(load_i64(executable + hal.EXECUTABLE_EXPORTS))
    free(load_i64(executable + hal.EXECUTABLE_ENVIRONMENT))
    free(executable)
