"""The cf dialect: branches between blocks.

cf.cond_br %c, ^bb1(%a : i32), ^bb2
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.dialects.arith import SelectOp
from pyiree.compiler.ir.attributes import DenseArrayAttr, IntegerAttr
from pyiree.compiler.ir.constraints import AnyType, SignlessInteger
from pyiree.compiler.ir.core import Block, Value
from pyiree.compiler.ir.definition import Op
from pyiree.compiler.ir.dense import DenseElementsAttr
from pyiree.compiler.ir.fields import (
    IntArrayProp,
    Operand,
    OptionalAttr,
    OptionalIntArrayProp,
    StringProp,
    Successor,
    Variadic,
    VariadicSuccessor,
)
from pyiree.compiler.ir.rewrite import PatternRewriter, RewritePattern, constant_value
from pyiree.compiler.ir.traits import Terminator
from pyiree.compiler.ir.types import TensorType, Type, i1, i32


class MergeIntoPredecessor(RewritePattern):
    """A branch to a block that nothing else branches to becomes one block."""

    def match_and_rewrite(self, op: Any, rewriter: PatternRewriter) -> bool:
        target, block = op.dest, op.block
        if target is block or target.is_entry or len(target._users) != 1 or sum(target._users.values()) != 1:
            return False
        operands = list(op.dest_operands)
        rewriter.erase_op(op)
        for argument, value in zip(target.arguments, operands):
            rewriter.replace_value(argument, value)
        for moved in target.ops:
            moved.move_to_end(block)
        target.erase()
        return True


def _pass_through(target: Block, values: list[Value], source: Block) -> tuple[Block, list[Value]] | None:
    """Where a branch to a block that only branches on ends up, with its operands."""
    only = target.first_op
    if not isinstance(only, BranchOp) or only.dest is target or only.dest is source or target.is_entry:
        return None
    if any(user is not only for argument in target.arguments for user in argument.users):
        return None
    mapping = dict(zip(target.arguments, values))
    return only.dest, [mapping.get(v, v) for v in only.dest_operands]


class SkipPassThrough(RewritePattern):
    """A branch to a block that only branches on goes there itself."""

    def match_and_rewrite(self, op: Any, rewriter: PatternRewriter) -> bool:
        found = _pass_through(op.dest, list(op.dest_operands), op.block)
        if found is None:
            return False
        rewriter.insert(BranchOp(found[1], found[0], location=op.location))
        rewriter.erase_op(op)
        return True


class SimplifyCondBranch(RewritePattern):
    """A known condition, or one destination for both cases, leaves a plain branch."""

    def match_and_rewrite(self, op: Any, rewriter: PatternRewriter) -> bool:
        constant = constant_value(op.condition)
        true_operands, false_operands = list(op.true_operands), list(op.false_operands)
        if isinstance(constant, IntegerAttr):
            target = op.true_dest if constant.value else op.false_dest
            operands = true_operands if constant.value else false_operands
        elif op.true_dest is op.false_dest:
            target = op.true_dest
            operands = [
                a if a is b else rewriter.insert(SelectOp(op.condition, a, b, location=op.location)).result
                for a, b in zip(true_operands, false_operands)
            ]
        else:
            return False
        rewriter.insert(BranchOp(operands, target, location=op.location))
        rewriter.erase_op(op)
        return True


class SkipPassThroughCondBranch(RewritePattern):
    """Each case of a conditional branch skips blocks that only branch on."""

    def match_and_rewrite(self, op: Any, rewriter: PatternRewriter) -> bool:
        ends = [(op.true_dest, list(op.true_operands)), (op.false_dest, list(op.false_operands))]
        found = [_pass_through(target, values, op.block) for target, values in ends]
        if found == [None, None]:
            return False
        (true_dest, true_values), (false_dest, false_values) = [new or old for new, old in zip(found, ends)]
        new = CondBranchOp(
            op.condition, true_values, false_values, None, true_dest, false_dest, location=op.location
        )
        rewriter.insert(new)
        rewriter.erase_op(op)
        return True


class BranchOp(Op, name="cf.br"):
    """Goes to a block.

    cf.br ^bb1(%0 : i32)
    """

    dest_operands: Variadic[AnyType]
    dest: Successor
    traits = (Terminator,)
    canonicalize_patterns = (SkipPassThrough, MergeIntoPredecessor)

    def print(self, printer: Any) -> None:
        printer.emit(" ")
        printer.print_successor(self.dest, self.dest_operands)
        printer.print_attr_dict(self)

    @classmethod
    def parse(cls, parser: Any) -> Any:
        block, operands = parser.parse_successor_with_operands()
        return cls(operands, block, attributes=parser.parse_optional_attr_dict())

    def verify_(self) -> None:
        _check_arguments(self, self.dest, self.dest_operands)


class CondBranchOp(Op, name="cf.cond_br"):
    """Goes to one of two blocks.

    cf.cond_br %c, ^bb1(%0 : i32), ^bb2
    """

    condition: Operand[i1]
    true_operands: Variadic[AnyType]
    false_operands: Variadic[AnyType]
    branch_weights: OptionalIntArrayProp[i32]
    true_dest: Successor
    false_dest: Successor
    traits = (Terminator,)
    canonicalize_patterns = (SimplifyCondBranch, SkipPassThroughCondBranch)

    def print(self, printer: Any) -> None:
        printer.emit(f" {printer.name(self.condition)}")
        if self.branch_weights is not None:
            printer.emit(f" weights([{', '.join(map(str, self.branch_weights))}])")
        printer.emit(", ")
        printer.print_successor(self.true_dest, self.true_operands)
        printer.emit(", ")
        printer.print_successor(self.false_dest, self.false_operands)
        printer.print_attr_dict(self, ("branch_weights",))

    @classmethod
    def parse(cls, parser: Any) -> Any:
        condition = parser.parse_operand(i1)
        weights = None
        if parser.parse_optional_literal("weights"):
            parser.parse_punctuation("(")
            weights = parser.parse_list(parser.parse_integer, "[", "]")
            parser.parse_punctuation(")")
        parser.parse_punctuation(",")
        true_dest, true_operands = parser.parse_successor_with_operands()
        parser.parse_punctuation(",")
        false_dest, false_operands = parser.parse_successor_with_operands()
        attributes = parser.parse_optional_attr_dict()
        return cls(
            condition, true_operands, false_operands, weights, true_dest, false_dest, attributes=attributes
        )

    def verify_(self) -> None:
        _check_arguments(self, self.true_dest, self.true_operands)
        _check_arguments(self, self.false_dest, self.false_operands)


def _check_arguments(op: Any, block: Block, values: tuple[Value, ...]) -> None:
    found = [v.type for v in values]
    if found != list(block.argument_types):
        raise op.error(
            f"branches with ({', '.join(map(str, found))}) to a block that takes "
            f"({', '.join(map(str, block.argument_types))})"
        )


class SwitchOp(Op, name="cf.switch"):
    """Goes to one of several blocks by an integer.

    cf.switch %x : i32, [
      default: ^bb1,
      42: ^bb2(%0 : i32)
    ]
    """

    flag: Operand[SignlessInteger]
    default_operands: Variadic[AnyType]
    case_operands: Variadic[AnyType]
    case_values: OptionalAttr[DenseElementsAttr]
    case_operand_segments: IntArrayProp[i32]
    dests: VariadicSuccessor
    traits = (Terminator,)

    @property
    def values(self) -> list[int]:
        """The integers of the cases."""
        return [] if self.case_values is None else [int(v) for v in self.case_values.array()]

    def operands_of_case(self, number: int) -> tuple[Value, ...]:
        """What the block of a case gets."""
        counts = self.case_operand_segments
        start = sum(counts[:number])
        return self.case_operands[start : start + counts[number]]

    def print(self, printer: Any) -> None:
        indent = printer.indent
        printer.emit(f" {printer.name(self.flag)} : {printer.type_text(self.flag.type)}, [{indent}  default: ")
        printer.print_successor(self.dests[0], self.default_operands)
        for number, value in enumerate(self.values):
            printer.emit(f",{indent}  {value}: ")
            printer.print_successor(self.dests[1 + number], self.operands_of_case(number))
        printer.emit(f"{indent}]")
        printer.print_attr_dict(self, ("case_values", "case_operand_segments"))

    @classmethod
    def parse(cls, parser: Any) -> Any:
        flag = parser.parse_operand()
        parser.parse_punctuation(":")
        type: Type = parser.parse_type()
        parser.resolve(flag, type)
        parser.parse_punctuation(",")
        parser.parse_punctuation("[")
        parser.parse_literal("default")
        parser.parse_punctuation(":")
        block, defaults = parser.parse_successor_with_operands()
        blocks, values, groups = [block], [], []
        while parser.parse_optional(","):
            values.append(parser.parse_integer())
            parser.parse_punctuation(":")
            block, operands = parser.parse_successor_with_operands()
            blocks.append(block)
            groups.append(operands)
        parser.parse_punctuation("]")
        attributes = parser.parse_optional_attr_dict()
        flat = [v for group in groups for v in group]
        cases = None
        if values:
            cases = DenseElementsAttr.from_values(TensorType((len(values),), type), values)
        segments = DenseArrayAttr(i32, [len(g) for g in groups])
        return cls(flag, defaults, flat, cases, segments, blocks, attributes=attributes)

    def verify_(self) -> None:
        _check_arguments(self, self.dests[0], self.default_operands)
        for number in range(len(self.values)):
            _check_arguments(self, self.dests[1 + number], self.operands_of_case(number))


class AssertOp(Op, name="cf.assert"):
    """Fails the invocation unless the condition holds.

    cf.assert %c, "what failed"
    """

    arg: Operand[i1]
    msg: StringProp
    format = "$arg `,` $msg attr-dict"


