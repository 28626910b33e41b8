"""Shows a small function in every phase of the compiler.

    python examples/inspect_ir.py [PHASE ...]
"""

import signal
import sys

import jax.numpy as jnp
import numpy as np
import pyiree

PHASES = ("stablehlo", "input", "flow", "stream", "hal", "vm", "kernel", "llvm", "asm")


@pyiree.jit
def layer(x, w, b):
    """A dense layer."""
    return jnp.tanh(x @ w + b)


def main():
    phases = sys.argv[1:] or PHASES
    if not set(phases) <= set(PHASES):
        sys.exit(f"the phases are {', '.join(PHASES)}")
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it without a word
    x, w, b = (np.ones(shape, np.float32) for shape in ((8, 16), (16, 32), (32,)))
    lowered = layer.lower(x, w, b)
    for phase in phases:
        print(f"// ---- {phase}")
        print(lowered.as_text(phase, large_constants=False))


if __name__ == "__main__":
    main()
