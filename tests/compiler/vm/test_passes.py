"""Passes on small modules, before and after."""

import re

import pytest
from pyiree.compiler.ir.diagnostics import CompileError
from pyiree.compiler.ir.parser import parse
from pyiree.compiler.ir.passes import PassContext, run_passes
from pyiree.compiler.ir.printer import print_operation
from pyiree.compiler.vm import pipeline

assert pipeline.PASSES  # importing the phase registers its passes


def after(name, text):
    """The lines of a module after a pass."""
    module = parse(f"module {{ vm.module @m {{ {text} }} }}", verify=True)
    run_passes(module, name, PassContext(verify_each=True))
    return [re.sub(r"\s*//.*", "", line).strip() for line in print_operation(module).splitlines()][2:-2]


def test_hoist_inlined_rodata():
    lines = after(
        "iree-vm-hoist-inlined-rodata",
        """vm.func private @f() -> !vm.buffer {
          %0 = vm.rodata.inline "a.b" : !vm.buffer = "x"
          vm.return %0 : !vm.buffer
        }""",
    )
    assert lines == [
        'vm.rodata private @a_b "x"',
        "vm.func private @f() -> !vm.buffer {",
        "%a_b = vm.const.ref.rodata @a_b : !vm.buffer",
        "vm.return %a_b : !vm.buffer",
        "}",
    ]


def test_deduplicate_rodata():
    lines = after(
        "iree-vm-deduplicate-rodata",
        """vm.rodata private @a <alignment = 4> "x"  vm.rodata private @b <alignment = 16> "x"  vm.rodata private @c "y"
        vm.func private @f() { %0 = vm.const.ref.rodata @b : !vm.buffer vm.return }""",
    )
    assert lines[:2] == ['vm.rodata private @a <alignment = 16> "x"', 'vm.rodata private @c "y"']
    assert "%a = vm.const.ref.rodata @a : !vm.buffer" in lines


def test_resolve_rodata_loads():
    text = """
        vm.rodata private @data "x"
        vm.global.ref private {} @g : !vm.buffer
        vm.initializer {{
          %0 = vm.const.ref.rodata @data : !vm.buffer
          vm.global.store.ref %0, @g : !vm.buffer
          vm.return
        }}
        vm.func private @f() -> !vm.buffer {{ %0 = vm.global.load.ref @g : !vm.buffer vm.return %0 : !vm.buffer }}"""
    lines = after("iree-vm-resolve-rodata-loads", text.format(""))
    assert not any("global" in line for line in lines)
    assert lines.count("%data = vm.const.ref.rodata @data : !vm.buffer") == 2
    assert "%g = vm.global.load.ref @g : !vm.buffer" in after("iree-vm-resolve-rodata-loads", text.format("mutable"))


def test_global_initialization():
    lines = after(
        "iree-vm-global-initialization",
        """vm.global.i32 private @a = 5 : i32
        vm.global.i64 private @zero = 0 : i64
        vm.initializer {
          %0 = vm.global.load.i32 @a : i32
          vm.cond_br %0, ^bb1, ^bb2
        ^bb1:
          vm.return
        ^bb2:
          vm.return
        }
        vm.global.i32 private @b = 6 : i32""",
    )
    assert lines == [
        "vm.global.i32 private mutable @a : i32",
        "vm.global.i64 private mutable @zero : i64",
        "vm.global.i32 private mutable @b : i32",
        "vm.export @__init",
        "vm.func private @__init() {",
        "%c5 = vm.const.i32 5",
        "vm.global.store.i32 %c5, @a : i32",
        "%a = vm.global.load.i32 @a : i32",
        "vm.cond_br %a, ^bb1, ^bb2",
        "^bb1:",
        "vm.br ^bb3",
        "^bb2:",
        "vm.br ^bb3",
        "^bb3:",
        "%c6 = vm.const.i32 6",
        "vm.global.store.i32 %c6, @b : i32",
        "vm.return",
        "}",
    ]


def test_global_initialization_needs_the_name():
    with pytest.raises(CompileError, match="__init"):
        after(
            "iree-vm-global-initialization",
            "vm.func private @__init() { vm.return } vm.initializer { vm.return }",
        )


def test_simplify_branches():
    lines = after(
        "pyiree-vm-simplify-branches",
        """vm.func private @f(%x: i32) -> i32 {
          %c1 = vm.const.i32 1
          vm.br ^bb1(%x : i32)
        ^bb1(%n: i32):
          vm.cond_br %n, ^bb2, ^bb3
        ^bb2:
          vm.br ^bb4(%c1 : i32)
        ^bb3:
          vm.br ^bb5
        ^bb5:
          vm.br ^bb4(%n : i32)
        ^bb4(%r: i32):
          vm.cond_br %c1, ^bb6, ^bb7
        ^bb6:
          vm.return %r : i32
        ^bb7:
          vm.return %x : i32
        }""",
    )
    assert lines[1:] == [
        "%c1 = vm.const.i32 1",
        "vm.cond_br %arg0, ^bb1, ^bb2",
        "^bb1:",
        "vm.br ^bb3(%c1 : i32)",
        "^bb2:",
        "vm.br ^bb3(%arg0 : i32)",
        "^bb3(%0: i32):",
        "vm.return %0 : i32",
        "}",
    ]


def test_drop_unused_calls():
    lines = after(
        "iree-vm-drop-unused-calls",
        """vm.func private @f(%x: i32) -> i32 { vm.return %x : i32 }
        vm.func private @g() {
          %0 = vm.const.i32 1
          %1 = vm.call @f(%0) {nosideeffects} : (i32) -> i32
          %2 = vm.call @f(%1) {nosideeffects} : (i32) -> i32
          %3 = vm.const.i32 2
          %4 = vm.call @f(%3) : (i32) -> i32
          vm.return
        }""",
    )
    assert lines[4:] == ["%c2 = vm.const.i32 2", "%0 = vm.call @f(%c2) : (i32) -> i32", "vm.return", "}"]


def test_drop_empty_module_initializers():
    assert after(
        "iree-vm-drop-empty-module-initializers",
        """vm.export @__init  vm.func private @__init() { vm.return }
        vm.func private @__deinit() { vm.call @f() : () -> () vm.return }  vm.func private @f() { vm.return }""",
    )[0] == "vm.func private @__deinit() {"


def test_annotate_functions():
    lines = after(
        "iree-vm-annotate-functions",
        """vm.import private @m.waits() attributes {vm.yield}
        vm.func private @a() { vm.call @b() : () -> () vm.return }
        vm.func private @b() { vm.call @m.waits() : () -> () vm.call @a() : () -> () vm.return }
        vm.func private @c() { vm.call @d() : () -> () vm.return }
        vm.func private @d() { %0 = vm.const.ref.zero : !vm.buffer vm.return }
        vm.func private @e() { vm.return }""",
    )
    functions = {line.split("@")[1][0]: line.partition("attributes ")[2] for line in lines if "vm.func" in line}
    assert functions == {"a": "{vm.yield} {", "b": "{vm.yield} {", "c": "{vm.unwind} {", "d": "{vm.unwind} {", "e": ""}


def test_convert_to_yieldable_calls():
    lines = after(
        "iree-vm-convert-to-yieldable-calls",
        """vm.import private @m.waits(%x : i32) -> i32 attributes {vm.yield}
        vm.func private @f(%x: i32) -> i32 {
          %0 = vm.call @m.waits(%x) : (i32) -> i32
          %1 = vm.add.i32 %0, %x : i32
          vm.return %1 : i32
        }""",
    )
    assert lines[2:] == [
        "vm.call.yieldable @m.waits(%arg0) : (i32) -> ^bb1 (i32)",
        "^bb1(%0: i32):",
        "%1 = vm.add.i32 %0, %arg0 : i32",
        "vm.return %1 : i32",
        "}",
    ]


def test_sink_defining_ops():
    lines = after(
        "iree-vm-sink-defining-ops",
        """vm.func private @f(%x: i32) -> i32 {
          %c1 = vm.const.i32 1
          %c2 = vm.const.i32 2
          %c3 = vm.const.i32 3
          vm.br ^bb1(%x : i32)
        ^bb1(%n: i32):
          %0 = vm.sub.i32 %n, %c1 : i32
          vm.cond_br %0, ^bb1(%0 : i32), ^bb2
        ^bb2:
          %1 = vm.add.i32 %0, %c2 : i32
          %2 = vm.add.i32 %1, %c3 : i32
          %3 = vm.add.i32 %2, %c3 : i32
          vm.return %3 : i32
        }""",
    )
    assert lines[1:4] == ["%c1 = vm.const.i32 1", "vm.br ^bb1(%arg0 : i32)", "^bb1(%0: i32):"]
    assert [line.partition(" = ")[2] for line in lines[7:11]] == [
        "vm.const.i32 2", "vm.add.i32 %1, %c2 : i32", "vm.const.i32 3", "vm.add.i32 %2, %c3 : i32",
    ]  # fmt: skip


def test_drop_optimization_barriers():
    lines = after(
        "iree-vm-drop-optimization-barriers",
        "vm.func private @f(%x: i32) -> i32 { %0 = vm.optimization_barrier %x : i32 vm.return %0 : i32 }",
    )
    assert lines[1:] == ["vm.return %arg0 : i32", "}"]


def test_materialize_ref_discards():
    lines = after(
        "iree-vm-materialize-ref-discards",
        """vm.func private @f(%a: !vm.buffer, %b: !vm.buffer, %c: i32) -> !vm.buffer {
          vm.cond_br %c, ^bb1, ^bb2
        ^bb1:
          %0 = vm.buffer.length %b : !vm.buffer -> i64
          vm.return %a : !vm.buffer
        ^bb2:
          vm.fail %c, "no"
        }""",
    )
    assert lines[1:] == [
        "vm.cond_br %arg2, ^bb1, ^bb2",
        "^bb1:",
        "%0 = vm.buffer.length %arg1 : !vm.buffer -> i64",
        "vm.discard.refs %arg1 : !vm.buffer",
        "vm.return %arg0 : !vm.buffer",
        "^bb2:",
        'vm.fail %arg2, "no"',
        "}",
    ]


def test_expand_pseudo_ops():
    lines = after(
        "iree-vm-expand-pseudo-ops",
        """vm.func private @f(%x: i32, %y: f32) -> i64 {
          %0 = vm.cmp.lte.i32.u %x, %x : i32
          %1 = vm.cmp.nz.f32.u %y : f32
          %2 = vm.trunc.i16.i8 %0 : i32 -> i32
          %3 = vm.ext.i16.i64.s %2 : i32 -> i64
          vm.check.eq %0, %1, "differ" : i32
          vm.return %3 : i64
        }""",
    )
    names = [word for line in lines for word in re.findall(r"vm\.[\w.]+", line)[:1]]
    assert names == [
        "vm.func", "vm.cmp.lt.i32.u", "vm.const.i32", "vm.xor.i32", "vm.const.f32.zero", "vm.cmp.ne.f32.u",
        "vm.trunc.i32.i8", "vm.ext.i16.i32.s", "vm.ext.i32.i64.s", "vm.cmp.ne.i32", "vm.const.i32", "vm.cond_br",
        "vm.return", "vm.fail",
    ]  # fmt: skip


def test_passes_leave_their_own_results_alone():
    text = """vm.func private @f(%a: !vm.buffer, %c: i32) -> i64 {
      vm.cond_fail %c, "no"
      %0 = vm.buffer.length %a : !vm.buffer -> i64
      vm.return %0 : i64
    }"""
    module = parse(f"module {{ vm.module @m {{ {text} }} }}")
    run_passes(module, pipeline.SERIALIZATION_PIPELINE, PassContext(verify_each=True))
    first = print_operation(module)
    run_passes(module, pipeline.SERIALIZATION_PIPELINE, PassContext(verify_each=True))
    assert print_operation(module) == first
