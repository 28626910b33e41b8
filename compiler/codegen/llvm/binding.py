"""LLVM's parser, verifier, O2 pipeline and emitter, called so that threads compile side by side.

Enters: IR text and a machine description. Leaves: object bytes or assembly text. llvmlite's own wrappers hold
one lock around every call; LLVM needs none when each thread has its own context and target machine, as
here. So this file, and no other, calls the C functions of llvmlite's library itself, with the GIL
released.
"""

from __future__ import annotations

import ctypes
import os
import threading
from functools import lru_cache
from typing import NamedTuple

from pyiree.compiler.errors import CompileError

_POINTER = ctypes.c_void_p
_TEXT = ctypes.c_char_p
_OUT_TEXT = ctypes.POINTER(ctypes.c_void_p)
_INT = ctypes.c_int

#: Functions that take no time: the GIL is kept, since another thread would take it for longer than they last.
_BRIEF = frozenset(
    ("ContextCreate", "VerifyModule", "DisposeString", "GetBufferStart", "GetBufferSize", "DisposeMemoryBuffer")
)

# name after LLVMPY_ → (result, arguments)
_FUNCTIONS = {
    "ContextCreate": (_POINTER, ()),
    "ContextDispose": (None, (_POINTER,)),
    "ParseAssembly": (_POINTER, (_POINTER, _TEXT, _OUT_TEXT)),
    "VerifyModule": (ctypes.c_bool, (_POINTER, _OUT_TEXT)),
    "DisposeModule": (None, (_POINTER,)),
    "DisposeString": (None, (_POINTER,)),
    "GetTargetFromTriple": (_POINTER, (_TEXT, _OUT_TEXT)),
    "CreateTargetMachine": (
        _POINTER,
        (_POINTER, _TEXT, _TEXT, _TEXT, _INT, _TEXT, _TEXT, _INT, _INT, _TEXT),
    ),
    "TargetMachineEmitToMemory": (_POINTER, (_POINTER, _POINTER, _INT, _OUT_TEXT)),
    "GetBufferStart": (_POINTER, (_POINTER,)),
    "GetBufferSize": (ctypes.c_size_t, (_POINTER,)),
    "DisposeMemoryBuffer": (None, (_POINTER,)),
    "CreatePipelineTuningOptions": (_POINTER, ()),
    "DisposePipelineTuningOptions": (None, (_POINTER,)),
    "PTOSetLoopVectorization": (None, (_POINTER, ctypes.c_bool)),
    "PTOSetSLPVectorization": (None, (_POINTER, ctypes.c_bool)),
    "PTOSetLoopUnrolling": (None, (_POINTER, ctypes.c_bool)),
    "CreatePassBuilder": (_POINTER, (_POINTER, _POINTER)),
    "DisposePassBuilder": (None, (_POINTER,)),
    "buildPerModuleDefaultPipeline": (_POINTER, (_POINTER, _INT)),
    "RunNewModulePassManager": (None, (_POINTER, _POINTER, _POINTER)),
    "DisposeNewModulePassManger": (None, (_POINTER,)),  # the library spells it so
}


class MachineOptions(NamedTuple):
    """What a target machine is made from; equal options share one machine per thread."""

    triple: str
    cpu: str
    features: str
    codegen_level: int


class _Library:
    """The functions above as attributes, bound on a handle of our own."""

    def __init__(self):
        import llvmlite.binding as llvm

        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        handle, brief = ctypes.CDLL(llvm.ffi.lib._name), ctypes.PyDLL(llvm.ffi.lib._name)
        for name, (result, arguments) in _FUNCTIONS.items():
            try:
                function = getattr(brief if name in _BRIEF else handle, "LLVMPY_" + name)
            except AttributeError:
                raise CompileError(f"this llvmlite has no function LLVMPY_{name}; pyiree needs llvmlite 0.50") from None
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        self.version = ".".join(map(str, llvm.llvm_version_info))


_lock = threading.Lock()
_machines = threading.local()


def _unlock() -> None:
    """In a forked child no other thread is loading the library."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock)


@lru_cache(maxsize=1)
def _loaded() -> _Library:
    return _Library()


def _library() -> _Library:
    with _lock:  # lru_cache alone would let two threads load it at the same time
        return _loaded()


def llvm_version() -> str:
    """The version of LLVM that compiles, a part of every object's cache key."""
    return _library().version


class _OutText:
    """An error text that LLVM allocates: read once, then freed."""

    def __init__(self, lib: _Library):
        self._lib = lib
        self._pointer = ctypes.c_void_p()

    @property
    def ref(self):
        return ctypes.byref(self._pointer)

    def take(self) -> str:
        if not self._pointer.value:
            return ""
        text = ctypes.string_at(self._pointer.value).decode("utf-8", "replace")
        self._lib.DisposeString(self._pointer)
        self._pointer = ctypes.c_void_p()
        return " ".join(text.split())


def _machine(lib: _Library, options: MachineOptions) -> int:
    """This thread's target machine for the options: it keeps state while it emits, so threads share none."""
    table = _machines.__dict__
    machine = table.get(options)
    if machine is None:
        error = _OutText(lib)
        triple = options.triple.encode()
        target = lib.GetTargetFromTriple(triple, error.ref)
        if not target:
            raise CompileError(f"LLVM does not know the target {options.triple}: {error.take()}")
        machine = lib.CreateTargetMachine(
            target,
            triple,
            options.cpu.encode(),
            options.features.encode(),
            options.codegen_level,
            b"pic",
            b"small",
            0,
            0,
            b"",
        )
        if not machine:
            raise CompileError(f"LLVM cannot make code for {options.cpu} on {options.triple}")
        table[options] = machine
    return machine


def compile_text(text: str, options: MachineOptions, optimize: bool, assembly: bool) -> bytes:
    """IR text to an object file (or, with `assembly`, to assembly text as bytes)."""
    lib = _library()
    machine = _machine(lib, options)
    error = _OutText(lib)
    # A context of its own: nothing that LLVM interns outlives the kernel, and threads share nothing.
    context = lib.ContextCreate()
    module = None
    try:
        module = lib.ParseAssembly(context, text.encode(), error.ref)
        message = error.take()
        if message or not module:
            raise CompileError(f"generated LLVM IR does not parse: {message}")
        if lib.VerifyModule(module, error.ref):
            raise CompileError(f"generated LLVM IR is not valid: {error.take()}")
        error.take()
        if optimize:
            _run_o2(lib, module, machine)
        buffer = lib.TargetMachineEmitToMemory(machine, module, 0 if assembly else 1, error.ref)
        if not buffer:
            raise CompileError(f"LLVM cannot emit code for {options.cpu}: {error.take()}")
        try:
            return ctypes.string_at(lib.GetBufferStart(buffer), lib.GetBufferSize(buffer))
        finally:
            lib.DisposeMemoryBuffer(buffer)
    finally:
        if module:
            lib.DisposeModule(module)
        lib.ContextDispose(context)


def _run_o2(lib: _Library, module: int, machine: int) -> None:
    tuning = lib.CreatePipelineTuningOptions()
    lib.PTOSetLoopVectorization(tuning, True)
    lib.PTOSetSLPVectorization(tuning, True)
    lib.PTOSetLoopUnrolling(tuning, True)
    builder = lib.CreatePassBuilder(machine, tuning)
    passes = lib.buildPerModuleDefaultPipeline(builder, 2)
    lib.RunNewModulePassManager(passes, module, builder)
    lib.DisposeNewModulePassManger(passes)
    lib.DisposePassBuilder(builder)
    lib.DisposePipelineTuningOptions(tuning)
