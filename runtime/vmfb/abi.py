"""Calling conventions, constants and struct layouts that a module and its host agree on.

Enters: convention strings, type names. Leaves: parsed conventions and register places, the HAL's import table
and constants, and the byte layouts of the executable library interface.
"""

import enum
from dataclasses import dataclass

# ------------------------------------------------------------------ calling conventions

VALUE_CODES = "iIfFr"  # i32, i64, f32, f64, reference
BITS_OF_CODE = {"i": 32, "f": 32, "I": 64, "F": 64}


@dataclass(frozen=True, slots=True)
class Span:
    """A variadic parameter: any number of tuples of these value codes."""

    codes: str


Parameter = str | Span


@dataclass(frozen=True, slots=True)
class CallingConvention:
    """The value codes of parameters and results, e.g. `0rICrD_i`; spans occur only in imports."""

    arguments: tuple[Parameter, ...]
    results: tuple[Parameter, ...]

    @property
    def is_variadic(self) -> bool:
        return any(isinstance(item, Span) for item in self.arguments)

    def __str__(self) -> str:
        return f"0{_spell(self.arguments)}_{_spell(self.results)}"


def _spell(items: tuple[Parameter, ...]) -> str:
    text = "".join(f"C{item.codes}D" if isinstance(item, Span) else item for item in items)
    return text or "v"


def parse_convention(text: str) -> CallingConvention:
    """The convention that a string states; ValueError says what is wrong with it."""
    body, separator, results = text[1:].partition("_")
    if not text.startswith("0") or not separator:
        raise ValueError(f"calling convention {text!r} is not of the form 0ARGUMENTS_RESULTS")
    return CallingConvention(_parse_items(body, text), _parse_items(results, text))


def _parse_items(body: str, text: str) -> tuple[Parameter, ...]:
    if body in ("", "v"):
        return ()
    items: list[Parameter] = []
    position = 0
    while position < len(body):
        code = body[position]
        if code == "C":
            end = body.find("D", position)
            codes = body[position + 1 : end]
            if end < 0 or not codes or set(codes) - set(VALUE_CODES):
                raise ValueError(f"calling convention {text!r} has a malformed span")
            items.append(Span(codes))
            position = end + 1
        elif code in VALUE_CODES:
            items.append(code)
            position += 1
        else:
            raise ValueError(f"calling convention {text!r} has the unknown code {code!r}")
    return tuple(items)


def assign_registers(codes) -> tuple[list[int], int, int]:
    """Where values stand at function entry: their registers, and how many of each bank they take.

    References are numbered in their own bank (the ordinal alone, without the bit that encodes a reference);
    64-bit values take the next even pair.
    """
    registers, values, refs = [], 0, 0
    for code in codes:
        if code == "r":
            registers.append(refs)
            refs += 1
        elif BITS_OF_CODE[code] == 64:
            values += values & 1
            registers.append(values)
            values += 2
        else:
            registers.append(values)
            values += 1
    return registers, values, refs


# ------------------------------------------------------------------ status codes

STATUS_NAMES = (  # by code
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
    "DEFERRED",
    "INCOMPATIBLE",
)

# ------------------------------------------------------------------ element types

ELEMENT_TYPES = {
    "i1": 0x13000008,  # stored as a byte
    "i2": 0x10000002,
    "i4": 0x10000004,
    "i8": 0x10000008,
    "i16": 0x10000010,
    "i32": 0x10000020,
    "i64": 0x10000040,
    "si2": 0x11000002,
    "si4": 0x11000004,
    "si8": 0x11000008,
    "si16": 0x11000010,
    "si32": 0x11000020,
    "si64": 0x11000040,
    "ui2": 0x12000002,
    "ui4": 0x12000004,
    "ui8": 0x12000008,
    "ui16": 0x12000010,
    "ui32": 0x12000020,
    "ui64": 0x12000040,
    "f16": 0x21000010,
    "bf16": 0x22000010,
    "f32": 0x21000020,
    "f64": 0x21000040,
    "complex<f32>": 0x23000040,
    "complex<f64>": 0x23000080,
    "f8E5M2": 0x24000008,
    "f8E4M3FN": 0x25000008,
    "f8E5M2FNUZ": 0x26000008,
    "f8E4M3FNUZ": 0x27000008,
    "f8E8M0FNU": 0x28000008,
    # IREE has no numbers for these; elements of 4 and 6 bits take a byte each.
    "f8E4M3": 0x70000008,
    "f8E3M4": 0x71000008,
    "f8E4M3B11FNUZ": 0x72000008,
    "f6E2M3FN": 0x73000006,
    "f6E3M2FN": 0x74000006,
    "f4E2M1FN": 0x75000004,
}
ELEMENT_NAMES = {code: name for name, code in ELEMENT_TYPES.items()}


def element_bits(element_type: int) -> int:
    """How many bits one element takes in memory."""
    return element_type & 0xFFFF


# ------------------------------------------------------------------ HAL constants


class MemoryType(enum.IntFlag):
    OPTIMAL = 1
    HOST_VISIBLE = 2
    HOST_COHERENT = 4
    HOST_CACHED = 8
    DEVICE_VISIBLE = 16
    HOST_LOCAL = HOST_VISIBLE | 64
    DEVICE_LOCAL = DEVICE_VISIBLE | 32


class BufferUsage(enum.IntFlag):
    TRANSFER_SOURCE = 1
    TRANSFER_TARGET = 2
    TRANSFER = TRANSFER_SOURCE | TRANSFER_TARGET
    DISPATCH_INDIRECT_PARAMETERS = 0x100
    DISPATCH_UNIFORM_READ = 0x200
    DISPATCH_STORAGE_READ = 0x400
    DISPATCH_STORAGE_WRITE = 0x800
    DISPATCH_STORAGE = DISPATCH_STORAGE_READ | DISPATCH_STORAGE_WRITE
    SHARING_EXPORT = 1 << 16
    SHARING_REPLICATE = 1 << 17
    SHARING_CONCURRENT = 1 << 18
    SHARING_IMMUTABLE = 1 << 19
    MAPPING_SCOPED = 1 << 24
    MAPPING_PERSISTENT = 1 << 25
    MAPPING_OPTIONAL = 1 << 26
    MAPPING_ACCESS_RANDOM = 1 << 27
    MAPPING_ACCESS_SEQUENTIAL_WRITE = 1 << 28
    DEFAULT = TRANSFER | DISPATCH_STORAGE


class CommandBufferMode(enum.IntFlag):
    REUSABLE = 0
    ONE_SHOT = 1
    ALLOW_INLINE_EXECUTION = 16
    UNVALIDATED = 32
    UNRETAINED = 64


class CommandCategory(enum.IntFlag):
    TRANSFER = 1
    DISPATCH = 2
    ANY = TRANSFER | DISPATCH


class ExecutionStage(enum.IntFlag):
    COMMAND_ISSUE = 1
    COMMAND_PROCESS = 2
    DISPATCH = 4
    TRANSFER = 8
    COMMAND_RETIRE = 16
    HOST = 32


# What the compiler writes as its full barrier: everything before it retires, then anything may start.
BARRIER_SOURCE_STAGES = int(ExecutionStage.DISPATCH | ExecutionStage.TRANSFER | ExecutionStage.COMMAND_RETIRE)
BARRIER_TARGET_STAGES = int(ExecutionStage.COMMAND_ISSUE | ExecutionStage.DISPATCH | ExecutionStage.TRANSFER)

ANY_QUEUE = -1
ENCODING_OPAQUE, ENCODING_DENSE_ROW_MAJOR = 0, 1

# ------------------------------------------------------------------ the HAL's import table

HAL_MINIMUM_VERSION = 7

HAL_IMPORTS = {
    "hal.devices.count": "0v_i",
    "hal.devices.get": "0i_r",
    "hal.device.allocator": "0r_r",
    "hal.device.query.i64": "0rrr_iI",
    "hal.device.queue.alloca": "0rIrrIiiII_r",
    "hal.device.queue.dealloca": "0rIrrrI_v",
    "hal.device.queue.fill": "0rIrrrIIIiI_v",
    "hal.device.queue.update": "0rIrrrIrIII_v",
    "hal.device.queue.copy": "0rIrrrIrIII_v",
    "hal.device.queue.read": "0rIrrrIrIII_v",
    "hal.device.queue.write": "0rIrrrIrIII_v",
    "hal.device.queue.barrier": "0rIrrI_v",
    "hal.device.queue.execute": "0rIrrrI_v",
    "hal.device.queue.execute.indirect": "0rIrrrICrIID_v",
    "hal.device.queue.flush": "0rI_v",
    "hal.allocator.allocate": "0rIiiI_r",
    "hal.allocator.import": "0riIiirII_r",
    "hal.allocator.select": "0iiICrID_rI",
    "hal.buffer.assert": "0rrrIii_v",
    "hal.buffer.subspan": "0rII_r",
    "hal.buffer.length": "0r_I",
    "hal.buffer.load": "0rIi_i",
    "hal.buffer.store": "0irIi_v",
    "hal.buffer.allocation.preserve": "0r_v",
    "hal.buffer.allocation.discard": "0r_i",
    "hal.buffer.allocation.is_terminal": "0r_i",
    "hal.buffer_view.create": "0rIIiiCID_r",
    "hal.buffer_view.assert": "0rriiCID_v",
    "hal.buffer_view.buffer": "0r_r",
    "hal.buffer_view.element_type": "0r_i",
    "hal.buffer_view.encoding_type": "0r_i",
    "hal.buffer_view.rank": "0r_i",
    "hal.buffer_view.dim": "0ri_I",
    "hal.buffer_view.trace": "0rCrD_v",
    "hal.command_buffer.create": "0riiIi_r",
    "hal.command_buffer.finalize": "0r_v",
    "hal.command_buffer.execution_barrier": "0riiI_v",
    "hal.command_buffer.fill_buffer": "0rrIIiIiI_v",
    "hal.command_buffer.update_buffer": "0rrIrIIiI_v",
    "hal.command_buffer.copy_buffer": "0riirIrIII_v",
    "hal.command_buffer.dispatch": "0rrIiiiICiDCiirIID_v",
    "hal.command_buffer.dispatch.indirect": "0rrIirIICiDCiirIID_v",
    "hal.command_buffer.advise_buffer": "0rrIIIi_v",
    "hal.command_buffer.begin_debug_group": "0rr_v",
    "hal.command_buffer.end_debug_group": "0r_v",
    "hal.executable.create": "0rIrrr_r",
    "hal.executable.lookup.function": "0rr_I",
    "hal.fence.create": "0rI_r",
    "hal.fence.join": "0ICrD_r",
    "hal.fence.query": "0r_i",
    "hal.fence.signal": "0r_v",
    "hal.fence.fail": "0ri_v",
    "hal.fence.await": "0iICrD_i",
    "hal.ex.file.from_memory": "0rIirIIi_r",
}

# ------------------------------------------------------------------ executable libraries

EXECUTABLE_FORMATS = {"x86_64": "embedded-elf-x86_64", "aarch64": "embedded-elf-arm_64"}
LIBRARY_QUERY_SYMBOL = "iree_hal_executable_library_query"
LIBRARY_VERSION = 6
MAX_CONSTANTS = 64
MAX_BINDINGS = 64
LOCAL_MEMORY_PAGE = 4096

DISPATCH_SEQUENTIAL, DISPATCH_DYNAMIC_WORKGROUP_SIZE = 1, 2  # bits of a dispatch's flags


@dataclass(frozen=True, slots=True)
class StructLayout:
    """A C struct: its size, and for each field the byte offset and the type (a C scalar, or `ptr`)."""

    size: int
    fields: dict[str, tuple[int, str]]

    def offset(self, field: str) -> int:
        return self.fields[field][0]


LIBRARY_HEADER = StructLayout(
    24, {"version": (0, "u32"), "name": (8, "ptr"), "features": (16, "u32"), "sanitizer": (20, "u32")}
)
LIBRARY = StructLayout(
    128,
    {
        "header": (0, "ptr"),
        "import_count": (8, "u32"),
        "import_symbols": (16, "ptr"),
        "export_count": (24, "u32"),
        "export_functions": (32, "ptr"),
        "export_attributes": (40, "ptr"),
        "export_parameters": (48, "ptr"),
        "export_occupancy": (56, "ptr"),
        "export_names": (64, "ptr"),
        "export_tags": (72, "ptr"),
        "export_parameter_names": (80, "ptr"),
        "export_source_locations": (88, "ptr"),
        "export_stage_locations": (96, "ptr"),
        "constant_count": (104, "u32"),
        "source_count": (112, "u32"),
        "source_files": (120, "ptr"),
    },
)
DISPATCH_ATTRIBUTES = StructLayout(
    64,
    {
        "flags": (0, "u64"),
        "local_memory_pages": (8, "u16"),
        "constant_count": (10, "u8"),
        "binding_count": (11, "u8"),
        "workgroup_size_x": (12, "u32"),
        "workgroup_size_y": (16, "u32"),
        "workgroup_size_z": (20, "u16"),
        "parameter_count": (22, "u16"),
    },
)
ENVIRONMENT = StructLayout(
    96,
    {
        "constants": (0, "ptr"),
        "import_thunk": (8, "ptr"),
        "import_functions": (16, "ptr"),
        "import_contexts": (24, "ptr"),
        "processor_data": (32, "u64"),  # eight words
    },
)
DISPATCH_STATE = StructLayout(
    48,
    {
        "workgroup_size_x": (0, "u32"),
        "workgroup_size_y": (4, "u32"),
        "workgroup_size_z": (8, "u16"),
        "constant_count": (10, "u16"),
        "workgroup_count_x": (12, "u32"),
        "workgroup_count_y": (16, "u32"),
        "workgroup_count_z": (20, "u16"),
        "max_concurrency": (22, "u8"),
        "binding_count": (23, "u8"),
        "constants": (24, "ptr"),
        "binding_pointers": (32, "ptr"),
        "binding_lengths": (40, "ptr"),
    },
)
WORKGROUP_STATE = StructLayout(
    32,
    {
        "workgroup_id_x": (0, "u32"),
        "workgroup_id_y": (4, "u32"),
        "workgroup_id_z": (8, "u16"),
        "processor_id": (12, "u32"),
        "local_memory": (16, "ptr"),
        "local_memory_size": (24, "u32"),
    },
)

# Bits of word 0 of an x86-64 environment's processor data, by LLVM's feature names.
X86_64_FEATURE_BITS = {
    "sse3": 0,
    "ssse3": 1,
    "sse4.1": 2,
    "sse4.2": 3,
    "sse4a": 4,
    "avx": 10,
    "fma": 11,
    "fma4": 12,
    "xop": 13,
    "f16c": 14,
    "avx2": 15,
    "avx512f": 20,
    "avx512cd": 21,
    "avx512vl": 22,
    "avx512dq": 23,
    "avx512bw": 24,
    "avx512ifma": 25,
    "avx512vbmi": 26,
    "avx512vpopcntdq": 27,
    "avx512vnni": 28,
    "avx512vbmi2": 29,
    "avx512bitalg": 30,
    "avx512bf16": 31,
    "avx512fp16": 32,
    "amx-tile": 50,
    "amx-int8": 51,
    "amx-bf16": 52,
}
