"""iree-dispatch-creation-form-dispatch-regions: decides what is one dispatch.

Before: tensor ops on the host.
After:  each group of tensor ops stands in a `flow.dispatch.region`; a region's results are the values that others use.

    %0 = linalg.matmul …                      %1 = flow.dispatch.region -> (tensor<8x32xf32>) {
    %1 = linalg.generic … math.tanh    →        %2 = linalg.matmul …
                                                %3 = linalg.generic … math.tanh
                                                flow.return %3 : tensor<8x32xf32>
                                              }

Ops are visited from the last to the first, so that consumers come before producers: an op joins the group that reads
it if the fusion model accepts it; an op with several readers joins one of them, its value becoming one more result,
unless that would make two groups wait for each other. Cheap values without inputs are copied into each reader.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from pyiree.compiler.dialects.arith import ConstantOp
from pyiree.compiler.flow.fusion_model import CHEAP, VIEWS, FusionGroup, cost_of, element_count, kind_of
from pyiree.compiler.flow.host_tensor_ops import stays_on_host
from pyiree.compiler.flow.ops import DispatchRegionOp, ReturnOp
from pyiree.compiler.flow.values import dynamic_dims
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Operation, Value
from pyiree.compiler.ir.dense import DenseElementsAttr
from pyiree.compiler.ir.diagnostics import CompileError
from pyiree.compiler.ir.effects import is_pure
from pyiree.compiler.ir.location import fuse_locations
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import TensorType

_SEARCH_LIMIT = 2000
_RESHAPES = ("tensor.expand_shape", "tensor.collapse_shape")


@register_pass("iree-dispatch-creation-form-dispatch-regions", on=("util.func", "util.initializer"))
def form_dispatch_regions(func: Operation, context: PassContext) -> None:
    """Groups the tensor ops of every block of a function."""
    for block in _host_blocks(func):
        _BlockGrouping(block).run()


def _host_blocks(op: Operation) -> Iterable[Block]:
    """The blocks of host code: of the function and of control flow in it."""
    for region in op.regions:
        for block in region.blocks:
            for nested in block.ops:
                if nested.regions and nested.name.startswith("scf."):
                    yield from _host_blocks(nested)
            yield block


class _BlockGrouping:
    """The groups of one block."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.order = {op: i for i, op in enumerate(block.ops)}
        self.group_of: dict[Operation, FusionGroup] = {}
        self.copied_into: dict[Operation, list[FusionGroup]] = {}
        self.groups: list[FusionGroup] = []
        #: The groups of more than one op, with the places of their first and last members.
        self.spans: list[FusionGroup] = []

    def run(self) -> None:
        for op in self.block.reversed_ops:
            if kind_of(op) is None or not op.results or is_copied(op):
                continue
            self._place(op)
        if not self.groups:
            return
        regions = [self._make_region(group) for group in self.groups]
        self._sort(regions)

    # Grouping.

    def _place(self, op: Operation) -> None:
        readers, escapes = self._readers(op)
        if not readers and not escapes:
            return
        if readers and not escapes and len(readers) == 1:
            group = readers[0]
            if group.accepts(op) and not self._depends_on_itself(group, op):
                self._join(group, op)
                return
        elif readers and self._is_worth_copying(op) and not escapes and all(g.accepts(op) for g in readers):
            for group in readers:
                group.add(op)
                group.clones.add(op)
            self.copied_into[op] = readers
            return
        for group in readers:
            if self._may_share(group, op):
                self._join(group, op)
                return
        if stays_on_host(op):
            return
        group = FusionGroup(op)
        self.groups.append(group)
        self.group_of[op] = group
        group.first = group.last = self.order[op]

    def _join(self, group: FusionGroup, op: Operation) -> None:
        group.add(op)
        self.group_of[op] = group
        if group.first == group.last:
            self.spans.append(group)
        group.first = self.order[op]

    def _readers(self, op: Operation) -> tuple[list[FusionGroup], bool]:
        """The groups that read an op's results, and whether anything else does."""
        readers: dict[FusionGroup, None] = {}
        escapes = False
        for user in self._users(op):
            group = self.group_of.get(user)
            if group is not None:
                readers[group] = None
            elif user in self.copied_into:
                readers.update(dict.fromkeys(self.copied_into[user]))
            else:
                escapes = True
        return list(readers), escapes

    def _users(self, op: Operation) -> list[Operation]:
        """The ops of the block that read an op, themselves or by an op inside them."""
        found: dict[Operation, None] = {}
        for result in op.results:
            for user in result.users:
                while user.block is not self.block:
                    user = user.parent_op  # type: ignore[assignment]
                found[user] = None
        return list(found)

    @staticmethod
    def _is_worth_copying(op: Operation) -> bool:
        """Whether computing a value where it is read costs less than writing it and reading it again."""
        if kind_of(op) not in ("elementwise", "view") or cost_of(op) > CHEAP:
            return False
        result = element_count(op.results[0].type.shape)  # type: ignore[attr-defined]
        read = sum(
            element_count(v.type.shape) for v in op.operands if isinstance(v.type, TensorType) and not _is_init(op, v)
        )
        return read <= result // 4 or (op.name in VIEWS and cost_of(op) == 0.0)

    def _may_share(self, group: FusionGroup, op: Operation) -> bool:
        """Whether an op with readers outside of a group may join it and have its value stored as well."""
        if not group.accepts(op):
            return False
        if not all(group.can_store(r) for r in op.results if r.has_uses):
            return False
        return not self._reaches(self._outside(op, group), group) and not self._depends_on_itself(group, op)

    def _outside(self, op: Operation, group: FusionGroup) -> list[Operation]:
        """The ops outside of a group that read an op, themselves or through what was copied into them as well."""
        found: list[Operation] = []
        for user in self._users(op):
            if user not in group.ops:
                found.append(user)
            elif user in group.clones:
                found += self._outside(user, group)
        return found

    # Cycles. A group waits for all that any member reads, so a path may enter it at a late member and leave it at an
    # early one; between groups, paths follow the order of the block.

    def _depends_on_itself(self, group: FusionGroup, op: Operation) -> bool:
        """Whether a result of the group is needed, by way of others, to compute `op`."""
        starts = [u for member in group.ops for u in self._users(member) if u not in group.ops]
        return self._search(starts, {op}, self.order[op])

    def _reaches(self, starts: list[Operation], group: FusionGroup) -> bool:
        """Whether a member of the group is computed, by way of others, from one of `starts`."""
        return self._search(starts, group.ops, max([self.order[member] for member in group.ops]))

    def _search(self, starts: list[Operation], targets: set[Operation], last_target: int) -> bool:
        if not starts:
            return False
        # Behind this place no path leads back to a target.
        horizon = max([last_target, *[g.last for g in self.spans if g.first <= last_target]])
        stack = [u for u in starts if self.order[u] <= horizon]
        seen = set(stack)
        while stack:
            current = stack.pop()
            if current in targets:
                return True
            if len(seen) > _SEARCH_LIMIT:
                return True
            group = self.group_of.get(current)
            for member in (current,) if group is None else group.ops:
                for user in self._users(member):
                    if user not in seen and self.order[user] <= horizon:
                        seen.add(user)
                        stack.append(user)
        return False

    # Making regions.

    def _make_region(self, group: FusionGroup) -> DispatchRegionOp:
        members = self._without_outer_reshapes(sorted(group.ops, key=self.order.__getitem__))
        mapping: dict[Value, Value] = {}
        body = Block()
        builder = Builder.at_end(body)
        own = [op for op in members if op not in group.clones]
        inside = set(own)
        # A sort moves all of its tensors together, so each needs a place, read later or not.
        escaping = [
            r
            for op in own
            for r in op.results
            if op.name == "iree_linalg_ext.sort" or any(u not in inside for u in self._outer_users(r, group))
        ]
        place = Builder.before(own[-1], fuse_locations([op.location for op in own]))
        for op in members:
            for operand in (*op.operands, *_captures(op)):
                self._copy_inputs(operand, builder, mapping)
            builder.insert(op.clone(mapping))
        builder.insert(ReturnOp([mapping[v] for v in escaping]))
        dims = [d for v in escaping for d in dynamic_dims(place, v)]
        region = DispatchRegionOp(dims, (), body, results=[v.type for v in escaping])
        place.insert(region)
        for old, new in zip(escaping, region.results):
            old.replace_uses_if(new, lambda use: not _is_within(use.owner, inside))
        group.ops = inside
        return region

    @staticmethod
    def _without_outer_reshapes(members: list[Operation]) -> list[Operation]:
        """Leaves out reshapes of what the group reads: on the host they cost nothing."""
        inside: set[Operation] = set()
        kept = []
        for op in members:
            if op.name in _RESHAPES and op.operands[0].defining_op not in inside:
                continue
            inside.add(op)
            kept.append(op)
        return kept

    def _outer_users(self, value: Value, group: FusionGroup) -> list[Operation]:
        users = []
        for user in value.users:
            while user.block is not self.block:
                user = user.parent_op  # type: ignore[assignment]
            # A copy in another group reads what this group stores.
            if user not in group.clones or any(g is not group for g in self.copied_into.get(user, ())):
                users.append(user)
        return users

    def _copy_inputs(self, value: Value, builder: Builder, mapping: dict[Value, Value]) -> None:
        """Copies the constants and initial values that an op reads in front of it."""
        op = value.defining_op
        if op is None or value in mapping or not is_copied(op):
            return
        for operand in op.operands:
            self._copy_inputs(operand, builder, mapping)
        builder.insert(op.clone(mapping))

    def _sort(self, regions: list[DispatchRegionOp]) -> None:
        """Puts the block in an order in which values come before their uses, and drops what was grouped."""
        for group in self.groups:
            for op in sorted(group.ops, key=self.order.__getitem__, reverse=True):
                if not any(r.has_uses for r in op.results):
                    op.erase()
        for op in list(self.block.reversed_ops):
            if is_pure(op) and op.results and not any(r.has_uses for r in op.results):
                op.erase()
        sort_block(self.block)


def sort_block(block: Block) -> None:
    """Orders the ops of a block so that values come before their uses; otherwise as they were."""
    ops = list(block.ops)
    position = {op: i for i, op in enumerate(ops)}
    waiting: dict[Operation, int] = {}
    followers: dict[Operation, list[Operation]] = {op: [] for op in ops}
    effect: Operation | None = None
    for op in ops:
        needed = {o for o in _producers(op, block) if o is not op}
        if not is_pure(op):
            if effect is not None:
                needed.add(effect)
            effect = op
        waiting[op] = len(needed)
        for producer in needed:
            followers[producer].append(op)
    last = ops[-1]
    ready = [position[op] for op in ops if waiting[op] == 0 and op is not last]
    heapq.heapify(ready)
    ordered: list[Operation] = []
    while ready:
        op = ops[heapq.heappop(ready)]
        ordered.append(op)
        for follower in followers[op]:
            waiting[follower] -= 1
            if waiting[follower] == 0 and follower is not last:
                heapq.heappush(ready, position[follower])
    if len(ordered) + 1 != len(ops):
        stuck = next(op for op in ops if waiting[op] > 0 and op is not last)
        raise CompileError("dispatch regions wait for each other; this is a bug of the compiler", stuck.location)
    for op in (*ordered, last):
        op.move_to_end(block)


def _producers(op: Operation, block: Block) -> set[Operation]:
    found: set[Operation] = set()
    for inner in op.walk() if op.regions else (op,):
        for operand in inner.operands:
            producer = operand.defining_op
            if producer is not None and producer.block is block:
                found.add(producer)
    return found


def _captures(op: Operation) -> list[Value]:
    """Values from outside that the regions of an op read."""
    if not op.regions:
        return []
    found: dict[Value, None] = {}
    for inner in op.walk():
        if inner is not op:
            for operand in inner.operands:
                owner = operand.defining_op
                if owner is not None and not op.is_ancestor_of(owner):
                    found[operand] = None
    return list(found)


def _is_within(op: Operation, ops: set[Operation]) -> bool:
    return op in ops or any(a in ops for a in op.ancestors())


def _is_init(op: Operation, value: Value) -> bool:
    return value in getattr(op, "outputs", ())


def is_copied(op: Operation) -> bool:
    """Whether an op is a value that every reader may have a copy of: constants, and tensors filled with one."""
    if isinstance(op, ConstantOp):
        value = op.value
        return not isinstance(value, DenseElementsAttr) or value.is_splat
    if op.name in ("tensor.empty", "complex.constant"):
        return True
    if op.name == "linalg.fill":
        target = op.operands[1].defining_op
        return target is not None and is_copied(target)
    return False
