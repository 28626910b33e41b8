"""Convolutions beside what the processor can do: pyiree and `jax.jit` called in turn.

    python benchmarks/convolutions.py                           # all of them, on all processors
    python benchmarks/convolutions.py --threads 1 --only nchw,training

A convolution is counted as a part of the peak of multiply-adds in registers, one of each channel alone as a part of
what a copy of memory of the same size moves (its arguments and its result, each once). Peak and copy are measured in
the same rounds on the same threads. A training step is a convolutional network of two layers, its gradient included;
counted are the products of its convolutions alone. Times are medians; the last column is our time by jax's.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import gemm
from turns import seconds_of

_ROUND_SECONDS = 0.05
_SETTLE_SECONDS = 0.005


class Case(NamedTuple):
    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    operations: float
    """Multiplications and additions; 0 where bytes are what counts."""


def convolution(layout: str, channels_apart: bool = False) -> Callable[[Any, Any], Any]:
    """The function of an image and a filter that keeps the image's size; `layout` is that of images."""
    import jax

    filters = "HWIO" if layout == "NHWC" else "OIHW"

    def apply(x: Any, w: Any) -> Any:
        groups = x.shape[layout.index("C")] if channels_apart else 1
        return jax.lax.conv_general_dilated(
            x, w, (1, 1), "SAME", feature_group_count=groups, dimension_numbers=(layout, filters, layout)
        )

    return apply


def _network(parameters: Any, x: Any) -> Any:
    import jax

    for number in (0, 1):
        x = jax.nn.relu(convolution("NHWC")(x, parameters[number]))
        x = jax.lax.reduce_window(x, -float("inf"), jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return x.reshape(len(x), -1) @ parameters[2]


def _loss_and_gradient(parameters: Any, x: Any, labels: Any) -> Any:
    import jax
    import jax.numpy as jnp

    def loss(parameters: Any) -> Any:
        scores = jax.nn.log_softmax(_network(parameters, x))
        return -jnp.take_along_axis(scores, labels[:, None], 1).mean()

    return jax.value_and_grad(loss)(parameters)


def cases() -> list[Case]:
    import numpy as np

    rng = np.random.default_rng(0)

    def numbers(*shape: int, scale: float = 1.0) -> Any:
        return (scale * rng.standard_normal(shape)).astype(np.float32)

    found = []
    for n, side, inputs, outputs, window in [(4, 28, 64, 64, 3), (8, 56, 64, 128, 3), (4, 56, 128, 128, 1)]:
        operations = 2.0 * n * side * side * inputs * outputs * window * window
        label = f"{n}x{side}x{side}, {inputs} to {outputs}, {window}x{window}"
        nhwc = numbers(n, side, side, inputs), numbers(window, window, inputs, outputs)
        nchw = numbers(n, inputs, side, side), numbers(outputs, inputs, window, window)
        found.append(Case(f"nhwc {label}", convolution("NHWC"), nhwc, operations))
        found.append(Case(f"nchw {label}", convolution("NCHW"), nchw, operations))
    for n, side, channels in [(4, 28, 128), (8, 56, 256)]:
        arguments = numbers(n, side, side, channels), numbers(3, 3, 1, channels)
        label = f"{n}x{side}x{side}, {channels}, 3x3"
        found.append(Case(f"channels apart {label}", convolution("NHWC", channels_apart=True), arguments, 0))
    for n in (32, 128):
        parameters = numbers(3, 3, 1, 32, scale=0.3), numbers(3, 3, 32, 64, scale=0.06), numbers(3136, 10, scale=0.02)
        images, labels = numbers(n, 28, 28, 1), rng.integers(0, 10, n).astype(np.int32)
        # Forward, by the filters, and by the input, which the first layer has no use for.
        operations = 2.0 * n * 9 * (2 * 784 * 32 + 3 * 196 * 32 * 64)
        found.append(Case(f"training {n}x28x28", _loss_and_gradient, (parameters, images, labels), operations))
    return found


def measure(case: Case, highest: Callable[[], float], rounds: int, pool: ThreadPoolExecutor) -> tuple[float, ...]:
    """Microseconds of pyiree and of jax, billions a second (of operations, or of bytes) of pyiree, and the most."""
    import jax
    import numpy as np
    import pyiree
    from bandwidth import Copy

    ours, theirs = pyiree.jit(case.function), jax.jit(case.function)
    on_ours, on_theirs = pyiree.device_put(case.arguments), jax.device_put(case.arguments)
    for found, expected in zip(jax.tree.leaves(ours(*on_ours)), jax.tree.leaves(theirs(*on_theirs)), strict=True):
        error = float(np.abs(np.asarray(found) - expected).max() / np.abs(expected).max())
        if error > 1e-4:
            raise SystemExit(f"{case.name}: wrong by {error}")
    calls = {
        "pyiree": lambda: [leaf.block_until_ready() for leaf in jax.tree.leaves(ours(*on_ours))],
        "jax": lambda: jax.block_until_ready(theirs(*on_theirs)),
    }
    moved = sum([leaf.nbytes for leaf in jax.tree.leaves((case.arguments, theirs(*on_theirs)))])
    if not case.operations:
        calls["copy"] = Copy(moved // 2, pool)
    peaks: list[float] = []
    samples = seconds_of(
        calls, rounds, _ROUND_SECONDS, _SETTLE_SECONDS,
        (lambda: peaks.append(highest())) if case.operations else None,
    )  # fmt: skip
    seconds = {name: statistics.median(times) for name, times in samples.items()}
    most = max(peaks) if case.operations else moved / seconds["copy"] / 1e9
    rate = (case.operations or moved) / seconds["pyiree"] / 1e9
    return 1e6 * seconds["pyiree"], 1e6 * seconds["jax"], rate, most


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="letters of the names, separated by commas")
    parser.add_argument("--threads", type=int, help="processors to use (default: all)")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    processors = gemm.use_processors(options.threads)
    wanted = options.only.split(",")
    highest = gemm.peak("f32", processors)
    print(f"{'':44s}{'pyiree µs':>11s}{'jax µs':>11s}{'G/s':>9s}{'at most':>9s}{'part':>7s}{'by jax':>8s}")
    with ThreadPoolExecutor(len(processors)) as pool:
        for case in cases():
            if any(letters in case.name for letters in wanted):
                ours, theirs, rate, most = measure(case, highest, options.rounds, pool)
                figures = f"{ours:11,.0f}{theirs:11,.0f}{rate:9.1f}{most:9.1f}{rate / most:7.2f}{ours / theirs:8.2f}"
                print(f"{case.name:44s}{figures}", flush=True)


if __name__ == "__main__":
    main()
