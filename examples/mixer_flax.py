"""Trains an MLP-Mixer, written with Flax and Optax, on scikit-learn's handwritten digits; compiled by pyiree.

Libraries over JAX need nothing special: `pyiree.jit` stands where `jax.jit` would. The optimizer's state and the
parameters are donated, so that a step writes into the memory of the one before.

    pip install -e '.[examples]'
    python examples/mixer_flax.py [--epochs N]
"""

from __future__ import annotations

import argparse
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pyiree
from extra import libraries_of_the_extra

with libraries_of_the_extra():
    import flax.linen as nn
    import optax
    from sklearn.datasets import load_digits

BATCH = 64


class MixerBlock(nn.Module):
    """Mixes along the patches, then along the channels."""

    tokens: int
    channels: int

    @nn.compact
    def __call__(self, x):
        y = nn.LayerNorm()(x).swapaxes(1, 2)
        x = x + nn.Dense(x.shape[1])(nn.gelu(nn.Dense(self.tokens)(y))).swapaxes(1, 2)
        y = nn.LayerNorm()(x)
        return x + nn.Dense(x.shape[2])(nn.gelu(nn.Dense(self.channels)(y)))


class Mixer(nn.Module):
    """Patches of 2x2 pixels, two blocks, the mean of the patches, a score for each digit."""

    @nn.compact
    def __call__(self, images):
        x = nn.Conv(32, (2, 2), strides=(2, 2))(images)
        x = x.reshape(x.shape[0], -1, x.shape[-1])
        for _ in range(2):
            x = MixerBlock(tokens=32, channels=64)(x)
        return nn.Dense(10)(nn.LayerNorm()(x).mean(axis=1))


model = Mixer()
optimizer = optax.adamw(2e-3)


def loss(parameters, images, labels):
    scores = model.apply(parameters, images)
    return optax.softmax_cross_entropy_with_integer_labels(scores, labels).mean()


@functools.partial(pyiree.jit, donate_argnums=(0, 1))
def step(parameters, state, images, labels):
    value, gradient = jax.value_and_grad(loss)(parameters, images, labels)
    updates, state = optimizer.update(gradient, state, parameters)
    return optax.apply_updates(parameters, updates), state, value


@pyiree.jit
def predict(parameters, images):
    return jnp.argmax(model.apply(parameters, images), axis=-1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=20)
    epochs = parser.parse_args().epochs
    digits = load_digits()
    images, labels = (digits.images[..., None] / 16).astype(np.float32), digits.target.astype(np.int32)
    random = np.random.default_rng(0)
    order = random.permutation(len(images))
    train, test = order[:1437], order[1437:]
    parameters = pyiree.jit(model.init)(jax.random.key(0), images[:1])
    state = optimizer.init(parameters)
    for epoch in range(epochs):
        shuffled = random.permutation(train)
        for begin in range(0, len(shuffled) - BATCH + 1, BATCH):
            batch = shuffled[begin : begin + BATCH]
            parameters, state, value = step(parameters, state, images[batch], labels[batch])
        print(f"epoch {epoch + 1}: loss {float(value):.4f}")
    accuracy = float(np.mean(np.asarray(predict(parameters, images[test])) == labels[test]))
    print(f"test accuracy {accuracy:.4f}")


if __name__ == "__main__":
    main()
