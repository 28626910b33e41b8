"""The linker: what it makes loads by the rules of IREE's loader and in glibc; what it can't do it names."""

import ctypes
import shutil
import subprocess

import pytest
from pyiree.compiler.codegen import target as targets
from pyiree.compiler.codegen.llvm.emit import Module
from pyiree.compiler.codegen.llvm.objects import compile_object, compile_objects
from pyiree.compiler.codegen.llvm.values import F32, I8, I32, I64, PTR, Value
from pyiree.runtime.vmfb.elf import relocations
from pyiree.runtime.vmfb.elf.link import link
from pyiree.runtime.vmfb.errors import LinkError

# A call and constants across objects, a pointer table, a global through the GOT, a variable, zero memory.
MAIN = """
@table = private unnamed_addr constant [4 x i32] [i32 10, i32 20, i32 30, i32 40], align 16
@pointers = private unnamed_addr constant [2 x ptr] [ptr @table, ptr @shared], align 8
@shared = external constant i32
@far = external hidden constant [3 x i16]
declare hidden i32 @other(i32)
define i32 @answer(i64 %i) nounwind {
  %t = load ptr, ptr getelementptr inbounds ([2 x ptr], ptr @pointers, i64 0, i64 0)
  %p = getelementptr i32, ptr %t, i64 %i
  %v = load i32, ptr %p
  %s = load i32, ptr @shared
  %h = load i16, ptr getelementptr inbounds ([3 x i16], ptr @far, i64 0, i64 2)
  %w = zext i16 %h to i32
  %a = add i32 %v, %s
  %b = add i32 %a, %w
  %r = call i32 @other(i32 %b)
  ret i32 %r
}
"""
OTHER = """
@shared = constant i32 7
@far = hidden constant [3 x i16] [i16 1, i16 2, i16 1000]
@counter = internal global i32 100
@room = internal global [64 x i64] zeroinitializer
define hidden i32 @other(i32 %x) nounwind {
  %c = load i32, ptr @counter
  %d = add i32 %c, 1
  store i32 %d, ptr @counter
  %p = getelementptr i64, ptr @room, i64 63
  %z = load i64, ptr %p
  %y = trunc i64 %z to i32
  %e = add i32 %d, %y
  %r = add i32 %x, %e
  ret i32 %r
}
"""


def _objects(target):
    header = f'target datalayout = "{target.data_layout}"\ntarget triple = "{target.triple}"\n'
    return compile_objects([header + MAIN, header + OTHER], target)


def test_objects_link_by_the_loaders_rules(any_level, check_shared_object):
    symbols = check_shared_object(link(_objects(targets.named(any_level)), ["answer"]))
    assert list(symbols) == ["answer"]


def test_linked_code_runs(runnable_target, load_shared_object):
    answer = load_shared_object(link(_objects(runnable_target), ["answer"])).answer
    answer.argtypes = [ctypes.c_int64]
    assert [answer(k) for k in (0, 3, 1)] == [10 + 7 + 1000 + 101, 40 + 7 + 1000 + 102, 20 + 7 + 1000 + 103]


def test_link_is_deterministic(any_level):
    objects = _objects(targets.named(any_level))
    assert link(objects, ["answer"]) == link(list(objects), ["answer"])


@pytest.mark.skipif(shutil.which("readelf") is None, reason="no readelf")
def test_readelf_has_no_complaint(any_level, tmp_path):
    path = tmp_path / "linked.so"
    path.write_bytes(link(_objects(targets.named(any_level)), ["answer"]))
    done = subprocess.run(["readelf", "-aW", path], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""
    assert "answer" in done.stdout


def _define(target, name, body_of=None, linkage="hidden"):
    m = Module(target)
    f = m.function(name, [("x", I32)], I32, linkage)
    if body_of is None:
        f.ret(f.args["x"])
    else:
        f.ret(f.call(m.declare(body_of, I32, [I32]), f.args["x"]))
    return compile_object(m.text(), target)


def test_undefined_symbol_is_named():
    target = targets.named("x86-64")
    caller = _define(target, "caller", "missing_one")
    with pytest.raises(LinkError, match="undefined symbol missing_one, used by the caller"):
        link([caller], ["caller"], labels=["the caller"])


def test_resolve_adds_what_is_missing_and_what_that_needs():
    target = targets.named("x86-64")
    library = {"b": _define(target, "b", "c"), "c": _define(target, "c"), "unused": _define(target, "unused")}
    asked = []

    def resolve(name):
        asked.append(name)
        return library.get(name)

    link([_define(target, "a", "b")], ["a"], resolve)
    assert asked == ["b", "c"]


def test_missing_export_and_duplicates_are_errors():
    target = targets.named("x86-64")
    one = _define(target, "one")
    with pytest.raises(LinkError, match="exported symbol two"):
        link([one], ["two"])
    with pytest.raises(LinkError, match="one is defined by first and by second"):
        link([one, one], ["one"], labels=["first", "second"])


def test_objects_of_two_machines_do_not_mix():
    with pytest.raises(LinkError, match="another machine"):
        link([_define(targets.named("x86-64"), "a"), _define(targets.named("generic"), "b")], ["a"])


def test_thread_local_data_is_refused():
    text = "@t = thread_local global i32 1\ndefine ptr @f() { ret ptr @t }"
    target = targets.named("x86-64")
    with pytest.raises(LinkError, match="thread-local"):
        link([compile_object(f'target triple = "{target.triple}"\n{text}', target)], ["f"])


def test_constructors_are_refused():
    target = targets.named("x86-64")
    text = (
        "@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } "
        "{ i32 1, ptr @f, ptr null }]\ndefine void @f() { ret void }"
    )
    with pytest.raises(LinkError, match="constructors"):
        link([compile_object(f'target triple = "{target.triple}"\n{text}', target)], ["f"])


def test_unknown_relocation_is_named(monkeypatch):
    """A type that the table lacks is an error with its number, never skipped."""
    target = targets.named("x86-64")
    monkeypatch.delitem(relocations.KINDS[62], 4)
    with pytest.raises(LinkError, match=r"relocation type 4 \(R_X86_64\) is not supported"):
        link([_define(target, "a", "b"), _define(target, "b")], ["a"])


def test_garbage_is_refused():
    with pytest.raises(LinkError, match="not a little-endian ELF64 object"):
        link([b"garbage"], ["a"])


def test_equal_constants_are_kept_once(check_shared_object):
    target = targets.named("x86-64-v3")

    def kernel(name):
        m = Module(target)
        f = m.function(name, [("p", PTR)], linkage="hidden")
        vt = "<8 x float>"
        numbers = Value("<" + ", ".join(f"float {k}.5" for k in range(8)) + ">", vt)
        f.store(f.fadd(f.load(vt, f.args["p"]), numbers), f.args["p"])
        f.ret()
        return compile_object(m.text(), target)

    image = link([kernel("a"), kernel("b"), kernel("c")], ["a", "b", "c"])
    check_shared_object(image)
    assert image.count(b"".join(float_bytes(k + 0.5) for k in range(8))) == 1


def float_bytes(value):
    return bytes(ctypes.c_float(value))


@pytest.mark.parametrize("bits", [8, 16, 32, 64, 128])
def test_aarch64_loads_of_every_width(bits, check_shared_object):
    """Each width has a relocation of its own for the scaled offset."""
    target = targets.named("generic")
    ty = {8: I8, 16: "i16", 32: I32, 64: I64, 128: "<4 x i32>"}[bits]
    text = f"""target triple = "{target.triple}"
@near = internal global [9 x {ty}] zeroinitializer, align 16
define {ty} @f(i1 %c) nounwind {{
  %a = load {ty}, ptr getelementptr inbounds ([9 x {ty}], ptr @near, i64 0, i64 3)
  ret {ty} %a
}}"""
    assert "f" in check_shared_object(link([compile_object(text, target)], ["f"]))


def test_aarch64_addresses_decode_to_their_targets(check_shared_object):
    """adrp + add of a table gives the table's address: decoded here, since this machine may not run it."""
    target = targets.named("generic")
    m = Module(target)
    table = m.constant_array("table", F32, [1.25, -7.75], align=16)
    f = m.function("address", [], PTR, linkage="")
    f.ret(table)
    image = link([compile_object(m.text(), target)], ["address"])
    address, _ = check_shared_object(image)["address"]
    # Address and file offset differ by whole pages of 64 KiB.
    code = address % 0x10000
    adrp, add = (int.from_bytes(image[code + 4 * k : code + 4 * k + 4], "little") for k in range(2))
    assert adrp & 0x9F000000 == 0x90000000 and add & 0xFF800000 == 0x91000000
    pages = ((adrp >> 5) & 0x7FFFF) << 2 | (adrp >> 29) & 3
    pages -= (pages >> 20) << 21
    goal = (address & ~0xFFF) + (pages << 12) + ((add >> 10) & 0xFFF)
    assert image[goal % 0x10000 :][:8] == float_bytes(1.25) + float_bytes(-7.75)
