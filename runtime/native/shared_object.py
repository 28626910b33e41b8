"""The native runtime as a shared object that needs no linker where it is loaded.

Enters: its LLVM module, which calls the C library and Python. Leaves: for this processor, a shared object that imports
nothing: what it calls are jumps through words named `import.…`, and whoever loads it fills these with addresses
(`imports`). So a process that compiles nothing does without LLVM.
"""

import llvmlite.binding as llvm
from pyiree.runtime.hal.processor import host_architecture
from pyiree.runtime.native.exports import EXPORT_PREFIX, EXPORTS
from pyiree.runtime.native.imports import IMPORT_PREFIX
from pyiree.runtime.vmfb.elf.link import link
from pyiree.runtime.vmfb.elf.object_file import SHN_UNDEF, read_object

_JUMPS = {
    "x86_64": "jmpq *{word}(%rip)",
    "aarch64": "adrp x16, {word}\\0Aldr x16, [x16, :lo12:{word}]\\0Abr x16",
}


def make_shared_object(module: llvm.ModuleRef) -> bytes:
    """Compiles and links the runtime for this processor."""
    machine = target_machine()
    code = machine.emit_object(module)
    symbols = read_object(code, "the native runtime").symbols
    undefined = sorted({s.name for s in symbols if s.section == SHN_UNDEF and s.name})
    exported = [EXPORT_PREFIX + name for name in EXPORTS]
    return link([code, _jumps(undefined, machine)], [*exported, *(IMPORT_PREFIX + name for name in undefined)])


def target_machine() -> llvm.TargetMachine:
    """The host's: near code, so that calls and jump tables inside the image are short."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=2, reloc="pic", codemodel="small"
    )


def _jumps(names: list[str], machine: llvm.TargetMachine) -> bytes:
    """An object that defines functions as jumps to where their words point."""
    lines = []
    for name in names:
        word = IMPORT_PREFIX + name
        lines += [".text", f".globl {name}", f"{name}:", _JUMPS[host_architecture()].format(word=word)]
        lines += [".data", ".balign 8", f".globl {word}", f"{word}:", ".quad 0"]
    text = "\n".join(f'module asm "{line}"' for line in lines)
    module = llvm.parse_assembly(f'target triple = "{machine.triple}"\n{text}\n')
    return machine.emit_object(module)
