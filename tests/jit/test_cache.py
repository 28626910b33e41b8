"""The cache on disk: what it finds, what it survives, what it forgets."""

import hashlib
import json
import os
import stat
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import numpy as np
import pyiree
import pytest
from pyiree import cache, config
from pyiree.cache import DiskCache

GB = 10**9


def key(n) -> str:
    return hashlib.sha256(str(n).encode()).hexdigest()


@pytest.fixture
def disk(tmp_path):
    return DiskCache(tmp_path / "cache", GB)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The configured cache, empty."""
    monkeypatch.setenv("PYIREE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


class TestEntries:
    def test_what_is_put_is_found(self, disk):
        assert disk.get(key(1)) is None
        disk.put(key(1), b"program", "f", 0.5)
        assert disk.get(key(1)) == b"program" and disk.get(key(2)) is None

    def test_another_process_finds_it(self, disk):
        disk.put(key(1), b"program", "f", 0.5)
        assert DiskCache(disk.folder, GB).get(key(1)) == b"program"

    def test_what_is_told_of_it(self, disk):
        before = time.time()
        disk.put(key(1), b"program", "f", 0.5)
        disk.get(key(1))
        disk.get(key(1))
        [entry] = disk.entries()
        assert (entry.key, entry.name, entry.size, entry.compile_seconds, entry.hits) == (
            key(1),
            "f",
            7,
            0.5,
            2,
        )
        assert before <= entry.created <= entry.last_used <= time.time()
        assert entry == disk.find(key(1)[:8])
        with pytest.raises(pyiree.PyireeError, match="no entry"):
            disk.find("xyz")

    def test_files_are_the_user_s_alone(self, disk):
        disk.put(key(1), b"program", "f", 0.5)
        disk.objects.put(key(2), b"object")
        assert stat.S_IMODE(disk.folder.stat().st_mode) == 0o700
        for path in disk.folder.rglob("*"):
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
        assert sorted(path.suffix for path in disk.folder.iterdir()) == ["", ".json", ".vmfb"]

    def test_objects(self, disk):
        disk.objects.put(key(1), b"object")
        assert disk.objects.get(key(1)) == b"object" and disk.objects.get(key(2)) is None
        with pytest.raises(ValueError, match="64 hex digits"):
            disk.objects.put("../../outside", b"object")


class TestTrouble:
    """Whatever is in the folder: a miss, at most one warning, and the next program is stored."""

    DAMAGES = {
        "program cut short": lambda c: c._program(key(1)).write_bytes(b"pro"),
        "program changed": lambda c: c._program(key(1)).write_bytes(b"PROGRAM"),
        "program empty": lambda c: c._program(key(1)).write_bytes(b""),
        "json cut short": lambda c: c._sidecar(key(1)).write_bytes(b'{"key": '),
        "json of another kind": lambda c: c._sidecar(key(1)).write_bytes(b"[1, 2]"),
        "json of another entry": lambda c: c._sidecar(key(1)).write_text(
            json.dumps({**json.loads(c._sidecar(key(1)).read_text()), "key": key(2)})
        ),
        "json with a field too many": lambda c: c._sidecar(key(1)).write_text(
            json.dumps({**json.loads(c._sidecar(key(1)).read_text()), "more": 1})
        ),
    }

    @pytest.mark.parametrize("damage", DAMAGES)
    def test_damage_is_a_miss_and_removed(self, disk, damage):
        disk.put(key(1), b"program", "f", 0.5)
        self.DAMAGES[damage](disk)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert disk.get(key(1)) is None
            assert disk.get(key(1)) is None
        assert len(caught) <= 1 and all(w.category is pyiree.CacheWarning for w in caught)
        assert not disk._program(key(1)).exists()
        disk.put(key(1), b"program", "f", 0.5)
        assert disk.get(key(1)) == b"program"

    @pytest.mark.parametrize("missing", ["_program", "_sidecar"])
    def test_half_an_entry_is_a_miss(self, disk, missing):
        disk.put(key(1), b"program", "f", 0.5)
        getattr(disk, missing)(key(1)).unlink()
        assert disk.get(key(1)) is None

    def test_another_format_is_a_miss(self, disk):
        disk.put(key(1), b"program", "f", 0.5)
        sidecar = disk._sidecar(key(1))
        sidecar.write_text(json.dumps({**json.loads(sidecar.read_text()), "format": 0}))
        assert disk.get(key(1)) is None

    def test_damaged_object(self, disk):
        disk.objects.put(key(1), b"object")
        disk.objects._path(key(1)).write_bytes(b"half")
        with pytest.warns(pyiree.CacheWarning):
            assert disk.objects.get(key(1)) is None
        assert not disk.objects._path(key(1)).exists()

    def test_strays_are_left_alone(self, disk):
        disk.folder.mkdir()
        strays = ["jit_lambda-0123-cache", "0123abcd.vmfb.tmp", "note.json", "x.vmfb"]
        for name in strays:
            (disk.folder / name).write_bytes(b"half")
        (disk.folder / "a folder").mkdir()
        disk.put(key(1), b"program", "f", 0.5)
        assert disk.get(key(1)) == b"program" and len(disk.entries()) == 1
        assert sorted(disk.verify().strays) == sorted(strays)
        disk.clear()
        assert sorted(path.name for path in disk.folder.iterdir()) == sorted([*strays, "a folder"])

    def test_a_folder_that_can_t_be_made(self, tmp_path):
        (tmp_path / "file").write_text("")
        disk = DiskCache(tmp_path / "file" / "cache", GB)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert disk.get(key(1)) is None
            disk.put(key(1), b"program", "f", 0.5)
            disk.put(key(2), b"program", "f", 0.5)
            disk.objects.put(key(3), b"object")
        assert len(caught) == 1 and "cache" in str(caught[0].message)
        assert disk.entries() == [] and disk.size() == 0

    def test_a_full_disk(self, disk, monkeypatch):
        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "replace", full)
        with pytest.warns(pyiree.CacheWarning, match="No space left"):
            disk.put(key(1), b"program", "f", 0.5)
        monkeypatch.undo()
        assert list(disk.folder.iterdir()) == []


class TestSize:
    def test_least_recently_used_goes_first(self, disk):
        for n in range(4):
            disk.put(key(n), bytes(1000), "f", 0.5)
            os.utime(disk._program(key(n)), (n, n))
        disk.get(key(0))
        disk.max_size = 4 * 1000
        disk.put(key(4), bytes(1000), "f", 0.5)
        assert disk.get(key(0)) and disk.get(key(4)) and disk.get(key(1)) is None
        assert disk.size() <= 4 * 1000
        assert not disk._sidecar(key(1)).exists()

    def test_small_growth_is_looked_at_when_the_process_ends(self, disk):
        for n in range(20):
            disk.put(key(n), bytes(1000), "f", 0.5)
        code = """
        import sys
        from pathlib import Path
        from pyiree.cache import DiskCache
        cache = DiskCache(Path(sys.argv[1]), 20_000)
        cache.put("a" * 64, bytes(10), "f", 0.5)
        print(len(cache.entries()))
        """
        command = [sys.executable, "-c", textwrap.dedent(code), disk.folder]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout == "21\n"
        assert disk.size() <= 20_000 and disk.get("a" * 64)

    def test_objects_count(self, disk):
        disk.objects.put(key(1), bytes(1000))
        os.utime(disk.objects._path(key(1)), (1, 1))
        disk.max_size = 1000
        disk.put(key(2), bytes(500), "f", 0.5)
        assert disk.objects.get(key(1)) is None and disk.get(key(2))

    def test_prune(self, disk):
        for n in range(3):
            disk.put(key(n), bytes(1000), "f", 0.5)
        os.utime(disk._program(key(0)), (1, 1))
        leftover = disk.folder / ".new-abc"
        leftover.write_bytes(b"half")
        os.utime(leftover, (1, 1))
        young = disk.folder / ".new-def"
        young.write_bytes(b"half")
        removed = disk.prune(older_than=3600)
        assert sorted(removed) == sorted([".new-abc", f"{key(0)}.vmfb"]) and young.exists()
        disk.prune(max_size=0)
        assert disk.entries() == []

    def test_verify_and_clear(self, disk):
        for n in range(3):
            disk.put(key(n), b"program", "f", 0.5)
        disk._program(key(1)).write_bytes(b"x")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            report = disk.verify()
        assert report.sound == 2 and report.faulty == [f"{key(1)}.vmfb"]
        assert disk.clear() == 2 and disk.size() == 0


def test_many_threads_and_processes_share_a_folder(tmp_path, python_child):
    code = """
import sys
from pathlib import Path
from pyiree.cache import DiskCache
disk = DiskCache(Path(sys.argv[1]), 60_000)
for n in range(60):
    k = f"{n % 12:064x}"
    content = disk.get(k)
    assert content is None or content == bytes([n % 12]) * 4000, "wrong content"
    if content is None:
        disk.put(k, bytes([n % 12]) * 4000, "f", 0.1)
    if n % 20 == 19:
        disk.prune(30_000)
assert "jax" not in sys.modules
"""
    results = []
    threads = [
        threading.Thread(
            target=lambda: results.append(python_child(code, tmp_path / "c", env={"PYTHONWARNINGS": "error"}))
        )
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [done.returncode for done in results] == [0, 0, 0]
    assert not [p for p in (tmp_path / "c").iterdir() if p.name.startswith(".new-")]


class TestKeys:
    def test_everything_that_decides_the_program_counts(self, monkeypatch):
        base = cache.program_key(b"module", "cpu=host")
        assert base == cache.program_key(b"module", "cpu=host") and len(base) == 64
        others = {base, cache.program_key(b"modul", "ecpu=host"), cache.program_key(b"module", "cpu=generic")}
        for name in ("host_cpu", "_versions", "compiler_digest"):
            with monkeypatch.context() as patch:
                patch.setattr(cache, name, lambda: "another")
                others.add(cache.program_key(b"module", "cpu=host"))
        assert len(others) == 6

    def test_an_edited_compiler_has_another_digest(self, tmp_path, monkeypatch):
        import pyiree.compiler

        (tmp_path / "passes").mkdir()
        source = tmp_path / "passes" / "fold.py"
        source.write_text("x = 1")
        monkeypatch.setattr(pyiree.compiler, "__file__", str(tmp_path / "__init__.py"))
        digest = cache.compiler_digest.__wrapped__
        before = digest()
        assert before == digest()
        source.write_text("x = 22")
        assert digest() != before
        (tmp_path / "source_digest.txt").write_text("of the wheel")
        assert digest() == "of the wheel"

    def test_the_cpu_is_known(self):
        assert "flags" in cache.host_cpu() or "Features" in cache.host_cpu() or " " in cache.host_cpu()


class TestThroughJit:
    X = np.ones(5, np.float32)

    def test_the_second_process_loads(self, folder):
        assert not pyiree.jit(lambda x: x * 7).lower(self.X).compile().from_cache
        assert pyiree.jit(lambda x: x * 7).lower(self.X).compile().from_cache
        assert pyiree.jit(lambda x: x * 7)(self.X)[0] == 7
        [entry] = cache.ls()
        assert entry.name == "<lambda>" and entry.hits == 2
        assert cache.show(entry.key[:6])["path"] == str(folder / f"{entry.key}.vmfb")
        assert cache.verify().sound == 1 and cache.prune() == [] and cache.path() == folder
        assert cache.clear() >= 1 and cache.ls() == []

    def test_a_process_that_finds_its_program_loads_no_compiler(self, folder, python_child, tmp_path):
        script = tmp_path / "script.py"
        script.write_text(
            "import sys, numpy as np, pyiree\n"
            "f = pyiree.jit(lambda x: x * 7 + 1)\n"
            "assert f(np.ones(3, np.float32))[0] == 8\n"
            "print([n for n in ('pyiree.compiler.pipeline', 'numba', 'llvmlite.binding') if n in sys.modules])\n"
        )
        run = f"import runpy; runpy.run_path({str(script)!r})"
        assert "pipeline" in python_child(run).stdout
        assert python_child(run).stdout.strip() == "[]"

    def test_options_are_part_of_the_key(self, folder):
        f = lambda x: x * 7  # noqa: E731
        pyiree.jit(f).lower(self.X).compile()
        assert not pyiree.jit(f, target_cpu="x86-64-v2").lower(self.X).compile().from_cache

    def test_closed_over_arrays_are_not(self, folder):
        for scale in (1, 2):
            big = np.full(5000, scale, np.float32)
            compiled = pyiree.jit(lambda x: x + big).lower(np.float32(1)).compile()  # noqa: B023
            assert compiled.from_cache == (scale == 2)
            assert compiled(np.float32(1))[0] == scale + 1

    def test_switched_off(self, folder, monkeypatch):
        monkeypatch.setenv("PYIREE_CACHE", "off")
        pyiree.jit(lambda x: x * 7)(self.X)
        assert not folder.exists() and cache.configured() is None

    @pytest.mark.skipif(not hasattr(os, "geteuid"), reason="folders are private there")
    def test_the_folder_of_another_user_is_not_used(self, folder, monkeypatch):
        pyiree.jit(lambda x: x * 7)(self.X)
        before = sorted(folder.rglob("*"))
        if os.geteuid() == 0:
            os.chown(folder, 12345, -1)
        else:
            other = os.geteuid() + 1
            monkeypatch.setattr(os, "geteuid", lambda: other)
        with pytest.warns(pyiree.CacheWarning, match="belongs to another user"):
            compiled = pyiree.jit(lambda x: x * 7).lower(self.X).compile()
        assert not compiled.from_cache and compiled(self.X)[0] == 7
        assert sorted(folder.rglob("*")) == before

    def test_warnings_are_about_the_users_line(self, monkeypatch, tmp_path):
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("PYIREE_CACHE_DIR", str(tmp_path / "file" / "cache"))
        function = pyiree.jit(lambda x: x * 11)
        with pytest.warns(pyiree.CacheWarning, match="can't be") as caught:
            assert function(self.X)[0] == 11
        [warning] = [each for each in caught if each.category is pyiree.CacheWarning]
        assert warning.filename == __file__

    @pytest.mark.skipif(not hasattr(os, "geteuid"), reason="folders are private there")
    def test_a_folder_that_everybody_can_write_is_not_used(self, folder):
        folder.mkdir()
        folder.chmod(0o777)
        with pytest.warns(pyiree.CacheWarning, match="chmod 700"):
            assert pyiree.jit(lambda x: x * 7)(self.X)[0] == 7
        assert not list(folder.iterdir())

    def test_the_folders_are_private(self, folder):
        pyiree.jit(lambda x: x * 7)(self.X)
        made = [folder.parent, folder, *(path for path in folder.iterdir() if path.is_dir())]
        assert len(made) > 1 and all(stat.S_IMODE(path.stat().st_mode) == 0o700 for path in made)

    def test_an_attribute_outranks_the_environment(self, folder, tmp_path):
        config.cache_dir = tmp_path / "other"
        try:
            pyiree.jit(lambda x: x * 7)(self.X)
        finally:
            del config.cache_dir
        assert (tmp_path / "other").exists() and not folder.exists()
        assert cache.path() == folder

    def test_a_damaged_entry_is_compiled_again(self, folder):
        f = lambda x: x * 7  # noqa: E731
        pyiree.jit(f)(self.X)
        [program] = folder.glob("*.vmfb")
        program.write_bytes(program.read_bytes()[:50])
        with pytest.warns(pyiree.CacheWarning, match="damaged"):
            assert pyiree.jit(f)(self.X)[0] == 7
        assert pyiree.jit(f).lower(self.X).compile().from_cache
