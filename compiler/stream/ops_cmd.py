"""Stream ops that a device executes as written: explicit memory, ranges and order.

The last level of the dialect. Commands of an execution region run one after the other, those of a `concurrent`
region in any order; ranges are bytes `[offset for length]`.
"""

from __future__ import annotations

from pyiree.compiler.dialects import assembly as _shared  # noqa: F401  (registers the directives)
from pyiree.compiler.ir.attributes import ArrayAttr, Attribute
from pyiree.compiler.ir.core import Region
from pyiree.compiler.ir.definition import Op
from pyiree.compiler.ir.fields import (
    Attr,
    Operand,
    OptionalAttr,
    OptionalOperand,
    OptionalUnitAttr,
    Result,
    Variadic,
)
from pyiree.compiler.ir.traits import HasParent, ImplicitTerminator, SingleBlock
from pyiree.compiler.ir.types import index
from pyiree.compiler.stream import assembly as _assembly  # noqa: F401  (registers the directives)
from pyiree.compiler.stream.types import AnyResource, Primitive, TimepointType

_TARGET_RANGE = "$target `[` $target_offset `for` $target_length `]` `:` "
_TARGET = "type($target) `` `{` $target_size `}` "
_DICT = "attr-dict-with-keyword"
_REGIONS = ("stream.cmd.execute", "stream.cmd.serial", "stream.cmd.concurrent")


class CmdFlushOp(Op, name="stream.cmd.flush"):
    """Makes what the device wrote to a range visible to others.

    stream.cmd.flush %r[%a for %n] : !stream.resource<staging>{%size}
    """

    target: Operand[AnyResource]
    target_size: Operand[index]
    target_offset: Operand[index]
    target_length: Operand[index]
    source_affinity: OptionalAttr[Attribute]
    format = f"(`to` `(` $source_affinity^ `)`)? {_TARGET_RANGE}{_TARGET}{_DICT}"


class CmdInvalidateOp(Op, name="stream.cmd.invalidate"):
    """Makes what others wrote to a range visible to the device.

    stream.cmd.invalidate %r[%a for %n] : !stream.resource<staging>{%size}
    """

    target: Operand[AnyResource]
    target_size: Operand[index]
    target_offset: Operand[index]
    target_length: Operand[index]
    source_affinity: OptionalAttr[Attribute]
    format = f"(`from` `(` $source_affinity^ `)`)? {_TARGET_RANGE}{_TARGET}{_DICT}"


class CmdDiscardOp(Op, name="stream.cmd.discard"):
    """Says that the contents of a range don't matter any more.

    stream.cmd.discard %r[%a for %n] : !stream.resource<transient>{%size}
    """

    target: Operand[AnyResource]
    target_size: Operand[index]
    target_offset: Operand[index]
    target_length: Operand[index]
    format = f"{_TARGET_RANGE}{_TARGET}{_DICT}"


class CmdFillOp(Op, name="stream.cmd.fill"):
    """Fills a range with a pattern of 1, 2, 4 or 8 bytes.

    stream.cmd.fill %v, %r[%a for %n] : i32 -> !stream.resource<transient>{%size}
    """

    target: Operand[AnyResource]
    target_size: Operand[index]
    target_offset: Operand[index]
    target_length: Operand[index]
    value: Operand[Primitive]
    format = f"$value `,` {_TARGET_RANGE}type($value) `->` {_TARGET}{_DICT}"


class CmdCopyOp(Op, name="stream.cmd.copy"):
    """Copies a range between resources.

    stream.cmd.copy %s[%a], %t[%b], %n : !stream.resource<*>{%ss} -> !stream.resource<*>{%ts}
    """

    source: Operand[AnyResource]
    source_size: Operand[index]
    source_offset: Operand[index]
    target: Operand[AnyResource]
    target_size: Operand[index]
    target_offset: Operand[index]
    length: Operand[index]
    format = (
        "$source `[` $source_offset `]` `,` $target `[` $target_offset `]` `,` $length `:` "
        f"type($source) `` `{{` $source_size `}}` `->` {_TARGET}{_DICT}"
    )


class CmdDispatchOp(Op, name="stream.cmd.dispatch"):
    """Runs an entry of an executable on ranges of resources; the numbers come first.

    stream.cmd.dispatch @exe::@entry[%w](%i : i32) {
      ro %0[%a for %n] : !stream.resource<transient>{%size},
      wo %1[%a for %n] : !stream.resource<external>{%size}
    }
    """

    workload: Variadic[index]
    uniform_operands: Variadic[Primitive]
    resources: Variadic[AnyResource]
    resource_sizes: Variadic[index]
    resource_offsets: Variadic[index]
    resource_lengths: Variadic[index]
    entry_points: Attr[ArrayAttr]
    resource_accesses: Attr[ArrayAttr]
    format = (
        "custom<DispatchEntryPoints>($entry_points) (`[` $workload^ `]`)? `` "
        "(`(` $uniform_operands^ `:` type($uniform_operands) `)`)? `{` "
        "custom<DispatchResources>($resources, type($resources), $resource_sizes, $resource_offsets, "
        f"$resource_lengths, $resource_accesses) `}}` {_DICT}"
    )


class CmdExecuteOp(Op, name="stream.cmd.execute"):
    """Commands for one device, run between the awaited timepoint and its own.

    %t = stream.cmd.execute await(%t0) => with(%0 as %a: !stream.resource<transient>{%s}) { … } => !stream.timepoint
    """

    resource_operands: Variadic[AnyResource]
    resource_operand_sizes: Variadic[index]
    await_timepoint: OptionalOperand[TimepointType]
    once: OptionalUnitAttr
    affinity: OptionalAttr[Attribute]
    body: Region
    result_timepoint: Result[TimepointType]
    traits = (SingleBlock, ImplicitTerminator("stream.yield"))
    format = (
        "(`once` $once^)? (`on` `(` $affinity^ `)`)? (`await` `(` $await_timepoint^ `)` `=` `` `>`)? `with` `` "
        "custom<ExplicitResourceRegion>($resource_operands, type($resource_operands), $resource_operand_sizes, "
        f"$body) `=` `` `>` type($result_timepoint) {_DICT}"
    )


class CmdSerialOp(Op, name="stream.cmd.serial"):
    """Commands that run one after the other.

    stream.cmd.serial { … }
    """

    body: Region
    traits = (SingleBlock, ImplicitTerminator("stream.yield"), HasParent(*_REGIONS))
    format = f"$body {_DICT}"


class CmdConcurrentOp(Op, name="stream.cmd.concurrent"):
    """Commands that may run at the same time.

    stream.cmd.concurrent { … }
    """

    body: Region
    traits = (SingleBlock, ImplicitTerminator("stream.yield"), HasParent(*_REGIONS))
    format = f"$body {_DICT}"
