"""Sets of flags of the hal dialect: their bits by name, and their text `"DeviceVisible|DeviceLocal"`."""

from __future__ import annotations

from typing import Any

from pyiree.compiler.ir.attributes import IntegerAttr, quote
from pyiree.compiler.ir.format import directive
from pyiree.compiler.ir.types import Type, i32, i64

MEMORY_TYPE = {
    "Optimal": 0x1, "HostVisible": 0x2, "HostCoherent": 0x4, "HostCached": 0x8, "HostLocal": 0x46,
    "DeviceVisible": 0x10, "DeviceLocal": 0x30,
}  # fmt: skip
BUFFER_USAGE = {
    "TransferSource": 0x1, "TransferTarget": 0x2, "Transfer": 0x3, "DispatchIndirectParameters": 0x100,
    "DispatchUniformRead": 0x200, "DispatchStorageRead": 0x400, "DispatchStorageWrite": 0x800,
    "DispatchStorage": 0xC00, "DispatchImageRead": 0x1000, "DispatchImageWrite": 0x2000, "DispatchImage": 0x3000,
    "SharingExport": 0x10000, "SharingReplicate": 0x20000, "SharingConcurrent": 0x40000,
    "SharingImmutable": 0x80000, "MappingScoped": 0x1000000, "MappingPersistent": 0x2000000,
    "MappingOptional": 0x4000000, "MappingAccessRandom": 0x8000000, "MappingAccessSequentialWrite": 0x10000000,
    "Mapping": 0x9000000,
}  # fmt: skip
EXECUTION_STAGE = {
    "CommandIssue": 0x1, "CommandProcess": 0x2, "Dispatch": 0x4, "Transfer": 0x8, "CommandRetire": 0x10, "Host": 0x20,
}  # fmt: skip
COMMAND_BUFFER_MODE = {"OneShot": 0x1, "AllowInlineExecution": 0x10}
COMMAND_CATEGORY = {"Transfer": 0x1, "Dispatch": 0x2}
MEMORY_ACCESS = {"Read": 0x1, "Write": 0x2, "Discard": 0x4, "MayAlias": 0x8, "Unaligned": 0x10, "Any": 0x20}
ALLOCA_FLAG = {"IndeterminateLifetime": 0x1}
DEALLOCA_FLAG = {"PreferOrigin": 0x1}
NO_FLAG = {"Reserved": 0x1}
DESCRIPTOR_FLAG = {"ReadOnly": 0x1, "Indirect": 0x2}
PIPELINE_LAYOUT_FLAG = {"Indirect": 0x1}

_TABLES: dict[str, tuple[dict[str, int], Type]] = {
    "MemoryType": (MEMORY_TYPE, i32),
    "BufferUsage": (BUFFER_USAGE, i32),
    "ExecutionStage": (EXECUTION_STAGE, i32),
    "CommandBufferMode": (COMMAND_BUFFER_MODE, i32),
    "CommandCategory": (COMMAND_CATEGORY, i32),
    "MemoryAccess": (MEMORY_ACCESS, i32),
    "AllocaFlag": (ALLOCA_FLAG, i64),
    "DeallocaFlag": (DEALLOCA_FLAG, i64),
    "Flag": (NO_FLAG, i64),
}


def bits_text(table: dict[str, int], value: int) -> str:
    """The names of a set; one bit stands bare, anything else is quoted."""
    names = [name for name, bits in table.items() if bits and value & bits == bits]
    if not names:
        return '"None"'
    return names[0] if len(names) == 1 and value.bit_count() == 1 else quote("|".join(names))


def parse_bits(parser: Any, table: dict[str, int]) -> int:
    """A set: a bare name, or names in quotes."""
    text = parser.parse_optional_string()
    words = parser.parse_identifier().split("|") if text is None else text.split("|")
    value = 0
    for word in words:
        if word != "None":
            if word not in table:
                raise parser.error(f"'{word}' is not one of {', '.join(table)}")
            value |= table[word]
    return value


@directive("Bits")
class Bits:
    """`custom<Bits>($flags, "BufferUsage")`."""

    @staticmethod
    def print(printer: Any, op: Any, value: IntegerAttr, table: str) -> None:
        printer.emit(bits_text(_TABLES[table][0], value.value))

    @staticmethod
    def parse(parser: Any, table: str) -> IntegerAttr:
        cases, value_type = _TABLES[table]
        return IntegerAttr(parse_bits(parser, cases), value_type)
