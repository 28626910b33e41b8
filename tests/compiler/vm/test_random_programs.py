"""Random programs of numbers: what we compile gives the same on our interpreter and on IREE's runtime."""

import hypothesis
import pytest
from hypothesis import strategies as st

TYPES = ("i32", "i64", "f32", "f64")
BINARY = {
    "i32": ("add.i32", "sub.i32", "mul.i32", "and.i32", "or.i32", "xor.i32", "min.i32.s", "max.i32.u"),
    "i64": ("add.i64", "sub.i64", "mul.i64", "and.i64", "or.i64", "xor.i64", "min.i64.u", "max.i64.s"),
    "f32": ("add.f32", "sub.f32", "mul.f32"),
    "f64": ("add.f64", "sub.f64", "mul.f64"),
}
CONVERSIONS = (
    ("ext.i32.i64.s", "i32", "i64"), ("ext.i32.i64.u", "i32", "i64"), ("trunc.i64.i32", "i64", "i32"),
    ("ext.i8.i32.s", "i32", "i32"), ("ext.i16.i64.u", "i32", "i64"), ("trunc.i64.i8", "i64", "i32"),
    ("cast.si32.f32", "i32", "f32"), ("cast.si64.f64", "i64", "f64"), ("ext.f32.f64", "f32", "f64"),
)  # fmt: skip
COMPARISONS = (
    ("cmp.lt.i32.s", "i32"), ("cmp.gte.i32.u", "i32"), ("cmp.lte.i64.s", "i64"), ("cmp.gt.i64.u", "i64"),
    ("cmp.eq.i64", "i64"), ("cmp.ne.i32", "i32"), ("cmp.lt.f64.o", "f64"), ("cmp.gte.f32.o", "f32"),
)  # fmt: skip


class _Block:
    """One block of a program: its text, and the values that it may use, by type."""

    def __init__(self, draw, number, argument_types):
        self.draw, self.number, self.lines, self.made = draw, number, [], 0
        self.values = {t: [f"%{t}"] for t in TYPES}  # the function's arguments, which reach every block
        names = []
        for i, type in enumerate(argument_types):
            name = f"%a{number}_{i}"
            names.append(f"{name}: {type}")
            self.values[type].append(name)
        if number:
            self.lines.append(f"^bb{number}({', '.join(names)}):" if names else f"^bb{number}:")

    def pick(self, type):
        return self.draw(st.sampled_from(self.values[type]))

    def define(self, text, type):
        name = f"%v{self.number}_{self.made}"
        self.made += 1
        self.lines.append(f"{name} = vm.{text}")
        self.values[type].append(name)
        return name

    def add_op(self):
        kind = self.draw(st.sampled_from(("binary", "convert", "compare", "select", "constant", "call", "switch")))
        type = self.draw(st.sampled_from(TYPES))
        if kind == "binary":
            name = self.draw(st.sampled_from(BINARY[type]))
            self.define(f"{name} {self.pick(type)}, {self.pick(type)} : {type}", type)
        elif kind == "convert":
            name, source, target = self.draw(st.sampled_from(CONVERSIONS))
            self.define(f"{name} {self.pick(source)} : {source} -> {target}", target)
        elif kind == "compare":
            name, source = self.draw(st.sampled_from(COMPARISONS))
            self.define(f"{name} {self.pick(source)}, {self.pick(source)} : {source}", "i32")
        elif kind == "select":
            self.define(f"select.{type} {self.pick('i32')}, {self.pick(type)}, {self.pick(type)} : {type}", type)
        elif kind == "switch":
            values = ", ".join(self.pick(type) for _ in range(self.draw(st.integers(0, 3))))
            self.define(f"switch.{type} {self.pick('i32')}[{values}] else {self.pick(type)} : {type}", type)
        elif kind == "call":
            self.define(f"call @mix({self.pick('i32')}, {self.pick('i64')}) : (i32, i64) -> i64", "i64")
        elif type.startswith("f"):
            self.define(f"const.{type} {self.draw(st.integers(-4, 4))}.5", type)
        else:
            self.define(f"const.{type} {self.draw(st.integers(-9, 9))}", type)


@st.composite
def programs(draw):
    """Blocks of random ops; every block spends fuel, and a program without fuel returns."""
    count = draw(st.integers(2, 5))
    arguments = [()] + [tuple(draw(st.lists(st.sampled_from(TYPES), max_size=5))) for _ in range(count - 1)]
    lines = []
    for number in range(count):
        block = _Block(draw, number, arguments[number])
        for _ in range(draw(st.integers(0, 5))):
            block.add_op()

        def edge(block=block):
            target = draw(st.integers(1, count - 1))
            passed = [block.pick(t) for t in arguments[target]]
            return f"^bb{target}({', '.join(passed)} : {', '.join(arguments[target])})" if passed else f"^bb{target}"

        fuel = f"%fuel{number}"
        block.lines += [
            f"{fuel} = vm.global.load.i32 @fuel : i32",
            f"%one{number} = vm.const.i32 1",
            f"%left{number} = vm.sub.i32 {fuel}, %one{number} : i32",
            f"vm.global.store.i32 %left{number}, @fuel : i32",
        ]
        results = f"{block.pick('i32')}, {block.pick('i64')} : i32, i64"
        jump = draw(st.sampled_from(("br", "cond_br", "br_table", "return")))
        if jump == "br":
            going = f"vm.br {edge()}"
        elif jump == "cond_br":
            going = f"vm.cond_br {block.pick('i32')}, {edge()}, {edge()}"
        elif jump == "br_table":
            going = f"vm.br_table {block.pick('i32')} {{ default: {edge()}, 0: {edge()}, 1: {edge()} }}"
        else:
            going = f"vm.return {results}"
        block.lines += [
            f"vm.cond_br %left{number}, ^go{number}, ^stop{number}",
            f"^stop{number}:",
            f"vm.return {results}",
            f"^go{number}:",
            going,
        ]
        lines += block.lines
    body = "\n        ".join(lines)
    return f"""
    vm.module @m {{
      vm.global.i32 private mutable @fuel = 12 : i32
      vm.export @f
      vm.func private @mix(%x: i32, %y: i64) -> i64 {{
        %0 = vm.ext.i32.i64.s %x : i32 -> i64
        %1 = vm.mul.i64 %0, %y : i64
        %2 = vm.xor.i64 %1, %y : i64
        vm.return %2 : i64
      }}
      vm.func private @f(%i32: i32, %i64: i64, %seed: i32) -> (i32, i64) {{
        %f32 = vm.cast.si32.f32 %seed : i32 -> f32
        %f64 = vm.ext.f32.f64 %f32 : f32 -> f64
        {body}
      }}
    }}"""


@hypothesis.given(programs(), st.integers(-100, 100), st.integers(-(2**40), 2**40), st.integers(0, 20))
@hypothesis.settings(max_examples=60, deadline=None, derandomize=True)
def test_same_results_on_both_runtimes(to_vmfb, call_ours, call_iree, text, small, large, seed):
    content = to_vmfb(text)
    assert call_ours(content, "f", small, large, seed) == call_iree(content, "f", small, large, seed)


@hypothesis.given(programs(), st.integers(-100, 100), st.integers(-(2**40), 2**40), st.integers(0, 20))
@hypothesis.settings(max_examples=40, deadline=None, derandomize=True)
def test_passes_change_no_result(to_vmfb, call_ours, text, small, large, seed):
    from pyiree.compiler.ir.parser import parse
    from pyiree.compiler.ir.passes import PassContext, run_passes
    from pyiree.compiler.vm.pipeline import PASSES
    from pyiree.compiler.vm.serialize import serialize

    module = parse(f"module {{ {text} }}")
    run_passes(module, ",".join(("iree-vm-expand-pseudo-ops", *PASSES)), PassContext(verify_each=True))
    content = serialize(module, PassContext(), prepared=True)
    assert call_ours(content, "f", small, large, seed) == call_ours(to_vmfb(text), "f", small, large, seed)


SWAPS = """
    vm.module @m {
      vm.export @f
      vm.func private @f(%n: i32, %a: i64, %b: i64, %c: i32) -> (i64, i64, i32, i32) {
        vm.br ^bb1(%n, %a, %b, %c, %n : i32, i64, i64, i32, i32)
      ^bb1(%i: i32, %x: i64, %y: i64, %p: i32, %q: i32):
        %one = vm.const.i32 1
        %j = vm.sub.i32 %i, %one : i32
        vm.cond_br %j, ^bb1(%j, %y, %x, %q, %p : i32, i64, i64, i32, i32), ^bb2
      ^bb2:
        vm.return %x, %y, %p, %q : i64, i64, i32, i32
      }
    }"""


@pytest.mark.parametrize("n", [1, 2, 3, 8])
def test_arguments_change_places(to_vmfb, call_ours, call_iree, n):
    content = to_vmfb(SWAPS)
    a, b, c = 2**40 + 1, -(2**35), 7
    swapped = n % 2 == 0
    wanted = [b, a, n, c] if swapped else [a, b, c, n]
    assert call_ours(content, "f", n, a, b, c) == wanted
    assert call_iree(content, "f", n, a, b, c) == wanted


def test_moves_of_every_shape_are_parallel():
    import itertools

    from pyiree.compiler.vm.parallel_copies import sequentialize

    for sources in itertools.product(range(4), repeat=4):
        copies = list(zip(sources, range(4)))
        registers = [10, 11, 12, 13, None]
        for source, target in sequentialize(copies, lambda: 4):
            registers[target] = registers[source]
        assert registers[:4] == [10 + s for s in sources], copies
