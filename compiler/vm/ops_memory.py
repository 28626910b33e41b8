"""Globals, read-only data, buffers and lists.

Enters: nothing. Leaves: op classes; the families with a row for each type are in `FAMILY_OPS`.

    vm.global.ref private mutable @device : !vm.ref<!hal.device>
    %0 = vm.global.load.ref @device : !vm.ref<!hal.device>
    %1 = vm.buffer.load.i32 %buffer[%offset] : !vm.buffer -> i32
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.dialects import util as _util  # noqa: F401  (registers the directives of symbols and globals)
from pyiree.compiler.dialects.util_types import PtrType
from pyiree.compiler.ir.attributes import Attribute, TypeAttr
from pyiree.compiler.ir.constraints import AnyType
from pyiree.compiler.ir.fields import (
    Attr,
    Operand,
    OptionalAttr,
    OptionalIntProp,
    OptionalStringProp,
    OptionalUnitAttr,
    Result,
    SymbolName,
    SymbolRef,
    TypeProp,
)
from pyiree.compiler.ir.traits import (
    HasParent,
    IsolatedFromAbove,
    MemoryAlloc,
    MemoryRead,
    MemoryWrite,
    Pure,
    Symbol,
)
from pyiree.compiler.ir.types import Type, f32, f64, i32, i64
from pyiree.compiler.vm.ops_base import FAMILY_OPS, AnyBuffer, AnyList, AnyRef, VmOp

_VALUE_TYPES = {"i32": i32, "i64": i64, "f32": f32, "f64": f64}


# ------------------------------------------------------------------ globals


class GlobalOp(VmOp):
    """A variable of the module; a number may have an initial value, a reference starts as null."""

    sym_visibility: OptionalStringProp
    sym_name: SymbolName
    type: TypeProp[Type]
    is_mutable: OptionalUnitAttr
    initial_value: OptionalAttr[Attribute]
    inlining_policy: OptionalAttr[Attribute]
    ordinal: OptionalAttr[Attribute]
    traits = (Symbol, IsolatedFromAbove, HasParent("vm.module"))
    format = (
        "custom<SymbolVisibility>($sym_visibility) (`mutable` $is_mutable^)? $sym_name `` "
        'custom<VmProperties>("inlining_policy", "ordinal", $inlining_policy, $ordinal) attr-dict '
        "custom<TypeOrAttr>($type, $initial_value)"
    )


class GlobalAddressOp(VmOp, name="vm.global.address"):
    """The address of a global for indirect loads and stores: the offset of a number, the ordinal of a reference."""

    global_: SymbolRef
    is_immutable: OptionalUnitAttr
    result: Result[PtrType]
    traits = (Pure,)
    format = "(`immutable` $is_immutable^)? $global attr-dict `:` qualified(type($result))"


class _GlobalLoad(VmOp):
    """The value of a global."""

    global_: SymbolRef
    is_immutable: OptionalUnitAttr
    value: Result[AnyType]
    traits = (MemoryRead,)
    format = "(`immutable` $is_immutable^)? $global attr-dict `:` type($value)"

    def result_names(self) -> list[str]:
        return [self.global_.leaf]


class _GlobalStore(VmOp):
    """Sets a global."""

    value: Operand[AnyType]
    global_: SymbolRef
    traits = (MemoryWrite,)
    format = "$value `,` $global attr-dict `:` type($value)"


class _GlobalLoadIndirect(VmOp):
    """The value of the global at an address."""

    global_: Operand[PtrType]
    is_immutable: OptionalUnitAttr
    value: Result[AnyType]
    traits = (MemoryRead,)
    format = "(`immutable` $is_immutable^)? $global attr-dict `:` qualified(type($global)) `->` type($value)"


class _GlobalStoreIndirect(VmOp):
    """Sets the global at an address."""

    value: Operand[AnyType]
    global_: Operand[PtrType]
    traits = (MemoryWrite,)
    format = "$value `,` $global attr-dict `:` type($value) `->` qualified(type($global))"


for _name, _type in {**_VALUE_TYPES, "ref": AnyRef}.items():
    FAMILY_OPS.add(f"global.{_name}", GlobalOp, {})
    FAMILY_OPS.add(f"global.load.{_name}", _GlobalLoad, {"value": Result[_type]})
    FAMILY_OPS.add(f"global.store.{_name}", _GlobalStore, {"value": Operand[_type]})
    FAMILY_OPS.add(f"global.load.indirect.{_name}", _GlobalLoadIndirect, {"value": Result[_type]})
    FAMILY_OPS.add(f"global.store.indirect.{_name}", _GlobalStoreIndirect, {"value": Operand[_type]})


# ------------------------------------------------------------------ read-only data


class RodataOp(VmOp, name="vm.rodata"):
    """Bytes of the module.

    vm.rodata private @name <alignment = 1> "text"
    """

    sym_visibility: OptionalStringProp
    sym_name: SymbolName
    value: Attr[Attribute]
    alignment: OptionalIntProp[i64]
    mime_type: OptionalStringProp
    ordinal: OptionalAttr[Attribute]
    traits = (Symbol, IsolatedFromAbove, HasParent("vm.module"))
    format = (
        "custom<SymbolVisibility>($sym_visibility) $sym_name `` "
        'custom<VmProperties>("alignment", "mime_type", "ordinal", $alignment, $mime_type, $ordinal) attr-dict $value'
    )


class ConstRefRodataOp(VmOp, name="vm.const.ref.rodata"):
    """A read-only buffer of a segment of data.

    %0 = vm.const.ref.rodata @name : !vm.buffer
    """

    rodata: SymbolRef
    value: Result[AnyBuffer]
    traits = (Pure,)
    format = "$rodata attr-dict `:` type($value)"

    def result_names(self) -> list[str]:
        return [self.rodata.leaf]


class RodataInlineOp(VmOp, name="vm.rodata.inline"):
    """Data where it is used; hoisted to `vm.rodata` before it is given an ordinal.

    %0 = vm.rodata.inline "name" : !vm.buffer = dense<1> : tensor<4xi32>
    """

    name_: OptionalStringProp
    value: Attr[Attribute]
    alignment: OptionalIntProp[i64]
    mime_type: OptionalStringProp
    result: Result[AnyBuffer]
    traits = (Pure,)
    format = (
        '($name^)? `` custom<VmProperties>("alignment", "mime_type", $alignment, $mime_type) attr-dict '
        "`:` type($result) `=` $value"
    )


# ------------------------------------------------------------------ buffers: offsets and lengths in bytes


class BufferAllocOp(VmOp, name="vm.buffer.alloc"):
    """A new buffer of zeros."""

    length: Operand[i64]
    alignment: Operand[i32]
    result: Result[AnyBuffer]
    traits = (MemoryAlloc,)
    format = "operands attr-dict `:` type($result)"


class BufferCloneOp(VmOp, name="vm.buffer.clone"):
    """A copy of a range."""

    source_buffer: Operand[AnyBuffer]
    source_offset: Operand[i64]
    length: Operand[i64]
    alignment: Operand[i32]
    result: Result[AnyBuffer]
    traits = (MemoryAlloc, MemoryRead)
    format = "operands attr-dict `:` type($source_buffer) `->` type($result)"


class BufferLengthOp(VmOp, name="vm.buffer.length"):
    """The bytes of a buffer."""

    buffer: Operand[AnyBuffer]
    result: Result[i64]
    traits = (MemoryRead,)
    format = "operands attr-dict `:` type($buffer) `->` type($result)"


class BufferCopyOp(VmOp, name="vm.buffer.copy"):
    """Copies a range of one buffer into another."""

    source_buffer: Operand[AnyBuffer]
    source_offset: Operand[i64]
    target_buffer: Operand[AnyBuffer]
    target_offset: Operand[i64]
    length: Operand[i64]
    traits = (MemoryRead, MemoryWrite)
    format = "operands attr-dict `:` type($source_buffer) `->` type($target_buffer)"


class BufferCompareOp(VmOp, name="vm.buffer.compare"):
    """1 if two ranges hold the same bytes, else 0."""

    lhs_buffer: Operand[AnyBuffer]
    lhs_offset: Operand[i64]
    rhs_buffer: Operand[AnyBuffer]
    rhs_offset: Operand[i64]
    length: Operand[i64]
    result: Result[i32]
    traits = (MemoryRead,)
    format = "operands attr-dict `:` type($lhs_buffer) `,` type($rhs_buffer)"


class BufferHashOp(VmOp, name="vm.buffer.hash"):
    """A hash of a range (SipHash-2-4)."""

    source_buffer: Operand[AnyBuffer]
    source_offset: Operand[i64]
    length: Operand[i64]
    result: Result[i64]
    traits = (MemoryRead,)
    format = "$source_buffer `,` $source_offset `,` $length attr-dict `:` type($source_buffer) `->` type($result)"


class _BufferFill(VmOp):
    """Repeats an element; offset and length count elements."""

    target_buffer: Operand[AnyBuffer]
    target_offset: Operand[i64]
    length: Operand[i64]
    value: Operand[AnyType]
    traits = (MemoryWrite,)
    format = (
        "$target_buffer `,` $target_offset `,` $length `,` $value attr-dict `:` type($value) `->` type($target_buffer)"
    )


class _BufferLoad(VmOp):
    """An element; the offset counts elements."""

    source_buffer: Operand[AnyBuffer]
    source_offset: Operand[i64]
    result: Result[AnyType]
    traits = (MemoryRead,)
    format = "$source_buffer `[` $source_offset `]` attr-dict `:` type($source_buffer) `->` type($result)"


class _BufferStore(VmOp):
    """Sets an element; the offset counts elements."""

    target_buffer: Operand[AnyBuffer]
    target_offset: Operand[i64]
    value: Operand[AnyType]
    traits = (MemoryWrite,)
    format = "$value `,` $target_buffer `[` $target_offset `]` attr-dict `:` type($value) `->` type($target_buffer)"


for _name, _type in {"i8": i32, "i16": i32, **_VALUE_TYPES}.items():
    FAMILY_OPS.add(f"buffer.fill.{_name}", _BufferFill, {"value": Operand[_type]})
    FAMILY_OPS.add(f"buffer.store.{_name}", _BufferStore, {"value": Operand[_type]})
for _name, _type in {"i8.u": i32, "i8.s": i32, "i16.u": i32, "i16.s": i32, **_VALUE_TYPES}.items():
    FAMILY_OPS.add(f"buffer.load.{_name}", _BufferLoad, {"result": Result[_type]})


# ------------------------------------------------------------------ lists


class ListAllocOp(VmOp, name="vm.list.alloc"):
    """A new empty list with room for some elements."""

    initial_capacity: Operand[i32]
    result: Result[AnyList]
    traits = (MemoryAlloc,)
    format = "operands attr-dict `:` `(` type($initial_capacity) `)` `->` type($result)"


class ListReserveOp(VmOp, name="vm.list.reserve"):
    """Makes room."""

    list: Operand[AnyList]
    minimum_capacity: Operand[i32]
    traits = (MemoryWrite,)
    format = "operands attr-dict `:` `(` type($list) `,` type($minimum_capacity) `)`"


class ListSizeOp(VmOp, name="vm.list.size"):
    """How many elements there are."""

    list: Operand[AnyList]
    result: Result[i32]
    traits = (MemoryRead,)
    format = "operands attr-dict `:` `(` type($list) `)` `->` type($result)"


class ListResizeOp(VmOp, name="vm.list.resize"):
    """Makes a list longer (by zeros) or shorter."""

    list: Operand[AnyList]
    new_size: Operand[i32]
    traits = (MemoryWrite,)
    format = "operands attr-dict `:` `(` type($list) `,` type($new_size) `)`"


class _ListGet(VmOp):
    """An element."""

    list: Operand[AnyList]
    index_: Operand[i32]
    result: Result[AnyType]
    traits = (MemoryRead,)
    format = "operands attr-dict `:` `(` type($list) `,` type($index) `)` `->` type($result)"


class _ListSet(VmOp):
    """Replaces an element."""

    list: Operand[AnyList]
    index_: Operand[i32]
    value: Operand[AnyType]
    traits = (MemoryWrite,)
    format = "operands attr-dict `:` `(` type($list) `,` type($index) `,` type($value) `)`"


for _name, _type in {**_VALUE_TYPES, "ref": AnyRef}.items():
    FAMILY_OPS.add(f"list.get.{_name}", _ListGet, {"result": Result[_type]})
    FAMILY_OPS.add(f"list.set.{_name}", _ListSet, {"value": Operand[_type]})


def global_op(
    name: str, type: Type, *, is_mutable: bool, initial_value: Attribute | None = None, location: Any
) -> VmOp:
    """A private global of one of the VM's types."""
    suffix = str(type) if type in _VALUE_TYPES.values() else "ref"
    return FAMILY_OPS[f"global.{suffix}"](
        sym_visibility="private",
        sym_name=name,
        type=TypeAttr(type),
        is_mutable=is_mutable,
        initial_value=initial_value,
        location=location,
    )
