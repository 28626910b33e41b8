"""`pyiree run` and `pyiree benchmark`: call a function of a module.  Needs the runtime only."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from pyiree.cli.output import CommandError, existing, print_json, print_mapping
from pyiree.cli.tensors import format_tensor, parse_tensor


def run(module: Path, function: str, inputs: list[str], outputs: list[str], device: str, as_json: bool) -> None:
    """Calls the function once; results are printed unless `outputs` says where they go."""
    call = _function(module, function, device)
    for target in outputs:
        if target != "-" and not (target.startswith("@") and target[1:]):
            raise CommandError(f"--output={target}: expected @file.npy or -")
    arguments = [parse_tensor(text) for text in inputs]
    arrays = [np.asarray(result) for result in _as_list(_first_call(call, arguments))]
    if outputs and len(outputs) != len(arrays):
        raise CommandError(f"--output is given {len(outputs)} times for {len(arrays)} results")
    if as_json:
        print_json([{"shape": a.shape, "dtype": str(a.dtype), "values": a.tolist()} for a in arrays])
    elif not outputs:
        print(f"EXEC @{function}")
    for n, array in enumerate(arrays):
        target = outputs[n] if outputs else "-"
        if target.startswith("@"):
            np.save(Path(target[1:]), array)
        elif not as_json:
            print(f"result[{n}]: hal.buffer_view\n{format_tensor(array)}")


def benchmark(module: Path, function: str, inputs: list[str], seconds: float, device: str, as_json: bool) -> None:
    """Calls the function for some time and tells how long a call takes, results waited for."""
    call = _function(module, function, device)
    arguments = [parse_tensor(text) for text in inputs]
    _finish(_first_call(call, arguments))  # loading pages and starting workers is not what is measured
    spent = []
    stop = time.perf_counter() + seconds
    while not spent or time.perf_counter() < stop:
        started = time.perf_counter()
        _finish(call(*arguments))
        spent.append(time.perf_counter() - started)
    times = {
        "calls": len(spent),
        "min": min(spent),
        "median": statistics.median(spent),
        "mean": statistics.fmean(spent),
        "max": max(spent),
    }
    if not as_json:
        times = {name: value if name == "calls" else f"{1e6 * value:.1f} us" for name, value in times.items()}
    print_mapping(times, as_json)


def _function(module: Path, function: str, device: str) -> Callable[..., Any]:
    from pyiree.runtime import session

    loaded = session.load(str(existing(module)), devices=device)
    try:
        return loaded[function]
    except KeyError:
        known = ", ".join(loaded.exports) or "none"
        raise CommandError(f"{module} exports no function {function!r}; it has {known}") from None


def _first_call(call: Callable[..., Any], arguments: list[np.ndarray]) -> Any:
    try:
        return call(*arguments)
    except TypeError as error:  # too few arguments, or too many
        raise CommandError(str(error)) from None


def _as_list(results: Any) -> list[Any]:
    if results is None:
        return []
    return list(results) if isinstance(results, (tuple, list)) else [results]


def _finish(results: Any) -> None:
    for result in _as_list(results):
        result.block_until_ready()
