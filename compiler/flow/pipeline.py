"""The passes of the flow phase, in order."""

PASSES = (
    "iree-abi-wrap-entry-points",
    "iree-hal-assign-target-devices",
    "pyiree-flow-merge-host-calls",
    "pyiree-flow-materialize-host-scalars",
    "pyiree-flow-split-conditions",
    "pyiree-flow-fold-integer-ranges",
    "pyiree-flow-select-branches",
    "pyiree-flow-batch-loops",
    "iree-global-opt-remove-zero-extent-tensors",
    "iree-dispatch-creation-fold-unit-extent-dims",
    "iree-dispatch-creation-split-reduction-ops",
    "pyiree-flow-split-scans",
    "pyiree-flow-sort-by-parts",
    "pyiree-flow-split-sorts",
    "resolve-ranked-shaped-type-result-dims",
    "canonicalize",
    "cse",
    # After `cse`, which would make one op of those that are needed in a loop and before it; before loops are put into
    # kernels, which more of them can be.
    "iree-loop-invariant-code-motion",
    "pyiree-flow-form-loop-regions",
    "iree-dispatch-creation-form-dispatch-regions",
    "iree-flow-outline-dispatch-regions",
    "iree-flow-deduplicate-executables",
    "iree-util-outline-constants",
    "iree-flow-convert-tensor-ops",
    "resolve-ranked-shaped-type-result-dims",
    "canonicalize",
    "cse",
    "iree-flow-verify",
)
