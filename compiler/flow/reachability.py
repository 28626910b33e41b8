"""Which nodes of a graph come after which, while nodes are being added and joined.

Enters: nodes, last ones first, each with the nodes that come right after it. Leaves: the answer to "does `a` come
before `b`", in one step: every node holds the set of all later nodes as the bits of an integer.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable


class Reachability:
    """A graph without cycles, closed under "comes after"."""

    def __init__(self) -> None:
        self._bit: dict[Hashable, int] = {}
        self._count = 0
        self._after: dict[Hashable, int] = {}

    def __contains__(self, node: Hashable) -> bool:
        return node in self._bit

    def add(self, node: Hashable, followers: Iterable[Hashable]) -> None:
        """A node that comes before `followers`, and that nothing comes before yet."""
        self._bit[node] = 1 << self._count
        self._count += 1
        self._after[node] = self._closure(followers)

    def _closure(self, nodes: Iterable[Hashable]) -> int:
        """The nodes and everything after them."""
        found = 0
        for node in nodes:
            found |= self._bit[node] | self._after[node]
        return found

    def reaches(self, nodes: Iterable[Hashable], target: Hashable) -> bool:
        """Whether one of `nodes` comes before `target`."""
        return any(self._after[node] & self._bit[target] for node in nodes)

    def extend(self, node: Hashable, followers: Iterable[Hashable]) -> None:
        """A node comes before `followers` as well, of which none may come before it."""
        new = self._closure(followers) & ~self._after[node]
        if new:
            bit = self._bit[node]
            self._after[node] |= new
            for other, after in self._after.items():
                if after & bit:
                    self._after[other] = after | new

    def unite(self, node: Hashable, other: Hashable) -> None:
        """Makes one node of two; nothing that comes after one of them may come before the other."""
        both = self._bit[node] | self._bit.pop(other)
        after = (self._after[node] | self._after.pop(other)) & ~both
        self._bit[node], self._after[node] = both, after
        for third, its_after in self._after.items():
            if its_after & both:
                self._after[third] = its_after | both | after
