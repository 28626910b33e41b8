"""What a kernel is compiled for: triple, CPU, features, vector registers, caches.

Enters: a CPU name, or nothing (`host()`). Leaves: a `Target`, from which the generators read widths and
instruction sets, `llvm.objects` makes a target machine, and the HAL the `#hal.executable.target` attributes.

Levels are the x86-64 psABI's: x86-64, x86-64-v2 (SSE4.2), x86-64-v3 (AVX2, FMA), x86-64-v4 (AVX-512); for
AArch64 there is the baseline, "generic" with NEON.
"""

from __future__ import annotations

import os
import pathlib
from dataclasses import field, replace
from functools import lru_cache

from pyiree.compiler.errors import CompileError
from pyiree.runtime.vmfb.abi import EXECUTABLE_FORMATS, X86_64_FEATURE_BITS
from pyiree.runtime.vmfb.lazy_dataclass import dataclass

X86_64 = "x86_64"
AARCH64 = "aarch64"

_TRIPLES = {X86_64: "x86_64-unknown-unknown-eabi-elf", AARCH64: "aarch64-unknown-unknown-eabi-elf"}
_DATA_LAYOUTS = {
    X86_64: ("e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"),
    AARCH64: ("e-m:e-p270:32:32-p271:32:32-p272:64:64-i8:8:32-i16:16:32-i64:64-i128:128-n32:64-S128-Fn32"),
}

_V1 = frozenset({"cmov", "cx8", "fxsr", "mmx", "sse", "sse2"})
_V2 = _V1 | {"cx16", "sahf", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"}
_V3 = _V2 | {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"}
_V4 = _V3 | {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}
_ICELAKE = _V4 | {"avx512bitalg", "avx512ifma", "avx512vbmi", "avx512vbmi2", "avx512vnni", "avx512vpopcntdq"}


class UnknownTargetError(CompileError, ValueError):
    """There is no such CPU, or no kernels for it."""


# LLVM knows these names too; listed are the features that the generators or the query check ask about.
_CPUS: dict[str, tuple[str, frozenset[str]]] = {
    "x86-64": (X86_64, _V1),
    "x86-64-v2": (X86_64, _V2),
    "x86-64-v3": (X86_64, _V3),
    "x86-64-v4": (X86_64, _V4),
    "nehalem": (X86_64, _V2),
    "sandybridge": (X86_64, _V2 | {"avx", "xsave"}),
    "ivybridge": (X86_64, _V2 | {"avx", "xsave", "f16c"}),
    "haswell": (X86_64, _V3),
    "broadwell": (X86_64, _V3),
    "skylake": (X86_64, _V3),
    "alderlake": (X86_64, _V3),
    "znver1": (X86_64, _V3 | {"sse4a"}),
    "znver2": (X86_64, _V3 | {"sse4a"}),
    "znver3": (X86_64, _V3 | {"sse4a"}),
    "skylake-avx512": (X86_64, _V4),
    "cascadelake": (X86_64, _V4 | {"avx512vnni"}),
    "cooperlake": (X86_64, _V4 | {"avx512vnni", "avx512bf16"}),
    "icelake-server": (X86_64, _ICELAKE),
    "sapphirerapids": (X86_64, _ICELAKE | {"avx512bf16", "avx512fp16"}),
    "znver4": (X86_64, _ICELAKE | {"avx512bf16", "sse4a"}),
    "znver5": (X86_64, _ICELAKE | {"avx512bf16", "sse4a"}),
    "generic": (AARCH64, frozenset({"fp-armv8", "neon"})),
}


# Workgroup local memory that every worker has, and the most that a kernel may ask for.
LEAST_LOCAL_BYTES = 128 << 10
MOST_LOCAL_BYTES = 640 << 10
_USUAL_L2_BYTES = 512 << 10


@dataclass(frozen=True)
class Target:
    """One CPU to compile for. `features` holds LLVM's names of what is present."""

    arch: str
    cpu: str
    features: frozenset[str]
    l1_bytes: int = 32 << 10
    l2_bytes: int = _USUAL_L2_BYTES
    l3_bytes: int = 8 << 20
    cores: int = 4
    feature_text: str = field(default="", repr=False)
    """What LLVM is told: "+avx2,+fma,…", sorted, so that it can be part of a cache key."""

    @property
    def triple(self) -> str:
        return _TRIPLES[self.arch]

    @property
    def data_layout(self) -> str:
        return _DATA_LAYOUTS[self.arch]

    @property
    def executable_format(self) -> str:
        """The format string of an executable in the `.vmfb`."""
        return EXECUTABLE_FORMATS[self.arch]

    @property
    def is_x86(self) -> bool:
        return self.arch == X86_64

    @property
    def vector_bytes(self) -> int:
        """Width of the vector registers that generators should fill."""
        if self.has_avx512:
            return 64
        return 32 if "avx2" in self.features else 16

    @property
    def streamed_bytes(self) -> int:
        """Results from this size on are stored past the caches: what they would push out is worth more, and lines need
        not be read before they are written. Measured with a third-level cache of 300 MiB, from 32 MiB on this pays
        even where the result is read next."""
        return min(self.l3_bytes // 4, 32 << 20)

    @property
    def vector_registers(self) -> int:
        return 32 if self.has_avx512 or self.arch == AARCH64 else 16

    @property
    def local_bytes(self) -> int:
        """Workgroup local memory that kernels may ask for: a part of the second-level cache, of whose size is what
        IREE's workers have. The rest is for what streams past. Where the cache is small, or only a usual size is known,
        the machine may have less."""
        share = self.l2_bytes * 5 // 8 if self.l2_bytes > _USUAL_L2_BYTES else self.l2_bytes // 4 + (32 << 10)
        return min(max(share, LEAST_LOCAL_BYTES), MOST_LOCAL_BYTES)

    def lanes(self, bits: int) -> int:
        """Elements of `bits` bits in one vector register."""
        return self.vector_bytes * 8 // bits

    @property
    def has_fma(self) -> bool:
        """Fused multiply-add in one instruction, f32 and f64."""
        return "fma" in self.features or self.arch == AARCH64

    @property
    def has_avx512(self) -> bool:
        """AVX-512 with the parts that every server CPU has (F, BW, CD, DQ, VL)."""
        return self.features >= _V4

    @property
    def has_avx512_bf16(self) -> bool:
        return "avx512bf16" in self.features

    @property
    def has_fast_bf16_dot(self) -> bool:
        """Whether a dot of bf16 pairs beats converting them and multiplying in f32. On Intel's cores the instruction
        does half the products that f32 FMAs do (measured: 84 against 176 Gflop/s), on AMD's twice as many."""
        return self.has_avx512_bf16 and self.cpu.startswith("znver")

    @property
    def has_avx512_vnni(self) -> bool:
        return "avx512vnni" in self.features

    @property
    def has_avx512_fp16(self) -> bool:
        return "avx512fp16" in self.features

    @property
    def has_f16c(self) -> bool:
        """Conversions between half and float in one instruction."""
        return "f16c" in self.features or self.arch == AARCH64

    @property
    def has_rounding(self) -> bool:
        """floor, ceil, trunc and nearest in one instruction (SSE4.1)."""
        return "sse4.1" in self.features or self.arch == AARCH64

    @property
    def processor_bits(self) -> int:
        """Bits of the runtime's processor data word 0 that must all be set for this code to run.

        AMX is left out: nothing here uses it, and a process must ask its kernel for it first."""
        if not self.is_x86:
            return 0
        return sum(
            1 << bit
            for name, bit in X86_64_FEATURE_BITS.items()
            if name in self.features and not name.startswith("amx")
        )

    def hal_attributes(self) -> dict[str, str | int]:
        """The configuration of `#hal.executable.target<"llvm-cpu", "embedded-elf-…", {…}>`."""
        return {
            "cpu": self.cpu,
            "cpu_features": self.feature_text,
            "data_layout": self.data_layout,
            "max_stack_allocation_size": 32768,
            "native_vector_size": self.vector_bytes,
            "target_triple": self.triple,
        }


def _feature_text(features: frozenset[str]) -> str:
    return ",".join(f"+{name}" for name in sorted(features))


def cpu_names() -> list[str]:
    """The names that `named` takes, besides "host"."""
    return list(_CPUS)


@lru_cache(maxsize=64)
def named(cpu: str) -> Target:
    """The target of a CPU name, a level, or "host"."""
    if cpu == "host":
        return host()
    if cpu not in _CPUS:
        import difflib

        near = difflib.get_close_matches(cpu, _CPUS, 1)
        hint = f", did you mean {near[0]!r}?" if near else ";"
        raise UnknownTargetError(f"unknown target CPU {cpu!r}{hint} known are host, {', '.join(_CPUS)}")
    arch, features = _CPUS[cpu]
    target = Target(arch, cpu, features, feature_text=_feature_text(features))
    if "avx512f" in features:
        # Servers' processors; those of desktops that have AVX-512 are of the level too, with less.
        return replace(target, l2_bytes=3 << 18 if cpu == "x86-64-v4" else 1 << 20, l3_bytes=32 << 20)
    return target


@lru_cache(maxsize=1)
def host() -> Target:
    """The CPU that this process runs on."""
    import llvmlite.binding as llvm

    architecture = llvm.get_process_triple().split("-", 1)[0]
    arch = {"x86_64": X86_64, "amd64": X86_64, "aarch64": AARCH64, "arm64": AARCH64}.get(architecture)
    if arch is None:
        raise UnknownTargetError(f"kernels for {architecture} are not supported; supported are x86_64 and aarch64")
    flags = dict(llvm.get_host_cpu_features())
    features = frozenset(name for name, present in flags.items() if present)
    if arch == AARCH64:
        features |= {"fp-armv8", "neon"}
    l1, l2, l3 = _cache_sizes()
    # A feature that the CPU model has but this machine hides (a virtual machine may) is said to be absent.
    text = ",".join(f"{'+' if flags[name] else '-'}{name}" for name in sorted(flags))
    return Target(arch, llvm.get_host_cpu_name(), features, l1, l2, l3, usable_cores(), text)


def usable_cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cache_sizes() -> tuple[int, int, int]:
    """Data cache sizes of core 0 as Linux tells them, with usual sizes for what it does not tell."""
    sizes = {1: 32 << 10, 2: 512 << 10, 3: 8 << 20}
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    for index in sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        except OSError:  # a sandbox may hide single files
            continue
        if kind != "Instruction" and size[-1:] in units and int(level) in sizes:
            sizes[int(level)] = int(size[:-1]) * units[size[-1]]
    return sizes[1], sizes[2], sizes[3]
