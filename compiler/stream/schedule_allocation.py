"""iree-stream-schedule-allocation: every resource of an execution region gets memory.

Before: `stream.async.execute` regions whose ops make values; nothing says where they lie.
After:  `stream.cmd.execute` regions of commands on ranges of resources that are allocated before the region starts.

    %r, %t = stream.async.execute with(%0 as %a: …) -> !stream.resource<external>{%s} {
      %1 = stream.async.dispatch @e::@f(%a…) : … -> !stream.resource<transient>{%n}
      %2 = stream.async.dispatch @e::@g(%1…) : … -> !stream.resource<external>{%s}
      stream.yield %2 : …
    } => !stream.timepoint
    →
    %r, %t0 = stream.resource.alloca uninitialized : !stream.resource<external>{%s} => !stream.timepoint
    %total, %offset = stream.resource.pack slices({ [0, 1] = %n }) : index
    %slab, %t1 = stream.resource.alloca uninitialized : !stream.resource<transient>{%total} => !stream.timepoint
    %t2 = stream.cmd.execute await(join of %t0, %t1) => with(%0 as %a, %r as %b, %slab as %c) { … } => !stream.timepoint
    %t = stream.resource.dealloca await(%t2) => %slab …

What leaves a region has an allocation of its own, so that a result that is kept pins nothing else. What doesn't is a
slice of one slab; slices that are never alive together share its bytes. Constants are uploaded in front of the region.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyiree.compiler.dialects.util import AlignOp, InitializerOp
from pyiree.compiler.ir.attributes import ArrayAttr, Attribute, IntegerAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Operation, OpResult, Value
from pyiree.compiler.ir.diagnostics import CompileError
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import index
from pyiree.compiler.stream import ops
from pyiree.compiler.stream.analysis.storage import StorageAnalysis
from pyiree.compiler.stream.commands import CommandBuilder, Place
from pyiree.compiler.stream.encoding import IndexMath
from pyiree.compiler.stream.interfaces import result_size
from pyiree.compiler.stream.layout_slices import SLICE_ALIGNMENT
from pyiree.compiler.stream.types import CONSTANT, TRANSIENT, VARIABLE, ResourceType, resource, timepoint


@register_pass("iree-stream-schedule-allocation", on=("util.func", "util.initializer"))
def schedule_allocation(host: Operation, context: PassContext) -> None:
    """Gives memory to the work of a host function and turns it into commands."""
    once = isinstance(host, InitializerOp)
    for op in list(host.walk()):
        if isinstance(op, ops.AsyncExecuteOp):
            _Allocation(op, once).run()
        elif isinstance(op, ops.AsyncLoadOp):
            _lower_load(op)
        elif isinstance(op, ops.AsyncStoreOp):
            _lower_store(op)
        elif isinstance(op, ops.AsyncCastOp | ops.AsyncBarrierOp) and op.parent_of_type(ops.AsyncExecuteOp) is None:
            op.replace_all_uses_with([op.source])
            op.erase()


def _lower_load(op: ops.AsyncLoadOp) -> None:
    new = ops.ResourceLoadOp(op.source, op.source_size, op.source_offset, result=op.result.type)
    op.replace_all_uses_with(Builder.before(op).insert(new).results)
    op.erase()


def _lower_store(op: ops.AsyncStoreOp) -> None:
    Builder.before(op).insert(ops.ResourceStoreOp(op.target, op.target_size, op.target_offset, op.value))
    op.replace_all_uses_with([op.target])
    op.erase()


class _Allocation:
    """Allocates the storage of one execution region."""

    def __init__(self, execute: ops.AsyncExecuteOp, once: bool) -> None:
        self._execute = execute
        self._once = once
        self._storage = StorageAnalysis(execute)
        self._host = Builder.before(execute)
        self._block: Block = execute.body.entry
        self._yield: ops.YieldOp = self._block.terminator  # type: ignore[assignment]
        #: What the region captures, and the size of each; arguments of its block stand at the same positions.
        self._resources = list(execute.resource_operands)
        self._sizes = list(execute.resource_operand_sizes)
        #: The resource and its argument in the region, by storage.
        self._outside: dict[Value, Value] = {}
        self._places: dict[Value, Place] = {}
        self._waits: list[Value] = []
        self._uploads: list[Value] = []

    def run(self) -> None:
        """Replaces the region."""
        for argument, value, size in zip(self._block.arguments, self._resources, self._sizes):
            self._outside[argument] = value
            self._places[argument] = Place(argument, size, None, size)
        self._upload_constants()
        self._allocate_results()
        slab = self._allocate_transients()
        results = [self._outside[self._storage.root(v)] for v in self._yield.resource_operands]
        commands = CommandBuilder(self._host, self._execute.affinity, lambda v: self._places[self._storage.root(v)])
        commands.convert(self._block)
        done = self._issue(slab)
        self._execute.replace_all_uses_with([*results, done])
        self._execute.erase()

    def _capture(self, root: Value, value: Value, size: Value) -> None:
        argument = self._block.add_argument(value.type)
        self._resources.append(value)
        self._sizes.append(size)
        self._outside[root] = value
        self._places[root] = Place(argument, size, None, size)

    def _upload_constants(self) -> None:
        constants = [op for op in self._execute.body.walk() if isinstance(op, ops.AsyncConstantOp)]
        for lifetime in (CONSTANT, VARIABLE):
            alike = [op for op in constants if op.result.type.lifetime == lifetime]
            if alike:
                self._upload(alike, resource(lifetime))
        for op in constants:
            if op.result.type.lifetime not in (CONSTANT, VARIABLE):
                raise CompileError(f"'{op.name}' of type {op.result.type} needs a copy of constant memory", op.location)

    def _upload(self, constants: Sequence[ops.AsyncConstantOp], type: ResourceType) -> None:
        made = ops.ResourceConstantsOp(
            [op.result_size for op in constants], ArrayAttr([op.value for op in constants]), self._execute.affinity,
            results_=[type] * len(constants), result_timepoint=timepoint, location=constants[0].location,
        )  # fmt: skip
        self._host.insert(made)
        used_inside = False
        for op, value in zip(constants, made.results):
            if all(isinstance(user, ops.YieldOp) for user in op.result.users):
                self._outside[op.result] = value
            else:
                self._capture(op.result, value, op.result_size)
                used_inside = True
        (self._waits if used_inside else self._uploads).append(made.result_timepoint)

    def _allocate_results(self) -> None:
        for value, size in zip(self._yield.resource_operands, self._yield.resource_operand_sizes):
            root = self._storage.root(value)
            if root not in self._outside:
                self._capture(root, self._alloca(value.type, size, self._affinity_of(root), root), size)

    def _affinity_of(self, root: Value) -> Attribute | None:
        """Where a result lives: where the transfer that makes it goes, else where the region runs."""
        op = root.op if isinstance(root, OpResult) else None
        if isinstance(op, ops.AsyncTransferOp) and op.target_affinity is not None:
            return op.target_affinity
        return self._execute.affinity

    def _alloca(self, type: ResourceType, size: Value, affinity: Attribute | None, root: Value | None) -> Value:
        made = ops.ResourceAllocaOp(
            size, self._execute.await_timepoint, False, affinity, result_=type, result_timepoint=timepoint,
            location=self._execute.location if root is None else root.op.location,  # type: ignore[attr-defined]
        )  # fmt: skip
        self._host.insert(made)
        self._waits.append(made.result_timepoint)
        return made.results[0]

    def _allocate_transients(self) -> tuple[Value, Value] | None:
        """One slab for all storage that stays inside; its resource and size."""
        roots = [r for r in self._storage.made_inside() if r not in self._outside]
        if not roots:
            return None
        math = IndexMath(self._host)
        bounds = [IntegerAttr(moment, index) for r in roots for moment in self._storage.interval(r)]
        sizes: list[Value] = [result_size(r) for r in roots]  # type: ignore[misc]
        step = math.value(SLICE_ALIGNMENT)
        pack = self._host.insert(
            ops.ResourcePackOp(
                None, [self._host.insert(AlignOp(s, step)).result for s in sizes], ArrayAttr(bounds),
                self._execute.affinity, total_length=index, packed_offsets=[index] * len(roots),
            )
        )
        total = pack.total_length
        slab = self._alloca(resource(TRANSIENT), total, self._execute.affinity, None)
        argument = self._block.add_argument(slab.type)
        self._resources.append(slab)
        self._sizes.append(total)
        for root, offset, size in zip(roots, pack.packed_offsets, sizes):
            self._places[root] = Place(argument, total, offset, size)
        return slab, total

    def _issue(self, slab: tuple[Value, Value] | None) -> Value:
        """Builds the region of commands; the timepoint when all is done."""
        before = self._execute.await_timepoint
        # Every allocation comes after what the region awaits; one of them stands for it.
        allocated = any(isinstance(t.defining_op, ops.ResourceAllocaOp) for t in self._waits)
        waits = self._waits if before is None or allocated else [before, *self._waits]
        if len(self._block) == 1:
            return self._joined([*waits, *self._uploads])
        execute = ops.CmdExecuteOp(
            self._resources, self._sizes, self._joined(waits) if waits else None, self._once, self._execute.affinity,
            result_timepoint=timepoint,
        )  # fmt: skip
        execute.body.take_body(self._execute.body)
        done = self._host.insert(execute).result_timepoint
        if slab is not None:
            free = ops.ResourceDeallocaOp(
                *slab, done, False, self._execute.affinity, result_timepoint=timepoint
            )
            done = self._host.insert(free).result_timepoint
        return self._joined([done, *self._uploads])

    def _joined(self, times: Sequence[Value]) -> Value:
        if not times:
            return self._host.insert(ops.TimepointImmediateOp(result_timepoint=timepoint)).result_timepoint
        if len(times) == 1:
            return times[0]
        return self._host.insert(ops.TimepointJoinOp(times, result_timepoint=timepoint)).result_timepoint
