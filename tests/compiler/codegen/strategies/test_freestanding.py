"""Every kind of kernel, at every target level, links into an executable that imports nothing."""

import importlib.util
import pathlib
import re

import pytest


def sibling(name):
    """Another test file of this folder, for its kernels."""
    path = pathlib.Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"freestanding_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def kernels(texts):
    elementwise, reduction, row_wise = sibling("test_elementwise"), sibling("test_reduction"), sibling("test_row_wise")
    contraction, scatter = sibling("test_contraction"), sibling("test_scatter")
    sizes = {"m": 14, "k": 20, "n": 37}
    yield elementwise.unary(texts, (99,), "f32", "f32", "%r = math.tanh %a0 : f32")
    yield elementwise.unary(texts, (99,), "f64", "f64", "%r = math.sin %a0 : f64")
    yield elementwise.unary(texts, (99,), "f64", "f16", "%r = arith.truncf %a0 : f64 to f16")
    yield elementwise.unary(texts, (99,), "i64", "bf16", "%r = arith.sitofp %a0 : i64 to bf16")
    yield elementwise.unary(texts, (99,), "f32", "f32", "%r = math.floor %a0 : f32")
    yield elementwise.binary(texts, (7, 33), "f32", "arith.remf")
    yield elementwise.binary(texts, (7, 33), "i64", "arith.divsi")
    yield elementwise.binary(texts, (7, 33), "f32", "arith.cmpf ogt,", "i1")
    yield elementwise.binary(texts, (7, 33), "bf16", "arith.mulf")
    yield reduction.reduction(texts, (50, 33), (1,), "arith.addf", "0.0")
    yield reduction.reduction(texts, (50, 33), (0,), "arith.maximumf", "0xFF800000")
    yield reduction.reduction(texts, (50, 33), (1,), "arith.muli", "1", "i64")
    yield reduction.reduction(texts, (50, 33), (1,), "arith.addf", "0.0", "f16")
    yield reduction.argmax(texts, (5, 40), 1)
    yield row_wise.softmax(texts, (9, 77), 1)
    yield row_wise.softmax(texts, (9, 77), 0)
    yield contraction.product(texts, "mk,kn->mn", sizes)
    yield contraction.product(texts, "mk,kn->mn", sizes, "f16", "f32")
    types = [texts.tensor((50,), "f32"), texts.tensor((20,), "f32"), texts.tensor((20, 1), "i64")]
    yield scatter.scatter(types, [0], scatter.ADD)


def test_no_imports(texts, any_level):
    from pyiree.compiler.codegen import target as targets
    from pyiree.compiler.codegen.translate import link_executable, translate_dispatch
    from pyiree.compiler.ir.parser import parse

    target = targets.named(any_level)
    translated = []
    for number, text in enumerate(kernels(texts)):
        module = parse(text.replace("@kernel", f"@kernel_{number}"))
        func = next(op for op in module.walk() if op.name == "func.func")
        translated.append(translate_dispatch(func, target))
    image = link_executable("all", translated, target)
    assert image.startswith(b"\x7fELF")


@pytest.mark.parametrize("cpu", ["x86-64-v2", "x86-64-v4"])
def test_stack_and_local_memory_stay_small(texts, cpu):
    from pyiree.compiler.codegen import target as targets
    from pyiree.compiler.codegen.translate import translate_dispatch
    from pyiree.compiler.ir.parser import parse

    for text in kernels(texts):
        func = next(op for op in parse(text).walk() if op.name == "func.func")
        kernel = translate_dispatch(func, targets.named(cpu))
        frames = [int(size) for size in re.findall(r"subq\t\$(\d+), %rsp", kernel.text("asm"))]
        assert max(frames, default=0) <= 16 << 10
        assert kernel.local_memory_bytes <= 128 << 10


@pytest.mark.parametrize("phase", ["kernel", "llvm", "asm"])
def test_texts_of_a_kernel(texts, build_kernel, phase):
    kernel = build_kernel(sibling("test_row_wise").softmax(texts, (9, 77), 1)).kernel
    text = kernel.text(phase)
    assert {"kernel": "math.exp", "llvm": "define hidden i32 @kernel", "asm": "kernel:"}[phase] in text
    assert kernel.entry_point.binding_count == 2
