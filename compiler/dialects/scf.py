"""The scf dialect: structured control flow. What is carried through loops and out of branches is SSA values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyiree.compiler.dialects.scf_canonicalization import (
    FOR_PATTERNS,
    IF_PATTERNS,
    INDEX_SWITCH_PATTERNS,
    WHILE_PATTERNS,
)
from pyiree.compiler.dialects.static_indices import index_list_text, mixed_indices, parse_index_list
from pyiree.compiler.ir.attributes import ArrayAttr, DenseArrayAttr
from pyiree.compiler.ir.constraints import AnyTensor, AnyType, SignlessIntegerOrIndex
from pyiree.compiler.ir.core import Block, Region, Value
from pyiree.compiler.ir.definition import Op
from pyiree.compiler.ir.fields import (
    IntArrayProp,
    Operand,
    OptionalAttr,
    OptionalUnitAttr,
    Results,
    Variadic,
    VariadicRegion,
)
from pyiree.compiler.ir.traits import (
    HasParent,
    NoTerminator,
    Pure,
    RecursivelyPure,
    ReturnLike,
    SingleBlock,
    Terminator,
)
from pyiree.compiler.ir.types import IndexType, Type, i1, i64, index


class YieldOp(Op, name="scf.yield"):
    """Ends a branch or an iteration with the values handed on.

    scf.yield %0 : tensor<4xf32>
    """

    operands: Variadic[AnyType]
    traits = (Pure, Terminator, ReturnLike)
    format = "attr-dict ($operands^ `:` type($operands))?"


class ConditionOp(Op, name="scf.condition"):
    """Ends the first region of a while loop: whether to go on, and the values handed to the body.

    scf.condition(%c) %0 : i32
    """

    condition: Operand[i1]
    args: Variadic[AnyType]
    traits = (Pure, Terminator, HasParent("scf.while"))
    format = "`(` $condition `)` attr-dict ($args^ `:` type($args))?"


def _print_body(printer: Any, region: Region, has_results: bool) -> None:
    """A region of which a yield without operands is implied."""
    printer.emit(" ")
    printer.print_region(region, arguments=False, terminator=has_results or _yields(region))


def _yields(region: Region) -> bool:
    last = region.blocks[-1].last_op if region.blocks else None
    return last is not None and (len(last.operands) > 0 or bool(last.attributes) or last.name != "scf.yield")


def _ensure_yield(region: Region) -> None:
    """Adds the implied yield to a block that has none."""
    for block in region.blocks:
        last = block.last_op
        if last is None or Terminator not in last.traits:
            block.append(YieldOp())
    if not region.blocks:
        region.append(Block([], [YieldOp()]))


class IfOp(Op, name="scf.if"):
    """One of two regions by a condition.

    %r = scf.if %c -> (f32) { … scf.yield %a : f32 } else { … scf.yield %b : f32 }
    """

    condition: Operand[i1]
    then_region: Region
    else_region: Region
    results: Results[AnyType]
    traits = (RecursivelyPure,)
    canonicalize_patterns = IF_PATTERNS

    @property
    def then_block(self) -> Block:
        """The block taken when the condition holds."""
        return self.then_region.entry

    @property
    def else_block(self) -> Block | None:
        """The block taken otherwise, if there is one."""
        return None if self.else_region.is_empty else self.else_region.entry

    def print(self, printer: Any) -> None:
        printer.emit(f" {printer.name(self.condition)}")
        has_results = bool(self.results)
        if has_results:
            printer.emit(f" -> ({printer.types_text(self.result_types)})")
        _print_body(printer, self.then_region, has_results)
        if not self.else_region.is_empty:
            printer.emit(" else")
            _print_body(printer, self.else_region, has_results)
        printer.print_attr_dict(self)

    @classmethod
    def parse(cls, parser: Any) -> Any:
        condition = parser.parse_operand(i1)
        types = parser.parse_optional_arrow_types()
        then_region = parser.parse_region(op_class=cls)
        _ensure_yield(then_region)
        else_region = Region()
        if parser.parse_optional_literal("else"):
            else_region = parser.parse_region(op_class=cls)
            _ensure_yield(else_region)
        attributes = parser.parse_optional_attr_dict()
        return cls(condition, then_region, else_region, results=types, attributes=attributes)

    def verify_(self) -> None:
        if self.results and self.else_region.is_empty:
            raise self.error("has results, so it needs an else region")
        for region in self.regions:
            if not region.is_empty:
                _check_handed_on(self, region.entry.terminator.operands, self.result_types)


def _check_handed_on(op: Any, values: Sequence[Value], types: Sequence[Type]) -> None:
    found = tuple([v.type for v in values])
    if found != tuple(types):
        raise op.error(
            f"hands on ({', '.join(map(str, found))}), expected ({', '.join(map(str, types))})"
        )


class ForOp(Op, name="scf.for"):
    """A counted loop; the counter is an index or an integer, compared as signed unless it says `unsigned`.

    %r = scf.for %i = %lb to %ub step %s iter_args(%x = %init) -> (f32) { … scf.yield %y : f32 }
    """

    lower_bound: Operand[SignlessIntegerOrIndex]
    upper_bound: Operand[SignlessIntegerOrIndex]
    step: Operand[SignlessIntegerOrIndex]
    init_args: Variadic[AnyType]
    unsignedCmp: OptionalUnitAttr
    body: Region
    results: Results[AnyType]
    traits = (RecursivelyPure, SingleBlock)
    canonicalize_patterns = FOR_PATTERNS

    @property
    def body_block(self) -> Block:
        """The block of an iteration."""
        return self.body.entry

    @property
    def induction_var(self) -> Value:
        """The counter."""
        return self.body_block.arguments[0]

    @property
    def iter_args(self) -> list[Any]:
        """The carried values, inside the body."""
        return self.body_block.arguments[1:]

    @property
    def yielded(self) -> tuple[Value, ...]:
        """The carried values that an iteration hands on."""
        return self.body_block.terminator.operands

    def infer_types(self) -> tuple[Type, ...]:
        return tuple([v.type for v in self.init_args])

    def print(self, printer: Any) -> None:
        printer.name_region_arguments(self.body)
        name = printer.name
        unsigned = " unsigned" if self.unsignedCmp else ""
        printer.emit(
            f"{unsigned} {name(self.induction_var)} = {name(self.lower_bound)} to {name(self.upper_bound)} "
            f"step {name(self.step)}"
        )
        if self.init_args:
            pairs = [f"{name(a)} = {name(v)}" for a, v in zip(self.iter_args, self.init_args)]
            printer.emit(f" iter_args({', '.join(pairs)}) -> ({printer.types_text(self.result_types)})")
        if not self.induction_var.type.is_index:
            printer.emit(f"  : {printer.type_text(self.induction_var.type)}")
        _print_body(printer, self.body, bool(self.results))
        printer.print_attr_dict(self, ("unsignedCmp",))

    @classmethod
    def parse(cls, parser: Any) -> Any:
        unsigned = parser.parse_optional_literal("unsigned")
        counter = parser.parse_argument(type=index)
        parser.parse_punctuation("=")
        bounds = [parser.parse_operand()]
        parser.parse_literal("to")
        bounds.append(parser.parse_operand())
        parser.parse_literal("step")
        bounds.append(parser.parse_operand())
        arguments, inits, types = [], [], []
        if parser.parse_optional_literal("iter_args"):
            arguments, inits, types = _parse_carried(parser, lambda: parser.parse_optional_arrow_types())
        if parser.parse_optional(":"):
            counter = counter._replace(type=parser.parse_type())
        for bound in bounds:
            parser.resolve(bound, counter.type)
        body = parser.parse_region([counter, *arguments], op_class=cls)
        _ensure_yield(body)
        attributes = parser.parse_optional_attr_dict()
        return cls(
            *bounds, inits, unsignedCmp=True if unsigned else None, body=body, results=types, attributes=attributes
        )

    def verify_(self) -> None:
        expected = (self.lower_bound.type, *[v.type for v in self.init_args])
        if tuple(self.body_block.argument_types) != expected:
            raise self.error("has a body whose arguments don't fit its bounds and carried values")
        _check_handed_on(self, self.yielded, self.result_types)
        _check_handed_on(self, self.init_args, self.result_types)


def _parse_carried(parser: Any, parse_types: Any) -> tuple[list[Any], list[Value], list[Type]]:
    """`(%a = %x, …)` and then the types, by `parse_types`."""
    names: list[tuple[str, int]] = []
    inits: list[Value] = []

    def entry() -> None:
        names.append((parser.token, parser.start))
        argument = parser.parse_argument(type=index)
        arguments.append(argument)
        parser.parse_punctuation("=")
        inits.append(parser.parse_operand())

    arguments: list[Any] = []
    at = parser.start
    parser.parse_list(entry, "(", ")")
    types = parse_types()
    parser.resolve_all(inits, types, at)
    return [a._replace(type=t) for a, t in zip(arguments, types)], inits, types


class WhileOp(Op, name="scf.while"):
    """A loop that the first region decides on and the second one does.

    %r = scf.while (%a = %x) : (i32) -> (i32) { … scf.condition(%c) %a : i32 } do { ^bb0(%b: i32): … }
    """

    inits: Variadic[AnyType]
    before: Region
    after: Region
    results: Results[AnyType]
    traits = (RecursivelyPure,)
    canonicalize_patterns = WHILE_PATTERNS

    @property
    def before_block(self) -> Block:
        """The block that decides."""
        return self.before.entry

    @property
    def after_block(self) -> Block:
        """The block of an iteration."""
        return self.after.entry

    @property
    def condition(self) -> ConditionOp:
        """The end of the deciding block."""
        return self.before_block.terminator  # type: ignore[return-value]

    def print(self, printer: Any) -> None:
        printer.name_region_arguments(self.before)
        if self.inits:
            pairs = [
                f"{printer.name(a)} = {printer.name(v)}" for a, v in zip(self.before_block.arguments, self.inits)
            ]
            printer.emit(f" ({', '.join(pairs)})")
        printer.emit(f" : {printer.type_text_uncached([v.type for v in self.inits], self.result_types)} ")
        printer.print_region(self.before, arguments=False)
        printer.emit(" do ")
        printer.print_region(self.after)
        printer.print_attr_dict(self, keyword=True)

    @classmethod
    def parse(cls, parser: Any) -> Any:
        function_type: Any = None

        def input_types() -> list[Type]:
            nonlocal function_type
            parser.parse_punctuation(":")
            function_type = parser.parse_function_type()
            return list(function_type.inputs)

        arguments: list[Any] = []
        inits: list[Value] = []
        if parser.at("("):
            arguments, inits, _ = _parse_carried(parser, input_types)
        else:
            input_types()
        before = parser.parse_region(arguments, op_class=cls)
        parser.parse_literal("do")
        after = parser.parse_region(op_class=cls)
        _ensure_yield(after)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        return cls(inits, before, after, results=function_type.results, attributes=attributes)

    def verify_(self) -> None:
        condition = self.before_block.last_op
        if not isinstance(condition, ConditionOp):
            raise self.error("has a first region that doesn't end in scf.condition")
        inputs = [v.type for v in self.inits]
        _check_handed_on(self, self.before_block.arguments, inputs)
        _check_handed_on(self, condition.args, self.result_types)
        _check_handed_on(self, self.after_block.arguments, self.result_types)
        _check_handed_on(self, self.after_block.terminator.operands, inputs)


class IndexSwitchOp(Op, name="scf.index_switch"):
    """One of several regions by an index.

    %r = scf.index_switch %i -> i32 case 0 { … } default { … }
    """

    arg: Operand[IndexType]
    cases: IntArrayProp[i64]
    case_regions: VariadicRegion
    results: Results[AnyType]
    traits = (RecursivelyPure,)
    canonicalize_patterns = INDEX_SWITCH_PATTERNS

    @property
    def default_region(self) -> Region:
        """The region of every other index; it is the first of the op's regions."""
        return self.regions[0]

    def region_of(self, value: int) -> Region:
        """The region for an index."""
        cases = self.cases
        return self.regions[1 + cases.index(value)] if value in cases else self.regions[0]

    def print(self, printer: Any) -> None:
        printer.emit(f" {printer.name(self.arg)}")
        printer.print_attr_dict(self, ("cases",))
        has_results = bool(self.results)
        if has_results:
            printer.emit(f" -> {printer.types_text(self.result_types)}")
        for value, region in zip(self.cases, self.regions[1:]):
            printer.emit(f" case {value}")
            _print_body(printer, region, has_results)
        printer.emit(" default")
        _print_body(printer, self.default_region, has_results)

    @classmethod
    def parse(cls, parser: Any) -> Any:
        arg = parser.parse_operand(index)
        attributes = parser.parse_optional_attr_dict()
        types = []
        if parser.parse_optional("->"):
            types = parser.parse_result_types() if parser.at("(") else parser.parse_type_list()
        values, regions = [], []
        while parser.parse_optional_literal("case"):
            values.append(parser.parse_integer())
            regions.append(parser.parse_region(op_class=cls))
        parser.parse_literal("default")
        regions.insert(0, parser.parse_region(op_class=cls))
        for region in regions:
            _ensure_yield(region)
        return cls(arg, DenseArrayAttr(i64, values), regions, results=types, attributes=attributes)

    def verify_(self) -> None:
        if len(self.regions) != len(self.cases) + 1:
            raise self.error(f"has {len(self.cases)} cases, but {len(self.regions)} regions")
        for region in self.regions:
            _check_handed_on(self, region.entry.terminator.operands, self.result_types)


class ForallOp(Op, name="scf.forall"):
    """Independent iterations, each of which writes a part of the shared outputs.

    %r = scf.forall (%i) in (4) shared_outs(%o = %x) -> (tensor<8xf32>) { … scf.forall.in_parallel { … } }
    """

    dynamic_lower: Variadic[IndexType]
    dynamic_upper: Variadic[IndexType]
    dynamic_step: Variadic[IndexType]
    outputs: Variadic[AnyTensor]
    static_lower: IntArrayProp[i64]
    static_upper: IntArrayProp[i64]
    static_step: IntArrayProp[i64]
    mapping: OptionalAttr[ArrayAttr]
    body: Region
    results: Results[AnyType]
    traits = (SingleBlock,)

    @property
    def rank(self) -> int:
        """How many counters there are."""
        return len(self.static_upper)

    @property
    def mixed_upper(self) -> list[int | Value]:
        """The upper bounds, as constants or SSA values."""
        return mixed_indices(self.dynamic_upper, self.static_upper)

    def infer_types(self) -> tuple[Type, ...]:
        return tuple([v.type for v in self.outputs])

    def print(self, printer: Any) -> None:
        printer.name_region_arguments(self.body)
        arguments = self.body.entry.arguments
        printer.emit(f" ({printer.names(arguments[: self.rank])})")

        def bounds(values: Sequence[Value], static: Sequence[int]) -> str:
            return f"({index_list_text(printer, values, static)[1:-1]})"

        upper = bounds(self.dynamic_upper, self.static_upper)
        if any(self.static_lower) or any(s != 1 for s in self.static_step):
            lower = bounds(self.dynamic_lower, self.static_lower)
            printer.emit(f" = {lower} to {upper} step {bounds(self.dynamic_step, self.static_step)}")
        else:
            printer.emit(f" in {upper}")
        if self.outputs:
            pairs = [f"{printer.name(a)} = {printer.name(v)}" for a, v in zip(arguments[self.rank :], self.outputs)]
            printer.emit(f" shared_outs({', '.join(pairs)}) -> ({printer.types_text(self.result_types)})")
        printer.emit(" ")
        printer.print_region(self.body, arguments=False, terminator=bool(self.outputs))
        written = ("static_lower", "static_upper", "static_step")
        printer.print_attr_dict(self, written)

    @classmethod
    def parse(cls, parser: Any) -> Any:
        counters = parser.parse_list(lambda: parser.parse_argument(type=index), "(", ")")
        if parser.parse_optional("="):
            lower = _parse_bounds(parser)
            parser.parse_literal("to")
            upper = _parse_bounds(parser)
            parser.parse_literal("step")
            step = _parse_bounds(parser)
        else:
            parser.parse_literal("in")
            upper = _parse_bounds(parser)
            lower, step = ([], [0] * len(counters)), ([], [1] * len(counters))
        arguments: list[Any] = []
        outputs: list[Value] = []
        if parser.parse_optional_literal("shared_outs"):
            arguments, outputs, _ = _parse_carried(parser, lambda: parser.parse_optional_arrow_types())
        body = parser.parse_region([*counters, *arguments], op_class=cls)
        last = body.entry.last_op
        if not isinstance(last, InParallelOp):
            body.entry.append(InParallelOp(Block()))
        attributes = parser.parse_optional_attr_dict()
        mapping = attributes.pop("mapping", None)
        groups = (lower[0], upper[0], step[0], outputs)
        static = tuple([DenseArrayAttr(i64, s) for s in (lower[1], upper[1], step[1])])
        return cls(*groups, *static, mapping, body, attributes=attributes)


def _parse_bounds(parser: Any) -> tuple[list[Value], Sequence[int]]:
    values, static = parse_index_list(parser, "(", ")")
    return values, static.value


class InParallelOp(Op, name="scf.forall.in_parallel"):
    """Ends the body of a parallel loop; holds the insertions into the shared outputs."""

    region: Region
    traits = (Pure, Terminator, NoTerminator, HasParent("scf.forall"))

    def print(self, printer: Any) -> None:
        printer.emit(" ")
        printer.print_region(self.region)
        printer.print_attr_dict(self)

    @classmethod
    def parse(cls, parser: Any) -> Any:
        region = parser.parse_region(op_class=cls)
        if region.is_empty:
            region.append(Block())
        return cls(region, attributes=parser.parse_optional_attr_dict())


class ExecuteRegionOp(Op, name="scf.execute_region"):
    """Runs its region once; its blocks may branch.

    %r = scf.execute_region -> i32 { … scf.yield %0 : i32 }
    """

    region: Region
    no_inline: OptionalUnitAttr
    results: Results[AnyType]
    traits = (RecursivelyPure,)

    def print(self, printer: Any) -> None:
        if self.results:
            printer.emit(f" -> {printer.types_text(self.result_types)}")
        if self.no_inline:
            printer.emit(" no_inline")
        printer.emit(" ")
        printer.print_region(self.region)
        printer.print_attr_dict(self, ("no_inline",))

    @classmethod
    def parse(cls, parser: Any) -> Any:
        types = parser.parse_optional_arrow_types()
        no_inline = parser.parse_optional_literal("no_inline") or None
        region = parser.parse_region(op_class=cls)
        return cls(region, no_inline, results=types, attributes=parser.parse_optional_attr_dict())
