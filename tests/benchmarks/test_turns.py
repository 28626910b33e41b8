"""Calls and processes take turns, and the benchmarks of bandwidths and starts, which rest on that, give figures."""

import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


def test_everybody_begins_a_round(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    from turns import seconds_of

    order = []
    calls = {name: lambda name=name: order.append(name) for name in "abc"}
    samples = seconds_of(calls, 3, 0.0, before_round=lambda: order.append("|"))
    rounds = "".join(name for name, _ in itertools.groupby(order)).split("|")[1:]
    assert rounds == ["abc", "bca", "cab"]
    assert all(len(times) == 3 and min(times) >= 0 for times in samples.values())


def test_bandwidth(tmp_path):
    options = ["--only", "saxpy,softmax", "--mebibytes", "1", "--rounds", "1"]
    command = [sys.executable, str(FOLDER / "bandwidth.py"), *options]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120).stdout
    rows = [line.split("|")[1:-1] for line in printed.splitlines()[2:]]
    assert [row[0].strip() for row in rows] == ["saxpy", "softmax"]
    assert all(float(row[2]) > 0 and float(row[3]) > 0 for row in rows)


@pytest.mark.slow
def test_starts(tmp_path):
    command = [sys.executable, str(FOLDER / "starts.py"), "--rounds", "1", "--json", "starts.json"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=280, capture_output=True)
    found = json.loads((tmp_path / "starts.json").read_text())
    # What imports jax is larger than what does not.
    assert all(ways["pyiree, cache_key"]["MiB"] < ways["jax.jit"]["MiB"] for ways in found.values())
