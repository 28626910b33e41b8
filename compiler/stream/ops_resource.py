"""Stream ops on resources, timepoints and files: allocation, views, constants, waiting.

These stand at every level of the dialect; sizes and offsets are index values, in bytes.
"""

from __future__ import annotations

from pyiree.compiler.dialects.util_types import BufferType
from pyiree.compiler.ir.attributes import ArrayAttr, Attribute
from pyiree.compiler.ir.constraints import AnyType
from pyiree.compiler.ir.core import Value
from pyiree.compiler.ir.definition import Op
from pyiree.compiler.ir.fields import (
    Attr,
    Operand,
    OptionalAttr,
    OptionalOperand,
    OptionalUnitAttr,
    Result,
    Results,
    Variadic,
)
from pyiree.compiler.ir.traits import MemoryAlloc, MemoryFree, MemoryWrite, Pure
from pyiree.compiler.ir.types import Type, i1, i64, index
from pyiree.compiler.stream import assembly as _assembly  # noqa: F401  (registers the directives)
from pyiree.compiler.stream.types import AnyResource, FileType, Primitive, StagingResource, TimepointType, timepoint

_ON = "(`on` `(` $affinity^ `)`)? "
_AWAIT = "(`await` `(` $await_timepoint^ `)` `=` `` `>`)? "


class ResourceAllocOp(Op, name="stream.resource.alloc"):
    """Allocates a resource at once, for as long as anything holds it.

    %r = stream.resource.alloc uninitialized : !stream.resource<constant>{%size}
    """

    storage_size: Operand[index]
    uninitialized: OptionalUnitAttr
    affinity: OptionalAttr[Attribute]
    result: Result[AnyResource]
    traits = (MemoryAlloc,)
    format = (
        f"(`uninitialized` $uninitialized^)? {_ON} attr-dict `:` type($result) `` `{{` $storage_size `}}`"
    )


class ResourceAllocaOp(Op, name="stream.resource.alloca"):
    """Allocates a resource in the order of a queue; it may be used from the resulting timepoint on.

    %r, %t = stream.resource.alloca uninitialized await(%t0) => !stream.resource<transient>{%size} => !stream.timepoint
    """

    storage_size: Operand[index]
    await_timepoint: OptionalOperand[TimepointType]
    indeterminate_lifetime: OptionalUnitAttr
    affinity: OptionalAttr[Attribute]
    result_: Result[AnyResource]
    result_timepoint: Result[TimepointType]
    traits = (MemoryAlloc,)
    format = (
        f"`uninitialized` (`indeterminate` $indeterminate_lifetime^)? {_ON}"
        "(`await` `(` $await_timepoint^ `)` `=` `` `>`):(`:`)? attr-dict "
        "type($result) `` `{` $storage_size `}` `=` `` `>` type($result_timepoint)"
    )

    def result_names(self) -> list[str]:
        return ["result", "result_timepoint"]


class ResourceDeallocaOp(Op, name="stream.resource.dealloca"):
    """Frees a resource in the order of a queue, after a timepoint.

    %t = stream.resource.dealloca await(%t0) => %r : !stream.resource<transient>{%size} => !stream.timepoint
    """

    operand: Operand[AnyResource]
    operand_size: Operand[index]
    await_timepoint: OptionalOperand[TimepointType]
    prefer_origin: OptionalUnitAttr
    affinity: OptionalAttr[Attribute]
    result_timepoint: Result[TimepointType]
    traits = (MemoryFree,)
    format = (
        f"(`origin` $prefer_origin^)? {_ON}{_AWAIT}"
        "$operand `:` type($operand) `` `{` $operand_size `}` `=` `` `>` type($result_timepoint) attr-dict"
    )


class ResourceRetainOp(Op, name="stream.resource.retain"):
    """Takes a share in a resource's life.

    stream.resource.retain %r : !stream.resource<external>{%size}
    """

    operand: Operand[AnyResource]
    operand_size: Operand[index]
    format = "$operand attr-dict `:` type($operand) `` `{` $operand_size `}`"


class ResourceReleaseOp(Op, name="stream.resource.release"):
    """Gives up a share in a resource's life; true if it was the last one.

    %last = stream.resource.release %r : !stream.resource<external>{%size}
    """

    operand: Operand[AnyResource]
    operand_size: Operand[index]
    result: Result[i1]
    format = "$operand attr-dict `:` type($operand) `` `{` $operand_size `}`"

    def result_names(self) -> list[str]:
        return ["was_terminal"]


class ResourceIsTerminalOp(Op, name="stream.resource.is_terminal"):
    """Whether nothing else holds a resource.

    %last = stream.resource.is_terminal %r : !stream.resource<external>{%size}
    """

    operand: Operand[AnyResource]
    operand_size: Operand[index]
    result: Result[i1]
    format = "$operand attr-dict `:` type($operand) `` `{` $operand_size `}`"

    def result_names(self) -> list[str]:
        return ["is_terminal"]


class ResourceSizeOp(Op, name="stream.resource.size"):
    """The size of a resource in bytes.

    %size = stream.resource.size %r : !stream.resource<*>
    """

    operand: Operand[AnyResource]
    affinity: OptionalAttr[Attribute]
    result: Result[index]
    traits = (Pure,)
    format = f"{_ON}$operand attr-dict `:` type($operand)"


class ResourceTryMapOp(Op, name="stream.resource.try_map"):
    """Makes a resource of constant data in place, if the device can read it there.

    %ok, %r = stream.resource.try_map %data[%offset] : !util.buffer -> i1, !stream.resource<constant>{%size}
    """

    source: Operand[BufferType]
    source_offset: Operand[index]
    result_size: Operand[index]
    affinity: OptionalAttr[Attribute]
    did_map: Result[i1]
    result_: Result[AnyResource]
    traits = (MemoryAlloc,)
    format = (
        f"{_ON}$source `[` $source_offset `]` `:` type($source) `->` type($did_map) `,` "
        "type($result) `` `{` $result_size `}` attr-dict-with-keyword"
    )

    def result_names(self) -> list[str]:
        return ["did_map", "result"]


class ResourceLoadOp(Op, name="stream.resource.load"):
    """Reads one number on the host.

    %v = stream.resource.load %staging[%offset] : !stream.resource<staging>{%size} -> i32
    """

    source: Operand[StagingResource]
    source_size: Operand[index]
    source_offset: Operand[index]
    result: Result[Primitive]
    format = (
        "$source `[` $source_offset `]` `:` type($source) `` `{` $source_size `}` `->` type($result) "
        "attr-dict-with-keyword"
    )


class ResourceStoreOp(Op, name="stream.resource.store"):
    """Writes one number on the host.

    stream.resource.store %v, %staging[%offset] : i32 -> !stream.resource<staging>{%size}
    """

    target: Operand[StagingResource]
    target_size: Operand[index]
    target_offset: Operand[index]
    value: Operand[Primitive]
    traits = (MemoryWrite,)
    format = (
        "$value `,` $target `[` $target_offset `]` `:` type($value) `->` type($target) `` `{` $target_size `}` "
        "attr-dict-with-keyword"
    )


class ResourcePackOp(Op, name="stream.resource.pack"):
    """Lays out slices by the intervals in which each is alive; those that never meet may share memory.

    %total, %a, %b = stream.resource.pack slices({ [0, 2] = %size_a, [1, 3] = %size_b }) : index
    """

    offset: OptionalOperand[index]
    dynamic_slice_sizes: Variadic[index]
    lifetime_intervals: Attr[ArrayAttr]
    affinity: OptionalAttr[Attribute]
    total_length: Result[index]
    packed_offsets: Results[index]
    traits = (Pure,)
    format = (
        f"{_ON}(`offset` `(` $offset^ `)`)? `slices` `(` `{{` "
        "custom<PackSliceRanges>($lifetime_intervals, $dynamic_slice_sizes, type($packed_offsets)) `}` `)` "
        "`:` type($total_length) attr-dict-with-keyword"
    )

    @property
    def intervals(self) -> list[tuple[int, int]]:
        """For each slice the first and the last moment at which it is alive."""
        bounds = [b.value for b in self.lifetime_intervals]
        return list(zip(bounds[::2], bounds[1::2]))

    def verify_(self) -> None:
        if len(self.lifetime_intervals) != 2 * len(self.dynamic_slice_sizes):
            raise self.error("needs an interval for each slice")
        if len(self.packed_offsets) != len(self.dynamic_slice_sizes):
            raise self.error("needs a result for each slice")


class ResourceConstantsOp(Op, name="stream.resource.constants"):
    """Uploads constants, each to a resource; they may be used from the timepoint on.

    %0:2, %t = stream.resource.constants : !stream.resource<constant>{%s} = dense<1> : tensor<4xi32>, …
        => !stream.timepoint
    """

    result_sizes: Variadic[index]
    values: Attr[ArrayAttr]
    affinity: OptionalAttr[Attribute]
    results_: Results[AnyResource]
    result_timepoint: Result[TimepointType]
    format = (
        f"{_ON}attr-dict `:` custom<ConstantValueList>(type($results), $result_sizes, $values) "
        "`=` `` `>` type($result_timepoint)"
    )

    def result_names(self) -> list[str]:
        return ["results", *[""] * (len(self.results) - 2), "result_timepoint"]


class ResourceSubviewOp(Op, name="stream.resource.subview"):
    """A range of a resource, without a copy.

    %v = stream.resource.subview %r[%offset] : !stream.resource<*>{%size} -> !stream.resource<*>{%length}
    """

    source: Operand[AnyResource]
    source_size: Operand[index]
    source_offset: Operand[index]
    result_size: Operand[index]
    result: Result[AnyResource]
    traits = (Pure,)
    format = (
        "$source `[` $source_offset `]` `:` type($source) `` `{` $source_size `}` `->` "
        "type($result) `` `{` $result_size `}` attr-dict-with-keyword"
    )

    def infer_types(self) -> list[Type]:
        return [self.source.type]

    @property
    def tied_operand(self) -> Value:
        """The resource that the result is a part of."""
        return self.source


class ResourceTransientsOp(Op, name="stream.resource.transients"):
    """Says that the transients behind a resource live in the given storage.

    %r1, %t1 = stream.resource.transients await(%t) => %r : !stream.resource<*>{%s}
        from %storage : !stream.resource<transient>{%l} => !stream.timepoint
    """

    resource: Operand[AnyResource]
    resource_size: Operand[index]
    storage: Operand[AnyResource]
    storage_size: Operand[index]
    await_timepoint: OptionalOperand[TimepointType]
    affinity: OptionalAttr[Attribute]
    result_: Result[AnyResource]
    result_timepoint: Result[TimepointType]
    format = (
        f"{_ON}{_AWAIT}$resource `:` type($resource) `` `{{` $resource_size `}}` `from` "
        "$storage `:` type($storage) `` `{` $storage_size `}` `=` `` `>` type($result_timepoint) "
        "attr-dict-with-keyword"
    )

    def infer_types(self) -> list[Type]:
        return [self.resource.type, timepoint]

    def result_names(self) -> list[str]:
        return ["result", "result_timepoint"]


class FileConstantOp(Op, name="stream.file.constant"):
    """A file over constant data.

    %file = stream.file.constant %data[%offset for %length] : !util.buffer{%size} -> !stream.file
    """

    source: Operand[BufferType]
    source_size: Operand[index]
    source_offset: Operand[index]
    source_length: Operand[index]
    affinity: OptionalAttr[Attribute]
    result: Result[FileType]
    format = (
        f"{_ON}$source `[` $source_offset `for` $source_length `]` `:` type($source) `` `{{` $source_size `}}` "
        "`->` type($result) attr-dict-with-keyword"
    )

    def result_names(self) -> list[str]:
        return ["file"]


class FileReadOp(Op, name="stream.file.read"):
    """Reads a range of a file into a resource.

    %t = stream.file.read await(%t0) => %f[%fo], %r[%o], %n : !stream.file -> !stream.resource<*>{%s}
        => !stream.timepoint
    """

    source: Operand[FileType]
    source_offset: Operand[i64]
    target: Operand[AnyResource]
    target_size: Operand[index]
    target_offset: Operand[index]
    length: Operand[index]
    await_timepoint: OptionalOperand[TimepointType]
    affinity: OptionalAttr[Attribute]
    result_timepoint: Result[TimepointType]
    format = (
        f"{_ON}(`await` `(` $await_timepoint^ `)` `=` `` `>`):(`:`)? $source `[` $source_offset `]` `,` "
        "$target `[` $target_offset `]` `,` $length `:` type($source) `->` type($target) `` `{` $target_size `}` "
        "`=` `` `>` type($result_timepoint) attr-dict-with-keyword"
    )


class FileWriteOp(Op, name="stream.file.write"):
    """Writes a range of a resource to a file.

    %t = stream.file.write : %r[%o], %f[%fo], %n : !stream.resource<*>{%s} -> !stream.file => !stream.timepoint
    """

    source: Operand[AnyResource]
    source_size: Operand[index]
    source_offset: Operand[index]
    target: Operand[FileType]
    target_offset: Operand[i64]
    length: Operand[index]
    await_timepoint: OptionalOperand[TimepointType]
    affinity: OptionalAttr[Attribute]
    result_timepoint: Result[TimepointType]
    format = (
        f"{_ON}(`await` `(` $await_timepoint^ `)` `=` `` `>`):(`:`)? $source `[` $source_offset `]` `,` "
        "$target `[` $target_offset `]` `,` $length `:` type($source) `` `{` $source_size `}` `->` type($target) "
        "`=` `` `>` type($result_timepoint) attr-dict-with-keyword"
    )


class TimepointImmediateOp(Op, name="stream.timepoint.immediate"):
    """A timepoint that has always been reached.

    %t = stream.timepoint.immediate => !stream.timepoint
    """

    result_timepoint: Result[TimepointType]
    traits = (Pure,)
    format = "attr-dict `=` `` `>` type($result_timepoint)"


class TimepointImportOp(Op, name="stream.timepoint.import"):
    """A timepoint of an outside synchronization object.

    %t = stream.timepoint.import %fence : (!hal.fence) => !stream.timepoint
    """

    operands_: Variadic[AnyType]
    affinity: OptionalAttr[Attribute]
    result_timepoint: Result[TimepointType]
    format = (
        f"{_ON}$operands `:` `(` type($operands) `)` `=` `` `>` type($result_timepoint) attr-dict-with-keyword"
    )


class TimepointExportOp(Op, name="stream.timepoint.export"):
    """An outside synchronization object of a timepoint.

    %fence = stream.timepoint.export %t => (!hal.fence)
    """

    await_timepoint: Operand[TimepointType]
    affinity: OptionalAttr[Attribute]
    results_: Results[AnyType]
    format = f"{_ON}$await_timepoint `=` `` `>` `(` type($results) `)` attr-dict-with-keyword"


class TimepointChainExternalOp(Op, name="stream.timepoint.chain_external"):
    """Signals outside synchronization objects when a timepoint is reached.

    stream.timepoint.chain_external %t => (%fence : !hal.fence)
    """

    await_timepoint: Operand[TimepointType]
    external_values: Variadic[AnyType]
    affinity: OptionalAttr[Attribute]
    format = (
        f"{_ON}$await_timepoint `=` `` `>` `(` $external_values `:` type($external_values) `)` "
        "attr-dict-with-keyword"
    )


class TimepointJoinOp(Op, name="stream.timepoint.join"):
    """The timepoint at which all the given ones are reached.

    %t = stream.timepoint.join max(%t0, %t1) => !stream.timepoint
    """

    await_timepoints: Variadic[TimepointType]
    result_timepoint: Result[TimepointType]
    traits = (Pure,)
    format = "`max` `(` $await_timepoints `)` `=` `` `>` type($result_timepoint) attr-dict-with-keyword"


class TimepointBarrierOp(Op, name="stream.timepoint.barrier"):
    """The timepoint from which a resource's contents are there, with the resource passed through.

    %r1, %t = stream.timepoint.barrier %r : !stream.resource<*>{%size} => !stream.timepoint
    """

    resource: Operand[AnyResource]
    resource_size: Operand[index]
    affinity: OptionalAttr[Attribute]
    result_: Result[AnyResource]
    result_timepoint: Result[TimepointType]
    format = (
        f"{_ON}$resource `:` type($resource) `` `{{` $resource_size `}}` `=` `` `>` type($result_timepoint) "
        "attr-dict-with-keyword"
    )

    def infer_types(self) -> list[Type]:
        return [self.resource.type, timepoint]

    def result_names(self) -> list[str]:
        return ["result", "result_timepoint"]


class TimepointAwaitOp(Op, name="stream.timepoint.await"):
    """Waits for a timepoint; the resources it guards are usable after it.

    %r1 = stream.timepoint.await %t => %r : !stream.resource<external>{%size}
    """

    resource_operands: Variadic[AnyResource]
    resource_operand_sizes: Variadic[index]
    await_timepoint: Operand[TimepointType]
    sync: OptionalUnitAttr
    results_: Results[AnyResource]
    format = (
        "(`sync` $sync^)? $await_timepoint `=` `` `>` $resource_operands `:` "
        "custom<ShapedTypeListWithResults>(type($resource_operands), type($results), $resource_operand_sizes) "
        "attr-dict-with-keyword"
    )

    def infer_types(self) -> list[Type]:
        return [v.type for v in self.resource_operands]
