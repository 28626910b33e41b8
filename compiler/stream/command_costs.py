"""About how long the commands of a region take on one core.

Enters: a module at the cmd level. Leaves: the nanoseconds of each dispatch entry, and of ops of the host that have the
device do commands; how many iterations of a loop a dispatch should do.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyiree.compiler.dialects.builtin import ModuleOp
from pyiree.compiler.ir.core import Operation
from pyiree.compiler.stream import ops
from pyiree.compiler.stream.dispatch_costs import nanoseconds
from pyiree.compiler.stream.dispatch_sites import functions_of
from pyiree.compiler.stream.encoding import constant_value
from pyiree.compiler.stream.loop_function import commands_of

#: To start a copy or fill, for a byte of it, and for one of a length that is not known.
_START = 10.0
_PER_BYTE = 0.05
_UNKNOWN_LENGTH = 20_000.0

#: The work of an iteration that is little, and of a dispatch.
_LITTLE = 20_000.0
_LONG = 10_000_000.0

Costs = dict[tuple[str, str], float | None]


def entry_costs(module: ModuleOp) -> Costs:
    """The nanoseconds of each function that a command dispatches, by executable and function."""
    return {
        (executable.sym_name, function.sym_name): nanoseconds(function)
        for executable in module.walk_type(ops.ExecutableOp)
        for function in functions_of(executable)
    }


def commands_nanoseconds(host_ops: Iterable[Operation], costs: Costs) -> float | None:
    """The nanoseconds of all commands of some ops, or None where that is not known."""
    total = 0.0
    for op in host_ops:
        if isinstance(op, ops.CmdExecuteOp):
            for command in commands_of(op) or ():
                if not isinstance(command, ops.CmdDispatchOp):
                    copied = isinstance(command, ops.CmdCopyOp)
                    length = constant_value(command.length if copied else command.target_length)
                    total += _START + (_PER_BYTE * length if length is not None else _UNKNOWN_LENGTH)
                    continue
                (entry,) = command.entry_points
                cost = costs.get((entry.root, entry.leaf))
                if cost is None:
                    return None
                total += cost
    return total


def is_little(nanoseconds: float) -> bool:
    """Whether one core has done an iteration of so much work before the host, or several cores, would have begun it."""
    return nanoseconds <= _LITTLE


def nanoseconds_of_dispatch() -> int:
    """How long a dispatch may take, so that a program can be interrupted soon."""
    return int(_LONG)


def iterations_of_dispatch(iteration_nanoseconds: float | None) -> int | None:
    """How many iterations of a loop one dispatch should do; None for iterations that should be dispatched each."""
    if iteration_nanoseconds is None or not is_little(iteration_nanoseconds):
        return None
    return max(1, int(_LONG / max(iteration_nanoseconds, 1.0)))
