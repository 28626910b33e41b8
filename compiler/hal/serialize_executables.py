"""iree-hal-serialize-all-executables: variants become their binaries.

Before: hal.executable.variant public @embedded_elf_x86_64 target(…) attributes {pyiree.binary = …} { exports }
After:  hal.executable.binary public @embedded_elf_x86_64 <format = "embedded-elf-x86_64", data = …>

By now nothing asks for the exports any more: functions are looked up by name when the program is loaded.
"""

from __future__ import annotations

from pyiree.compiler.dialects.builtin import ModuleOp
from pyiree.compiler.hal.ops_executable import ExecutableBinaryOp, ExecutableVariantOp
from pyiree.compiler.hal.translate_executables import BINARY
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.diagnostics import CompileError
from pyiree.compiler.ir.passes import PassContext, register_pass

ELF_MIME_TYPE = "application/x-elf"


@register_pass("iree-hal-serialize-all-executables")
def serialize_all_executables(module: ModuleOp, context: PassContext) -> None:
    """Replaces every variant by its binary."""
    for variant in list(module.walk_type(ExecutableVariantOp)):
        data = variant.attributes.get(BINARY)
        if data is None:
            raise CompileError(f"variant '{variant.sym_name}' was not translated to machine code", variant.location)
        Builder.before(variant).insert(
            ExecutableBinaryOp(
                sym_name=variant.sym_name,
                format_=variant.target.binary_format,
                data=data,
                sym_visibility="public",
                mime_type=ELF_MIME_TYPE,
            )
        )
        variant.erase()
