"""Index expressions: linear forms, division that needs no instruction, collapsed dims and their digits in each lane."""

from pyiree.compiler.codegen import indexing
from pyiree.compiler.codegen.indexing import Lanes, LaneScope, Sym, of
from pyiree.compiler.codegen.loops import KernelBuilder


def test_linear_forms_add_up():
    b = KernelBuilder("k")
    i, j = Sym("i", 4), Sym("j", 8)
    index = indexing.linear([of(i), of(j)], [8, 1], b)
    assert index == indexing.add(indexing.scale(of(i), 8, b), of(j), b)
    assert indexing.bounds(index, {}) == (0, 31)
    assert of(Sym("one", 1)) == indexing.ZERO


def test_split_keeps_what_divides():
    b = KernelBuilder("k")
    i, j = Sym("i", 4), Sym("j", 8)
    whole, rest = indexing.split(indexing.linear([of(i), of(j)], [8, 1], b), 8)
    assert whole == of(i) and rest == of(j)


def test_a_collapsed_pair_is_one_number():
    b = KernelBuilder("k")
    i, j = Sym("i", 4), Sym("j", 7)
    scope = LaneScope(b, 4)
    scope.bind((i, j), Lanes(b.workgroup_id(), (0, 1, 2, 3)))
    parts = scope.resolve(indexing.linear([of(i), of(j)], [7, 1], b))
    assert parts.pattern == (0, 1, 2, 3) and parts.vector is None


def test_digits_of_a_narrow_band_are_constants():
    b = KernelBuilder("k")
    i, j = Sym("i", 100), Sym("j", 3)
    scope = LaneScope(b, 4)
    # Twelve elements are four whole rows, so the base is a multiple of a row.
    scope.bind((i, j), Lanes(b.workgroup_id(), (4, 5, 6, 7), 12))
    assert scope.resolve(of(j)).pattern == (1, 2, 0, 1)
    rows = scope.resolve(of(i))
    assert rows.pattern == (1, 1, 2, 2) and rows.base is not None
    assert scope.resolve(of(j)).base == 0


def test_uniform_digits_are_scalars():
    b = KernelBuilder("k")
    i, j = Sym("i", 100), Sym("j", 3)
    scope = LaneScope(b, 4)
    scope.bind((i, j), Lanes(b.workgroup_id(), 0))
    assert scope.resolve(of(i)).is_uniform and scope.resolve(of(j)).is_uniform
