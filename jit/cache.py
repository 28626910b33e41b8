"""The cache on disk: compiled programs and kernel objects, found by what they were made from.

What enters: a key (SHA-256 of everything that decides the result) and bytes.  What leaves: the same bytes, in
this process or another, or nothing.  An entry is two files, `KEY.vmfb` and `KEY.json`; kernel objects are in
`objects/`, and in `calls/` is how those programs are called that users gave a key of their own.  Files appear
whole (temporary name, then `os.replace`) and readers check a digest, so processes need no lock and anything
unreadable is a miss.  Nothing here ever stops a compilation: the first trouble with a folder is told in one
warning.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import json
import os
import re
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, NamedTuple

from pyiree import config
from pyiree.errors import CacheWarning, PyireeError
from pyiree.runtime import private_folder
from pyiree.runtime.hal.processor import host_cpu
from pyiree.runtime.vmfb.lazy_dataclass import dataclass
from pyiree.user_line import warn_at_user_line

FORMAT = 1
_KEY = re.compile(r"[0-9a-f]{64}")
_TEMPORARY_PREFIX = ".new-"
_TEMPORARY_LIFETIME = 3600.0  # seconds after which an unfinished file can only be a dead process's
_UNCHECKED_SHARE = 64  # a process looks at the whole folder after it wrote this part of the limit, and when it ends


@dataclass(slots=True)
class Entry:
    """What is known about a cached program: the content of its JSON file."""

    key: str
    name: str
    created: float
    size: int
    digest: str
    compile_seconds: float
    hits: int = 0
    last_used: float = 0.0
    format: int = FORMAT


@dataclass(slots=True)
class Report:
    """What `verify` or `prune` found: sound entries, and the names of files that were not."""

    sound: int
    faulty: list[str]
    strays: list[str]


class _File(NamedTuple):
    """A file of the cache's own."""

    path: str
    suffix: str
    size: int
    modified: float


class DiskCache:
    """The programs in one folder, least recently used first to go when it grows past `max_size` bytes."""

    def __init__(self, folder: Path, max_size: int):
        self.folder = folder
        self.max_size = max_size
        self.objects = Blobs(self, "objects", ".o")
        self.calls = Blobs(self, "calls", ".call")

    def get(self, key: str) -> bytes | None:
        """The program stored under `key`, or None."""
        try:
            entry = self._read_entry(key)
            if entry is None:
                return None
            content = self._program(key).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            self._complain(f"can't be read ({error})")
            return None
        if _digest(content) != entry.digest:
            self._complain(f"held a damaged program {key[:12]}, now removed")
            self._remove(key)
            return None
        entry.hits += 1
        entry.last_used = time.time()
        with contextlib.suppress(OSError):  # a read-only folder still serves hits
            self._write(self._sidecar(key), _as_json(entry))
            os.utime(self._program(key))
        return content

    def put(self, key: str, content: bytes, name: str, compile_seconds: float) -> None:
        """Stores a program; the oldest ones go when the folder is over its size."""
        now = time.time()
        entry = Entry(key, name, now, len(content), _digest(content), compile_seconds, last_used=now)
        try:
            self._write(self._program(key), content)
            self._write(self._sidecar(key), _as_json(entry))
            self._grew(len(content))
        except OSError as error:
            self._complain(f"can't be written ({error})")

    def entries(self) -> list[Entry]:
        """All entries, most recently used first."""
        found = []
        for path in self._files():
            if path.suffix == ".vmfb" and _KEY.fullmatch(path.stem):
                with contextlib.suppress(OSError):  # another process removed it meanwhile
                    entry = self._read_entry(path.stem)
                    if entry is not None:
                        found.append(entry)
        return sorted(found, key=lambda entry: -entry.last_used)

    def find(self, prefix: str) -> Entry:
        """The one entry whose key begins with `prefix`."""
        matches = [entry for entry in self.entries() if entry.key.startswith(prefix)]
        if len(matches) != 1:
            found = "no entry" if not matches else f"each of {len(matches)} entries"
            raise PyireeError(f"{found} of the cache {self.folder} begins with {prefix!r}")
        return matches[0]

    def size(self) -> int:
        """The bytes that programs, their JSON files and kernel objects take."""
        return sum(file.size for file in self._owned())

    def prune(self, max_size: int | None = None, older_than: float | None = None) -> list[str]:
        """Removes leftovers, what was not used for `older_than` seconds, and the oldest over the size."""
        removed = self._remove_leftovers()
        if older_than is not None:
            limit = time.time() - older_than
            for file in self._owned():
                if file.modified < limit and file.suffix != ".json":
                    removed += self._discard(Path(file.path))
        return removed + self._evict(self.max_size if max_size is None else max_size)

    def clear(self) -> int:
        """Removes every program and object; gives how many."""
        removed = [name for file in self._owned() for name in self._discard(Path(file.path))]
        self._remove_leftovers(lifetime=0.0)
        return sum(not name.endswith(".json") for name in removed)

    def verify(self) -> Report:
        """Checks every digest and removes what fails; other people's files are named and left alone."""
        report = Report(0, [], [])
        for path in self._files():
            if not self._is_owned(path):
                report.strays.append(path.name)
            elif path.suffix == ".vmfb":
                entry = self._read_entry(path.stem)
                if entry is not None and _digest(path.read_bytes()) == entry.digest:
                    report.sound += 1
                else:
                    report.faulty.append(path.name)
                    self._remove(path.stem)
            elif path.suffix != ".json":
                blobs = self.objects if path.suffix == ".o" else self.calls
                if blobs.get(path.stem) is None:
                    report.faulty.append(path.name)
        return report

    # Files.

    def _program(self, key: str) -> Path:
        return self.folder / f"{key}.vmfb"

    def _sidecar(self, key: str) -> Path:
        return self.folder / f"{key}.json"

    def _read_entry(self, key: str) -> Entry | None:
        """The JSON of an entry; one that is cut short or of another format is removed, as if absent."""
        try:
            values = json.loads(self._sidecar(key).read_bytes())
            if values.pop("format") == FORMAT and values["key"] == key:
                return Entry(**values)
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError, AttributeError):
            self._complain(f"held a damaged entry {key[:12]}, now removed")
        self._remove(key)
        return None

    def _write(self, path: Path, content: bytes) -> None:
        """Puts a whole file in place, private to the user, whatever other processes do meanwhile."""
        try:
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=_TEMPORARY_PREFIX)
        except FileNotFoundError:  # the first file of its folder
            private_folder.make(path.parent)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=_TEMPORARY_PREFIX)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):  # the first error is the one to tell
                os.unlink(temporary)
            raise

    def _remove(self, key: str) -> None:
        for path in (self._sidecar(key), self._program(key)):
            self._discard(path)

    def _discard(self, path: Path) -> list[str]:
        try:
            path.unlink()
        except FileNotFoundError:  # another process was first
            return []
        except OSError as error:
            self._complain(f"can't be written ({error})")
            return []
        if path.suffix == ".vmfb":
            self._discard(path.with_suffix(".json"))
        return [path.name]

    def _files(self) -> Iterator[Path]:
        for folder in self._suffixes():
            try:
                names = os.listdir(folder)
            except OSError:  # no such folder: nothing is cached
                continue
            for name in names:
                path = folder / name
                if path.is_file():
                    yield path

    def _is_owned(self, path: Path) -> bool:
        return path.suffix in self._suffixes()[path.parent] and _KEY.fullmatch(path.stem) is not None

    def _suffixes(self) -> dict[Path, tuple[str, ...]]:
        """The suffixes of the cache's own files, by folder."""
        return {self.folder: (".vmfb", ".json"), self.objects.folder: (".o",), self.calls.folder: (".call",)}

    def _owned(self) -> list[_File]:
        """The cache's files. Nothing but their names and sizes is looked at: there may be many thousands."""
        found = []
        for folder, suffixes in self._suffixes().items():
            # Where there is no such folder, nothing is cached.
            with contextlib.suppress(OSError), os.scandir(folder) as listed:
                for item in listed:
                    stem, suffix = os.path.splitext(item.name)
                    if suffix in suffixes and _KEY.fullmatch(stem):
                        with contextlib.suppress(FileNotFoundError):  # another process removed it meanwhile
                            status = item.stat()
                            found.append(_File(item.path, suffix, status.st_size, status.st_mtime))
        return found

    def _grew(self, size: int) -> None:
        """Takes note of bytes written; a look at the whole folder, which may be large, has to wait for many of them."""
        unchecked = _unchecked.pop(self.folder, (0, self))[0] + max(size, 1)
        if unchecked > self.max_size // _UNCHECKED_SHARE:
            self._evict()
        else:
            _unchecked[self.folder] = (unchecked, self)

    def _evict(self, max_size: int | None = None) -> list[str]:
        owned = self._owned()
        excess = sum(file.size for file in owned) - (self.max_size if max_size is None else max_size)
        removed: list[str] = []
        if excess <= 0:
            return removed
        self._remove_leftovers()
        for file in sorted(owned, key=lambda file: file.modified):
            if excess <= 0:
                break
            if file.suffix != ".json":
                removed += self._discard(Path(file.path))
                excess -= file.size
        return removed

    def _remove_leftovers(self, lifetime: float = _TEMPORARY_LIFETIME) -> list[str]:
        removed = []
        for path in self._files():
            if path.name.startswith(_TEMPORARY_PREFIX):
                with contextlib.suppress(FileNotFoundError):  # its owner finished meanwhile
                    if time.time() - path.stat().st_mtime > lifetime:
                        removed += self._discard(path)
        return removed

    def _complain(self, what: str) -> None:
        """Warns, once a process and folder."""
        if self.folder not in _complained:
            _complained.add(self.folder)
            warn_at_user_line(f"the compilation cache {self.folder} {what}", CacheWarning)


_complained: set[Path] = set()
_unchecked: dict[Path, tuple[int, DiskCache]] = {}  # bytes written since the last look at the whole folder


@atexit.register
def _check_sizes() -> None:
    while _unchecked:
        _, (_, cache) = _unchecked.popitem()
        with contextlib.suppress(OSError):  # the next process that writes looks again
            cache._evict()


class Blobs:
    """Files of one kind by the hash of what they come from, such as kernel objects by that of their source: equal
    kernels of any program compile once."""

    def __init__(self, owner: DiskCache, folder: str, suffix: str):
        self._owner = owner
        self._suffix = suffix
        self.folder = owner.folder / folder

    def get(self, key: str) -> bytes | None:
        """What is stored under `key` (64 hex digits), or None."""
        path = self._path(key)
        try:
            content = path.read_bytes()
        except OSError:  # absent or unreadable: it is made again
            return None
        digest, payload = content[:32], content[32:]
        if hashlib.sha256(payload).digest() != digest:
            self._owner._complain(f"held a damaged file {path.name[:12]}, now removed")
            self._owner._discard(path)
            return None
        return payload

    def put(self, key: str, payload: bytes) -> None:
        """Stores bytes."""
        try:
            self._owner._write(self._path(key), hashlib.sha256(payload).digest() + payload)
            self._owner._grew(len(payload))
        except OSError as error:
            self._owner._complain(f"can't be written ({error})")

    def _path(self, key: str) -> Path:
        if not _KEY.fullmatch(key):
            raise ValueError(f"a file's key is 64 hex digits, not {key!r}")
        return self.folder / f"{key}{self._suffix}"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _as_json(entry: Entry) -> bytes:
    return json.dumps(asdict(entry), indent=1).encode()


# The cache that the settings name.


def path() -> Path:
    """The folder of the cache."""
    folder = config.cache_dir
    return folder if folder is not None else _user_cache_folder()


@functools.cache
def _user_cache_folder() -> Path:
    import platformdirs

    return Path(platformdirs.user_cache_dir("pyiree", appauthor=False)) / "programs"


def configured() -> DiskCache | None:
    """The cache of the current settings; None where it is switched off, or is not the user's own folder."""
    if not config.cache:
        return None
    cache = opened()
    reason = private_folder.refusal(cache.folder)
    if reason is not None:
        cache._complain(f"is not used, since it holds native code: {reason}")
        return None
    return cache


def opened() -> DiskCache:
    """The cache of the current settings, to look into even where it is switched off."""
    return DiskCache(path(), config.cache_max_size)


def ls() -> list[Entry]:
    """The cached programs, most recently used first."""
    return opened().entries()


def show(key: str) -> dict[str, Any]:
    """What is known of the entry whose key begins with `key`."""
    cache = opened()
    entry = cache.find(key)
    return {
        **{field.name: getattr(entry, field.name) for field in fields(entry)},
        "path": str(cache._program(entry.key)),
    }


def prune(max_size: int | None = None, older_than: float | None = None) -> list[str]:
    """Removes leftovers and old entries; gives the names of the removed files."""
    return opened().prune(max_size, older_than)


def clear() -> int:
    """Removes everything that is cached; gives how many programs and objects there were."""
    return opened().clear()


def verify() -> Report:
    """Checks every entry's digest; damaged ones are removed."""
    return opened().verify()


# What decides a program.


def program_key(source: bytes, options: str) -> str:
    """The key of what `source` (StableHLO without locations) becomes under these options, here and now."""
    parts = (
        b"pyiree program %d" % FORMAT,
        source,
        options.encode(),
        host_cpu().encode(),
        _versions().encode(),
        compiler_digest().encode(),
    )
    digest = hashlib.sha256()
    for part in parts:
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.hexdigest()


@functools.cache
def _versions() -> str:
    import jaxlib
    import llvmlite

    return f"pyiree {package_version()} jaxlib {jaxlib.__version__} llvmlite {llvmlite.__version__}"


@functools.cache
def package_version() -> str:
    """The version of pyiree that is installed."""
    from importlib.metadata import version

    return version("pyiree")


@functools.cache
def compiler_digest() -> str:
    """Changes whenever the compiler does: stored in a wheel, else from its files' sizes and times."""
    import pyiree.compiler
    import pyiree.runtime

    compiler = Path(pyiree.compiler.__file__).parent
    stored = compiler / "source_digest.txt"
    if stored.is_file():
        return stored.read_text()
    digest = hashlib.sha256()
    for root in (compiler, Path(pyiree.runtime.__file__).parent / "vmfb"):
        for source in sorted(_sources(root)):
            status = os.stat(source)
            digest.update(f"{source[len(str(root)) :]} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def _sources(folder: Path | str) -> Iterator[str]:
    if not os.path.isdir(folder):
        return
    with os.scandir(folder) as items:
        for item in items:
            if item.is_dir():
                yield from _sources(item.path)
            elif not item.name.endswith(".pyc"):
                yield item.path
