"""The text of vm ops is IREE's: `iree-opt` reads what we print and prints the same."""

# ruff: noqa: E501  (IR text)
import re

import pytest
from pyiree.compiler.ir.parser import parse
from pyiree.compiler.ir.printer import print_operation
from pyiree.compiler.vm.ops import FAMILY_OPS
from pyiree.compiler.vm.ops_base import AnyBuffer, AnyList, AnyRef

CONTROL = """
vm.module @m {
  vm.global.i32 private mutable @number = 5 : i32
  vm.global.i64 private mutable @wide : i64
  vm.global.f32 private @float = 0.5 : f32
  vm.global.ref private mutable @object : !vm.ref<?>
  vm.rodata private @data dense<[1,2,3]> : tensor<3xi8>
  vm.rodata private @text <alignment = 16, mime_type = "text/plain"> "abc"
  vm.import private optional @other.spans(%x : i32, %y : tuple<i32, !vm.ref<?>> ...) -> (i32, i64) attributes {minimum_version = 3 : i32}
  vm.import private @other.waits(%x : i32) -> i32 attributes {vm.yield}
  vm.import private @other.bare(i32, !vm.buffer)
  vm.export @f as("g") attributes {x = 1 : i32}
  vm.export @f
  vm.initializer { vm.return }
  vm.func private @f(%a: i32, %b: i64, %f: f32, %buffer: !vm.buffer, %ref: !vm.ref<?>) -> (i32, i64) attributes {vm.yield} {
    %0 = vm.const.f32 0.5
    %1 = vm.const.f32 0x7fc00000
    %2 = vm.const.f64.zero
    %3 = vm.const.i32 -3
    %null = vm.const.ref.zero : !vm.ref<!hal.fence>
    %5 = vm.switch.ref %a[%ref, %ref] else %ref : !vm.ref<?>
    %11 = vm.cast.any.ref %ref : !vm.ref<?> -> !vm.buffer
    %30 = vm.cast.ref.any %buffer : !vm.buffer -> !vm.ref<?>
    %25 = vm.assign.ref %ref : !vm.ref<?> -> !vm.ref<?>
    %12 = vm.list.alloc %a : (i32) -> !vm.list<i32>
    vm.list.reserve %12, %a : (!vm.list<i32>, i32)
    vm.list.resize %12, %a : (!vm.list<i32>, i32)
    %40 = vm.list.size %12 : (!vm.list<i32>) -> i32
    %15 = vm.buffer.alloc %b, %a : !vm.buffer
    %16 = vm.buffer.clone %buffer, %b, %b, %a : !vm.buffer -> !vm.buffer
    %17 = vm.buffer.length %buffer : !vm.buffer -> i64
    vm.buffer.copy %buffer, %b, %15, %b, %17 : !vm.buffer -> !vm.buffer
    %18 = vm.buffer.compare %buffer, %b, %15, %b, %17 : !vm.buffer, !vm.buffer
    %19 = vm.buffer.hash %buffer, %b, %17 : !vm.buffer -> i64
    %21 = vm.global.address @number : !util.ptr<i32>
    %23 = vm.import.resolved @other.spans : i32
    vm.check.eq %a, %3, "msg" : i32
    vm.check.nz %a : i32
    vm.cond_fail %a, %3, "x"
    vm.cond_fail %a
    vm.cond_fail %a, "x"
    %24:2 = vm.call.variadic @other.spans(%a, [(%a, %ref), (%3, %ref)]) : (i32, tuple<i32, !vm.ref<?>> ...) -> (i32, i64)
    vm.call @other.bare(%a, %buffer) {nosideeffects} : (i32, !vm.buffer) -> ()
    vm.print "hi"(%a, %b) : i32, i64
    vm.trace "hi"(%a, %b) : i32, i64
    vm.discard.refs %ref : !vm.ref<?>
    %27 = vm.const.ref.rodata @data : !vm.buffer
    %28 = vm.rodata.inline "name" : !vm.buffer = dense<[1]> : tensor<1xi8>
    %29 = vm.rodata.inline "name" <alignment = 4> : !vm.buffer = "abc"
    vm.br_table %a {
      default: ^bb1(%a : i32),
      0: ^bb2,
      1: ^bb4
    }
   ^bb1(%x: i32):
    vm.call.yieldable @other.waits(%x) : (i32) -> ^bb3(i32)
   ^bb3(%y: i32):
    vm.break ^bb2
   ^bb4:
    vm.cond_break %a, ^bb5
   ^bb5:
    vm.cond_br %a, ^bb2, ^bb6(%a : i32)
   ^bb6(%z: i32):
    vm.yield ^bb2
   ^bb2:
    vm.return %a, %b : i32, i64
  }
}"""


def normalized(text):
    """Text without the comments on predecessors."""
    return re.sub(r"\s+//.*", "", text).strip()


def check_text(text, iree_tool):
    ours = print_operation(parse(f"module {{ {text} }}", verify=True))
    theirs = iree_tool("iree-opt", "-", input=ours).stdout
    assert normalized(ours) == normalized(theirs)
    assert print_operation(parse(ours)) == ours


def test_structure_control_and_memory(iree_tool):
    check_text(CONTROL, iree_tool)


def _operand(constraint, mnemonic):
    if constraint is AnyBuffer or constraint.description == "vm.buffer":
        return "%buffer"
    if constraint is AnyList:
        return "%refs" if mnemonic.endswith("ref") else f"%{mnemonic[-3:]}s"
    return "%ref" if constraint is AnyRef else f"%{constraint.description}"


def _family_text():
    """One of each op of a family, on the function's arguments."""
    arguments = {"i32": "i32", "i64": "i64", "f32": "f32", "f64": "f64", "ref": "!vm.ref<?>", "buffer": "!vm.buffer"}
    arguments |= {f"{t}s": f"!vm.list<{t}>" for t in ("i32", "i64", "f32", "f64")} | {"refs": "!vm.list<?>"}
    lines = []
    for mnemonic in FAMILY_OPS:
        cls = FAMILY_OPS[mnemonic]
        if mnemonic.startswith("global."):
            continue
        names = [_operand(f.constraint, mnemonic) for f in cls.definition.operands]
        type = next((t for t in ("i32", "i64", "f32", "f64", "ref") if t in mnemonic.split(".")), "i32")
        spelled = arguments[type]
        result = cls.definition.results[0].constraint.description if cls.definition.results else ""
        if mnemonic.startswith("const."):
            text = "" if mnemonic.endswith("zero") else " 5" if type.startswith("i") else " 0.5"
        elif mnemonic.startswith("switch."):
            text = f" %i32[%{type}, %{type}] else %{type} : {spelled}"
        elif mnemonic.startswith("list.get"):
            text = f" {names[0]}, %i32 : ({arguments[names[0][1:]]}, i32) -> {spelled}"
        elif mnemonic.startswith("list.set"):
            text = f" {names[0]}, %i32, {names[2]} : ({arguments[names[0][1:]]}, i32, {spelled})"
        elif mnemonic.startswith("buffer.load"):
            text = f" %buffer[%i64] : !vm.buffer -> {result}"
        elif mnemonic.startswith("buffer.store"):
            text = f" {names[2]}, %buffer[%i64] : {names[2][1:]} -> !vm.buffer"
        elif mnemonic.startswith("buffer.fill"):
            text = f" %buffer, %i64, %i64, {names[3]} : {names[3][1:]} -> !vm.buffer"
        elif mnemonic.split(".")[0] in ("trunc", "ext", "cast", "bitcast"):
            text = f" {names[0]} : {names[0][1:]} -> {result}"
        else:
            text = f" {', '.join(names)} : {spelled}"
        lines.append(f"{'%r' + str(len(lines)) + ' = ' if cls.definition.results else ''}vm.{mnemonic}{text}")
    signature = ", ".join(f"%{name}: {type}" for name, type in arguments.items())
    body = "\n".join(lines)
    return f"vm.module @m {{ vm.func private @f({signature}) {{ {body}\n vm.return }} }}"


def test_every_op_of_a_family(iree_tool):
    check_text(_family_text(), iree_tool)


@pytest.mark.parametrize("type", ["i32", "i64", "f32", "f64", "ref"])
def test_globals(iree_tool, type):
    spelled = "!vm.ref<!hal.device>" if type == "ref" else type
    check_text(
        f"""vm.module @m {{
          vm.global.{type} private mutable @g : {spelled}
          vm.func private @f() {{
            %0 = vm.global.load.{type} @g : {spelled}
            vm.global.store.{type} %0, @g : {spelled}
            %1 = vm.global.address @g : !util.ptr<{spelled}>
            %2 = vm.global.load.indirect.{type} %1 : !util.ptr<{spelled}> -> {spelled}
            vm.global.store.indirect.{type} %2, %1 : {spelled} -> !util.ptr<{spelled}>
            vm.return
          }}
        }}""",
        iree_tool,
    )


def test_every_instruction_has_an_op():
    """Indirect globals of our own naming aside, what the machine can do can be written."""
    from pyiree.compiler.ir.registry import operations_of
    from pyiree.runtime.vmfb import isa

    named = {cls.name.removeprefix("vm.") for cls in operations_of(["vm"])} | set(FAMILY_OPS)
    absent = {"cast.si32.f64", "cast.ui32.f64", "cast.f64.si32", "cast.f64.ui32"}
    assert set(isa.OPS) - named == absent


