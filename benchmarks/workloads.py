"""The project's benchmark programs, in the style of user code.

Each is a JAX function with arguments for two sizes, and where there is a natural one, the same in NumPy and in Numba.
`WORKLOADS` maps their names to them, in the order of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


@dataclass(frozen=True)
class Workload:
    """One program. `arguments` makes them from a random generator and the parameters of a size."""

    name: str
    group: str
    function: Callable[..., Any]
    arguments: Callable[[np.random.Generator, Any], tuple[Any, ...]]
    small: Any
    large: Any
    numpy: Callable[..., Any] | None = None
    numba: Callable[[], Callable[..., Any]] | None = None
    tolerance: float | None = 1e-3
    """The largest error beside the largest magnitude; None where results may differ, as random numbers do."""


WORKLOADS: dict[str, Workload] = {}


def _add(
    name: str, group: str, function: Callable[..., Any], arguments: Any, sizes: tuple[Any, Any], **more: Any
) -> None:
    WORKLOADS[name] = Workload(name, group, function, arguments, *sizes, **more)


def _floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape, dtype=np.float32)


# -- elementwise and rows


def horner(x, coefficients=(0.5, -1.25, 0.75, 2.0, -0.125, 1.0)):
    y = coefficients[0]
    for c in coefficients[1:]:
        y = y * x + c
    return y


def _numba_horner():
    import numba

    @numba.njit(parallel=True)
    def run(x):
        out = np.empty_like(x)
        for i in numba.prange(x.size):
            y = np.float32(0.5)
            for c in (-1.25, 0.75, 2.0, -0.125, 1.0):
                y = y * x[i] + np.float32(c)
            out[i] = y
        return out

    return run


def _numpy_horner(x):
    y = np.full_like(x, 0.5)
    for c in (-1.25, 0.75, 2.0, -0.125, 1.0):
        y = y * x + np.float32(c)
    return y


_add("horner", "elementwise", horner, lambda r, n: (_floats(r, n),), (4096, 1 << 22),
     numpy=_numpy_horner, numba=_numba_horner)  # fmt: skip


def mixture(x, means, scales):
    """The log density of a mixture of normal distributions."""
    z = (x[:, None] - means) / scales
    return jax.scipy.special.logsumexp(-0.5 * z * z - jnp.log(scales), axis=1)


def _numpy_mixture(x, means, scales):
    z = (x[:, None] - means) / scales
    t = np.float32(-0.5) * z * z - np.log(scales)
    m = t.max(1)
    return m + np.log(np.exp(t - m[:, None]).sum(1))


_add("mixture", "rows", mixture, lambda r, p: (_floats(r, p[0]), _floats(r, p[1]), 1 + r.random(p[1], np.float32)),
     ((512, 8), (1 << 17, 16)), numpy=_numpy_mixture)  # fmt: skip


def rms_norm(x, weight):
    return x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * weight


def _numpy_rms_norm(x, weight):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-6)) * weight


_add("rms_norm", "rows", rms_norm, lambda r, p: (_floats(r, *p), _floats(r, p[1])), ((32, 256), (4096, 2048)),
     numpy=_numpy_rms_norm)  # fmt: skip

_add("standardise", "columns", lambda x: (x - x.mean(0)) / (x.std(0) + 1e-6), lambda r, p: (_floats(r, *p),),
     ((128, 64), (20000, 256)), numpy=lambda x: (x - x.mean(0)) / (x.std(0) + np.float32(1e-6)))  # fmt: skip


def cross_entropy(logits, labels):
    picked = jnp.take_along_axis(logits, labels[:, None], 1)[:, 0]
    return (jax.scipy.special.logsumexp(logits, axis=1) - picked).mean()


_add("cross_entropy", "rows", cross_entropy,
     lambda r, p: (_floats(r, *p), r.integers(0, p[1], p[0]).astype(np.int32)), ((16, 100), (1024, 8192)))  # fmt: skip

# -- order and movement

_add("running_maximum", "scan", lambda x: lax.cummax(x), lambda r, n: (_floats(r, n),), (2048, 1 << 21),
     numpy=np.maximum.accumulate)  # fmt: skip
_add("sort_pairs", "sort", lambda k, v: v[jnp.argsort(k)], lambda r, n: (_floats(r, n), _floats(r, n)),
     (1000, 300_000), numpy=lambda k, v: v[np.argsort(k, kind="stable")])  # fmt: skip
_add("best_five", "sort", lambda x: lax.top_k(x, 5)[0], lambda r, p: (_floats(r, *p),), ((4, 500), (512, 10000)),
     numpy=lambda x: -np.sort(-x, 1)[:, :5])  # fmt: skip
_add("histogram", "scatter", lambda i: jnp.zeros(256, jnp.int32).at[i].add(1),
     lambda r, n: (r.integers(0, 256, n).astype(np.int32),), (2000, 1 << 20),
     numpy=lambda i: np.bincount(i, minlength=256).astype(np.int32))  # fmt: skip
_add("channels_first", "movement", lambda x: jnp.transpose(x, (0, 3, 1, 2)) * 2, lambda r, p: (_floats(r, *p),),
     ((1, 16, 16, 32), (8, 112, 112, 64)),
     numpy=lambda x: np.ascontiguousarray(x.transpose(0, 3, 1, 2)) * np.float32(2))  # fmt: skip

# -- products


def dense(x, w, b):
    return jax.nn.relu(x @ w + b)


_add("dense", "product", dense, lambda r, p: (_floats(r, *p[:2]), _floats(r, *p[1:]), _floats(r, p[2])),
     ((16, 64, 64), (1024, 1024, 1024)), numpy=lambda x, w, b: np.maximum(x @ w + b, 0))  # fmt: skip


def causal_attention(q, k, v):
    scores = q @ k.T / np.float32(q.shape[-1] ** 0.5)
    places = jnp.arange(q.shape[0])
    return jax.nn.softmax(jnp.where(places[:, None] >= places, scores, -jnp.inf)) @ v


_add("causal_attention", "product", causal_attention, lambda r, p: tuple(_floats(r, *p) for _ in range(3)),
     ((32, 16), (1024, 64)))  # fmt: skip


def conv_and_pool(x, w):
    h = jax.nn.relu(lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
    return lax.reduce_window(h, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


_add("conv_and_pool", "convolution", conv_and_pool,
     lambda r, p: (_floats(r, p[0], p[1], p[1], p[2]), _floats(r, 5, 5, p[2], p[3])),
     ((1, 12, 8, 8), (8, 64, 16, 32)))  # fmt: skip


def logistic_step(w, x, y):
    def loss(w):
        z = x @ w
        return (jnp.logaddexp(0, z) - y * z).mean() + 1e-4 * (w * w).sum()

    return w - 0.1 * jax.grad(loss)(w)


def _numpy_logistic_step(w, x, y):
    z = x @ w
    gradient = x.T @ ((1 / (1 + np.exp(-z)) - y) / np.float32(len(y))) + np.float32(2e-4) * w
    return w - np.float32(0.1) * gradient


_add("logistic_step", "training", logistic_step,
     lambda r, p: (_floats(r, p[1]), _floats(r, *p), r.integers(0, 2, p[0]).astype(np.float32)),
     ((100, 20), (50000, 100)), numpy=_numpy_logistic_step)  # fmt: skip

# -- loops


def pendulums(state, steps=300, h=0.01):
    """Many pendulums, by the symplectic Euler method."""

    def step(_, s):
        angle, speed = s
        speed = speed - h * jnp.sin(angle)
        return angle + h * speed, speed

    return lax.fori_loop(0, steps, step, state)


def _numba_pendulums():
    import numba

    @numba.njit(parallel=True)
    def run(angles, speeds):
        a, s = angles.copy(), speeds.copy()
        h = np.float32(0.01)
        for i in numba.prange(a.size):
            x, v = a[i], s[i]
            for _ in range(300):
                v = v - h * np.float32(np.sin(x))
                x = x + h * v
            a[i], s[i] = x, v
        return a, s

    return lambda state, run=run: run(*state)


_add("pendulums", "loop", pendulums, lambda r, n: ((_floats(r, n), _floats(r, n)),), (64, 1 << 15),
     numba=_numba_pendulums)  # fmt: skip


def waves(u, v, steps=50):
    """The wave equation on a torus."""

    def step(_, s):
        u, v = s
        around = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)
        v = v + 0.1 * (around - 4 * u)
        return u + 0.1 * v, v

    return lax.fori_loop(0, steps, step, (u, v))


def _numpy_waves(u, v):
    for _ in range(50):
        around = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1)
        v = v + np.float32(0.1) * (around - 4 * u)
        u = u + np.float32(0.1) * v
    return u, v


_add("waves", "loop", waves, lambda r, n: (_floats(r, n, n), np.zeros((n, n), np.float32)), (32, 700),
     numpy=_numpy_waves)  # fmt: skip


def gru(params, xs):
    def cell(h, x):
        z = jax.nn.sigmoid(x @ params["wz"] + h @ params["uz"])
        r = jax.nn.sigmoid(x @ params["wr"] + h @ params["ur"])
        h = (1 - z) * h + z * jnp.tanh(x @ params["wh"] + (r * h) @ params["uh"])
        return h, h

    return lax.scan(cell, jnp.zeros((xs.shape[1], params["uz"].shape[0])), xs)[1]


def _gru_arguments(r: np.random.Generator, p: Sequence[int]) -> tuple[Any, ...]:
    steps, batch, width = p
    names = ("wz", "uz", "wr", "ur", "wh", "uh")
    return {n: _floats(r, width, width) / np.float32(width**0.5) for n in names}, _floats(r, steps, batch, width)


_add("gru", "loop", gru, _gru_arguments, ((10, 2, 32), (64, 64, 256)))

_add("random_walk", "random", lambda key: jnp.cumsum(jax.random.normal(key, (1 << 18,))),
     lambda r, n: (np.array([0, n], np.uint32),), (7, 8), tolerance=1e-2)  # fmt: skip
