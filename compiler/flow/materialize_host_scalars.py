"""pyiree-flow-materialize-host-scalars: counters, bounds and conditions are the host's numbers.

Before: rank-0 integer tensors that loops carry, computed by rank-0 linalg ops and read back by `tensor.extract`.
After:  integers, computed by arith ops on the host; where a device op needs one, the dispatch takes the number.

    scf.for … iter_args(%n = %c : tensor<i32>) {        scf.for %i = … iter_args(…) {
      %1 = linalg.generic … addi %n, 1            →       … uses %i
      scf.yield %1                                      }
    }

Only integers (i1, i32, i64) that follow from constants, from loop counters, from the places of elements (an element of
`iota`), or from values that were on the device before the loop began and are needed to steer it: those are read once,
before the loop. Floats stay on the device, and so does whatever a loop computes from its data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyiree.compiler.dialects.arith import ConstantOp
from pyiree.compiler.dialects.linalg import GenericOp, IndexOp
from pyiree.compiler.dialects.linalg_named import FillOp
from pyiree.compiler.dialects.scf import ForOp, IfOp, WhileOp
from pyiree.compiler.dialects.tensor import CollapseShapeOp, EmptyOp, ExtractOp
from pyiree.compiler.dialects.tensor_slices import ExtractSliceOp
from pyiree.compiler.ir.attributes import IntegerAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import BlockArgument, Operation, Value
from pyiree.compiler.ir.dense import DenseElementsAttr
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.types import TensorType, Type, element_type_of, i1, i32, i64, index

_NUMBERS = (i1, i32, i64)
_HOST_ARITHMETIC = frozenset({
    "arith.constant", "arith.addi", "arith.subi", "arith.muli", "arith.divsi", "arith.divui", "arith.remsi",
    "arith.remui", "arith.andi", "arith.ori", "arith.xori", "arith.shli", "arith.shrsi", "arith.shrui", "arith.cmpi",
    "arith.select", "arith.extsi", "arith.extui", "arith.trunci", "arith.minsi", "arith.maxsi", "arith.minui",
    "arith.maxui", "linalg.yield",
})  # fmt: skip
_PLACES = frozenset({"linalg.index", "arith.index_cast", "arith.index_castui"})
_LOOPS = (ForOp, WhileOp)


@register_pass("pyiree-flow-materialize-host-scalars", on="util.func")
def materialize_host_scalars(func: Operation, context: PassContext) -> None:
    """Moves the integers that steer a function to the host."""
    if any(isinstance(op, (*_LOOPS, IfOp)) for op in func.walk()):
        scalars = _HostScalars(func)
        scalars.find()
        scalars.rewrite()
        for loop in list(func.walk_type(ForOp)):
            _merge_induction_variables(loop)


def is_number(type: Type) -> bool:
    """Whether a type is a rank-0 tensor of an integer that the host computes with."""
    return isinstance(type, TensorType) and type.shape == () and type.element_type in _NUMBERS


def _bodies(op: Operation) -> Iterator[tuple[Value, list[Value]]]:
    """For control flow, each value that it passes on (results and region arguments) with all its sources."""
    if isinstance(op, ForOp):
        ends = op.body.entry.terminator.operands
        arguments = op.body.entry.arguments[1:]
        for init, argument, end, result in zip(op.init_args, arguments, ends, op.results):
            yield argument, [init, end]
            yield result, [init, end]
    elif isinstance(op, WhileOp):
        before, after = op.before.entry, op.after.entry
        for init, argument, end in zip(op.inits, before.arguments, after.terminator.operands):
            yield argument, [init, end]
        passed = before.terminator.operands[1:]
        for value, argument, result in zip(passed, after.arguments, op.results):
            yield argument, [value]
            yield result, [value]
    elif isinstance(op, IfOp):
        ends = [region.entry.terminator.operands for region in (op.then_region, op.else_region) if region.blocks]
        for i, result in enumerate(op.results):
            yield result, [end[i] for end in ends]


def _handed_on(op: Operation) -> Iterator[tuple[Operation, int, Sequence[Value]]]:
    """For control flow, the ops whose operands from a place on become values, and those values."""
    if isinstance(op, ForOp):
        yield op, 3, op.results
        yield op.body.entry.terminator, 0, op.results
    elif isinstance(op, WhileOp):
        yield op, 0, op.before.entry.arguments
        yield op.before.entry.terminator, 1, op.results
        yield op.after.entry.terminator, 0, op.before.entry.arguments
    elif isinstance(op, IfOp):
        for region in (op.then_region, op.else_region):
            if region.blocks:
                yield region.entry.terminator, 0, op.results


def _target(user: Operation, index: int) -> Value | None:
    """What an operand of control flow becomes; None for other operands and other ops."""
    for op in (user, user.parent_op):
        for giver, first, targets in _handed_on(op) if op is not None else ():
            if giver is user and index >= first:
                return targets[index - first]
    return None


class _HostScalars:
    """The rank-0 integer tensors of a function that become numbers."""

    def __init__(self, func: Operation) -> None:
        self.func = func
        self.loaded: dict[Value, None] = {}
        self.sources: dict[Value, list[Value]] = {}
        self.numbers: dict[Value, Value] = {}

    # Finding: start from everything that might be a number, and drop what depends on something that is none.

    def find(self) -> None:
        for op in self.func.walk():
            if isinstance(op, ExtractOp):
                self._load_leaves(op)
        for op in self.func.walk():
            self._note_sources(op)
        changed = True
        while changed:
            changed = False
            for value, sources in list(self.sources.items()):
                if any(s not in self.sources and s not in self.loaded for s in sources):
                    del self.sources[value]
                    changed = True
        # What is the host's number anyway need not be read, and must not: the loops that pass it on pass a number.
        self.loaded = {value: None for value in self.loaded if value not in self.sources}

    def _note_sources(self, op: Operation) -> None:
        if isinstance(op, ConstantOp):
            if is_number(op.result.type):
                self.sources[op.result] = []
        elif isinstance(op, GenericOp) and _is_host_arithmetic(op):
            inputs = [v for v in op.inputs if isinstance(v.type, TensorType)]
            for result in op.results:
                self.sources[result] = inputs
        elif isinstance(op, CollapseShapeOp) and _counted_element(op) is not None:
            self.sources[op.result] = []
        elif isinstance(op, (*_LOOPS, IfOp)):
            for value, sources in _bodies(op):
                if is_number(value.type):
                    self.sources[value] = sources

    def _load_leaves(self, extract: ExtractOp) -> None:
        """Values from before a loop that a number read in the loop depends on are read once."""
        loop = extract.parent_of_type(_LOOPS)
        if loop is None or not is_number(extract.operands[0].type):
            return
        stack, seen = [extract.operands[0]], set()
        leaves = []
        while stack:
            value = stack.pop()
            if value in seen:
                continue
            seen.add(value)
            owner = value.defining_op
            if isinstance(owner, GenericOp) and _is_host_arithmetic(owner):
                stack.extend(v for v in owner.inputs if isinstance(v.type, TensorType))
            elif isinstance(owner, CollapseShapeOp) and _counted_element(owner) is not None:
                continue
            elif not isinstance(owner, ConstantOp) and not _is_made_inside(value, loop):
                leaves.append(value)
        self.loaded.update(dict.fromkeys([v for v in leaves if is_number(v.type)]))

    # Rewriting.

    def rewrite(self) -> None:
        for value in self.loaded:
            b = _after(value)
            self.numbers[value] = b.insert(ExtractOp(value, [])).result
        for op in list(self.func.walk()):
            if op.block is None:
                continue
            if isinstance(op, ConstantOp) and op.result in self.sources:
                self._rewrite_constant(op)
            elif isinstance(op, GenericOp) and op.results and op.results[0] in self.sources:
                self._rewrite_generic(op)
            elif isinstance(op, CollapseShapeOp) and op.result in self.sources:
                self._rewrite_element(op)
            elif isinstance(op, (*_LOOPS, IfOp)):
                self._retype(op)
            elif isinstance(op, ExtractOp) and op.operands[0] in self.numbers:
                number = self.numbers[op.operands[0]]
                if op.result is not number:
                    op.replace_all_uses_with([number])
                    op.erase()
        for loop in list(self.func.walk_type((*_LOOPS, IfOp))):
            self._pass_numbers(loop)
        self._make_tensors()

    def _rewrite_constant(self, op: ConstantOp) -> None:
        value: DenseElementsAttr = op.value
        element = element_type_of(op.result.type)
        number = ConstantOp(IntegerAttr(int(value.splat_value()), element))
        self.numbers[op.result] = Builder.before(op).insert(number).result

    def _rewrite_generic(self, op: GenericOp) -> None:
        b = Builder.before(op)
        block = op.body_block
        mapping: dict[Value, Value] = {}
        for argument, operand in zip(block.arguments, op.inputs):
            mapping[argument] = self.numbers.get(operand, operand)
        end = block.terminator
        for inner in block.ops:
            if inner is not end:
                b.insert(inner.clone(mapping))
        for result, value in zip(op.results, end.operands):
            self.numbers[result] = mapping.get(value, value)

    def _rewrite_element(self, op: CollapseShapeOp) -> None:
        """Computes an element of a tensor of numbers that follow from their places."""
        generic, offset = _counted_element(op)  # type: ignore[misc]
        b = Builder.before(op)
        place = b.insert(ConstantOp(IntegerAttr(offset, index))).result if isinstance(offset, int) else offset
        mapping: dict[Value, Value] = {}
        end = generic.body_block.terminator
        for inner in generic.body_block.ops:
            if isinstance(inner, IndexOp):
                mapping[inner.result] = place
            elif inner is not end:
                b.insert(inner.clone(mapping))
        self.numbers[op.result] = mapping.get(end.operands[0], end.operands[0])

    def _retype(self, op: Operation) -> None:
        """Values that control flow passes on change their type in place; their tensors are made where needed."""
        for value, _ in _bodies(op):
            if value in self.sources:
                value.type = element_type_of(value.type)
                self.numbers[value] = value

    def _pass_numbers(self, op: Operation) -> None:
        """What control flow passes on is given as numbers."""
        for giver, first, targets in _handed_on(op):
            for i, target in enumerate(targets):
                operand = giver.operands[first + i]
                if self._became_number(target) and operand in self.numbers:
                    giver.set_operand(first + i, self.numbers[operand])

    def _became_number(self, value: Value) -> bool:
        """Whether control flow passes a value on as a number now."""
        return self.numbers.get(value) is value

    def _make_tensors(self) -> None:
        """Device ops that read a number get a tensor filled with it."""
        for value, number in self.numbers.items():
            users = [u for u in value.uses if self._wants_tensor(u.owner, u.index, value)]
            if value in self.loaded or not users:
                continue
            b = _after(value)
            element = number.type
            empty = b.insert(EmptyOp([], result=TensorType((), element))).result
            tensor = b.insert(FillOp([number], [empty])).results[0]
            for use in users:
                use.owner.set_operand(use.index, tensor)

    def _wants_tensor(self, user: Operation, index: int, value: Value) -> bool:
        target = _target(user, index)
        if target is not None:
            return not self._became_number(target)
        if isinstance(user, GenericOp) and user.results and user.results[0] in self.numbers:
            return False
        if not self._became_number(value):
            return True
        return isinstance(user, GenericOp) or user.name.startswith(("tensor.", "linalg.", "iree_linalg_ext.", "hal."))


def _is_host_arithmetic(op: GenericOp) -> bool:
    if op.iterators() or not all(is_number(r.type) for r in op.results):
        return False
    if not all(is_number(v.type) for v in op.inputs if isinstance(v.type, TensorType)):
        return False
    outs = op.body_block.arguments[len(op.inputs) :]
    return not any(a.has_uses for a in outs) and all(o.name in _HOST_ARITHMETIC for o in op.body_block.ops)


def _counted_element(op: CollapseShapeOp) -> tuple[GenericOp, int | Value] | None:
    """For one element of a tensor of a dim, whose elements follow from their places: what makes it, and the place."""
    piece = op.src.defining_op
    if not is_number(op.result.type) or not isinstance(piece, ExtractSliceOp) or len(piece.static_offsets) != 1:
        return None
    generic = piece.source.defining_op
    if not isinstance(generic, GenericOp) or generic.inputs or len(generic.outputs) != 1:
        return None
    body = generic.body_block
    if body.arguments[0].has_uses or any(o.name not in _HOST_ARITHMETIC | _PLACES for o in body.ops):
        return None
    if not generic.maps()[0].is_identity:
        return None
    return generic, piece.mixed_offsets[0]


def _is_made_inside(value: Value, op: Operation) -> bool:
    """Whether a value is the result of an op inside of `op`, or an argument of one of its blocks."""
    if not isinstance(value, BlockArgument):
        return op.is_ancestor_of(value.defining_op)
    parent = value.block.parent_op
    return parent is not None and (parent is op or op.is_ancestor_of(parent))


def _after(value: Value) -> Builder:
    """Just behind where a value is made."""
    if isinstance(value, BlockArgument):
        return Builder.at_start(value.block, value.location)
    return Builder.after(value.defining_op)  # type: ignore[arg-type]


def _merge_induction_variables(loop: ForOp) -> None:
    """A carried counter that counts as the loop does is the loop's own counter."""
    start, step = loop.lower_bound, loop.step
    counter = loop.body.entry.arguments[0]
    end = loop.body.entry.terminator
    for argument, init, following, result in zip(
        loop.body.entry.arguments[1:], loop.init_args, end.operands, loop.results
    ):
        add = following.defining_op
        if (
            argument.type is counter.type
            and not result.has_uses
            and _same_constant(init, start)
            and add is not None
            and add.name == "arith.addi"
            and argument in add.operands
            and _same_constant(add.operands[1] if add.operands[0] is argument else add.operands[0], step)
        ):
            argument.replace_all_uses_with(counter)


def _same_constant(a: Value, b: Value) -> bool:
    if a is b:
        return True
    left, right = a.defining_op, b.defining_op
    return isinstance(left, ConstantOp) and isinstance(right, ConstantOp) and left.value is right.value
