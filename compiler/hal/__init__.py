"""The HAL phase: device objects, command buffers and machine code.

Enters: stream commands, resources and timepoints; executables of dispatch functions. Leaves: a host program of hal
ops, with one executable that holds an ELF. The passes in order are in `pipeline.py`.
"""

from pyiree.compiler.ir.passes import register_passes

register_passes(
    {
        "iree-hal-materialize-interfaces": "pyiree.compiler.hal.materialize_interfaces",
        "iree-hal-translate-all-executables": "pyiree.compiler.hal.translate_executables",
        "iree-hal-conversion": "pyiree.compiler.hal.convert_to_hal",
        "iree-hal-initialize-devices": "pyiree.compiler.hal.initialize_devices",
        "iree-hal-materialize-resource-caches": "pyiree.compiler.hal.materialize_executables",
        "iree-hal-outline-memoize-regions": "pyiree.compiler.hal.outline_memoize_regions",
        "iree-hal-serialize-all-executables": "pyiree.compiler.hal.serialize_executables",
        "iree-util-simplify-global-accesses": "pyiree.compiler.hal.simplify_global_accesses",
        "iree-hal-verify": "pyiree.compiler.hal.verify_hal",
    }
)
