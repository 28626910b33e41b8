"""One file a strategy: from a dispatch graph to a kernel.

A strategy is a function `build(graph, target) -> Plan`; `select` in `translate` picks it by the dispatch's root.
"""
