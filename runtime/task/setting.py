"""The number of threads that compute, as PYIREE_THREADS or `pyiree.config.threads` gives it."""

from typing import Any

MOST_THREADS = 4096


def as_thread_count(value: Any) -> int:
    """The number in a text; `ValueError` for what is none, or not to be had."""
    text = str(value).strip()
    if not text.isdecimal() or len(text) > 9 or not 1 <= int(text) <= MOST_THREADS:
        raise ValueError(f"expected a number of threads, at least 1 and at most {MOST_THREADS}")
    return int(text)
