"""Moves that happen at once, as a sequence of moves.

Enters: (source, target) registers, of which all sources are read before any target is written. Leaves: an order in
which one move after the other does the same; a cycle goes through a scratch register.

    (0 → 1), (1 → 0)        →        1 → 2,  0 → 1,  2 → 0
"""

from __future__ import annotations

from collections.abc import Callable, Sequence


def sequentialize(copies: Sequence[tuple[int, int]], scratch: Callable[[], int]) -> list[tuple[int, int]]:
    """The moves in order, without those from a register to itself. `scratch()` is asked for once a cycle."""
    pending = [(source, target) for source, target in copies if source != target]
    done: list[tuple[int, int]] = []
    while pending:
        sources = {source for source, _ in pending}
        ready = [copy for copy in pending if copy[1] not in sources]
        if ready:
            done += ready
            pending = [copy for copy in pending if copy[1] in sources]
            continue
        # Every target is still to be read: save one, and read the copy instead.
        saved, spare = pending[0][1], scratch()
        done.append((saved, spare))
        pending = [(spare if source == saved else source, target) for source, target in pending]
    return done
