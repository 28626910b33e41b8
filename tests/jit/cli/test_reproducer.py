"""A compilation that fails leaves its IR and the passes from there on, which `pyiree opt` runs again."""

import pathlib
import re

import numpy as np
import pyiree
import pytest
from pyiree.cli.main import run_command_line
from pyiree.compiler.errors import CompileError, UnsupportedError
from pyiree.compiler.pipeline import lookup_pass

UNSUPPORTED = """
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @nobody(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
NAME = "iree-stream-schedule-allocation"


@pytest.fixture
def broken_pass(monkeypatch):
    """A pass that fails half-way: it has already changed what it was given."""
    runs = []

    def fail(module, context):
        runs.append(module)
        next(op for op in module.walk() if op.name == "stream.cmd.execute" or op.name == "util.func").attributes.clear()
        raise ZeroDivisionError("the pass is broken")

    monkeypatch.setattr(lookup_pass(NAME), "make", lambda options: fail)
    return runs


def test_the_file_fails_in_the_same_way(broken_pass):
    with pytest.raises(ZeroDivisionError) as caught:
        pyiree.jit(lambda x: x * 2 + 1).lower(np.ones(4, np.float32)).compile()
    notes = caught.value.__notes__
    assert f"in pass '{NAME}'" in notes
    path = pathlib.Path(re.search(r"pyiree opt (\S+)'", notes[-1])[1])
    text = path.read_text()
    assert text.startswith(f"// pyiree-pipeline: builtin.module({NAME}") and "the pass is broken" in text
    assert oct(path.stat().st_mode & 0o777) == "0o600", "constants may be somebody's weights"
    count = len(broken_pass)
    with pytest.raises(ZeroDivisionError):
        run_command_line(["opt", str(path)])
    assert len(broken_pass) == count + 1
    path.unlink()


def test_what_the_file_holds_runs_when_the_pass_is_mended(broken_pass, monkeypatch, capsys):
    with pytest.raises(ZeroDivisionError) as caught:
        pyiree.jit(lambda x: x * 3 + 1).lower(np.ones(4, np.float32)).compile()
    monkeypatch.undo()
    path = pathlib.Path(re.search(r"pyiree opt (\S+)'", caught.value.__notes__[-1])[1])
    run_command_line(["opt", str(path)])
    assert "stream.resource.alloc" in capsys.readouterr().out
    path.unlink()


def test_a_wrong_program_leaves_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(UnsupportedError):
        pyiree.compile(UNSUPPORTED)
    with pytest.raises(CompileError):
        pyiree.compile("func.func public @main(")
    assert not list(tmp_path.iterdir())
