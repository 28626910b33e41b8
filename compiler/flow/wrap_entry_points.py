"""iree-abi-wrap-entry-points: public functions take and return buffer views.

Before: util.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32>
After:  util.func public @main(%arg0: !hal.buffer_view) -> !hal.buffer_view attributes {iree.abi.stub, …} {
          %0 = hal.tensor.import %arg0 "input0" : !hal.buffer_view -> tensor<4xf32>
          …
          %2 = hal.tensor.export %1 "output0" : tensor<4xf32> -> !hal.buffer_view
"""

from __future__ import annotations

from pyiree.compiler.dialects.builtin import ModuleOp
from pyiree.compiler.dialects.hal import BufferViewDimOp, BufferViewType, TensorExportOp, TensorImportOp
from pyiree.compiler.dialects.tensor import DimOp
from pyiree.compiler.dialects.util import FuncOp, ReturnOp
from pyiree.compiler.flow.resolve_dims import index_constant
from pyiree.compiler.ir.attributes import Attribute, DictAttr, StringAttr, TypeAttr, UnitAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Value
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import FunctionType, TensorType, Type

ENCODING = "iree.abi.encoding"
STUB = "iree.abi.stub"
REFLECTION = "iree.reflection"


@register_pass("iree-abi-wrap-entry-points")
def wrap_entry_points(module: ModuleOp, context: PassContext) -> None:
    """Gives every public function the calling convention of the runtime."""
    for op in list(module.body_block.ops):
        if isinstance(op, FuncOp) and op.is_public and not op.is_declaration and STUB not in op.attributes:
            _wrap(op)


def _wrap(func: FuncOp) -> None:
    declaration = _declaration(func)
    view = BufferViewType()
    block = func.entry_block
    builder = Builder.at_start(block, func.location)
    for i, argument in enumerate(list(block.arguments)):
        if not isinstance(argument.type, TensorType):
            continue
        tensor, encoding = argument.type, _encoding(argument.type, func.argument_attributes(i))
        outer = block.replace_argument(i, view, argument.location)
        dims = [
            builder.insert(BufferViewDimOp(outer, d)).result
            for d, size in enumerate(tensor.shape)
            if size is None
        ]
        inner = builder.insert(
            TensorImportOp(outer, dims, target_encoding=encoding, name_=f"input{i}", target=tensor)
        )
        argument.replace_all_uses_with(inner.target)
    for end in list(func.walk_type(ReturnOp)):
        end.operands = [_export(end, i, value, func) for i, value in enumerate(end.operands)]
    old = func.function_type
    func.function_type = FunctionType(block.argument_types, [_outer_type(t) for t in old.results])
    func.set_argument_attributes([])
    func.set_result_attributes([])
    func.attributes[STUB] = UnitAttr()
    func.attributes[REFLECTION] = DictAttr({"iree.abi.declaration": StringAttr(declaration)})


def _export(end: ReturnOp, number: int, value: Value, func: FuncOp) -> Value:
    tensor = value.type
    if not isinstance(tensor, TensorType):
        return value
    builder = Builder.before(end)
    dims = [
        builder.insert(DimOp(value, index_constant(builder, d))).result
        for d, size in enumerate(tensor.shape)
        if size is None
    ]
    encoding = _encoding(tensor, func.result_attributes(number))
    op = TensorExportOp(
        value, dims, source_encoding=encoding, name_=f"output{number}", target=BufferViewType()
    )
    return builder.insert(op).target


def _outer_type(type: Type) -> Type:
    return BufferViewType() if isinstance(type, TensorType) else type


def _encoding(type: Type, attributes: DictAttr) -> Type:
    """The type at the boundary, where signedness counts."""
    found: Attribute | None = attributes.get(ENCODING)
    return found.value if isinstance(found, TypeAttr) else type


def _declaration(func: FuncOp) -> str:
    """The signature for people, in the words of the source program."""

    def side(prefix: str, types: tuple[Type, ...], attributes) -> str:
        parts = []
        for i, t in enumerate(types):
            text = f"%{prefix}{i}: {t}"
            encoding = attributes(i).get(ENCODING)
            parts.append(text if encoding is None else f"{text} {{{ENCODING} = {encoding}}}")
        return ", ".join(parts)

    inputs = side("input", func.function_type.inputs, func.argument_attributes)
    outputs = side("output", func.function_type.results, func.result_attributes)
    return f"sync func @{func.sym_name}({inputs}) -> ({outputs})"
