"""What a contraction is as a matrix product: which bands are rows, columns and products, and how its factors lie.

Enters: the `RowKernel` of a dispatch whose one reduction sums products. Leaves: a `MatmulShape`, or None where the
dispatch has no such form (sizes that are known only at run time, a factor computed from both inputs, several summed
bands); then the general kernel takes it.

The columns are the side whose own dims the result is contiguous along; lanes run along them. The other side's largest
band is the rows. What is left, batch dims among it, is `outer`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...ir.core import BlockArgument, Value
from ..configure import Band
from ..evaluate import Evaluator
from ..indexing import Index
from ..loops import Value as LoopValue
from ..placement import syms_of
from ..reducers import DotReducer, reducers_of
from ..row_kernel import RowKernel
from ..stages import Reduction
from ..structured import StructuredOp
from ..survey import Access, SurveyScope, survey


class Factor:
    """One of the two values whose products are summed: how it is computed, and how its elements lie in memory."""

    def __init__(self, kernel: RowKernel, reduction: Reduction, reducer: DotReducer, number: int):
        self.view: StructuredOp = reduction.view
        self.loops: list[Index] = reduction.loops
        self._reducer = reducer
        self._value: Value | None = None if reducer.factors is None else reducer.factors[number]
        self._inputs = [number] if self._value is None else _inputs_of(self.view, self._value)
        self.is_separate = len(self._inputs) == 1
        if self.is_separate:
            found = survey(kernel.context, [*kernel.domain.rows, *kernel.domain.reduced], self._look)
            self.accesses: list[Access] = found.accesses
            self.is_plain = (
                len(self.accesses) == 1
                and not self.accesses[0].opaque
                and self.accesses[0].buffer.elem == reducer.state_elem
                and found.cost <= 1
            )

    @property
    def syms(self) -> set:
        """The dims that the factor depends on."""
        (number,) = self._inputs
        at = [self.loops[e.position] for e in self.view.maps[number] if hasattr(e, "position")]
        return syms_of(at)

    def _look(self, scope: SurveyScope) -> None:
        from_kernel = Evaluator(self._context(scope), scope)
        self.at(from_kernel, 1)

    def at(self, evaluator: Evaluator, lanes: int) -> LoopValue:
        """The factor where the evaluator is, in the type of the sum: a scalar where all lanes agree and 1 is asked."""
        (number,) = self._inputs
        view, loops = self.view, self.loops
        element = evaluator.operand_at(view.inputs[number], view.maps[number], loops, None)
        if self._value is not None:
            arguments = {view.body.arguments[number]: element}
            (element,) = evaluator.run_body(view.body, arguments, loops, None, [self._value])
        return self._reducer.factor(element, max(lanes, element.lanes))

    def step(self, band: Band) -> int | None:
        """Elements from one step of a band to the next where that is the same for every access, else None."""
        steps = {access.coefficients.get(band.inner, 0) for access in self.accesses}
        opaque = any(access.opaque & set(band.syms) for access in self.accesses)
        if opaque or len(steps) != 1:
            return None
        (step,) = steps
        return step if step.__class__ is int else None


def _inputs_of(view: StructuredOp, value: Value) -> list[int]:
    """The numbers of the inputs that a body value is computed from."""
    found, pending, seen = set(), [value], set()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value, BlockArgument):
            if value.block is view.body:
                found.add(value.index)
        elif value.defining_op is not None:
            pending += value.defining_op.operands
    return sorted(found)
