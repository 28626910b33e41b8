"""No op leaves an undefined symbol at any level, and errors name what is missing."""

import pytest
from pyiree.compiler.codegen import target as targets
from pyiree.compiler.codegen.llvm import library
from pyiree.compiler.codegen.llvm.emit import Module
from pyiree.compiler.codegen.llvm.objects import compile_objects
from pyiree.compiler.codegen.math import FLOAT_OPS, INTEGER_OPS, emit_math
from pyiree.runtime.vmfb.elf.link import link


def _symbols_asked_for(texts, target):
    """What the linker looks up in the soft library, by the position of the text."""
    asked = {}
    for position, data in enumerate(compile_objects(texts, target)):

        def resolve(name, position=position):
            asked.setdefault(position, set()).add(name)
            return library.object_of(name, target)

        link([data], ["kernel"], resolve)
    return asked


@pytest.mark.parametrize("element", ("float", "double"))
def test_float_ops_link(any_level, element, math_text, operand_counts):
    """Only a fused multiply-add on a CPU without one is taken from the library."""
    target = targets.named(any_level)
    lanes = target.lanes(32 if element == "float" else 64)
    names = sorted(FLOAT_OPS)
    texts = []
    for name in names:
        types = [element] * operand_counts[name]
        if name == "math.fpowi":
            types[1] = "i32"
        texts.append(math_text(name, types, target, lanes))
    asked = _symbols_asked_for(texts, target)
    wanted = {} if target.has_fma else {names.index("math.fma"): {"fmaf" if element == "float" else "fma"}}
    assert asked == wanted


@pytest.mark.parametrize("element", ("i8", "i16", "i32", "i64"))
def test_integer_ops_link(any_level, element, math_text):
    target = targets.named(any_level)
    texts = []
    for name in sorted(INTEGER_OPS):
        count = 2 if name == "math.ipowi" else 1
        texts.append(math_text(name, [element] * count, target, target.lanes(int(element[1:]))))
    assert _symbols_asked_for(texts, target) == {}


def test_outlined_bodies_are_emitted_once():
    target = targets.named("x86-64-v3")
    module = Module(target)
    fn = module.function("kernel", [("x", "<8 x float>")], "<8 x float>", linkage="")
    x = fn.args["x"]
    for name in ("math.sin", "math.powf", "math.erfc", "math.sin", "math.powf", "math.erfc"):
        x = emit_math(fn, name, [x, x] if name == "math.powf" else [x], target)
    fn.ret(x)
    names = [f.name for f in module.functions]
    assert len(names) == len(set(names)) == 5  # kernel, sin for large lanes and one lane, powf, erfc
    link(compile_objects([module.text()], target), ["kernel"], lambda name: None)


def test_unknown_op_is_named():
    fn = Module(targets.named("x86-64")).function("kernel", [("x", "float")])
    with pytest.raises(NotImplementedError, match=r"math\.lgamma"):
        emit_math(fn, "math.lgamma", [fn.args["x"]], targets.named("x86-64"))


def test_half_is_refused():
    fn = Module(targets.named("x86-64")).function("kernel", [("x", "half")])
    with pytest.raises(TypeError, match="half"):
        emit_math(fn, "math.exp", [fn.args["x"]], targets.named("x86-64"))
