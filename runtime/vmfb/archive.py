"""The container of a module: a FlatBuffer with large read-only data behind it, flat or as a polyglot ZIP.

Enters: a `ModuleDef` to write; the bytes (or a memory map) of a file to read. Leaves: bytes; a `ModuleDef`
whose byte fields are memoryviews of the input.
"""

import mmap
import os
import struct
import zlib
from pathlib import Path

from pyiree.runtime.vmfb import flatbuffer
from pyiree.runtime.vmfb.errors import ModuleError
from pyiree.runtime.vmfb.schema import FILE_IDENTIFIER, ModuleDef

RODATA_ALIGNMENT = 64
_ZIP_MAGIC = b"PK\x03\x04"
_LOCAL_HEADER = struct.Struct("<4sHHHHHIIIHH")
_CENTRAL_HEADER = struct.Struct("<4sHHHHHHIIIHHHHHII")
_PADDING_ID, _ZIP64_ID = 0xFECA, 1
_ZIP_VERSION, _ZIP_DATE, _IN_ZIP64 = 45, 0x21, 0xFFFFFFFF


def _align(offset: int, alignment: int) -> int:
    return (offset + alignment - 1) // alignment * alignment


# ------------------------------------------------------------------ reading


def open_module_file(path: str | os.PathLike) -> memoryview:
    """The content of a file as a memory map; an empty file gives an empty view.

    Replace such a file by renaming another over it: one that is cut short under its map is a bus error.
    """
    with Path(path).open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return memoryview(b"")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def read_module(content, *, debug_database: bool = False) -> ModuleDef:
    """The module in a file's content; names and source locations only if asked for. ModuleError if bad."""
    data = memoryview(content).cast("B")
    start = _flatbuffer_start(data)
    (length,) = struct.unpack_from("<I", data, start - 4)
    if bytes(data[start + 4 : start + 8]) != FILE_IDENTIFIER:
        raise ModuleError("not a .vmfb file: the file identifier of IREE's modules is missing")
    if length > len(data) - start:
        raise ModuleError(f"truncated module: {len(data) - start} bytes where {length} are announced")
    reader = flatbuffer.Reader(data[start : start + length])
    skipped = frozenset() if debug_database else frozenset(("debug_database",))
    module = reader.root(ModuleDef, skipped)
    base = _align(start + length, RODATA_ALIGNMENT)
    for ordinal, segment in enumerate(module.rodata_segments):
        if segment.compression_type != 0:
            raise ModuleError(f"rodata segment {ordinal} is compressed, which is not supported")
        if segment.embedded_data is None:
            first = base + segment.external_data_offset
            if first + segment.external_data_length > len(data):
                raise ModuleError(f"truncated module: rodata segment {ordinal} lies outside the file")
            segment.external_data = data[first : first + segment.external_data_length]
    return module


def _flatbuffer_start(data: memoryview) -> int:
    """The offset of the FlatBuffer's first byte, behind its size prefix."""
    start = 0
    if bytes(data[:4]) == _ZIP_MAGIC and len(data) >= _LOCAL_HEADER.size:
        *_, name_length, extra_length = _LOCAL_HEADER.unpack_from(data, 0)
        start = _LOCAL_HEADER.size + name_length + extra_length
    if start + 12 > len(data):
        raise ModuleError(f"not a .vmfb file: {len(data)} bytes are too few")
    return start + 4


# ------------------------------------------------------------------ writing


def write_module(module: ModuleDef, *, polyglot_zip: bool = False) -> bytes:
    """The bytes of a module's file. Segments with `external_data` stand behind the FlatBuffer, aligned to 64.

    The polyglot ZIP form can be unpacked with any ZIP tool and costs a checksum over everything.
    """
    external = [segment for segment in module.rodata_segments if segment.embedded_data is None]
    names = [segment.external_name or f"rodata_{k}.bin" for k, segment in enumerate(external)]
    offset = 0
    for segment, name in zip(external, names):
        if segment.external_data is None:
            raise ValueError(f"rodata segment {name} has neither embedded nor external data")
        header = _local_header_size(name) if polyglot_zip else 0
        offset = _align(offset + header, RODATA_ALIGNMENT)
        segment.external_data_offset = offset
        segment.external_data_length = len(segment.external_data)
        offset += segment.external_data_length
    buffer = flatbuffer.build(module)
    files = [(name, bytes(segment.external_data)) for segment, name in zip(external, names)]
    if polyglot_zip:
        return _write_zip(buffer, files)
    out = bytearray(buffer)
    for _, content in files:
        out += bytes(-len(out) % RODATA_ALIGNMENT)
        out += content
    return bytes(out)


def _local_header_size(name: str) -> int:
    """Of the header without padding: the fixed part, the name, a padding record, the ZIP64 record."""
    return _LOCAL_HEADER.size + len(name.encode()) + 4 + 20


def _write_zip(buffer: bytes, files: list[tuple[str, bytes]]) -> bytes:
    """Every local header is padded so that its content starts at a multiple of 64.

    So is the end of the FlatBuffer, which makes the offsets behind it independent of its length.
    """
    out, directory = bytearray(), bytearray()
    entries = [("module.fb", buffer + bytes(-len(buffer) % RODATA_ALIGNMENT)), *files]
    for name, content in entries:
        encoded, size, checksum = name.encode(), len(content), zlib.crc32(content)
        header = len(out)
        padding = -(header + _local_header_size(name)) % RODATA_ALIGNMENT
        sizes = struct.pack("<QQ", size, size)
        extra = struct.pack("<HH", _PADDING_ID, padding) + bytes(padding)
        extra += struct.pack("<HH", _ZIP64_ID, len(sizes)) + sizes
        common = (0, 0, 0, _ZIP_DATE, checksum, _IN_ZIP64, _IN_ZIP64, len(encoded))
        out += _LOCAL_HEADER.pack(_ZIP_MAGIC, _ZIP_VERSION, *common, len(extra)) + encoded + extra + content
        extra = struct.pack("<HHQQQ", _ZIP64_ID, 24, size, size, header)
        directory += _CENTRAL_HEADER.pack(
            b"PK\x01\x02", _ZIP_VERSION, _ZIP_VERSION, *common, len(extra), 0, 0, 0, 0, _IN_ZIP64
        )
        directory += encoded + extra
    start, count = len(out), len(entries)
    out += directory
    end = len(out)
    out += struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, len(directory), start)
    out += struct.pack("<4sIQI", b"PK\x06\x07", 0, end, 1)
    out += struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, count, count, len(directory), _IN_ZIP64, 0)
    return bytes(out)
