"""iree-flow-outline-dispatch-regions: every dispatch region becomes a function of an executable.

Before: %1 = flow.dispatch.region -> (tensor<8xf32>) { %2 = linalg.generic … ; flow.return %2 }
After:  flow.executable private @main_dispatch_0 {
          flow.executable.export public @main_dispatch_0_elementwise_8_f32 workgroups() -> (index, index, index) { … }
          builtin.module { func.func @main_dispatch_0_elementwise_8_f32(%arg0: …<readonly:…>, …) { … } }
        }
        %1 = flow.dispatch @main_dispatch_0::@main_dispatch_0_elementwise_8_f32(%0) : (tensor<8xf32>) -> tensor<8xf32>

Tensors that a region reads are its first arguments, then numbers, then the results. Dims that are not known are
numbers as well, and the workload, with the other indices that the region reads. A result that takes over the storage of
a tensor (`in_place`) has no argument of its own: that tensor's is `readwrite`.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyiree.compiler.dialects.builtin import ModuleOp
from pyiree.compiler.dialects.func import FuncOp as KernelFuncOp
from pyiree.compiler.dialects.func import ReturnOp as KernelReturnOp
from pyiree.compiler.dialects.iree_tensor_ext import (
    READ_ONLY,
    READ_WRITE,
    WRITE_ONLY,
    DispatchTensorLoadOp,
    DispatchTensorStoreOp,
    DispatchTensorType,
    DispatchWorkgroupCountFromSliceOp,
    DispatchWorkloadOrdinalOp,
)
from pyiree.compiler.dialects.linalg_interface import LinalgOp
from pyiree.compiler.dialects.tensor_slices import InsertSliceOp
from pyiree.compiler.dialects.tied_results import UNTIED, tied_operands_attr
from pyiree.compiler.dialects.util import FuncOp
from pyiree.compiler.flow.in_place import tied_values
from pyiree.compiler.flow.op_kinds import CONTRACTION, REDUCTION, kind_of
from pyiree.compiler.flow.ops import (
    DispatchOp,
    DispatchRegionOp,
    ExecutableEndOp,
    ExecutableExportOp,
    ExecutableOp,
    ReturnOp,
)
from pyiree.compiler.flow.resolve_dims import dynamic_dims
from pyiree.compiler.ir.attributes import ArrayAttr, SymbolRefAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Operation, Use, Value
from pyiree.compiler.ir.passes import PassContext, register_pass
from pyiree.compiler.ir.symbol_table import SymbolTable
from pyiree.compiler.ir.types import TensorType, Type, element_type_of, index


@register_pass("iree-flow-outline-dispatch-regions")
def outline_dispatch_regions(module: ModuleOp, context: PassContext) -> None:
    """Moves the body of every dispatch region into an executable of its own."""
    symbols = SymbolTable(module)
    for func in list(module.body_block.ops):
        if not isinstance(func, FuncOp) or func.is_declaration:
            continue
        for number, region in enumerate(list(func.walk_type(DispatchRegionOp))):
            _Outlining(region, symbols, func, f"{func.sym_name}_dispatch_{number}").run()


class _Outlining:
    def __init__(self, region: DispatchRegionOp, symbols: SymbolTable, func: FuncOp, name: str) -> None:
        self.region = region
        self.symbols = symbols
        self.func = func
        self.name = name

    def run(self) -> None:
        region = self.region
        builder = Builder.before(region)
        captured = captured_values(region)
        tensors = [v for v in captured if isinstance(v.type, TensorType)]
        input_dims = [dynamic_dims(builder, v) for v in tensors]
        result_dims = list(region.result_dims)
        workload = list(dict.fromkeys([d for dims in input_dims for d in dims] + result_dims))
        if workload:
            # Sizes of what the kernel makes on the way can be computed from these too.
            workload += [v for v in captured if v.type == index and v not in workload]
        numbers = [v for v in captured if not isinstance(v.type, TensorType) and v not in workload]
        entry = f"{self.name}_{summary(region)}"
        arguments = [*tensors, *numbers, *workload]
        tied = [UNTIED if v is None else arguments.index(v) for v in tied_values(region)]
        executable = self._executable(entry, tensors, numbers, input_dims, workload, tied)
        self.symbols.insert(executable, before=self.func)
        dispatch = DispatchOp(
            workload,
            arguments,
            [d for dims in input_dims for d in dims],
            result_dims,
            entry_points=ArrayAttr([SymbolRefAttr(executable.sym_name, entry)]),
            tied_operands=tied_operands_attr(tied),
            results=list(region.result_types),
            location=region.location,
        )
        builder.insert(dispatch)
        region.replace_all_uses_with(dispatch.results)
        region.erase()

    def _executable(
        self, entry: str, tensors: list[Value], numbers: list[Value], input_dims: list[list[Value]],
        workload: list[Value], tied: list[int],
    ) -> ExecutableOp:  # fmt: skip
        region = self.region
        location = region.location
        untied = [t for t, number in zip(region.result_types, tied) if number == UNTIED]
        accesses = [READ_WRITE if i in tied else READ_ONLY for i in range(len(tensors))]
        types: list[Type] = [DispatchTensorType(access, v.type) for access, v in zip(accesses, tensors)]
        types += [v.type for v in numbers] + [index] * len(workload)
        types += [DispatchTensorType(WRITE_ONLY, t) for t in untied]
        function = KernelFuncOp.create(entry, types, [], location=location)
        body = function.entry_block
        builder = Builder.at_end(body, location)
        arguments = list(body.arguments)
        scalars = arguments[len(tensors) : len(tensors) + len(numbers)]
        dims: dict[Value, Value] = {}
        for i, (outer, inner) in enumerate(zip(workload, arguments[len(tensors) + len(numbers) :])):
            dims[outer] = builder.insert(DispatchWorkloadOrdinalOp(inner, ordinal=i)).result
        mapping: dict[Value, Value] = dict(zip(numbers, scalars))
        mapping.update(dims)
        partly_written = self._updates()
        for outer, inner, outer_dims in zip(tensors, arguments, input_dims):
            if any(self._is_read(use, partly_written.values()) for use in outer.uses):
                load = DispatchTensorLoadOp.of(inner, [dims[d] for d in outer_dims], result_type=outer.type)
                mapping[outer] = builder.insert(load).result
        terminator = region.body.entry.terminator
        updates = set(partly_written.values())
        for op in region.body.entry.ops:
            if op is not terminator and op not in updates:
                op.move_to_end(body)
                _remap(op, mapping)
        remaining = [dims[d] for d in region.result_dims]
        outputs = iter(arguments[len(arguments) - len(untied) :])
        for value, number in zip(terminator.operands, tied):
            count = value.type.shape.count(None)
            own, remaining = remaining[:count], remaining[count:]
            target = next(outputs) if number == UNTIED else arguments[number]
            update = partly_written.get(value)
            if update is None:
                builder.insert(DispatchTensorStoreOp.of(mapping.get(value, value), target, own))
                continue
            box = [
                [mapping.get(x, x) if isinstance(x, Value) else x for x in part]
                for part in (update.mixed_offsets, update.mixed_sizes, update.mixed_strides)
            ]
            builder.insert(DispatchTensorStoreOp.of(mapping.get(update.source, update.source), target, own, *box))
        builder.insert(KernelReturnOp([]))
        return self._wrap(entry, function, len(workload))

    def _is_read(self, use: Use, updates: Iterable[InsertSliceOp]) -> bool:
        """Whether a use is in the region and needs the elements: more than as what an update writes over."""
        is_target = any(use.owner is op and op.operands[use.index] is op.dest for op in updates)
        return self.region.is_ancestor_of(use.owner) and not is_target

    def _updates(self) -> dict[Value, InsertSliceOp]:
        """The results of which only a part is written, in place."""
        ends = self.region.body.entry.terminator.operands
        return {
            value: value.defining_op
            for value, target in zip(ends, tied_values(self.region))
            if target is not None and isinstance(value.defining_op, InsertSliceOp)
        }

    def _wrap(self, entry: str, function: KernelFuncOp, workload_size: int) -> ExecutableOp:
        location = self.region.location
        count = Block([index] * workload_size)
        builder = Builder.at_end(count, location)
        slices = builder.insert(
            DispatchWorkgroupCountFromSliceOp(count.arguments, result_types=[index, index, index])
        )
        builder.insert(ReturnOp(slices.results))
        export = ExecutableExportOp(
            sym_name=entry, function_ref=entry, sym_visibility="public", workgroup_count=count, location=location
        )
        inner = ModuleOp(Block((), [function]), location=location)
        body = Block((), [export, inner, ExecutableEndOp(location=location)])
        return ExecutableOp(sym_name=self.name, sym_visibility="private", body=body, location=location)


def _remap(op: Operation, mapping: dict[Value, Value]) -> None:
    """Makes an op and what is inside it read other values."""
    for inner in (op, *op.nested_ops()) if op.regions else (op,):
        if any(v in mapping for v in inner.operands):
            inner.set_operands([mapping.get(v, v) for v in inner.operands])


def captured_values(region: DispatchRegionOp) -> list[Value]:
    """The values from outside that a region's body reads, in order of first use."""
    found: dict[Value, None] = {}
    for op in region.walk():
        if op is region:
            continue
        for operand in op.operands:
            if _is_outside(operand, region):
                found[operand] = None
    return list(found)


def _is_outside(value: Value, region: DispatchRegionOp) -> bool:
    owner = value.defining_op
    block = owner.block if owner is not None else value.block  # type: ignore[attr-defined]
    while block is not None:
        if block is region.body.entry:
            return False
        parent = block.parent_op
        block = parent.block if parent is not None else None
    return True


def summary(region: DispatchRegionOp) -> str:
    """What a dispatch is about, for its name: `matmul_8x32x16_f32`."""
    ops = [op for op in region.body.entry.ops if kind_of(op) is not None]
    root = next((op for op in ops if kind_of(op) == CONTRACTION), None)
    root = root or next((op for op in reversed(ops) if kind_of(op) == REDUCTION), None)
    root = root or (ops[-1] if ops else None)
    if root is None:
        return "fill"
    kind = kind_of(root)
    if isinstance(root, LinalgOp):
        word = "matmul" if kind == CONTRACTION and root.name == "linalg.generic" else root.name.partition(".")[2]
        word = kind if word == "generic" else word  # type: ignore[assignment]
        sizes = root.loop_ranges()
    else:
        word = root.name.partition(".")[2]
        sizes = _shape_of(root)
    shape = "x".join(["D" if s is None else str(s) for s in sizes])
    types = dict.fromkeys([str(element_type_of(v.type)) for v in (*root.operands, *root.results) if _is_tensor(v)])
    return "_".join([part for part in (word, shape, "x".join(types)) if part])


def _is_tensor(value: Value) -> bool:
    return isinstance(value.type, TensorType)


def _shape_of(op: Operation) -> tuple[int | None, ...]:
    return op.results[0].type.shape if op.results and _is_tensor(op.results[0]) else ()  # type: ignore[attr-defined]
