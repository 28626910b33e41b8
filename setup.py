"""Computes the package list from the three source folders, so that no subpackage can be forgotten.

A wheel also gets a digest of the compiler's sources, by which the compilation cache knows the compiler. An editable
install gets its bytecode files, which pip writes for wheels only.
"""

import compileall
import hashlib
import pathlib

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

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
            return
        root = pathlib.Path(self.build_lib, "pyiree")
        digest = hashlib.sha256()
        for source in sorted([*root.glob("compiler/**/*.py"), *root.glob("runtime/vmfb/**/*.py")]):
            digest.update(str(source.relative_to(root)).encode() + b"\0" + source.read_bytes() + b"\0")
        root.joinpath("compiler", "source_digest.txt").write_text(digest.hexdigest())


setup(packages=packages, package_dir=FOLDERS, cmdclass={"build_py": Build})
