"""Measures pyiree beside jax.jit, NumPy and Numba on the programs of `workloads.py`.

    python benchmarks/run.py                              # all programs, both sizes: a table
    python benchmarks/run.py --only gru,sort_pairs --size large
    python benchmarks/run.py --json out.json --plot out.png     # the plot needs matplotlib (pip install pyiree[bench])

All executors are compiled first and their results compared with jax's. Then they are called in turn, round after round
and in an order that rotates, so that what else the machine does meets all of them alike. Each executor gets the arrays
that its users have: NumPy arrays, except that "jax" is also measured with its own (`jax (device)`), and "pyiree" with
`pyiree.device_put`. A time is the median of all calls, in microseconds; ratios are pyiree's time by the peer's.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import time
from collections.abc import Callable, Iterable
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np
import pyiree
from turns import seconds_of
from workloads import WORKLOADS, Workload

_ROUND_SECONDS = 0.04
_SETTLE_SECONDS = 0.01
EXECUTORS = ("pyiree", "pyiree (device)", "jax", "jax (device)", "numpy", "numba")


def executors_of(workload: Workload, arguments: tuple[Any, ...]) -> dict[str, Callable[[], Any]]:
    """What to call for each executor; the calls wait for their results."""
    ours, theirs = pyiree.jit(workload.function), jax.jit(workload.function)
    on_ours, on_theirs = pyiree.device_put(arguments), jax.device_put(arguments)
    calls: dict[str, Callable[[], Any]] = {
        "pyiree": lambda: ours(*arguments),
        "pyiree (device)": lambda: _wait(ours(*on_ours)),
        "jax": lambda: jax.tree.map(np.asarray, theirs(*arguments)),
        "jax (device)": lambda: jax.block_until_ready(theirs(*on_theirs)),
    }
    if workload.numpy is not None:
        calls["numpy"] = lambda: workload.numpy(*arguments)
    if workload.numba is not None:
        compiled = workload.numba()
        calls["numba"] = lambda: compiled(*arguments)
    return calls


def _wait(results: Any) -> Any:
    for leaf in jax.tree.leaves(results):
        leaf.block_until_ready()
    return results


def error(found: Any, expected: Any) -> float:
    """The largest error of any result beside its largest magnitude."""
    worst = 0.0
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
        if y.size:
            worst = max(worst, float(np.abs(x - y).max() / (np.abs(y).max() + 1e-30)))
    return worst


def measure(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Median microseconds of each call."""
    samples = seconds_of(calls, rounds, _ROUND_SECONDS, _SETTLE_SECONDS)
    return {name: 1e6 * statistics.median(times) for name, times in samples.items()}


def run(workload: Workload, size: str, rounds: int) -> dict[str, Any]:
    """One row of the table."""
    arguments = workload.arguments(np.random.default_rng(0), getattr(workload, size))
    began = time.perf_counter()
    pyiree.jit(workload.function).lower(*arguments).compile()
    compiled = time.perf_counter() - began
    calls = executors_of(workload, arguments)
    expected = calls["jax"]()
    errors = {name: error(call(), expected) for name, call in calls.items()}
    wrong = [n for n, e in errors.items() if workload.tolerance is not None and not e <= workload.tolerance]
    return {
        "name": workload.name, "group": workload.group, "size": size, "compile_seconds": compiled,
        "microseconds": measure(calls, rounds), "errors": errors, "wrong": wrong,
    }  # fmt: skip


def mean_ratio(rows: Iterable[dict[str, Any]], ours: str, peer: str) -> float | None:
    """The geometric mean of our time by a peer's, over the rows that have both."""
    logs = [
        math.log(r["microseconds"][ours] / r["microseconds"][peer])
        for r in rows
        if peer in r["microseconds"] and not {ours, peer} & set(r["wrong"])
    ]
    return math.exp(sum(logs) / len(logs)) if logs else None


def table(rows: list[dict[str, Any]]) -> str:
    """The results as Markdown."""
    lines = [
        "| program | size | " + " | ".join(EXECUTORS) + " | by jax | by jax (device) | compile s |",
        "|---" * (len(EXECUTORS) + 5) + "|",
    ]
    for row in rows:
        times = row["microseconds"]
        cells = [_cell(times[e], e in row["wrong"]) if e in times else "–" for e in EXECUTORS]
        ratios = [times["pyiree"] / times["jax"], times["pyiree (device)"] / times["jax (device)"]]
        shown = [*cells, *[f"{r:.2f}" for r in ratios], f"{row['compile_seconds']:.2f}"]
        lines.append(f"| {row['name']} | {row['size']} | {' | '.join(shown)} |")
    lines.append("")
    for peer in EXECUTORS[2:]:
        ours = "pyiree (device)" if peer == "jax (device)" else "pyiree"
        ratio = mean_ratio(rows, ours, peer)
        if ratio is not None:
            lines.append(f"Geometric mean of {ours} by {peer}: {ratio:.2f}")
    return "\n".join(lines)


def _cell(microseconds: float, is_wrong: bool) -> str:
    return f"{microseconds:.4g} (wrong)" if is_wrong else f"{microseconds:.4g}"


def plot(rows: list[dict[str, Any]], path: str) -> None:
    """Bars of pyiree's time by that of each peer; below 1 pyiree is faster."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    peers = ("jax", "numpy", "numba")
    labels = [f"{r['name']} ({r['size']})" for r in rows]
    figure, axes = pyplot.subplots(figsize=(9, 0.32 * len(rows) + 1.5))
    for number, peer in enumerate(peers):
        at = [k + 0.27 * (number - 1) for k, r in enumerate(rows) if peer in r["microseconds"]]
        ratios = [r["microseconds"]["pyiree"] / r["microseconds"][peer] for r in rows if peer in r["microseconds"]]
        axes.barh(at, ratios, height=0.25, label=f"by {peer}")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yticks(range(len(rows)), labels)
    axes.invert_yaxis()
    axes.set_xlabel("pyiree's time by the peer's (NumPy arrays); left of 1 is faster")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="names of programs, by commas")
    parser.add_argument("--size", choices=("small", "large", "both"), default="both")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="a file for the results")
    parser.add_argument("--plot", help="a file for the plot")
    options = parser.parse_args()
    names = [n for n in options.only.split(",") if n] or list(WORKLOADS)
    unknown = [n for n in names if n not in WORKLOADS]
    if unknown:
        parser.error(f"there is no program {unknown[0]!r}; there are {', '.join(WORKLOADS)}")
    sizes = ("small", "large") if options.size == "both" else (options.size,)
    rows = []
    for name in names:
        for size in sizes:
            rows.append(run(WORKLOADS[name], size, options.rounds))
            times = rows[-1]["microseconds"]
            print(f"{name} ({size}): pyiree {times['pyiree']:.4g} us, jax {times['jax']:.4g} us", flush=True)
    print("\n" + table(rows))
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)
    if options.plot:
        plot(rows, options.plot)


if __name__ == "__main__":
    main()
