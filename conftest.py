"""Takes the project root off the import path, so that `jit`, `compiler` and `runtime` import only as `pyiree.*`."""

import pathlib
import sys

_ROOT = pathlib.Path(__file__).resolve().parent
sys.path[:] = [entry for entry in sys.path if pathlib.Path(entry or ".").resolve() != _ROOT]
