"""iree-hal-materialize-interfaces: executables get the interface that the device gives them."""

# ruff: noqa: E501  (IR text)
import pytest
from pyiree.compiler.ir.diagnostics import CompileError

PASS = "iree-hal-materialize-interfaces"

HOST = """
  util.func public @f(%in: !stream.resource<external>, %out: !stream.resource<external>, %n: index, %bytes: index, %word: i32) -> !stream.timepoint {
    %c0 = arith.constant 0 : index
    %t = stream.cmd.execute with(%in as %a: !stream.resource<external>{%bytes}, %out as %b: !stream.resource<external>{%bytes}) {
      stream.cmd.dispatch @double::@double[%n](%word : i32) {
        ro %a[%c0 for %bytes] : !stream.resource<external>{%bytes},
        wo %b[%c0 for %bytes] : !stream.resource<external>{%bytes}
      }
    } => !stream.timepoint
    util.return %t : !stream.timepoint
  }
"""


def test_before_and_after(run_passes, accepted, in_order, program):
    text = run_passes(program(HOST), PASS)
    accepted(text)
    in_order(
        text,
        "#pipeline_layout = #hal.pipeline.layout<constants = 1, bindings = "
        '[#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, Indirect>], '
        "flags = Indirect>",
        "hal.executable private @double {",
        "hal.executable.variant public @embedded_elf_x86_64 target(#executable_target_embedded_elf_x86_64) {",
        "hal.executable.export public @double layout(#pipeline_layout) count(%arg0: !hal.device, %arg1: index)",
        "workgroup_count_from_slice(%arg1)",
        "hal.return %x, %y, %z : index, index, index",
        "func.func @double() {",
        "hal.interface.constant.load layout(#pipeline_layout) ordinal(0) : i32",
        "hal.interface.binding.subspan layout(#pipeline_layout) binding(0) alignment(64) offset(%c0) "
        'flags("ReadOnly|Indirect") : !iree_tensor_ext.dispatch.tensor<readonly:tensor<?xf32>>{%',
        "hal.interface.binding.subspan layout(#pipeline_layout) binding(1) offset(%c0) flags(Indirect)",
        "stream.cmd.dispatch @double::@embedded_elf_x86_64::@double[",
    )
    assert "!stream.binding" not in text


def test_it_does_what_its_namesake_does(run_passes, accepted, program, counted):
    words = (
        "hal.executable", "hal.executable.variant", "hal.executable.export", "hal.interface.binding.subspan",
        "hal.interface.constant.load", "#hal.pipeline.binding<storage_buffer, \"ReadOnly|Indirect\">",
        "stream.cmd.dispatch", "stream.executable",
    )  # fmt: skip
    source = program(HOST)
    assert counted(run_passes(source, PASS), *words) == counted(accepted(source, PASS), *words)


def test_a_binding_that_one_dispatch_writes_is_not_read_only(run_passes, program):
    second = HOST.replace("@f(", "@g(").replace("ro %a", "rw %a")
    text = run_passes(program(HOST + second), PASS)
    assert "ReadOnly" not in text


def test_numbers_must_be_words(run_passes, program):
    with pytest.raises(CompileError, match="'double' takes a number of type i64; pack dispatch operands to i32 first"):
        run_passes(program(HOST).replace("%word: i32", "%word: i64").replace("%word : i32", "%word : i64"), PASS)


def _with_more(program, bindings=0, constants=0):
    """The program with bindings and constants more in its function, which no dispatch gives."""
    more = "".join([f", %more{i}: !stream.binding" for i in range(bindings)])
    more += "".join([f", %number{i}: i32" for i in range(constants)])
    return program("").replace("%out: !stream.binding", "%out: !stream.binding" + more)


def test_limits_of_an_interface(run_passes, program):
    run_passes(_with_more(program, 30, 47), PASS)
    with pytest.raises(CompileError, match="dispatch 'double' has 33 bindings; a kernel can have 32"):
        run_passes(_with_more(program, bindings=31), PASS)
    with pytest.raises(CompileError, match="dispatch 'double' has 49 push constants; a kernel can have 48"):
        run_passes(_with_more(program, constants=48), PASS)


def test_devices_of_several_kinds(run_passes, program):
    other = '#hal.device.target<"other", [#hal.executable.target<"llvm-cpu", "embedded-elf-arm_64">]> : !hal.device'
    with pytest.raises(CompileError, match="must share one executable target, found embedded-elf-arm_64, embedded-"):
        run_passes(program(f"util.global private @other = {other}"), PASS)


def test_a_program_without_kernels(run_passes, program):
    text = run_passes(program("", executables=()), PASS)
    assert "hal.executable " not in text
