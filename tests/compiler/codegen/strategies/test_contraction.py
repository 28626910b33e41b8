"""Contractions: matrix products of every layout with fused prologues and epilogues."""

import ml_dtypes
import numpy as np
import pytest
from pyiree.compiler.codegen.strategies.matmul.tile_sizes import UNITS_OF_A_STEP
from pyiree.compiler.codegen.target import Target


def product(texts, letters, sizes, element="f32", accumulate=None, epilogue=None):
    """out0 = einsum(letters) of in0 and in1; epilogue is a body on %a0 that defines %r."""
    accumulate = accumulate or element
    left, rest = letters.split(",")
    right, out = rest.split("->")
    loops = out + "".join(c for c in left if c not in out)
    every = "(" + ", ".join(f"d{k}" for k in range(len(loops))) + ")"
    maps = [f"{every} -> ({', '.join(f'd{loops.index(c)}' for c in part)})" for part in (left, right, out)]
    types = [
        texts.tensor([sizes[c] for c in part], e) for part, e in ((left, element), (right, element), (out, accumulate))
    ]
    kinds = ["parallel" if c in out else "reduction" for c in loops]
    kind = "f" if accumulate.startswith(("f", "b")) else "i"
    widen = ""
    names = ["%a0", "%a1"]
    if accumulate != element:
        op = "arith.extf" if kind == "f" else "arith.extsi"
        widen = f"%w0 = {op} %a0 : {element} to {accumulate}\n%w1 = {op} %a1 : {element} to {accumulate}\n"
        names = ["%w0", "%w1"]
    body = f"%z = arith.constant {'0.0' if kind == 'f' else '0'} : {accumulate}\n%e = tensor.empty() : {types[2]}\n"
    body += f"%f = linalg.fill ins(%z : {accumulate}) outs(%e : {types[2]}) -> {types[2]}\n"
    body += texts.generic(
        "%m" if epilogue else "%out0", [("%in0", types[0]), ("%in1", types[1])], [("%f", types[2])], maps, kinds,
        f"{widen}%p = arith.mul{kind} {names[0]}, {names[1]} : {accumulate}\n"
        f"%s = arith.add{kind} %c0, %p : {accumulate}", "%s",
    )  # fmt: skip
    if epilogue:
        same = "(" + ", ".join(f"d{k}" for k in range(len(out))) + ")"
        body += "\n" + texts.generic(
            "%out0", [("%m", types[2])], [("%e", types[2])], [f"{same} -> {same}"] * 2,
            ["parallel"] * len(out), epilogue, "%r",
        )  # fmt: skip
    return texts.dispatch(types[:2], [types[2]], body)


def operands(letters, sizes, dtype, seed=0):
    rng = np.random.default_rng(seed)
    left, right = letters.split("->")[0].split(",")
    return [rng.standard_normal([sizes[c] for c in part]).astype(dtype) for part in (left, right)]


LAYOUTS = [
    "mk,kn->mn",
    "km,kn->mn",
    "mk,nk->mn",
    "km,nk->mn",
    "bmk,bkn->bmn",
    "bmk,bnk->bmn",
    "bmk,kn->bmn",
    "mk,kn->nm",
    "mbk,kbn->bmn",
]
SIZES = [(1, 1, 1, 1), (2, 3, 5, 7), (3, 14, 33, 16), (2, 37, 17, 65)]


@pytest.mark.each_pair
@pytest.mark.parametrize("letters", LAYOUTS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_layouts(texts, run_dispatch, letters, size):
    sizes = dict(zip("bmkn", size, strict=True))
    x, y = operands(letters, sizes, np.float32)
    exact = np.einsum(letters, x.astype(np.float64), y.astype(np.float64))
    (result,) = run_dispatch(product(texts, letters, sizes), [x, y], [(exact.shape, np.float32)])
    np.testing.assert_allclose(result, exact, rtol=1e-5, atol=2e-5)


def test_levels(texts, run_dispatch, runnable_target):
    sizes = {"m": 19, "k": 23, "n": 37}
    x, y = operands("mk,kn->mn", sizes, np.float32)
    exact = np.tanh(x.astype(np.float64) @ y)
    text = product(texts, "mk,kn->mn", sizes, epilogue="%r = math.tanh %a0 : f32")
    (result,) = run_dispatch(text, [x, y], [(exact.shape, np.float32)], runnable_target.cpu)
    np.testing.assert_allclose(result, exact, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("element", "accumulate"), [("f64", "f64"), ("bf16", "f32"), ("f16", "f32"), ("i8", "i32"), ("i32", "i32")]
)
def test_elements(texts, run_dispatch, element, accumulate):
    sizes = {"m": 9, "k": 40, "n": 21}
    dtype = ml_dtypes.bfloat16 if element == "bf16" else texts.numpy[element]
    x, y = operands("mk,kn->mn", sizes, np.float64)
    if element.startswith("i"):
        x, y = x * 50, y * 50
    x, y = x.astype(dtype), y.astype(dtype)
    exact = x.astype(np.float64) @ y.astype(np.float64)
    out = texts.numpy[accumulate]
    (result,) = run_dispatch(product(texts, "mk,kn->mn", sizes, element, accumulate), [x, y], [((9, 21), out)])
    np.testing.assert_allclose(result, exact, rtol=1e-5, atol=1e-4 if accumulate == "f32" else 1e-12)


def test_named_matmul(texts, run_dispatch):
    m, k, n = 13, 20, 35
    left, right, out = (texts.tensor(s, "f32") for s in ((m, k), (k, n), (m, n)))
    body = f"%z = arith.constant 0.0 : f32\n%e = tensor.empty() : {out}\n"
    body += f"%f = linalg.fill ins(%z : f32) outs(%e : {out}) -> {out}\n"
    body += f"%out0 = linalg.matmul ins(%in0, %in1 : {left}, {right}) outs(%f : {out}) -> {out}"
    x, y = operands("mk,kn->mn", {"m": m, "k": k, "n": n}, np.float32)
    (result,) = run_dispatch(texts.dispatch([left, right], [out], body), [x, y], [((m, n), np.float32)])
    np.testing.assert_allclose(result, x.astype(np.float64) @ y, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("m", "k"), [(1, 50), (37, 100), (200, 7)])
def test_matrix_times_vector(texts, run_dispatch, m, k):
    sizes = {"m": m, "k": k}
    for letters in ("mk,k->m", "k,km->m"):
        x, y = operands(letters, sizes, np.float32)
        exact = np.einsum(letters, x.astype(np.float64), y.astype(np.float64))
        (result,) = run_dispatch(product(texts, letters, sizes), [x, y], [((m,), np.float32)])
        np.testing.assert_allclose(result, exact, rtol=1e-5, atol=1e-5)


def test_large_product_in_many_workgroups(texts, build_kernel, run_dispatch):
    sizes = {"m": 150, "k": 128, "n": 300}
    x, y = operands("mk,kn->mn", sizes, np.float32)
    text = product(texts, "mk,kn->mn", sizes)
    (result,) = run_dispatch(text, [x, y], [((150, 300), np.float32)])
    np.testing.assert_allclose(result, x.astype(np.float64) @ y, rtol=1e-4, atol=1e-4)
    assert build_kernel(text).kernel.workgroups[0] > 1


@pytest.mark.parametrize(
    ("letters", "size"),
    [
        ("mhd,hdn->mn", {"m": 30, "h": 3, "d": 20, "n": 40}),
        ("mdh,dhn->mn", {"m": 30, "h": 3, "d": 20, "n": 40}),
        ("mhd,hnd->mn", {"m": 17, "h": 3, "d": 33, "n": 40}),
        ("hmd,dhn->mn", {"m": 17, "h": 2, "d": 300, "n": 33}),
        ("mhd,hdn->mn", {"m": 2, "h": 3, "d": 20, "n": 40}),
    ],
    ids=str,
)
def test_several_summed_dims(texts, run_dispatch, letters, size):
    x, y = operands(letters, size, np.float32)
    exact = np.einsum(letters, x.astype(np.float64), y.astype(np.float64))
    (result,) = run_dispatch(product(texts, letters, size), [x, y], [(exact.shape, np.float32)])
    np.testing.assert_allclose(result, exact, rtol=1e-4, atol=1e-4)


RELU = "%z0 = arith.constant 0.0 : f32\n%r = arith.maximumf %a0, %z0 : f32"


@pytest.mark.parametrize("epilogue", [RELU, "%r = math.tanh %a0 : f32"], ids=["relu", "tanh"])
@pytest.mark.parametrize(
    ("letters", "m", "k", "n"),
    [("mk,nk->mn", 70, 600, 45), ("mk,kn->mn", 3, 70, 50), ("km,kn->mn", 65, 40, 33), ("mk,nk->mn", 9, 40, 600)],
)
def test_epilogues(texts, run_dispatch, letters, m, k, n, epilogue):
    """What follows the product is applied once, after the last block of products."""
    sizes = {"m": m, "k": k, "n": n}
    x, y = operands(letters, sizes, np.float32)
    y *= 0.05
    exact = np.einsum(letters, x.astype(np.float64), y.astype(np.float64))
    exact = np.tanh(exact) if "tanh" in epilogue else np.maximum(exact, 0)
    (result,) = run_dispatch(product(texts, letters, sizes, epilogue=epilogue), [x, y], [(exact.shape, np.float32)])
    np.testing.assert_allclose(result, exact, rtol=1e-4, atol=1e-4)


@pytest.mark.each_pair
@pytest.mark.parametrize("element", ["bf16", "i8"])
@pytest.mark.parametrize("letters", ["mk,kn->mn", "mk,nk->mn", "km,kn->mn"])
@pytest.mark.parametrize("size", [(30, 33, 40), (40, 64, 17), (65, 1, 16)], ids=str)
def test_pairs_of_products(texts, run_dispatch, runnable_target, monkeypatch, element, letters, size):
    """Narrow elements may be multiplied two at a time: odd numbers of products, tails, integers that are exact."""
    # Here wherever the CPU can do it, not just where it pays.
    monkeypatch.setattr(Target, "has_fast_bf16_dot", Target.has_avx512_bf16)
    sizes = dict(zip("mkn", size, strict=True))
    x, y = operands(letters, sizes, np.float64)
    if element == "i8":
        x, y = np.clip(x * 100, -128, 127), np.clip(y * 100, -128, 127)
    dtype = ml_dtypes.bfloat16 if element == "bf16" else np.int8
    x, y = x.astype(dtype), y.astype(dtype)
    exact = np.einsum(letters, x.astype(np.float64), y.astype(np.float64))
    accumulate = "f32" if element == "bf16" else "i32"
    text = product(texts, letters, sizes, element, accumulate)
    (result,) = run_dispatch(text, [x, y], [(exact.shape, texts.numpy[accumulate])], runnable_target.cpu)
    if element == "i8":
        np.testing.assert_array_equal(result, exact)
    else:
        np.testing.assert_allclose(result, exact, rtol=1e-5, atol=1e-4)


def test_sums_that_no_result_can_hold(texts, run_dispatch):
    """A result narrower than the sums: they wait in local memory between blocks of products."""
    m, k, n = 150, 700, 70
    left, right, wide, out = (texts.tensor(s, e) for s, e in (
        ((m, k), "f32"), ((n, k), "f32"), ((m, n), "f32"), ((m, n), "bf16")
    ))  # fmt: skip
    body = f"%z = arith.constant 0.0 : f32\n%e = tensor.empty() : {wide}\n"
    body += f"%f = linalg.fill ins(%z : f32) outs(%e : {wide}) -> {wide}\n"
    maps = ["(d0, d1, d2) -> (d0, d2)", "(d0, d1, d2) -> (d1, d2)", "(d0, d1, d2) -> (d0, d1)"]
    body += texts.generic(
        "%m", [("%in0", left), ("%in1", right)], [("%f", wide)], maps, ["parallel", "parallel", "reduction"],
        "%p = arith.mulf %a0, %a1 : f32\n%s = arith.addf %c0, %p : f32", "%s",
    )  # fmt: skip
    body += f"\n%b = tensor.empty() : {out}\n"
    same = ["(d0, d1) -> (d0, d1)"] * 2
    body += texts.generic(
        "%out0", [("%m", wide)], [("%b", out)], same, ["parallel"] * 2, "%r = arith.truncf %a0 : f32 to bf16", "%r"
    )
    x, y = operands("mk,nk->mn", {"m": m, "k": k, "n": n}, np.float32)
    exact = x.astype(np.float64) @ y.T.astype(np.float64)
    (result,) = run_dispatch(texts.dispatch([left, right], [out], body), [x, y], [((m, n), ml_dtypes.bfloat16)])
    np.testing.assert_allclose(result.astype(np.float64), exact, rtol=1e-2, atol=1e-2)


def test_added_to_what_was_there(texts, run_dispatch):
    """The initial value of the sums counts once, however the products are cut."""
    m, k, n = 80, 600, 40
    left, right, out = (texts.tensor(s, "f32") for s in ((m, k), (n, k), (m, n)))
    maps = ["(d0, d1, d2) -> (d0, d2)", "(d0, d1, d2) -> (d1, d2)", "(d0, d1, d2) -> (d0, d1)"]
    body = texts.generic(
        "%out0", [("%in0", left), ("%in1", right)], [("%in2", out)], maps, ["parallel", "parallel", "reduction"],
        "%p = arith.mulf %a0, %a1 : f32\n%s = arith.addf %c0, %p : f32", "%s",
    )  # fmt: skip
    x, y = operands("mk,nk->mn", {"m": m, "k": k, "n": n}, np.float32)
    before = np.arange(m * n, dtype=np.float32).reshape(m, n)
    text = texts.dispatch([left, right, out], [out], body)
    (result,) = run_dispatch(text, [x, y, before], [((m, n), np.float32)])
    np.testing.assert_allclose(result, before + x.astype(np.float64) @ y.T, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("letters", ["mk,kn->mn", "mk,nk->mn", "bmk,bkn->bmn", "k,kn->n"])
@pytest.mark.parametrize("size", [(2, 3, 0, 5), (2, 0, 4, 5), (0, 30, 0, 50)], ids=str)
def test_nothing_to_sum_or_store(texts, run_dispatch, letters, size):
    sizes = dict(zip("bmkn", size, strict=True))
    x, y = operands(letters, sizes, np.float32)
    exact = np.einsum(letters, x, y)
    (result,) = run_dispatch(product(texts, letters, sizes), [x, y], [(exact.shape, np.float32)])
    np.testing.assert_allclose(result, exact, rtol=1e-5, atol=1e-5)


@pytest.mark.each_pair
@pytest.mark.parametrize(("letters", "m"), [("mk,nk->mn", 1), ("mk,nk->mn", 5), ("mk,nk->mn", 8), ("bmk,bnk->bmn", 3)])
@pytest.mark.parametrize("k", [160, 203])
def test_dots_along_the_products(texts, run_dispatch, runnable_target, letters, m, k):
    """A few rows against columns that are contiguous the other way."""
    sizes = {"b": 2, "m": m, "k": k, "n": 29}
    x, y = operands(letters, sizes, np.float32)
    exact = np.tanh(np.einsum(letters, x.astype(np.float64), y.astype(np.float64)))
    text = product(texts, letters, sizes, epilogue="%r = math.tanh %a0 : f32")
    (result,) = run_dispatch(text, [x, y], [(exact.shape, np.float32)], runnable_target.cpu)
    np.testing.assert_allclose(result, exact, rtol=1e-5, atol=1e-5)


def test_packs_of_rows_that_workgroups_cut(texts, run_dispatch, runnable_target):
    """Rows that fill whole packs, in workgroups that do not: nothing is read beyond the last row."""
    sizes = {"m": 33, "k": 257, "n": 200}
    x, y = (np.rint(v * 30).astype(np.int8) for v in operands("mk,kn->nm", sizes, np.float64))
    text = product(texts, "mk,kn->nm", sizes, "i8", "i32")
    (result,) = run_dispatch(text, [x, y], [((200, 33), np.int32)], runnable_target.cpu)
    np.testing.assert_array_equal(result, (x.astype(np.int64) @ y.astype(np.int64)).T)


@pytest.mark.each_pair
@pytest.mark.parametrize("letters", ["mk,kn->mn", "km,kn->mn", "mk,nk->mn", "km,nk->mn"])
@pytest.mark.parametrize("size", [(131, 515, 333), (64, 400, 1030)], ids=str)
@pytest.mark.parametrize("element", ["f32", "f64"])
def test_blocks_of_packed_factors(texts, run_dispatch, runnable_target, letters, size, element):
    """More products than one block has, more columns than one workgroup packs, and odd ends of all of them."""
    sizes = dict(zip("mkn", size, strict=True))
    dtype = texts.numpy[element]
    x, y = operands(letters, sizes, dtype)
    exact = np.einsum(letters, x.astype(np.float64), y.astype(np.float64))
    text = product(texts, letters, sizes, element)
    (result,) = run_dispatch(text, [x, y], [(exact.shape, dtype)], runnable_target.cpu)
    tolerance = 1e-4 if element == "f32" else 1e-12
    np.testing.assert_allclose(result, exact, rtol=tolerance, atol=tolerance)


PACKED_LAYOUTS = [
    "mk,kn->mn", "km,kn->mn", "mk,nk->mn", "km,nk->mn", "bmk,bkn->bmn", "bkm,bkn->bmn", "bmk,bnk->bmn", "bkm,bnk->bmn",
    "bmk,kn->bmn", "mk,bkn->bmn", "km,bkn->bmn", "bmk,nk->bmn", "bkm,kn->mbn", "mk,kn->nm", "mkh,khn->mn",
]  # fmt: skip


@pytest.mark.each_value
@pytest.mark.parametrize("letters", PACKED_LAYOUTS)
@pytest.mark.parametrize("element", ["f32", "f64", "bf16", "i8"])
@pytest.mark.parametrize("size", [(173, 401, 131), (68, 37, 98)], ids=str)
def test_packed_factors_of_every_layout(texts, run_dispatch, letters, element, size):
    """Packs, strips, rounds and panels that are not full, in batches too, some of them with one factor for all."""
    sizes = {"b": 2, "h": 3, **dict(zip("mkn", size, strict=True))}
    accumulate = {"bf16": "f32", "i8": "i32"}.get(element, element)
    x, y = operands(letters, sizes, np.float64)
    if element == "i8":
        x, y = np.clip(x * 60, -128, 127), np.clip(y * 60, -128, 127)
    dtype = {"bf16": ml_dtypes.bfloat16, "i8": np.int8}.get(element) or texts.numpy[element]
    x, y = x.astype(dtype), y.astype(dtype)
    exact = np.einsum(letters, x.astype(np.float64), y.astype(np.float64))
    scale = np.einsum(letters, np.abs(x.astype(np.float64)), np.abs(y.astype(np.float64)))
    text = product(texts, letters, sizes, element, accumulate)
    (result,) = run_dispatch(text, [x, y], [(exact.shape, texts.numpy[accumulate])])
    if element == "i8":
        np.testing.assert_array_equal(result, exact)
    else:
        assert np.max(np.abs(result - exact) / scale) < 20 * np.finfo(texts.numpy[accumulate]).eps


@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v3", "cascadelake", "znver5"])
@pytest.mark.parametrize("element", ["bf16", "i8"])
@pytest.mark.parametrize("letters", ["mk,kn->mn", "km,kn->mn", "mk,nk->mn", "km,nk->mn"])
def test_packed_pairs_are_legal_for_every_processor(texts, build_kernel, letters, element, cpu):
    """Multiplied two at a time or one by one, as the processor has it; this machine's may not."""
    text = product(
        texts, letters, dict(zip("mkn", (173, 401, 131), strict=True)), element, {"bf16": "f32"}.get(element, "i32")
    )
    printed = build_kernel(text, cpu).kernel.text("kernel")
    assert ("dot2" in printed) == (element == "i8" or cpu == "znver5")


def test_sizes_follow_the_caches(texts, build_kernel):
    """A block of columns and the rows beside it take no more than the target's second-level cache has for a kernel;
    they are packed, and asked for early, where they lie a page apart and would meet in one set."""
    for letters in ("mk,kn->mn", "km,kn->mn", "mk,nk->mn"):
        text = product(texts, letters, {"m": 1024, "k": 1024, "n": 1024})
        for cpu in ("x86-64-v3", "skylake-avx512"):
            kernel = build_kernel(text, cpu).kernel
            target = kernel.target
            assert target.l1_bytes < kernel.local_memory_bytes <= target.local_bytes
            printed = kernel.text("kernel")
            assert "prefetch.far" in printed and "%rows[" in printed and "%columns[" in printed


@pytest.mark.parametrize("letters", ["mk,kn->mn", "km,kn->mn"])
@pytest.mark.parametrize("cpu", ["x86-64-v3", "skylake-avx512"])
def test_the_loop_over_products_is_written_once(texts, build_kernel, letters, cpu):
    """The last strip of rows, and products that are no whole number of rounds, have no loop of their own."""
    printed = build_kernel(product(texts, letters, {"m": 487, "k": 500, "n": 512}), cpu).kernel.text("kernel")
    sums = sum("store" in line and "%tile[" in line for line in printed.splitlines())
    assert sums > 0 and printed.count("fma") in (sums, UNITS_OF_A_STEP * sums)


def test_masked_halves_are_loaded_as_words(texts, build_kernel):
    """The last rows of a pack, of which there are fewer than a vector has lanes."""
    text = product(texts, "km,kn->mn", {"m": 100, "k": 64, "n": 64}, "f16", "f32")
    printed = build_kernel(text, "skylake-avx512").kernel.text("llvm")
    assert "masked.load.v16i16" in printed and "masked.load.v16f16" not in printed


FEW = [
    ("mk,k->m", {"m": 19, "k": 333}),
    ("mk,k->m", {"m": 3, "k": 9001}),
    ("mk,k->m", {"m": 8, "k": 4099}),
    ("bmk,bk->bm", {"b": 3, "m": 11, "k": 257}),
    ("k,kn->n", {"k": 517, "n": 333}),
    ("bk,bkn->bn", {"b": 3, "k": 77, "n": 65}),
    ("mk,kn->mn", {"m": 5, "k": 100, "n": 40}),
    ("mk,kn->mn", {"m": 11, "k": 301, "n": 1030}),
    ("mk,kn->mn", {"m": 16, "k": 150, "n": 2111}),
    ("mk,nk->mn", {"m": 7, "k": 391, "n": 30}),
    ("mk,nk->mn", {"m": 12, "k": 600, "n": 29}),
    ("mk,kn->mn", {"m": 61, "k": 333, "n": 3}),
    ("mk,kn->mn", {"m": 53, "k": 4500, "n": 2}),
    ("mk,nk->mn", {"m": 45, "k": 257, "n": 5}),
    ("bmk,bkn->bmn", {"b": 2, "m": 53, "k": 200, "n": 2}),
]


@pytest.mark.each_pair
@pytest.mark.parametrize(("letters", "sizes"), FEW, ids=str)
@pytest.mark.parametrize("element", ["f32", "f64", "bf16"])
def test_few_rows_or_columns(texts, run_dispatch, runnable_target, letters, sizes, element):
    """Products that read one large factor once: along it, or in dots, with tails of every kind."""
    accumulate = "f32" if element == "bf16" else element
    dtype = ml_dtypes.bfloat16 if element == "bf16" else texts.numpy[element]
    x, y = operands(letters, sizes, np.float64)
    x, y = x.astype(dtype), y.astype(dtype)
    exact = np.einsum(letters, x.astype(np.float64), y.astype(np.float64))
    scale = np.einsum(letters, np.abs(x.astype(np.float64)), np.abs(y.astype(np.float64)))
    text = product(texts, letters, sizes, element, accumulate)
    (result,) = run_dispatch(text, [x, y], [(exact.shape, texts.numpy[accumulate])], runnable_target.cpu)
    assert np.max(np.abs(result - exact) / scale) < 20 * np.finfo(texts.numpy[accumulate]).eps


@pytest.mark.parametrize(
    ("letters", "sizes"),
    [
        ("mk,k->m", {"m": 21, "k": 300}),
        ("mk,kn->mn", {"m": 10, "k": 60, "n": 200}),
        ("mk,kn->mn", {"m": 40, "k": 300, "n": 3}),
    ],
    ids=str,
)
def test_epilogues_of_few_rows_or_columns(texts, run_dispatch, runnable_target, letters, sizes):
    x, y = operands(letters, sizes, np.float32)
    y *= 0.05
    exact = np.tanh(np.einsum(letters, x.astype(np.float64), y.astype(np.float64)))
    text = product(texts, letters, sizes, epilogue="%r = math.tanh %a0 : f32")
    (result,) = run_dispatch(text, [x, y], [(exact.shape, np.float32)], runnable_target.cpu)
    np.testing.assert_allclose(result, exact, rtol=1e-4, atol=1e-5)


def test_long_dots_stay_accurate(texts, run_dispatch):
    """Sums of a million products of numbers of one sign: chunks keep the error at a few units in the last place."""
    k = 1 << 20
    rng = np.random.default_rng(3)
    x, y = rng.uniform(0, 1, (3, k)).astype(np.float32), rng.uniform(0, 1, k).astype(np.float32)
    exact = x.astype(np.float64) @ y.astype(np.float64)
    (result,) = run_dispatch(product(texts, "mk,k->m", {"m": 3, "k": k}), [x, y], [((3,), np.float32)])
    np.testing.assert_allclose(result, exact, rtol=1e-6)
