"""The vm phase: the host program as bytecode of IREE's register machine, and the `.vmfb` that holds it.

Enters: a module of hal, util, cf, arith and math ops; executables are binaries. Leaves: one `vm.module`, and by
`serialize` the file. The passes, in order:

    convert_to_vm                   every op as vm ops; imports for what is called of other modules
    hoist_inlined_rodata            data that stands in code becomes segments of the module
    deduplicate_rodata              equal segments become one
    resolve_rodata_loads            constant globals that hold a segment are read from it directly
    global_initialization           all initializers become one function, `__init`
    simplify_branches               no branch on a constant, none to a branch, none that is the only way on
    drop_unused_calls               calls without effects that nobody needs go
    drop_empty_module_initializers  so does an `__init` that does nothing
    annotate_functions              which functions may suspend, which must unwind
    convert_to_yieldable_calls      calls that may suspend end their block
    sink_defining_ops               constants move to where they are used
    drop_optimization_barriers      barriers have done their work
    materialize_ref_discards        every reference is given up once on every path
    verify_vm                       what must hold then

and in `serialize`: `expand_pseudo_ops`, `ordinal_allocation`, `allocate_registers`, `encode_bytecode`.
"""

from pyiree.compiler.ir.passes import register_passes

register_passes(
    {
        "iree-vm-conversion": "pyiree.compiler.vm.convert_to_vm",
        "iree-vm-hoist-inlined-rodata": "pyiree.compiler.vm.hoist_inlined_rodata",
        "iree-vm-deduplicate-rodata": "pyiree.compiler.vm.deduplicate_rodata",
        "iree-vm-resolve-rodata-loads": "pyiree.compiler.vm.resolve_rodata_loads",
        "iree-vm-global-initialization": "pyiree.compiler.vm.global_initialization",
        "pyiree-vm-simplify-branches": "pyiree.compiler.vm.simplify_branches",
        "iree-vm-drop-unused-calls": "pyiree.compiler.vm.drop_unused_calls",
        "iree-vm-drop-empty-module-initializers": "pyiree.compiler.vm.drop_empty_module_initializers",
        "iree-vm-annotate-functions": "pyiree.compiler.vm.annotate_functions",
        "iree-vm-convert-to-yieldable-calls": "pyiree.compiler.vm.convert_to_yieldable_calls",
        "iree-vm-sink-defining-ops": "pyiree.compiler.vm.sink_defining_ops",
        "iree-vm-drop-optimization-barriers": "pyiree.compiler.vm.drop_optimization_barriers",
        "iree-vm-materialize-ref-discards": "pyiree.compiler.vm.materialize_ref_discards",
        "iree-vm-expand-pseudo-ops": "pyiree.compiler.vm.expand_pseudo_ops",
        "iree-vm-verify": "pyiree.compiler.vm.verify_vm",
    }
)
