"""Compiles the native runtime: `python -m pyiree.runtime.native.build PATH` writes one object file.

Each exported function is compiled by numba, the LLVM modules are linked into one, a C function is put in
front of each export, everything else is made internal and the whole is optimised again. What remains needs
only the C library. It runs in a process of its own: numba is then told not to emit machine code for each
single function, and the caller's process never imports numba.
"""

import importlib
import sys
from pathlib import Path

import llvmlite.binding as llvm
from numba.core.codegen import JITCodeLibrary
from numba.core.cpu import CPUContext
from numba.core.registry import cpu_target
from pyiree.runtime.native.exports import EXPORTS
from pyiree.runtime.native.intrinsics import EXPORT_PREFIX

_LLVM_TYPES = {"int64": "i64", "float32": "float", "float64": "double", "void": "ptr"}
_FOREIGN = ("NRT_", "numba_")  # what numba's error and allocation paths call


def build_object() -> bytes:
    """The object code of everything in EXPORTS."""
    # Only the LLVM modules are wanted: one may name symbols that another one defines, so none is loaded, and
    # all are optimised together at the end. numba still wants a builtin of its own for each as its key.
    CPUContext.get_executable = lambda *_: [].append
    for step in ("_finalize_specific", "_optimize_functions", "_optimize_final_module"):
        setattr(JITCodeLibrary, step, lambda *_: None)
    machine = _target_machine()
    libraries: dict = {}
    shims = []
    for name, (module, function, signature) in EXPORTS.items():
        dispatcher = getattr(importlib.import_module(module), function)
        (compiled,) = dispatcher.overloads.values()
        if _spelling(dispatcher.nopython_signatures[0]) != signature:
            raise RuntimeError(
                f"native export {name} is declared {signature} but {module} compiles it as "
                f"{dispatcher.nopython_signatures[0]}"
            )
        _collect(compiled.library, libraries)
        shims.append(_c_function(name, compiled.fndesc.mangled_name, signature))
    linked = llvm.parse_assembly("\n".join(shims))
    for library in libraries:
        linked.link_in(llvm.parse_bitcode(library._final_module.as_bitcode()))
    exported = {EXPORT_PREFIX + name for name in EXPORTS}
    for value in [*linked.functions, *linked.global_variables]:
        if not value.is_declaration:
            value.linkage = "external" if value.name in exported else "internal"
    tuning = llvm.create_pipeline_tuning_options(speed_level=2)
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(linked, builder)
    linked.verify()
    undefined = [f.name for f in linked.functions if f.is_declaration and not f.name.startswith("llvm.")]
    unknown = [name for name in undefined if not llvm.address_of_symbol(name) or name.startswith(_FOREIGN)]
    if unknown:
        raise RuntimeError(f"the native code needs {', '.join(unknown)}: some function can raise or allocate")
    return machine.emit_object(linked)


def _target_machine():
    """The host's: near code, so that calls and jump tables inside the image are short."""
    features = cpu_target.target_context.codegen()._tm_features
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=2, reloc="pic", codemodel="small"
    )


def _collect(library, found: dict) -> None:
    """The library and all that it calls, each once; a function's own module holds its definition."""
    if library not in found:
        found[library] = None
        for callee in library._linking_libraries:
            if callee.name != "nrt":  # numba's reference counts, which none of our functions uses
                _collect(callee, found)


def _spelling(signature) -> str:
    """A numba signature as EXPORTS writes it."""
    result = "void" if str(signature.return_type) == "none" else str(signature.return_type)
    return f"{result}({','.join(str(a) for a in signature.args)})"


def _c_function(name: str, target: str, signature: str) -> str:
    """LLVM text of a C function around a numba one, which returns a status and writes its result."""
    result, arguments = signature[:-1].split("(")
    types = [_LLVM_TYPES[a] for a in arguments.split(",") if a]
    value = _LLVM_TYPES[result]
    parameters = ", ".join(f"{t} %{k}" for k, t in enumerate(types))
    declared = ", ".join(["ptr", "ptr", *types])
    passed = ", ".join(["ptr %result", "ptr %exception", *(f"{t} %{k}" for k, t in enumerate(types))])
    returned = "void" if result == "void" else value
    leave = "ret void" if result == "void" else f"%value = load {value}, ptr %result\n  ret {value} %value"
    return f"""
declare i32 @"{target}"({declared})

define {returned} @{EXPORT_PREFIX}{name}({parameters}) {{
entry:
  %result = alloca {value}
  %exception = alloca ptr
  %status = call i32 @"{target}"({passed})
  {leave}
}}
"""


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(build_object())
