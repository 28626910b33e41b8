"""The passes of the flow phase, in order."""

PASSES = (
    "iree-abi-wrap-entry-points",
    "iree-hal-assign-target-devices",
    "pyiree-flow-materialize-host-scalars",
    "iree-global-opt-remove-zero-extent-tensors",
    "iree-dispatch-creation-fold-unit-extent-dims",
    "iree-dispatch-creation-split-reduction-ops",
    "pyiree-flow-split-scans",
    "resolve-ranked-shaped-type-result-dims",
    "canonicalize",
    "cse",
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
