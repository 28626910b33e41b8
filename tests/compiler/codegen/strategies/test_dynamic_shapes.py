"""Dims that are known only at run time: they come as push constants, and the workgroup count depends on them."""

import numpy as np
import pytest

KIND = "!iree_tensor_ext.dispatch.tensor"


def loads_and_stores(inputs, outputs):
    """(arguments, loads, stores) for tensors given as (type, list of sizes as text)."""
    arguments, lines, stores = [], [], []
    for k, (type, sizes) in enumerate(inputs):
        dims = ", ".join(s for s in sizes if s.startswith("%"))
        arguments.append(f"%b{k}: {KIND}<readonly:{type}>")
        lines.append(
            f"%in{k} = iree_tensor_ext.dispatch.tensor.load %b{k}, offsets = [{zeros(sizes)}], "
            f"sizes = [{', '.join(sizes)}], strides = [{ones(sizes)}] : {KIND}<readonly:{type}>{{{dims}}} -> {type}"
        )
    for k, (type, sizes) in enumerate(outputs):
        dims = ", ".join(s for s in sizes if s.startswith("%"))
        arguments.append(f"%o{k}: {KIND}<writeonly:{type}>")
        stores.append(
            f"iree_tensor_ext.dispatch.tensor.store %out{k}, %o{k}, offsets = [{zeros(sizes)}], "
            f"sizes = [{', '.join(sizes)}], strides = [{ones(sizes)}] : {type} -> {KIND}<writeonly:{type}>{{{dims}}}"
        )
    return arguments, lines, stores


def zeros(sizes):
    return ", ".join("0" for _ in sizes)


def ones(sizes):
    return ", ".join("1" for _ in sizes)


def dynamic_dispatch(inputs, outputs, body, count):
    """A dispatch with `count` index arguments, which are its workload %d0, %d1, …"""
    arguments, loads, stores = loads_and_stores(inputs, outputs)
    arguments += [f"%s{k}: index" for k in range(count)]
    ordinals = [f"%d{k} = iree_tensor_ext.dispatch.workload.ordinal %s{k}, {k} : index" for k in range(count)]
    lines = "\n".join([*ordinals, *loads, body, *stores])
    return f"func.func @kernel({', '.join(arguments)}) {{\n{lines}\nreturn\n}}"


def words(*sizes):
    return [word for size in sizes for word in (size & 0xFFFFFFFF, size >> 32)]


@pytest.mark.parametrize("shape", [(1, 1), (5, 67), (37, 16), (100, 3), (3, 1000), (0, 4), (4, 0)], ids=str)
def test_elementwise_with_a_broadcast(texts, build_kernel, runnable_target, shape):
    full, row = "tensor<?x?xf32>", "tensor<?xf32>"
    body = f"%e = tensor.empty(%d0, %d1) : {full}\n" + texts.generic(
        "%out0", [("%in0", full), ("%in1", row)], [("%e", full)],
        ["(d0, d1) -> (d0, d1)", "(d0, d1) -> (d1)", "(d0, d1) -> (d0, d1)"], ["parallel"] * 2,
        "%r = arith.mulf %a0, %a1 : f32", "%r",
    )  # fmt: skip
    sizes = ["%d0", "%d1"]
    text = dynamic_dispatch([(full, sizes), (row, sizes[1:])], [(full, sizes)], body, 2)
    kernel = build_kernel(text, runnable_target.cpu)
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal(shape).astype(np.float32), rng.standard_normal(shape[1]).astype(np.float32)
    out = np.zeros(shape, np.float32)
    assert kernel.kernel.workgroups is None
    kernel.run([x, y, out], words(*shape), kernel.kernel.plan.count(shape))
    np.testing.assert_array_equal(out, x * y)


def test_contiguous_dims_run_as_one_loop(texts, build_kernel):
    full = "tensor<?x?xf32>"
    body = f"%e = tensor.empty(%d0, %d1) : {full}\n" + texts.generic(
        "%out0", [("%in0", full)], [("%e", full)], ["(d0, d1) -> (d0, d1)"] * 2, ["parallel"] * 2,
        "%r = arith.addf %a0, %a0 : f32", "%r",
    )  # fmt: skip
    sizes = ["%d0", "%d1"]
    kernel = build_kernel(dynamic_dispatch([(full, sizes)], [(full, sizes)], body, 2))
    x = np.random.default_rng(1).standard_normal((7, 1001)).astype(np.float32)
    out = np.zeros_like(x)
    kernel.run([x, out], words(*x.shape), kernel.kernel.plan.count(x.shape))
    np.testing.assert_array_equal(out, x + x)
    assert all(line.startswith("  for") or "for" not in line for line in kernel.kernel.text("kernel").splitlines())


@pytest.mark.parametrize("shape", [(1, 1), (5, 67), (40, 16), (3, 5000), (3, 0), (200, 3)], ids=str)
@pytest.mark.parametrize("axis", [0, 1])
def test_sum(texts, build_kernel, shape, axis):
    full, rows = "tensor<?x?xf32>", "tensor<?xf32>"
    kept = f"d{1 - axis}"
    body = f"%z = arith.constant 0.0 : f32\n%e = tensor.empty(%{kept}) : {rows}\n"
    body += f"%f = linalg.fill ins(%z : f32) outs(%e : {rows}) -> {rows}\n"
    body += texts.generic(
        "%out0", [("%in0", full)], [("%f", rows)], ["(d0, d1) -> (d0, d1)", f"(d0, d1) -> ({kept})"],
        ["reduction" if d == axis else "parallel" for d in (0, 1)], "%r = arith.addf %c0, %a0 : f32", "%r",
    )  # fmt: skip
    text = dynamic_dispatch([(full, ["%d0", "%d1"])], [(rows, [f"%{kept}"])], body, 2)
    kernel = build_kernel(text)
    x = np.random.default_rng(2).standard_normal(shape).astype(np.float32)
    out = np.full(shape[1 - axis], -1, np.float32)
    kernel.run([x, out], words(*shape), kernel.kernel.plan.count(shape))
    np.testing.assert_allclose(out, x.astype(np.float64).sum(axis), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("size", [(5, 7, 9), (33, 20, 40), (1, 1, 1)], ids=str)
def test_matmul(texts, build_kernel, size):
    m, k, n = size
    left, right, out = "tensor<?x?xf32>", "tensor<?x?xf32>", "tensor<?x?xf32>"
    body = f"%z = arith.constant 0.0 : f32\n%e = tensor.empty(%d0, %d2) : {out}\n"
    body += f"%f = linalg.fill ins(%z : f32) outs(%e : {out}) -> {out}\n"
    body += f"%out0 = linalg.matmul ins(%in0, %in1 : {left}, {right}) outs(%f : {out}) -> {out}"
    text = dynamic_dispatch([(left, ["%d0", "%d1"]), (right, ["%d1", "%d2"])], [(out, ["%d0", "%d2"])], body, 3)
    kernel = build_kernel(text)
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((m, k)).astype(np.float32), rng.standard_normal((k, n)).astype(np.float32)
    result = np.zeros((m, n), np.float32)
    kernel.run([x, y, result], words(m, k, n), kernel.kernel.plan.count(size))
    np.testing.assert_allclose(result, x.astype(np.float64) @ y, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("start", [0, 3, 40])
def test_dynamic_slice(texts, build_kernel, start):
    source, out = "tensor<100xf32>", "tensor<50xf32>"
    arguments = f"%b: {KIND}<readonly:{source}>, %o: {KIND}<writeonly:{out}>, %at: index"
    text = f"""func.func @kernel({arguments}) {{
      %v = iree_tensor_ext.dispatch.tensor.load %b, offsets = [%at], sizes = [50], strides = [1]
          : {KIND}<readonly:{source}> -> {out}
      iree_tensor_ext.dispatch.tensor.store %v, %o, offsets = [0], sizes = [50], strides = [1]
          : {out} -> {KIND}<writeonly:{out}>
      return
    }}"""
    kernel = build_kernel(text)
    x = np.random.default_rng(4).standard_normal(100).astype(np.float32)
    result = np.zeros(50, np.float32)
    kernel.run([x, result], words(start))
    np.testing.assert_array_equal(result, x[start : start + 50])


def test_sizes_that_turn_out_to_be_one(build_kernel):
    """Types leave them open; no dim of one element is missing for that."""
    source, out = "tensor<?x?x1xf32>", "tensor<?x?x2xf32>"
    arguments, loads, stores = loads_and_stores([(source, ["%one", "%d0", "1"])], [(out, ["%one", "%d0", "2"])])
    text = f"""func.func @kernel({", ".join(arguments)}, %s: index) {{
      %one = arith.constant 1 : index
      %d0 = iree_tensor_ext.dispatch.workload.ordinal %s, 0 : index
      {loads[0]}
      %out0 = tensor.concat dim(2) %in0, %in0 : ({source}, {source}) -> {out}
      {stores[0]}
      return
    }}"""
    kernel = build_kernel(text)
    x = np.random.default_rng(5).standard_normal((1, 21, 1)).astype(np.float32)
    result = np.zeros((1, 21, 2), np.float32)
    kernel.run([x, result], words(21), kernel.kernel.plan.count((21,)))
    np.testing.assert_array_equal(result, np.concatenate([x, x], 2))


def test_results_of_equal_sizes_that_are_told_apart(texts, build_kernel):
    """Each of two ops reads a result of another size: the op alone says that the sizes are equal."""
    vector, body = "tensor<?xf32>", "%e = tensor.empty(%d0) : tensor<?xf32>\n"
    for k in (0, 2):
        body += f"%out{k} = tensor.extract_slice %in{k // 2}[0] [%d1] [2] : {vector} to {vector}\n"
        body += texts.generic(
            f"%out{k + 1}", [(f"%out{k}", vector)], [("%e", vector)], ["(d0) -> (d0)"] * 2, ["parallel"],
            "%r = arith.negf %a0 : f32", "%r",
        ) + "\n"  # fmt: skip
    text = dynamic_dispatch([(vector, ["%d2"])] * 2, [(vector, ["%d1"]), (vector, ["%d0"])] * 2, body, 3)
    kernel = build_kernel(text)
    x, y = np.random.default_rng(6).standard_normal((2, 38)).astype(np.float32)
    results = [np.zeros(19, np.float32) for _ in range(4)]
    kernel.run([x, y, *results], words(19, 19, 38), kernel.kernel.plan.count((19, 19, 38)))
    for given, expected in zip(results, (x[::2], -x[::2], y[::2], -y[::2])):
        np.testing.assert_array_equal(given, expected)
