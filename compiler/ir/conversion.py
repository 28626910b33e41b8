"""Dialect conversion: every op that a target calls illegal is replaced, with types converted on the way.

What enters: a root op, a target that says what is legal, patterns, a type converter. What leaves: the root with all
illegal ops converted; an op that no pattern takes raises an error with its name and location. Values whose type
changes are tracked: a pattern sees its operands already converted (`adaptor`), and what is needed on both sides is
joined by casts, which cancel where both sides end up converted.

There is no rollback: a pattern that declines must not have changed anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, BlockArgument, Operation, Region, Value
from pyiree.compiler.ir.definition import operand_groups
from pyiree.compiler.ir.diagnostics import ConversionError
from pyiree.compiler.ir.fields import ONE, OPTIONAL
from pyiree.compiler.ir.location import UNKNOWN
from pyiree.compiler.ir.rewrite import PatternRewriter, _patterns_by_class
from pyiree.compiler.ir.type_conversion import TypeConverter
from pyiree.compiler.ir.types import Type

__all__ = [
    "ConversionPattern", "ConversionRewriter", "ConversionTarget", "TypeConverter", "apply_full_conversion",
    "apply_partial_conversion",
]  # fmt: skip


class ConversionTarget:
    """What is legal: by op class, by dialect, or decided for each op. An op's own rule stands above its dialect's."""

    def __init__(self) -> None:
        self._ops: dict[Any, Any] = {}
        self._dialects: dict[str, Any] = {}
        self._recursive: set[Any] = set()

    def add_legal(self, *ops: Any) -> ConversionTarget:
        """Op classes that may stay."""
        self._ops.update(dict.fromkeys(ops, True))
        return self

    def add_illegal(self, *ops: Any) -> ConversionTarget:
        """Op classes that must go."""
        self._ops.update(dict.fromkeys(ops, False))
        return self

    def add_dynamic(self, op: Any, is_legal: Callable[[Any], bool]) -> ConversionTarget:
        """An op class (or tuple of them) of which `is_legal` says which may stay."""
        self._ops.update(dict.fromkeys(op if isinstance(op, tuple) else (op,), is_legal))
        return self

    def add_recursively_legal(self, *ops: Any) -> ConversionTarget:
        """Op classes that may stay with all that is inside them."""
        self._ops.update(dict.fromkeys(ops, True))
        self._recursive.update(ops)
        return self

    def add_legal_dialect(self, *names: str) -> ConversionTarget:
        """Dialects whose ops may stay."""
        self._dialects.update(dict.fromkeys(names, True))
        return self

    def add_illegal_dialect(self, *names: str) -> ConversionTarget:
        """Dialects whose ops must go."""
        self._dialects.update(dict.fromkeys(names, False))
        return self

    def add_dynamic_dialect(self, name: str, is_legal: Callable[[Any], bool]) -> ConversionTarget:
        """A dialect of whose ops `is_legal` says which may stay."""
        self._dialects[name] = is_legal
        return self

    def legality(self, op: Operation) -> bool | None:
        """True, False, or None where nothing is said."""
        rule = self._ops.get(type(op))
        if rule is None:
            rule = self._dialects.get(op.name.partition(".")[0])
        return rule(op) if callable(rule) else rule

    def is_recursively_legal(self, op: Operation) -> bool:
        """Whether nothing inside the op is looked at."""
        return type(op) in self._recursive


class ConversionPattern:
    """`class ConvertAdd(ConversionPattern, op=AddFOp)`: replaces one kind of op.

    `converter` is the pattern's own type converter, or None for that of the whole conversion.
    """

    op_classes: ClassVar[tuple[type, ...] | None] = None
    benefit: ClassVar[int] = 1
    converter: TypeConverter | None = None

    def __init__(self, converter: TypeConverter | None = None) -> None:
        self.converter = converter

    def __init_subclass__(cls, op: Any = None, benefit: int | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if op is not None:
            cls.op_classes = op if isinstance(op, tuple) else (op,)
        if benefit is not None:
            cls.benefit = benefit

    def convert(self, op: Any, adaptor: Any, rewriter: ConversionRewriter) -> bool | None:
        """Replaces `op`; returns False if the pattern does not apply (then nothing may have changed)."""
        raise NotImplementedError


class Adaptor:
    """An op's operands after conversion, by field name; other fields are those of the op.

    An operand whose type became several values is a list. `operands` has all converted values in one flat list,
    `groups` a list of values for each original operand.
    """

    def __init__(self, op: Any, groups: list[list[Value]]) -> None:
        self._op = op
        self.groups = groups

    @property
    def operands(self) -> list[Value]:
        """All converted operands."""
        return [value for group in self.groups for value in group]

    def __getattr__(self, name: str) -> Any:
        definition = getattr(self._op, "definition", None)
        if definition is not None:
            start = 0
            for field, values in zip(definition.operands, operand_groups(self._op)):
                if field.python_name == name:
                    found = [g[0] if len(g) == 1 else g for g in self.groups[start : start + len(values)]]
                    if field.arity == ONE:
                        return found[0]
                    if field.arity == OPTIONAL:
                        return found[0] if found else None
                    return found
                start += len(values)
        return getattr(self._op, name)

    def flat(self, name: str) -> list[Value]:
        """The converted values of a field in one list."""
        found = getattr(self, name)
        parts = found if isinstance(found, list) else [] if found is None else [found]
        return [v for part in parts for v in (part if isinstance(part, list) else [part])]


class ConversionRewriter(PatternRewriter):
    """Rewrites during a conversion: replaced ops stay until the end, and their values are mapped to the new ones."""

    def __init__(self, converter: TypeConverter) -> None:
        super().__init__()
        self.converter = converter
        self.active = converter
        self.mapping: dict[Value, list[Value]] = {}
        self.replaced: list[Operation] = []
        self.gone: set[Operation] = set()
        self.new_ops: list[Operation] = []
        self._old_arguments: list[BlockArgument] = []
        self._casts: dict[tuple[Value, tuple[Type, ...]], list[Value]] = {}
        self.cast_ops: list[Operation] = []

    def insert(self, op: Any) -> Any:
        super().insert(op)
        self.new_ops.append(op)
        return op

    def replace_op(self, op: Operation, replacement: Any) -> None:
        """Replaces an op: for each result a value, a list of values, or None if nothing reads it."""
        if isinstance(replacement, Operation):
            replacement = replacement._results
        elif isinstance(replacement, Value):
            replacement = (replacement,)
        if len(replacement) != len(op._results):
            raise ValueError(f"{op.name} has {len(op._results)} results, given {len(replacement)} replacements")
        for old, new in zip(op._results, replacement):
            if new is not None:
                self.mapping[old] = [new] if isinstance(new, Value) else list(new)
        self._retire(op)

    def replace_value(self, old: Value, new: Value) -> None:
        self.mapping[old] = [new]
        old.replace_all_uses_with(new)

    def erase_op(self, op: Operation) -> None:
        self._retire(op)

    def _retire(self, op: Operation) -> None:
        if op not in self.gone:
            self.replaced.append(op)
            self.gone.add(op)

    def converted(self, value: Value) -> list[Value]:
        """The values that stand for `value`, of the types that the active converter says."""
        values = self._mapped(value)
        types = self.active.convert(value.type)
        if tuple([v.type for v in values]) == types:
            return values
        key = (value, types)
        found = self._casts.get(key)
        if found is None or any(v.defining_op in self.gone for v in found):
            found = self._casts[key] = self._cast_after(values or [value], types, value)
        return found

    def converted_one(self, value: Value) -> Value:
        """The one value that stands for `value`."""
        values = self.converted(value)
        if len(values) != 1:
            raise ValueError(f"a value of type {value.type} became {len(values)} values, where one is needed")
        return values[0]

    def _mapped(self, value: Value) -> list[Value]:
        direct = self.mapping.get(value)
        if direct is None:
            return [value]
        return [final for one in direct for final in (self._mapped(one) if one is not value else [one])]

    def _cast_after(self, values: list[Value], types: Sequence[Type], about: Value) -> list[Value]:
        builder = Builder.after(last) if (last := _last_definition(values)) is not None else None
        if builder is None:
            argument = values[0]
            assert isinstance(argument, BlockArgument)
            builder = Builder.at_start(argument.block, argument.location)
        location = getattr(about, "location", UNKNOWN)
        made = self.active.to_target(builder, types, values, location)
        self._note_cast(made)
        return made

    def _note_cast(self, values: Iterable[Value]) -> None:
        self.cast_ops.extend(op for v in values if (op := v.defining_op) is not None)

    def convert_region_types(self, region: Region, converter: TypeConverter | None = None) -> None:
        """Converts the argument types of all blocks of a region."""
        for block in region.blocks:
            self.convert_block_signature(block, converter)

    def convert_block_signature(
        self, block: Block, converter: TypeConverter | None = None, types: Sequence[Sequence[Type]] | None = None
    ) -> list[list[BlockArgument]]:
        """Converts a block's arguments, by the converter or to the `types` given for each; returns the new groups."""
        converter = converter or self.active
        old = block.arguments
        if types is None:
            types = [converter.convert(a.type) for a in old]
            if all(t == (a.type,) for t, a in zip(types, old)):
                return [[a] for a in old]
        block.arguments = []
        groups = []
        for argument, new_types in zip(old, types, strict=True):
            group = [block.add_argument(t, argument.location) for t in new_types]
            groups.append(group)
            self.mapping[argument] = list(group)
            self._old_arguments.append(argument)
        return groups

    def inline_block_before(self, block: Block, anchor: Operation, values: Sequence[Value] = ()) -> None:
        """Moves the ops of a block before `anchor`; its arguments become `values`; the block is erased."""
        for argument, value in zip(block.arguments, values, strict=True):
            self.mapping[argument] = [value]
            self._old_arguments.append(argument)
        for op in block.ops:
            op.move_before(anchor)
        if block.region is not None:
            block.region.blocks.remove(block)
            block.region = None

    def convert_in_place(self, op: Operation, adaptor: Adaptor) -> None:
        """Gives an op its converted operands and, one to one, converted result types."""
        counts = [len(g) for g in adaptor.groups]
        if op.operand_segments is not None:
            start, segments = 0, []
            for size in op.operand_segments:
                segments.append(sum(counts[start : start + size]))
                start += size
            op.operand_segments = tuple(segments)
        op.set_operands(adaptor.operands)
        for result in op._results:
            converted = self.active.convert_one(result.type)
            if converted is not result.type:
                self._retype(result, converted)

    def _retype(self, result: Any, type: Type) -> None:
        """Changes the type of a result; users that are not converted yet see the old type through a cast."""
        old_type, users = result.type, result.users
        result.type = type
        if users:
            builder = Builder.after(result.op)
            back = self.active.to_source(builder, old_type, [result], result.location)
            self._note_cast([back])
            for user in users:
                user._exchange(result, back)
            self.mapping[back] = [result]

    # The end.

    def finish(self) -> None:
        """Joins what is left on both sides by casts, then erases what was replaced."""
        self._settle_arguments()
        for op in reversed(self.replaced):
            for result in op._results:
                live = [user for user in result.users if not self._is_gone(user)]
                if live:
                    self._settle(result, live, op)
        for op in reversed(self.replaced):
            op.drop_all_references()
        for op in reversed(self.replaced):
            op.detach().take_apart()
        _reconcile_casts(self.cast_ops)

    def _is_gone(self, op: Operation) -> bool:
        return op in self.gone or any(a in self.gone for a in op.ancestors())

    def _settle(self, old: Value, users: Sequence[Operation], op: Operation | None) -> None:
        values = self.mapping.get(old)
        if values is None:
            user = users[0]
            raise ConversionError(
                f"a result of '{op.name if op else 'a block'}' was dropped, but '{user.name}' still reads it",
                user.location,
            )
        values = self._mapped(old)
        if len(values) == 1 and values[0].type is old.type:
            for user in users:
                user._exchange(old, values[0])
            return
        last = _last_definition(values)
        if last is not None:
            builder = Builder.after(last)
        elif values:
            argument = values[0]
            assert isinstance(argument, BlockArgument)
            builder = Builder.at_start(argument.block, argument.location)
        elif op is not None:
            builder = Builder.after(op)
        else:
            assert isinstance(old, BlockArgument)
            builder = Builder.at_start(old.block, old.location)
        made = self.converter.to_source(builder, old.type, values, getattr(old, "location", UNKNOWN))
        self._note_cast([made])
        for user in users:
            if user is not made.defining_op:
                user._exchange(old, made)

    def _settle_arguments(self) -> None:
        for argument in self._old_arguments:
            live = [user for user in argument.users if not self._is_gone(user)]
            if live:
                self._settle(argument, live, None)


def _last_definition(values: Sequence[Value]) -> Operation | None:
    """The op after which all values exist, if ops of one block define any of them."""
    found: Operation | None = None
    for value in values:
        op = value.defining_op
        if op is not None and (found is None or op.block is not found.block or found.is_before_in_block(op)):
            found = op
    return found


def _reconcile_casts(casts: Iterable[Operation]) -> None:
    """Removes casts that undo each other, and unused ones."""
    pending = list(dict.fromkeys(casts))
    for cast in pending:
        folded = cast.fold([None] * len(cast._operands)) if cast.block is not None else None  # type: ignore[attr-defined]
        if folded is not None:
            cast.replace_all_uses_with(folded)
    for cast in reversed(pending):
        if cast.block is not None and not any(r._uses for r in cast._results) and hasattr(cast, "inputs"):
            cast.erase()


class _Conversion:
    def __init__(
        self, target: ConversionTarget, patterns: Iterable[ConversionPattern], converter: TypeConverter, full: bool
    ) -> None:
        self.target = target
        self.patterns_for = _patterns_by_class(patterns)  # type: ignore[arg-type]
        self.converter = converter
        self.full = full
        self.rewriter = ConversionRewriter(converter)
        self.visited: set[Operation] = set()
        #: What took the place of converted ops with regions: their insides are converted too.
        self.new_roots: list[Operation] = []

    def run(self, roots: Iterable[Operation]) -> None:
        roots = list(roots)
        # A root that is in no block (a module) is only converted inside.
        self.visited.update([root for root in roots if root.block is None])
        # Patterns may move ops where the walk has been already; look again until there is nothing new.
        while True:
            fresh = [op for root in (*roots, *self.new_roots) for op in self.fresh(root)]
            if not fresh:
                break
            for op in fresh:
                self.legalize(op, 0)
        self.rewriter.finish()

    def fresh(self, root: Operation) -> list[Operation]:
        found: list[Operation] = []
        stack = [root]
        while stack:
            op = stack.pop()
            if op in self.rewriter.gone:
                continue
            if op not in self.visited:
                found.append(op)
            if not self.target.is_recursively_legal(op):
                for region in reversed(op.regions):
                    for block in reversed(region.blocks):
                        stack.extend(block.reversed_ops)
        return found

    def legalize(self, op: Operation, depth: int) -> None:
        if op in self.visited or self.rewriter._is_gone(op):
            return
        self.visited.add(op)
        legality = self.target.legality(op)
        if legality:
            return
        rewriter = self.rewriter
        for pattern in self.patterns_for(op.__class__):
            rewriter.active = pattern.converter or self.converter  # type: ignore[attr-defined]
            rewriter.block, rewriter.anchor, rewriter.location = op.block, op, op.location
            rewriter.new_ops = []
            adaptor = Adaptor(op, [rewriter.converted(v) for v in op._operands])
            if pattern.convert(op, adaptor, rewriter) is not False:  # type: ignore[attr-defined]
                made = rewriter.new_ops
                if op.regions:
                    self.new_roots.extend([new for new in made if new.regions])
                if depth > 64:
                    raise ConversionError(f"converting '{op.name}' does not come to an end", op.location)
                for new in made:
                    self.legalize(new, depth + 1)
                return
        if legality is False or self.full:
            why = "no pattern applies to it" if legality is False else "it is not known to the target"
            raise ConversionError(f"failed to legalize operation '{op.name}': {why}", op.location)


def apply_partial_conversion(
    root: Operation | Sequence[Operation],
    target: ConversionTarget,
    patterns: Iterable[ConversionPattern],
    converter: TypeConverter | None = None,
) -> None:
    """Converts what is illegal inside `root`; ops that the target says nothing about are converted where a pattern
    applies and stay otherwise."""
    _run(root, target, patterns, converter, full=False)


def apply_full_conversion(
    root: Operation | Sequence[Operation],
    target: ConversionTarget,
    patterns: Iterable[ConversionPattern],
    converter: TypeConverter | None = None,
) -> None:
    """Converts everything inside `root`; an op that the target says nothing about is an error."""
    _run(root, target, patterns, converter, full=True)


def _run(root: Any, target: Any, patterns: Any, converter: TypeConverter | None, full: bool) -> None:
    roots = [root] if isinstance(root, Operation) else list(root)
    _Conversion(target, patterns, converter or TypeConverter(), full).run(roots)
