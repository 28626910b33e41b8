"""Grouping takes work in proportion to the ops."""

import sys

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


def _calls(source):
    """How many functions grouping calls, and how many ops there were."""
    from pyiree.compiler.flow.form_dispatch_regions import form_dispatch_regions
    from pyiree.compiler.input.pipeline import import_program
    from pyiree.compiler.ir.passes import PassContext, PassManager

    module = import_program(source)
    PassManager(("canonicalize", "cse")).run(module, PassContext())
    (func,) = module.body_block.ops
    count = sum(1 for _ in func.walk())
    calls = 0

    def seen(frame, event, argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    outer = sys.getprofile()
    sys.setprofile(seen)
    try:
        form_dispatch_regions(func, PassContext())
    finally:
        sys.setprofile(outer)
    return calls, count


def test_near_linear():
    small, few = _calls(_network(6))
    large, many = _calls(_network(24))
    assert many > 5000
    assert large / many < 1.2 * small / few, f"{small} calls for {few} ops, {large} calls for {many}"
