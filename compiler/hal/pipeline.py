"""The passes of the HAL phase, in order: why each is there, and what holds after it."""

PASSES = (
    # Dispatch functions ask for their bindings and constants; each executable has a variant for the target.
    "iree-hal-materialize-interfaces",
    # Kernels are machine code, all of them in one executable; exports say how many workgroups run.
    "iree-hal-translate-all-executables",
    # The host program is buffers, fences, command buffers and queues; it computes workgroup counts where it dispatches.
    "iree-hal-conversion",
    "canonicalize",
    "cse",
    # When the program is loaded: devices are found, executables loaded, command buffers recorded that stay the same.
    "iree-hal-materialize-resource-caches",
    "iree-hal-initialize-devices",
    "iree-hal-outline-memoize-regions",
    # Nothing asks for exports any more.
    "iree-hal-serialize-all-executables",
    "iree-util-simplify-global-accesses",
    "canonicalize",
    "cse",
    "symbol-dce",
    "iree-hal-verify",
)
