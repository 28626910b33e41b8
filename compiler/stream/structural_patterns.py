"""Patterns that carry converted tensors through functions, globals and structured control flow.

Loop-carried tensors stay on the device where they start: what an iteration hands on is moved there first. Part of
iree-stream-conversion.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyiree.compiler.dialects import scf, util
from pyiree.compiler.flow.ops import TensorTransferOp
from pyiree.compiler.ir.attributes import Attribute
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.conversion import Adaptor, ConversionPattern, ConversionRewriter
from pyiree.compiler.ir.core import Operation, Region, Value
from pyiree.compiler.ir.diagnostics import CompileError
from pyiree.compiler.ir.symbol_table import lookup_symbol
from pyiree.compiler.ir.types import TensorType, Type
from pyiree.compiler.stream import ops as stream
from pyiree.compiler.stream.analysis.affinity import AffinityAnalysis, carries_data
from pyiree.compiler.stream.flow_patterns import TensorPattern, size_of
from pyiree.compiler.stream.types import UNKNOWN, resource


def keep_loop_values_in_place(root: Operation, affinities: AffinityAnalysis) -> None:
    """Moves what branches and iterations hand on to the device of the value that takes it over."""
    for op in list(root.walk()):
        for terminator, targets in _handovers(op):
            for i, (value, target) in enumerate(targets):
                at, to = affinities.of_value(value), affinities.of_value(target)
                if at is not to and carries_data(value.type):
                    moved = Builder.before(terminator).insert(TensorTransferOp(value, (), to)).result
                    affinities.place(moved, to)
                    terminator.set_operand(len(terminator.operands) - len(targets) + i, moved)


def _handovers(op: Operation) -> list[tuple[Operation, list[tuple[Value, Value]]]]:
    """The terminators inside a structured op, each with pairs of its trailing operands and what they become."""
    if isinstance(op, scf.ForOp):
        return [(op.body_block.terminator, list(zip(op.yielded, op.iter_args)))]
    if isinstance(op, scf.WhileOp):
        last = op.after_block.terminator
        return [(last, list(zip(last.operands, op.before_block.arguments)))]
    if isinstance(op, scf.IfOp | scf.IndexSwitchOp):
        ends = [region.entry.terminator for region in op.regions if not region.is_empty]
        return [(end, list(zip(end.operands, op.results))) for end in ends]
    return []


def _regroup(rewriter: ConversionRewriter, old: Sequence[Value], new: Sequence[Value]) -> list[list[Value]]:
    """The flat results of a rebuilt op, one group for each original result."""
    groups, start = [], 0
    for value in old:
        count = len(rewriter.active.convert(value.type))
        groups.append(list(new[start : start + count]))
        start += count
    return groups


class ConvertRegions(ConversionPattern, op=(scf.ForOp, scf.WhileOp, scf.IfOp, scf.IndexSwitchOp)):
    """Structured control flow that carries resources."""

    def convert(self, op: Any, adaptor: Adaptor, rewriter: ConversionRewriter) -> None:
        regions = [Region() for _ in op.regions]
        types = rewriter.active.convert_types(op.result_types)
        new: Any
        if isinstance(op, scf.ForOp):
            inits = [v for group in adaptor.groups[3:] for v in group]
            new = scf.ForOp(op.lower_bound, op.upper_bound, op.step, inits, op.unsignedCmp, *regions)
        elif isinstance(op, scf.WhileOp):
            new = scf.WhileOp(adaptor.operands, *regions, results=types)
        elif isinstance(op, scf.IfOp):
            new = scf.IfOp(op.condition, *regions, results=types)
        else:
            new = scf.IndexSwitchOp(op.arg, op.cases, regions, results=types)
        new.attributes.update(op.attributes)
        for target, source in zip(new.regions, op.regions):
            target.take_body(source)
            rewriter.convert_region_types(target)
        rewriter.insert(new)
        rewriter.replace_op(op, _regroup(rewriter, op.results, new.results))


class ConvertTerminator(ConversionPattern, op=(scf.YieldOp, scf.ConditionOp, util.ReturnOp)):
    """What a region or function hands on."""

    def convert(self, op: Any, adaptor: Adaptor, rewriter: ConversionRewriter) -> None:
        flat = adaptor.operands
        new = scf.ConditionOp(flat[0], flat[1:]) if isinstance(op, scf.ConditionOp) else type(op)(flat)
        rewriter.insert(new)
        rewriter.replace_op(op, new)


class ConvertFunction(ConversionPattern, op=util.FuncOp):
    """A function that takes or gives tensors."""

    def convert(self, op: util.FuncOp, adaptor: Any, rewriter: ConversionRewriter) -> None:
        old = op.function_type
        if any(tied != -1 for tied in op.tied_indices()):
            raise CompileError(f"@{op.sym_name} ties results to tensors; only inlined functions may", op.location)
        converted = rewriter.active.convert_function_type(old)
        if len(converted.inputs) != len(old.inputs):
            op.arg_attrs = None
        if len(converted.results) != len(old.results):
            op.res_attrs = None
        op.function_type = converted
        rewriter.convert_region_types(op.body)


class ConvertCall(ConversionPattern, op=util.CallOp):
    """A call that passes tensors."""

    def convert(self, op: util.CallOp, adaptor: Adaptor, rewriter: ConversionRewriter) -> None:
        if any(tied != -1 for tied in op.tied_indices()):
            raise CompileError(f"the call of {op.callee} ties results to tensors", op.location)
        types = rewriter.active.convert_types(op.result_types)
        new = rewriter.insert(util.CallOp(op.callee, adaptor.operands, results=types))
        rewriter.replace_op(op, _regroup(rewriter, op.results, new.results))


class ConvertGlobalLoad(TensorPattern, op=util.GlobalLoadOp):
    """Contents of a global; only as many bytes as its type says."""

    def convert(self, op: util.GlobalLoadOp, adaptor: Any, rewriter: ConversionRewriter) -> bool | None:
        if not isinstance(op.result.type, TensorType):
            return False
        affinity = self.affinities.of_op(op)
        held = lookup_symbol(op, op.global_).type
        loaded = rewriter.insert(util.GlobalLoadOp(op.global_, op.is_immutable, result=held)).result
        size = size_of(rewriter, op.result.type, (), affinity)
        rewriter.replace_op(op, rewriter.insert(_transfer(loaded, size, affinity, resource(UNKNOWN))))
        return None


class ConvertGlobalStore(TensorPattern, op=util.GlobalStoreOp):
    """New contents of a global."""

    def convert(self, op: util.GlobalStoreOp, adaptor: Adaptor, rewriter: ConversionRewriter) -> bool | None:
        if not isinstance(op.value.type, TensorType):
            return False
        affinity = self.affinities.of_global(op.global_.root) or self.affinities.of_op(op)
        value, size = self.operand(rewriter, op.value, adaptor.groups[0], (), affinity)
        held = lookup_symbol(op, op.global_).type
        stored = rewriter.insert(_transfer(value, size, affinity, held)).result
        rewriter.insert(util.GlobalStoreOp(stored, op.global_))
        rewriter.erase_op(op)
        return None


def _transfer(value: Value, size: Value, affinity: Attribute | None, type: Type) -> stream.AsyncTransferOp:
    """The same contents in memory of another lifetime, on the same device."""
    return stream.AsyncTransferOp(value, size, size, None, affinity, affinity, result=type)


def structural_patterns(affinities: AffinityAnalysis) -> list[ConversionPattern]:
    """All patterns of this module."""
    return [
        ConvertRegions(), ConvertTerminator(), ConvertFunction(), ConvertCall(), ConvertGlobalLoad(affinities),
        ConvertGlobalStore(affinities),
    ]  # fmt: skip
