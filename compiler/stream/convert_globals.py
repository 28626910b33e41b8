"""Globals that hold tensors as globals that hold resources; initial values are stored by initializers.

    util.global private @w = dense<1.0> : tensor<4xf32>
    →
    util.global private @w : !stream.resource<constant>
    util.initializer { %0 = stream.tensor.constant … ; util.global.store %0, @w : !stream.resource<constant> … }

A global that is never written keeps constant memory, another one variable memory. Part of iree-stream-conversion.
"""

from __future__ import annotations

from pyiree.compiler.dialects.util import GlobalOp, GlobalStoreOp, InitializerOp, ReturnOp
from pyiree.compiler.ir.attributes import Attribute
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Operation
from pyiree.compiler.ir.diagnostics import CompileError
from pyiree.compiler.ir.types import TensorType
from pyiree.compiler.stream.analysis.affinity import AffinityAnalysis, default_affinity
from pyiree.compiler.stream.ops import AsyncTransferOp, TensorConstantOp, TensorSizeOfOp
from pyiree.compiler.stream.types import CONSTANT, VARIABLE, resource


def convert_globals(module: Operation, affinities: AffinityAnalysis) -> None:
    """Changes the type of every global that holds a tensor; loads and stores are converted with their functions."""
    for op in list(module.regions[0].ops):
        if isinstance(op, GlobalOp) and isinstance(op.type, TensorType):
            _convert_global(op, affinities.of_global(op.sym_name) or default_affinity(op))


def _convert_global(op: GlobalOp, affinity: Attribute | None) -> None:
    type, value = op.type, op.initial_value
    if not type.has_static_shape:
        raise CompileError(
            f"global @{op.sym_name} holds {type}; a global needs a static shape, since its size is fixed once",
            op.location,
        )
    op.type = held = resource(VARIABLE if op.is_mutable else CONSTANT)
    if value is None:
        return
    op.initial_value = None
    block = Block()
    builder = Builder.at_end(block, op.location)
    made = builder.insert(TensorConstantOp((), value, type, affinity, result=resource(CONSTANT))).result
    if op.is_mutable:
        size = builder.insert(TensorSizeOfOp((), type, affinity)).storage_size
        made = builder.insert(AsyncTransferOp(made, size, size, affinity, affinity, affinity, result=held)).result
    builder.insert(GlobalStoreOp(made, op.sym_name))
    builder.insert(ReturnOp(()))
    op.block.insert_after(op, InitializerOp(body=block, location=op.location))  # type: ignore[union-attr]
