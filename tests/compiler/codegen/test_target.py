"""Targets: what the names stand for agrees with LLVM, and the host is described."""

import llvmlite.binding as llvm
import pytest
from pyiree.compiler.codegen import target as targets
from pyiree.compiler.codegen.llvm.objects import compile_object


def test_levels():
    v1, v2, v3, v4 = (targets.named(f"x86-64{v}") for v in ("", "-v2", "-v3", "-v4"))
    assert [t.vector_bytes for t in (v1, v2, v3, v4)] == [16, 16, 32, 64]
    assert [t.vector_registers for t in (v1, v2, v3, v4)] == [16, 16, 16, 32]
    assert [t.has_fma for t in (v1, v2, v3, v4)] == [False, False, True, True]
    assert [t.has_rounding for t in (v1, v2, v3, v4)] == [False, True, True, True]
    assert [t.has_f16c for t in (v1, v2, v3, v4)] == [False, False, True, True]
    assert v1.features < v2.features < v3.features < v4.features
    assert v1.processor_bits == 0 and v2.processor_bits == 0b1111
    assert v3.processor_bits == 0xCC0F and v4.processor_bits == 0x1F0CC0F
    assert v4.lanes(32) == 16 and not v4.has_avx512_bf16 and targets.named("znver4").has_avx512_bf16
    fast = [targets.named(name).has_fast_bf16_dot for name in ("znver4", "sapphirerapids", "znver3")]
    assert fast == [True, False, False]


def test_aarch64_baseline():
    t = targets.named("generic")
    assert (t.vector_bytes, t.vector_registers, t.has_fma, t.processor_bits) == (16, 32, True, 0)
    assert t.executable_format == "embedded-elf-arm_64" and not t.is_x86


@pytest.mark.parametrize("name", targets.cpu_names())
def test_names_are_llvms_and_have_no_more_than_it_says(name):
    """LLVM knows the CPU, lays data out as we say, and takes the features without a warning."""
    t = targets.named(name)
    compile_object(f'target triple = "{t.triple}"\ndefine void @f() {{ ret void }}', t)
    machine = llvm.Target.from_triple(t.triple).create_target_machine(cpu=t.cpu)
    assert str(machine.target_data) == t.data_layout


def test_host_is_what_llvm_sees():
    host = targets.host()
    assert host.cpu == llvm.get_host_cpu_name() and host is targets.named("host")
    assert host.cores >= 1 and host.l1_bytes >= 8 << 10 and host.l2_bytes > host.l1_bytes
    present = {name for name, on in dict(llvm.get_host_cpu_features()).items() if on}
    assert present <= host.features


def test_hal_attributes():
    attributes = targets.named("x86-64-v3").hal_attributes()
    assert attributes["cpu"] == "x86-64-v3" and "+avx2" in attributes["cpu_features"].split(",")
    assert attributes["native_vector_size"] == 32 and attributes["target_triple"].startswith("x86_64-")
    assert attributes["max_stack_allocation_size"] == 32768
    assert {"data_layout", "cpu_features", "cpu"} < attributes.keys()


def test_unknown_names_list_the_known():
    with pytest.raises(ValueError, match="unknown target CPU 'pentium'; known are host, x86-64,"):
        targets.named("pentium")
