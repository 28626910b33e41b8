"""Calls that leave the compiled program: JAX's LAPACK custom calls, and its callbacks into Python.

Before: `stablehlo.custom_call @lapack_spotrf_ffi` with layouts and attributes.
After:  `util.call` of a function without a body, `@pyiree_lapack.spotrf`, on buffer views. Where a layout asks for it
        (LAPACK wants matrices column by column), arrays are transposed around the call.

    %view = hal.tensor.export %0 : tensor<3x3xf32> -> !hal.buffer_view
    %1:2 = util.call @pyiree_lapack.spotrf(%view, %c76_i32) : (!hal.buffer_view, i32) -> (…)
    %2 = hal.tensor.import %1#0 : !hal.buffer_view -> tensor<3x3xf32>

The later phases see that the host needs the arrays: they wait for them before the call. A callback is a function of
`@pyiree_callback`; calls of it may suspend the program.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from pyiree.compiler.dialects.hal import BufferViewType, TensorExportOp, TensorImportOp
from pyiree.compiler.input.calls import CUSTOM_CALLS, OF_ANY_SIZE, custom_call_results, shape_operands
from pyiree.compiler.input.converter import Converter
from pyiree.compiler.input.elements import UNSIGNED
from pyiree.compiler.input.import_mlir import Shaped
from pyiree.compiler.input.shapes import broadcast
from pyiree.compiler.input.values import TOKEN, Lazy, Tensor, Token, Uniform
from pyiree.compiler.ir.core import Value
from pyiree.compiler.ir.types import IntegerType, TensorType, Type, i32
from pyiree.runtime.vmfb.host_calls import (
    CALLBACK,
    CALLBACK_MODULE,
    LAPACK_MODULE,
    LAPACK_ROUTINES,
    ORDERED_CALLBACK,
)


def _convert_lapack(c: Converter, op: Any, operands: list[Lazy], name: str) -> Sequence[Lazy]:
    routine = LAPACK_ROUTINES[name]
    given = _attributes(op)
    if set(given) != set(routine.attributes):
        wanted = ", ".join(routine.attributes) or "none"
        raise c.emitter.unsupported(op, f"@{name} with the attributes {', '.join(given) or 'none'}, not {wanted}")
    if len(operands) - len(shape_operands(op)) != len(routine.operands) or len(op.results) != len(routine.results):
        counts = f"{len(routine.operands)} operands and {len(routine.results)} results"
        raise c.emitter.unsupported(op, f"@{name} with other than {counts}")
    scalars = [c.emitter.integer(given[attribute], i32) for attribute in routine.attributes]
    return call_with_views(c, op, f"{LAPACK_MODULE}.{name}", operands, scalars, marks=("nosideeffects",))


def _convert_callback(c: Converter, op: Any, operands: list[Lazy]) -> Sequence[Any]:
    has_token = any(isinstance(operand, Token) for operand in operands)
    number = _attributes(op)["index"]
    name = f"{CALLBACK_MODULE}.{ORDERED_CALLBACK if has_token else CALLBACK}{number}"
    return call_with_views(c, op, name, operands, marks=("vm.yield",))


_CALLS = {f"lapack_{name}_ffi": functools.partial(_convert_lapack, name=name) for name in LAPACK_ROUTINES}
_CALLS["xla_ffi_python_cpu_callback"] = _convert_callback
CUSTOM_CALLS.update(_CALLS)
OF_ANY_SIZE.update(_CALLS)


def _attributes(op: Any) -> dict[str, int]:
    """The numbers and characters in the call's configuration."""
    if "mhlo.backend_config" not in op.attributes:
        return {}
    return {named.name: int(named.attr.value) for named in op.attributes["mhlo.backend_config"]}


def call_with_views(
    c: Converter,
    op: Any,
    callee: str,
    operands: Sequence[Any],
    scalars: Sequence[Value] = (),
    marks: Sequence[str] = (),
) -> list[Any]:
    """A call of an imported function on buffer views in the layouts of the custom call, then scalars. Tokens, and the
    shapes of results, are not passed."""
    emitter = c.emitter
    operand_layouts, result_layouts = _layouts(op, "operand_layouts"), _layouts(op, "result_layouts")
    said = shape_operands(op)
    views = [
        _export(c, _in_layout(c, operand, layout))
        for number, (operand, layout) in enumerate(zip(operands, operand_layouts, strict=True))
        if number not in said and not isinstance(operand, Token)
    ]
    shapes = custom_call_results(c, op, operands)
    arguments, types = [*views, *scalars], [BufferViewType()] * sum(shaped is not None for shaped in shapes)
    c.imports.declare(callee, [value.type for value in arguments], types, marks)
    call = emitter.emit("util.call", arguments, types, {"callee": c.imports.symbol(callee)})
    given = iter(call.results)
    results: list[Any] = []
    for value, shaped, layout in zip(op.results, shapes, result_layouts, strict=True):
        if shaped is None:
            results.append(TOKEN)
            continue
        outer = next(given)
        if next(iter(value.uses), None) is None:
            # The host may leave out what nothing reads, so its shape is not looked at.
            results.append(Uniform(shaped, scalar=emitter.zero(shaped.element.type)))
        else:
            results.append(_imported(c, outer, shaped, layout))
    return results


def _layouts(op: Any, name: str) -> list[list[int] | None]:
    """For each operand or result its dimensions from the slowest to the fastest; None for row-major order."""
    if name not in op.attributes:
        return [None] * len(op.operands if name.startswith("operand") else op.results)
    found: list[list[int] | None] = []
    for layout in op.attributes[name]:
        order = [int(d) for d in layout][::-1]
        found.append(None if order == sorted(order) else order)
    return found


def _in_layout(c: Converter, operand: Lazy, order: list[int] | None) -> Lazy:
    if order is None:
        return operand
    return _transposed(c, operand, order)


def _transposed(c: Converter, operand: Lazy, order: Sequence[int]) -> Lazy:
    """The operand with dimension `order[i]` as dimension `i`."""
    shaped = operand.shaped
    return broadcast(c, operand, _permuted(shaped, order), _inverse(order))


def _permuted(shaped: Shaped, order: Sequence[int]) -> Shaped:
    return Shaped.of([shaped.shape[d] for d in order], shaped.element)


def _inverse(order: Sequence[int]) -> list[int]:
    return [list(order).index(d) for d in range(len(order))]


def _export(c: Converter, lazy: Lazy) -> Value:
    value, outer = c.tensor(lazy), _outer_type(lazy.shaped)
    dims = lazy.shaped.sizes
    op = TensorExportOp(value, dims, source_encoding=outer, target=BufferViewType(), location=c.emitter.location)
    c.emitter.block.append(op)
    return op.target


def _imported(c: Converter, view: Value, shaped: Shaped, order: list[int] | None) -> Lazy:
    given = shaped if order is None else _permuted(shaped, order)
    op = TensorImportOp(
        view, given.sizes, target_encoding=_outer_type(given), target=given.type, location=c.emitter.location
    )
    c.emitter.block.append(op)
    result = Tensor(given, op.target)
    return result if order is None else _transposed(c, result, _inverse(order))


def _outer_type(shaped: Shaped) -> Type:
    """The type that the host sees: it tells signed from unsigned integers."""
    if shaped.element.kind != UNSIGNED:
        return shaped.type
    return TensorType(shaped.type.shape, IntegerType(shaped.element.type.width, "u"))
