"""The one door to jaxlib's MLIR: its private names, its contexts, and what it reads for us.

Enters: StableHLO as an in-memory jaxlib module, as text, as MLIR bytecode or as a VHLO portable artifact.
Leaves: a verified jaxlib `ir.Module` whose dialects are func, stablehlo and chlo, and scalar expansions of
the CHLO functions that have no twin among the `math` ops.

Nothing else under `pyiree.compiler` imports jaxlib; a new jaxlib that moves a name breaks this file alone.
"""

from __future__ import annotations

import functools
import sys
import types
from typing import Any

from pyiree.compiler.errors import CompileError

# jaxlib looks for a Python module of each dialect whenever it meets one of its ops and forgets a miss, which
# costs a hundred times more than the look-up of a module that is there. These dialects have none.
_DIALECTS_WITHOUT_MODULE = ("linalg", "tensor", "complex", "shape", "quant", "bufferization", "vhlo")

_EXPANSION = "builtin.module(func.func(chlo-legalize-to-stablehlo,stablehlo-complex-math-expander),canonicalize,cse)"

_REWRITE = "builtin.module(func.func(chlo-legalize-to-stablehlo,stablehlo-legalize-deprecated-ops))"

_BYTECODE_MAGIC = b"ML\xefR"
_SIGNS_OF_MLIR = ("func.", "stablehlo.", "module {", "module @", "module attributes")


def _stub_missing_dialects() -> None:
    for dialect in _DIALECTS_WITHOUT_MODULE:
        name = f"jaxlib.mlir.dialects.{dialect}"
        sys.modules.setdefault(name, types.ModuleType(name))


@functools.cache
def mlir() -> Any:
    """jaxlib's `ir` module, ready to be walked."""
    _stub_missing_dialects()
    from jaxlib.mlir import ir

    return ir


@functools.cache
def stablehlo() -> Any:
    """jaxlib's `stablehlo` dialect module (its attribute classes)."""
    mlir()
    from jaxlib.mlir.dialects import stablehlo as dialect

    return dialect


def dialect_attribute(op: Any, name: str, class_name: str) -> Any:
    """An attribute of an op as an instance of one of the stablehlo dialect's attribute classes; None if absent."""
    attributes = op.attributes
    return getattr(stablehlo(), class_name)(attributes[name]) if name in attributes else None


def defining_op(value: Any) -> Any | None:
    """The op that makes a value; None for a block's argument."""
    return None if isinstance(value, mlir().BlockArgument) else value.owner


@functools.cache
def _context() -> Any:
    """The context of the sources that arrive as text or bytes; modules made by jax bring their own."""
    ir = mlir()
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext
    from jaxlib.mlir.dialects import chlo, mhlo, sdy

    context = ir.Context()
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    stablehlo().register_dialect(context)
    chlo.register_dialect(context)
    mhlo.register_mhlo_dialect(context)
    sdy.register_dialect(context)
    return context


def is_module(source: object) -> bool:
    """Whether the source is a jaxlib module already."""
    ir = mlir()
    return isinstance(source, ir.Module) or isinstance(getattr(source, "operation", None), ir.Operation)


def load_module(source: Any) -> Any:
    """The jaxlib module of a source: a module, MLIR text, MLIR bytecode or a VHLO portable artifact."""
    if isinstance(source, str):
        return _parse(source)
    if isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
        if data.startswith(_BYTECODE_MAGIC):
            return _read_bytecode(data)
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise CompileError(
                "the program is no text: expected StableHLO text, bytecode or a portable artifact"
            ) from None
        return _parse(text)
    if is_module(source):
        return source
    raise TypeError(f"expected StableHLO as a module, text or bytes, got {type(source).__name__}")


def _parse(text: str) -> Any:
    ir = mlir()
    try:
        return ir.Module.parse(text, _context())
    except ir.MLIRError as error:
        is_program = any(sign in text for sign in _SIGNS_OF_MLIR)
        doubt = "" if is_program else "; is this StableHLO text, bytecode or a portable artifact?"
        raise CompileError(_first_diagnostic(error) + doubt) from None


def _read_bytecode(data: bytes) -> Any:
    """MLIR bytecode as it stands, or a portable artifact (ops of the vhlo dialect) brought to StableHLO."""
    ir = mlir()
    # A portable artifact says so in the producer's name, which follows the magic number and the version.
    if b"StableHLO_v" in data[:32]:
        try:
            return stablehlo().deserialize_portable_artifact(_context(), data)
        except (ir.MLIRError, ValueError) as error:
            raise CompileError(f"the portable artifact can't be read: {_first_diagnostic(error)}") from None
    try:
        return ir.Module.parse(data, _context())
    except ir.MLIRError as error:
        raise CompileError(f"the MLIR bytecode can't be read: {_first_diagnostic(error)}") from None


def in_plain_ops(program: Any) -> Any:
    """A copy of a module in which deprecated ops, and those of CHLO, are written with other ops."""
    operation = program.operation
    from jaxlib.mlir import passmanager

    _register_passes()
    copy = operation.clone()
    try:
        passmanager.PassManager.parse(_REWRITE, operation.context).run(copy.operation)
    except mlir().MLIRError as error:
        raise CompileError(_first_diagnostic(error)) from None
    return copy


def _first_diagnostic(error: Exception) -> str:
    """The first complaint of an MLIRError in one line."""
    for diagnostic in getattr(error, "error_diagnostics", ()):
        place = str(diagnostic.location).removeprefix("loc(").removesuffix(")").replace('"', "")
        return " ".join(f"{place}: {diagnostic.message}".split())
    return " ".join(str(error).split())


@functools.cache
def _pass_manager(pipeline: str) -> Any:
    mlir()
    from jaxlib.mlir import passmanager

    _register_passes()
    return passmanager.PassManager.parse(pipeline, _context())


@functools.cache
def _register_passes() -> None:
    from jaxlib.mlir._mlir_libs import _stablehlo

    _stablehlo.register_stablehlo_passes()


@functools.cache
def expand_scalar(op: str, operand_types: tuple[str, ...], result_type: str) -> Any:
    """A module of one function of rank-0 tensors: an op of CHLO, or on complex numbers, in simpler StableHLO.

    The types are element types in MLIR's spelling.
    """
    arguments = ", ".join(f"%{i} : tensor<{t}>" for i, t in enumerate(operand_types))
    names = ", ".join(f"%{i}" for i in range(len(operand_types)))
    tensors = ", ".join(f"tensor<{t}>" for t in operand_types)
    module = _parse(
        f"func.func public @main({arguments}) -> tensor<{result_type}> {{\n"
        f'  %r = "{op}"({names}) : ({tensors}) -> tensor<{result_type}>\n'
        f"  return %r : tensor<{result_type}>\n}}"
    )
    with _context():
        _pass_manager(_EXPANSION).run(module.operation)
    return module
