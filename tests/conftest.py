"""Fixtures that every test shares: a fresh cache folder and the paths of IREE's own tools."""

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

import platformdirs
import pytest
from hypothesis import HealthCheck, settings

ROOT = pathlib.Path(__file__).resolve().parent.parent

# How long an example takes depends on what else the machine does, and on modules that the first one imports.
settings.register_profile("pyiree", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("pyiree")


@pytest.fixture(scope="session", autouse=True)
def _fresh_cache(tmp_path_factory):
    """Compiled programs of one test run never come from, or land in, the user's cache.

    The native runtime may: its cache is keyed by its sources, and building it takes seconds.
    """
    folder = tmp_path_factory.mktemp("pyiree-cache")
    if "PYIREE_RUNTIME_CACHE_DIR" not in os.environ:
        os.environ["PYIREE_RUNTIME_CACHE_DIR"] = platformdirs.user_cache_dir("pyiree", appauthor=False)
    os.environ["PYIREE_CACHE_DIR"] = str(folder)
    yield folder


@pytest.fixture(scope="session")
def project_root() -> pathlib.Path:
    return ROOT


@pytest.fixture(scope="session")
def iree_tool():
    """A function (name, *args, input=None) that runs one of IREE's tools and gives its CompletedProcess."""
    scripts = pathlib.Path(sysconfig.get_path("scripts"))

    def run(name, *args, input=None, check=True, timeout=120):
        tool = scripts / name
        path = str(tool) if tool.exists() else shutil.which(name)
        assert path, f"{name} is missing: install the test extra (pip install -e '.[test]')"
        done = subprocess.run(
            [path, *map(str, args)], input=input, capture_output=True, timeout=timeout,
            text=not isinstance(input, bytes),
        )
        if check and done.returncode:
            raise AssertionError(f"{name} failed ({done.returncode}):\n{done.stderr[:4000]}")
        return done

    return run


@pytest.fixture(scope="session")
def python_child(tmp_path_factory):
    """A function (code, *args, env=None) that runs Python code in a process of its own."""
    # An empty folder: beside a checkout named "pyiree", `import pyiree` would find the checkout itself.
    folder = tmp_path_factory.mktemp("child")

    def run(code, *args, env=None, timeout=120, check=True):
        done = subprocess.run(
            [sys.executable, "-c", code, *map(str, args)], capture_output=True, text=True, timeout=timeout,
            env={**os.environ, **(env or {})}, cwd=folder,
        )
        if check and done.returncode:
            raise AssertionError(f"child failed ({done.returncode}):\n{done.stdout}\n{done.stderr}")
        return done

    return run
