"""Scatter: repeated indices in order, indices outside dropped, windows, in place or into a copy."""

import numpy as np
import pytest

KIND = "!iree_tensor_ext.dispatch.tensor"
SET, ADD = "iree_linalg_ext.yield %u : f32", "%s = arith.addf %old, %u : f32\niree_linalg_ext.yield %s : f32"


def scatter(types, dims, body, in_place=False):
    """types: original, updates, indices."""
    original, updates, indices = types
    op = (
        f"%r = iree_linalg_ext.scatter dimension_map = {dims} unique_indices(false) ins(%u, %i : {updates}, {indices}) "
        f"outs(%o : {original}) {{\n^bb0(%u: f32, %old: f32):\n{body}\n}} -> {original}"
    ).replace("ins(%u,", "ins(%updates,")

    def whole(type):
        shape = type[len("tensor<") : -1].split("x")[:-1]
        ones, zeros = ", ".join("1" for _ in shape), ", ".join("0" for _ in shape)
        return f"offsets = [{zeros}], sizes = [{', '.join(shape)}], strides = [{ones}]"

    def load(name, argument, type, access):
        at = f"{whole(type)} : {KIND}<{access}:{type}>"
        return f"{name} = iree_tensor_ext.dispatch.tensor.load {argument}, {at} -> {type}"

    access, target = ("readwrite", "%b0") if in_place else ("readonly", "%b3")
    arguments = [
        f"%b0: {KIND}<{access}:{original}>",
        f"%b1: {KIND}<readonly:{updates}>",
        f"%b2: {KIND}<readonly:{indices}>",
    ]
    if not in_place:
        arguments.append(f"%b3: {KIND}<writeonly:{original}>")
    written = "readwrite" if in_place else "writeonly"
    return "\n".join([
        f"func.func @kernel({', '.join(arguments)}) {{",
        load("%o", "%b0", original, access),
        load("%updates", "%b1", updates, "readonly"),
        load("%i", "%b2", indices, "readonly"),
        op,
        f"iree_tensor_ext.dispatch.tensor.store %r, {target}, {whole(original)} : "
        f"{original} -> {KIND}<{written}:{original}>",
        "return\n}",
    ])  # fmt: skip


@pytest.mark.parametrize("width", [1, 7, 64, 1000])
@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("with_depth", [False, True])
def test_rows(texts, build_kernel, width, in_place, with_depth):
    rng = np.random.default_rng(0)
    original, updates = (rng.standard_normal((n, width)).astype(np.float32) for n in (20, 33))
    indices = rng.integers(-3, 23, 33).astype(np.int32)
    place = texts.tensor((33, 1) if with_depth else (33,), "i32")
    types = [texts.tensor(original.shape, "f32"), texts.tensor(updates.shape, "f32"), place]
    for body in (SET, ADD):
        kernel = build_kernel(scatter(types, [0], body, in_place))
        expected, given, out = original.copy(), original.copy(), np.zeros_like(original)
        for k, at in enumerate(indices):
            if 0 <= at < 20:
                expected[at] = updates[k] if body is SET else expected[at] + updates[k]
        kernel.run([given, updates, indices] if in_place else [given, updates, indices, out])
        np.testing.assert_array_equal(given if in_place else out, expected)


def test_single_elements(texts, build_kernel, runnable_target):
    rng = np.random.default_rng(1)
    original, updates = rng.standard_normal(50).astype(np.float32), rng.standard_normal(200).astype(np.float32)
    indices = rng.integers(0, 50, 200).astype(np.int64)
    types = [texts.tensor((50,), "f32"), texts.tensor((200,), "f32"), texts.tensor((200, 1), "i64")]
    out = np.zeros(50, np.float32)
    build_kernel(scatter(types, [0], ADD), runnable_target.cpu).run([original, updates, indices, out])
    expected = original.copy()
    for k, at in enumerate(indices):
        expected[at] += updates[k]
    np.testing.assert_array_equal(out, expected)


def test_two_indexed_dims(texts, build_kernel):
    rng = np.random.default_rng(2)
    original, updates = (
        rng.standard_normal((6, 7, 5)).astype(np.float32),
        rng.standard_normal((9, 5)).astype(np.float32),
    )
    indices = np.stack([rng.integers(-1, 7, 9), rng.integers(0, 8, 9)], 1).astype(np.int32)
    types = [texts.tensor((6, 7, 5), "f32"), texts.tensor((9, 5), "f32"), texts.tensor((9, 2), "i32")]
    out = np.zeros_like(original)
    build_kernel(scatter(types, [0, 1], SET)).run([original, updates, indices, out])
    expected = original.copy()
    for k, (a, b) in enumerate(indices):
        if 0 <= a < 6 and 0 <= b < 7:
            expected[a, b] = updates[k]
    np.testing.assert_array_equal(out, expected)


def test_windows_that_move_with_the_index(texts, build_kernel):
    rng = np.random.default_rng(3)
    original, updates = (
        rng.standard_normal((10, 33)).astype(np.float32),
        rng.standard_normal((4, 3, 33)).astype(np.float32),
    )
    indices = np.array([[0], [7], [8], [-1]], np.int32)
    types = [texts.tensor((10, 33), "f32"), texts.tensor((4, 3, 33), "f32"), texts.tensor((4, 1), "i32")]
    out = np.zeros_like(original)
    build_kernel(scatter(types, [0], ADD)).run([original, updates, indices, out])
    expected = original.copy()
    for k, (at,) in enumerate(indices):
        if 0 <= at <= 7:
            expected[at : at + 3] += updates[k]
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("places, updates, width", [(100, 30000, 64), (7, 20000, 96), (1001, 50000, 72)])
@pytest.mark.parametrize("in_place", [False, True])
def test_workgroups_that_share_out_the_places(texts, build_kernel, places, updates, width, in_place):
    """Short windows and many updates: each workgroup takes the updates of its own rows, in order."""
    rng = np.random.default_rng(0)
    original = rng.integers(-9, 9, (places, width)).astype(np.float32)
    given = rng.integers(-9, 9, (updates, width)).astype(np.float32)
    indices = rng.integers(-3, places + 3, updates).astype(np.int32)
    types = [texts.tensor(original.shape, "f32"), texts.tensor(given.shape, "f32"), texts.tensor((updates,), "i32")]
    for body in (SET, ADD):
        kernel = build_kernel(scatter(types, [0], body, in_place))
        text = kernel.kernel.text("kernel")
        assert "workgroup_id" in text
        expected, start, out = original.copy(), original.copy(), np.zeros_like(original)
        for k, at in enumerate(indices):
            if 0 <= at < places:
                expected[at] = given[k] if body is SET else expected[at] + given[k]
        kernel.run([start, given, indices] if in_place else [start, given, indices, out])
        np.testing.assert_array_equal(start if in_place else out, expected)
