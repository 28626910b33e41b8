"""The two examples with libraries do what they say."""

import re
import subprocess
import sys

import pytest


@pytest.fixture
def printed(project_root, tmp_path):
    """What an example prints."""

    def run(name, *arguments):
        command = [sys.executable, str(project_root / "examples" / name), *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_mixer(printed):
    pytest.importorskip("flax")
    pytest.importorskip("optax")
    assert float(re.search(r"test accuracy ([\d.]+)", printed("mixer_flax.py", "--epochs", "12"))[1]) > 0.94


def test_ode(printed):
    pytest.importorskip("diffrax")
    pytest.importorskip("optax")
    text = printed("ode_diffrax.py", "--steps", "300")
    fitted, true = (
        [float(number) for number in row.split()] for row in re.search(r"rates \[(.*?)\] true \[(.*?)\]", text).groups()
    )
    assert fitted == pytest.approx(true, rel=0.03)
