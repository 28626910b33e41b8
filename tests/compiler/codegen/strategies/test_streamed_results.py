"""Results too large for the caches are stored past them, whatever address they have."""

import numpy as np
import pytest


def aligned(shape, dtype, offset):
    """An array that begins so many bytes behind a multiple of 64, and the memory around it."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.full(size + 256, 0xA5, np.uint8)
    start = -memory.ctypes.data % 64 + 64 + offset
    return memory, memory[start : start + size].view(dtype).reshape(shape)


def run(build_kernel, text, cpu, inputs, shape, dtype, offset):
    """The result of a dispatch at an address; nothing around it may change."""
    kernel = build_kernel(text, cpu)
    memory, result = aligned(shape, dtype, offset)
    before = memory.copy()
    kernel.run([*inputs, result])
    found = result.copy()
    result.view(np.uint8)[...] = 0xA5
    np.testing.assert_array_equal(memory, before)
    return kernel, found


def tripled(texts, shape, element):
    type = texts.tensor(shape, element)
    dims = "(" + ", ".join(f"d{k}" for k in range(len(shape))) + ")"
    body = f"%e = tensor.empty() : {type}\n%three = arith.constant 3.0 : {element}\n"
    body += texts.generic(
        "%out0", [("%in0", type)], [("%e", type)], [f"{dims} -> {dims}"] * 2, ["parallel"] * len(shape),
        f"%r = arith.mulf %a0, %three : {element}", "%r",
    )  # fmt: skip
    return texts.dispatch([type], [type], body)


@pytest.mark.each_value
@pytest.mark.parametrize("offset", [0, 4, 32])
@pytest.mark.parametrize("shape", [(2 << 20,), ((2 << 20) + 13,)], ids=str)
def test_elementwise(texts, build_kernel, runnable_target, shape, offset):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    kernel, found = run(
        build_kernel, tripled(texts, shape, "f32"), runnable_target.cpu, [x], shape, np.float32, offset
    )
    np.testing.assert_array_equal(found, x * np.float32(3))
    if runnable_target.cpu != "host":
        assert "stream %" in kernel.kernel.text("kernel")


@pytest.mark.each_value
@pytest.mark.parametrize("offset", [0, 8])
@pytest.mark.parametrize(
    ("shape", "element"), [((1024, 2048), "f32"), ((1031, 1029), "f32"), ((700, 1200), "f64"), ((1500, 1500), "bf16")]
)
def test_transposes(texts, build_kernel, runnable_target, shape, element, offset):
    import ml_dtypes

    dtype = ml_dtypes.bfloat16 if element == "bf16" else texts.numpy[element]
    x = np.random.default_rng(1).standard_normal(shape).astype(dtype)
    types = texts.tensor(shape, element), texts.tensor(shape[::-1], element)
    body = f"%e = tensor.empty() : {types[1]}\n"
    body += texts.generic(
        "%out0", [("%in0", types[0])], [("%e", types[1])], ["(d0, d1) -> (d1, d0)", "(d0, d1) -> (d0, d1)"],
        ["parallel"] * 2, "", "%a0",
    )  # fmt: skip
    text = texts.dispatch(types[:1], types[1:], body)
    _, found = run(build_kernel, text, runnable_target.cpu, [x], shape[::-1], dtype, offset)
    np.testing.assert_array_equal(found, x.T)


@pytest.mark.parametrize("offset", [0, 4])
def test_rows(texts, build_kernel, runnable_target, offset):
    """x - max(x) of each row: what runs over the rows is stored past the caches."""
    shape = (1100, 2000)
    x = np.random.default_rng(2).standard_normal(shape).astype(np.float32)
    type, row = texts.tensor(shape, "f32"), texts.tensor(shape[:1], "f32")
    body = f"%z = arith.constant 0xFF800000 : f32\n%e = tensor.empty() : {row}\n"
    body += f"%f = linalg.fill ins(%z : f32) outs(%e : {row}) -> {row}\n"
    body += texts.generic(
        "%m", [("%in0", type)], [("%f", row)], ["(d0, d1) -> (d0, d1)", "(d0, d1) -> (d0)"],
        ["parallel", "reduction"], "%s = arith.maximumf %c0, %a0 : f32", "%s",
    )  # fmt: skip
    body += f"\n%o = tensor.empty() : {type}\n" + texts.generic(
        "%out0", [("%in0", type), ("%m", row)], [("%o", type)],
        ["(d0, d1) -> (d0, d1)", "(d0, d1) -> (d0)", "(d0, d1) -> (d0, d1)"], ["parallel"] * 2,
        "%r = arith.subf %a0, %a1 : f32", "%r",
    )  # fmt: skip
    _, found = run(
        build_kernel, texts.dispatch([type], [type], body), runnable_target.cpu, [x], shape, np.float32, offset
    )
    np.testing.assert_array_equal(found, x - x.max(1, keepdims=True))


def test_order_of_loads(texts, build_kernel):
    """(2, 3000, 12, 64) → (2, 12, 3000, 64). Before: the loops follow the result, each row that is read is far from the
    one before. After: they follow what is read."""
    shape, turned = (2, 3000, 12, 64), (2, 12, 3000, 64)
    x = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    types = texts.tensor(shape, "f32"), texts.tensor(turned, "f32")
    body = f"%e = tensor.empty() : {types[1]}\n" + texts.generic(
        "%out0", [("%in0", types[0])], [("%e", types[1])],
        ["(d0, d1, d2, d3) -> (d0, d2, d1, d3)", "(d0, d1, d2, d3) -> (d0, d1, d2, d3)"], ["parallel"] * 4, "", "%a0",
    )  # fmt: skip
    text = texts.dispatch(types[:1], types[1:], body)
    kernel, found = run(build_kernel, text, "x86-64-v2", [x], turned, np.float32, 0)
    np.testing.assert_array_equal(found, x.transpose(0, 2, 1, 3))
    loops = kernel.kernel.text("kernel")
    assert "stream %" in loops
    _, _, inner = loops.partition("for %")
    assert "= 0 to 12" in inner, loops


def test_bfloats_are_integers(texts, any_level):
    """LLVM takes vectors of bfloat16 from block to block number by number, with a call for each, where the CPU has no
    such numbers; whether an address is a multiple of a vector's size decides between two blocks."""
    from pyiree.compiler.codegen import target as targets
    from pyiree.compiler.codegen.translate import translate_dispatch
    from pyiree.compiler.ir.parser import parse

    types = texts.tensor((4096, 4096), "f32"), texts.tensor((4096, 4096), "bf16")
    dims = "(d0, d1) -> (d0, d1)"
    body = f"%e = tensor.empty() : {types[1]}\n" + texts.generic(
        "%out0", [("%in0", types[0])], [("%e", types[1])], [dims] * 2, ["parallel"] * 2,
        "%r = arith.truncf %a0 : f32 to bf16", "%r",
    )  # fmt: skip
    module = parse(texts.dispatch(types[:1], types[1:], body))
    func = next(op for op in module.walk() if op.name == "func.func")
    assert "__truncsfbf2" not in translate_dispatch(func, targets.named(any_level)).text("asm")
