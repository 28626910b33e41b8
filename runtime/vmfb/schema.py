"""The module's FlatBuffer as dataclasses: each field names its wire type, its position is the vtable slot.

Enters: nothing. Leaves: `ModuleDef` and the tables in it, which `archive` writes and reads by the field
metadata given here.

Wire types: `string`, `u32` and other scalars, `table:NAME`, `[table:NAME]`, `[struct:NAME]`, `[i32]`,
`[union]`, `[u8]` (bytes or a memoryview), `-` (a slot that is never used).
"""

from dataclasses import field
from typing import Any

from pyiree.runtime.vmfb.lazy_dataclass import dataclass

FILE_IDENTIFIER = b"IREE"
BYTECODE_VERSION = 17 << 16  # major in the upper half; the minor in the lower

DEPENDENCY_REQUIRED, DEPENDENCY_OPTIONAL = 1, 2
IMPORT_REQUIRED, IMPORT_OPTIONAL = 1, 2


def _slot(wire: str, default: Any = None, *, factory: Any = None, required: bool = False):
    metadata = {"wire": wire, "required": required}
    if factory is not None:
        return field(default_factory=factory, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(slots=True)
class AttrDef:
    """A named attribute of a module or function, e.g. `iree.abi.declaration`."""

    key: str = _slot("string", "", required=True)
    value: str = _slot("string", "", required=True)


@dataclass(slots=True)
class TypeDef:
    """A type by its full name: `i32`, `!vm.buffer`, `!hal.device`, …"""

    full_name: str = _slot("string", "", required=True)


@dataclass(slots=True)
class FunctionSignatureDef:
    """What a function takes and gives."""

    calling_convention: str = _slot("string", "", required=True)
    attrs: list[AttrDef] = _slot("[table:AttrDef]", factory=list)


@dataclass(slots=True)
class ModuleDependencyDef:
    """A module that this one imports from."""

    name: str = _slot("string", "", required=True)
    minimum_version: int = _slot("u32", 0)
    flags: int = _slot("u32", DEPENDENCY_REQUIRED)


@dataclass(slots=True)
class ImportFunctionDef:
    """An imported function by its full name, e.g. `hal.fence.create`."""

    full_name: str = _slot("string", "", required=True)
    signature: FunctionSignatureDef = _slot("table:FunctionSignatureDef", factory=FunctionSignatureDef, required=True)
    flags: int = _slot("u32", IMPORT_REQUIRED)


@dataclass(slots=True)
class ExportFunctionDef:
    """An exported function: its name and which function it is."""

    local_name: str = _slot("string", "", required=True)
    internal_ordinal: int = _slot("i32", 0)


@dataclass(slots=True)
class RodataSegmentDef:
    """Read-only data: embedded in the FlatBuffer, or at an offset behind it.

    For a writer, `external_data` holds the bytes that shall stand behind the FlatBuffer and `external_name`
    their name in a ZIP archive; a reader gives the bytes of either kind as `data`.
    """

    compression_type: int = _slot("u8", 0)
    compression: None = _slot("-")
    embedded_data: Any = _slot("[u8]")
    external_data_offset: int = _slot("u64", 0)
    external_data_length: int = _slot("u64", 0)
    external_data: Any = field(default=None, metadata={"wire": None})
    external_name: str = field(default="", metadata={"wire": None})

    @property
    def data(self):
        return self.embedded_data if self.embedded_data is not None else self.external_data


@dataclass(slots=True)
class RwdataSegmentDef:
    """Unused by compilers."""

    byte_size: int = _slot("i32", 0)


@dataclass(slots=True)
class ModuleStateDef:
    """How much state a context keeps: bytes of value globals, number of reference globals."""

    global_bytes_capacity: int = _slot("i32", 0)
    global_ref_count: int = _slot("i32", 0)


@dataclass(slots=True)
class FunctionDescriptor:
    """Where a function's bytecode lies and what it needs; an inline struct (STRUCTS)."""

    bytecode_offset: int = 0
    bytecode_length: int = 0
    requirements: int = 0
    reserved: int = 0
    block_count: int = 0
    i32_register_count: int = 0
    ref_register_count: int = 0


@dataclass(slots=True)
class BytecodeLocation:
    """The location (an index in the table) of the bytecode at an offset; an inline struct."""

    bytecode_offset: int = 0
    location: int = 0


@dataclass(slots=True)
class CallSiteLocDef:
    callee: int = _slot("i32", 0)
    caller: int = _slot("i32", 0)


@dataclass(slots=True)
class FileLineColLocDef:
    filename: str = _slot("string", "")
    line: int = _slot("i32", 0)
    column: int = _slot("i32", 0)


@dataclass(slots=True)
class FusedLocDef:
    metadata: str = _slot("string", "")
    locations: list[int] = _slot("[i32]", factory=list)


@dataclass(slots=True)
class NameLocDef:
    name: str = _slot("string", "")
    child_location: int = _slot("i32", 0)


@dataclass(slots=True)
class FunctionSourceMapDef:
    """A function's name, internal ones included, and where its bytecode comes from."""

    local_name: str = _slot("string", "")
    locations: list[BytecodeLocation] = _slot("[struct:BytecodeLocation]", factory=list)


@dataclass(slots=True)
class DebugDatabaseDef:
    """Names and source locations; may be absent."""

    location_types: list[int] = _slot("[u8]", factory=list)
    location_table: list[Any] = _slot("[union]", factory=list)
    functions: list[FunctionSourceMapDef] = _slot("[table:FunctionSourceMapDef]", factory=list)


@dataclass(slots=True)
class ModuleDef:
    """A bytecode module: the root table."""

    name: str = _slot("string", "", required=True)
    version: int = _slot("u32", 0)
    requirements: int = _slot("u32", 0)
    attrs: list[AttrDef] = _slot("[table:AttrDef]", factory=list)
    types: list[TypeDef] = _slot("[table:TypeDef]", factory=list)
    dependencies: list[ModuleDependencyDef] = _slot("[table:ModuleDependencyDef]", factory=list)
    imported_functions: list[ImportFunctionDef] = _slot("[table:ImportFunctionDef]", factory=list)
    exported_functions: list[ExportFunctionDef] = _slot("[table:ExportFunctionDef]", factory=list)
    function_signatures: list[FunctionSignatureDef] = _slot("[table:FunctionSignatureDef]", factory=list)
    rodata_segments: list[RodataSegmentDef] = _slot("[table:RodataSegmentDef]", factory=list)
    rwdata_segments: list[RwdataSegmentDef] = _slot("[table:RwdataSegmentDef]", factory=list)
    module_state: ModuleStateDef | None = _slot("table:ModuleStateDef")
    function_descriptors: list[FunctionDescriptor] = _slot("[struct:FunctionDescriptor]", factory=list)
    bytecode_version: int = _slot("u32", 0)
    bytecode_data: Any = _slot("[u8]", b"")
    debug_database: DebugDatabaseDef | None = _slot("table:DebugDatabaseDef")


TABLES = {
    table.__name__: table
    for table in (
        AttrDef,
        TypeDef,
        FunctionSignatureDef,
        ModuleDependencyDef,
        ImportFunctionDef,
        ExportFunctionDef,
        RodataSegmentDef,
        RwdataSegmentDef,
        ModuleStateDef,
        FunctionSourceMapDef,
        DebugDatabaseDef,
        ModuleDef,
    )
}
# Inline structs: class, struct format.
STRUCTS = {
    "FunctionDescriptor": (FunctionDescriptor, "<iiIhhhh"),
    "BytecodeLocation": (BytecodeLocation, "<ii"),
}
# Members of the location union, by their type code; 0 is an unknown location (None).
LOCATIONS = {1: CallSiteLocDef, 2: FileLineColLocDef, 3: FusedLocDef, 4: NameLocDef}
