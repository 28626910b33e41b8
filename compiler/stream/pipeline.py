"""The passes of the stream phase, in order: why each is there, and what holds after it.

Two kinds of IREE's passes have no place here: transients never live in storage of the caller, so nothing is emplaced
in it; and dispatches are not specialized by tables of their constants, which kernels read more slowly than numbers.
"""

#: Only the host program changes in between most of the passes; what is in executables is cleaned up where it changes.
HOST_CANONICALIZE, HOST_CSE = "canonicalize{dialect=util}", "cse{dialect=util}"

#: From the flow dialect to execution regions at the async level.
ASYNC_PASSES = (
    # Tensors become resources with sizes; every op knows its device.
    "iree-stream-conversion",
    "iree-stream-verify-lowering-to-tensors",
    # One initializer, so that all constants are packed together.
    "iree-util-combine-initializers",
    # Equal sizes become one value, so that later passes see that they are equal.
    HOST_CSE,
    HOST_CANONICALIZE,
    # Bytes instead of elements, on both sides of a dispatch.
    "iree-stream-encode-host-tensors",
    "iree-stream-encode-device-tensors",
    "canonicalize",
    "cse",
    "iree-stream-verify-lowering-to-async-resources",
    # In place where that is the same; from here on no pass may merge or move ops that make or write memory.
    "iree-stream-materialize-copy-on-write",
    "iree-stream-elide-async-copies",
    "iree-stream-emplace-allocations",
    # Every resource has a lifetime.
    "iree-stream-refine-usage",
    HOST_CANONICALIZE,
    "iree-stream-verify-async-access-ranges",
    # The device's work in regions, concurrent where nothing is in the way; waits on the device.
    "iree-stream-schedule-execution",
    "iree-stream-schedule-concurrency",
    "iree-stream-sync-initializers",
    "iree-stream-propagate-timepoints",
    "iree-stream-materialize-builtins",
    HOST_CANONICALIZE,
    HOST_CSE,
    "iree-stream-verify-lowering-to-async",
)

#: From the async level to commands on allocated memory.
CMD_PASSES = (
    # Memory: results and slabs of transients are allocated, slices get offsets.
    "iree-stream-schedule-allocation",
    "iree-stream-pack-constants",
    "iree-stream-layout-slices",
    # Views become offsets, so that a region captures each piece of memory once.
    "iree-util-propagate-subranges",
    HOST_CANONICALIZE,
    HOST_CSE,
    # Loops allocate once, in front.
    "pyiree-stream-hoist-loop-allocations",
    # Memory is given back after its last use, and taken again.
    "iree-stream-automatic-reference-counting",
    "iree-stream-verify-lowering-to-cmd",
    "iree-stream-reuse-allocations",
    # From here on the host program is blocks and branches.
    "iree-stream-convert-scf-to-cf",
    HOST_CANONICALIZE,
    # Waits that say nothing go.
    "iree-stream-elide-timepoints",
    HOST_CANONICALIZE,
    HOST_CSE,
    # Dispatch functions take few bindings, know what they can know, and take words of 32 bits.
    "iree-stream-fuse-dispatch-bindings",
    "iree-stream-annotate-dispatch-arguments",
    "iree-stream-pack-dispatch-operands",
    "canonicalize",
    "cse",
    "iree-stream-fold-uniform-operands",
    "canonicalize",
    # Loops of little work are one dispatch, which needs the last form of those of an iteration: those that data steers,
    # and counted ones.
    "pyiree-stream-form-control-dispatches",
    "pyiree-stream-form-loop-dispatches",
    HOST_CANONICALIZE,
)

PASSES = ASYNC_PASSES + CMD_PASSES
