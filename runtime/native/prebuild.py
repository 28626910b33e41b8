"""What an installation brings along: `python -m pyiree.runtime.native.prebuild` compiles the native runtime ahead.

Leaves: in the folder beside this file, the object code for the processor that it runs on, and the bitcode that other
processors make theirs from. Needs numba and llvmlite, nothing else that pyiree depends on.
"""

import shutil
import tempfile
from pathlib import Path

from pyiree.runtime.native.build import build_module
from pyiree.runtime.native.object_code import PREBUILT, bitcode_key, cache_key, write
from pyiree.runtime.native.shared_object import make_shared_object


def prebuild() -> None:
    """Fills the folder anew."""
    with tempfile.TemporaryDirectory() as scratch:
        module = build_module(Path(scratch))
    shutil.rmtree(PREBUILT, ignore_errors=True)
    PREBUILT.mkdir()
    write(PREBUILT / f"runtime-{bitcode_key()}.bc", module.as_bitcode())
    write(PREBUILT / f"runtime-{cache_key()}.so", make_shared_object(module))


if __name__ == "__main__":
    prebuild()
