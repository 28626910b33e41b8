"""The hal dialect, as a whole: importing this module declares every op, type and attribute of it.

`ops_device` devices, queues and fences, `ops_buffer` memory and buffer views, `ops_command_buffer` recordings,
`ops_executable` kernels. What the phases before HAL use stands in `dialects/hal.py`.
"""

from pyiree.compiler.dialects.hal import *  # noqa: F403
from pyiree.compiler.hal.ops_buffer import *  # noqa: F403
from pyiree.compiler.hal.ops_command_buffer import *  # noqa: F403
from pyiree.compiler.hal.ops_device import *  # noqa: F403
from pyiree.compiler.hal.ops_executable import *  # noqa: F403
