"""What a program is compiled for: the options that every phase may read."""

from __future__ import annotations

from dataclasses import field, fields
from functools import cached_property
from typing import Any, Protocol

from pyiree.runtime.vmfb.lazy_dataclass import dataclass


class ObjectCache(Protocol):
    """Where compiled kernels are kept between programs: bytes by key."""

    def get(self, key: str) -> bytes | None:
        """The bytes stored under a key, or None."""

    def put(self, key: str, data: bytes) -> None:
        """Stores bytes under a key."""


@dataclass(frozen=True)
class CompileOptions:
    """`target_cpu` is "host", a CPU's name, or a level such as "x86-64-v3"; `object_cache` keeps kernels.

    The others watch the passes: `dump_dir` gets the IR after each, `print_ir_after` names those whose IR is printed
    (or "all"), `verify_each` checks the IR after each.
    """

    target_cpu: str = "host"
    object_cache: ObjectCache | None = field(default=None, metadata={"in_key": False})
    dump_dir: Any = field(default=None, metadata={"in_key": False})
    print_ir_after: tuple[str, ...] = field(default=(), metadata={"in_key": False})
    verify_each: bool = field(default=False, metadata={"in_key": False})

    def key(self) -> str:
        """Text that differs where the compiled program may."""
        shown = [f for f in fields(self) if f.metadata.get("in_key", True)]
        return " ".join([f"{f.name}={getattr(self, f.name)}" for f in shown])

    @cached_property
    def target(self) -> Any:
        """The code generator's description of the CPU, a `codegen.target.Target`."""
        from pyiree.compiler.codegen import target

        return target.named(self.target_cpu)
