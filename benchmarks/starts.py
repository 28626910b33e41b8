"""What a process takes until it has its first result, when everything it needs has been compiled before.

    python benchmarks/starts.py              # a table
    python benchmarks/starts.py --rounds 9
    python benchmarks/starts.py --json out.json

Each start is a new process with a cache folder that an earlier one has filled; the ways take turns, round after round.
The time is the whole process's, the interpreter's own start included, the memory the most that was resident. With
`cache_key` pyiree neither traces nor imports jax.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

PROGRAMS = {
    "add": """
def f(x, y):
    return x + y
arguments = [np.ones(8, np.float32)] * 2
""",
    "layers": """
def f(x, w):
    import jax, jax.numpy as jnp
    def loss(w):
        h = x
        for k in range(6):
            h = jnp.tanh(h @ w[k])
        return jnp.mean(h * h)
    return jax.value_and_grad(loss)(w)
arguments = [np.ones((32, 64), np.float32), np.full((6, 64, 64), 0.01, np.float32)]
""",
}
WAYS = {
    "jax.jit": """
import jax
jax.config.update("jax_compilation_cache_dir", {cache!r})
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
jit = jax.jit
""",
    "pyiree": """
import pyiree
jit = pyiree.jit
""",
    "pyiree, cache_key": """
import pyiree
jit = pyiree.jit(cache_key="a benchmark of starts")
""",
}
_CHILD = """
import numpy as np
{way}
{program}
results = jit(f)(*arguments)
for result in results if isinstance(results, tuple) else [results]:
    np.asarray(result)
import resource
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def start(way: str, program: str, cache: str) -> tuple[float, float]:
    """Seconds and MiB of one process."""
    text = _CHILD.format(way=WAYS[way].format(cache=cache), program=PROGRAMS[program])
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYIREE_CACHE_DIR": cache}
    began = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=True)
    return time.perf_counter() - began, int(done.stdout) / 1024


def measure(program: str, rounds: int) -> dict[str, dict[str, float]]:
    """Median seconds and MiB of each way."""
    with tempfile.TemporaryDirectory() as cache:
        for way in WAYS:
            start(way, program, cache)
        samples: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
        for _ in range(rounds):
            for way in WAYS:
                samples[way].append(start(way, program, cache))
    return {
        way: {"seconds": statistics.median(s for s, _ in taken), "MiB": statistics.median(m for _, m in taken)}
        for way, taken in samples.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    found = {program: measure(program, options.rounds) for program in PROGRAMS}
    print("| program | way | s | of jax.jit's | MiB |")
    print("|---|---|---:|---:|---:|")
    for program, ways in found.items():
        for way, one in ways.items():
            ratio = one["seconds"] / ways["jax.jit"]["seconds"]
            print(f"| {program} | {way} | {one['seconds']:.2f} | {ratio:.2f} | {one['MiB']:.0f} |")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
