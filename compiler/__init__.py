"""The compiler: StableHLO to IREE `.vmfb`, phase by phase.

The tables below say where each dialect and each pass lives, as strings; nothing is imported before its name is used.
"""

from pyiree.compiler.ir.registry import register_dialects

register_dialects(
    {
        "builtin": "pyiree.compiler.dialects.builtin",
        "func": "pyiree.compiler.dialects.func",
        "arith": "pyiree.compiler.dialects.arith",
        "math": "pyiree.compiler.dialects.math",
        "complex": "pyiree.compiler.dialects.complex",
        "tensor": "pyiree.compiler.dialects.tensor",
        "linalg": "pyiree.compiler.dialects.linalg",
        "scf": "pyiree.compiler.dialects.scf",
        "cf": "pyiree.compiler.dialects.cf",
        "util": "pyiree.compiler.dialects.util",
        "iree_linalg_ext": "pyiree.compiler.dialects.iree_linalg_ext",
        "iree_tensor_ext": "pyiree.compiler.dialects.iree_tensor_ext",
        "flow": "pyiree.compiler.flow.ops",
        "stream": "pyiree.compiler.stream.ops",
        "hal": "pyiree.compiler.hal.ops",
        "vm": "pyiree.compiler.vm.ops",
    }
)
