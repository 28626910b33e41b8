"""What the processor can do, as the kernel tells it: importing LLVM to ask would take longer than most programs.

Leaves: the architecture, a text by which processors are told apart, LLVM's names of features, and these in the words of
the executable ABI's environment.
"""

import functools
import platform
import re
from pathlib import Path

from pyiree.runtime.vmfb.abi import X86_64_FEATURE_BITS


def host_architecture() -> str:
    """The machine by the name that executable formats are listed under."""
    machine = platform.machine().lower()
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)


@functools.cache
def host_cpu() -> str:
    """This machine's processor and its features."""
    try:
        text = Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    wanted = re.compile(r"(?:vendor_id|cpu family|model|model name|stepping|flags|Features|CPU \w+)\s*:")
    first = text.split("\n\n", 1)[0]
    return "\n".join(line for line in first.splitlines() if wanted.match(line))


#: Linux's names that differ from LLVM's in more than separators.
_LLVM_NAMES = {"pni": "sse3"}


@functools.cache
def host_features() -> frozenset[str]:
    """LLVM's names of those features of this processor that the ABI knows."""
    if host_architecture() != "x86_64":
        return frozenset()
    flags = re.search(r"^flags\s*:(.*)$", host_cpu(), re.MULTILINE)
    if flags is None:  # the kernel does not tell
        import llvmlite.binding as llvm

        return frozenset(name for name, present in llvm.get_host_cpu_features().items() if present)
    names = {_LLVM_NAMES.get(flag, flag) for flag in flags[1].split()}
    bare = {re.sub(r"[_.-]", "", name) for name in names}
    return frozenset(name for name in X86_64_FEATURE_BITS if re.sub(r"[_.-]", "", name) in bare)


@functools.cache
def processor_data() -> tuple[int, ...]:
    """The environment's eight words: a bit for each feature; all zero where none are defined."""
    word = 0
    for name, bit in X86_64_FEATURE_BITS.items():
        if name in host_features():
            word |= 1 << bit
    return (word, 0, 0, 0, 0, 0, 0, 0)
