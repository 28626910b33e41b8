"""Flax: an MLP-Mixer and a ViT block, their initialisation and their gradients."""


import jax
import jax.numpy as jnp
import pyiree
import pytest

nn = pytest.importorskip("flax.linen")
nnx = pytest.importorskip("flax.nnx")
pytest.importorskip("optax")


class VisionTransformerBlock(nn.Module):
    @nn.compact
    def __call__(self, x, train=False):
        y = nn.LayerNorm()(x)
        x = x + nn.MultiHeadDotProductAttention(num_heads=4)(y, y)
        y = nn.LayerNorm()(x)
        y = nn.Dense(x.shape[-1])(nn.gelu(nn.Dense(128)(y)))
        return x + nn.Dropout(0.1, deterministic=not train)(y)


class ConvolutionWithStatistics(nn.Module):
    @nn.compact
    def __call__(self, x, train=True):
        x = nn.Conv(8, (3, 3))(x)
        return nn.relu(nn.BatchNorm(use_running_average=not train)(x))


KEY = jax.random.key(0)
MODELS = {
    "mixer": (lambda load_example: load_example("mixer_flax").Mixer(), jax.random.normal(KEY, (2, 32, 32, 3))),
    "vit": (lambda _: VisionTransformerBlock(), jax.random.normal(KEY, (2, 17, 32))),
}


@pytest.mark.parametrize("name", MODELS)
def test_gradients(name, same, load_example):
    make, x = MODELS[name]
    model = make(load_example)
    parameters = jax.jit(model.init)(KEY, x)
    same(pyiree.jit(model.init)(KEY, x), parameters)

    def loss(parameters, x):
        return jnp.mean((model.apply(parameters, x) - 1) ** 2)

    step = jax.value_and_grad(loss)
    same(pyiree.jit(step)(parameters, x), jax.jit(step)(parameters, x))


def test_dropout(same):
    model, x = VisionTransformerBlock(), MODELS["vit"][1]
    parameters = model.init(KEY, x)

    def apply(parameters, x, key):
        return model.apply(parameters, x, train=True, rngs={"dropout": key})

    same(pyiree.jit(apply)(parameters, x, KEY), jax.jit(apply)(parameters, x, KEY))


def test_running_statistics(same):
    model, x = ConvolutionWithStatistics(), jax.random.normal(KEY, (4, 8, 8, 3))
    variables = model.init(KEY, x)

    def apply(variables, x):
        return model.apply(variables, x, mutable=["batch_stats"])

    same(pyiree.jit(apply)(variables, x), jax.jit(apply)(variables, x))


def test_nnx(same):
    """The split form, which is how a module's arrays pass through any transform."""
    model = nnx.Sequential(nnx.Linear(8, 16, rngs=nnx.Rngs(0)), nnx.relu, nnx.Linear(16, 4, rngs=nnx.Rngs(1)))
    definition, state = nnx.split(model)
    x = jax.random.normal(KEY, (5, 8))

    def loss(state, x):
        return jnp.mean(nnx.merge(definition, state)(x) ** 2)

    step = jax.value_and_grad(loss)
    same(pyiree.jit(step)(state, x), jax.jit(step)(state, x))
