"""A loaded module: verified, its code and constants in place for the interpreter.

Enters: a `.vmfb` file or its bytes. Leaves: `Module`, which contexts share. The bytecode is copied (a file
that changes under a memory map could undo the verification); constants stay where they are and are kept
alive by the buffers that point at them.
"""

import ctypes
import os
import weakref

from pyiree.runtime.native.image import image
from pyiree.runtime.native.layout import ACCESS_ORIGIN_MODULE, TYPE_OPAQUE
from pyiree.runtime.native.python_objects import objects
from pyiree.runtime.vm import layout
from pyiree.runtime.vm.values import KINDS
from pyiree.runtime.vm.verify import verify_bytecode, verify_tables
from pyiree.runtime.vmfb import archive
from pyiree.runtime.vmfb.abi import CallingConvention, Parameter, Span
from pyiree.runtime.vmfb.errors import ModuleError


class Module:
    """A verified module. `definition` holds its tables, `exports` its functions' ordinals by name."""

    def __init__(self, content, *, name: str = ""):
        """Loads and verifies the content of a file: bytes, a memoryview or a memory map."""
        try:
            self.definition = archive.read_module(content)
            tables = verify_tables(self.definition)
        except ModuleError as error:
            raise ModuleError(f"{name}: {error}" if name else str(error)) from None
        self.name = self.definition.name
        self.exports = tables.exports
        self.conventions = tables.functions
        self.import_conventions = tables.imports
        self._arrays: list[ctypes.Array] = []
        self.types = self._keep((ctypes.c_int64 * (len(tables.types) + 1))(*tables.types))
        code = bytes(self.definition.bytecode_data)
        # Aligned to 8, as functions are in it: lists in the bytecode are aligned by address.
        self.code = self._keep((ctypes.c_int64 * (len(code) // 8 + 1))())
        ctypes.memmove(self.code, code, len(code))
        self.functions = self._function_records()
        self.import_records = self._import_records()
        verify_bytecode(
            self.definition, ctypes.addressof(self.code), self.types, self.functions, self.import_records
        )
        self.rodata = self._rodata_buffers(content)

    @classmethod
    def load(cls, path: str | os.PathLike) -> "Module":
        """Loads a file, which is mapped into memory."""
        return cls(archive.open_module_file(path), name=os.fspath(path))

    def function_name(self, ordinal: int) -> str:
        """The name of a function for people: an export's, or its ordinal."""
        names = [name for name, value in self.exports.items() if value == ordinal]
        return f"@{names[0]}" if names else f"function {ordinal}"

    def reflection(self, export: str) -> dict[str, str]:
        """The attributes of an exported function."""
        signature = self.definition.function_signatures[self.exports[export]]
        return {attribute.key: attribute.value for attribute in signature.attrs}

    def stack_bytes(self) -> int:
        """The size of an invocation: the usual one, more if single frames are very large."""
        largest = 0
        for k in range(len(self.conventions)):
            largest = max(largest, self.functions[(layout.FUNCTION_BYTES * k + layout.FUNCTION_FRAME_BYTES) // 8])
        return layout.INVOCATION_DEFAULT_BYTES + 4 * largest

    def _keep(self, array):
        self._arrays.append(array)
        return array

    def _kinds(self, parameters: tuple[Parameter, ...]) -> int:
        """The address of the kind bytes of a parameter list."""
        kinds = bytearray()
        for code in parameters:
            if isinstance(code, Span):
                kinds += bytes([layout.KIND_SPAN, len(code.codes), *(KINDS[member] for member in code.codes)])
            else:
                kinds.append(KINDS[code])
        return ctypes.addressof(self._keep(ctypes.create_string_buffer(bytes(kinds), len(kinds) + 1)))

    def _function_records(self) -> ctypes.Array:
        words = layout.FUNCTION_BYTES // 8
        records = self._keep((ctypes.c_int64 * (words * len(self.conventions) + 1))())
        kinds: dict[CallingConvention, tuple[int, int]] = {}
        for k, (descriptor, convention) in enumerate(
            zip(self.definition.function_descriptors, self.conventions)
        ):
            if convention not in kinds:
                kinds[convention] = (self._kinds(convention.arguments), self._kinds(convention.results))
            value_bytes = (4 * descriptor.i32_register_count + 7) & -8
            frame_bytes = layout.FRAME_HEADER_BYTES + value_bytes + 8 * descriptor.ref_register_count
            fields = {
                layout.FUNCTION_CODE: ctypes.addressof(self.code) + descriptor.bytecode_offset,
                layout.FUNCTION_VALUE_BYTES: value_bytes,
                layout.FUNCTION_REF_COUNT: descriptor.ref_register_count,
                layout.FUNCTION_FRAME_BYTES: frame_bytes,
                layout.FUNCTION_ARGUMENTS: kinds[convention][0],
                layout.FUNCTION_ARGUMENT_COUNT: len(convention.arguments),
                layout.FUNCTION_RESULTS: kinds[convention][1],
                layout.FUNCTION_RESULT_COUNT: len(convention.results),
            }
            for place, value in fields.items():
                records[words * k + place // 8] = value
        return records

    def _import_records(self) -> ctypes.Array:
        """Records without addresses: each context resolves its own copy."""
        words = layout.IMPORT_BYTES // 8
        records = self._keep((ctypes.c_int64 * (words * len(self.import_conventions) + 1))())
        for k, convention in enumerate(self.import_conventions):
            fields = {
                layout.IMPORT_ARGUMENTS: self._kinds(convention.arguments),
                layout.IMPORT_ARGUMENT_COUNT: len(convention.arguments),
                layout.IMPORT_RESULTS: self._kinds(convention.results),
                layout.IMPORT_RESULT_COUNT: len(convention.results),
            }
            for place, value in fields.items():
                records[words * k + place // 8] = value
        return records

    def _rodata_buffers(self, content) -> ctypes.Array:
        """Read-only buffers over the constants. Each keeps the file's content alive."""
        segments = self.definition.rodata_segments
        buffers = self._keep((ctypes.c_int64 * (len(segments) + 1))())
        if segments:
            owner = objects.add(content, TYPE_OPAQUE)
            for k, segment in enumerate(segments):
                address = _address_of(segment.data)
                buffers[k] = image().buffer_wrap(address, len(segment.data), ACCESS_ORIGIN_MODULE, owner)
            image().release(owner)
            # Not at exit: what the process leaves behind is gone anyway, and its threads may still read it.
            weakref.finalize(self, _release_all, buffers).atexit = False
        return buffers


def _address_of(data: memoryview) -> int:
    """The address of a read-only view's bytes, which ctypes alone does not give."""
    import numpy

    return numpy.frombuffer(data, numpy.uint8).__array_interface__["data"][0] if len(data) else 0


def _release_all(buffers: ctypes.Array) -> None:
    for address in buffers:
        image().release(address)
