"""Constants that are still being made: machine code, while another thread compiles it.

What enters: a function that waits for the bytes. What leaves: an attribute that ops carry like any other `dense<…>` of
bytes. Whoever looks into it, as printer and verifier do, waits; whoever only passes it on does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
from pyiree.compiler.ir.dense import DenseElementsAttr
from pyiree.compiler.ir.types import VectorType, i8


class PendingBytesAttr(DenseElementsAttr):
    """Bytes, asked for when they are needed. Two of these are equal when they are the same."""

    __slots__ = ("_finish", "_known")

    def __new__(cls, finish: Callable[[], bytes]) -> PendingBytesAttr:
        """`finish` waits for the bytes; it is called once, and again only if it failed."""
        made = object.__new__(cls)
        made._text, made._finish, made._known = None, finish, None
        return made

    def known(self) -> DenseElementsAttr:
        """The constant with its bytes."""
        if self._known is None:
            raw = self._finish()
            self._known = DenseElementsAttr(VectorType((len(raw),), i8), numpy.frombuffer(raw, numpy.int8))
        return self._known

    type: Any = property(lambda self: self.known().type)
    data: Any = property(lambda self: self.known().data)
    is_splat: Any = property(lambda self: self.known().is_splat)

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__
