"""What is asked for before its turn: the row after this one, in the last loop over this one that leaves memory time to
answer, and what lies further along where there is one loop."""

import pytest

FULL, PER_ROW = "(d0, d1) -> (d0, d1)", "(d0, d1) -> (d0)"
KINDS = ["parallel", "reduction"]


def sums(texts, shape, body, divides):
    """The sum over each row of what `body` makes of its elements; the elements divided by it if `divides`."""
    full, rows = texts.tensor(shape, "f32"), texts.tensor(shape[:1], "f32")
    text = (
        f"%z = arith.constant 0.0 : f32\n%er = tensor.empty() : {rows}\n%ef = tensor.empty() : {full}\n"
        f"%zr = linalg.fill ins(%z : f32) outs(%er : {rows}) -> {rows}\n"
    )
    text += texts.generic(
        "%sum" if divides else "%out0", [("%in0", full)], [("%zr", rows)], [FULL, PER_ROW], KINDS,
        f"{body}\n%r = arith.addf %s, %c0 : f32", "%r",
    )  # fmt: skip
    if divides:
        text += "\n" + texts.generic(
            "%out0", [("%in0", full), ("%sum", rows)], [("%ef", full)], [FULL, PER_ROW, FULL], ["parallel"] * 2,
            "%r = arith.divf %a0, %a1 : f32", "%r",
        )  # fmt: skip
    return texts.dispatch([full], [full if divides else rows], text)


SQUARE, EXPONENTIAL = "%s = arith.mulf %a0, %a0 : f32", "%s = math.exp %a0 : f32"


def loops_of(texts, build_kernel, shape, body, divides=True):
    """The lines of the kernel from the reduction on, and from the results on."""
    text = build_kernel(sums(texts, shape, body, divides), "x86-64-v4").kernel.text("kernel")
    reduction, divided, results = text.partition("reduce ")
    assert divided
    return reduction, results


def test_while_results_are_written(texts, build_kernel):
    """After: where a row of 1000 floats is divided, the line 1000 floats further is asked for."""
    reduction, results = loops_of(texts, build_kernel, (64, 1000), SQUARE)
    assert "prefetch" not in reduction
    assert results.count("prefetch") == 1
    loaded = next(line for line in results.splitlines() if "load %in0[" in line)
    place = loaded.partition("load %in0[")[2].partition("]")[0]
    assert f"prefetch %in0[{place} + 1000]" in results


def test_while_much_is_computed(texts, build_kernel):
    reduction, results = loops_of(texts, build_kernel, (64, 1000), EXPONENTIAL)
    assert "prefetch %in0" in reduction
    assert "prefetch" not in results


def doubled(texts, shape):
    type = texts.tensor(shape, "f32")
    body = f"%e = tensor.empty() : {type}\n" + texts.generic(
        "%out0", [("%in0", type)], [("%e", type)], [FULL, FULL], ["parallel"] * 2,
        "%r = arith.addf %a0, %a0 : f32", "%r",
    )  # fmt: skip
    return texts.dispatch([type], [type], body)


def test_further_along(texts, build_kernel):
    """2 KiB from where operands are read that no cache holds."""
    for text in (doubled(texts, (4096, 4096)), sums(texts, (4096, 4096), SQUARE, False)):
        loops = build_kernel(text, "x86-64-v4").kernel.text("kernel")
        place = loops.partition("load %in0[")[2].partition("]")[0]
        assert f"prefetch %in0[{place} + 512]" in loops
    assert "prefetch" not in build_kernel(doubled(texts, (64, 64)), "x86-64-v4").kernel.text("kernel")


@pytest.mark.parametrize(
    ("shape", "divides"), [((64, 1000), False), ((64, 100), True), ((4, 1 << 20), True)],
    ids=["gone through once", "short rows", "rows that no cache holds"],
)  # fmt: skip
def test_where_it_does_not_pay(texts, build_kernel, shape, divides):
    assert "prefetch" not in "".join(loops_of(texts, build_kernel, shape, SQUARE, divides))


@pytest.mark.parametrize(("rows", "least", "most"), [(256, 8, 64), (65536, 128, 1024)])
def test_workgroups_have_several_rows(texts, build_kernel, rows, least, most):
    """The first row of a workgroup has not been asked for, so many rows come in long runs; there are still enough of
    them to share out."""
    kernel = build_kernel(sums(texts, (rows, 1024), SQUARE, True), "x86-64-v4").kernel
    assert least <= kernel.workgroups[0] <= most
