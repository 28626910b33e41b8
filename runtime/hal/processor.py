"""What the processor can do, in the words of the executable ABI's environment."""

import functools
import platform

from pyiree.runtime.vmfb.abi import X86_64_FEATURE_BITS


def host_architecture() -> str:
    """The machine by the name that executable formats are listed under."""
    machine = platform.machine().lower()
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)


@functools.cache
def host_features() -> frozenset[str]:
    """LLVM's names of the features that this processor has."""
    import llvmlite.binding as llvm

    return frozenset(name for name, present in llvm.get_host_cpu_features().items() if present)


@functools.cache
def processor_data() -> tuple[int, ...]:
    """The environment's eight words: a bit for each feature; all zero where none are defined."""
    word = 0
    if host_architecture() == "x86_64":
        for name, bit in X86_64_FEATURE_BITS.items():
            if name in host_features():
                word |= 1 << bit
    return (word, 0, 0, 0, 0, 0, 0, 0)
