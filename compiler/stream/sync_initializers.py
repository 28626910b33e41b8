"""iree-stream-sync-initializers: a module is ready when its initializers have returned.

Before: initializers wait for what they store in globals as functions do.
After:  these waits are `sync`: they are not moved to whoever loads the global.
"""

from __future__ import annotations

from pyiree.compiler.ir.core import Operation
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.stream.ops import TimepointAwaitOp


@register_pass("iree-stream-sync-initializers", on="util.initializer")
def sync_initializers(initializer: Operation, context: PassContext) -> None:
    """Marks every wait of an initializer as one of the host."""
    for op in initializer.walk_type(TimepointAwaitOp):
        op.sync = True
