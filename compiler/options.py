"""What a program is compiled for: the options that every phase may read."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Protocol


class ObjectCache(Protocol):
    """Where compiled kernels are kept between programs: bytes by key."""

    def get(self, key: str) -> bytes | None:
        """The bytes stored under a key, or None."""

    def put(self, key: str, data: bytes) -> None:
        """Stores bytes under a key."""


@dataclass(frozen=True)
class CompileOptions:
    """`target_cpu` is "host", a CPU's name, or a level such as "x86-64-v3"; `object_cache` keeps kernels."""

    target_cpu: str = "host"
    object_cache: ObjectCache | None = None

    def key(self) -> str:
        """Text that differs where the compiled program may."""
        shown = [f for f in fields(self) if f.name != "object_cache"]
        return " ".join([f"{f.name}={getattr(self, f.name)}" for f in shown])

