"""Slices, pads, reshapes, concatenations, insertions and gathers: index arithmetic that is fused into loads."""

import numpy as np
import pytest


def copy(texts, source_shape, result_shape, body, element="f32"):
    """out0 = what `body` makes of in0 (%r), doubled so that something is computed."""
    source, result = texts.tensor(source_shape, element), texts.tensor(result_shape, element)
    dims = ", ".join(f"d{k}" for k in range(len(result_shape)))
    text = body + f"\n%e = tensor.empty() : {result}\n" + texts.generic(
        "%out0", [("%r", result)], [("%e", result)], [f"({dims}) -> ({dims})"] * 2, ["parallel"] * len(result_shape),
        f"%d = arith.addf %a0, %a0 : {element}", "%d",
    )  # fmt: skip
    return texts.dispatch([source], [result], text)


def array(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(
    ("shape", "offsets", "sizes", "strides"),
    [((100,), (7,), (50,), (1,)), ((100,), (1,), (33,), (3,)), ((100,), (0,), (50,), (2,)),
     ((9, 80), (2, 5), (4, 37), (2, 2)),
     ((9, 80), (1, 0), (8, 80), (1, 1)), ((101,), (0,), (21,), (5,))],
    ids=str,
)  # fmt: skip
def test_extract_slice(texts, run_dispatch, runnable_target, shape, offsets, sizes, strides):
    x = array(shape)
    lists = "".join(str(list(part)) for part in (offsets, sizes, strides)).replace("][", "] [")
    body = f"%r = tensor.extract_slice %in0{lists} : {texts.tensor(shape, 'f32')} to {texts.tensor(sizes, 'f32')}"
    (result,) = run_dispatch(copy(texts, shape, sizes, body), [x], [(sizes, np.float32)], runnable_target.cpu)
    where = tuple(slice(o, o + (n - 1) * s + 1, s) for o, n, s in zip(offsets, sizes, strides, strict=True))
    np.testing.assert_array_equal(result, 2 * x[where])


def test_rank_reducing_slice(texts, run_dispatch):
    x = array((5, 6, 7))
    body = "%r = tensor.extract_slice %in0[2, 0, 3] [1, 6, 1] [1, 1, 1] : tensor<5x6x7xf32> to tensor<6xf32>"
    (result,) = run_dispatch(copy(texts, (5, 6, 7), (6,), body), [x], [((6,), np.float32)])
    np.testing.assert_array_equal(result, 2 * x[2, :, 3])


@pytest.mark.parametrize(
    ("shape", "low", "high"),
    [((20,), (3,), (5,)), ((4, 33), (1, 2), (0, 7)), ((3, 16), (0, 0), (2, 0)), ((1,), (16,), (16,))],
    ids=str,
)
def test_pad(texts, run_dispatch, runnable_target, shape, low, high):
    x = array(shape)
    result_shape = tuple(a + n + b for a, n, b in zip(low, shape, high, strict=True))
    arguments = ", ".join(f"%i{k}: index" for k in range(len(shape)))
    body = (
        f"%c = arith.constant 7.0 : f32\n%r = tensor.pad %in0 low{list(low)} high{list(high)} {{\n^bb0({arguments}):\n"
        f"tensor.yield %c : f32\n}} : {texts.tensor(shape, 'f32')} to {texts.tensor(result_shape, 'f32')}"
    )
    (result,) = run_dispatch(
        copy(texts, shape, result_shape, body), [x], [(result_shape, np.float32)], runnable_target.cpu
    )
    expected = np.pad(x, list(zip(low, high, strict=True)), constant_values=7)
    np.testing.assert_array_equal(result, 2 * expected)


def test_reshapes(texts, run_dispatch):
    x = array((6, 35))
    body = (
        "%r = tensor.expand_shape %in0 [[0, 1], [2, 3]] output_shape [2, 3, 5, 7] : "
        "tensor<6x35xf32> into tensor<2x3x5x7xf32>"
    )
    (result,) = run_dispatch(copy(texts, (6, 35), (2, 3, 5, 7), body), [x], [((2, 3, 5, 7), np.float32)])
    np.testing.assert_array_equal(result, 2 * x.reshape(2, 3, 5, 7))
    x = array((2, 3, 5, 7))
    body = "%r = tensor.collapse_shape %in0 [[0, 1], [2, 3]] : tensor<2x3x5x7xf32> into tensor<6x35xf32>"
    (result,) = run_dispatch(copy(texts, (2, 3, 5, 7), (6, 35), body), [x], [((6, 35), np.float32)])
    np.testing.assert_array_equal(result, 2 * x.reshape(6, 35))


def test_reshape_of_a_slice_takes_its_digits_apart(texts, run_dispatch):
    x = array((4, 9))
    body = (
        "%s = tensor.extract_slice %in0[1, 2] [3, 5] [1, 1] : tensor<4x9xf32> to tensor<3x5xf32>\n"
        "%r = tensor.collapse_shape %s [[0, 1]] : tensor<3x5xf32> into tensor<15xf32>"
    )
    (result,) = run_dispatch(copy(texts, (4, 9), (15,), body), [x], [((15,), np.float32)])
    np.testing.assert_array_equal(result, 2 * x[1:4, 2:7].ravel())


@pytest.mark.parametrize("dim", [0, 1])
def test_concat(texts, run_dispatch, dim):
    shapes = [(3, 20), (5, 20), (1, 20)] if dim == 0 else [(4, 3), (4, 30), (4, 17)]
    arrays = [array(s, k) for k, s in enumerate(shapes)]
    total = (9, 20) if dim == 0 else (4, 50)
    types = [texts.tensor(s, "f32") for s in shapes]
    out = texts.tensor(total, "f32")
    body = f"%out0 = tensor.concat dim({dim}) %in0, %in1, %in2 : ({', '.join(types)}) -> {out}"
    (result,) = run_dispatch(texts.dispatch(types, [out], body), arrays, [(total, np.float32)])
    np.testing.assert_array_equal(result, np.concatenate(arrays, dim))


@pytest.mark.parametrize(("offsets", "strides"), [((1, 3), (1, 1)), ((0, 0), (2, 1)), ((1, 2), (1, 3))], ids=str)
def test_insert_slice(texts, run_dispatch, offsets, strides):
    x, y = array((9, 40)), array((4, 11), 1)
    types = [texts.tensor(a.shape, "f32") for a in (x, y)]
    body = (
        f"%out0 = tensor.insert_slice %in1 into %in0{list(offsets)} [4, 11] {list(strides)} : "
        f"{types[1]} into {types[0]}"
    )
    (result,) = run_dispatch(texts.dispatch(types, types[:1], body), [x, y], [((9, 40), np.float32)])
    expected = x.copy()
    expected[tuple(slice(o, o + (n - 1) * s + 1, s) for o, n, s in zip(offsets, (4, 11), strides, strict=True))] = y
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("width", [1, 5, 64])
def test_gather_of_rows(texts, run_dispatch, runnable_target, width):
    table, ids = array((50, width)), np.random.default_rng(1).integers(0, 50, 37).astype(np.int32)
    types = [texts.tensor((50, width), "f32"), texts.tensor((37,), "i32")]
    out = texts.tensor((37, width), "f32")
    body = f"%e = tensor.empty() : {out}\n" + texts.generic(
        "%out0", [("%in1", types[1])], [("%e", out)], ["(d0, d1) -> (d0)", "(d0, d1) -> (d0, d1)"], ["parallel"] * 2,
        f"%j = linalg.index 1 : index\n%i = arith.index_cast %a0 : i32 to index\n"
        f"%r = tensor.extract %in0[%i, %j] : {types[0]}", "%r",
    )  # fmt: skip
    (result,) = run_dispatch(
        texts.dispatch(types, [out], body), [table, ids], [(out_shape := (37, width), np.float32)], runnable_target.cpu
    )
    np.testing.assert_array_equal(result, table[ids].reshape(out_shape))


@pytest.mark.parametrize("element", ["i8", "i16", "f32", "f64", "i1"])
def test_gather_of_single_elements(texts, run_dispatch, element):
    dtype = texts.numpy[element]
    table = (np.random.default_rng(2).integers(0, 100, 77) % (2 if element == "i1" else 100)).astype(dtype)
    ids = np.random.default_rng(3).integers(0, 77, (5, 21)).astype(np.int64)
    types = [texts.tensor((77,), element), texts.tensor((5, 21), "i64")]
    out = texts.tensor((5, 21), element)
    body = f"%e = tensor.empty() : {out}\n" + texts.generic(
        "%out0", [("%in1", types[1])], [("%e", out)], ["(d0, d1) -> (d0, d1)"] * 2, ["parallel"] * 2,
        f"%i = arith.index_cast %a0 : i64 to index\n%r = tensor.extract %in0[%i] : {types[0]}", "%r",
    )  # fmt: skip
    (result,) = run_dispatch(texts.dispatch(types, [out], body), [table, ids], [((5, 21), dtype)])
    np.testing.assert_array_equal(result, table[ids])


def test_reverse(texts, run_dispatch, build_kernel):
    """Runs that are turned round in registers, not element by element; what the body takes from outside is known."""
    x = array((7, 45))
    out = texts.tensor((7, 45), "f32")
    body = f"%e = tensor.empty() : {out}\n%last = arith.constant 44 : index\n" + texts.generic(
        "%out0", [], [("%e", out)], ["(d0, d1) -> (d0, d1)"], ["parallel"] * 2,
        "%i = linalg.index 0 : index\n%j = linalg.index 1 : index\n%k = arith.subi %last, %j : index\n"
        f"%r = tensor.extract %in0[%i, %k] : {out}", "%r",
    )  # fmt: skip
    text = texts.dispatch([out], [out], body)
    (result,) = run_dispatch(text, [x], [((7, 45), np.float32)])
    np.testing.assert_array_equal(result, x[:, ::-1])
    loops = build_kernel(text.replace("7x45", "7x48").replace("[7, 45]", "[7, 48]"), "x86-64-v4").kernel.text("kernel")
    assert "gather" not in loops


def test_windows_through_affine_maps(texts, run_dispatch):
    """A pooling: the input is read at 2 * d0 + d1."""
    x = array((41, 8))
    source, window, out = texts.tensor((41, 8), "f32"), texts.tensor((3,), "f32"), texts.tensor((20, 8), "f32")
    body = f"%z = arith.constant 0xFF800000 : f32\n%e = tensor.empty() : {out}\n%w = tensor.empty() : {window}\n"
    body += f"%f = linalg.fill ins(%z : f32) outs(%e : {out}) -> {out}\n"
    body += texts.generic(
        "%out0", [("%in0", source), ("%w", window)], [("%f", out)],
        ["(d0, d1, d2) -> (d0 * 2 + d2, d1)", "(d0, d1, d2) -> (d2)", "(d0, d1, d2) -> (d0, d1)"],
        ["parallel", "parallel", "reduction"], "%r = arith.maximumf %c0, %a0 : f32", "%r",
    )  # fmt: skip
    (result,) = run_dispatch(texts.dispatch([source], [out], body), [x], [((20, 8), np.float32)])
    np.testing.assert_array_equal(result, np.stack([x[2 * k : 2 * k + 3].max(0) for k in range(20)]))


def test_store_into_a_slice_of_a_binding(texts, run_dispatch):
    x = array((4, 9))
    kind = "!iree_tensor_ext.dispatch.tensor"
    text = f"""func.func @kernel(%b: {kind}<readonly:tensor<4x9xf32>>, %o: {kind}<writeonly:tensor<6x20xf32>>) {{
      %v = iree_tensor_ext.dispatch.tensor.load %b, offsets = [0, 0], sizes = [4, 9], strides = [1, 1]
          : {kind}<readonly:tensor<4x9xf32>> -> tensor<4x9xf32>
      iree_tensor_ext.dispatch.tensor.store %v, %o, offsets = [1, 5], sizes = [4, 9], strides = [1, 1]
          : tensor<4x9xf32> -> {kind}<writeonly:tensor<6x20xf32>>
      return
    }}"""
    (result,) = run_dispatch(text, [x], [((6, 20), np.uint32)])
    expected = np.full((6, 20), 0xA5A5A5A5, np.uint32)
    expected[1:5, 5:14] = x.view(np.uint32)
    np.testing.assert_array_equal(result, expected)
