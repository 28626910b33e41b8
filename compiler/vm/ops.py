"""The vm dialect: the host program as code of a register machine.

Every op that is not a pseudo op is one instruction of `pyiree.runtime.vmfb.isa`, under the same mnemonic. The ops are
declared in `ops_control` (modules, functions, branches), `ops_calls`, `ops_memory` (globals, data, buffers, lists) and
`ops_values` (constants, arithmetic, comparisons, conversions, selections); the regular families are tables there.
"""

from pyiree.compiler.vm.ops_base import FAMILY_OPS  # noqa: F401
from pyiree.compiler.vm.ops_control import *  # noqa: F403  (this module is the whole dialect)
from pyiree.compiler.vm.ops_memory import *  # noqa: F403
from pyiree.compiler.vm.ops_values import ConstRefZeroOp, constant_op  # noqa: F401
