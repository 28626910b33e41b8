"""Grouping takes time in proportion to the ops."""

import time

import jax
import jax.numpy as jnp


def _network(depth, width=8):
    """Residual blocks with everything that groups meet: matmuls, softmax, normalisation, several readers."""

    def block(x, w):
        h = (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)
        return x + jax.nn.softmax(jnp.tanh(h @ w) + h) @ w + jnp.sin(h).sum(0)

    def loss(ws, x):
        for w in ws:
            x = block(x, w)
        return (x**2).mean()

    weights = [jax.ShapeDtypeStruct((width, width), jnp.float32)] * depth
    lowered = jax.jit(jax.grad(loss)).lower(weights, jax.ShapeDtypeStruct((width, width), jnp.float32))
    return lowered.compiler_ir("stablehlo")


def _seconds(source):
    """Process time of grouping, and how many ops there were."""
    from pyiree.compiler.flow.form_dispatch_regions import form_dispatch_regions
    from pyiree.compiler.input.pipeline import import_program
    from pyiree.compiler.ir.passes import PassContext, PassManager

    best = None
    for _ in range(2):
        module = import_program(source)
        PassManager(("canonicalize", "cse")).run(module, PassContext())
        (func,) = module.body_block.ops
        count = sum(1 for _ in func.walk())
        started = time.process_time()
        form_dispatch_regions(func, PassContext())
        taken = time.process_time() - started
        best = taken if best is None else min(best, taken)
    return best, count


def test_near_linear():
    small, few = _seconds(_network(6))
    large, many = _seconds(_network(24))
    assert many > 5000
    assert large / many < 2.5 * small / few, f"{small:.3f} s for {few} ops, {large:.3f} s for {many}"
