"""iree-stream-propagate-timepoints: work waits for work on the device, not on the host.

Before: a `stream.timepoint.await` stands between each execution region and whatever uses its results.
After:  execution regions await the timepoints of what they read; structured control flow carries a timepoint beside
        its resources. Only host uses (exports, loads, globals, calls) have awaits, each right before the first of them.

    %1 = stream.timepoint.await %t0 => %r0 : …
    %r1, %t1 = stream.async.execute with(%1 as %a: …) …
    →
    %r1, %t1 = stream.async.execute await(%t0) => with(%r0 as %a: …) …

All resources that a loop carries share one timepoint. Waits marked `sync` stay: initializers are done when they return.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pyiree.compiler.dialects import scf
from pyiree.compiler.dialects.arith import SelectOp
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Operation, Region, Value
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.stream import ops
from pyiree.compiler.stream.interfaces import is_visible_at, size_at
from pyiree.compiler.stream.types import is_resource, timepoint

_Times = dict[Value, Value]


@register_pass("iree-stream-propagate-timepoints", on=("util.func", "util.initializer"))
def propagate_timepoints(host: Operation, context: PassContext) -> None:
    """Moves the waits of a host function from the host to the device."""
    propagation = _Propagation()
    for block in list(host.regions[0].blocks):
        propagation.run(block, {})


def carries_resources(op: Operation) -> bool:
    """Whether control flow hands resources on."""
    return any(is_resource(v.type) for v in op.results)


class _Propagation:
    def __init__(self) -> None:
        #: The timepoint from which on a resource may be used; none for those that always may.
        self.times: _Times = {}

    def run(self, block: Block, awaited: _Times) -> None:
        """Goes through a block in order. `awaited` has the awaited name of each resource that the host waited for."""
        awaited = dict(awaited)
        for op in list(block.ops):
            if isinstance(op, ops.TimepointAwaitOp) and not op.sync:
                self._forget_await(op)
            elif isinstance(op, ops.AsyncExecuteOp | ops.CmdExecuteOp):
                self._await_on_device(op)
            elif isinstance(op, ops.TimepointBarrierOp):
                self._resolve_barrier(op)
            elif isinstance(op, SelectOp) and is_resource(op.result.type):
                self._note(op.result, self._join(Builder.before(op), self._times_of(op.operands)))
            elif isinstance(op, scf.ForOp | scf.WhileOp | scf.IfOp | scf.IndexSwitchOp):
                self._run_structured(op, awaited)
            elif not isinstance(op, scf.YieldOp | scf.ConditionOp):
                self._await_on_host(op, awaited)

    def _note(self, value: Value, time: Value | None) -> None:
        if time is not None:
            self.times[value] = time

    def _times_of(self, values: Iterable[Value]) -> list[Value]:
        return list(dict.fromkeys(self.times[v] for v in values if v in self.times))

    @staticmethod
    def _join(builder: Builder, times: Sequence[Value]) -> Value | None:
        distinct = list(dict.fromkeys(times))
        if len(distinct) < 2:
            return distinct[0] if distinct else None
        return builder.insert(ops.TimepointJoinOp(distinct, result_timepoint=timepoint)).result_timepoint

    def _join_or_immediate(self, builder: Builder, values: Iterable[Value]) -> Value:
        time = self._join(builder, self._times_of(values))
        if time is None:
            time = builder.insert(ops.TimepointImmediateOp(result_timepoint=timepoint)).result_timepoint
        return time

    def _forget_await(self, op: ops.TimepointAwaitOp) -> None:
        for resource, result in zip(op.resource_operands, op.results):
            known = self._times_of([resource])
            self._note(resource, self._join(Builder.before(op), [*known, op.await_timepoint]))
            result.replace_all_uses_with(resource)
        op.erase()

    def _await_on_device(self, op: Any) -> None:
        times = self._times_of(op.resource_operands)
        if op.await_timepoint is not None:
            times.append(op.await_timepoint)
        op.await_timepoint = self._join(Builder.before(op), times)
        for result in op.results[:-1]:
            self.times[result] = op.result_timepoint

    def _resolve_barrier(self, op: ops.TimepointBarrierOp) -> None:
        time = self._join_or_immediate(Builder.before(op), [op.resource])
        op.replace_all_uses_with([op.resource, time])
        op.erase()

    # Host uses.

    def _await_on_host(self, op: Operation, awaited: _Times) -> None:
        for value in dict.fromkeys(op.operands):
            if value not in self.times:
                continue
            if value not in awaited:
                self._insert_await(op, value, awaited)
            for i, operand in enumerate(op.operands):
                if operand is value:
                    op.set_operand(i, awaited[value])

    def _insert_await(self, op: Operation, value: Value, awaited: _Times) -> None:
        """One wait for all resources of a timepoint that the host uses from here on."""
        time = self.times[value]
        together = [
            v
            for v, t in self.times.items()
            if t is time and v not in awaited and _is_read_by_host(v) and is_visible_at(v, op)
        ]
        values = together if value in together else [value]
        sizes = [_size_for(op, v) for v in values]
        wait = Builder.before(op).insert(ops.TimepointAwaitOp(values, sizes, time))
        awaited.update(zip(values, wait.results))

    # Structured control flow.

    def _run_structured(self, op: Any, awaited: _Times) -> None:
        if not carries_resources(op):
            for region in op.regions:
                for block in region.blocks:
                    self.run(block, awaited)
            return
        regions = [Region() for _ in op.regions]
        builder = Builder.before(op)
        types = [*op.result_types, timepoint]
        new: Any
        if isinstance(op, scf.ForOp):
            start = self._join_or_immediate(builder, op.init_args)
            inits = [*op.init_args, start]
            new = scf.ForOp(op.lower_bound, op.upper_bound, op.step, inits, op.unsignedCmp, *regions)
        elif isinstance(op, scf.WhileOp):
            start = self._join_or_immediate(builder, op.inits)
            new = scf.WhileOp([*op.inits, start], *regions, results=types)
        elif isinstance(op, scf.IfOp):
            new = scf.IfOp(op.condition, *regions, results=types)
        else:
            new = scf.IndexSwitchOp(op.arg, op.cases, regions, results=types)
        builder.insert(new)
        new.attributes.update(op.attributes)
        is_loop = isinstance(op, scf.ForOp | scf.WhileOp)
        for target, source in zip(new.regions, op.regions):
            target.take_body(source)
            for block in target.blocks:
                self._run_region_block(block, awaited, takes_time=is_loop)
        for old, result in zip(op.results, new.results):
            old.replace_all_uses_with(result)
            if is_resource(result.type):
                self.times[result] = new.results[-1]
        op.erase()

    def _run_region_block(self, block: Block, awaited: _Times, takes_time: bool) -> None:
        if takes_time:
            time = block.add_argument(timepoint)
            self.times.update({a: time for a in block.arguments if is_resource(a.type)})
        self.run(block, awaited)
        end = block.terminator
        done = self._join_or_immediate(Builder.before(end), end.operands)
        if isinstance(end, scf.ConditionOp):
            end.args = [*end.args, done]
        else:
            end.set_operands([*end.operands, done])


def _is_read_by_host(value: Value) -> bool:
    device = (ops.AsyncExecuteOp, ops.CmdExecuteOp, ops.TimepointAwaitOp, ops.TimepointBarrierOp, SelectOp)
    control = (scf.ForOp, scf.WhileOp, scf.IfOp, scf.IndexSwitchOp, scf.YieldOp, scf.ConditionOp)
    return any(not isinstance(user, device + control) for user in value.users) or any(
        isinstance(user, ops.TimepointAwaitOp)
        and any(not isinstance(after, device + control) for r in user.results for after in r.users)
        for user in value.users
    )


def _size_for(op: Operation, value: Value) -> Value:
    """The size of a resource; asked of the resource where nothing says it."""
    known = size_at(value, op)
    if known is not None:
        return known
    return Builder.before(op).insert(ops.ResourceSizeOp(value)).result
