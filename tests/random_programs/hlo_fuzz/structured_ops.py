"""Reductions, windows, sorts and products of random programs. Each function adds an op to a scope."""

import dataclasses
import math

import numpy as np

from . import element_types as et
from . import reducer_bodies
from .element_types import tensor
from .elementwise_ops import comparison
from .program import Value, of_magnitude, of_product, relative
from .shape_ops import LIMIT, numbers

NUMBERS = ("i1", *et.INTEGERS, *et.FLOATS, *et.SMALL_FLOATS, *et.COMPLEX)


def absolute(name, x, suffix):
    """Lines that give the magnitudes of a value, as numbers of its own type."""
    if x.element in et.COMPLEX:
        part = tensor(x.shape, x.element[8:-1])
        return [
            f"{name}{suffix}r = stablehlo.abs {x.name} : ({x.type}) -> {part}",
            f"{name}{suffix} = stablehlo.complex {name}{suffix}r, {name}{suffix}r : {x.type}",
        ]
    return [f"{name}{suffix} = stablehlo.abs {x.name} : {x.type}"]


def _extremes(name, x, init, region, tail):
    """Lines for the products of all factors above one, and of all below: no part of a product is beyond these."""

    def lines(n):
        found = []
        for suffix, kind in (("h", "maximum"), ("l", "minimum")):
            for v, part in ((x, "x"), (init, "i")):
                ones = et.literal(et.np_full(v.shape, 1, v.element), v.element)
                found += [
                    f"{n}{suffix}{part}a = stablehlo.abs {v.name} : {v.type}",
                    f"{n}{suffix}{part}o = stablehlo.constant {ones}",
                    f"{n}{suffix}{part} = stablehlo.{kind} {n}{suffix}{part}a, {n}{suffix}{part}o : {v.type}",
                ]
            found.append(f'{n}{suffix} = "stablehlo.{name}"({n}{suffix}x, {n}{suffix}i) {region}{tail}')
        return found

    return lines


def _windowed(s, name, reducer, inputs, inits, shape, attributes, count):
    """Adds a reduce or a reduce_window with one or more results."""
    c = s.choices
    exact = all(v.exact for v in (*inputs, *inits))
    operands = [*inputs, *inits]
    head = f'"stablehlo.{name}"({", ".join(o.name for o in operands)})'
    types = [tensor(shape, e) for e in reducer.elements]
    tail = f"{attributes} : ({', '.join(o.type for o in operands)}) -> ({', '.join(types)})"
    if len(inputs) == 1:
        error = None
        if reducer.kind == "product":
            (x,), (init,) = inputs, inits
            error = relative(reducer.elements[0], 2.0 + count / 2)
            if x.element not in et.COMPLEX:
                error = of_product(reducer.elements[0], 2.0 + count / 2, _extremes(name, x, init, reducer.region, tail))
        elif reducer.kind == "sum":
            (x,), (init,) = inputs, inits

            def lines(n):
                return [*absolute(n, x, "x"), *absolute(n, init, "i"),
                        f'{n} = "stablehlo.{name}"({n}x, {n}i) {reducer.region}{tail}']  # fmt: skip

            error = of_magnitude(lines, reducer.elements[0])
        s.emit(name, operands, reducer.elements[0], shape, attributes, error=error, region=reducer.region)
        return
    pack = s.fresh()
    results = [Value(f"{pack}#{i}", e, tuple(shape), exact) for i, e in enumerate(reducer.elements)]
    s.add(f"{pack}:{len(results)} = {head} {reducer.region}{tail}", operands, results)
    kept = results if c.chance(60) else [c.pick(results)]
    s.values.extend(kept)


def _operands(s, x, reducer):
    inputs = [x] + [s.of(e, x.shape) for e in reducer.elements[1:]]
    inits = []
    for element, number in zip(reducer.elements, reducer.inits):
        if number is None:
            neutral = s.choices.chance(40)
            inits.append(s.scalar(element, 0) if neutral else s.of(element, ()))
        else:
            low = et.numpy_dtype(element)
            if isinstance(number, float) and element in ("f8E4M3FN", "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E4M3B11FNUZ"):
                number = math.copysign(float(et.ml_dtypes.finfo(low).max), number)
            inits.append(s.scalar(element, number))
    return inputs, inits


def reduce(s):
    c = s.choices
    x = s.any(NUMBERS)
    reducer = reducer_bodies.draw(c, x.element, ordered=True)
    inputs, inits = _operands(s, x, reducer)
    dims = c.subset(range(len(x.shape))) if c.chance(50) else ([c.pick(range(len(x.shape)))] if x.shape else [])
    shape = [n for d, n in enumerate(x.shape) if d not in dims]
    if c.chance(20):
        dims = c.order(dims)
    _windowed(s, "reduce", reducer, inputs, inits, shape, f" {{dimensions = {numbers(dims)}}}",
              math.prod([x.shape[d] for d in dims]))  # fmt: skip


def _window(c, shape, largest=40):
    """Window attributes for a shape, and the result's shape; None if it would be too large."""
    size, stride, base, dilation, pads, result, cells = [], [], [], [], [], [], 1
    for n in shape:
        window = c.pick((1, 1, 2, 3, 4)) if c.chance(90) else max(1, min(n, 20))
        if cells * window > largest:
            window = 1
        cells *= window
        size.append(window)
        stride.append(c.pick((1, 1, 2, 3)))
        base.append(c.pick((1, 1, 1, 2, 3)))
        dilation.append(c.pick((1, 1, 1, 2, 3)))
        low = c.integer(-1, 3) if c.chance(40) else 0
        high = c.integer(-1, 3) if c.chance(40) else 0
        spread = 0 if n == 0 else (n - 1) * base[-1] + 1
        if spread + low + high < 0:
            low, high = 0, 0
        pads.append((low, high))
        padded, reach = spread + low + high, (window - 1) * dilation[-1] + 1
        result.append(0 if padded == 0 or reach > padded else (padded - reach) // stride[-1] + 1)
    if math.prod(result) * cells > 6 * LIMIT:
        return None
    return size, stride, base, dilation, pads, result, cells


def _pads(pads):
    if not pads:
        return "dense<> : tensor<0x2xi64>"
    return f"dense<{[list(p) for p in pads]}> : tensor<{len(pads)}x2xi64>"


def reduce_window(s):
    c = s.choices
    x = s.any(NUMBERS, accept=lambda v: v.shape)
    if x is None:
        return
    found = _window(c, x.shape)
    if found is None:
        return
    size, stride, base, dilation, pads, shape, cells = found
    reducer = reducer_bodies.draw(c, x.element)
    inputs, inits = _operands(s, x, reducer)
    attributes = (
        f" {{window_dimensions = {numbers(size)}, window_strides = {numbers(stride)}, "
        f"base_dilations = {numbers(base)}, window_dilations = {numbers(dilation)}, padding = {_pads(pads)}}}"
    )
    _windowed(s, "reduce_window", reducer, inputs, inits, shape, attributes, cells)


def running(s):
    """A scan: a window as long as the dim, padded on one side."""
    c = s.choices
    x = s.any(NUMBERS, accept=lambda v: v.shape and v.size)
    if x is None:
        return
    dim = c.integer(0, len(x.shape) - 1)
    n = x.shape[dim]
    size = [n if d == dim else 1 for d in range(len(x.shape))]
    side = (n - 1, 0) if c.chance(60) else (0, n - 1)
    pads = [side if d == dim else (0, 0) for d in range(len(x.shape))]
    reducer = reducer_bodies.single(x.element, c.pick(reducer_bodies.names_for(x.element)))
    inputs, inits = _operands(s, x, reducer)
    attributes = f" {{window_dimensions = {numbers(size)}, padding = {_pads(pads)}}}"
    _windowed(s, "reduce_window", reducer, inputs, inits, x.shape, attributes, n)


def select_and_scatter(s):
    c = s.choices
    x = s.any((*et.INTEGERS, "f32", "f64"), accept=lambda v: v.shape and v.size)
    if x is None:
        return
    size, stride, pads, shape = [], [], [], []
    for n in x.shape:
        window = c.pick((1, 2, 3))
        low, high = c.integer(0, window - 1), c.integer(0, window - 1)
        size.append(window)
        stride.append(c.pick((1, 2, 3)))
        pads.append((low, high))
        padded = n + low + high
        shape.append(0 if window > padded else (padded - window) // stride[-1] + 1)
    source = s.of(x.element, shape)
    # How often the initial value counts is open: it is neutral.
    body, neutral = "add", 0
    if x.element not in et.INTEGERS:
        body, neutral = c.pick((("maximum", -np.inf), ("minimum", np.inf)))
    kind, flag = tensor((), x.element), tensor((), "i1")
    direction = c.pick(("GE", "LE", "GT"))
    select = (
        f"({{\n  ^bb0(%l0: {kind}, %r0: {kind}):\n"
        f'    %b = "stablehlo.compare"(%l0, %r0) {{{comparison(direction, x.element)}}} : ({kind}, {kind}) -> {flag}\n'
        f"    stablehlo.return %b : {flag}\n  }}, "
    )
    regions = select + reducer_bodies.single(x.element, body).region.removeprefix("(")
    attributes = (
        f" {{window_dimensions = {numbers(size)}, window_strides = {numbers(stride)}, padding = {_pads(pads)}}}"
    )
    start = s.scalar(x.element, neutral)
    s.emit("select_and_scatter", [x, source, start], x.element, x.shape, attributes, region=regions)


def sort(s):
    """By one or two keys, each ascending or descending; floats by their bits, since NaN has no order."""
    c = s.choices
    x = s.any(("i1", *et.INTEGERS), accept=lambda v: v.shape)
    if x is None:
        return
    others = [s.of(c.element(), x.shape) for _ in range(c.integer(0, 2))]
    operands = c.order([x, *others])
    keys = [(i, v) for i, v in enumerate(operands) if v.element in ("i1", *et.INTEGERS)]
    keys = c.order(keys)[: c.integer(1, 2)]
    flag = tensor((), "i1")
    lines, last = [], None
    for i, v in reversed(keys):
        kind = tensor((), v.element)
        less = comparison(c.pick(("LT", "GT")), v.element)
        same = comparison("EQ", v.element)
        lines.append(f'%lt{i} = "stablehlo.compare"(%l{i}, %r{i}) {{{less}}} : ({kind}, {kind}) -> {flag}')
        if last is None:
            last = f"%lt{i}"
            continue
        lines.append(f'%eq{i} = "stablehlo.compare"(%l{i}, %r{i}) {{{same}}} : ({kind}, {kind}) -> {flag}')
        lines.append(f"%and{i} = stablehlo.and %eq{i}, {last} : {flag}")
        lines.append(f"%or{i} = stablehlo.or %lt{i}, %and{i} : {flag}")
        last = f"%or{i}"
    given = ", ".join(f"%{side}{i}: {tensor((), v.element)}" for i, v in enumerate(operands) for side in "lr")
    body = "\n    ".join(lines)
    region = f"({{\n  ^bb0({given}):\n    {body}\n    stablehlo.return {last} : {flag}\n  }})"
    stable = "true" if len(operands) > 1 else c.pick(("true", "false"))
    attributes = f" {{dimension = {c.integer(0, len(x.shape) - 1)} : i64, is_stable = {stable}}}"
    if len(operands) == 1:
        s.emit("sort", operands, x.element, x.shape, attributes, region=region)
        return
    pack = s.fresh()
    exact = all(v.exact for v in operands)
    results = [dataclasses.replace(v, name=f"{pack}#{i}", exact=exact) for i, v in enumerate(operands)]
    types = ", ".join(v.type for v in operands)
    names = ", ".join(v.name for v in operands)
    s.add(f'{pack}:{len(results)} = "stablehlo.sort"({names}) {region}{attributes} : ({types}) -> ({types})',
          operands, results)  # fmt: skip
    s.values.extend(results if c.chance(60) else [c.pick(results)])


def _product(s, name, operands, element, shape, attributes, plain=None):
    """A contraction: exact for integers, otherwise its error follows the magnitudes."""
    error = None
    prelude, given, told = plain or ([], operands, attributes)
    x = given[0]
    if element not in ("i1", *et.INTEGERS):
        wide = [dataclasses.replace(v, element=element) for v in given]
        types = f"({', '.join(v.type for v in wide)}) -> {tensor(shape, element)}"

        def lines(n):
            found = []
            for v, w, suffix in zip(given, wide, "xy"):
                inner = v
                if v.element != element:
                    found.append(f"{n}{suffix}w = stablehlo.convert {v.name} : ({v.type}) -> {w.type}")
                    inner = dataclasses.replace(w, name=f"{n}{suffix}w")
                found += absolute(n, inner, suffix)
            product = f'"stablehlo.{name}"({n}x, {n}y){told} : {types}'
            if x.element == "bf16":
                return [*found, f"{n}p = {product}", *_flushed(n, given, wide, product, element, shape)]
            if x.element == element or not et.is_float(x.element):
                return [*found, f"{n} = {product}"]
            # The interpreter rounds products to the type of the factors, whose denormals lie far apart.
            least = 64 * float(et.ml_dtypes.finfo(et.numpy_dtype(x.element)).tiny)
            result = tensor(shape, element)
            return [
                *found,
                f"{n}p = {product}",
                f"{n}k = stablehlo.constant dense<{least:e}> : {result}",
                f"{n} = stablehlo.add {n}p, {n}k : {result}",
            ]

        error = of_magnitude(lines, element, 4.0 * max(1.0, et.epsilon_of(x.element) / et.epsilon_of(element)))
    s.emit(name, operands, element, shape, attributes, error, plain=plain and (prelude, given, told))


def _flushed(n, operands, wide, product, element, shape):
    """Lines that enlarge a magnitude by what changes when factors and products without full precision are zero:
    instructions that multiply bfloat16 in pairs take them for that."""
    found = []
    for v, w, suffix in zip(operands, wide, "xy"):
        name = v.name if v.element == w.element else f"{n}{suffix}w"
        flags = tensor(w.shape, "i1")
        found += [
            f"{n}{suffix}t = stablehlo.constant dense<1.17549435e-38> : {w.type}",
            f"{n}{suffix}z = stablehlo.constant dense<0.0> : {w.type}",
            f"{n}{suffix}b = stablehlo.compare LT, {n}{suffix}, {n}{suffix}t, FLOAT : ({w.type}, {w.type}) -> {flags}",
            f"{n}{suffix}f = stablehlo.select {n}{suffix}b, {n}{suffix}z, {name} : {flags}, {w.type}",
        ]
    raw, result, flags = n.removesuffix("m") + "r", tensor(shape, element), tensor(shape, "i1")
    return [
        *found,
        f"{n}f = {product.replace(f'{n}x,', f'{n}xf,').replace(f'{n}y)', f'{n}yf)')}",
        f"{n}d = stablehlo.subtract {raw}, {n}f : {result}",
        f"{n}i = stablehlo.is_finite {n}d : ({result}) -> {flags}",
        f"{n}o = stablehlo.constant dense<0.0> : {result}",
        f"{n}g = stablehlo.select {n}i, {n}d, {n}o : {flags}, {result}",
        f"{n}a = stablehlo.abs {n}g : {result}",
        f"{n}c = stablehlo.constant dense<1.0e-36> : {result}",
        f"{n}s = stablehlo.add {n}a, {n}c : {result}",
        f"{n}k = stablehlo.constant dense<1.0e+06> : {result}",
        f"{n}l = stablehlo.multiply {n}s, {n}k : {result}",
        f"{n} = stablehlo.add {n}p, {n}l : {result}",
    ]


def dot_general(s):
    c = s.choices
    x = s.any(NUMBERS)
    rank = len(x.shape)
    batch = c.order(c.subset(range(rank)))[: c.pick((0, 0, 1, 2))]
    contract = c.order([d for d in range(rank) if d not in batch])[: c.pick((1, 1, 2, 0))]
    free = [c.pick((1, 2, 3, 5, 17, 0, 33)) for _ in range(c.pick((1, 1, 0, 2)))]
    dims = [("b", d) for d in batch] + [("c", d) for d in contract] + [("f", n) for n in free]
    dims = c.order(dims)
    other = [n if kind == "f" else x.shape[n] for kind, n in dims]
    rest = [x.shape[d] for d in range(rank) if d not in batch and d not in contract]
    left_free = [n for kind, n in dims if kind == "f"]
    shape = [x.shape[d] for d in batch] + rest + left_free
    cells = math.prod(shape) * math.prod(x.shape[d] for d in contract)
    if math.prod(other) > LIMIT or math.prod(shape) > LIMIT or cells > 8 * LIMIT:
        return
    y = s.of(x.element, other)
    element = x.element
    if element in ("f16", "bf16") and c.chance(30):
        element = "f32"
    elif element in ("i8", "ui8") and c.chance(40):
        element = "i32" if element == "i8" else "ui32"
    attributes = (
        f" {{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = {batch}, "
        f"rhs_batching_dimensions = {[dims.index(('b', d)) for d in batch]}, "
        f"lhs_contracting_dimensions = {contract}, "
        f"rhs_contracting_dimensions = {[dims.index(('c', d)) for d in contract]}>}}"
    )
    _product(s, "dot_general", [x, y], element, shape, attributes)


def convolution(s):
    """Any order of dims, strides, paddings, dilations, reversals, groups of features or batches."""
    c = s.choices
    element = c.element(("f32", "f64", "bf16", "f16", "i32", "i8", "ui8", "complex<f32>"))
    spatial = c.pick((1, 2, 2, 0, 3))
    feature_groups, batch_groups = c.pick(((1, 1), (1, 1), (2, 1), (3, 1), (1, 2), (1, 3)))
    features = feature_groups * c.integer(1, 3)
    outputs = feature_groups * batch_groups * c.integer(1, 3)
    batch = batch_groups * c.integer(1, 2)
    sizes = [c.pick((3, 1, 2, 5, 8, 0, 17)) for _ in range(spatial)]
    window, stride, pads, base, dilation, reverse, result = [], [], [], [], [], [], []
    for n in sizes:
        window.append(c.pick((1, 2, 3)))
        stride.append(c.pick((1, 2, 3)))
        base.append(c.pick((1, 1, 2, 3)))
        dilation.append(c.pick((1, 1, 2)))
        reverse.append(c.chance(30))
        low, high = c.pick(((0, 0), (1, 1), (0, 2), (-1, 2), (3, 0), (1, -1)))
        spread = 0 if n == 0 else (n - 1) * base[-1] + 1
        if spread + low + high < 0:
            low = high = 0
        pads.append((low, high))
        padded, reach = spread + low + high, (window[-1] - 1) * dilation[-1] + 1
        result.append(0 if padded == 0 or reach > padded else (padded - reach) // stride[-1] + 1)
    given = {"b": batch, "f": features, **{str(i): n for i, n in enumerate(sizes)}}
    kernel = {"i": features // feature_groups, "o": outputs, **{str(i): n for i, n in enumerate(window)}}
    made = {"b": batch // batch_groups, "f": outputs, **{str(i): n for i, n in enumerate(result)}}
    orders = [c.order(k) for k in (given, kernel, made)]
    shapes = [[sizes_[k] for k in order] for order, sizes_ in zip(orders, (given, kernel, made))]
    if math.prod(shapes[2]) * math.prod(window) * features > 6 * LIMIT or math.prod(shapes[0]) > LIMIT:
        return
    x, y = s.of(element, shapes[0]), s.of(element, shapes[1])
    flags = ", ".join("true" if r else "false" for r in reverse)

    def attributes(order, pads, base):
        labels = [f"[{', '.join(o)}]" for o in (order, *orders[1:])]
        return (
            f" {{batch_group_count = {batch_groups} : i64, feature_group_count = {feature_groups} : i64, "
            f"dimension_numbers = #stablehlo.conv<{labels[0]}x{labels[1]}->{labels[2]}>, "
            f"window_strides = {numbers(stride)}, padding = {_pads(pads)}, lhs_dilation = {numbers(base)}, "
            f"rhs_dilation = {numbers(dilation)}, window_reversal = array<i1{': ' * bool(flags)}{flags}>}}"
        )

    result_element = "f32" if element in ("bf16", "f16") and c.chance(30) else element
    plain_order = ["b", *map(str, range(spatial)), "f"]
    lines, padded = _padded(s, x, [orders[0].index(k) for k in plain_order], pads, base)
    _product(s, "convolution", [x, y], result_element, shapes[2], attributes(orders[0], pads, base),
             (lines, [padded, y], attributes(plain_order, [(0, 0)] * spatial, [1] * spatial)))  # fmt: skip


def _padded(s, x, order, pads, base):
    """Lines that lay a convolution's input out as (batch, places, features), and pad and dilate it; and the value.

    The interpreter crops no input, and is wrong about layouts that are not their own inverse."""
    moved = Value(s.fresh(), x.element, tuple(x.shape[d] for d in order))
    shape = [moved.shape[0]]
    for n, (low, high), hole in zip(moved.shape[1:], pads, base):
        shape.append(low + high + n + max(0, n - 1) * (hole - 1))
    padded = Value(s.fresh(), x.element, (*shape, moved.shape[-1]))
    zero = Value(s.fresh(), x.element, ())
    edges = [[0, *edge, 0] for edge in ([p[0] for p in pads], [p[1] for p in pads], [hole - 1 for hole in base])]
    return [
        f'{moved.name} = "stablehlo.transpose"({x.name}) {{permutation = {numbers(order)}}} '
        f": ({x.type}) -> {moved.type}",
        f"{zero.name} = stablehlo.constant {et.literal(et.np_full((), 0, x.element), x.element)}",
        f'{padded.name} = "stablehlo.pad"({moved.name}, {zero.name}) {{edge_padding_low = {numbers(edges[0])}, '
        f"edge_padding_high = {numbers(edges[1])}, interior_padding = {numbers(edges[2])}}} : "
        f"({moved.type}, {zero.type}) -> {padded.type}",
    ], padded


def gather(s):
    """Index vectors along any dim, collapsed dims, batch dims; places before the begin and past the end."""
    c = s.choices
    x = s.any(accept=lambda v: v.shape)
    if x is None:
        return
    d = _indexing(c, x.shape)
    sizes = [1 if k in d.fixed or k in d.batching else c.integer(0, n) if c.chance(40) else min(n, c.integer(1, 3))
             for k, n in enumerate(x.shape)]  # fmt: skip
    if any(n > m for n, m in zip(sizes, x.shape)):
        return
    window = [n for k, n in enumerate(sizes) if k not in d.fixed and k not in d.batching]
    if math.prod(d.batch) * math.prod(window) > LIMIT:
        return
    shape, offsets = d.merge(c, window)
    indices = _indices(s, d)
    attributes = (
        f" {{dimension_numbers = #stablehlo.gather<offset_dims = {offsets}, collapsed_slice_dims = {d.fixed}, "
        f"operand_batching_dims = {d.batching}, start_indices_batching_dims = {d.index_batching}, "
        f"start_index_map = {d.map}, index_vector_dim = {d.vector}>, slice_sizes = {numbers(sizes)}, "
        "indices_are_sorted = false}"
    )
    s.emit("gather", [x, indices], x.element, shape, attributes)


def scatter(s):
    """Updates that meet at one place, by bodies whose order does not matter."""
    c = s.choices
    x = s.any(NUMBERS, accept=lambda v: v.shape)
    if x is None:
        return
    d = _indexing(c, x.shape)
    window = [n if c.chance(40) else c.integer(0 if c.chance(20) else min(1, n), min(n, 3))
              for k, n in enumerate(x.shape) if k not in d.fixed and k not in d.batching]  # fmt: skip
    if math.prod(d.batch) * math.prod(window) > LIMIT:
        return
    shape, offsets = d.merge(c, window)
    names = [n for n in reducer_bodies.names_for(x.element) if x.element in et.INTEGERS or n not in ("add", "multiply")]
    if not names:
        return
    reducer = reducer_bodies.single(x.element, c.pick(names))
    if x.element in et.INTEGERS and c.chance(25):
        reducer = reducer_bodies.extremes(x.element, c.pick(("f32", "i32", "i8", "ui16")))
    elif x.element in et.INTEGERS and c.chance(15):
        reducer = reducer_bodies.product_of_complex(x.element)  # each result reads both operands
    operands = [x, *[s.of(e, x.shape) for e in reducer.elements[1:]]]
    updates = [s.of(e, shape) for e in reducer.elements]
    dims = [k for k in range(len(x.shape)) if k not in d.fixed and k not in d.batching]
    lengths = dict(zip(dims, window))
    indices = _whole_windows(s, d, [(x.shape[k], lengths.get(k, 1)) for k in d.map])
    attributes = (
        f" {{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = {offsets}, "
        f"inserted_window_dims = {d.fixed}, input_batching_dims = {d.batching}, "
        f"scatter_indices_batching_dims = {d.index_batching}, scatter_dims_to_operand_dims = {d.map}, "
        f"index_vector_dim = {d.vector}>, indices_are_sorted = false, unique_indices = false}}"
    )
    given = [*operands, indices, *updates]
    # The interpreter of this jaxlib scatters into its operand itself: a copy of it is the operand there.
    copies = [dataclasses.replace(v, name=s.fresh()) for v in operands]
    lines = [f'{copy.name} = "stablehlo.reverse"({v.name}) {{dimensions = array<i64>}} : ({v.type}) -> {v.type}'
             for copy, v in zip(copies, operands)]  # fmt: skip
    copied = [*copies, indices, *updates]
    if len(operands) == 1:
        s.emit("scatter", given, x.element, x.shape, attributes, region=reducer.region,
               plain=(lines, copied, attributes))  # fmt: skip
        return
    pack = s.fresh()
    exact = all(v.exact for v in given)
    results = [dataclasses.replace(v, name=f"{pack}#{i}", exact=exact) for i, v in enumerate(operands)]
    types = f"({', '.join(v.type for v in given)}) -> ({', '.join(v.type for v in operands)})"
    texts = [f'{pack}:{len(results)} = "stablehlo.scatter"({", ".join(v.name for v in values)}) '
             f"{reducer.region}{attributes} : {types}" for values in (given, copied)]  # fmt: skip
    s.add(texts[0], given, results, "\n  ".join([*lines, texts[1]]))
    s.values.extend(results)


@dataclasses.dataclass
class _Indexing:
    """Dimension numbers that gather and scatter share."""

    map: list  # the operand's dim that each index steers
    fixed: list  # dims of the operand of which a slice has one, left out of the result
    batching: list
    index_batching: list
    batch: list  # the indices' dims without the vector's
    vector: int
    shape: list  # of the indices
    bound: int

    def merge(self, c, window):
        """The shape of slices among batch dims, and where the slice dims went."""
        places = sorted(c.order(range(len(window) + len(self.batch)))[: len(window)])
        batch, inner = iter(self.batch), iter(window)
        return [next(inner) if i in places else next(batch) for i in range(len(window) + len(self.batch))], places


def _indexing(c, shape):
    rank = len(shape)
    dims = c.order(range(rank))
    batching = sorted(dims[:1]) if rank > 1 and c.chance(25) else []
    steered = [d for d in dims if d not in batching][: c.integer(1, rank) if rank else 0]
    fixed = sorted(d for d in steered if c.chance(60) and shape[d])
    if any(shape[d] == 0 for d in batching):
        batching = []
    batch = [c.pick((2, 1, 3, 5, 0, 17)) for _ in range(c.pick((1, 0, 2)))]
    index_batching = []
    for d in batching:
        place = c.integer(0, len(batch))
        batch.insert(place, shape[d])
        index_batching.append(place)
    implicit = len(steered) == 1 and c.chance(30)
    vector = len(batch) if implicit or c.chance(50) else c.integer(0, len(batch))
    full = list(batch)
    if not implicit:
        full.insert(vector, len(steered))
        index_batching = [p + (p >= vector) for p in index_batching]
    return _Indexing(steered, fixed, batching, index_batching, batch, vector, full, max(shape, default=1))


def _indices(s, d):
    """Indices near the bounds of the operand, mostly inside."""
    c = s.choices
    element = c.pick(("i32", "i64", "i8", "ui32", "ui8", "i16"))
    if element in et.SIGNED and c.chance(20):
        return s.of(element, d.shape)
    random = np.random.default_rng(c.integer(0, 999))
    low = -1 if element[0] == "i" else 0
    data = random.integers(low, min(d.bound + 2, 100), d.shape).astype(et.numpy_dtype(element))
    value = s.argument(element, d.shape)
    s.root.data[-1] = data
    return value


def _whole_windows(s, d, limits):
    """Indices of windows that lie inside as a whole, or outside: of others the specification keeps the part inside, XLA
    (which we follow: gradients of jax's gathers need it) nothing."""
    c = s.choices
    element = c.pick(("i32", "i64", "i16", "i8"))
    random = np.random.default_rng(c.integer(0, 999))
    parts = []
    batch = [n for k, n in enumerate(d.shape) if k != d.vector] if len(d.shape) > len(d.batch) else d.shape
    for n, length in limits:
        inside = random.integers(0, max(1, n - length + 1), batch)
        outside = random.choice([-length - 1, -40 - length if length < 80 else -127, 120 if n < 120 else 20000], batch)
        if element == "i8":
            outside = np.clip(outside, -length if n > 127 else -128, 127)
        parts.append(np.where(random.random(batch) < (0.1 if length <= n else 1), outside, inside))
    data = np.stack(parts, d.vector) if len(d.shape) > len(d.batch) else parts[0]
    value = s.argument(element, d.shape)
    s.root.data[-1] = data.astype(et.numpy_dtype(element))
    return value


OPS = {
    reduce: 8, reduce_window: 4, running: 3, select_and_scatter: 2, sort: 3, dot_general: 6, convolution: 4, gather: 4,
    scatter: 5,
}  # fmt: skip
