"""`pyiree devices` and `pyiree targets`: what programs can run on, and be compiled for."""

from __future__ import annotations

from pyiree.cli.output import print_rows

_DEVICES = {
    "local-task": "worker threads, one for each CPU of this process",
    "local-sync": "the calling thread",
    "null": "nothing runs; programs load and time without their kernels",
}


def devices(as_json: bool) -> None:
    """Lists the runtime's devices."""
    from pyiree.runtime.hal import registry

    rows = [(name, _DEVICES.get(name, "registered by a plugin")) for name in registry.driver_names()]
    print_rows(("DEVICE", "WHAT RUNS KERNELS"), rows, as_json)


def targets(as_json: bool) -> None:
    """Lists the CPU names, the one of this machine first."""
    from pyiree.compiler.codegen import target

    rows = []
    for name in ("host", *target.cpu_names()):
        named = target.named(name)
        rows.append((name, named.cpu, named.arch, named.vector_bytes * 8, named.executable_format))
    print_rows(("NAME", "CPU", "ARCHITECTURE", "VECTOR BITS", "FORMAT"), rows, as_json)
