"""The stream phase: when work runs and where memory lives. Its passes, in order, are in `pipeline.py`.

    flow → tensor  resources with a tensor type beside each          convert_to_stream
    tensor → async bytes, ordered by operands alone                  encode_host_tensors, encode_device_tensors
    async          copies only where needed, lifetimes, regions of   materialize_copy_on_write … propagate_timepoints
                   work with timepoints
    async → cmd    memory is allocated, commands in explicit order   schedule_allocation …
"""

from pyiree.compiler.ir.passes import register_passes

register_passes(
    {
        "iree-stream-conversion": "pyiree.compiler.stream.convert_to_stream",
        "iree-stream-verify-lowering-to-tensors": "pyiree.compiler.stream.verify_lowering",
        "iree-stream-encode-host-tensors": "pyiree.compiler.stream.encode_host_tensors",
        "iree-stream-encode-device-tensors": "pyiree.compiler.stream.encode_device_tensors",
        "iree-stream-verify-lowering-to-async-resources": "pyiree.compiler.stream.verify_lowering",
        "iree-stream-materialize-copy-on-write": "pyiree.compiler.stream.materialize_copy_on_write",
        "iree-stream-elide-async-copies": "pyiree.compiler.stream.elide_async_copies",
        "iree-stream-emplace-allocations": "pyiree.compiler.stream.emplace_allocations",
        "iree-stream-refine-usage": "pyiree.compiler.stream.refine_usage",
        "iree-stream-verify-async-access-ranges": "pyiree.compiler.stream.verify_async_access_ranges",
        "iree-stream-schedule-execution": "pyiree.compiler.stream.schedule_execution",
        "iree-stream-schedule-concurrency": "pyiree.compiler.stream.schedule_concurrency",
        "iree-stream-sync-initializers": "pyiree.compiler.stream.sync_initializers",
        "iree-stream-propagate-timepoints": "pyiree.compiler.stream.propagate_timepoints",
        "iree-stream-materialize-builtins": "pyiree.compiler.stream.materialize_builtins",
        "iree-stream-verify-lowering-to-async": "pyiree.compiler.stream.verify_lowering",
        "iree-stream-schedule-allocation": "pyiree.compiler.stream.schedule_allocation",
        "iree-util-combine-initializers": "pyiree.compiler.stream.combine_initializers",
        "iree-stream-pack-constants": "pyiree.compiler.stream.pack_constants",
        "iree-util-propagate-subranges": "pyiree.compiler.stream.propagate_subranges",
        "iree-stream-layout-slices": "pyiree.compiler.stream.layout_slices",
        "pyiree-stream-hoist-loop-allocations": "pyiree.compiler.stream.hoist_loop_allocations",
        "iree-stream-verify-lowering-to-cmd": "pyiree.compiler.stream.verify_lowering",
        "iree-stream-automatic-reference-counting": "pyiree.compiler.stream.automatic_reference_counting",
        "iree-stream-reuse-allocations": "pyiree.compiler.stream.reuse_allocations",
        "iree-stream-elide-timepoints": "pyiree.compiler.stream.elide_timepoints",
        "iree-stream-convert-scf-to-cf": "pyiree.compiler.stream.convert_scf_to_cf",
        "iree-stream-fuse-dispatch-bindings": "pyiree.compiler.stream.fuse_dispatch_bindings",
        "iree-stream-annotate-dispatch-arguments": "pyiree.compiler.stream.annotate_dispatch_arguments",
        "iree-stream-fold-uniform-operands": "pyiree.compiler.stream.fold_uniform_operands",
        "iree-stream-pack-dispatch-operands": "pyiree.compiler.stream.pack_dispatch_operands",
        "pyiree-stream-form-loop-dispatches": "pyiree.compiler.stream.form_loop_dispatches",
        "pyiree-stream-form-control-dispatches": "pyiree.compiler.stream.form_control_dispatches",
    }
)
