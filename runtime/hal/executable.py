"""Executables: kernels from an embedded ELF, as the native object that command buffers name.

Enters: the bytes that a module gives `hal.executable.create`. Leaves: the address of the native object, whose
export records have the kernels' addresses and what a dispatch of each must pass.

A library whose header's name begins with "pyiree." has our own compiler's kernels: they keep denormals
themselves and take any element alignment. All others get denormals flushed to zero around their kernels and
64-byte aligned memory, as their compiler expects.
"""

import ctypes
import functools
import struct
from collections.abc import Sequence

from pyiree.runtime.hal import layout
from pyiree.runtime.hal.elf_loader import ElfError, LoadedElf, load_elf
from pyiree.runtime.hal.processor import host_architecture, host_features, processor_data
from pyiree.runtime.native.image import image
from pyiree.runtime.task.layout import LOCAL_BYTES, WORK_FLUSH_DENORMALS, WORK_SEQUENTIAL
from pyiree.runtime.vmfb import abi
from pyiree.runtime.vmfb.errors import PyireeError

OWN_LIBRARY_PREFIX = b"pyiree."
_MAXIMUM_EXPORTS = 1 << 16
_FORMATS = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "ptr": "Q"}


class ExecutableError(PyireeError, ValueError):
    """An executable can't be loaded: it is damaged, or not for this machine."""


@functools.cache
def supported_format() -> str | None:
    """The executable format of this machine."""
    return abi.EXECUTABLE_FORMATS.get(host_architecture())


def create_executable(data: bytes | memoryview, constants: Sequence[int] = ()) -> tuple[int, bool]:
    """The native object, which the caller owns, and whether our own compiler made the kernels."""
    try:
        elf = load_elf(data)
        try:
            return _create(elf, constants)
        except BaseException:
            elf.unmap()
            raise
    except ElfError as error:
        raise ExecutableError(str(error)) from None


def _read(elf: LoadedElf, struct_layout: abi.StructLayout, address: int, field: str) -> int:
    offset, kind = struct_layout.fields[field]
    size = struct.calcsize("<" + _FORMATS[kind])
    if not elf.contains(address + offset, size):
        raise ElfError("a table of the executable's library lies outside of it")
    return struct.unpack("<" + _FORMATS[kind], ctypes.string_at(address + offset, size))[0]


def _word(elf: LoadedElf, address: int) -> int:
    if not elf.contains(address, 8):
        raise ElfError("a table of the executable's library lies outside of it")
    return ctypes.c_uint64.from_address(address).value


def _query_library(elf: LoadedElf) -> int:
    """The address of the library record."""
    query = elf.symbols.get(abi.LIBRARY_QUERY_SYMBOL)
    if query is None or not elf.is_code(query):
        raise ElfError(f"the executable has no function {abi.LIBRARY_QUERY_SYMBOL}")
    environment = (ctypes.c_uint64 * (layout.ENVIRONMENT_BYTES // 8))()
    function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p)(query)

    def ask(*words: int) -> int | None:
        environment[layout.ENVIRONMENT_PROCESSOR // 8 :] = words
        return function(abi.LIBRARY_VERSION, ctypes.addressof(environment))

    library = ask(*processor_data())
    if not library:
        # What it would miss of a processor that has everything else.
        bits = abi.X86_64_FEATURE_BITS
        needed = {name for name, bit in bits.items() if not ask(~(1 << bit), *[-1] * 7)}
        lacking = ", ".join(sorted(needed - host_features())) or "processor features"
        raise ExecutableError(
            f"the executable needs {lacking}, which this machine does not have; compile it for this one"
        )
    if not elf.contains(library, abi.LIBRARY.size):
        raise ElfError("the executable's library lies outside of it")
    return library


def _create(elf: LoadedElf, constants: Sequence[int]) -> tuple[int, bool]:
    library = _query_library(elf)
    header = _read(elf, abi.LIBRARY, library, "header")
    own = elf.string(_read(elf, abi.LIBRARY_HEADER, header, "name")).startswith(OWN_LIBRARY_PREFIX)
    if _read(elf, abi.LIBRARY, library, "import_count"):
        raise ExecutableError("the executable imports functions, which this runtime does not provide")
    wanted = _read(elf, abi.LIBRARY, library, "constant_count")
    if wanted != len(constants):
        raise ExecutableError(f"the executable takes {wanted} constants, not {len(constants)}")
    count = _read(elf, abi.LIBRARY, library, "export_count")
    if count > _MAXIMUM_EXPORTS:
        raise ElfError(f"the executable claims to have {count} exports")
    records = [_export_record(elf, library, ordinal, own) for ordinal in range(count)]
    address = image().hal_executable_create(elf.base, elf.size, count, 4 * len(constants))
    if not address:
        raise MemoryError("no memory for an executable")
    exports = ctypes.c_int64.from_address(address + layout.EXECUTABLE_EXPORTS).value
    for ordinal, record in enumerate(records):
        for offset, value in record.items():
            place = exports + layout.EXPORT_BYTES * ordinal + offset
            ctypes.c_int64.from_address(place).value = value
    environment = ctypes.c_int64.from_address(address + layout.EXECUTABLE_ENVIRONMENT).value
    words = (ctypes.c_uint64 * 8).from_address(environment + layout.ENVIRONMENT_PROCESSOR)
    words[:] = processor_data()
    values = struct.pack(f"<{len(constants)}I", *(c & 0xFFFFFFFF for c in constants))
    ctypes.memmove(environment + layout.ENVIRONMENT_BYTES, values, len(values))
    return address, own


def _export_record(elf: LoadedElf, library: int, ordinal: int, own: bool) -> dict[int, int]:
    """The words of one export's native record, by offset."""
    function = _word(elf, _read(elf, abi.LIBRARY, library, "export_functions") + 8 * ordinal)
    name_address = _word(elf, _read(elf, abi.LIBRARY, library, "export_names") + 8 * ordinal)
    attributes = (
        _read(elf, abi.LIBRARY, library, "export_attributes") + abi.DISPATCH_ATTRIBUTES.size * ordinal
    )
    if not elf.is_code(function):
        raise ElfError(f"export {ordinal} of the executable is not in its code")

    def attribute(name: str) -> int:
        return _read(elf, abi.DISPATCH_ATTRIBUTES, attributes, name)

    name = elf.string(name_address)
    if attribute("constant_count") > abi.MAX_CONSTANTS or attribute("binding_count") > abi.MAX_BINDINGS:
        raise ElfError(f"export {name.decode(errors='replace')} claims too many constants or bindings")
    local_bytes = attribute("local_memory_pages") * abi.LOCAL_MEMORY_PAGE
    if local_bytes > LOCAL_BYTES:
        raise ExecutableError(
            f"export {name.decode(errors='replace')} needs {local_bytes} bytes of workgroup local memory, "
            f"a thread has {LOCAL_BYTES}"
        )
    flags = 0 if own else WORK_FLUSH_DENORMALS
    if attribute("flags") & abi.DISPATCH_SEQUENTIAL:
        flags |= WORK_SEQUENTIAL
    return {
        layout.EXPORT_FUNCTION: function,
        layout.EXPORT_CONSTANT_COUNT: attribute("constant_count"),
        layout.EXPORT_BINDING_COUNT: attribute("binding_count"),
        layout.EXPORT_LOCAL_BYTES: local_bytes,
        layout.EXPORT_FLAGS: flags,
        layout.EXPORT_SIZE_X: attribute("workgroup_size_x"),
        layout.EXPORT_SIZE_Y: attribute("workgroup_size_y"),
        layout.EXPORT_SIZE_Z: attribute("workgroup_size_z"),
        layout.EXPORT_NAME: name_address,
        layout.EXPORT_NAME_LENGTH: len(name),
    }
