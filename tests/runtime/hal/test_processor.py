"""What the kernel says of the processor is what LLVM finds out by asking it."""

import llvmlite.binding as llvm
import pytest
from pyiree.runtime.hal import processor
from pyiree.runtime.vmfb.abi import X86_64_FEATURE_BITS

on_x86 = pytest.mark.skipif(processor.host_architecture() != "x86_64", reason="the ABI has words for x86-64 only")


@pytest.fixture(autouse=True)
def _asked_anew():
    for known in (processor.host_cpu, processor.host_features, processor.processor_data):
        known.cache_clear()
    yield
    for known in (processor.host_cpu, processor.host_features, processor.processor_data):
        known.cache_clear()


def _by_llvm():
    present = llvm.get_host_cpu_features()
    return {name for name in X86_64_FEATURE_BITS if present.get(name)}


@on_x86
def test_features_are_those_that_llvm_finds():
    assert processor.host_features() == _by_llvm()
    assert processor.processor_data()[0] == sum(1 << X86_64_FEATURE_BITS[name] for name in _by_llvm())


@on_x86
def test_llvm_is_asked_where_the_kernel_does_not_tell(monkeypatch):
    monkeypatch.setattr(processor, "host_cpu", lambda: "x86_64 unknown")
    assert processor.host_features() & set(X86_64_FEATURE_BITS) == _by_llvm()
    monkeypatch.undo()
