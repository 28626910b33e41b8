"""Ops of random programs that move elements. Each function adds an op to a scope."""

import math
from dataclasses import replace

import numpy as np

from . import element_types as et
from .program import MAX_ELEMENTS, Value

LIMIT = 4 * MAX_ELEMENTS


def numbers(values):
    """An attribute of i64 numbers."""
    values = list(values)
    return f"array<i64: {', '.join(map(str, values))}>" if values else "array<i64>"


def _factors(c, count):
    """A random shape of so many elements."""
    if count == 0:
        return (0, *([3] if c.chance(50) else []))
    shape, left = [], count
    for prime in (2, 3, 5, 7, 11, 13, 17, 31, 67):
        while left % prime == 0 and c.chance(40):
            shape.append(prime)
            left //= prime
    shape = c.order([*shape, left] if left > 1 or not shape else shape)
    while c.chance(25) and len(shape) < 6:
        shape.insert(c.integer(0, len(shape)), 1)
    return tuple(shape)


def reshape(s):
    x = s.any()
    shape = () if x.size == 1 and s.choices.chance(40) else _factors(s.choices, x.size)
    s.emit("reshape", [x], x.element, shape)


def transpose(s):
    x = s.any(accept=lambda v: len(v.shape) > 1)
    if x is None:
        return
    order = s.choices.order(range(len(x.shape)))
    s.emit("transpose", [x], x.element, [x.shape[d] for d in order], f" {{permutation = {numbers(order)}}}")


def broadcast_in_dim(s):
    c = s.choices
    x = s.any()
    shape, dims = [], []
    for dim in range(len(x.shape)):
        while c.chance(25) and len(shape) < 6:
            shape.append(c.pick((2, 1, 3, 5, 0, 17)))
        dims.append(len(shape))
        shape.append(c.pick((1, 2, 7, 33)) if x.shape[dim] == 1 else x.shape[dim])
    while c.chance(30):
        shape.append(c.pick((2, 1, 4, 5, 19)))
    if len(x.shape) > 1 and c.chance(25):
        order = c.order(range(len(shape)))  # dims in any order
        shape, dims = [shape[d] for d in order], [order.index(d) for d in dims]
    if math.prod(shape) <= LIMIT:
        s.emit("broadcast_in_dim", [x], x.element, shape, f" {{broadcast_dimensions = {numbers(dims)}}}")


def slice(s):
    c = s.choices
    x = s.any(accept=lambda v: v.shape)
    if x is None:
        return
    starts, limits, strides, shape = _bounds(c, x.shape)
    s.emit("slice", [x], x.element, shape, _slice_attributes(starts, limits, strides))


def _bounds(c, shape):
    """Starts, limits and strides of a slice, and its shape."""
    starts, limits, strides = [], [], []
    for n in shape:
        starts.append(c.integer(0, n))
        limits.append(c.integer(starts[-1], n) if c.chance(60) else n)
        strides.append(c.pick((1, 1, 2, 3, 7)))
    return starts, limits, strides, [max(0, -(-(b - a) // d)) for a, b, d in zip(starts, limits, strides)]


def _slice_attributes(starts, limits, strides):
    return (
        f" {{start_indices = {numbers(starts)}, limit_indices = {numbers(limits)}, strides = {numbers(strides)}}}"
    )


def pad(s):
    c = s.choices
    x = s.any(accept=lambda v: v.shape)
    if x is None:
        return
    low, high, interior, shape = [], [], [], []
    for n in x.shape:
        low.append(c.integer(-3, 4) if c.chance(60) else 0)
        high.append(c.integer(-3, 4) if c.chance(60) else 0)
        interior.append(c.pick((0, 0, 1, 2)))
        size = low[-1] + high[-1] + n + max(0, n - 1) * interior[-1]
        if size < 0:
            high[-1] -= size
            size = 0
        shape.append(size)
    if math.prod(shape) > LIMIT:
        return
    s.emit("pad", [x, s.of(x.element, ())], x.element, shape,
           f" {{edge_padding_low = {numbers(low)}, edge_padding_high = {numbers(high)}, "
           f"interior_padding = {numbers(interior)}}}")  # fmt: skip


def concatenate(s):
    c = s.choices
    x = s.any(accept=lambda v: v.shape)
    if x is None:
        return
    dim = c.integer(0, len(x.shape) - 1)
    parts = [x]
    for _ in range(c.integer(0, 3)):
        def fits(v):
            return v.element == x.element and len(v.shape) == len(x.shape) and all(
                a == b for i, (a, b) in enumerate(zip(v.shape, x.shape)) if i != dim)  # fmt: skip

        found = s.find(fits) if c.chance(70) else None
        if found is None:
            shape = list(x.shape)
            shape[dim] = c.pick((1, 2, 5, 0))
            found = s.of(x.element, shape)
        parts.append(found)
    shape = list(x.shape)
    shape[dim] = sum(p.shape[dim] for p in parts)
    if math.prod(shape) <= LIMIT:
        s.emit("concatenate", c.order(parts), x.element, shape, f" {{dimension = {dim} : i64}}")


def reverse(s):
    x = s.any(accept=lambda v: v.shape)
    if x is None:
        return
    s.emit("reverse", [x], x.element, x.shape, f" {{dimensions = {numbers(s.choices.subset(range(len(x.shape))))}}}")


def iota(s):
    c = s.choices
    shape = c.shape()
    if shape:
        element = c.element((*et.INTEGERS, *et.FLOATS, *et.COMPLEX))
        s.emit("iota", [], element, shape, f" {{iota_dimension = {c.integer(0, len(shape) - 1)} : i64}}")


def _starts(s, count):
    # The interpreter takes large unsigned indices for negative ones.
    element = s.choices.pick(("i32", "i64", "ui32", "ui8", "i8"))
    c, signed = s.choices, element in et.SIGNED
    return [s.of(element, ()) if signed and c.chance(60) else s.scalar(element, c.integer(0, 9)) for _ in range(count)]


def dynamic_slice(s):
    x = s.any(accept=lambda v: v.shape)
    if x is None:
        return
    sizes = [s.choices.integer(0, n) for n in x.shape]
    s.emit("dynamic_slice", [x, *_starts(s, len(sizes))], x.element, sizes, f" {{slice_sizes = {numbers(sizes)}}}")


def dynamic_update_slice(s):
    x = s.any(accept=lambda v: v.shape)
    if x is None:
        return
    update = s.find(lambda v: v.element == x.element and len(v.shape) == len(x.shape)
                    and all(a <= b for a, b in zip(v.shape, x.shape)))  # fmt: skip
    if update is None or s.choices.chance(50):
        update = s.of(x.element, [s.choices.integer(0, n) for n in x.shape])
    s.emit("dynamic_update_slice", [x, update, *_starts(s, len(x.shape))], x.element, x.shape)


def roll(s):
    """A slice of a value written back into it at another place: reads and writes overlap."""
    x = s.any(accept=lambda v: v.shape and v.shape[0] > 2)
    if x is None:
        return
    n = x.shape[0]
    count = s.choices.integer(1, n - 1)
    begin = s.choices.integer(0, n - count)
    rest = list(x.shape[1:])
    part = s.emit("slice", [x], x.element, [count, *rest],
                  f" {{start_indices = {numbers([begin] + [0] * len(rest))}, "
                  f"limit_indices = {numbers([begin + count, *rest])}, "
                  f"strides = {numbers([1] * len(x.shape))}}}")  # fmt: skip
    zero = s.scalar("i32", 0)
    place = s.scalar("i32", s.choices.integer(0, n))
    s.emit("dynamic_update_slice", [x, part, place, *[zero] * len(rest)], x.element, x.shape)


def dynamic(s):
    """Ops whose shape is an operand, here a constant."""
    x = s.any(accept=lambda v: v.shape)
    if x is None:
        return
    c = s.choices
    kind = c.integer(0, 5)

    def index(values):
        return s.constant("i32", (len(values),), np.array(values, np.int32))

    if kind == 0:
        shape = _factors(c, x.size)
        s.emit("dynamic_reshape", [x, index(shape)], x.element, shape)
    elif kind == 1:
        shape = [c.pick((1, 3, 8)) if n == 1 else n for n in x.shape]
        s.emit("dynamic_broadcast_in_dim", [x, index(shape)], x.element, shape,
               f" {{broadcast_dimensions = {numbers(range(len(shape)))}}}")  # fmt: skip
    elif kind == 2:
        shape = c.shape()
        if shape:
            element = c.element((*et.INTEGERS, *et.FLOATS, *et.COMPLEX))
            s.emit("dynamic_iota", [index(shape)], element, shape,
                   f" {{iota_dimension = {c.integer(0, len(shape) - 1)} : i64}}")  # fmt: skip
    elif kind == 3:
        low, high = [c.integer(0, 3) for _ in x.shape], [c.integer(0, 3) for _ in x.shape]
        inner = [c.integer(0, 2) for _ in x.shape]
        shape = [a + b + n + max(0, n - 1) * i for a, b, n, i in zip(low, high, x.shape, inner)]
        if math.prod(shape) <= LIMIT:
            s.emit("dynamic_pad", [x, s.of(x.element, ()), index(low), index(high), index(inner)], x.element, shape)
    elif kind == 4:
        starts, limits, strides, shape = _bounds(c, x.shape)
        made = Value(s.fresh(), x.element, tuple(shape), x.exact)
        given = [x, index(starts), index(limits), index(strides)]
        types = ", ".join(v.type for v in given)
        # The interpreter has only the other op.
        s.add(f'{made.name} = "stablehlo.real_dynamic_slice"({", ".join(v.name for v in given)}) : ({types}) -> '
              f"{made.type}", given, [made],
              f'{made.name} = "stablehlo.slice"({x.name}){_slice_attributes(starts, limits, strides)} : '
              f"({x.type}) -> {made.type}")  # fmt: skip
        s.values.append(made)
    else:
        s.emit("get_dimension_size", [x], "i32", (), f" {{dimension = {c.integer(0, len(x.shape) - 1)} : i64}}")


def packed(s):
    """Values behind a barrier, or taken out of a tuple again."""
    values = [s.any() for _ in range(s.choices.integer(1, 3))]
    types = [v.type for v in values]
    names, pack = ", ".join(v.name for v in values), s.fresh()
    exact = all(v.exact for v in values)  # an error added to one moves no other
    if s.choices.chance(50):
        made = [replace(v, name=f"{pack}#{i}", exact=exact) for i, v in enumerate(values)]
        kinds = ", ".join(types)
        s.add(f'{pack}:{len(made)} = "stablehlo.optimization_barrier"({names}) : ({kinds}) -> ({kinds})', values, made)
    else:
        place = s.choices.integer(0, len(values) - 1)
        made = [replace(values[place], name=f"{pack}e", exact=exact)]
        kind = f"tuple<{', '.join(types)}>"
        s.add(f'{pack} = "stablehlo.tuple"({names}) : ({", ".join(types)}) -> {kind}\n  {pack}e = '
              f'"stablehlo.get_tuple_element"({pack}) {{index = {place} : i32}} : ({kind}) -> {types[place]}',
              values, made)  # fmt: skip
    s.values.extend(made)


OPS = {
    reshape: 3, transpose: 4, broadcast_in_dim: 5, slice: 5, pad: 4, concatenate: 4, reverse: 2, iota: 1,
    dynamic_slice: 3, dynamic_update_slice: 3, roll: 2, dynamic: 2, packed: 2,
}  # fmt: skip
