"""JAX's call for a matrix in compressed rows times a dense one, written out in StableHLO.

Enters: `stablehlo.custom_call @cpu_csr_sparse_dense_ffi` of entries, the places in them where rows begin, their
columns, and a dense matrix or vector. Leaves: for each entry its row (how many rows have begun before it), the dense
row of its column, and the sum of these by row. Entries that belong to no row count for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyiree.compiler.input.calls import CUSTOM_CALLS
from pyiree.compiler.input.converter import Converter
from pyiree.compiler.input.elements import COMPLEX, FLOAT
from pyiree.compiler.input.values import Lazy, Uniform

_ADD = """({{
    ^bb0(%left: tensor<{0}>, %right: tensor<{0}>):
      %sum = stablehlo.add %left, %right : tensor<{0}>
      stablehlo.return %sum : tensor<{0}>
    }})"""


def _compressed_rows_by_dense(c: Converter, op: Any, operands: list[Lazy]) -> Sequence[Lazy]:
    data, starts, _, dense = [operand.shaped for operand in operands]
    result = c.result_shaped(op)
    if 0 in (*result.shape, data.shape[0], dense.shape[0]):
        return [Uniform(result, scalar=c.emitter.zero(result.element.type))]
    zero = {COMPLEX: "(0.0, 0.0)", FLOAT: "0.0"}.get(result.element.kind, "0")
    made = str(op.results[0].type)
    types = [str(value.type) for value in op.operands]
    given = ", ".join(f"%{name}: {type}" for name, type in zip(("data", "starts", "columns", "dense"), types))
    lines = [f"%zeros = stablehlo.constant dense<{zero}> : {made}"]
    lines += _sum_by_row(types, made, data.shape[0], starts.shape[0], dense.shape[1:])
    body = "\n    ".join(lines)
    text = f"func.func @multiply({given}) -> {made} {{\n    {body}\n    return %result : {made}\n}}"
    return c.write_out(text, operands)


def _sum_by_row(types: Sequence[str], made: str, entries: int, rows: int, width: Sequence[int]) -> list[str]:
    data, starts, columns, dense = types
    number, element = (type[type.index("x") + 1 : -1] for type in (columns, data))
    begun, places = f"tensor<{rows}x1x{number}>", f"tensor<{entries}x1x{number}>"
    shape = "x".join(map(str, [entries, *width]))
    products = f"tensor<{shape}x{element}>"
    window = [1] if width else []
    return [
        f"%one = stablehlo.constant dense<1> : {starts}",
        f"%none = stablehlo.constant dense<0> : {columns}",
        f"%nothing = stablehlo.constant dense<0> : tensor<{number}>",
        f"%begun = stablehlo.reshape %starts : ({starts}) -> {begun}",
        f'%begin = "stablehlo.scatter"(%none, %begun, %one) {_ADD.format(number)} {{scatter_dimension_numbers = '
        "#stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}"
        f" : ({columns}, {begun}, {starts}) -> {columns}",
        f'%count = "stablehlo.reduce_window"(%begin, %nothing) {_ADD.format(number)} '
        f"{{window_dimensions = array<i64: {entries}>, padding = dense<[[{entries - 1}, 0]]> : tensor<1x2xi64>}}"
        f" : ({columns}, tensor<{number}>) -> {columns}",
        f"%first = stablehlo.constant dense<1> : {columns}",
        f"%row = stablehlo.subtract %count, %first : {columns}",
        f"%rows = stablehlo.reshape %row : ({columns}) -> {places}",
        f"%places = stablehlo.reshape %columns : ({columns}) -> {places}",
        f'%taken = "stablehlo.gather"(%dense, %places) {{dimension_numbers = #stablehlo.gather<offset_dims = {window}, '
        "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, "
        f"slice_sizes = array<i64: {', '.join(map(str, [1, *width]))}>}} : ({dense}, {places}) -> {products}",
        f"%factors = stablehlo.broadcast_in_dim %data, dims = [0] : ({data}) -> {products}",
        f"%products = stablehlo.multiply %factors, %taken : {products}",
        f'%result = "stablehlo.scatter"(%zeros, %rows, %products) {_ADD.format(element)} {{scatter_dimension_numbers = '
        f"#stablehlo.scatter<update_window_dims = {window}, inserted_window_dims = [0], "
        "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}"
        f" : ({made}, {places}, {products}) -> {made}",
    ]


CUSTOM_CALLS["cpu_csr_sparse_dense_ffi"] = _compressed_rows_by_dense
