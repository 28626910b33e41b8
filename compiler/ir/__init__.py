"""The IR core: operations, types and attributes, their text, and the machinery that rewrites them.

Import from the modules: `core`, `types`, `attributes`, `definition`, `parser`, `printer`, `builder`, `rewrite`,
`conversion`, `passes`, …; this package itself imports nothing.
"""
