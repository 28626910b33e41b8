"""The settings: `pyiree.config.NAME`, or PYIREE_NAME in the environment, same name and same values.

What enters: an attribute set by the program, else the environment variable, else the default.
What leaves: a checked value, read anew on each access, so that a variable set later still counts.
The module is its own settings object: `pyiree.config.cache_dir = "/scratch"` works and is checked at once.
"""

from __future__ import annotations

import os
import re
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pyiree.runtime.task.setting import as_thread_count
from pyiree.runtime.vmfb.errors import ConfigError
from pyiree.user_line import warn_at_user_line

_PREFIX = "PYIREE_"
LOG_TOPICS = ("misses", "compiles", "cache")
#: Variables that the native runtime reads and that have no attribute here.
RUNTIME_VARIABLES = ("PYIREE_RUNTIME", "PYIREE_RUNTIME_CACHE_DIR")


class Setting(NamedTuple):
    """One setting: how its text is read, its default, what it does.

    The runtime knows nothing of this module and reads its own settings in the environment (`is_runtime`).
    """

    parse: Callable[[Any], Any]
    default: Any
    meaning: str
    is_runtime: bool = False


def _switch(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text in ("1", "on", "true", "yes"):
        return True
    if text in ("0", "off", "false", "no"):
        return False
    raise ValueError("expected on or off")


_UNITS = {
    "": 1,
    "K": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "KI": 2**10,
    "MI": 2**20,
    "GI": 2**30,
    "TI": 2**40,
}


def _byte_count(value: Any) -> int:
    match = re.fullmatch(r"(\d{1,18}(?:\.\d+)?)\s*([KMGT]?I?)B?", str(value).strip().upper())
    if match is None or match[2] not in _UNITS:
        raise ValueError("expected a number of bytes such as 500000000, 500MB or 2GiB")
    return int(float(match[1]) * _UNITS[match[2]])


def _folder(value: Any) -> Path | None:
    return None if value is None or not str(value).strip() else Path(value).expanduser()


def _words(value: Any) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)) or not all(isinstance(part, str) for part in parts):
        raise ValueError("expected names, with commas between them")
    return tuple(part.strip() for part in parts if part.strip())


def _topics(value: Any) -> tuple[str, ...]:
    words = LOG_TOPICS if value == "all" else _words(value)
    for word in words:
        if word not in LOG_TOPICS:
            raise ValueError(f"expected some of {', '.join(LOG_TOPICS)}, or all")
    return words


def _name(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("expected a name")
    return value.strip()


SETTINGS: dict[str, Setting] = {
    "cache": Setting(_switch, True, "keep compiled programs on disk: on or off"),
    "cache_dir": Setting(_folder, None, "where they are kept (default: the user's cache folder)"),
    "cache_max_size": Setting(_byte_count, 2 * 2**30, "how large that folder may grow, such as 500MB"),
    "cpu": Setting(_name, "host", "the CPU to compile for: host, or a name that `pyiree targets` lists"),
    "threads": Setting(as_thread_count, None, "threads that compute (default: one a CPU); before the first call", True),
    "dump": Setting(_folder, None, "a folder to write the IR of every pass to"),
    "print_after": Setting(_words, (), "pass names, or all: print the IR after them"),
    "log": Setting(_topics, (), "what to tell on stderr: misses, compiles, cache, or all"),
    "verify": Setting(_switch, False, "verify the IR after every pass: on or off"),
}


class _Settings(types.ModuleType):
    """A module whose settings are attributes, checked when they are set and when they are read."""

    def __getattr__(self, name: str) -> Any:
        setting = SETTINGS.get(name)
        if setting is None:
            raise AttributeError(f"pyiree.config has no setting {name!r}; there are {', '.join(SETTINGS)}")
        text = os.environ.get(variable(name))
        if text is None or not text.strip():
            return setting.default
        return _checked(name, text, variable(name))

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("__"):
            if name not in SETTINGS:
                raise AttributeError(f"pyiree.config has no setting {name!r}; there are {', '.join(SETTINGS)}")
            value = _checked(name, value, f"config.{name}")
            if SETTINGS[name].is_runtime:
                os.environ[variable(name)] = str(value)
                _warn_if_too_late(name, value)
                return
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        if name in SETTINGS and SETTINGS[name].is_runtime:
            os.environ.pop(variable(name), None)
            return
        super().__delattr__(name)


def _checked(name: str, value: Any, source: str) -> Any:
    try:
        return SETTINGS[name].parse(value)
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{source} = {value!r}: {error}") from None


def _warn_if_too_late(name: str, value: int) -> None:
    """Threads are made once; where nothing of the runtime is loaded, none are there."""
    executor = sys.modules.get("pyiree.runtime.task.executor")
    count = None if executor is None else executor.fixed_thread_count()
    if count not in (None, value):
        warn_at_user_line(
            f"config.{name} = {value} has no effect on this process, which computes with {count} threads already:"
            " set it before the first call"
        )


def given_as(name: str) -> str:
    """What to call the place where the value of a setting comes from."""
    return f"config.{name}" if name in vars(sys.modules[__name__]) else variable(name)


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return f"{_PREFIX}{name.upper()}"


def check() -> None:
    """Raises for a setting that holds something that it can't."""
    for name in SETTINGS:
        getattr(sys.modules[__name__], name)


def unknown_variables() -> Iterator[str]:
    """A line for each misspelled variable, which would be without effect in silence."""
    known = {*map(variable, SETTINGS), *RUNTIME_VARIABLES}
    for name in os.environ:
        if name.startswith(_PREFIX) and name not in known:
            import difflib

            # The prefix is left out: it alone makes any two names look alike.
            near = difflib.get_close_matches(name[len(_PREFIX) :], [other[len(_PREFIX) :] for other in known], 1)
            hint = f", did you mean {_PREFIX}{near[0]}?" if near else f"; there are {', '.join(sorted(known))}"
            yield f"{name}: pyiree has no such setting{hint}"


def logs(topic: str) -> bool:
    """Whether `topic` is to be told about on stderr."""
    return topic in sys.modules[__name__].log


def say(topic: str, text: str) -> None:
    """Tells one line about `topic` on stderr, if that is asked for."""
    if logs(topic):
        print(f"pyiree {topic}: {text}", file=sys.stderr)


sys.modules[__name__].__class__ = _Settings
for _line in unknown_variables():
    warn_at_user_line(_line)
