"""Computes the package list from the three source folders, so that no subpackage can be forgotten."""

from setuptools import find_packages, setup

FOLDERS = {"pyiree": "jit", "pyiree.compiler": "compiler", "pyiree.runtime": "runtime"}

packages = []
for package, folder in FOLDERS.items():
    packages.append(package)
    packages.extend(f"{package}.{name}" for name in find_packages(folder))

setup(packages=packages, package_dir=FOLDERS)
