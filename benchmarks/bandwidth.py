"""How fast programs move their bytes that compute little, beside a copy of memory in the same run.

    python benchmarks/bandwidth.py                        # arrays of about 64 MiB: a table
    python benchmarks/bandwidth.py --mebibytes 2 --only matvec,softmax
    python benchmarks/bandwidth.py --json out.json

The bytes of a program are those of its arguments and of its results, each counted once. The copy is `numpy.copyto` from
one array of that size to another that has been written before, shared out over as many threads as there are cores; it
counts the bytes that it reads and those that it writes. Programs and the copy take turns; a time is the median of all
calls. Arguments and results are `pyiree.Array`s, and each result is dropped before the next call. The last column is
how many pages the system had to supply for a call (`getrusage`).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np
import pyiree
from turns import seconds_of

_ROUND_SECONDS = 0.03
_THREADS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Case(NamedTuple):
    name: str
    function: Callable[..., Any]
    arguments: Callable[[np.random.Generator, int], tuple[Any, ...]]
    """The arguments for a number of f32 elements that the largest of them should have."""


def _numbers(*shapes: Any, dtype: Any = np.float32) -> Callable[[np.random.Generator, int], tuple[Any, ...]]:
    """Random arguments; a shape is a function of the number of elements."""

    def make(rng: np.random.Generator, count: int) -> tuple[Any, ...]:
        return tuple([rng.standard_normal(shape(count), np.float32).astype(dtype) for shape in shapes])

    return make


def _line(n: int) -> tuple[int, ...]:
    return (n,)


def _square(n: int) -> tuple[int, ...]:
    side = max(16, int(n**0.5) // 16 * 16)
    return (side, n // side)


def _odd(n: int) -> tuple[int, ...]:
    side = int(n**0.5) | 1
    return (side, side + 2)


def _table(rng: np.random.Generator, count: int) -> tuple[Any, ...]:
    table = rng.standard_normal((max(1, count // 512), 512), np.float32)
    return table, rng.integers(0, len(table), max(1, len(table) // 2)).astype(np.int32)


def _row(n: int) -> tuple[int, ...]:
    return _square(n)[1:]


def _column(n: int) -> tuple[int, ...]:
    return _square(n)[:1]


def _layer_norm(x: Any, scale: Any, shift: Any) -> Any:
    mean, variance = jnp.mean(x, -1, keepdims=True), jnp.var(x, -1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * scale + shift


CASES = [
    Case("add a number", lambda x: x + 1, _numbers(_line)),
    Case("saxpy", lambda x, y: 2 * x + y, _numbers(_line, _line)),
    Case("gelu", jax.nn.gelu, _numbers(_line)),
    Case("f32 to bf16", lambda x: x.astype(jnp.bfloat16), _numbers(_line)),
    Case("softmax", lambda x: jax.nn.softmax(x, -1), _numbers(_square)),
    Case("layer norm", _layer_norm, _numbers(_square, _row, _row)),
    Case("logsumexp", lambda x: jax.nn.logsumexp(x, -1), _numbers(_square)),
    Case("sum", jnp.sum, _numbers(_line)),
    Case("sum of rows", lambda x: x.sum(1), _numbers(_square)),
    Case("sum of columns", lambda x: x.sum(0), _numbers(_square)),
    Case("max of rows", lambda x: x.max(1), _numbers(_odd)),
    Case("argmax of rows", lambda x: x.argmax(1), _numbers(_square)),
    Case("variance of columns", lambda x: x.var(0), _numbers(_square)),
    Case("matvec", lambda a, x: a @ x, _numbers(_square, _row)),
    Case("matvec, odd", lambda a, x: a @ x, _numbers(_odd, lambda n: _odd(n)[1:])),
    Case("matvec, bf16", lambda a, x: a @ x, _numbers(_square, _row, dtype=jnp.bfloat16)),
    Case("vecmat", lambda a, x: x @ a, _numbers(_square, _column)),
    Case("matvec of batches", lambda a, x: jnp.einsum("bij,bj->bi", a, x),
         _numbers(lambda n: (16, *_square(n // 16)), lambda n: (16, *_row(n // 16)))),
    Case("4 rows by a matrix", lambda a, x: x @ a, _numbers(_square, lambda n: (4, *_column(n)))),
    Case("4 rows by a transposed matrix", lambda a, x: x @ a.T, _numbers(_square, lambda n: (4, *_row(n)))),
    Case("a matrix by 4 columns", lambda a, x: a @ x, _numbers(_square, lambda n: (*_row(n), 4))),
    Case("transpose", lambda x: x.T, _numbers(_square)),
    Case("transpose, odd", lambda x: x.T, _numbers(_odd)),
    Case("transpose of heads", lambda x: x.transpose(0, 2, 1, 3), _numbers(lambda n: (4, max(1, n // 3072), 12, 64))),
    Case("cumsum", lambda x: jnp.cumsum(x, -1), _numbers(_square)),
    Case("rows by number", lambda table, rows: table[rows], _table),
    Case("concatenate", lambda x, y: jnp.concatenate([x, y]), _numbers(_square, _square)),
    Case("pad", lambda x: jnp.pad(x, 1), _numbers(_square)),
    Case("slice", lambda x: x[1:-1, 1:-1], _numbers(_square)),
    Case("reverse", lambda x: x[:, ::-1], _numbers(_square)),
]  # fmt: skip


class Copy:
    """Copies `size` bytes in as many parts as there are cores."""

    def __init__(self, size: int, pool: ThreadPoolExecutor):
        size = max(64 * _THREADS, size // 64 * 64)
        self.source, self.target = np.ones(size // 4, np.float32), np.zeros(size // 4, np.float32)
        self.parts = list(zip(np.array_split(self.target, _THREADS), np.array_split(self.source, _THREADS)))
        self.pool = pool

    def __call__(self) -> None:
        others = [self.pool.submit(np.copyto, *part) for part in self.parts[1:]]
        np.copyto(*self.parts[0])
        for other in others:
            other.result()


def measure(case: Case, count: int, rounds: int, pool: ThreadPoolExecutor) -> dict[str, Any]:
    """One line of the table."""
    arguments = pyiree.device_put(case.arguments(np.random.default_rng(0), count))
    function = pyiree.jit(case.function)

    def call() -> Any:
        return function(*arguments).block_until_ready()

    moved = sum([a.nbytes for a in (*arguments, call())])
    copy = Copy(moved // 2, pool)
    for _ in range(20):
        call()
    times = seconds_of({"program": call, "copy": copy}, rounds, _ROUND_SECONDS)
    seconds = {name: statistics.median(values) for name, values in times.items()}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        call()
    faults = (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / 10
    rates = {name: moved / value / 1e9 for name, value in seconds.items()}
    return {
        "program": case.name,
        "microseconds": 1e6 * seconds["program"],
        "gigabytes per second": rates["program"],
        "of a copy": rates["program"] / rates["copy"],
        "page faults": faults,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--only", default="", help="letters of the programs' names, separated by commas")
    parser.add_argument("--mebibytes", type=float, default=64, help="size of the largest argument in f32")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="a file for the figures")
    arguments = parser.parse_args()
    wanted = arguments.only.split(",")
    count = int(arguments.mebibytes * (1 << 18))
    print("| program | µs | GB/s | of a copy | page faults a call |\n|---|---:|---:|---:|---:|")
    lines = []
    with ThreadPoolExecutor(_THREADS) as pool:
        for case in CASES:
            if any(letters in case.name for letters in wanted):
                line = measure(case, count, arguments.rounds, pool)
                lines.append(line)
                name, microseconds, rate, fraction, faults = line.values()
                print(f"| {name} | {microseconds:,.1f} | {rate:.1f} | {fraction:.2f} | {faults:.1f} |", flush=True)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(lines, file, indent=1)


if __name__ == "__main__":
    main()
