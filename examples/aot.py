"""Compiles a function to a file and runs the file in a process that never imports jax.

    python examples/aot.py
"""

import pathlib
import subprocess
import sys
import tempfile

import jax.numpy as jnp
import numpy as np
import pyiree

RUN = """
import sys
import numpy as np
from pyiree.runtime import session

module = session.load(sys.argv[1])
x = np.arange(6, dtype=np.float32).reshape(2, 3)
print(np.asarray(module.main(x)))
assert "jax" not in sys.modules
"""


def softmax(x):
    """Softmax along the last axis."""
    e = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))
    return e / jnp.sum(e, axis=-1, keepdims=True)


def main():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    compiled = pyiree.jit(softmax).lower(x).compile()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "softmax.vmfb"
        compiled.save(path)
        print(f"{path.name}: {path.stat().st_size} bytes; iree-run-module runs it too")
        subprocess.run([sys.executable, "-c", RUN, str(path)], check=True)
    print(np.asarray(softmax(x)))


if __name__ == "__main__":
    main()
