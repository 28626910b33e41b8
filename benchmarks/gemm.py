"""Matrix products beside the processor's peak: pyiree, `jax.jit` and NumPy called in turn.

    python benchmarks/gemm.py                               # square sizes, f32 and f64, plain and transposed factors
    python benchmarks/gemm.py --threads 1 --dtypes f32,bf16,i8 --forms nn --sizes 512,2048
    python benchmarks/gemm.py --shapes 32x1024x4096,8x64x64x64     # rows x products x columns, batch first

A form says how the factors lie: `n` as they are multiplied, `t` transposed, the left one first. The peak is that of
multiply-adds in registers (of bytes in i8, where the processor has such an instruction), measured in the same rounds on
the same threads. Beside it is the ceiling: what the same instructions reach as a tile of sums whose factors are loaded
from the first-level cache, as a product's are. What it lacks is the machine's, above all where another thread shares
the core's load ports. A figure is the billions of operations a second of the fastest call, and their part of the peak;
the last column is the median of our calls by that of the best peer's.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import os
import statistics
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from turns import seconds_of

_ROUND_SECONDS = 0.05
_SETTLE_SECONDS = 0.005
_PEAK_STEPS = 500_000
# Accumulators: more than the latency of an instruction by its throughput, and as many as registers hold.
_PEAK_SUMS = 24
# Vectors of columns of the tile whose factors are loaded: one load each, and one of each row.
_TILE_WIDTH = 3
# Steps of such a tile that lie side by side in memory, a line of rows and some lines of columns each.
_TILE_STEPS = 16
_LINE_BYTES = 64


class Case(NamedTuple):
    dtype: str
    form: str
    shape: tuple[int, ...]
    """Batch dims, rows, products, columns."""

    @property
    def operations(self) -> float:
        count = 2.0
        for extent in self.shape:
            count *= extent
        return count

    def __str__(self) -> str:
        return f"{self.dtype:5s}{self.form:3s} {'x'.join(map(str, self.shape))}"


def executors(case: Case) -> dict[str, Callable[[], Any]]:
    """What to call for each library; the calls wait for their results."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    import pyiree

    dtype = {"f32": np.float32, "f64": np.float64, "bf16": jnp.bfloat16, "i8": np.int8}[case.dtype]
    *batch, rows, products, columns = case.shape
    generator = np.random.default_rng(0)

    def factor(*shape: int) -> Any:
        if dtype is np.int8:
            return generator.integers(-128, 128, shape).astype(dtype)
        return generator.standard_normal(shape).astype(dtype)

    left = factor(*batch, *((rows, products) if case.form[0] == "n" else (products, rows)))
    right = factor(*batch, *((products, columns) if case.form[1] == "n" else (columns, products)))

    def product(x: Any, y: Any) -> Any:
        x = x if case.form[0] == "n" else x.swapaxes(-1, -2)
        y = y if case.form[1] == "n" else y.swapaxes(-1, -2)
        return jnp.matmul(x, y, preferred_element_type=jnp.int32) if dtype is np.int8 else x @ y

    ours, theirs = pyiree.jit(product), jax.jit(product)
    on_ours, on_theirs = pyiree.device_put((left, right)), jax.device_put((left, right))
    expected, found = np.asarray(theirs(left, right), np.float64), np.asarray(ours(left, right), np.float64)
    error = float(np.abs(found - expected).max() / np.abs(expected).max())
    if error > {"f32": 1e-5, "f64": 1e-13, "bf16": 1e-2, "i8": 0}[case.dtype]:
        raise SystemExit(f"{case}: wrong by {error}")
    calls = {
        "pyiree": lambda: ours(*on_ours).block_until_ready(),
        "jax": lambda: theirs(*on_theirs).block_until_ready(),
    }
    if case.dtype in ("f32", "f64"):
        calls["numpy"] = lambda: product(left, right)
    return calls


def peak(dtype: str, processors: list[int], loads: bool = False) -> Callable[[], float]:
    """A function that measures the billions of operations a second that instructions on registers alone reach, or,
    with `loads`, on registers that are loaded from the first-level cache at every step, as in a matrix product."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    width = 512 if features.get("avx512f") else 256 if features.get("avx2") else 128
    lane, bits = ("double", 64) if dtype == "f64" else ("float", 32)
    lanes = width // bits
    if dtype == "i8" and features.get("avx512vnni"):
        total, factor, operations = "<16 x i32>", "<64 x i8>", 128
        call = "@llvm.x86.avx512.vpdpbusd.512(<16 x i32> {sum}, <64 x i8> {x}, <64 x i8> {y})"
    else:
        total = factor = f"<{lanes} x {lane}>"
        operations = 2 * lanes
        call = f"@llvm.fma.v{lanes}f{bits}({factor} {{x}}, {factor} {{y}}, {total} {{sum}})"
    sums = range(_PEAK_SUMS if width == 512 else _PEAK_SUMS // 2)
    loaded: list[str] = []
    operands = [("%x", "%x")] * len(sums)
    if loads:
        rows, vector = range(len(sums) // _TILE_WIDTH), f"<{lanes} x {lane}>"
        operands = [(f"%x{k}", f"%y{row}") for row in rows for k in range(_TILE_WIDTH)]
        for k in range(_TILE_WIDTH):
            loaded += [
                f"  %p{k} = getelementptr i8, ptr %at, i64 {(1 + k) * _LINE_BYTES}",
                f"  %x{k} = load {factor}, ptr %p{k}, align 1",
            ]
        for k in rows:
            loaded += [
                f"  %q{k} = getelementptr {lane}, ptr %at, i64 {k}",
                f"  %e{k} = load {lane}, ptr %q{k}, align 1",
                f"  %f{k} = insertelement {vector} poison, {lane} %e{k}, i32 0",
                f"  %g{k} = shufflevector {vector} %f{k}, {vector} poison, <{lanes} x i32> zeroinitializer",
                f"  %y{k} = bitcast {vector} %g{k} to {factor}",
            ]
    step = _LINE_BYTES * (1 + _TILE_WIDTH)
    lines = [
        f"define void @spin(i64 %n, ptr %to) {{\nentry:\n  %x = load {factor}, ptr %to, align 1\n  br label %loop",
        "loop:\n  %i = phi i64 [0, %entry], [%j, %loop]\n  %o = phi i64 [0, %entry], [%next, %loop]",
        *[f"  %s{k} = phi {total} [zeroinitializer, %entry], [%t{k}, %loop]" for k in sums],
        "  %at = getelementptr i8, ptr %to, i64 %o",
        *loaded,
        *[f"  %t{k} = call {total} {call.format(sum=f'%s{k}', x=operands[k][0], y=operands[k][1])}" for k in sums],
        f"  %after = add i64 %o, {step}\n  %next = and i64 %after, {step * _TILE_STEPS - 1}",
        "  %j = add i64 %i, 1\n  %more = icmp ult i64 %j, %n\n  br i1 %more, label %loop, label %exit\nexit:",
        *[f"  store volatile {total} %t{k}, ptr %to, align 1" for k in sums],
        "  ret void\n}",
        f"declare {total} {call.format(sum='', x='', y='')}",
    ]
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features.flatten(), opt=2)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly("\n".join(lines)), machine)
    engine.finalize_object()
    spin = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(engine.get_function_address("spin"))

    def work(processor: int, seconds: list[float]) -> None:
        os.sched_setaffinity(0, {processor})
        memory = ctypes.create_string_buffer(step * _TILE_STEPS + _LINE_BYTES)
        aligned = math.ceil(ctypes.addressof(memory) / _LINE_BYTES) * _LINE_BYTES
        began = time.perf_counter()
        spin(_PEAK_STEPS, aligned)
        seconds.append(time.perf_counter() - began)

    def measure(engine: Any = engine) -> float:
        seconds: list[float] = []
        workers = [threading.Thread(target=work, args=(processor, seconds)) for processor in processors]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return sum(_PEAK_STEPS * len(sums) * operations / s / 1e9 for s in seconds)

    return measure


def measure(
    calls: dict[str, Callable[[], Any]], highest: list[Callable[[], float]], rounds: int
) -> tuple[list[float], dict[str, list[float]]]:
    """The highest rates, and the seconds of all calls."""
    found: list[list[float]] = []

    def before_round() -> None:
        found.append([rate() for rate in highest])

    samples = seconds_of(calls, rounds, _ROUND_SECONDS, _SETTLE_SECONDS, before_round)
    return [max(rates) for rates in zip(*found, strict=True)], samples


def use_processors(threads: int | None) -> list[int]:
    """Keeps this process, before a library is imported, to so many processors (None: all); which they are."""
    processors = sorted(os.sched_getaffinity(0))[:threads]
    os.sched_setaffinity(0, processors)  # each library makes its threads for those that it may use
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    return processors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtypes", default="f32,f64", help="of f32, f64, bf16, i8")
    parser.add_argument("--forms", default="nn,nt,tn,tt")
    parser.add_argument("--sizes", default="64,128,256,512,1000,1024,1536,2048", help="of square products")
    parser.add_argument("--shapes", help="instead of sizes: rows x products x columns, batch dims before them")
    parser.add_argument("--threads", type=int, help="processors to use (default: all)")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    processors = use_processors(options.threads)
    import jax

    jax.config.update("jax_enable_x64", True)
    shapes = [tuple(map(int, s.split("x"))) for s in (options.shapes or "").split(",") if s]
    shapes = shapes or [(int(s),) * 3 for s in options.sizes.split(",")]
    columns = f"{'peak':>8s}{'ceiling':>9s}{'pyiree':>16s}{'jax':>16s}{'numpy':>16s}{'by best':>9s}"
    print(f"{'Gflop/s (part of the peak)':34s}{columns}")
    for dtype in options.dtypes.split(","):
        highest = [peak(dtype, processors), peak(dtype, processors, loads=True)]
        for case in [Case(dtype, form, shape) for form in options.forms.split(",") for shape in shapes]:
            (most, ceiling), samples = measure(executors(case), highest, options.rounds)
            rates = [case.operations / min(times) / 1e9 for times in samples.values()]
            cells = [f"{rate:9.1f} ({rate / most:4.2f})" for rate in rates]
            cells += [" " * 16] * (3 - len(cells))
            ours, *peers = [statistics.median(times) for times in samples.values()]
            print(f"{case!s:34s}{most:8.1f}{ceiling:9.1f}{''.join(cells)}{ours / min(peers):9.2f}", flush=True)


if __name__ == "__main__":
    main()
