"""iree-stream-materialize-builtins: work that devices have no command for becomes dispatches of ours.

Before: splats and fills of any pattern.
After:  patterns have 1, 2 or 4 bytes; longer ones are written by an executable that is added to the module.

    %0 = stream.async.splat %v : i64 -> !stream.resource<transient>{%s}
    →
    %n = arith.divui %s, %c8 : index
    %0 = stream.async.dispatch @__builtin_fill_i64::@__builtin_fill_i64[%n](%v, %n) : (i64, index)
        -> !stream.resource<transient>{%s}
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.dialects.arith import ConstantOp, DivUIOp
from pyiree.compiler.dialects.tied_results import tied_operands_attr
from pyiree.compiler.ir.attributes import ArrayAttr, IntegerAttr, SymbolRefAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Operation, Value
from pyiree.compiler.ir.parser import parse
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.symbol_table import SymbolTable
from pyiree.compiler.ir.types import bit_width, index
from pyiree.compiler.stream import ops

#: The pattern sizes, in bits, that command buffers fill with.
_FILL_BITS = (8, 16, 32)

_FILL = """
stream.executable private @__builtin_fill_i64 {
  stream.executable.export public @__builtin_fill_i64 workgroups(%w: index) -> (index, index, index) {
    %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice(%w)
    stream.return %x, %y, %z : index, index, index
  }
  builtin.module {
    func.func @__builtin_fill_i64(%value: i64, %count: index, %out: !stream.binding) {
      %c0 = arith.constant 0 : index
      %n = iree_tensor_ext.dispatch.workload.ordinal %count, 0 : index
      %target = stream.binding.subspan %out[%c0] : !stream.binding
          -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<?xi64>>{%n}
      %empty = tensor.empty(%n) : tensor<?xi64>
      %filled = linalg.generic {
        indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]
      } outs(%empty : tensor<?xi64>) {
      ^bb0(%old: i64):
        linalg.yield %value : i64
      } -> tensor<?xi64>
      iree_tensor_ext.dispatch.tensor.store %filled, %target, offsets = [0], sizes = [%n], strides = [1]
          : tensor<?xi64> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<?xi64>>{%n}
      return
    }
  }
}
"""


@register_pass("iree-stream-materialize-builtins")
def materialize_builtins(module: Operation, context: PassContext) -> None:
    """Replaces splats and fills of 8 bytes and adds the executable that does them."""
    found = [
        op
        for op in module.walk()
        if isinstance(op, ops.AsyncSplatOp | ops.AsyncFillOp) and bit_width(op.value.type) not in _FILL_BITS
    ]
    if not found:
        return
    symbols = SymbolTable(module)
    executable = parse(f"module {{{_FILL}}}", "builtins").regions[0].blocks[0].first_op
    executable.detach()
    first = next(op for op in module.regions[0].ops if op.name in ("util.func", "util.initializer"))
    name = symbols.insert(executable, before=first)
    entry = ArrayAttr([SymbolRefAttr(name, "__builtin_fill_i64")])
    for op in found:
        _replace(op, entry)


def _replace(op: Any, entry: ArrayAttr) -> None:
    around = op
    while not isinstance(around.parent_op, ops.AsyncExecuteOp):
        around = around.parent_op
    host = Builder.before(around.parent_op, op.location)
    is_splat = isinstance(op, ops.AsyncSplatOp)
    length = op.result_size if is_splat else op.target_length
    count = _elements(host, length)
    if is_splat:
        new = ops.AsyncDispatchOp(
            [count], [op.value, count], (), (), (), (), [op.result_size], entry, None, None,
            results_=[op.result.type],
        )  # fmt: skip
    else:
        new = ops.AsyncDispatchOp(
            [count], [op.value, count, op.target], [op.target_size], [op.target_offset], [op.target_end],
            [op.target_length], [op.target_size], entry, tied_operands_attr([2]), None, results_=[op.result.type],
        )  # fmt: skip
    Builder.before(op).insert(new)
    op.replace_all_uses_with(new.results)
    op.erase()


def _elements(host: Builder, length: Value) -> Value:
    """How many patterns there are in a number of bytes."""
    eight = host.insert(ConstantOp(IntegerAttr(8, index))).result
    return host.insert(DivUIOp(length, eight)).result
