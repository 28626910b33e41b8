"""FlatBuffers driven by the dataclasses of `schema`: a builder, and a reader that trusts nothing.

Enters: a dataclass instance to build; bytes to read. Leaves: a size-prefixed buffer; an instance, whose byte
vectors are memoryviews of the input. Every offset and length is checked before it is used, and the work is
bounded by the size of the input whatever offsets it holds.
"""

import dataclasses
import functools
import struct
from typing import Any

from pyiree.runtime.vmfb.errors import ModuleError
from pyiree.runtime.vmfb.schema import FILE_IDENTIFIER, LOCATIONS, STRUCTS, TABLES

_SCALARS = {"u8": "<B", "i32": "<i", "u32": "<I", "u64": "<Q"}
_DATA_ALIGNMENT = 16  # of the payload of byte vectors


@functools.cache
def _slots(table: type) -> tuple[tuple[int, str, str, Any, bool], ...]:
    """For each field with a place in the buffer: slot, name, wire type, default, whether it is required."""
    described = [field for field in dataclasses.fields(table) if field.metadata["wire"] is not None]
    return tuple(
        (slot, field.name, field.metadata["wire"], field.default, field.metadata["required"])
        for slot, field in enumerate(described)
        if field.metadata["wire"] != "-"
    )


# ------------------------------------------------------------------ building


def build(root: Any) -> bytes:
    """The size-prefixed FlatBuffer of a root table."""
    import flatbuffers

    builder = flatbuffers.Builder(1 << 16)
    offset = _build_table(builder, root)
    builder.FinishSizePrefixed(offset, FILE_IDENTIFIER)
    return bytes(builder.Output())


def _build_table(builder, table: Any) -> int:
    slots = _slots(type(table))
    offsets = {}
    for slot, name, wire, _, required in slots:
        value = getattr(table, name)
        if required and value is None:
            raise ValueError(f"{type(table).__name__}.{name} must be given")
        if wire not in _SCALARS and value is not None and value != []:
            offsets[slot] = _build_value(builder, wire, value)
    builder.StartObject(slots[-1][0] + 1)
    for slot, name, wire, default, _ in slots:
        if slot in offsets:
            builder.PrependUOffsetTRelativeSlot(slot, offsets[slot], 0)
        elif wire in _SCALARS:
            prepend = getattr(builder, f"Prepend{_BUILDER_NAMES[wire]}Slot")
            prepend(slot, getattr(table, name), default)
    return builder.EndObject()


_BUILDER_NAMES = {"u8": "Uint8", "i32": "Int32", "u32": "Uint32", "u64": "Uint64"}


def _build_value(builder, wire: str, value: Any) -> int:
    if wire == "string":
        return builder.CreateString(value)
    if wire.startswith("table:"):
        return _build_table(builder, value)
    if wire == "[u8]":
        return _build_bytes(builder, bytes(value), 1, len(value))
    if wire == "[i32]":
        return _build_bytes(builder, struct.pack(f"<{len(value)}i", *value), 4, len(value))
    if wire.startswith("[struct:"):
        _, layout = STRUCTS[wire[8:-1]]
        packed = b"".join(struct.pack(layout, *_struct_values(item)) for item in value)
        return _build_bytes(builder, packed, struct.calcsize(layout), len(value))
    offsets = [_build_table(builder, item) if item is not None else None for item in value]
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        if offset is None:  # an unknown location
            builder.PrependUint32(0)
        else:
            builder.PrependUOffsetTRelative(offset)
    return builder.EndVector()


def _struct_values(item: Any):
    return (getattr(item, field.name) for field in dataclasses.fields(item))


def _build_bytes(builder, content: bytes, element_size: int, count: int) -> int:
    """A vector of plain data."""
    alignment = _DATA_ALIGNMENT if element_size == 1 else 4
    builder.StartVector(element_size, count, alignment)
    builder.head = builder.head - len(content)
    builder.Bytes[builder.head : builder.head + len(content)] = content
    return builder.EndVector()


# ------------------------------------------------------------------ reading


class Reader:
    """Reads tables out of one buffer (without its size prefix)."""

    def __init__(self, data: memoryview):
        self._data = data
        self._size = len(data)
        # Every table and string takes a few bytes of its own; only a forged buffer shares them endlessly.
        self._budget = len(data)

    def root(self, table: type, skip: frozenset[str] = frozenset()) -> Any:
        """The root table; fields named in `skip` are left at their defaults."""
        return self._table(table, self._offset(0), skip)

    def _unpack(self, layout: str, position: int) -> tuple:
        if position < 0 or position + struct.calcsize(layout) > self._size:
            raise ModuleError(f"damaged module: offset {position} lies outside the FlatBuffer")
        return struct.unpack_from(layout, self._data, position)

    def _offset(self, position: int) -> int:
        (relative,) = self._unpack("<I", position)
        if relative == 0:
            raise ModuleError(f"damaged module: a null offset at {position}")
        return position + relative

    def _spend(self) -> None:
        self._budget -= 1
        if self._budget < 0:
            raise ModuleError("damaged module: it has more tables than bytes")

    def _table(self, table: type, position: int, skip: frozenset[str] = frozenset()) -> Any:
        self._spend()
        (to_vtable,) = self._unpack("<i", position)
        vtable = position - to_vtable
        vtable_size, table_size = self._unpack("<HH", vtable)
        if vtable_size < 4 or vtable_size & 1 or vtable + vtable_size > self._size:
            raise ModuleError(f"damaged module: the vtable at {vtable} is malformed")
        offsets = self._unpack(f"<{vtable_size // 2 - 2}H", vtable + 4)
        values = {}
        for slot, name, wire, _, required in _slots(table):
            field = offsets[slot] if slot < len(offsets) else 0
            if field == 0 or name in skip:
                if required:
                    raise ModuleError(f"damaged module: {table.__name__}.{name} is missing")
                continue
            if field + (struct.calcsize(_SCALARS[wire]) if wire in _SCALARS else 4) > table_size:
                raise ModuleError(f"damaged module: {table.__name__}.{name} lies outside its table")
            if wire == "[union]":
                values[name] = self._union(values.get("location_types", b""), position + field)
            else:
                values[name] = self._value(wire, position + field)
        return table(**values)

    def _value(self, wire: str, position: int) -> Any:
        if wire in _SCALARS:
            return self._unpack(_SCALARS[wire], position)[0]
        target = self._offset(position)
        if wire == "string":
            return self._string(target)
        if wire.startswith("table:"):
            return self._table(TABLES[wire[6:]], target)
        if wire == "[u8]":
            start, count = self._vector(target, 1)
            return self._data[start : start + count]
        if wire == "[i32]":
            start, count = self._vector(target, 4)
            return list(self._unpack(f"<{count}i", start))
        if wire.startswith("[struct:"):
            kind, layout = STRUCTS[wire[8:-1]]
            start, count = self._vector(target, struct.calcsize(layout))
            content = self._data[start : start + count * struct.calcsize(layout)]
            return [kind(*values) for values in struct.iter_unpack(layout, content)]
        table = TABLES[wire[7:-1]]
        return [self._table(table, item) for item in self._items(target)]

    def _vector(self, position: int, element_size: int) -> tuple[int, int]:
        (count,) = self._unpack("<I", position)
        if position + 4 + count * element_size > self._size:
            raise ModuleError(f"damaged module: the vector at {position} runs past the end")
        return position + 4, count

    def _items(self, position: int):
        start, count = self._vector(position, 4)
        return (self._offset(start + 4 * k) for k in range(count))

    def _string(self, position: int) -> str:
        self._spend()
        start, count = self._vector(position, 1)
        try:
            return str(self._data[start : start + count], "utf-8")
        except UnicodeDecodeError:
            raise ModuleError(f"damaged module: the string at {position} is not UTF-8") from None

    def _union(self, kinds, position: int) -> list[Any]:
        start, count = self._vector(self._offset(position), 4)
        if count != len(kinds) or any(kind not in LOCATIONS for kind in kinds if kind):
            raise ModuleError("damaged module: the location table has unknown or missing kinds")
        return [
            self._table(LOCATIONS[kind], self._offset(start + 4 * k)) if kind else None
            for k, kind in enumerate(kinds)
        ]
