"""What a call costs: cached calls of tiny programs by pyiree and by `jax.jit`, which have next to nothing to compute.

    python benchmarks/calls.py                    # all cases: a table
    python benchmarks/calls.py --only "NumPy"     # those with these letters in their names
    python benchmarks/calls.py --json out.json

The two are called in turn, round after round, in an order that changes; a time is the median of the rounds' means, and
the smallest mean stands beside it. A call of pyiree's has its results when it returns. `jax.jit`'s single results are
waited for, those in trees are not, as asking each leaf would count as the call's.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import timeit
from collections.abc import Callable
from typing import Any, NamedTuple

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np
import pyiree

_ROUND_SECONDS = 0.02
_WARM_UP_CALLS = 100  # the second one makes the call native; programs of many kernels take some to find out how to run


class Case(NamedTuple):
    """A call, as a statement over `f` and the given names; `theirs` is `jax.jit`'s where it differs."""

    name: str
    function: Callable[..., Any]
    call: str
    names: dict[str, Any]
    theirs: str | None = None
    options: dict[str, Any] = {}


def add(x: Any, y: Any) -> Any:
    return x + y


def add_one(tree: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf + 1, tree)


def cases() -> list[Case]:
    x, y = np.arange(16, dtype=np.float32), np.ones(16, np.float32)
    host = {"x": x, "y": y}
    on_jax = {name: jnp.asarray(value) for name, value in host.items()}
    ours = dict(zip(host, pyiree.device_put((x, y))))
    wait = "f(x, y).block_until_ready()"
    found = [
        Case("two NumPy arrays", add, "f(x, y)", host, wait),
        Case("two pyiree.Arrays (jax.Arrays for jax)", add, wait, {**ours, "theirs": on_jax}),
        Case("two jax.Arrays", add, wait, on_jax),
        Case("one Python number", lambda n: n + 1, "f(2.5)", {}, "f(2.5).block_until_ready()"),
        Case("an array and a number", add, "f(x, 2.5)", host, "f(x, 2.5).block_until_ready()"),
        Case("a keyword argument", add, "f(x, y=y)", host, "f(x, y=y).block_until_ready()"),
        Case(
            "a static argument",
            lambda x, n: x * n,
            "f(x, n=3)",
            host,
            "f(x, n=3).block_until_ready()",
            {"static_argnames": "n"},
        ),
        Case("no argument", lambda: jnp.zeros(4), "f()", {}, "f().block_until_ready()"),
    ]
    for count in (50, 1000):
        tree = {f"layer{k}": np.full(4, k, np.float32) for k in range(count)}
        found += [
            Case(f"a dict of {count} NumPy arrays", add_one, "f(t)", {"t": tree}),
            Case(
                f"a dict of {count} pyiree.Arrays (jax.Arrays for jax)",
                add_one,
                "f(t)",
                {"t": pyiree.device_put(tree), "theirs": {"t": jax.device_put(tree)}},
            ),
            Case(f"a dict of {count} jax.Arrays", add_one, "f(t)", {"t": jax.device_put(tree)}),
        ]
    return found


class Timing(NamedTuple):
    """Microseconds of one call."""

    median: float
    best: float


def measure(case: Case, rounds: int) -> dict[str, Timing]:
    """The times of both, called in turn."""
    names = {key: value for key, value in case.names.items() if key != "theirs"}
    timers = {
        "pyiree": timeit.Timer(case.call, globals={"f": pyiree.jit(case.function, **case.options), **names}),
        "jax.jit": timeit.Timer(
            case.theirs or case.call,
            globals={"f": jax.jit(case.function, **case.options), **case.names.get("theirs", names)},
        ),
    }
    loops = {}
    for name, timer in timers.items():
        timer.timeit(_WARM_UP_CALLS)
        loops[name] = max(1, int(_ROUND_SECONDS / (timer.timeit(10) / 10)))
    means: dict[str, list[float]] = {name: [] for name in timers}
    order = list(timers)
    for _ in range(rounds):
        for name in order:
            means[name].append(1e6 * timers[name].timeit(loops[name]) / loops[name])
        order.reverse()
    return {name: Timing(statistics.median(values), min(values)) for name, values in means.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--only", default="", help="letters of the cases' names")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", help="a file for the figures")
    arguments = parser.parse_args()
    print(f"{'microseconds (best)':45s} {'pyiree':>18s} {'jax.jit':>20s} {'ratio':>7s}")
    figures = {}
    for case in cases():
        if arguments.only.lower() in case.name.lower():
            ours, theirs = measure(case, arguments.rounds).values()
            figures[case.name] = {"pyiree": ours._asdict(), "jax.jit": theirs._asdict()}
            print(
                f"{case.name:45s} {ours.median:9.2f} ({ours.best:6.2f}) {theirs.median:10.2f} ({theirs.best:7.2f})"
                f" {ours.median / theirs.median:7.3f}",
                flush=True,
            )
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=1)


if __name__ == "__main__":
    main()
