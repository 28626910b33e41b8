"""The compiler from end to end: input → flow → stream → hal → vm → `.vmfb`.

Enters: StableHLO (a jaxlib module, text, bytecode or a portable artifact), or the text of any later phase. Leaves: the
bytes of a `.vmfb`, or the text of the program after any phase.

    stablehlo   what the front end traced
    input       linalg on tensors: every op known, calls inlined
    flow        the host program dispatches executables; what is one dispatch is decided
    stream      when it runs and where memory lives: resources, timepoints, commands
    hal         device objects; executables are machine code
    vm          the host program as code of a register machine
    vmfb        the file
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from dataclasses import field
from typing import Any

from pyiree.compiler import flow as _flow  # noqa: F401  (these register the names of their passes)
from pyiree.compiler import hal as _hal  # noqa: F401
from pyiree.compiler import stream as _stream  # noqa: F401
from pyiree.compiler import vm as _vm  # noqa: F401
from pyiree.compiler.errors import UnsupportedError
from pyiree.compiler.interpreter import for_compilation
from pyiree.compiler.ir.passes import PassContext, PassManager, lookup_pass, pass_names
from pyiree.compiler.ir.printer import print_operation
from pyiree.compiler.options import CompileOptions
from pyiree.compiler.reproducer import leave_reproducer
from pyiree.runtime.vmfb.lazy_dataclass import dataclass

#: The phases whose result is a module of ours, in order; each is a list of passes in `<phase>/pipeline.py`.
LOWERING_PHASES = ("flow", "stream", "hal", "vm")
#: The phases that a program can come from.
SOURCE_PHASES = ("stablehlo", "input", *LOWERING_PHASES)
#: Forms of the kernels: loop IR, LLVM IR, assembly.
KERNEL_PHASES = ("kernel", "llvm", "asm")
#: The phases whose text can be asked for.
TEXT_PHASES = (*SOURCE_PHASES, *KERNEL_PHASES)


@dataclass
class Compilation:
    """A program on its way: the module after the last phase that ran, and the seconds that each took."""

    module: Any
    phase: str
    options: CompileOptions
    timing: dict[str, float] = field(default_factory=dict)
    _vmfb: bytes | None = None

    @property
    def vmfb(self) -> bytes:
        """The file; an error unless the program was compiled to it."""
        if self._vmfb is None:
            raise ValueError(f"the program was compiled to {self.phase!r} only; compile to 'vmfb' for the file")
        return self._vmfb

    def text(self, phase: str | None = None, *, debug_info: bool = False, large_constants: bool = True) -> str:
        """The text of the module at the phase where compilation stopped."""
        if phase is not None and phase != self.phase:
            raise ValueError(f"the program was compiled to {self.phase!r}, not to {phase!r}")
        if isinstance(self.module, str):
            return self.module
        return print_operation(self.module, debug_info=debug_info, elide_large_constants=not large_constants)


def compile(
    source: Any,
    options: CompileOptions | None = None,
    *,
    compile_from: str = "stablehlo",
    compile_to: str = "vmfb",
    keep_module: bool = True,
) -> Compilation:
    """Compiles `source`, which is at `compile_from`, up to and including `compile_to`.

    Without `keep_module` the result holds no IR, only the file; the IR is taken apart, which is a tenth of the work of
    finding out that nobody needs it.

    Raises `UnsupportedError` for ops that cannot be compiled, and `CompileError` for programs that are wrong. When a
    pass fails, a note on the error names a file with the IR before it, which `pyiree opt` runs again.
    """
    options = options or CompileOptions()
    if compile_to not in ("stablehlo", "input"):
        _ = options.target  # a CPU that there is not is told about before anything is done
    context = PassContext(
        options=options,
        verify_each=options.verify_each,
        print_ir_after="all" in options.print_ir_after or options.print_ir_after,
        dump_dir=options.dump_dir,
    )
    with for_compilation():
        try:
            done = _compile(source, context, compile_from, compile_to)
            if not keep_module:
                done.module.take_apart()
                done.module = None
            context.invalidate_analyses()
            return done
        except BaseException as error:
            context.cancel()
            if not isinstance(error, Exception) or isinstance(error, UnsupportedError):
                raise
            if context.failed_pass is not None and context.dump_dir is None:
                again = PassContext(options=options, verify_each=options.verify_each)
                leave_reproducer(error, context, again, lambda: _compile(source, again, compile_from, compile_to))
            raise


def _compile(source: Any, context: PassContext, compile_from: str, compile_to: str) -> Compilation:
    done = Compilation(None, compile_from, context.options)
    if compile_from not in SOURCE_PHASES:
        raise ValueError(f"cannot compile from {compile_from!r}: the phases are {', '.join(SOURCE_PHASES)}")
    if compile_to not in (*TEXT_PHASES, "vmfb"):
        raise ValueError(f"cannot compile to {compile_to!r}: the phases are {', '.join((*TEXT_PHASES, 'vmfb'))}")
    position = SOURCE_PHASES.index(compile_from)
    if compile_from == "stablehlo":
        from pyiree.compiler.input.pipeline import import_program, stablehlo_text

        if compile_to == "stablehlo":
            done.module = stablehlo_text(source)
            return done
        _timed(done, "input", lambda: import_program(source, context))
        position = 1
    else:
        from pyiree.compiler.ir.parser import parse_module

        text = source if isinstance(source, str) else bytes(source).decode()
        _timed(done, "parse", lambda: parse_module(text, verify=True))
        done.phase = compile_from
    stop = _last_phase(compile_to)
    for phase in SOURCE_PHASES[position + 1 :]:
        if done.phase == stop:
            break
        if phase == "hal" and compile_to in KERNEL_PHASES:
            done.module = _kernel_text(done.module, compile_to, context)
            done.phase = compile_to
            return done
        _timed(done, phase, lambda phase=phase: _run_phase(done.module, phase, context))
    if compile_to == "vmfb":
        from pyiree.compiler.vm.serialize import serialize

        started = time.perf_counter()
        done._vmfb = serialize(done.module, context, prepared=compile_from != "vm")
        done.timing["vmfb"] = time.perf_counter() - started
        done.phase = "vmfb"
    return done


def phase_text(
    source: Any,
    phase: str,
    options: CompileOptions | None = None,
    *,
    debug_info: bool = False,
    large_constants: bool = True,
) -> str:
    """The text of StableHLO `source` after a phase: one of `TEXT_PHASES`."""
    compilation = compile(source, options, compile_to=phase)
    return compilation.text(phase, debug_info=debug_info, large_constants=large_constants)


def registered_passes() -> list[Any]:
    """All passes by name, with the line that says what each does."""
    return [lookup_pass(name) for name in pass_names()]


def _last_phase(compile_to: str) -> str:
    if compile_to in KERNEL_PHASES:
        return "hal"
    return "vm" if compile_to == "vmfb" else compile_to


def _timed(done: Compilation, phase: str, work: Callable[[], Any]) -> None:
    started = time.perf_counter()
    done.module = work()
    done.phase = phase
    done.timing[phase] = time.perf_counter() - started


def _run_phase(module: Any, phase: str, context: PassContext) -> Any:
    pipeline = importlib.import_module(f"pyiree.compiler.{phase}.pipeline")
    PassManager(pipeline.PASSES).run(module, context)
    return module


def _kernel_text(module: Any, kind: str, context: PassContext) -> str:
    """The kernels of a module at the stream phase, in one of `KERNEL_PHASES`."""
    from pyiree.compiler.hal.translate_executables import kernel_text

    return kernel_text(module, kind, context)
