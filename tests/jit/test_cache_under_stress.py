"""Eight processes fill one folder while a ninth damages it; compilers are killed at any moment.

Every result is right, what is left afterwards is whole, and no lock or unfinished file stays.
"""

import os
import random
import signal
import subprocess
import sys
import time

import pytest
from pyiree.cache import DiskCache

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900), pytest.mark.filterwarnings("ignore::pyiree.CacheWarning")]

WORKER = """
import sys, warnings
import numpy as np, pyiree
warnings.simplefilter("ignore", pyiree.CacheWarning)
x = np.arange(12, dtype=np.float32).reshape(3, 4)
order = np.random.default_rng(int(sys.argv[1])).permutation(int(sys.argv[2]))
for k in map(int, order):
    found = pyiree.jit(lambda x: (x * k + 1).sum(axis=0))(x)
    assert np.array_equal(found, (x * k + 1).sum(axis=0)), (k, found)
print("right")
"""


def start(folder, *arguments):
    environment = {**os.environ, "PYIREE_CACHE_DIR": str(folder), "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", WORKER, *map(str, arguments)]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder.parent
    )


def damage(folder, random):
    """One of: cuts a file, removes it, changes a byte of it, puts a stray one beside it."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    path = random.choice(files) if files else None
    kind = random.randrange(4)
    try:
        if kind == 0 or path is None:
            (folder / f"stray-{random.randrange(99)}").write_bytes(random.randbytes(50))
        elif kind == 1:
            path.unlink()
        elif kind == 2:
            os.truncate(path, random.randrange(path.stat().st_size + 1))
        else:
            content = bytearray(path.read_bytes())
            content[random.randrange(len(content))] ^= 1 << random.randrange(8)
            path.write_bytes(content)
    except (OSError, ValueError):  # it went meanwhile, or is empty
        return


def left_over(folder):
    return [path.name for path in folder.rglob("*") if path.name.startswith((".new-", "stray")) or "lock" in path.name]


def test_eight_processes_and_a_vandal(tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    children = [start(folder, seed, 50) for seed in range(8)]
    chance = random.Random(1)
    while any(child.poll() is None for child in children):
        damage(folder, chance)
        time.sleep(0.02)
    for child in children:
        output, errors = child.communicate()
        assert output == "right\n", errors
    cache = DiskCache(folder, 1 << 30)
    cache.verify()
    for stray in folder.glob("stray-*"):  # not the cache's own: it names them and leaves them
        stray.unlink()
    report = cache.verify()
    assert not report.faulty and not report.strays and not left_over(folder)
    # What verify calls whole is whole: every program is read, or compiled anew, rightly.
    again = start(folder, 9, 50)
    assert again.communicate()[0] == "right\n"


def test_compilers_killed_at_any_moment(tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    chance = random.Random(2)
    for round in range(25):
        before = sum(1 for _ in folder.rglob("*.vmfb"))
        children = [start(folder, 4 * round + k, 400) for k in range(4)]
        # Some die while they start, the others when the first of them has stored something.
        deadline = time.monotonic() + (60 if round % 2 else 0)
        while time.monotonic() < deadline and sum(1 for _ in folder.rglob("*.vmfb")) == before:
            time.sleep(0.01)
        for child in children:
            time.sleep(chance.uniform(0.0, 0.6))
            child.send_signal(signal.SIGKILL)
        for child in children:
            child.wait()
            child.stdout.close()
            child.stderr.close()
    cache = DiskCache(folder, 1 << 30)
    report = cache.verify()
    assert not report.faulty and report.sound
    cache._remove_leftovers(lifetime=0)
    assert not left_over(folder)
    assert start(folder, 0, 60).communicate()[0] == "right\n"
