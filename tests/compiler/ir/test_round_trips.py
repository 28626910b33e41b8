"""Property tests: random types, attributes, affine maps and op graphs print and read back as themselves."""

import struct

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiree.compiler.ir import types as T
from pyiree.compiler.ir.affine import AffineConstant, AffineMap, IntegerSet, combine, dims, symbols
from pyiree.compiler.ir.attribute_parser import AttributeParser
from pyiree.compiler.ir.attributes import (
    ArrayAttr,
    DenseArrayAttr,
    DictAttr,
    FloatAttr,
    IntegerAttr,
    OpaqueAttr,
    StridedLayoutAttr,
    StringAttr,
    SymbolRefAttr,
    TypeAttr,
    UnitAttr,
    bool_attr,
)
from pyiree.compiler.ir.core import Block, Region, UnregisteredOp
from pyiree.compiler.ir.dense import DenseElementsAttr, storage_dtype
from pyiree.compiler.ir.equivalence import structurally_equal
from pyiree.compiler.ir.floats import bits_to_float, float_to_bits
from pyiree.compiler.ir.lexer import Source
from pyiree.compiler.ir.location import UNKNOWN, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from pyiree.compiler.ir.parser import parse_module
from pyiree.compiler.ir.printer import print_operation
from pyiree.compiler.ir.verifier import verify

FLOATS = [f for f in T.FLOAT_WIDTHS if f not in ("tf32", "f80", "f128")]
dim = st.one_of(st.none(), st.integers(0, 1000))
scalars = st.one_of(
    st.builds(T.IntegerType, st.integers(1, 64), st.sampled_from(["", "s", "u"])),
    st.sampled_from(FLOATS).map(T.FloatType),
    st.just(T.index),
)


def _expressions(num_dims, num_symbols):
    leaves = [*dims(num_dims), *symbols(num_symbols)]
    leaf = st.one_of(st.integers(-20, 20).map(AffineConstant), *([st.sampled_from(leaves)] if leaves else []))
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.builds(combine, st.just("+"), inner, inner),
            st.builds(combine, st.just("*"), inner, st.integers(-8, 8).map(AffineConstant)),
            st.builds(combine, st.sampled_from(["mod", "floordiv", "ceildiv"]), inner,
                      st.integers(1, 9).map(AffineConstant)),
        ),
        max_leaves=8,
    )  # fmt: skip


@st.composite
def affine_maps(draw):
    d, s = draw(st.integers(0, 4)), draw(st.integers(0, 2))
    return AffineMap(d, s, draw(st.lists(_expressions(d, s), max_size=4)))


strides = st.builds(StridedLayoutAttr, st.lists(dim, max_size=3), dim)


def _shaped(element):
    return st.one_of(
        st.builds(T.TensorType, st.lists(dim, max_size=4), element),
        st.builds(T.TensorType, st.lists(dim, max_size=2), element, st.builds(StringAttr, st.text(max_size=3))),
        st.builds(T.VectorType, st.lists(st.integers(1, 64), min_size=1, max_size=3), element),
        st.builds(T.MemRefType, st.lists(dim, max_size=3), element, st.one_of(st.none(), strides),
                  st.one_of(st.none(), st.builds(IntegerAttr, st.integers(0, 9), st.just(T.i64)))),
        st.builds(T.UnrankedTensorType, element),
        st.builds(T.UnrankedMemRefType, element),
    )  # fmt: skip


types = st.recursive(
    st.one_of(scalars, _shaped(scalars), st.just(T.none), scalars.filter(lambda t: not t.is_index).map(T.ComplexType)),
    lambda inner: st.one_of(
        st.builds(T.FunctionType, st.lists(inner, max_size=3), st.lists(inner, max_size=3)),
        st.builds(T.TupleType, st.lists(inner, max_size=3)),
    ),
    max_leaves=6,
)
floats = st.sampled_from([T.f64, T.f32, T.f16, T.bf16, T.FloatType("f8E4M3FN"), T.FloatType("f8E5M2")])
leaves = st.one_of(
    st.builds(IntegerAttr, st.integers(-(2**70), 2**70), scalars.filter(lambda t: not t.is_float)),
    st.builds(FloatAttr, st.floats(), floats),
    st.builds(FloatAttr.from_bits, st.integers(0, 2**64 - 1), floats),
    st.builds(StringAttr, st.text(max_size=8)),
    st.booleans().map(bool_attr),
    st.just(UnitAttr()),
    types.map(TypeAttr),
    affine_maps(),
    strides,
    st.builds(DenseArrayAttr, st.sampled_from([T.i1, T.i8, T.i32, T.i64]), st.lists(st.integers(-9, 9), max_size=4)),
    st.builds(DenseArrayAttr, st.sampled_from([T.f32, T.f64]), st.lists(st.floats(), max_size=4)),
    st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=3).map(lambda n: SymbolRefAttr(*n)),
)
attributes = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(ArrayAttr),
        st.dictionaries(st.text(min_size=1, max_size=5), inner, max_size=3).map(DictAttr),
    ),
    max_leaves=6,
)


def _read(text):
    return AttributeParser(Source(text, "text"))


def _check_type(type):
    parser = _read(str(type))
    assert parser.parse_type() is type
    assert parser.kind == "EOF"


@settings(max_examples=30, deadline=None)
@given(types)
def test_types(type):
    _check_type(type)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(types)
def test_many_types(type):
    _check_type(type)


@settings(max_examples=60, deadline=None)
@given(attributes)
def test_attributes(attribute):
    parser = _read(str(attribute))
    assert parser.parse_attribute() is attribute
    assert parser.kind == "EOF"


@settings(max_examples=60, deadline=None)
@given(affine_maps(), st.lists(st.integers(0, 50), min_size=6, max_size=6))
def test_affine_maps_mean_what_they_say(affine_map, point):
    """The text, evaluated by Python after a change of spelling, gives what `evaluate` gives."""
    assert _read(str(affine_map)).parse_attribute() is affine_map
    d, s = point[: affine_map.num_dims], point[4 : 4 + affine_map.num_symbols]
    names = {f"d{i}": v for i, v in enumerate(d)} | {f"s{i}": v for i, v in enumerate(s)}
    body = str(affine_map).partition("-> ")[2].removesuffix(">")
    if "ceildiv" not in body:
        spelled = body.replace("floordiv", "//").replace("mod", "%")
        # The operators of one level associate to the left in both languages.
        assert tuple(eval(f"[{spelled[1:-1]}]", names)) == affine_map.evaluate(d, s)


def _check_composition(outer, data):
    inner = AffineMap(2, 1, data.draw(st.lists(_expressions(2, 1), min_size=outer.num_dims, max_size=outer.num_dims)))
    point = data.draw(st.lists(st.integers(0, 30), min_size=5, max_size=5))
    composed = outer.compose(inner)
    d, s = point[:2], point[2:3]
    t = point[3 : 3 + outer.num_symbols]
    assert composed.evaluate(d, [*t, *s]) == outer.evaluate(inner.evaluate(d, s), t)


@settings(max_examples=25, deadline=None)
@given(affine_maps(), st.data())
def test_affine_composition(outer, data):
    _check_composition(outer, data)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(affine_maps(), st.data())
def test_many_affine_compositions(outer, data):
    _check_composition(outer, data)


def test_affine_simplification():
    d0, d1 = dims(2)
    (s0,) = symbols(1)
    assert d0 + d1 - d0 is d1
    assert (d0 * 4 + 8) % 4 is AffineConstant(0)
    assert (d0 * 8 + d1).__floordiv__(4) is (d0 * 2 + d1 // 4)
    assert (d0 * 4 + d1) % 4 is d1 % 4
    assert str(-(d0 + d1) * 2 + s0 - 3) == "(d0 + d1) * -2 + s0 - 3"
    order = AffineMap.permutation([2, 0, 1])
    assert order.inverse_permutation().compose(order).is_identity
    assert AffineMap(3, 0, [dims(3)[2], AffineConstant(0)]).dim_positions() == (2, None)
    assert AffineMap(3, 0, [dims(3)[2]]).drop_dims([0, 1]) is AffineMap.identity(1)
    inside = IntegerSet(1, 0, [d0 - 1, d0 - 3], [False, True])
    assert inside.contains([3]) and not inside.contains([2])


@settings(max_examples=80, deadline=None)
@given(st.floats(), st.sampled_from(["f64", "f32", "f16", "bf16"]))
def test_float_rounding(value, name):
    """Rounded once, to nearest even: the neighbours are no closer."""
    bits = float_to_bits(value, name)
    back = bits_to_float(bits, name)
    assert numpy.isnan(back) == numpy.isnan(value)
    if numpy.isfinite(value) and numpy.isfinite(back):
        for neighbour in (bits - 1, bits + 1):
            other = bits_to_float(neighbour % (1 << {"f64": 64, "f32": 32}.get(name, 16)), name)
            if numpy.isfinite(other):
                assert abs(back - value) <= abs(other - value)
    if name == "f32" and numpy.isfinite(value) and abs(value) < 3e38:
        assert bits == struct.unpack("<I", numpy.array([value]).astype(numpy.float32).tobytes())[0]


ELEMENTS = [T.i1, T.i4, T.i8, T.i32, T.i64, T.index, T.IntegerType(8, "u"), T.f16, T.bf16, T.f32, T.f64,
            T.FloatType("f8E4M3FN"), T.ComplexType(T.f32), T.ComplexType(T.f64), T.ComplexType(T.i32)]  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(ELEMENTS), st.lists(st.integers(0, 6), max_size=3), st.randoms(), st.booleans())
def test_dense_elements(element, shape, random, splat):
    type = T.TensorType(shape, element)
    dtype = storage_dtype(element)
    count = type.num_elements
    raw = bytes(random.randrange(256) for _ in range(dtype.itemsize * (1 if splat and count else count)))
    if element is T.i1:
        raw = bytes(b & 1 for b in raw)
    elif element is T.i4:
        raw = bytes((b & 7) for b in raw)
    dense = DenseElementsAttr.from_bytes(type, raw)
    again = _read(str(dense)).parse_attribute()
    assert again == dense and again.type is type
    assert again.data.tobytes() == dense.data.tobytes()


def test_large_constants_are_not_copied_or_hashed_whole():
    array = numpy.arange(1 << 20, dtype=numpy.float32)
    type = T.TensorType((1 << 20,), T.f32)
    dense = DenseElementsAttr(type, array)
    assert numpy.shares_memory(dense.array(), array)
    assert not dense.array().flags.writeable and array.flags.writeable
    other = DenseElementsAttr(type, array.copy())
    assert dense == other and hash(dense) == hash(other)
    assert dense != DenseElementsAttr(type, array[::-1])
    text = str(dense)
    assert text.startswith('dense<"0x00000000') and _read(text).parse_attribute() == dense
    op = UnregisteredOp("x.y", attributes={"big": ArrayAttr([dense])})
    assert "dense_resource<__elided__>" in print_operation(op, elide_large_constants=True)
    assert "0x0000" in print_operation(op)


def test_interning():
    assert T.TensorType((4, None), T.f32) is T.TensorType([4, None], T.f32)
    assert IntegerAttr(-1, T.i8) is IntegerAttr(255, T.i8)
    assert FloatAttr(0.0, T.f32) is not FloatAttr(-0.0, T.f32)
    assert IntegerAttr(1, T.i32) is not IntegerAttr(1, T.i64)
    assert bool_attr(True).value == 1
    assert DenseElementsAttr.splat(T.TensorType((3,), T.i32), 7) is DenseElementsAttr.from_values(
        T.TensorType((3,), T.i32), [7, 7, 7]
    )


@pytest.mark.parametrize(
    "location",
    [
        UNKNOWN,
        FileLineColLoc("a b.py", 3, 4),
        NameLoc("x"),
        NameLoc("x", FileLineColLoc("f", 1, 2)),
        CallSiteLoc(FileLineColLoc("f", 1, 2), FileLineColLoc("g", 3, 4)),
        FusedLoc([FileLineColLoc("f", 1, 2), NameLoc("y")]),
        FusedLoc([FileLineColLoc("f", 1, 2)], StringAttr("meta")),
    ],
)
def test_locations(location):
    assert _read(str(location)).parse_attribute() is location


def test_unknown_dialects_keep_their_text():
    text = "!zzz.thing<a -> b, [#q.r<\"]>\">]>"
    assert str(_read(text).parse_type()) == text
    assert isinstance(_read("#zzz.thing<{a}>").parse_attribute(), OpaqueAttr)


# A graph draws many of these, so they come from a fixed set.
small_types = st.sampled_from([T.i32, T.f32, T.index, T.TensorType((2, None), T.f32), T.FunctionType([T.i1], [])])
small_attributes = st.sampled_from(
    [UnitAttr(), IntegerAttr(3, T.i32), StringAttr('a"b'), AffineMap.identity(2), ArrayAttr([AffineMap.constant(1)]),
     SymbolRefAttr("f", "g h"), DictAttr({"k": TypeAttr(T.f32)})]
)  # fmt: skip


@st.composite
def graphs(draw, depth=2):
    """A region of random ops that read values defined above them, with branches between its blocks."""
    return _region(draw, [], depth)


def _region(draw, outer, depth):
    region = Region()
    blocks = [Block(draw(st.lists(small_types, max_size=2))) for _ in range(draw(st.integers(1, 3)))]
    dominating = [*outer, *blocks[0].arguments]
    for i, block in enumerate(blocks):
        region.append(block)
        visible = list(dominating) if i == 0 else [*dominating, *block.arguments]
        for _ in range(draw(st.integers(0, 3))):
            operands = draw(st.lists(st.sampled_from(visible), max_size=3)) if visible else []
            regions = [_region(draw, visible, depth - 1)] if depth and draw(st.booleans()) else []
            op = UnregisteredOp(
                draw(st.sampled_from(["a.b", "c.d_e", "f.g.h"])), operands, draw(st.lists(small_types, max_size=3)),
                draw(st.dictionaries(st.sampled_from("pqr"), small_attributes, max_size=1)),
                draw(st.dictionaries(st.sampled_from("xyz"), small_attributes, max_size=1)), regions,
            )  # fmt: skip
            block.append(op)
            visible.extend(op.results)
        if i == 0:
            dominating = visible
        targets = draw(st.lists(st.sampled_from(blocks), max_size=2))
        block.append(UnregisteredOp("a.br", successors=targets))
    return region


@settings(max_examples=12, deadline=None)
@given(graphs())
def test_random_graphs(region):
    _check_graph(region)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(graphs())
def test_many_random_graphs(region):
    _check_graph(region)


def _check_graph(region):
    module = parse_module("")
    module.body_block.append(UnregisteredOp("a.top", regions=[region]))
    verify(module)
    for generic in (False, True):
        text = print_operation(module, generic=generic)
        again = parse_module(text)
        verify(again)
        assert structurally_equal(module, again)
        assert print_operation(again, generic=generic) == text
    copy = module.clone()
    assert structurally_equal(module, copy)
    next(iter(copy.walk(post_order=True))).attributes["changed"] = UnitAttr()
    assert not structurally_equal(module, copy)
