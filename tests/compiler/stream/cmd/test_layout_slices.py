"""iree-stream-layout-slices: no two slices that are alive together share a byte."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st


@st.composite
def slice_lists(draw):
    from pyiree.compiler.stream.layout_slices import Slice

    found = []
    for _ in range(draw(st.integers(0, 12))):
        first = draw(st.integers(0, 20))
        found.append(Slice(draw(st.integers(0, 1000)), first, first + draw(st.integers(0, 8))))
    return found


@given(slice_lists())
def test_live_slices_are_apart_and_packing_never_costs(slices):
    from pyiree.compiler.stream.layout_slices import align, pack_slices

    offsets, total = pack_slices(slices, 64)
    for i, a in enumerate(slices):
        assert offsets[i] % 64 == 0 and offsets[i] + a.size <= total
        for j, b in enumerate(slices[:i]):
            if a.meets(b):
                assert offsets[i] + a.size <= offsets[j] or offsets[j] + b.size <= offsets[i]
    assert total <= sum(align(s.size, 64) for s in slices)
    # Nothing can be smaller than what is alive at one moment.
    busiest = max((sum(align(s.size, 64) for s in slices if s.first <= t <= s.last) for t in range(30)), default=0)
    assert total >= busiest


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), max_size=10))
def test_slices_of_unknown_size_share_places_only_when_apart(intervals):
    from pyiree.compiler.stream.layout_slices import _rows

    members = [(i, first, first + length) for i, (first, length) in enumerate(intervals)]
    rows = _rows(members)
    assert sorted(i for row in rows for i in row) == list(range(len(members)))
    for row in rows:
        for a, b in itertools.pairwise(row):
            assert members[a][2] < members[b][1]
    at_once = max((sum(f <= t <= l for _, f, l in members) for t in range(20)), default=0)
    assert len(rows) == at_once


PACK = """
util.func public @f(%a: index, %b: index) -> (index, index, index, index, index, index) {
  %c100 = arith.constant 100 : index
  %c64 = arith.constant 64 : index
  %s = util.align %a, %c64 : index
  %0:6 = stream.resource.pack slices({
    [0, 1] = %c100,
    [1, 2] = %c64,
    [2, 3] = %c100,
    [0, 1] = %s,
    [2, 3] = %s
  }) : index
  util.return %0#0, %0#1, %0#2, %0#3, %0#4, %0#5 : index, index, index, index, index, index
}
"""


def test_known_sizes_first_and_unknown_ones_behind(run_passes, accepted):
    text = run_passes(PACK, "iree-stream-layout-slices", "canonicalize", "cse")
    accepted(text)
    # 100 and 100 take turns in 128 bytes, 64 lies behind them; both slices of %a bytes share the place at 192.
    assert "util.return %2, %c0, %c128, %c0, %c192, %c192" in text.replace("%1,", "%2,")
    assert text.count("util.align") == 1 and text.count("arith.addi") == 1


def test_a_base_offset_moves_every_slice(run_passes):
    text = run_passes(
        """
util.func public @f(%base: index) -> (index, index) {
  %c64 = arith.constant 64 : index
  %0:2 = stream.resource.pack offset(%base) slices({ [0, 1] = %c64 }) : index
  util.return %0#0, %0#1 : index, index
}""",
        "iree-stream-layout-slices",
    )
    assert "util.return %0, %arg0" in text.replace("%base", "%arg0")


@pytest.mark.parametrize("sizes", [(64, 64, 64), (100, 20, 300)])
def test_no_more_memory_than_iree_takes(sizes, run_passes, iree_on_functions):
    import re

    slices = ", ".join(f"[{i}, {i + 1}] = %s{i}" for i in range(3))
    constants = "\n".join(f"%s{i} = arith.constant {n} : index" for i, n in enumerate(sizes))
    text = f"""
util.func public @f() -> index {{
  {constants}
  %0:4 = stream.resource.pack slices({{ {slices} }}) : index
  util.return %0#0 : index
}}"""
    passes = ("iree-stream-layout-slices", "canonicalize")
    total = [
        int(re.search(r"arith.constant (\d+) : index\n\s*util.return", made).group(1))
        for made in (run_passes(text, *passes), iree_on_functions(text, *passes))
    ]
    assert total[0] <= total[1]
