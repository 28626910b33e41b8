"""The passes of the vm phase, and those that run once more on whatever is written to a file."""

from __future__ import annotations

#: hal → vm. What the text of the phase shows is what is left after the last of them.
PASSES = (
    "iree-vm-conversion",
    "iree-vm-hoist-inlined-rodata",
    "iree-vm-deduplicate-rodata",
    "iree-vm-resolve-rodata-loads",
    "iree-vm-global-initialization",
    "pyiree-vm-simplify-branches",
    "iree-vm-drop-unused-calls",
    "cse",
    "iree-vm-drop-empty-module-initializers",
    "iree-vm-annotate-functions",
    "iree-vm-convert-to-yieldable-calls",
    "iree-vm-sink-defining-ops",
    "iree-vm-drop-optimization-barriers",
    "iree-vm-materialize-ref-discards",
    "iree-vm-verify",
)

#: For a module that was written by hand; each leaves alone what the phase has made. The module may be the root itself.
SERIALIZATION_PIPELINE = (
    "any("
    "iree-vm-hoist-inlined-rodata,"
    "iree-vm-global-initialization,"
    "iree-vm-expand-pseudo-ops,"
    "iree-vm-annotate-functions,"
    "iree-vm-convert-to-yieldable-calls,"
    "iree-vm-drop-optimization-barriers,"
    "iree-vm-materialize-ref-discards,"
    "iree-vm-verify"
    ")"
)
