"""iree-util-combine-initializers: one initializer does what several did.

Before: an initializer for each global that needs one.
After:  one initializer, at the place of the last: its work can be scheduled, and its constants packed, as a whole.

    util.initializer { %0 = …; util.global.store %0, @a … util.return }
    util.initializer { %1 = …; util.global.store %1, @b … util.return }
    →
    util.initializer { %0 = …; util.global.store %0, @a …  %1 = …; util.global.store %1, @b … util.return }

An initializer of several blocks stays alone, and none is moved across it.
"""

from __future__ import annotations

from pyiree.compiler.dialects.util import InitializerOp
from pyiree.compiler.ir.core import Operation
from pyiree.compiler.ir.passes import PassContext, register_pass


@register_pass("iree-util-combine-initializers")
def combine_initializers(module: Operation, context: PassContext) -> None:
    """Joins the initializers of a module in their order."""
    previous: InitializerOp | None = None
    for op in list(module.regions[0].ops):
        if not isinstance(op, InitializerOp):
            continue
        if len(op.body.blocks) > 1:
            previous = None
            continue
        if previous is not None:
            _prepend(previous, op)
        previous = op


def _prepend(first: InitializerOp, second: InitializerOp) -> None:
    anchor = second.entry_block.first_op
    for op in list(first.entry_block.ops):
        if op is not first.entry_block.terminator:
            op.move_before(anchor)  # type: ignore[arg-type]
    first.erase()
