"""Computes the package list from the three source folders, so that no subpackage can be forgotten.

Beside the sources an installation gets the native runtime, compiled ahead, so that the first use need not wait for
it. A wheel also gets a digest of the compiler's sources, by which the compilation cache knows the compiler; an
editable install gets its bytecode files, which pip writes for wheels only.
"""

import compileall
import hashlib
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

from setuptools import Distribution, find_packages, setup
from setuptools.command.build_py import build_py

ROOT = pathlib.Path(__file__).resolve().parent
FOLDERS = {"pyiree": "jit", "pyiree.compiler": "compiler", "pyiree.runtime": "runtime"}

packages = []
for package, folder in FOLDERS.items():
    packages.append(package)
    packages.extend(f"{package}.{name}" for name in find_packages(folder))


class Build(build_py):
    """Writes `pyiree/compiler/source_digest.txt`; an editable install has none and looks at its files. There, every
    process would compile all modules anew wherever PYTHONDONTWRITEBYTECODE is set: half of what a start costs."""

    def run(self):
        super().run()
        if self.editable_mode:
            for folder in FOLDERS.values():
                compileall.compile_dir(folder, quiet=1)
            with tempfile.TemporaryDirectory() as layout:
                _link_package(pathlib.Path(layout, "pyiree"))
                _compile_native_runtime(layout)
            return
        root = pathlib.Path(self.build_lib, "pyiree")
        digest = hashlib.sha256()
        for source in sorted([*root.glob("compiler/**/*.py"), *root.glob("runtime/vmfb/**/*.py")]):
            digest.update(str(source.relative_to(root)).encode() + b"\0" + source.read_bytes() + b"\0")
        root.joinpath("compiler", "source_digest.txt").write_text(digest.hexdigest())
        _compile_native_runtime(os.path.abspath(self.build_lib))


def _link_package(package: pathlib.Path) -> None:
    """The package as it is imported, made of links into the source folders."""
    package.mkdir()
    for source in (ROOT / "jit").iterdir():
        (package / source.name).symlink_to(source)
    for name in ("compiler", "runtime"):
        (package / name).symlink_to(ROOT / name)


def _compile_native_runtime(layout: str) -> None:
    """Fills `pyiree/runtime/native/prebuilt` of the package in a folder."""
    if importlib.util.find_spec("numba") is None:
        print("numba is not there to compile the native runtime: the first use will, once", file=sys.stderr)
        return
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([layout, *filter(None, sys.path)])}
    command = [sys.executable, "-P", "-m", "pyiree.runtime.native.prebuild"]
    subprocess.run(command, env=environment, check=True)


class NativeDistribution(Distribution):
    """A wheel with native code is for one platform and one Python."""

    def has_ext_modules(self):
        return True


setup(packages=packages, package_dir=FOLDERS, cmdclass={"build_py": Build}, distclass=NativeDistribution)
