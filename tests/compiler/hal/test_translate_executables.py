"""iree-hal-translate-all-executables and iree-hal-serialize-all-executables: kernels become one binary."""

# ruff: noqa: E501  (IR text)
import re

import numpy as np
import pytest
from pyiree.compiler.errors import CompileError

INTERFACES = "iree-hal-materialize-interfaces"
TRANSLATE = "iree-hal-translate-all-executables"
SERIALIZE = "iree-hal-serialize-all-executables"

HOST = """
  util.func public @f(%in: !stream.resource<external>, %out: !stream.resource<external>, %n: index, %bytes: index, %word: i32) -> !stream.timepoint {
    %c0 = arith.constant 0 : index
    %t = stream.cmd.execute with(%in as %a: !stream.resource<external>{%bytes}, %out as %b: !stream.resource<external>{%bytes}) {
      stream.cmd.dispatch @double::@double[%n](%word : i32) {
        ro %a[%c0 for %bytes] : !stream.resource<external>{%bytes},
        wo %b[%c0 for %bytes] : !stream.resource<external>{%bytes}
      }
      stream.cmd.dispatch @again::@again[%n](%word : i32) {
        ro %b[%c0 for %bytes] : !stream.resource<external>{%bytes},
        wo %a[%c0 for %bytes] : !stream.resource<external>{%bytes}
      }
    } => !stream.timepoint
    util.return %t : !stream.timepoint
  }
"""


@pytest.fixture
def translated(run_passes, program):
    return run_passes(program(HOST, ("double", "again")), INTERFACES, TRANSLATE)


def test_before_and_after(translated, accepted, in_order):
    accepted(translated)
    assert translated.count("hal.executable private") == 1
    assert "func.func" not in translated
    in_order(
        translated,
        "hal.executable private @m_linked {",
        "hal.executable.variant public @embedded_elf_x86_64",
        "pyiree.binary = dense<\"0x7F454C46",
        "hal.executable.export public @double ordinal(0)",
        "hal.executable.export public @again ordinal(1)",
        "stream.cmd.dispatch @m_linked::@embedded_elf_x86_64::@double[",
        "stream.cmd.dispatch @m_linked::@embedded_elf_x86_64::@again[",
    )


def test_exports_of_one_name_are_kept_apart(run_passes, program, in_order):
    source = program(HOST, ("double", "again")).replace("export public @again", "export public @double")
    source = source.replace("func.func @again", "func.func @double").replace("@again::@again", "@again::@double")
    text = run_passes(source, INTERFACES, TRANSLATE)
    in_order(text, "export public @double ordinal(0)", "export public @again_double ordinal(1)")
    in_order(text, "dispatch @m_linked::@embedded_elf_x86_64::@double[", "::@embedded_elf_x86_64::@again_double[")


def test_the_kind_of_cpu_is_the_program_s(run_passes, program):
    source = program(HOST, ("double", "again")).replace("embedded-elf-x86_64", "embedded-elf-arm_64")
    with pytest.raises(CompileError, match=r"for devices that load embedded-elf-arm_64, and the target CPU .* makes"):
        run_passes(source, INTERFACES, TRANSLATE)


def test_counts_are_what_the_kernels_say(translated, in_order):
    assert "workgroup_count_from_slice" not in translated
    # The size is the workload: the more there is to do, the more workgroups there are.
    in_order(translated, "count(%arg0: !hal.device, %arg1: index)", "arith.ceildivui %arg1, %", "hal.return %")


def test_kernels_have_no_more_local_memory_than_devices_give():
    from pyiree.compiler.codegen.llvm.executable_library import EntryPoint
    from pyiree.compiler.codegen.target import host, named
    from pyiree.compiler.codegen.translate import build_executable

    assert named("x86-64").local_bytes == 160 << 10
    assert named("x86-64-v4").local_bytes <= 512 << 10 < named("skylake-avx512").local_bytes
    assert 128 << 10 <= host().local_bytes <= max(128 << 10, host().l2_bytes * 5 // 8)
    entry = EntryPoint("f", "f", 0, 1, (160 << 10) + 1)
    with pytest.raises(CompileError, match="at most 163840 are allowed"):
        build_executable("f", [entry], ["define void @f() { ret void }"], named("x86-64"))


def test_serialized(translated, run_passes, accepted, in_order):
    text = run_passes(translated, "iree-hal-conversion", SERIALIZE)
    accepted(text)
    assert "hal.executable.variant" not in text
    in_order(
        text,
        "hal.executable private @m_linked {",
        'hal.executable.binary public @embedded_elf_x86_64 <format = "embedded-elf-x86_64", data = dense<"0x7F454C46',
        'mime_type = "application/x-elf">',
    )
    data = bytes.fromhex(re.search(r'dense<"0x([0-9A-F]+)">', text).group(1))
    assert np.frombuffer(data, np.uint8)[:4].tobytes() == b"\x7fELF"


def test_what_was_not_translated_is_named(run_passes, program):
    with pytest.raises(CompileError, match="variant 'embedded_elf_x86_64' was not translated to machine code"):
        run_passes(program(""), INTERFACES, SERIALIZE)


@pytest.mark.parametrize(("kind", "part"), [("kernel", "kernel"), ("llvm", "define "), ("asm", "double")])
def test_text_of_kernels(program, kind, part):
    from pyiree.compiler.hal.translate_executables import kernel_text
    from pyiree.compiler.ir.parser import parse_module
    from pyiree.compiler.ir.passes import PassContext

    text = kernel_text(parse_module(program("")), kind, PassContext())
    assert part in text
