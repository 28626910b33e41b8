"""What all tests share: which cases are in the fast tier, a fresh cache folder, and IREE's own tools."""

import collections
import importlib.util
import itertools
import os
import pathlib
import subprocess
import sys

import platformdirs
import pytest
from hypothesis import HealthCheck, settings

ROOT = pathlib.Path(__file__).resolve().parent.parent

# How long an example takes depends on what else the machine does, and on modules that the first one imports.
settings.register_profile("pyiree", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("pyiree")


# Mark -> how many parameters' values its fast cases show together.
TOGETHER = {"each_value": 1, "each_pair": 2}


def _covering(cases, size):
    """The numbers of a few cases (tuples of values) that show together every `size` values that any case shows."""

    def seen_in(case):
        return set(itertools.combinations(case, min(size, len(case))))

    left = {number: seen_in(case) for number, case in enumerate(cases)}
    missing = set().union(*left.values())
    chosen = []
    while missing:
        best = max(left, key=lambda number: len(left[number] & missing))
        missing -= left.pop(best)
        chosen.append(best)
    return sorted(chosen)


def _parameters(item):
    """The parameters of a test with their values, as something that can be compared."""
    found = []
    for name, value in item.callspec.params.items():
        try:
            hash(value)
        except TypeError:
            value = id(value)
        found.append((name, type(value), value))
    return tuple(found)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Makes cases slow that show nothing but combinations of values of which others show enough."""
    tests = collections.defaultdict(list)
    for item in items:
        for name, size in TOGETHER.items():
            if item.get_closest_marker(name) and not item.get_closest_marker("slow"):
                tests[item.parent.nodeid, item.originalname, size].append(item)
    for (*_, size), cases in tests.items():
        fast = set(_covering([_parameters(item) for item in cases], size))
        for number, item in enumerate(cases):
            if number not in fast:
                item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def covering():
    """The function that says which cases are in the fast tier."""
    return _covering


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
def load_example():
    """A function (name) that gives one of the examples as a module."""

    def load(name):
        sys.path.insert(0, str(ROOT / "examples"))
        try:
            return importlib.import_module(name)
        finally:
            sys.path.pop(0)

    return load


@pytest.fixture(scope="session")
def iree_tool_path():
    """A function (name) that gives the path of one of IREE's tools.

    It is the executable inside IREE's package: the script of the same name imports the package first, which takes ten
    times as long as the tool takes for a short text.
    """

    def find(name):
        for package, folder in (("iree.compiler", "_mlir_libs"), ("iree._runtime_libs", ".")):
            found = importlib.util.find_spec(package)
            for place in found.submodule_search_locations if found else ():
                if (path := pathlib.Path(place) / folder / name).is_file():
                    return path
        raise AssertionError(f"{name} is missing: install the test extra (pip install -e '.[test]')")

    return find


@pytest.fixture(scope="session")
def iree_tool(iree_tool_path):
    """A function (name, *args, input=None) that runs one of IREE's tools and gives its CompletedProcess."""

    def run(name, *args, input=None, check=True, timeout=120):
        done = subprocess.run(
            [iree_tool_path(name), *map(str, args)], input=input, capture_output=True, timeout=timeout,
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
