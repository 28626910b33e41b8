"""Puts the package of random programs on the import path, and starts its evaluators."""

import pathlib
import sys

import pytest

FOLDER = str(pathlib.Path(__file__).parent)
if FOLDER not in sys.path:
    sys.path.append(FOLDER)


@pytest.fixture(scope="session")
def check_program():
    """A function (program) that asserts that we compute what the interpreter does, or else what XLA does."""
    from hlo_fuzz.check import Checker

    checker = Checker()
    yield checker.check
    checker.close()
