"""Checks that IR is well formed.

What enters: an op. What leaves: nothing, or a `VerifyError` that names the op and its location: links and operands
that dominate their uses, terminators, the counts and types that the declaration asks for, traits, unique symbols,
isolation, and the op's own `verify_`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyiree.compiler.ir.core import Block, Operation, Region
from pyiree.compiler.ir.definition import OpDefinition, operand_groups, result_groups
from pyiree.compiler.ir.diagnostics import VerifyError
from pyiree.compiler.ir.dominance import Dominance
from pyiree.compiler.ir.fields import ONE, OPTIONAL
from pyiree.compiler.ir.symbol_table import symbol_name
from pyiree.compiler.ir.traits import (
    GraphRegion,
    IsolatedFromAbove,
    NoTerminator,
    SymbolTable,
    Terminator,
)

_checkers: dict[type, list[Callable[[Any], None]]] = {}


def verify(op: Operation) -> None:
    """Checks an op and all inside it."""
    dominance = Dominance()
    _verify_op(op)
    _verify_regions(op, dominance)
    # An op in the middle of a program may read values of the ops around it; those are not looked at here.
    _verify_scopes(op, dominance, outer=IsolatedFromAbove not in op.traits and op.block is not None)


def _verify_op(op: Operation) -> None:
    checkers = _checkers.get(op.__class__)
    if checkers is None:
        checkers = _checkers[op.__class__] = _compile_checkers(op.__class__)
    for check in checkers:
        check(op)


def _compile_checkers(cls: Any) -> list[Callable[[Any], None]]:
    checkers: list[Callable[[Any], None]] = []
    definition = getattr(cls, "definition", None)
    if definition is not None:
        checkers.append(_declaration_checker(definition))
    checkers.extend(trait.check for trait in cls.traits if trait.check is not None)
    if SymbolTable in cls.traits:
        checkers.append(_check_symbols)
    if hasattr(cls, "verify_"):
        checkers.append(cls.verify_)
    return checkers


def _declaration_checker(definition: OpDefinition) -> Callable[[Any], None]:
    operand_kinds = [f.constraint.accepts for f in definition.operands] if definition.operands_simple else None
    result_kinds = [f.constraint.accepts for f in definition.results] if definition.results_simple else None
    required = [(f.name, f.spec) for f in definition.attributes if not f.spec.optional]
    optional = [(f.name, f.spec) for f in definition.attributes if f.spec.optional]
    num_regions = len(definition.regions) if not any(f.variadic for f in definition.regions) else None
    num_successors = len(definition.successors) if not any(f.variadic for f in definition.successors) else None

    def check(op: Any) -> None:
        operands, results, properties = op._operands, op._results, op.properties
        if operand_kinds is None:
            _check_groups(op, "operand", definition.operands, operand_groups, operands, op.operand_segments)
        else:
            if len(operands) != len(operand_kinds):
                raise op.error(f"expects {len(operand_kinds)} operands, found {len(operands)}")
            for i, accepts in enumerate(operand_kinds):
                if not accepts(operands[i].type):
                    raise _type_error(op, "operand", definition.operands[i], operands[i].type)
        if result_kinds is None:
            _check_groups(op, "result", definition.results, result_groups, results, op.result_segments)
        else:
            if len(results) != len(result_kinds):
                raise op.error(f"expects {len(result_kinds)} results, found {len(results)}")
            for i, accepts in enumerate(result_kinds):
                if not accepts(results[i].type):
                    raise _type_error(op, "result", definition.results[i], results[i].type)
        for name, spec in required:
            value = properties.get(name)
            if value is None:
                raise op.error(f"requires attribute '{name}'")
            if not isinstance(value, spec.attr_class):
                raise _attribute_error(op, name, spec, value)
        for name, spec in optional:
            value = properties.get(name)
            if value is not None and not isinstance(value, spec.attr_class):
                raise _attribute_error(op, name, spec, value)
        if num_regions is not None and len(op.regions) != num_regions:
            raise op.error(f"expects {num_regions} regions, found {len(op.regions)}")
        if num_successors is not None and len(op._successors) != num_successors:
            raise op.error(f"expects {num_successors} successors, found {len(op._successors)}")

    return check


def _check_groups(op: Any, what: str, fields: Any, groups_of: Any, values: Any, segments: Any) -> None:
    singles = sum(f.arity == ONE for f in fields)
    if len(values) < singles:
        raise op.error(f"expects at least {singles} {what}s, found {len(values)}")
    if segments is not None and (len(segments) != len(fields) or sum(segments) != len(values)):
        raise op.error(f"{what} segments {segments} do not fit its {len(values)} {what}s")
    if segments is None and sum(f.arity != ONE for f in fields) > 1:
        raise op.error(f"has no {what} segment sizes")
    for field, group in zip(fields, groups_of(op)):
        if (field.arity == OPTIONAL and len(group) > 1) or (field.arity == ONE and len(group) != 1):
            raise op.error(f"{what} '{field.name}' stands for {len(group)} values")
        for value in group:
            if not field.constraint.accepts(value.type):
                raise _type_error(op, what, field, value.type)


def _type_error(op: Any, what: str, field: Any, found: Any) -> Exception:
    return op.error(f"{what} '{field.name}' must be {field.constraint.description}, found {found}")


def _attribute_error(op: Any, name: str, spec: Any, found: Any) -> Exception:
    wanted = getattr(spec.attr_class, "__name__", spec.attr_class)
    return op.error(f"attribute '{name}' must be a {wanted}, found {found}")


def _check_symbols(op: Any) -> None:
    seen: dict[str, Operation] = {}
    for region in op.regions:
        for nested in region.ops:
            name = symbol_name(nested)
            if name is None:
                continue
            if name in seen:
                raise VerifyError(f"symbol '@{name}' is defined twice in '{op.name}'", nested.location)
            seen[name] = nested


def _verify_regions(op: Operation, dominance: Dominance) -> None:
    """Links, terminators and declarations of everything inside."""
    for region in op.regions:
        if region.parent_op is not op:
            raise VerifyError(f"'{op.name}' has a region whose parent is another op", op.location)
        needs_terminator = NoTerminator not in op.traits and hasattr(op, "definition")
        for block in region.blocks:
            if block.region is not region:
                raise VerifyError(f"'{op.name}' has a block whose region is another one", op.location)
            if needs_terminator:
                _check_terminator(op, block)
            last = block._last
            nested = block._first
            while nested is not None:
                _verify_op(nested)
                if nested is not last and Terminator in nested.traits:
                    raise VerifyError(f"'{nested.name}' must be the last op of its block", nested.location)
                for target in nested._successors:
                    if target.region is not region:
                        raise VerifyError(f"'{nested.name}' branches to a block of another region", nested.location)
                    if nested is not last:
                        raise VerifyError(f"'{nested.name}' branches, but is not last", nested.location)
                if nested.regions:
                    _verify_regions(nested, dominance)
                nested = nested._next


def _check_terminator(op: Operation, block: Block) -> None:
    last = block._last
    if last is None:
        raise VerifyError(f"a block of '{op.name}' is empty: it needs a terminator", op.location)
    # Unregistered ops may be anything, so only a declared op can be seen not to be a terminator.
    if Terminator not in last.traits and hasattr(last, "definition"):
        raise VerifyError(f"'{last.name}' ends a block of '{op.name}', but is not a terminator", last.location)


def _verify_scopes(root: Operation, dominance: Dominance, outer: bool) -> None:
    """That operands are defined, on every path, before they are read.

    The blocks of a region are visited along the dominator tree, with the values defined so far in one set; that is
    one look-up an operand.
    """
    visible: set[Any] = set()
    if outer:
        for nested in root.walk():
            visible.update(v for v in nested._operands if not _is_inside(v, root))
    for region in root.regions:
        _verify_region_scope(region, visible, dominance)


def _is_inside(value: Any, root: Operation) -> bool:
    holder = value.defining_op
    if holder is None:
        holder = value.block.parent_op
        return holder is not None and root.is_ancestor_of(holder)
    return holder is not root and root.is_ancestor_of(holder)


def _verify_region_scope(region: Region, outside: set[Any], dominance: Dominance) -> None:
    parent = region.parent_op
    if parent is not None and IsolatedFromAbove in parent.traits:
        outside = set()
    added: list[Any] = []
    if parent is not None and GraphRegion in parent.traits:
        for op in region.ops:
            added.extend(op._results)
        outside.update(added)
    if len(region.blocks) == 1:
        _verify_block_scope(region.blocks[0], outside, added, dominance)
    elif region.blocks:
        children: dict[Block, list[Block]] = {}
        for block in region.blocks:
            above = dominance.immediate_dominator(block)
            if above is not None:
                children.setdefault(above, []).append(block)
        stack: list[tuple[Block, int | None]] = [(region.blocks[0], None)]
        while stack:
            block, mark = stack.pop()
            if mark is not None:
                outside.difference_update(added[mark:])
                del added[mark:]
                continue
            stack.append((block, len(added)))
            _verify_block_scope(block, outside, added, dominance)
            stack.extend([(child, None) for child in children.get(block, ())])
    outside.difference_update(added)


def _verify_block_scope(block: Block, visible: set[Any], added: list[Any], dominance: Dominance) -> None:
    visible.update(block.arguments)
    added.extend(block.arguments)
    op = block._first
    while op is not None:
        for value in op._operands:
            if value not in visible:
                _raise_invisible(op, value)
        for region in op.regions:
            _verify_region_scope(region, visible, dominance)
        results = op._results
        if results:
            visible.update(results)
            added.extend(results)
        op = op._next


def _raise_invisible(op: Operation, value: Any) -> None:
    index = op._operands.index(value)
    definer = value.defining_op
    if definer is not None and definer.block is None:
        message = f"operand {index} of '{op.name}' is a result of '{definer.name}', which was erased"
        raise VerifyError(message, op.location)
    for around in op.ancestors():
        if IsolatedFromAbove in around.traits:
            if not _is_inside(value, around):
                raise VerifyError(
                    f"operand {index} of '{op.name}' comes from outside of '{around.name}', which is isolated",
                    op.location,
                )
            break
    source = f"result of '{definer.name}'" if definer is not None else "block argument"
    raise VerifyError(f"operand {index} of '{op.name}' ({source}) does not dominate this use", op.location)
