"""The flow phase: what is one dispatch.

Enters: `util.func` on tensors, linalg and scf. Leaves: a host program of `flow.dispatch` and `flow.tensor` ops, and a
`flow.executable` for each kind of dispatch. The passes in order are in `pipeline.py`.
"""

from pyiree.compiler.ir.passes import register_passes

register_passes(
    {
        "iree-abi-wrap-entry-points": "pyiree.compiler.flow.wrap_entry_points",
        "iree-hal-assign-target-devices": "pyiree.compiler.flow.assign_target_devices",
        "resolve-ranked-shaped-type-result-dims": "pyiree.compiler.flow.resolve_dims",
        "iree-global-opt-remove-zero-extent-tensors": "pyiree.compiler.flow.remove_zero_extent_tensors",
        "iree-dispatch-creation-fold-unit-extent-dims": "pyiree.compiler.flow.fold_unit_reductions",
        "iree-dispatch-creation-split-reduction-ops": "pyiree.compiler.flow.split_reductions",
        "pyiree-flow-split-scans": "pyiree.compiler.flow.split_scans",
        "pyiree-flow-sort-by-parts": "pyiree.compiler.flow.sort_by_parts",
        "pyiree-flow-split-sorts": "pyiree.compiler.flow.split_sorts",
        "iree-loop-invariant-code-motion": "pyiree.compiler.flow.loop_invariant_code_motion",
        "pyiree-flow-form-loop-regions": "pyiree.compiler.flow.form_loop_regions",
        "iree-dispatch-creation-form-dispatch-regions": "pyiree.compiler.flow.form_dispatch_regions",
        "iree-flow-outline-dispatch-regions": "pyiree.compiler.flow.outline_dispatch_regions",
        "pyiree-flow-merge-host-calls": "pyiree.compiler.flow.merge_host_calls",
        "pyiree-flow-materialize-host-scalars": "pyiree.compiler.flow.materialize_host_scalars",
        "pyiree-flow-fold-integer-ranges": "pyiree.compiler.flow.fold_integer_ranges",
        "pyiree-flow-split-conditions": "pyiree.compiler.flow.split_conditions",
        "pyiree-flow-select-branches": "pyiree.compiler.flow.select_branches",
        "pyiree-flow-batch-loops": "pyiree.compiler.flow.batch_loops",
        "iree-flow-deduplicate-executables": "pyiree.compiler.flow.deduplicate_executables",
        "iree-util-outline-constants": "pyiree.compiler.flow.outline_constants",
        "iree-flow-verify": "pyiree.compiler.flow.verify_flow",
        "iree-flow-convert-tensor-ops": "pyiree.compiler.flow.host_tensor_ops",
    }
)
