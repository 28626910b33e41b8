"""util → vm: globals, values, lists and host buffers.

Enters: util ops. Leaves: vm ops. Offsets of buffers are in bytes before and in elements after.
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.ir.attributes import SymbolRefAttr
from pyiree.compiler.ir.core import Value
from pyiree.compiler.ir.diagnostics import ConversionError
from pyiree.compiler.ir.types import IntegerType, Type, bit_width, f32, f64, i1, i32, i64
from pyiree.compiler.vm.conversion import Converter, converts
from pyiree.compiler.vm.ops import (
    FAMILY_OPS,
    BufferAllocOp,
    BufferCompareOp,
    BufferCopyOp,
    BufferHashOp,
    BufferLengthOp,
    CallOp,
    CastAnyRefOp,
    CastRefAnyOp,
    ConstRefZeroOp,
    FailOp,
    GlobalAddressOp,
    ListAllocOp,
    ListResizeOp,
    ListSizeOp,
    OptimizationBarrierOp,
    ReturnOp,
)
from pyiree.compiler.vm.types import OpaqueType, is_ref

#: The status of an invocation that comes where it never should.
_INTERNAL = 13


def _suffix(type: Type) -> str:
    return "ref" if is_ref(type) else str(type)


# ------------------------------------------------------------------ functions


@converts("util.return")
def _return(conv: Converter, op: Any) -> None:
    conv.insert(ReturnOp(conv.values(op.operands)))


@converts("util.call")
def _call(conv: Converter, op: Any) -> None:
    name = op.callee.leaf
    callee = conv.functions.get(name)
    if callee is None:
        raise ConversionError(f"'{op.name}' names @{name}, which is no function of the module", op.location)
    conv.called.add(name)
    types = [conv.type(t, op) for t in op.result_types]
    attributes = {k: v for k, v in callee.attributes.items() if k == "nosideeffects"}
    call = conv.insert(
        CallOp(callee=SymbolRefAttr(name), operands=conv.values(op.operands), results=types, attributes=attributes)
    )
    conv.replace(op, *call.results)


@converts("util.unreachable")
def _unreachable(conv: Converter, op: Any) -> None:
    conv.insert(FailOp(conv.constant(_INTERNAL, i32), op.message or "unreachable code was reached"))


@converts("util.status.check_ok")
def _check_ok(conv: Converter, op: Any) -> None:
    status = conv.value(op.status)
    conv.fail_if(status, status, op.message)


# ------------------------------------------------------------------ globals


@converts("util.global.load")
def _global_load(conv: Converter, op: Any) -> None:
    type = conv.type(op.result.type, op)
    load = FAMILY_OPS[f"global.load.{_suffix(type)}"]
    location = conv.builder.location

    def make() -> Any:
        return load(op.global_, value=type, location=location)

    name = op.global_.leaf
    immutable = op.is_immutable or name in conv.constant_globals
    conv.replace(op, conv.load_immutable(name, make) if immutable else conv.insert(make()).value)


@converts("util.global.store")
def _global_store(conv: Converter, op: Any) -> None:
    value = conv.value(op.value)
    conv.insert(FAMILY_OPS[f"global.store.{_suffix(value.type)}"](value, op.global_))


@converts("util.global.address")
def _global_address(conv: Converter, op: Any) -> None:
    conv.replace(op, conv.insert(GlobalAddressOp(op.global_, result=conv.type(op.result.type, op))).result)


@converts("util.global.load.indirect")
def _global_load_indirect(conv: Converter, op: Any) -> None:
    type = conv.type(op.result.type, op)
    load = FAMILY_OPS[f"global.load.indirect.{_suffix(type)}"]
    conv.replace(op, conv.insert(load(conv.value(op.global_), value=type)).value)


@converts("util.global.store.indirect")
def _global_store_indirect(conv: Converter, op: Any) -> None:
    value = conv.value(op.value)
    conv.insert(FAMILY_OPS[f"global.store.indirect.{_suffix(value.type)}"](value, conv.value(op.global_)))


# ------------------------------------------------------------------ values


@converts("util.null")
def _null(conv: Converter, op: Any) -> None:
    type = conv.type(op.result.type, op)
    conv.replace(op, conv.null(type) if is_ref(type) else conv.constant(0, type))


@converts("util.cast")
def _cast(conv: Converter, op: Any) -> None:
    value, type = conv.value(op.operand), conv.type(op.result.type, op)
    if value.type is type:
        conv.replace(op, value)
        return
    widens = isinstance(getattr(type, "object_type", None), OpaqueType)
    cast = CastRefAnyOp if widens else CastAnyRefOp
    conv.replace(op, conv.insert(cast(value, result=type)).result)


@converts("util.cmp.eq", "util.cmp.ne")
def _compare(conv: Converter, op: Any) -> None:
    lhs, rhs = conv.values((op.lhs, op.rhs))
    relation = op.name.rpartition(".")[2]
    if isinstance(lhs.defining_op, ConstRefZeroOp) or isinstance(rhs.defining_op, ConstRefZeroOp):
        other = rhs if isinstance(lhs.defining_op, ConstRefZeroOp) else lhs
        result = conv.emit("cmp.nz.ref", other)
        conv.replace(op, conv.emit("xor.i32", result, conv.constant(1, i32)) if relation == "eq" else result)
        return
    ordered = ".o" if lhs.type in (f32, f64) else ""
    conv.replace(op, conv.emit(f"cmp.{relation}.{_suffix(lhs.type)}{ordered}", lhs, rhs))


@converts("util.range.min", "util.range.max")
def _range(conv: Converter, op: Any) -> None:
    """Of sizes, which are not negative."""
    first, *rest = [conv.unsigned(conv.value(v), v.type) for v in op.operands]
    for value in rest:
        first = conv.emit(f"{op.name.rpartition('.')[2]}.{first.type}.u", first, value)
    conv.replace(op, first)


@converts("util.align")
def _align(conv: Converter, op: Any) -> None:
    """(value + alignment - 1) & -alignment, with a power of two."""
    value, alignment = conv.values((op.value, op.alignment))
    type = value.type
    below = conv.emit(f"sub.{type}", alignment, conv.constant(1, type))
    mask = conv.emit(f"xor.{type}", below, conv.constant(-1, type))
    conv.replace(op, conv.emit(f"and.{type}", conv.emit(f"add.{type}", value, below), mask))


@converts("util.sizeof")
def _size_of(conv: Converter, op: Any) -> None:
    conv.replace(op, conv.constant(_bytes(op.sizedType), i64))


@converts("util.switch")
def _switch(conv: Converter, op: Any) -> None:
    """Indices that do not fit into 32 bits are outside as well."""
    index, default = conv.values((op.index_, op.default_value))
    values = conv.values(op.values)
    within = conv.emit("cmp.lt.i64.u", index, conv.constant(len(values), i64))
    narrow = conv.emit("select.i32", within, conv.to_i32(index), conv.constant(-1, i32))
    switch = FAMILY_OPS[f"switch.{_suffix(default.type)}"]
    conv.replace(op, conv.insert(switch(narrow, default, values)).result)


@converts("util.assume.int")
def _assume(conv: Converter, op: Any) -> None:
    conv.replace(op, *conv.values(op.operands))


@converts("util.optimization_barrier")
def _barrier(conv: Converter, op: Any) -> None:
    conv.replace(op, *conv.insert(OptimizationBarrierOp(conv.values(op.operands))).results)


# ------------------------------------------------------------------ buffers of the host


def _bytes(type: Type) -> int:
    return 8 if type.is_index else (bit_width(type) + 7) // 8


def _element(conv: Converter, op: Any, type: Type) -> str:
    """How buffer ops name a type: narrow floats are bits."""
    size = _bytes(type)
    if type in (f32, f64):
        return str(type)
    if size not in (1, 2, 4, 8):
        raise ConversionError(f"'{op.name}': host buffers cannot hold values of type {type}", op.location)
    return f"i{8 * size}"


def _scaled(conv: Converter, offset: Value, type: Type) -> Value:
    """An offset or length in bytes as one in elements."""
    return conv.emit("div.i64.u", offset, conv.constant(_bytes(type), i64))


@converts("util.buffer.constant")
def _buffer_constant(conv: Converter, op: Any) -> None:
    name = op.name_ or "_const"
    conv.replace(op, conv.data(name, op.value, alignment=op.alignment, mime_type=op.mime_type))


@converts("util.buffer.alloc")
def _buffer_alloc(conv: Converter, op: Any) -> None:
    alignment = conv.constant(op.alignment or 0, i32)
    conv.replace(op, conv.insert(BufferAllocOp(conv.value(op.storage_size), alignment)).result)


@converts("util.buffer.dealloc")
def _buffer_dealloc(conv: Converter, op: Any) -> None:
    """Nothing to do: the buffer goes with its last reference."""


@converts("util.buffer.slice")
def _buffer_slice(conv: Converter, op: Any) -> None:
    source, offset, size = conv.values((op.source, op.source_offset, op.result_size))
    alignment = conv.constant(0 if op.alignment is None else op.alignment.value, i32)
    clone = conv.insert(BufferAllocOp(size, alignment)).result
    conv.insert(BufferCopyOp(source, offset, clone, conv.constant(0, i64), size))
    conv.replace(op, clone)


@converts("util.buffer.size")
def _buffer_size(conv: Converter, op: Any) -> None:
    conv.replace(op, conv.insert(BufferLengthOp(conv.value(op.operand))).result)


@converts("util.buffer.copy")
def _buffer_copy(conv: Converter, op: Any) -> None:
    parts = conv.values((op.source, op.source_offset, op.target, op.target_offset, op.length))
    conv.insert(BufferCopyOp(*parts))


@converts("util.buffer.compare")
def _buffer_compare(conv: Converter, op: Any) -> None:
    parts = conv.values((op.lhs, op.lhs_offset, op.rhs, op.rhs_offset, op.length))
    conv.replace(op, conv.insert(BufferCompareOp(*parts)).result)


@converts("util.buffer.fill")
def _buffer_fill(conv: Converter, op: Any) -> None:
    type = op.pattern.type
    fill = FAMILY_OPS[f"buffer.fill.{_element(conv, op, type)}"]
    pattern, target, offset, length = conv.values((op.pattern, op.target, op.target_offset, op.length))
    conv.insert(fill(target, _scaled(conv, offset, type), _scaled(conv, length, type), pattern))


@converts("util.buffer.load")
def _buffer_load(conv: Converter, op: Any) -> None:
    type = op.result.type
    element = _element(conv, op, type)
    if element in ("i8", "i16"):
        element += ".s" if isinstance(type, IntegerType) and type is not i1 and not type.is_unsigned else ".u"
    load = FAMILY_OPS[f"buffer.load.{element}"]
    offset = _scaled(conv, conv.value(op.source_offset), type)
    value = conv.insert(load(conv.value(op.source), offset)).result
    conv.replace(op, conv.emit("cmp.nz.i32", value) if type is i1 else value)


@converts("util.buffer.store")
def _buffer_store(conv: Converter, op: Any) -> None:
    type = op.source.type
    store = FAMILY_OPS[f"buffer.store.{_element(conv, op, type)}"]
    offset = _scaled(conv, conv.value(op.target_offset), type)
    conv.insert(store(conv.value(op.target), offset, conv.value(op.source)))


@converts("util.buffer.hash")
def _buffer_hash(conv: Converter, op: Any) -> None:
    parts = conv.values((op.source, op.source_offset, op.length))
    conv.replace(op, conv.insert(BufferHashOp(*parts)).result)


# ------------------------------------------------------------------ lists


@converts("util.list.create")
def _list_create(conv: Converter, op: Any) -> None:
    capacity = op.initial_capacity
    size = conv.constant(0, i32) if capacity is None else conv.to_i32(conv.value(capacity))
    conv.replace(op, conv.insert(ListAllocOp(size, result=conv.type(op.result.type, op))).result)


@converts("util.list.size")
def _list_size(conv: Converter, op: Any) -> None:
    size = conv.insert(ListSizeOp(conv.value(op.list))).result
    conv.replace(op, conv.emit("ext.i32.i64.u", size))


@converts("util.list.resize")
def _list_resize(conv: Converter, op: Any) -> None:
    conv.insert(ListResizeOp(conv.value(op.list), conv.to_i32(conv.value(op.new_size))))


@converts("util.list.get")
def _list_get(conv: Converter, op: Any) -> None:
    type = conv.type(op.result.type, op)
    get = FAMILY_OPS[f"list.get.{_suffix(type)}"]
    conv.replace(op, conv.insert(get(conv.value(op.list), conv.to_i32(conv.value(op.index_)), result=type)).result)


@converts("util.list.set")
def _list_set(conv: Converter, op: Any) -> None:
    value = conv.value(op.value)
    list_set = FAMILY_OPS[f"list.set.{_suffix(value.type)}"]
    conv.insert(list_set(conv.value(op.list), conv.to_i32(conv.value(op.index_)), value))

