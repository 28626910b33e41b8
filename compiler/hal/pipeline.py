"""The passes of the HAL phase, in order."""

PASSES = (
    "iree-hal-materialize-interfaces",
    "iree-hal-translate-all-executables",
    "iree-hal-conversion",
    "canonicalize",
    "cse",
    "iree-hal-initialize-devices",
    "iree-hal-materialize-resource-caches",
    "iree-hal-outline-memoize-regions",
    "iree-hal-serialize-all-executables",
    "canonicalize",
    "cse",
    "symbol-dce",
)
