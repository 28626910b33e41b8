"""Files: IREE's tools read them, take them apart, and put them together to the same bytecode."""

# ruff: noqa: E501  (IR text)
import pytest
from pyiree.compiler.ir.diagnostics import CompileError
from pyiree.compiler.vm.hal_imports import hal_import, hal_import_names
from pyiree.compiler.vm.serialize import calling_convention
from pyiree.runtime.vmfb import abi, archive, isa

MODULE = """
vm.module @m {
  vm.global.i32 private @a = 7 : i32
  vm.global.i64 private mutable @b : i64
  vm.global.f64 private mutable @c : f64
  vm.global.ref private mutable @d : !vm.buffer
  vm.rodata private @text "hello"
  vm.import private @hal.fence.await(%t : i32, %flags : i64, %fences : !vm.ref<!hal.fence> ...) -> i32 attributes {minimum_version = 7 : i32, vm.yield}
  vm.import private optional @other.f(%x : i32)
  vm.export @main
  vm.initializer {
    %0 = vm.const.ref.rodata @text : !vm.buffer
    vm.global.store.ref %0, @d : !vm.buffer
    vm.return
  }
  vm.func private @main(%x: i32, %y: i64, %fence: !vm.ref<!hal.fence>) -> (i32, f64) attributes {iree.reflection = {b = "2", a = "1"}} {
    %c0 = vm.const.i32.zero
    %z = vm.const.i64.zero
    %0 = vm.call.variadic @hal.fence.await(%c0, %z, [%fence]) : (i32, i64, !vm.ref<!hal.fence> ...) -> i32
    %a = vm.global.load.i32 @a : i32
    %1 = vm.add.i32 %0, %a : i32
    vm.global.store.i64 %y, @b : i64
    %2 = vm.global.load.f64 @c : f64
    vm.cond_fail %0, "await"
    vm.return %1, %2 : i32, f64
  }
}"""


def test_tables(to_vmfb):
    module = archive.read_module(to_vmfb(MODULE))
    assert module.name == "m" and module.bytecode_version == 0x110000
    assert {d.name: (d.minimum_version, d.flags) for d in module.dependencies} == {"hal": (7, 1), "other": (0, 2)}
    assert [i.signature.calling_convention for i in module.imported_functions] == ["0iICrD_i", "0i_v"]
    assert [i.flags for i in module.imported_functions] == [1, 2]
    exports = {e.local_name: e.internal_ordinal for e in module.exported_functions}
    assert set(exports) == {"main", "__init"}
    signature = module.function_signatures[exports["main"]]
    assert signature.calling_convention == "0iIr_iF"
    assert [(a.key, a.value) for a in signature.attrs] == [("a", "1"), ("b", "2")]
    assert (module.module_state.global_bytes_capacity, module.module_state.global_ref_count) == (20, 1)
    assert bytes(module.rodata_segments[0].data) == b"hello"
    main = module.function_descriptors[exports["main"]]
    assert main.requirements == isa.REQUIRES_F64 | isa.REQUIRES_YIELD | isa.REQUIRES_UNWIND
    assert module.requirements == main.requirements


def test_large_data_stands_outside(to_vmfb):
    text = 'vm.module @m { vm.rodata private @big dense<7> : tensor<5000xi8> vm.rodata private @small "x" }'
    module = archive.read_module(to_vmfb(text))
    big, small = module.rodata_segments
    assert big.embedded_data is None and bytes(big.data) == b"\x07" * 5000
    assert bytes(small.embedded_data) == b"x"


def test_dump_names_functions_of_debug_files(to_vmfb, iree_tool, tmp_path):
    path = tmp_path / "m.vmfb"
    path.write_bytes(to_vmfb(MODULE, debug_info=True))
    text = iree_tool("iree-dump-module", "--output=all", path).stdout
    assert "main(i32, i64, !vm.ref<?>) -> (i32, f64)" in text and "vm.func @main" in text


@pytest.mark.parametrize("zip_form", [False, True])
def test_disassembly_assembles_to_the_same_bytecode(to_vmfb, iree_tool, tmp_path, zip_form):
    content = to_vmfb(MODULE, polyglot_zip=zip_form)
    first, assembly, second = tmp_path / "a.vmfb", tmp_path / "a.vmasm", tmp_path / "b.vmfb"
    first.write_bytes(content)
    assembly.write_text(iree_tool("iree-dump-module", "--output=disassembly", first).stdout)
    iree_tool("iree-as-module", f"--output={second}", assembly)
    again = archive.read_module(second.read_bytes())
    assert bytes(again.bytecode_data) == bytes(archive.read_module(content).bytecode_data)


def test_hal_imports_are_the_runtimes():
    for name in hal_import_names():
        assert calling_convention(hal_import(name)) == abi.HAL_IMPORTS[name], name
    assert set(hal_import_names()) == set(abi.HAL_IMPORTS)


def test_mistakes_are_named(to_vmfb):
    head, tail = "vm.module @m { vm.func private @f(%x: i32, %y: i64) {", "vm.return } }"
    for line, message in {
        "vm.call @g(%x) : (i32) -> ()": "names @g, which is not a function",
        "vm.call @f(%x) : (i32) -> ()": "passes (i32) to f, which takes (i32, i64)",
        "%0 = vm.const.ref.rodata @r : !vm.buffer": "names @r, which is not a data segment",
        "vm.check.nearly_eq %x, %x : i32": "has no instruction",
    }.items():
        with pytest.raises(CompileError) as error:
            to_vmfb(f"{head} {line} {tail}")
        assert message in str(error.value)


def test_one_module_a_file(to_vmfb):
    with pytest.raises(CompileError, match="one vm"):
        to_vmfb("module { vm.module @a {} vm.module @b {} }")


