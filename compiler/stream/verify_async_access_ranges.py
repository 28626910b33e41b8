"""iree-stream-verify-async-access-ranges: no op reaches outside of its resources, as far as numbers are known.

Before and after: the same program; a range whose bounds are constants lies within its resource.
"""

from __future__ import annotations

from pyiree.compiler.ir.core import Operation
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.stream.encoding import constant_value
from pyiree.compiler.stream.interfaces import AccessRange, access_ranges


@register_pass("iree-stream-verify-async-access-ranges")
def verify_async_access_ranges(module: Operation, context: PassContext) -> None:
    """Checks the ranges of every async op of a module."""
    for op in module.walk():
        if op.name.startswith("stream.async."):
            for access in access_ranges(op):
                _verify(op, access)


def _verify(op: Operation, access: AccessRange) -> None:
    start = 0 if access.start is None else constant_value(access.start)
    end, size = constant_value(access.end), constant_value(access.size)
    word = "writes" if access.writes else "reads"
    if start is not None and end is not None and start > end:
        raise op.error(f"{word} a range that ends before it starts: [{start}, {end})")  # type: ignore[attr-defined]
    if end is not None and size is not None and end > size:
        raise op.error(f"{word} up to byte {end} of a resource of {size} bytes")  # type: ignore[attr-defined]
