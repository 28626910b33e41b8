"""iree-stream-conversion: tensors become resources, and what makes them stream ops.

Before: flow, hal.tensor and tensor-carrying util/scf ops; `flow.executable`.
After:  `stream.tensor.*` on `!stream.resource<*>`, sizes as SSA values; `stream.executable`. Scalars and the control
        flow stay. Each op says its device; a value needed on another one goes through a `stream.async.transfer`.

    %1 = flow.dispatch @e::@f(%0) : (tensor<4xf32>) -> tensor<4xf32>
    →
    %s = stream.tensor.sizeof on(#a) tensor<4xf32> : index
    %1 = stream.tensor.dispatch on(#a) @e::@f(%0) : (tensor<4xf32> in !stream.resource<*>{%s})
        -> tensor<4xf32> in !stream.resource<*>{%s}

A tensor of a static shape becomes a resource; one with `?` a resource and its size, since nothing else tells it.
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.dialects import hal, util
from pyiree.compiler.dialects.arith import ConstantOp, SelectOp
from pyiree.compiler.ir.conversion import ConversionTarget, TypeConverter, apply_partial_conversion
from pyiree.compiler.ir.core import Operation
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import TensorType, Type, index
from pyiree.compiler.stream.analysis.affinity import AffinityAnalysis
from pyiree.compiler.stream.convert_executables import convert_executables
from pyiree.compiler.stream.convert_globals import convert_globals
from pyiree.compiler.stream.flow_patterns import flow_patterns
from pyiree.compiler.stream.structural_patterns import keep_loop_values_in_place, structural_patterns
from pyiree.compiler.stream.types import UNKNOWN, resource


class ResourceTypes(TypeConverter):
    """Tensors as resources, with a size where the shape does not give it."""

    def __init__(self) -> None:
        super().__init__()
        self.add(TensorType, _resource_types)


def _resource_types(type: TensorType) -> list[Type]:
    return [resource(UNKNOWN)] if type.has_static_shape else [resource(UNKNOWN), index]


def _conversion_target(converter: TypeConverter) -> ConversionTarget:
    """Nothing on the host may have a tensor type any more."""
    target = ConversionTarget().add_legal_dialect("stream").add_illegal_dialect("flow")
    target.add_illegal(hal.TensorImportOp, hal.TensorExportOp, hal.TensorBarrierOp)
    for dialect in ("util", "scf", "cf", "arith", "tensor", "linalg", "hal"):
        target.add_dynamic_dialect(dialect, converter.is_legal)
    target.add_dynamic(
        util.FuncOp, lambda op: converter.is_legal(op.function_type) and converter.is_legal(op.body)
    )
    target.add_dynamic((ConstantOp, SelectOp), lambda op: converter.is_legal(op.result.type))
    return target


@register_pass("iree-stream-conversion")
def convert_to_stream(module: Operation, context: PassContext) -> None:
    """Converts a module's tensors and executables to the stream dialect."""
    affinities = AffinityAnalysis(module)
    keep_loop_values_in_place(module, affinities)
    convert_executables(module)
    convert_globals(module, affinities)
    converter = ResourceTypes()
    patterns: list[Any] = [*flow_patterns(affinities), *structural_patterns(affinities)]
    hosts = [op for op in module.regions[0].ops if isinstance(op, util.FuncOp | util.InitializerOp)]
    apply_partial_conversion(hosts, _conversion_target(converter), patterns, converter)
