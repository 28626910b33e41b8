"""iree-util-outline-constants: tensors of known contents live in the module, not in functions.

Before: %0 = arith.constant dense<[1, 2, 3]> : tensor<3xi32>            (on the host, not a splat)
After:  util.global private @__constant_0 = dense<[1, 2, 3]> : tensor<3xi32>
        %0 = util.global.load immutable @__constant_0 : tensor<3xi32>

So they are uploaded once, when the program is loaded. Equal constants share a global; the bytes are never copied.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyiree.compiler.dialects.arith import ConstantOp
from pyiree.compiler.dialects.builtin import ModuleOp
from pyiree.compiler.dialects.util import FuncOp, GlobalLoadOp, GlobalOp
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Operation
from pyiree.compiler.ir.dense import DenseElementsAttr
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.symbol_table import SymbolTable


@register_pass("iree-util-outline-constants")
def outline_constants(module: ModuleOp, context: PassContext) -> None:
    """Makes globals of the tensor constants of all functions."""
    symbols = SymbolTable(module)
    known: dict[tuple, str] = {}
    for func in list(module.body_block.ops):
        if isinstance(func, FuncOp):
            for constant in list(_tensor_constants(func)):
                _outline(constant, func, symbols, known)


def _tensor_constants(func: FuncOp) -> Iterator[ConstantOp]:
    for op in func.walk():
        if isinstance(op, ConstantOp) and isinstance(op.value, DenseElementsAttr) and not op.value.is_splat:
            yield op


def _outline(constant: ConstantOp, func: Operation, symbols: SymbolTable, known: dict[tuple, str]) -> None:
    value = constant.value
    key = (value.type, hash(value.data.tobytes()), value.data.nbytes)
    name = known.get(key)
    if name is None or symbols.lookup(name).initial_value != value:
        made = GlobalOp(
            sym_visibility="private",
            sym_name=f"__constant_{len(known)}",
            type=value.type,
            initial_value=value,
            location=constant.location,
        )
        name = known[key] = symbols.insert(made, before=func)
    b = Builder.before(constant)
    constant.replace_all_uses_with(b.insert(GlobalLoadOp(name, True, result=value.type)).results)
    constant.erase()
