"""Compiles the native runtime: `python -m pyiree.runtime.native.build OBJECT CACHE` writes one shared
object.

numba compiles each native function by itself to LLVM, a call of another one being a call of its symbol; so
modules compile independently, side by side, and their bitcode is kept in the CACHE folder until one of their
sources changes. All of it is linked, everything but the exports made internal, and optimised as a whole. What
remains needs only the C library. This runs in a process of its own, so that callers never import numba.
"""

import ctypes
import importlib
import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import llvmlite.binding as llvm
from numba.core import compiler, typed_passes, types, untyped_passes
from numba.core.compiler_machinery import PassManager
from numba.core.registry import cpu_target
from pyiree.runtime.native import sources
from pyiree.runtime.native.exports import EXPORT_PREFIX, EXPORTS
from pyiree.runtime.native.intrinsics import NATIVE_FUNCTIONS
from pyiree.runtime.native.object_code import portable_facts
from pyiree.runtime.native.shared_object import make_shared_object, target_machine

_LLVM_TYPES = {"int64": "i64", "float32": "float", "float64": "double", "void": "ptr", "none": "ptr"}
_FOREIGN = ("NRT_", "numba_")  # what numba's error and allocation paths call
_KEPT_SECONDS = 30 * 24 * 3600  # how long unused bitcode stays in the cache


class _Pipeline(compiler.CompilerBase):
    """numba's nopython pipeline without what these functions never contain: closures, arrays, loops to lift."""

    def define_pipelines(self):
        manager = PassManager("native")
        for one in (
            untyped_passes.TranslateByteCode,
            untyped_passes.FixupArgs,
            untyped_passes.IRProcessing,
            untyped_passes.ReconstructSSA,
            typed_passes.NopythonTypeInference,
            typed_passes.PreLowerStripPhis,
            typed_passes.IRLegalization,
            typed_passes.AnnotateTypes,
            typed_passes.NativeLowering,
            typed_passes.NoPythonBackend,
        ):
            manager.add_pass(one, one.__name__)
        manager.finalize()
        return [manager]


def build_module(cache: Path) -> llvm.ModuleRef:
    """Everything in EXPORTS, linked and optimised, for no processor in particular."""
    linked = llvm.parse_assembly("\n".join(_export(name) for name in EXPORTS))
    modules = sources.with_imports({module for module, _, _ in EXPORTS.values()})
    for bitcode in _bitcode([name for name in modules if "@native(" in sources.text(name)], cache):
        linked.link_in(llvm.parse_bitcode(bitcode))
    exported = {EXPORT_PREFIX + name for name in EXPORTS}
    for value in [*linked.functions, *linked.global_variables]:
        if not value.is_declaration:
            value.linkage = "external" if value.name in exported else "internal"
    machine = target_machine()
    tuning = llvm.create_pipeline_tuning_options(speed_level=2)
    # Nothing here is a numeric loop: copies go through memcpy, and kernels have a compiler of their own.
    tuning.loop_vectorization = tuning.slp_vectorization = tuning.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(linked, builder)
    linked.verify()
    undefined = [f.name for f in linked.functions if f.is_declaration and not f.name.startswith("llvm.")]
    process, libm = ctypes.CDLL(None), ctypes.CDLL("libm.so.6")
    unknown = [
        name for name in undefined if name.startswith(_FOREIGN) or not (hasattr(process, name) or hasattr(libm, name))
    ]
    if unknown:
        raise RuntimeError(f"the native code needs {', '.join(unknown)}: some function can raise or allocate")
    return linked


def _bitcode(modules: list[str], cache: Path) -> list[bytes]:
    """The bitcode of each module, from the cache or compiled by several processes."""
    known = portable_facts()
    paths = {module: cache / f"{sources.digest([module, __spec__.name], *known)}.bc" for module in modules}
    missing = [module for module in modules if not paths[module].exists()]
    if missing:
        cache.mkdir(parents=True, exist_ok=True)
        missing.sort(key=lambda module: -sources.text(module).count("\n"))
        for module in missing:
            importlib.import_module(module)
        workers = min(len(missing), len(os.sched_getaffinity(0)))
        # Forked: the children find numba and all modules already imported.
        context = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(workers, mp_context=context, initializer=_remember_types) as pool:
            for module, bitcode in zip(missing, pool.map(_compile_module, missing)):
                temporary = paths[module].with_suffix(f".{os.getpid()}")
                temporary.write_bytes(bitcode)
                os.replace(temporary, paths[module])
    _prune(cache, set(paths.values()))
    return [path.read_bytes() for path in paths.values()]


def _prune(cache: Path, used: set[Path]) -> None:
    """Marks what is in use, and removes what has not been for long."""
    now = time.time()
    for path in used:
        os.utime(path)
    for path in cache.glob("*.bc"):
        if path not in used and now - path.stat().st_mtime > _KEPT_SECONDS:
            path.unlink(missing_ok=True)


def _remember_types() -> None:
    """numba works out the type of one and the same expression, int64 + int64 say, again each time."""
    work_out = types.functions.BaseFunction.get_call_type
    known: dict = {}

    def get_call_type(function, context, arguments, keywords):
        if keywords:
            return work_out(function, context, arguments, keywords)
        key = (function, arguments)
        if key not in known:
            known[key] = work_out(function, context, arguments, keywords)
        return known[key]

    types.functions.BaseFunction.get_call_type = get_call_type


def _compile_module(module: str) -> bytes:
    """The bitcode of a module's native functions, each with a C function in front."""
    functions = NATIVE_FUNCTIONS[module]
    context = cpu_target.target_context.with_aot_codegen("native")
    library = context.codegen().create_library(module)
    flags = compiler.Flags()
    flags.no_compile = True
    flags.no_cpython_wrapper = True
    flags.no_cfunc_wrapper = True
    flags.enable_pyobject = False
    flags.enable_ssa = True
    flags.error_model = "numpy"  # a division by zero must not become a Python exception
    flags.nrt = False
    shims = []
    for function in functions:
        compiled = compiler.compile_extra(
            cpu_target.typing_context,
            context,
            function.python_function,
            function.sig.args,
            function.sig.return_type,
            flags,
            {},
            library=library,
            pipeline_class=_Pipeline,
        )
        shims.append(_c_function(function.symbol, compiled.fndesc.mangled_name, function.sig))
    linked = library._final_module
    linked.link_in(llvm.parse_assembly("\n".join(shims)))
    return linked.as_bitcode()


def _c_function(name: str, target: str, signature) -> str:
    """LLVM text of a C function around a numba one, which returns a status and writes its result.

    A void function gives a null pointer here: so numba declares it where it calls it.
    """
    types = [_LLVM_TYPES[str(a)] for a in signature.args]
    value = _LLVM_TYPES[str(signature.return_type)]
    passed = ", ".join(["ptr %result", "ptr %exception", *(f"{t} %{k}" for k, t in enumerate(types))])
    leave = "ret ptr null" if value == "ptr" else f"%value = load {value}, ptr %result\n  ret {value} %value"
    return f"""
declare i32 @"{target}"({", ".join(["ptr", "ptr", *types])})

define {value} @"{name}"({", ".join(f"{t} %{k}" for k, t in enumerate(types))}) {{
entry:
  %result = alloca {value}
  %exception = alloca ptr
  %status = call i32 @"{target}"({passed})
  {leave}
}}
"""


def _export(name: str) -> str:
    """LLVM text of an export: a function of its declared type that calls the native one."""
    module, function, signature = EXPORTS[name]
    native = getattr(importlib.import_module(module), function)
    spelled = f"{native.sig.return_type}({','.join(str(a) for a in native.sig.args)})".replace("none(", "void(")
    if spelled != signature:
        raise RuntimeError(f"native export {name} is declared {signature} but {module} has it as {spelled}")
    types = [_LLVM_TYPES[str(a)] for a in native.sig.args]
    value = _LLVM_TYPES[str(native.sig.return_type)]
    passed = ", ".join(f"{t} %{k}" for k, t in enumerate(types))
    returned = "void" if value == "ptr" else value
    return f"""
declare {value} @"{native.symbol}"({", ".join(types)})

define {returned} @{EXPORT_PREFIX}{name}({passed}) {{
entry:
  %value = call {value} @"{native.symbol}"({passed})
  ret {"void" if value == "ptr" else f"{value} %value"}
}}
"""


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(make_shared_object(build_module(Path(sys.argv[2]))))
