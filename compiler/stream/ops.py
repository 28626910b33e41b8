"""The stream dialect, as a whole: importing this module declares every op, type and attribute of it.

`ops_tensor` shaped tensors, `ops_async` untyped resources ordered by their uses, `ops_cmd` commands in explicit
order, `ops_resource` memory and timepoints, `ops_executable` dispatch functions.
"""

from pyiree.compiler.stream.ops_async import *  # noqa: F403
from pyiree.compiler.stream.ops_cmd import *  # noqa: F403
from pyiree.compiler.stream.ops_executable import *  # noqa: F403
from pyiree.compiler.stream.ops_resource import *  # noqa: F403
from pyiree.compiler.stream.ops_tensor import *  # noqa: F403
from pyiree.compiler.stream.types import *  # noqa: F403
