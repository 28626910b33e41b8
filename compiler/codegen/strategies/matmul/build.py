"""Picks how a matrix product is computed.

Enters: a dispatch whose contraction is a `MatmulShape`. Leaves: its kernel: a few rows stream through the columns'
factor, or meet it in dots along its rows where it is contiguous that way; else register tiles, blocked for the caches.
None for a single row with short products whose columns do not lie side by side: that is a reduction like others.
"""

from __future__ import annotations

from ... import configure
from ...loops import vector
from ...plan import Plan
from ...row_kernel import RowKernel
from .dots import DotMatmul, prefers_dots
from .shape import MatmulShape
from .streaming import StreamedMatmul, prefers_streaming
from .tiles import TiledMatmul


def build_matmul(kernel: RowKernel, shape: MatmulShape) -> Plan | None:
    """The kernel of a matrix product, or None where it is better taken for a reduction."""
    lanes = configure.lanes_for(kernel.target, vector(shape.reducer.state_elem).bits)
    if prefers_dots(kernel, shape, lanes):
        return DotMatmul(kernel, shape, lanes).build()
    columns = kernel.row_bands[shape.columns]
    if shape.rows is None and shape.column_factor.step(columns) != 1:
        return None
    # Few columns fill narrower vectors.
    lanes = min(lanes, 1 << (columns.extent - 1).bit_length())
    if prefers_streaming(kernel, shape):
        return StreamedMatmul(kernel, shape, lanes).build()
    return TiledMatmul(kernel, shape, lanes).build()
