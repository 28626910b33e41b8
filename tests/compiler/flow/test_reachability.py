"""The closed graph gives the answers that a search gives."""

import random

import pytest
from pyiree.compiler.flow.reachability import Reachability


class _Searched:
    """The same graph, searched each time."""

    def __init__(self):
        self.edges = {}

    def add(self, node, followers):
        self.edges[node] = set(followers)

    def reaches(self, nodes, target):
        pending, seen = [f for n in nodes for f in self.edges[n]], set()
        while pending:
            node = pending.pop()
            if node == target:
                return True
            if node not in seen:
                seen.add(node)
                pending += self.edges[node]
        return False

    def extend(self, node, followers):
        self.edges[node] |= set(followers)

    def unite(self, node, other):
        self.edges[node] |= self.edges.pop(other)
        for followers in self.edges.values():
            if other in followers:
                followers.discard(other)
                followers.add(node)
        self.edges[node].discard(node)


@pytest.mark.parametrize("seed", range(20))
def test_random_graphs(seed):
    choose = random.Random(seed)
    fast, slow = Reachability(), _Searched()
    nodes = []
    for number in range(40):
        step = choose.random()
        if step < 0.6 or len(nodes) < 3:
            followers = choose.sample(nodes, min(len(nodes), choose.randrange(3)))
            for graph in (fast, slow):
                graph.add(number, followers)
            nodes.append(number)
        else:
            a, b = choose.sample(nodes, 2)
            if step < 0.8 and not slow.reaches([b], a):
                for graph in (fast, slow):
                    graph.extend(a, [b])
            elif not any(slow.reaches([x], y) for x, y in ((a, b), (b, a))):
                for graph in (fast, slow):
                    graph.unite(a, b)
                nodes.remove(b)
        for a in nodes:
            for b in nodes:
                assert fast.reaches([a], b) == slow.reaches([a], b)
