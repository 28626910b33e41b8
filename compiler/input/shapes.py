"""Ops that move or repeat elements: constants, iota, broadcast, transpose, reshape, slice, pad, concatenate, reverse.

Broadcasts and transposes become views; reshapes become collapse_shape and expand_shape.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pyiree.compiler.input.converter import Converter, converts
from pyiree.compiler.input.emitter import PARALLEL, identity_map, int_array
from pyiree.compiler.input.import_mlir import Shaped
from pyiree.compiler.input.sizes import Size, index_of, is_static, product, type_shape
from pyiree.compiler.input.values import Elements, Iota, Lazy, Tensor, Uniform, View
from pyiree.compiler.ir.attributes import ArrayAttr, Attribute, IntegerAttr
from pyiree.compiler.ir.core import Block, Region, Value
from pyiree.compiler.ir.types import DYNAMIC_INT64, TensorType, i64, index

#: Up to so many integers are the host's own where they are put together: shapes, amounts of padding.
_FEW = 64


@converts("stablehlo.constant")
def _constant(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    return [c.constant(op)]


@converts("stablehlo.iota")
def _iota(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    return [Iota(c.result_shaped(op), op.attributes["iota_dimension"].value)]


@converts("stablehlo.broadcast_in_dim")
def _broadcast_in_dim(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    return [broadcast(c, operands[0], c.result_shaped(op), list(op.attributes["broadcast_dimensions"]), [])]


def broadcast(
    c: Converter, operand: Lazy, result: Shaped, dims: Sequence[int], same: Sequence[int] | None = None
) -> Lazy:
    """Dimension `i` of the operand runs along dimension `dims[i]` of the result, or is 1 and repeated.

    Which of the two holds is decided when the program runs for dynamic dimensions, but for those in `same`, whose
    sizes are equal; all are if it is left out.
    """
    if isinstance(operand, Uniform):
        return Uniform(result, operand.attribute, operand.scalar)
    shape = operand.shaped.shape
    if same is not None:
        unknown = [i for i, d in enumerate(dims) if _may_repeat(shape[i], result.shape[d]) and i not in same]
        if unknown:
            return _broadcast_when_run(c, operand, result, dims, unknown)
    repeated = [i for i, d in enumerate(dims) if shape[i] == 1 and result.shape[d] != 1]
    if isinstance(operand, Iota):
        if operand.dimension in repeated:
            return Uniform(result, scalar=_index_zero(c, operand))
        return Iota(result, dims[operand.dimension])
    if isinstance(operand, View):
        source, source_dims = operand.source, operand.dims
    else:
        source, source_dims = c.tensor(operand), tuple(range(len(shape)))
    # What runs along a repeated dimension has one element there: the source drops that dimension.
    gone = [k for k, d in enumerate(source_dims) if d in repeated]
    if gone:
        kept = [k for k in range(len(source_dims)) if k not in gone]
        source = drop_unit_dims(c, source, gone)
        source_dims = tuple(source_dims[k] for k in kept)
    along = tuple(dims[d] for d in source_dims)
    if along == tuple(range(len(result.shape))):
        return Tensor(result, c.of_type(source, result.type))
    return View(result, source, along)


def _may_repeat(size: int | Size, length: int | Size) -> bool:
    return isinstance(size, Size) and length not in (1, size)


def _broadcast_when_run(
    c: Converter, operand: Lazy, result: Shaped, dims: Sequence[int], unknown: Sequence[int]
) -> Lazy:
    """A broadcast of which dimensions of one element turn out to be such when the program runs."""
    emitter, source, shape = c.emitter, c.tensor(operand), operand.shaped.shape
    one, zero = emitter.integer(1, index), emitter.integer(0, index)
    is_one = {i: emitter.cmpi("eq", shape[i].value, one) for i in unknown}

    def read(arguments: list[Value]) -> list[Value]:
        place = []
        for i, d in enumerate(dims):
            along = zero if shape[i] == 1 else emitter.linalg_index(d)
            place.append(emitter.select(is_one[i], zero, along) if i in is_one else along)
        return [emitter.emit("tensor.extract", (source, *place), (result.element.type,)).results[0]]

    return c.map(result, [], read)


def _index_zero(c: Converter, iota: Iota) -> Value:
    return c.emitter.zero(iota.shaped.element.type)


@converts("stablehlo.transpose")
def _transpose(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    permutation = list(op.attributes["permutation"])
    inverse = [permutation.index(i) for i in range(len(permutation))]
    return [broadcast(c, operands[0], c.result_shaped(op), inverse)]


@converts("stablehlo.reshape")
def _reshape(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    result = c.result_shaped(op)
    if isinstance(operands[0], Uniform):
        return [Uniform(result, operands[0].attribute, operands[0].scalar)]
    return [reshaped(c, operands[0], result)]


def reshaped(c: Converter, operand: Lazy, result: Shaped) -> Lazy:
    """A value that isn't uniform in another shape."""
    source = operand.shaped.shape
    if source == result.shape:
        return operand
    if isinstance(operand, Elements) and result.shape:
        return Elements(result, operand.scalars)
    if isinstance(operand, Elements):
        (only,) = operand.scalars
        return Uniform(result, *((only, None) if isinstance(only, Attribute) else (None, only)))
    value = c.tensor(operand)
    if is_static((*source, *result.shape)):
        return Tensor(result, reshape(c, value, result.shape))
    # Dimensions of one element come and go; what else changes does so by way of a vector.
    long = [d for d, n in enumerate(source) if n != 1]
    sizes = [source[d] for d in long]
    if sizes != [n for n in result.shape if n != 1]:
        value = collapse(c, value, [product(source)], [list(range(len(source)))]) if len(source) != 1 else value
        return Tensor(result, expand(c, value, result.shape, [list(range(len(result.shape)))]))
    if len(long) < len(source):
        value = collapse(c, value, sizes, _groups_with_ones(source))
    if len(long) < len(result.shape):
        value = expand(c, value, result.shape, _groups_with_ones(result.shape))
    return Tensor(result, value)


def _groups_with_ones(shape: Sequence[int | Size]) -> list[list[int]]:
    """Each dimension of more or fewer than one element, with those of one beside it."""
    return _groups_around(len(shape), [d for d, n in enumerate(shape) if n == 1])


def reassociation(source: Sequence[int], target: Sequence[int]) -> list[list[int]] | None:
    """How dimensions of `source` group into those of `target`, which has no more of them; None if they don't.

    Dimensions of one at the end of the source join the last group.
    """
    groups: list[list[int]] = []
    position = 0
    for size in target:
        group: list[int] = []
        product = 1
        while position < len(source) and (not group or product < size):
            product *= source[position]
            group.append(position)
            position += 1
        if product != size or not group:
            return None
        groups.append(group)
    if any(source[p] != 1 for p in range(position, len(source))):
        return None
    if groups:
        groups[-1].extend(range(position, len(source)))
    return groups


def reshape(c: Converter, value: Value, shape: Sequence[int]) -> Value:
    """The same elements in row-major order in another shape."""
    source = value.type.shape  # type: ignore[attr-defined]
    shape = tuple(shape)
    if source == shape:
        return value
    if 0 in shape:
        return c.emitter.empty(TensorType(shape, value.type.element_type))  # type: ignore[attr-defined]
    if len(source) > len(shape) and (groups := reassociation(source, shape)) is not None:
        return collapse(c, value, shape, groups)
    if len(source) < len(shape) and (groups := reassociation(shape, source)) is not None:
        return expand(c, value, shape, groups)
    flat = (math.prod(shape),)
    value = collapse(c, value, flat, [list(range(len(source)))]) if len(source) != 1 else value
    return expand(c, value, shape, [list(range(len(shape)))])


def _groups_attribute(groups: Sequence[Sequence[int]]) -> ArrayAttr:
    return ArrayAttr([ArrayAttr([IntegerAttr(i, i64) for i in group]) for group in groups])


def collapse(c: Converter, value: Value, shape: Sequence[int | Size], groups: Sequence[Sequence[int]]) -> Value:
    """`tensor.collapse_shape`."""
    type = TensorType(type_shape(shape), value.type.element_type)  # type: ignore[attr-defined]
    properties = {"reassociation": _groups_attribute(groups)}
    return c.emitter.emit("tensor.collapse_shape", (value,), (type,), properties).results[0]


def expand(c: Converter, value: Value, shape: Sequence[int | Size], groups: Sequence[Sequence[int]]) -> Value:
    """`tensor.expand_shape`."""
    type = TensorType(type_shape(shape), value.type.element_type)  # type: ignore[attr-defined]
    sizes, static = _split(shape)
    properties = {"reassociation": _groups_attribute(groups), "static_output_shape": int_array(static)}
    return c.emitter.emit("tensor.expand_shape", (value, *sizes), (type,), properties).results[0]


def drop_unit_dims(c: Converter, value: Value, dims: Sequence[int]) -> Value:
    """The tensor without some of its dimensions of one element."""
    lengths = value.type.shape  # type: ignore[attr-defined]
    shape = [n for i, n in enumerate(lengths) if i not in dims]
    if None not in lengths:
        return reshape(c, value, shape)
    type = TensorType(shape, value.type.element_type)  # type: ignore[attr-defined]
    properties = {"reassociation": _groups_attribute(_groups_around(len(lengths), dims))}
    return c.emitter.emit("tensor.collapse_shape", (value,), (type,), properties).results[0]


def _groups_around(rank: int, gone: Sequence[int]) -> list[list[int]]:
    """The dimensions that stay, each with those beside it that go."""
    groups: list[list[int]] = []
    leading: list[int] = []
    for d in range(rank):
        if d not in gone:
            groups.append([*leading, d])
            leading = []
        elif groups:
            groups[-1].append(d)
        else:
            leading.append(d)
    return groups


@converts("stablehlo.slice")
def _slice(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    result = c.result_shaped(op)
    (operand,) = operands
    if isinstance(operand, Uniform):
        return [Uniform(result, operand.attribute, operand.scalar)]
    starts, strides = list(op.attributes["start_indices"]), list(op.attributes["strides"])
    if isinstance(operand, Elements) and len(result.shape) == 1:
        (start,), (stride,), length = starts, strides, result.shape[0]
        return [Elements(result, operand.scalars[start::stride][:length])]
    if isinstance(operand, View):
        # Slicing what is repeated gives less of it: only the dimensions of the source are cut.
        source_shape = operand.source.type.shape  # type: ignore[attr-defined]
        cut = [result.shape[d] for d in operand.dims]
        source = operand.source
        if tuple(cut) != source_shape:
            source = extract_slice(
                c, source, [starts[d] for d in operand.dims], cut, [strides[d] for d in operand.dims]
            )
        return [View(result, source, operand.dims)]
    return [Tensor(result, extract_slice(c, c.tensor(operand), starts, result.shape, strides))]


def extract_slice(
    c: Converter,
    value: Value,
    starts: Sequence[int | Value | Size],
    sizes: Sequence[int | Size],
    strides: Sequence[int | Size],
) -> Value:
    """`tensor.extract_slice` with constant or index offsets."""
    type = TensorType(type_shape(sizes), value.type.element_type)  # type: ignore[attr-defined]
    (offsets, at), (lengths, long), (steps, apart) = (_split(list_) for list_ in (starts, sizes, strides))
    properties = {
        "static_offsets": int_array(at),
        "static_sizes": int_array(long),
        "static_strides": int_array(apart),
    }
    segments = (1, len(offsets), len(lengths), len(steps))
    operands = (value, *offsets, *lengths, *steps)
    op = c.emitter.emit("tensor.extract_slice", operands, (type,), properties, (), segments)
    return op.results[0]


def insert_slice(
    c: Converter,
    value: Value,
    into: Value,
    starts: Sequence[int | Value],
    strides: Sequence[int] | None = None,
    shape: Sequence[int | Size] | None = None,
) -> Value:
    """`tensor.insert_slice` with constant or index offsets; `shape` is that of `value` if its type doesn't say it."""
    (offsets, at) = _split(starts)
    lengths, long = _split(value.type.shape if shape is None else shape)  # type: ignore[attr-defined]
    properties = {
        "static_offsets": int_array(at),
        "static_sizes": int_array(long),
        "static_strides": int_array(strides or [1] * len(long)),
    }
    segments = (1, 1, len(offsets), len(lengths), 0)
    operands = (value, into, *offsets, *lengths)
    op = c.emitter.emit("tensor.insert_slice", operands, (into.type,), properties, (), segments)
    return op.results[0]


def _split(numbers: Sequence[int | Value | Size]) -> tuple[list[Value], list[int]]:
    """SSA numbers, and the static list in which they are marked as dynamic."""
    plain = [n.value if isinstance(n, Size) else n for n in numbers]
    values = [n for n in plain if isinstance(n, Value)]
    return values, [DYNAMIC_INT64 if isinstance(n, Value) else n for n in plain]


@converts("stablehlo.pad")
def _pad(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    operand, padding = operands
    low, high = list(op.attributes["edge_padding_low"]), list(op.attributes["edge_padding_high"])
    interior = list(op.attributes["interior_padding"])
    result = c.result_shaped(op)
    if not any((*low, *high, *interior)):
        return [operand]
    if isinstance(operand, Uniform) and operand.attribute is not None and isinstance(padding, Uniform):
        if operand.attribute is padding.attribute:
            return [Uniform(result, operand.attribute)]
    return [Tensor(result, pad(c, operand, padding, low, high, interior, result))]


def pad(
    c: Converter,
    operand: Lazy,
    padding: Lazy,
    low: Sequence[Any],
    high: Sequence[Any],
    interior: Sequence[Any],
    result: Shaped,
) -> Value:
    """Padding around and between elements, by amounts that are integers or `Size`s; negative ones cut."""
    if _is_looked_up(operand.shaped.shape, padding, low, high, interior):
        return _pad_when_run(c, operand, padding, low, interior, result)
    value = c.tensor(operand)
    shape = operand.shaped.shape
    if 0 in result.shape:
        return c.emitter.empty(result.type, result.sizes)
    if 0 in shape:
        return c.tensor(broadcast(c, padding, result, []))
    # The places of the first and of the last element, cut to what lands inside the result.
    starts, sizes, places, strides = [], [], [], []
    for size, before, behind, between, length in zip(shape, low, high, interior, result.shape):
        if not any((before, behind, between)):
            for found, value_of_dim in zip((starts, sizes, places, strides), (0, size, 0, 1)):
                found.append(value_of_dim)
            continue
        step = between + 1
        first = max(0, -(before // step)) if before < 0 else 0
        last = min(size - 1, (length - 1 - before) // step)
        starts.append(first)
        sizes.append(max(0, last - first + 1))
        places.append(before + first * step)
        strides.append(step)
    if 0 in sizes:
        return c.tensor(broadcast(c, padding, result, []))
    if sizes != list(shape):
        value = extract_slice(c, value, starts, sizes, [1] * len(shape))
    if not any(interior) and isinstance(padding, Uniform):
        untouched = [not any(amounts) for amounts in zip(low, high, interior)]
        ends = zip(untouched, result.shape, places, sizes)
        after = [0 if same else length - place - size for same, length, place, size in ends]
        return _pad_edges(c, value, c.uniform_scalar(padding), places, after, result.type)
    background = c.tensor(broadcast(c, padding, result, []))
    return insert_slice(c, value, background, places, strides)


def _is_looked_up(shape: Sequence[int | Size], padding: Lazy, *amounts: Sequence[int | Size]) -> bool:
    """Whether places can't be told at compile time: amounts are known when the program runs, or sizes are of dims that
    something is added to; or there is no one op that leaves dims of such sizes as they are."""
    if not is_static([n for of_all in amounts for n in of_all]):
        return True
    if is_static(shape):
        return False
    touched = [n for n, *of_dim in zip(shape, *amounts) if any(of_dim)]
    return not is_static(touched) or any(amounts[-1]) or not isinstance(padding, Uniform)


def _pad_when_run(
    c: Converter,
    operand: Lazy,
    padding: Lazy,
    low: Sequence[int | Size],
    interior: Sequence[int | Size],
    result: Shaped,
) -> Value:
    """As `pad`: every element looks where it comes from."""
    emitter, shape, rank = c.emitter, operand.shaped.shape, len(result.shape)
    # A border of padding behind the last element is what all other places read; so there is always one to read.
    wide = Shaped.of([n + 1 for n in shape], result.element)
    value = c.tensor(operand)
    if isinstance(padding, Uniform):
        source = _pad_edges(c, value, c.uniform_scalar(padding), [0] * rank, [1] * rank, wide.type)
    else:
        source = insert_slice(c, value, c.tensor(broadcast(c, padding, wide, [])), [0] * rank, None, shape)
    zero = emitter.integer(0, index)

    def read(arguments: list[Value]) -> list[Value]:
        place = []
        for loop in range(rank):
            behind = index_of(emitter, shape[loop])
            along = emitter.binary("arith.subi", emitter.linalg_index(loop), index_of(emitter, low[loop]))
            step = index_of(emitter, interior[loop] + 1)
            found = emitter.binary("arith.divsi", along, step)
            is_one = emitter.cmpi("eq", emitter.binary("arith.muli", found, step), along)
            is_in = emitter.binary("arith.andi", emitter.cmpi("sge", along, zero), emitter.cmpi("slt", found, behind))
            place.append(emitter.select(emitter.binary("arith.andi", is_one, is_in), found, behind))
        return [emitter.emit("tensor.extract", (source, *place), (result.element.type,)).results[0]]

    return c.tensor(c.map(result, [], read))


def _pad_edges(
    c: Converter, value: Value, scalar: Value, low: Sequence[int], high: Sequence[int], type: TensorType
) -> Value:
    if not any((*low, *high)):
        return value
    block = Block([index] * len(low))
    with c.emitter.inside(block):
        c.emitter.emit("tensor.yield", (scalar,), ())
    properties = {"static_low": int_array(low), "static_high": int_array(high)}
    op = c.emitter.emit("tensor.pad", (value,), (type,), properties, (Region(block),), (1, 0, 0))
    return op.results[0]


@converts("stablehlo.concatenate")
def _concatenate(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    result = c.result_shaped(op)
    dimension = op.attributes["dimension"].value
    if isinstance(operands[0], Uniform) and operands[0].attribute is not None:
        attribute = operands[0].attribute
        if all(isinstance(o, Uniform) and o.attribute is attribute for o in operands):
            return [Uniform(result, attribute)]
    if c.has_sizes and dimension == 0 and result.element.is_integer and _is_small(result.shape):
        parts = [c.elements_of(operand) for operand in operands]
        if None not in parts:
            return [Elements(result, [element for part in parts for element in part])]  # type: ignore[union-attr]
    joined = concatenate(c, [c.tensor(o) for o in operands], dimension, result.type)
    c.parts[joined] = dimension, list(operands)
    return [Tensor(result, joined)]


def _is_small(shape: Sequence[int | Size]) -> bool:
    return is_static(shape) and math.prod(shape) <= _FEW  # type: ignore[arg-type]


def concatenate(c: Converter, values: Sequence[Value], dimension: int, type: TensorType) -> Value:
    """`tensor.concat` of those that have elements."""
    present = [v for v in values if 0 not in v.type.shape]  # type: ignore[attr-defined]
    if not present:
        return c.emitter.empty(type)
    if len(present) == 1:
        return present[0]
    return c.emitter.emit("tensor.concat", present, (type,), {"dim": IntegerAttr(dimension, i64)}).results[0]


@converts("stablehlo.reverse")
def _reverse(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    (operand,) = operands
    dimensions = list(op.attributes["dimensions"])
    if isinstance(operand, Uniform):
        return [operand]
    return [reverse(c, operand, dimensions)]


def reverse(c: Converter, operand: Lazy, dimensions: Sequence[int]) -> Lazy:
    """The elements in the opposite order along some dimensions."""
    emitter, shape = c.emitter, operand.shaped.shape
    rank = len(shape)
    if all(shape[d] in (0, 1) for d in dimensions):
        return operand
    value = c.tensor(operand)

    def read(arguments: list[Value]) -> list[Value]:
        position = []
        for loop in range(rank):
            along = emitter.linalg_index(loop)
            if loop in dimensions:
                along = emitter.binary("arith.subi", index_of(emitter, shape[loop] - 1), along)
            position.append(along)
        element = operand.shaped.element.type
        return [emitter.emit("tensor.extract", (value, *position), (element,)).results[0]]

    outputs = [(emitter.empty(operand.shaped.type, operand.shaped.sizes), identity_map(rank))]
    return Tensor(operand.shaped, emitter.generic([], outputs, (PARALLEL,) * rank, read).results[0])


@converts("stablehlo.optimization_barrier")
def _optimization_barrier(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    # It keeps compilers from moving floating point work across it, which this one never does.
    return operands


@converts("sdy.sharding_constraint")
def _sharding_constraint(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    # Where a value lies, never what it is; there is one device.
    return operands


@converts("stablehlo.get_dimension_size")
def _get_dimension_size(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    result = c.result_shaped(op)
    size = operands[0].shaped.shape[op.attributes["dimension"].value]
    if isinstance(size, Size):
        return [Uniform(result, scalar=c.emitter.cast("arith.index_cast", size.value, result.element.type))]
    return [Uniform(result, IntegerAttr(size, result.element.type))]


@converts("stablehlo.map")
def _map(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    block = op.regions[0].blocks[0]
    return [c.map(c.result_shaped(op), operands, lambda scalars: c.scalar_block(block, scalars))]
