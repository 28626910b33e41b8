"""Stream ops on tensors: resources that still have a shape and an element type beside them.

The first level of the dialect. `…_encoding` is the tensor type as the program sees it, `…_encoding_dims` its `?`.
"""

from __future__ import annotations

from pyiree.compiler.dialects import assembly as _shared  # noqa: F401  (registers the directives)
from pyiree.compiler.ir.attributes import ArrayAttr, Attribute
from pyiree.compiler.ir.constraints import AnyType
from pyiree.compiler.ir.core import Value
from pyiree.compiler.ir.definition import Op
from pyiree.compiler.ir.fields import (
    Attr,
    Operand,
    OptionalAttr,
    OptionalUnitAttr,
    Result,
    Results,
    TypeProp,
    Variadic,
)
from pyiree.compiler.ir.traits import MemoryAlloc, MemoryRead, Pure
from pyiree.compiler.ir.types import Type, index
from pyiree.compiler.stream import assembly as _assembly  # noqa: F401  (registers the directives)
from pyiree.compiler.stream.types import AnyResource, Primitive, StagingResource

_ON = "(`on` `(` $affinity^ `)`)? "
_SOURCE = "$source_encoding (`` `{` $source_encoding_dims^ `}`)? `in` type($source) `` `{` $source_size `}` "
_RESULT = "$result_encoding (`` `{` $result_encoding_dims^ `}`)? `in` type($result) `` `{` $result_size `}` "
_TARGET = (
    "$target_encoding (`` `{` $target_encoding_dims^ `}`)? `in` custom<ShapedTiedResult>(type($target), $target_size) "
)
_DICT = "attr-dict-with-keyword"


class TensorImportOp(Op, name="stream.tensor.import"):
    """A resource over an outside buffer view.

    %r = stream.tensor.import %view : !hal.buffer_view -> tensor<4xf32> in !stream.resource<external>{%size}
    """

    source: Operand[AnyType]
    result_encoding_dims: Variadic[index]
    result_size: Operand[index]
    result_encoding: TypeProp[Type]
    consume: OptionalUnitAttr
    affinity: OptionalAttr[Attribute]
    result: Result[AnyResource]
    format = f"{_ON}(`consume` $consume^)? $source `:` type($source) `->` {_RESULT}{_DICT}"


class TensorExportOp(Op, name="stream.tensor.export"):
    """A buffer view for the outside over a resource.

    %view = stream.tensor.export %r : tensor<4xf32> in !stream.resource<external>{%size} -> !hal.buffer_view
    """

    source: Operand[AnyResource]
    source_encoding_dims: Variadic[index]
    source_size: Operand[index]
    source_encoding: TypeProp[Type]
    affinity: OptionalAttr[Attribute]
    result: Result[AnyType]
    format = f"{_ON}$source `:` {_SOURCE} `->` type($result) {_DICT}"


class TensorSizeOfOp(Op, name="stream.tensor.sizeof"):
    """The bytes that a tensor takes in memory.

    %size = stream.tensor.sizeof tensor<?x4xf32>{%d} : index
    """

    encoding_dims: Variadic[index]
    encoding: TypeProp[Type]
    affinity: OptionalAttr[Attribute]
    storage_size: Result[index]
    traits = (Pure,)
    format = f"{_ON}$encoding (`` `{{` $encoding_dims^ `}}`)? attr-dict `:` type($storage_size)"


class TensorEmptyOp(Op, name="stream.tensor.empty"):
    """A tensor whose contents don't matter.

    %r = stream.tensor.empty : tensor<4xf32> in !stream.resource<*>{%size}
    """

    result_encoding_dims: Variadic[index]
    result_size: Operand[index]
    result_encoding: TypeProp[Type]
    affinity: OptionalAttr[Attribute]
    result: Result[AnyResource]
    traits = (MemoryAlloc,)
    format = f"{_ON}`:` {_RESULT}{_DICT}"


class TensorConstantOp(Op, name="stream.tensor.constant"):
    """A tensor whose contents are known.

    %r = stream.tensor.constant : tensor<2xi32> in !stream.resource<constant> = dense<[1, 2]> : tensor<2xi32>
    """

    result_encoding_dims: Variadic[index]
    value: Attr[Attribute]
    result_encoding: TypeProp[Type]
    affinity: OptionalAttr[Attribute]
    result: Result[AnyResource]
    traits = (Pure,)
    format = (
        f"{_ON}`:` $result_encoding (`` `{{` $result_encoding_dims^ `}}`)? `in` type($result) `=` $value {_DICT}"
    )

    def result_names(self) -> list[str]:
        return ["cst"]


class TensorSplatOp(Op, name="stream.tensor.splat"):
    """A tensor filled with one number.

    %r = stream.tensor.splat %v : f32 -> tensor<4xf32> in !stream.resource<*>{%size}
    """

    value: Operand[Primitive]
    result_encoding_dims: Variadic[index]
    result_size: Operand[index]
    result_encoding: TypeProp[Type]
    affinity: OptionalAttr[Attribute]
    result: Result[AnyResource]
    traits = (Pure,)
    format = f"{_ON}$value `:` type($value) `->` {_RESULT}{_DICT}"


class TensorCloneOp(Op, name="stream.tensor.clone"):
    """A copy of a tensor.

    %c = stream.tensor.clone %r : tensor<4xf32> in !stream.resource<*>{%s} -> tensor<4xf32> in !stream.resource<*>{%s}
    """

    source: Operand[AnyResource]
    source_encoding_dims: Variadic[index]
    source_size: Operand[index]
    result_encoding_dims: Variadic[index]
    result_size: Operand[index]
    source_encoding: TypeProp[Type]
    result_encoding: TypeProp[Type]
    affinity: OptionalAttr[Attribute]
    result: Result[AnyResource]
    traits = (Pure,)
    format = f"{_ON}$source `:` {_SOURCE} `->` {_RESULT}{_DICT}"


class TensorSliceOp(Op, name="stream.tensor.slice"):
    """A copy of a box of a tensor.

    %s = stream.tensor.slice %r[%i for %n] : tensor<8xf32> in !stream.resource<*>{%a}
        -> tensor<4xf32> in !stream.resource<*>{%b}
    """

    source: Operand[AnyResource]
    source_encoding_dims: Variadic[index]
    source_size: Operand[index]
    start_indices: Variadic[index]
    lengths: Variadic[index]
    result_encoding_dims: Variadic[index]
    result_size: Operand[index]
    source_encoding: TypeProp[Type]
    result_encoding: TypeProp[Type]
    affinity: OptionalAttr[Attribute]
    result: Result[AnyResource]
    traits = (Pure,)
    format = f"{_ON}$source `[` $start_indices `for` $lengths `]` `:` {_SOURCE} `->` {_RESULT}{_DICT}"


class TensorFillOp(Op, name="stream.tensor.fill"):
    """The target with a box of it filled with one number.

    %1 = stream.tensor.fill %v, %0[%i for %n] : f32 -> tensor<8xf32> in %0 as !stream.resource<*>{%size}
    """

    target: Operand[AnyResource]
    target_encoding_dims: Variadic[index]
    target_size: Operand[index]
    start_indices: Variadic[index]
    lengths: Variadic[index]
    value: Operand[Primitive]
    target_encoding: TypeProp[Type]
    affinity: OptionalAttr[Attribute]
    result: Result[AnyResource]
    traits = (Pure,)
    format = (
        f"{_ON}$value `,` $target (`[` $start_indices `for` $lengths^ `]`)? `:` type($value) `->` {_TARGET}{_DICT}"
    )

    def infer_types(self) -> list[Type]:
        return [self.target.type]

    @property
    def tied_operand(self) -> Value:
        """The operand whose storage the result takes over."""
        return self.target


class TensorUpdateOp(Op, name="stream.tensor.update"):
    """The target with a box of it replaced by another tensor.

    %1 = stream.tensor.update %u, %0[%i] : tensor<2xf32> in !stream.resource<*>{%b}
        -> tensor<8xf32> in %0 as !stream.resource<*>{%a}
    """

    target: Operand[AnyResource]
    target_encoding_dims: Variadic[index]
    target_size: Operand[index]
    start_indices: Variadic[index]
    update: Operand[AnyResource]
    update_encoding_dims: Variadic[index]
    update_size: Operand[index]
    target_encoding: TypeProp[Type]
    update_encoding: TypeProp[Type]
    affinity: OptionalAttr[Attribute]
    result: Result[AnyResource]
    traits = (Pure,)
    format = (
        f"{_ON}$update `,` $target `[` $start_indices `]` `:` $update_encoding "
        "(`` `{` $update_encoding_dims^ `}`)? `in` type($update) `` `{` $update_size `}` `->` "
        f"{_TARGET}{_DICT}"
    )

    def infer_types(self) -> list[Type]:
        return [self.target.type]

    @property
    def tied_operand(self) -> Value:
        """The operand whose storage the result takes over."""
        return self.target


class TensorLoadOp(Op, name="stream.tensor.load"):
    """Reads one element on the host.

    %v = stream.tensor.load %r[%i] : tensor<4xi32> in !stream.resource<staging>{%size} -> i32
    """

    source: Operand[StagingResource]
    source_encoding_dims: Variadic[index]
    source_size: Operand[index]
    indices: Variadic[index]
    source_encoding: TypeProp[Type]
    result: Result[Primitive]
    traits = (MemoryRead,)
    format = f"$source (`[` $indices^ `]`)? `:` {_SOURCE} `->` type($result) {_DICT}"


class TensorStoreOp(Op, name="stream.tensor.store"):
    """The target with one element written by the host.

    %1 = stream.tensor.store %v, %0[%i] : i32 -> tensor<4xi32> in %0 as !stream.resource<staging>{%size}
    """

    target: Operand[StagingResource]
    target_encoding_dims: Variadic[index]
    target_size: Operand[index]
    indices: Variadic[index]
    value: Operand[Primitive]
    target_encoding: TypeProp[Type]
    result: Result[StagingResource]
    format = f"$value `,` $target (`[` $indices^ `]`)? `:` type($value) `->` {_TARGET}{_DICT}"

    def infer_types(self) -> list[Type]:
        return [self.target.type]

    @property
    def tied_operand(self) -> Value:
        """The operand whose storage the result takes over."""
        return self.target


class TensorDispatchOp(Op, name="stream.tensor.dispatch"):
    """Runs an entry of an executable on tensors and numbers; results may take over operands.

    %1 = stream.tensor.dispatch @exe::@entry[%w](%0, %n) : (tensor<4xf32> in !stream.resource<*>{%s}, index)
        -> tensor<4xf32> in !stream.resource<*>{%s}
    """

    workload: Variadic[index]
    mixed_operands: Variadic[AnyType]
    operand_sizes: Variadic[index]
    operand_encoding_dims: Variadic[index]
    result_sizes: Variadic[index]
    result_encoding_dims: Variadic[index]
    entry_points: Attr[ArrayAttr]
    operand_encodings: Attr[ArrayAttr]
    result_encodings: Attr[ArrayAttr]
    tied_operands: OptionalAttr[ArrayAttr]
    affinity: OptionalAttr[Attribute]
    results_: Results[AnyResource]
    traits = (Pure,)
    format = (
        f"{_ON}custom<DispatchEntryPoints>($entry_points) (`[` $workload^ `]`)? `` `(` $mixed_operands `)` "
        "attr-dict `:` custom<EncodedShapedFunctionType>(ref($mixed_operands), type($mixed_operands), "
        "$operand_sizes, $operand_encodings, $operand_encoding_dims, type($results), $result_sizes, "
        "$result_encodings, $result_encoding_dims, $tied_operands)"
    )
