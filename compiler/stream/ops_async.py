"""Stream ops on untyped resources whose order follows from their operands alone.

The second level of the dialect: every value is written once, ranges are bytes `[offset to end for length]`, and a
result that replaces part of a resource is tied to that operand. Ops that make memory are removed when nobody uses it,
but two equal ones are never merged: each may be written over later.
"""

from __future__ import annotations

from pyiree.compiler.dialects import assembly as _shared  # noqa: F401  (registers the directives)
from pyiree.compiler.ir.attributes import ArrayAttr, Attribute
from pyiree.compiler.ir.constraints import AnyType
from pyiree.compiler.ir.core import Region, Value
from pyiree.compiler.ir.definition import Op
from pyiree.compiler.ir.fields import (
    Attr,
    Operand,
    OptionalAttr,
    OptionalOperand,
    Result,
    Results,
    Variadic,
)
from pyiree.compiler.ir.traits import HasParent, MemoryAlloc, MemoryRead, Pure, SingleBlock, Terminator
from pyiree.compiler.ir.types import Type, index
from pyiree.compiler.stream import assembly as _assembly  # noqa: F401  (registers the directives)
from pyiree.compiler.stream.types import AnyResource, Primitive, StagingResource, TimepointType

_ON = "(`on` `(` $affinity^ `)`)? "
_TIED = "custom<ShapedTiedResult>(type($target), $target_size) attr-dict-with-keyword"
_RESULT = "type($result) `` `{` $result_size `}` "
_SOURCE = "type($source) `` `{` $source_size `}` "
_DICT = "attr-dict-with-keyword"


class _TiedToTarget:
    """Ops whose result is their target with a range of it replaced."""

    __slots__ = ()

    def infer_types(self) -> list[Type]:
        return [self.target.type]  # type: ignore[attr-defined]

    @property
    def tied_operand(self) -> Value:
        """The operand whose storage the result takes over."""
        return self.target  # type: ignore[attr-defined]


class AsyncAllocaOp(Op, name="stream.async.alloca"):
    """A resource whose contents don't matter.

    %r = stream.async.alloca : !stream.resource<transient>{%size}
    """

    storage_size: Operand[index]
    affinity: OptionalAttr[Attribute]
    result: Result[AnyResource]
    traits = (MemoryAlloc,)
    format = f"{_ON}attr-dict `:` type($result) `` `{{` $storage_size `}}`"


class AsyncConstantOp(Op, name="stream.async.constant"):
    """A resource whose contents are known.

    %r = stream.async.constant : !stream.resource<constant>{%size} = dense<[1, 2]> : tensor<2xi32>
    """

    await_timepoint: OptionalOperand[TimepointType]
    result_size: Operand[index]
    value: Attr[Attribute]
    affinity: OptionalAttr[Attribute]
    result: Result[AnyResource]
    traits = (Pure,)
    format = f"{_ON}(`await` `(` $await_timepoint^ `)`)? `:` {_RESULT}`=` $value {_DICT}"

    def result_names(self) -> list[str]:
        return ["cst"]


class AsyncSplatOp(Op, name="stream.async.splat"):
    """A resource filled with a pattern of 1, 2, 4 or 8 bytes.

    %r = stream.async.splat %v : i32 -> !stream.resource<*>{%size}
    """

    await_timepoint: OptionalOperand[TimepointType]
    value: Operand[Primitive]
    result_size: Operand[index]
    affinity: OptionalAttr[Attribute]
    result: Result[AnyResource]
    traits = (MemoryAlloc,)
    format = f"{_ON}(`await` `(` $await_timepoint^ `)`)? $value `:` type($value) `->` {_RESULT}{_DICT}"


class AsyncCloneOp(Op, name="stream.async.clone"):
    """A copy of a resource.

    %c = stream.async.clone %r : !stream.resource<*>{%size} -> !stream.resource<*>{%size}
    """

    source: Operand[AnyResource]
    source_size: Operand[index]
    result_size: Operand[index]
    affinity: OptionalAttr[Attribute]
    result: Result[AnyResource]
    traits = (MemoryAlloc,)
    format = f"{_ON}$source `:` {_SOURCE}`->` {_RESULT}{_DICT}"


class AsyncSliceOp(Op, name="stream.async.slice"):
    """A copy of a range of a resource.

    %s = stream.async.slice %r[%a to %b] : !stream.resource<*>{%size} -> !stream.resource<*>{%length}
    """

    source: Operand[AnyResource]
    source_size: Operand[index]
    source_offset: Operand[index]
    source_end: Operand[index]
    result_size: Operand[index]
    affinity: OptionalAttr[Attribute]
    result: Result[AnyResource]
    traits = (MemoryAlloc,)
    format = f"{_ON}$source `[` $source_offset `to` $source_end `]` `:` {_SOURCE}`->` {_RESULT}{_DICT}"


class AsyncFillOp(_TiedToTarget, Op, name="stream.async.fill"):
    """The target with a range filled with a pattern.

    %1 = stream.async.fill %v, %0[%a to %b for %n] : i32 -> %0 as !stream.resource<*>{%size}
    """

    target: Operand[AnyResource]
    target_size: Operand[index]
    target_offset: Operand[index]
    target_end: Operand[index]
    target_length: Operand[index]
    value: Operand[Primitive]
    affinity: OptionalAttr[Attribute]
    result: Result[AnyResource]
    traits = (Pure,)
    format = (
        f"{_ON}$value `,` $target `[` $target_offset `to` $target_end `for` $target_length `]` `:` type($value) "
        f"`->` {_TIED}"
    )


class AsyncUpdateOp(_TiedToTarget, Op, name="stream.async.update"):
    """The target with a range replaced by a whole resource.

    %1 = stream.async.update %u, %0[%a to %b] : !stream.resource<*>{%n} -> %0 as !stream.resource<*>{%size}
    """

    target: Operand[AnyResource]
    target_size: Operand[index]
    target_offset: Operand[index]
    target_end: Operand[index]
    update: Operand[AnyResource]
    update_size: Operand[index]
    affinity: OptionalAttr[Attribute]
    result: Result[AnyResource]
    traits = (Pure,)
    format = (
        f"{_ON}$update `,` $target `[` $target_offset `to` $target_end `]` `:` type($update) "
        f"`` `{{` $update_size `}}` `->` {_TIED}"
    )


class AsyncCopyOp(_TiedToTarget, Op, name="stream.async.copy"):
    """The target with a range replaced by a range of another resource.

    %1 = stream.async.copy %s[%a to %b], %0[%c to %d], %n : !stream.resource<*>{%m} -> %0 as !stream.resource<*>{%size}
    """

    target: Operand[AnyResource]
    target_size: Operand[index]
    target_offset: Operand[index]
    target_end: Operand[index]
    source: Operand[AnyResource]
    source_size: Operand[index]
    source_offset: Operand[index]
    source_end: Operand[index]
    length: Operand[index]
    affinity: OptionalAttr[Attribute]
    result: Result[AnyResource]
    traits = (Pure,)
    format = (
        f"{_ON}$source `[` $source_offset `to` $source_end `]` `,` $target `[` $target_offset `to` $target_end `]` "
        f"`,` $length `:` {_SOURCE}`->` {_TIED}"
    )


class AsyncBarrierOp(Op, name="stream.async.barrier"):
    """The resource itself, as a point where work may not be merged across.

    %1 = stream.async.barrier %0 : !stream.resource<*>{%size}
    """

    source: Operand[AnyResource]
    source_size: Operand[index]
    affinity: OptionalAttr[Attribute]
    result: Result[AnyResource]
    format = f"{_ON}$source `:` {_SOURCE}{_DICT}"

    def infer_types(self) -> list[Type]:
        return [self.source.type]

    @property
    def tied_operand(self) -> Value:
        """The operand whose storage the result is."""
        return self.source


class AsyncTransferOp(Op, name="stream.async.transfer"):
    """The resource on another device, or with another lifetime.

    %1 = stream.async.transfer %0 : !stream.resource<*>{%s} from(#a) -> to(#b) !stream.resource<*>{%s}
    """

    source: Operand[AnyResource]
    source_size: Operand[index]
    result_size: Operand[index]
    affinity: OptionalAttr[Attribute]
    source_affinity: OptionalAttr[Attribute]
    target_affinity: OptionalAttr[Attribute]
    result: Result[AnyResource]
    traits = (MemoryAlloc,)
    format = (
        f"{_ON}$source `:` {_SOURCE}(`from` `(` $source_affinity^ `)`)? `->` (`to` `(` $target_affinity^ `)`)? "
        f"{_RESULT}{_DICT}"
    )


class AsyncCastOp(Op, name="stream.async.cast"):
    """The same resource with another lifetime, without a copy.

    %1 = stream.async.cast %0 : !stream.resource<*>{%s} -> !stream.resource<external>{%s}
    """

    source: Operand[AnyResource]
    source_size: Operand[index]
    result_size: Operand[index]
    affinity: OptionalAttr[Attribute]
    result: Result[AnyResource]
    traits = (Pure,)
    format = f"{_ON}$source `:` {_SOURCE}`->` {_RESULT}{_DICT}"

    @property
    def tied_operand(self) -> Value:
        """The operand whose storage the result is."""
        return self.source


class AsyncLoadOp(Op, name="stream.async.load"):
    """Reads one number on the host.

    %v = stream.async.load %r[%offset] : !stream.resource<staging>{%size} -> i32
    """

    source: Operand[StagingResource]
    source_size: Operand[index]
    source_offset: Operand[index]
    result: Result[Primitive]
    traits = (MemoryRead,)
    format = f"$source `[` $source_offset `]` `:` {_SOURCE}`->` type($result) {_DICT}"


class AsyncStoreOp(_TiedToTarget, Op, name="stream.async.store"):
    """The target with one number written by the host.

    %1 = stream.async.store %v, %0[%offset] : i32 -> %0 as !stream.resource<staging>{%size}
    """

    target: Operand[StagingResource]
    target_size: Operand[index]
    target_offset: Operand[index]
    value: Operand[Primitive]
    result: Result[StagingResource]
    format = f"$value `,` $target `[` $target_offset `]` `:` type($value) `->` {_TIED}"


class AsyncDispatchOp(Op, name="stream.async.dispatch"):
    """Runs an entry of an executable on ranges of resources and numbers; results may take over operands.

    %1 = stream.async.dispatch @exe::@entry[%w](%0[%a to %b for %n], %i) : (!stream.resource<*>{%s}, index)
        -> !stream.resource<*>{%s}
    """

    workload: Variadic[index]
    resource_operands: Variadic[AnyType]
    resource_operand_sizes: Variadic[index]
    resource_operand_offsets: Variadic[index]
    resource_operand_ends: Variadic[index]
    resource_operand_lengths: Variadic[index]
    result_sizes: Variadic[index]
    entry_points: Attr[ArrayAttr]
    tied_operands: OptionalAttr[ArrayAttr]
    affinity: OptionalAttr[Attribute]
    results_: Results[AnyResource]
    traits = (MemoryAlloc,)
    format = (
        f"{_ON}custom<DispatchEntryPoints>($entry_points) (`[` $workload^ `]`)? `` "
        "custom<DispatchOperands>($resource_operands, $resource_operand_offsets, $resource_operand_ends, "
        "$resource_operand_lengths) attr-dict `:` custom<ShapedFunctionType>(ref($resource_operands), "
        "type($resource_operands), $resource_operand_sizes, type($results), $result_sizes, $tied_operands)"
    )


class AsyncExecuteOp(Op, name="stream.async.execute"):
    """A piece of work for one device, done between the awaited timepoint and its own.

    %1, %t = stream.async.execute await(%t0) => with(%0 as %a: !stream.resource<*>{%s}) -> !stream.resource<*>{%s} {
      …
      stream.yield %x : !stream.resource<*>{%s}
    } => !stream.timepoint
    """

    resource_operands: Variadic[AnyResource]
    resource_operand_sizes: Variadic[index]
    result_sizes: Variadic[index]
    await_timepoint: OptionalOperand[TimepointType]
    tied_operands: OptionalAttr[ArrayAttr]
    affinity: OptionalAttr[Attribute]
    body: Region
    results_: Results[AnyResource]
    result_timepoint: Result[TimepointType]
    traits = (SingleBlock,)
    format = (
        f"{_ON}(`await` `(` $await_timepoint^ `)` `=` `` `>`)? `with` `` "
        "custom<ResourceRegion>($resource_operands, type($resource_operands), $resource_operand_sizes, "
        f"type($results), $result_sizes, $tied_operands, $body) `=` `` `>` type($result_timepoint) {_DICT}"
    )

    def result_names(self) -> list[str]:
        names = ["results", *[""] * (len(self.results) - 2)] if len(self.results) > 1 else []
        return [*names, "result_timepoint"]


class AsyncConcurrentOp(Op, name="stream.async.concurrent"):
    """Work inside an execution region whose parts may run at the same time.

    %1:2 = stream.async.concurrent with(%0 as %a: !stream.resource<*>{%s}) -> (…) { … }
    """

    resource_operands: Variadic[AnyResource]
    resource_operand_sizes: Variadic[index]
    result_sizes: Variadic[index]
    tied_operands: OptionalAttr[ArrayAttr]
    affinity: OptionalAttr[Attribute]
    body: Region
    results_: Results[AnyResource]
    traits = (
        SingleBlock,
        HasParent("stream.async.execute", "stream.async.concurrent"),
    )
    format = (
        f"{_ON}`with` `` custom<ResourceRegion>($resource_operands, type($resource_operands), "
        f"$resource_operand_sizes, type($results), $result_sizes, $tied_operands, $body) {_DICT}"
    )


class YieldOp(Op, name="stream.yield"):
    """Ends a region of work; its operands are the region's results.

    stream.yield %0 : !stream.resource<*>{%size}
    """

    resource_operands: Variadic[AnyResource]
    resource_operand_sizes: Variadic[index]
    traits = (Pure, Terminator)
    format = (
        "attr-dict ($resource_operands^ `:` "
        "custom<ShapedTypeList>(type($resource_operands), $resource_operand_sizes))?"
    )
