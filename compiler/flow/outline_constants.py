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

#: Constants that differ in one of their first bytes are not compared.
_GLANCE = 256


@register_pass("iree-util-outline-constants")
def outline_constants(module: ModuleOp, context: PassContext) -> None:
    """Makes globals of the tensor constants of all functions."""
    outlining = _Outlining(module)
    for func in list(module.body_block.ops):
        if isinstance(func, FuncOp):
            for constant in list(_tensor_constants(func)):
                outlining.move(constant, func)


def _tensor_constants(func: FuncOp) -> Iterator[ConstantOp]:
    for op in func.walk():
        if isinstance(op, ConstantOp) and isinstance(op.value, DenseElementsAttr) and not op.value.is_splat:
            yield op


class _Outlining:
    def __init__(self, module: ModuleOp) -> None:
        self._symbols = SymbolTable(module)
        self._alike: dict[tuple, list[GlobalOp]] = {}
        self._count = 0

    def move(self, constant: ConstantOp, func: Operation) -> None:
        """Reads a constant from a global."""
        made = self._global_of(constant, func)
        load = Builder.before(constant).insert(GlobalLoadOp(made.sym_name, True, result=constant.result.type))
        constant.replace_all_uses_with(load.results)
        constant.erase()

    def _global_of(self, constant: ConstantOp, func: Operation) -> GlobalOp:
        value: DenseElementsAttr = constant.value
        data = value.data.reshape(-1)
        key = (value.type, data.nbytes, data[: _GLANCE // max(1, data.itemsize)].tobytes())
        alike = self._alike.setdefault(key, [])
        for known in alike:
            if known.initial_value == value:
                return known
        made = GlobalOp(
            sym_visibility="private",
            sym_name=f"__constant_{self._count}",
            type=value.type,
            initial_value=value,
            location=constant.location,
        )
        self._count += 1
        self._symbols.insert(made, before=func)
        alike.append(made)
        return made
