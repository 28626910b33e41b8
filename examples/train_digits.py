"""Trains a small network on scikit-learn's 1,797 handwritten digits, compiled by pyiree.

Two hidden layers, softmax cross-entropy, SGD with momentum; the whole training step, gradient included, is one
compiled program. Run it twice: the second run loads the step from the disk cache.

    python examples/train_digits.py [--epochs N] [--compare]

`--compare` trains beside it with jax.jit on the same data and seeds and prints how far the losses are apart.
"""

from __future__ import annotations

import argparse
import itertools
import time

import jax
import jax.numpy as jnp
import numpy as np
import pyiree
from extra import libraries_of_the_extra
from rich.console import Console
from rich.progress import track

with libraries_of_the_extra():
    from sklearn.datasets import load_digits

LAYERS = (64, 128, 64, 10)
BATCH = 64
LEARNING_RATE = 0.05
MOMENTUM = 0.9


def load():
    """Images scaled to [0, 1] and labels, split 80/20 by a fixed shuffle."""
    digits = load_digits()
    images = (digits.data / 16.0).astype(np.float32)
    labels = digits.target.astype(np.int32)
    order = np.random.default_rng(0).permutation(len(images))
    images, labels = images[order], labels[order]
    split = int(0.8 * len(images))
    return (images[:split], labels[:split]), (images[split:], labels[split:])


def initial_parameters(seed=0):
    """He-initialised weights and zero biases."""
    rng = np.random.default_rng(seed)
    return [
        (
            (rng.standard_normal((m, n)) * np.sqrt(2.0 / m)).astype(np.float32),
            np.zeros(n, np.float32),
        )
        for m, n in itertools.pairwise(LAYERS)
    ]


def logits_of(parameters, images):
    """The network."""
    hidden = images
    for weights, bias in parameters[:-1]:
        hidden = jax.nn.relu(hidden @ weights + bias)
    weights, bias = parameters[-1]
    return hidden @ weights + bias


def loss_of(parameters, images, labels):
    """Mean softmax cross-entropy."""
    log_probabilities = jax.nn.log_softmax(logits_of(parameters, images))
    return -jnp.mean(jnp.sum(jax.nn.one_hot(labels, LAYERS[-1]) * log_probabilities, axis=-1))


def step(parameters, velocity, images, labels):
    """One step of SGD with momentum; gives the loss before it."""
    loss, gradient = jax.value_and_grad(loss_of)(parameters, images, labels)
    velocity = jax.tree.map(lambda v, g: MOMENTUM * v - LEARNING_RATE * g, velocity, gradient)
    parameters = jax.tree.map(lambda p, v: p + v, parameters, velocity)
    return parameters, velocity, loss


def correct(parameters, images, labels):
    """How many images are recognised."""
    return jnp.sum(jnp.argmax(logits_of(parameters, images), axis=-1) == labels)


def train(jit, epochs, console=None):
    """Trains with the given jit; gives the losses of all steps and the test accuracy."""
    (images, labels), (test_images, test_labels) = load()
    train_step, count_correct = jit(step), jit(correct)
    parameters = initial_parameters()
    velocity = jax.tree.map(np.zeros_like, parameters)
    rng = np.random.default_rng(1)
    losses = []
    epochs_shown = range(epochs) if console is None else track(range(epochs), "training", console=console)
    for epoch in epochs_shown:
        order = rng.permutation(len(images))
        first = len(losses)
        for start in range(0, len(images) - BATCH + 1, BATCH):
            batch = order[start : start + BATCH]
            parameters, velocity, loss = train_step(parameters, velocity, images[batch], labels[batch])
            losses.append(float(loss))
        if console is not None:
            console.print(f"epoch {epoch + 1:2d}  loss {np.mean(losses[first:]):.4f}")
    accuracy = int(count_correct(parameters, test_images, test_labels)) / len(test_labels)
    return losses, accuracy


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--epochs", type=int, default=20)
    arguments.add_argument("--compare", action="store_true", help="train with jax.jit too and compare")
    options = arguments.parse_args()
    console = Console()
    started = time.perf_counter()
    losses, accuracy = train(pyiree.jit, options.epochs, console)
    console.print(f"test accuracy {accuracy:.4f}  ({time.perf_counter() - started:.1f} s)")
    if options.compare:
        expected, expected_accuracy = train(jax.jit, options.epochs)
        first = np.array(losses[:100]), np.array(expected[:100])
        error = np.max(np.abs(first[0] - first[1]) / np.abs(first[1]))
        console.print(f"jax.jit: test accuracy {expected_accuracy:.4f}, losses of 100 steps within {error:.1e}")


if __name__ == "__main__":
    main()
