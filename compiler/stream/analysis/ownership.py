"""Ownership: whether memory may be overwritten, because nobody will look at what was there.

Enters: a host function at the async level. Leaves: for a value and the op that would write over it, yes or no; and for
an export whether its memory belongs to it alone.

The *root* of a value is the value whose memory it is: ties are followed back, through loops that own what they carry.
A root is owned by its function when an op of the function made it, or when it is a loop's own carried value. Memory of
the outside (imports that are not consumed, globals, arguments) is never overwritten.

Memory may be overwritten at an op when every other use of any name of it comes before, or in another branch of the
same condition, and none of them hands it on (an export, a loop, a call, a select).
"""

from __future__ import annotations

from collections.abc import Iterator

from pyiree.compiler.dialects import scf
from pyiree.compiler.dialects.arith import SelectOp
from pyiree.compiler.ir.core import BlockArgument, Operation, OpResult, Use, Value
from pyiree.compiler.stream.encoding import constant_value
from pyiree.compiler.stream.interfaces import RENAMING, access_ranges, is_streamable, tied_operand, tied_results
from pyiree.compiler.stream.ops import AsyncLoadOp, AsyncStoreOp, TensorImportOp

LOOPS = (scf.ForOp, scf.WhileOp)
BRANCHES = (scf.IfOp, scf.IndexSwitchOp)


class Ownership:
    """Who owns the memory of a host function's resources."""

    def __init__(self) -> None:
        #: Results of loops that own what they carry, with the loop and the operand that goes in.
        self._slots: dict[Value, tuple[Operation, int]] = {}
        #: Arguments of loop bodies that nothing outside of the iteration sees.
        self._owned_arguments: set[Value] = set()

    def own_argument(self, argument: BlockArgument) -> None:
        """Says that nothing outside of an iteration sees a carried value."""
        self._owned_arguments.add(argument)

    def disown_argument(self, argument: BlockArgument) -> None:
        """Takes `own_argument` back."""
        self._owned_arguments.discard(argument)

    def own_slot(self, result: OpResult, loop: Operation, operand_index: int) -> None:
        """Says that a result of a loop lives in the memory of the operand, which the loop alone uses."""
        self._slots[result] = (loop, operand_index)

    def ties(self, op: Operation) -> Iterator[tuple[Value, Value]]:
        """The results of an op that live in an operand's memory, with that operand."""
        yield from tied_results(op)
        if isinstance(op, LOOPS):
            for result in op.results:
                if result in self._slots:
                    yield result, op.operands[self._slots[result][1]]

    def _tie(self, value: Value) -> Value | None:
        slot = self._slots.get(value)
        return tied_operand(value) if slot is None else slot[0].operands[slot[1]]

    def root(self, value: Value) -> Value:
        """The value whose memory a value is."""
        while (back := self._tie(value)) is not None:
            value = back
        return value

    def names(self, root: Value) -> Iterator[Value]:
        """All values that are names of a root's memory."""
        pending = [root]
        while pending:
            value = pending.pop()
            yield value
            for user in value.users:
                pending.extend(result for result, operand in self.ties(user) if operand is value)

    def is_own(self, root: Value) -> bool:
        """Whether the function itself made the memory of a root."""
        if isinstance(root, BlockArgument):
            return root in self._owned_arguments
        op = root.op  # type: ignore[attr-defined]
        return is_streamable(op) or (isinstance(op, TensorImportOp) and op.consume)

    def may_overwrite(self, value: Value, writer: Operation, instead_of: Operation | None = None) -> bool:
        """Whether `writer` may write over the memory of `value`: its operand, or that of the copy `instead_of`."""
        root = self.root(value)
        if not self.is_own(root) or _is_repeated(writer, root):
            return False
        uses_by_writer = 0 if instead_of is None else 1
        for name in self.names(root):
            for use in name.uses:
                user = use.owner
                if user is writer:
                    uses_by_writer += 1
                elif user is not instead_of and not self._is_over(use, writer):
                    return False
        return uses_by_writer == 1

    def _is_over(self, use: Use, writer: Operation) -> bool:
        """Whether a use is no reason to keep memory as it is until after `writer`."""
        if isinstance(use.owner, scf.YieldOp):
            return _never_both(use.owner, writer)
        return self._only_looks(use) and _comes_before(use.owner, writer)

    def _only_looks(self, use: Use) -> bool:
        """Whether a use hands memory on to nobody but other names of it."""
        user = use.owner
        if isinstance(user, LOOPS):
            return any(loop is user and index == use.index for loop, index in self._slots.values())
        return is_streamable(user) or isinstance(user, (*RENAMING, AsyncLoadOp, AsyncStoreOp))

    def is_written_after(self, value: Value, reader: Operation) -> bool:
        """Whether the memory of `value` may change from `reader` on."""
        return any(
            (isinstance(user, LOOPS) or _writes(user, name)) and not _comes_before(user, reader)
            for name in self.names(self.root(value))
            for user in name.users
            if user is not reader
        )

    def is_written_between(self, value: Value, first: Operation, last: Operation) -> bool:
        """Whether the memory of `value` may change between two ops of one block."""
        return any(
            (isinstance(user, LOOPS) or _writes(user, name))
            and not _comes_before(user, first)
            and not _comes_before(last, user)
            for name in self.names(self.root(value))
            for user in name.users
            if user is not first and user is not last
        )

    # Exports.

    def origins(self, value: Value, seen: set[Value] | None = None) -> set[Value]:
        """The roots that a value may be, seen through control flow."""
        seen = set() if seen is None else seen
        root = value
        while (back := tied_operand(root)) is not None:
            root = back
        if root in seen:
            return set()
        seen.add(root)
        sources = list(_sources(root))
        if not sources:
            return {root}
        return {origin for source in sources for origin in self.origins(source, seen)}


def _sources(value: Value) -> Iterator[Value]:
    """What control flow may hand on as `value`; nothing for values that have a maker of their own."""
    if isinstance(value, BlockArgument):
        loop = value.block.parent_op
        if isinstance(loop, scf.ForOp) and value.index > 0:
            yield loop.init_args[value.index - 1]
            yield loop.yielded[value.index - 1]
        elif isinstance(loop, scf.WhileOp):
            if value.block is loop.before_block:
                yield loop.inits[value.index]
                yield loop.after_block.terminator.operands[value.index]
            else:
                yield loop.condition.args[value.index]
        return
    op, index = value.op, value.index  # type: ignore[attr-defined]
    if isinstance(op, scf.ForOp):
        if not _runs_at_least_once(op):
            yield op.init_args[index]
        yield op.yielded[index]
    elif isinstance(op, scf.WhileOp):
        yield op.condition.args[index]
    elif isinstance(op, BRANCHES):
        yield from (region.entry.terminator.operands[index] for region in op.regions if not region.is_empty)
    elif isinstance(op, SelectOp):
        yield from (op.true_value, op.false_value)


def _runs_at_least_once(loop: scf.ForOp) -> bool:
    low, high = constant_value(loop.lower_bound), constant_value(loop.upper_bound)
    return low is not None and high is not None and low < high


def _writes(user: Operation, name: Value) -> bool:
    return is_streamable(user) and any(r.writes and r.resource is name for r in access_ranges(user))


def _is_repeated(writer: Operation, root: Value) -> bool:
    """Whether `writer` runs several times for one life of the root: a loop stands between them."""
    home = root.block  # type: ignore[attr-defined]
    op: Operation | None = writer
    while op is not None and op.block is not home:
        op = op.parent_op
        if isinstance(op, LOOPS):
            return True
    return op is None


def _in_block_of(op: Operation, other: Operation) -> Operation | None:
    """The op that stands in `other`'s block and is, or holds, `op`."""
    around: Operation | None = op
    while around is not None and around.block is not other.block:
        around = around.parent_op
    return around


def _common_block(first: Operation, second: Operation) -> tuple[Operation, Operation] | None:
    """The ops of one block, innermost, that are or hold two ops."""
    a: Operation | None = first
    while a is not None:
        b = _in_block_of(second, a)
        if b is not None:
            return a, b
        a = a.parent_op
    return None


def _never_both(first: Operation, second: Operation) -> bool:
    """Whether two ops stand in different branches of one condition."""
    pair = _common_block(first, second)
    return pair is not None and pair[0] is pair[1] and isinstance(pair[0], BRANCHES)


def _comes_before(first: Operation, second: Operation) -> bool:
    """Whether `first` is done before `second` whenever both run."""
    pair = _common_block(first, second)
    if pair is None:
        return False
    return pair[0].is_before_in_block(pair[1]) if pair[0] is not pair[1] else isinstance(pair[0], BRANCHES)
