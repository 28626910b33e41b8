"""Batch normalisation of StableHLO text beside its definition, and its gradients beside jax's of that definition."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

EPSILON = 0.001


def _normalize(x, scale, offset, mean, variance, dim):
    def spread(v):
        return jnp.expand_dims(v, [d for d in range(x.ndim) if d != dim])

    return spread(scale) * (x - spread(mean)) / jnp.sqrt(spread(variance) + EPSILON) + spread(offset)


def _train(x, scale, offset, dim):
    others = tuple(d for d in range(x.ndim) if d != dim)
    mean, variance = x.mean(others), x.var(others)
    return _normalize(x, scale, offset, mean, variance, dim), mean, variance


def _run(name, dim, arrays, shapes):
    from pyiree.compiler import pipeline
    from pyiree.runtime import session

    given = [f"tensor<{'x'.join(map(str, a.shape))}xf32>" for a in arrays]
    made = [f"tensor<{'x'.join(map(str, s))}xf32>" for s in shapes]
    results = ", ".join(f"%r#{i}" for i in range(len(made)))
    text = (
        f"func.func @main({', '.join(f'%a{i}: {t}' for i, t in enumerate(given))}) -> ({', '.join(made)}) {{\n"
        f'%r:{len(made)} = "stablehlo.batch_norm_{name}"({", ".join(f"%a{i}" for i in range(len(given)))}) '
        f"{{epsilon = {EPSILON} : f32, feature_index = {dim} : i64}} : ({', '.join(given)}) -> ({', '.join(made)})\n"
        f"return {results} : {', '.join(made)}\n}}"
    )
    with session.load(pipeline.compile(text).vmfb) as module:
        found = module["main"](*arrays)
        return [np.array(r) for r in (found if len(made) > 1 else [found])]


@pytest.mark.parametrize(("shape", "dim"), [((4, 5, 3), 2), ((7, 2, 1, 3), 1), ((6,), 0)])
def test_batch_norm(shape, dim):
    random = np.random.default_rng(2)
    x, gradient = (random.standard_normal(shape).astype(np.float32) for _ in range(2))
    small = [random.random(shape[dim]).astype(np.float32) + 0.5 for _ in range(4)]
    scale, offset, mean, variance = small
    (found,) = _run("inference", dim, [x, scale, offset, mean, variance], [shape])
    np.testing.assert_allclose(found, jax.jit(_normalize, static_argnums=5)(x, *small, dim), rtol=1e-5, atol=1e-6)
    found = _run("training", dim, [x, scale, offset], [shape, small[0].shape, small[0].shape])
    wanted = jax.jit(_train, static_argnums=3)(x, scale, offset, dim)
    for mine, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-5)
    mean, variance = (np.asarray(v) for v in wanted[1:])
    shapes = [shape, small[0].shape, small[0].shape]
    found = _run("grad", dim, [x, scale, mean, variance, gradient], shapes)
    back = jax.jit(lambda gradient, *given: jax.vjp(lambda *given: _train(*given, dim)[0], *given)[1](gradient))
    for mine, other in zip(found, back(gradient, x, scale, offset), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-4)
