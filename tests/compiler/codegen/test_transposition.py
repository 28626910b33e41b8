"""Squares of lanes are transposed by shuffles that keep inside of 16 bytes first, and move whole pieces then."""

import pytest
from pyiree.compiler.codegen.loops import KernelBuilder, storage_bytes
from pyiree.compiler.codegen.transposition import transpose


def lanes_of(value, known):
    """Which (vector, lane) each lane of a value comes from."""
    if value in known:
        return known[value]
    x, y = (lanes_of(operand, known) for operand in value.op.operands)
    return [(x + y)[lane] for lane in value.op.attrs]


@pytest.mark.parametrize("count", [1, 2, 4, 8, 16, 32])
@pytest.mark.parametrize("element", ["i8", "bf16", "f32", "f64"])
def test_rows_become_columns(element, count):
    b = KernelBuilder("k")
    source = b.binding("in0", element, 0, 0, False)
    rows = [b.load(source, 0, count * k, count) for k in range(count)]
    known = {row: [(k, lane) for lane in range(count)] for k, row in enumerate(rows)}
    for lane, column in enumerate(transpose(b, rows)):
        assert lanes_of(column, known) == [(k, lane) for k in range(count)]


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_shuffles_keep_to_pieces_of_sixteen_bytes(element):
    """Each takes lanes within pieces, or pieces as a whole."""
    b, count, inside = KernelBuilder("k"), 16, 16 // storage_bytes(element)
    source = b.binding("in0", element, 0, 0, False)
    pending = transpose(b, [b.load(source, 0, count * k, count) for k in range(count)])
    seen = set()
    while pending:
        op = pending.pop().op
        if op.name == "shuffle" and op not in seen:
            seen.add(op)
            pending += op.operands
            from_piece = all(lane % count // inside == k // inside for k, lane in enumerate(op.attrs))
            whole_piece = all(lane % inside == k % inside for k, lane in enumerate(op.attrs))
            assert from_piece or whole_piece
    assert len(seen) == count * 4
