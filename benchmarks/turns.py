"""Calls that take turns, round after round and in an order that rotates, so that what else the machine does meets all
of them alike.

Enters: what to call, by name. Leaves: the seconds of every call.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def seconds_of(
    calls: dict[str, Callable[[], Any]],
    rounds: int,
    round_seconds: float,
    settle_seconds: float = 0.0,
    before_round: Callable[[], Any] | None = None,
) -> dict[str, list[float]]:
    """The seconds of all calls. Each is called once, and then for `round_seconds`, in each of the rounds;
    `settle_seconds` before that let the threads of the library before go to sleep."""
    samples: dict[str, list[float]] = {name: [] for name in calls}
    names = list(calls)
    for number in range(rounds):
        if before_round is not None:
            time.sleep(settle_seconds)
            before_round()
        for name in names[number % len(names) :] + names[: number % len(names)]:
            call = calls[name]
            time.sleep(settle_seconds)
            call()
            end = time.perf_counter() + round_seconds
            while True:
                began = time.perf_counter()
                call()
                stop = time.perf_counter()
                samples[name].append(stop - began)
                if stop >= end:
                    break
    return samples
