"""Buffers, lists, globals and references: results, bounds, types, and that nothing leaks."""

import struct

import pytest
from pyiree.runtime.native import layout
from pyiree.runtime.native.image import image
from pyiree.runtime.native.python_objects import read_word
from pyiree.runtime.vm.errors import VmError
from pyiree.runtime.vm.values import Ref
from pyiree.runtime.vmfb.isa import ref

DATA = bytes(range(1, 41))
WIDTHS = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "f32": 4, "f64": 8}


def buffer_content(reference: Ref) -> bytes:
    import ctypes

    length = read_word(reference.address + layout.BUFFER_LENGTH)
    return ctypes.string_at(read_word(reference.address + layout.BUFFER_DATA), length)


@pytest.fixture
def run(assemble, context_of):
    """(Convention, body, arguments) → the results of a one-off function."""

    def call(convention, body, *arguments, prepare=None):
        return context_of(assemble(convention, body, prepare)).invoke("main", arguments)

    return call


def simple(*ops):
    """A body of one block."""

    def body(module, function):
        function.block("entry")
        for name, *operands in ops:
            operands = [o(module) if callable(o) else o for o in operands]
            function.op(name, *operands)

    return body


def rodata(content=DATA):
    return lambda module: module.rodata(content)


@pytest.mark.parametrize(
    ("op", "layout_code", "result"),
    [
        ("buffer.load.i8.u", "B", "i"), ("buffer.load.i8.s", "b", "i"), ("buffer.load.i16.u", "H", "i"),
        ("buffer.load.i16.s", "h", "i"), ("buffer.load.i32", "i", "i"), ("buffer.load.i64", "q", "I"),
        ("buffer.load.f32", "f", "f"), ("buffer.load.f64", "d", "F"),
    ],
)
def test_loads(run, op, layout_code, result):
    content = bytes(range(240, 256)) + DATA
    width = struct.calcsize(layout_code)
    body = simple(("const.ref.rodata", rodata(content), ref(0)), (op, ref(0), 0, 2), ("return", [2]))
    count = len(content) // width
    for index in (0, 1, count - 1):
        expected = struct.unpack_from("<" + layout_code, content, index * width)[0]
        (value,) = run(f"0I_{result}", body, index)
        assert struct.pack("<" + layout_code, value) == struct.pack("<" + layout_code, expected)
    for index in (count, -1, 1 << 61, -(1 << 63)):
        with pytest.raises(VmError, match="OUT_OF_RANGE") as raised:
            run(f"0I_{result}", body, index)
        assert op in str(raised.value)


@pytest.mark.parametrize("kind", WIDTHS)
def test_stores_and_fills(run, kind):
    width = WIDTHS[kind]
    code = {"i8": "i", "i16": "i", "i32": "i", "i64": "I", "f32": "f", "f64": "F"}[kind]
    layout_code = {"i8": "b", "i16": "h", "i32": "i", "i64": "q", "f32": "f", "f64": "d"}[kind]
    store = simple(
        ("const.i64", 24, 4), ("const.i32", 16, 6), ("buffer.alloc", 4, 6, ref(0)),
        (f"buffer.store.{kind}", ref(0), 0, 2), ("return", [ref(0, move=True)]),
    )
    (buffer,) = run(f"0I{code}_r", store, 1, 100)
    assert buffer_content(buffer) == bytes(width) + struct.pack("<" + layout_code, 100) + bytes(24 - 2 * width)
    with pytest.raises(VmError, match="OUT_OF_RANGE"):
        run(f"0I{code}_r", store, 24 // width, 100)
    fill = simple(
        ("const.i64", 24, 6), ("const.i32", 16, 8), ("buffer.alloc", 6, 8, ref(0)),
        (f"buffer.fill.{kind}", ref(0), 0, 2, 4), ("return", [ref(0, move=True)]),
    )
    (buffer,) = run(f"0II{code}_r", fill, 1, 2, 7)
    assert buffer_content(buffer) == (
        bytes(width) + 2 * struct.pack("<" + layout_code, 7) + bytes(24 - 3 * width)
    )
    for offset, length in ((0, 24 // width + 1), (24 // width, 1), (1, -1), (1 << 62, 1 << 62)):
        with pytest.raises(VmError, match="OUT_OF_RANGE"):
            run(f"0II{code}_r", fill, offset, length, 7)


def test_rodata_is_read_only(run):
    body = simple(
        ("const.ref.rodata", rodata(), ref(0)), ("const.i64.zero", 0), ("buffer.store.i8", ref(0), 0, 2),
        ("return", []),
    )
    with pytest.raises(VmError, match="PERMISSION_DENIED"):
        run("0v_v", body)


def test_null_and_foreign_references(run):
    load = simple(("buffer.load.i8.u", ref(0), 0, 2), ("return", [2]))
    with pytest.raises(VmError, match="FAILED_PRECONDITION"):
        run("0Ir_i", load, 0, None)
    as_list = simple(("list.size", ref(0), 0), ("return", [0]))
    with pytest.raises(VmError, match="FAILED_PRECONDITION"):
        run("0r_i", as_list, None)
    buffer = Ref(image().buffer_allocate(8, 16))
    with pytest.raises(VmError, match="INVALID_ARGUMENT"):
        run("0r_i", as_list, buffer)
    items = Ref(image().list_allocate(layout.TYPE_NONE, 1))
    with pytest.raises(VmError, match="INVALID_ARGUMENT"):
        run("0Ir_i", load, 0, items)


def test_unassigned_reference_is_null(run):
    body = simple(("cmp.nz.ref", ref(5), 0), ("return", [0]))
    assert run("0v_i", body) == [0]


def test_clone_copy_compare_length_hash(run):
    body = simple(
        ("const.ref.rodata", rodata(), ref(0)),
        ("const.i64", 4, 0), ("const.i64", 8, 2), ("const.i32", 64, 4),
        ("buffer.clone", ref(0), 0, 2, 4, ref(1)),  # bytes 4..12
        ("const.i64.zero", 6), ("const.i64", 2, 8),
        ("buffer.copy", ref(0), 6, ref(1), 0, 8),  # the first two bytes to 4..6
        ("buffer.compare", ref(0), 6, ref(1), 0, 8, 10), ("buffer.compare", ref(0), 6, ref(1), 6, 8, 11),
        ("buffer.length", ref(1), 12),
        ("discard.refs", [ref(0, move=True)]),
        ("return", [ref(1, move=True), 10, 11, 12]),
    )
    buffer, equal, different, length = run("0v_riiI", body)
    assert buffer_content(buffer) == DATA[4:8] + DATA[:2] + DATA[10:12]
    assert (equal, different, length) == (1, 0, 8)
    assert read_word(buffer.address + layout.BUFFER_DATA) % 64 == 0


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 20])
def test_hash_same_as_iree(assemble, context_of, iree_run, length):
    body = simple(
        ("const.ref.rodata", rodata(), ref(0)), ("buffer.hash", ref(0), 0, 2, 4),
        ("discard.refs", [ref(0, move=True)]), ("return", [4]),
    )
    content = assemble("0II_I", body)
    printed, ok = iree_run(content, "main", "0", str(length))
    assert ok and int(printed.rsplit("=", 1)[1]) == context_of(content).invoke("main", [0, length])[0]


def element(name):
    return lambda module: module.type(name)


@pytest.mark.parametrize(
    ("element_type", "kind", "value", "expected"),
    [
        ("i8", "i32", 300, 44), ("i16", "i32", -70000, -4464), ("i32", "i32", -5, -5), ("i64", "i64", 1 << 40, 1 << 40),
        ("i64", "i32", -5, -5), ("i32", "i64", (1 << 40) + 3, 3), ("f32", "f32", 1.5, 1.5), ("f64", "f64", 0.1, 0.1),
        ("!vm.opaque", "i32", 9, 9), ("!vm.opaque", "f64", 0.1, 0.1),
    ],
)
def test_list_values(run, element_type, kind, value, expected):
    code = {"i32": "i", "i64": "I", "f32": "f", "f64": "F"}[kind]
    body = simple(
        ("const.i32", 3, 4), ("list.alloc", element(element_type), 4, ref(0)), ("list.resize", ref(0), 4),
        ("const.i32", 1, 5), (f"list.set.{kind}", ref(0), 5, 0), (f"list.get.{kind}", ref(0), 5, 2),
        ("list.size", ref(0), 6), ("list.reserve", ref(0), 4), ("return", [2, 6]),
    )
    assert run(f"0{code}_{code}i", body, value) == [expected, 3]


def test_list_faults(run):
    head = (("const.i32", 2, 4), ("list.alloc", element("i32"), 4, ref(0)), ("list.resize", ref(0), 4))
    get = simple(*head, ("list.get.i32", ref(0), 0, 1), ("return", [1]))
    assert run("0i_i", get, 1) == [0]
    for index in (2, -1):
        with pytest.raises(VmError, match="OUT_OF_RANGE"):
            run("0i_i", get, index)
    with pytest.raises(VmError, match="INVALID_ARGUMENT"):
        run("0i_f", simple(*head, ("list.get.f32", ref(0), 0, 1), ("return", [1])), 0)
    with pytest.raises(VmError, match="INVALID_ARGUMENT"):
        run("0i_v", simple(*head, ("list.set.ref", ref(0), 0, ref(0)), ("return", [])), 0)
    with pytest.raises(VmError, match="INVALID_ARGUMENT"):
        run("0i_v", simple(*head, ("list.resize", ref(0), 0), ("return", [])), -3)
    with pytest.raises(VmError, match=r"RESOURCE_EXHAUSTED|INVALID_ARGUMENT|OUT_OF_RANGE"):
        run("0i_i", simple(*head, ("list.resize", ref(0), 0), ("list.get.i32", ref(0), 0, 1), ("return", [1])), 1 << 30)


def test_list_of_references(run):
    body = simple(
        ("const.i32", 2, 0), ("const.i32.zero", 1), ("list.alloc", element("!vm.opaque"), 0, ref(0)),
        ("list.resize", ref(0), 0), ("const.ref.rodata", rodata(), ref(1)),
        ("list.set.ref", ref(0), 1, ref(1, move=True)),
        ("list.get.ref", ref(0), 1, element("!vm.buffer"), ref(2)),
        ("list.get.ref", ref(0), 1, element("!vm.list<i32>"), ref(3)),
        ("cmp.nz.ref", ref(1), 2), ("cmp.nz.ref", ref(3), 3),
        ("return", [ref(2, move=True), ref(0, move=True), 2, 3]),
    )
    buffer, items, moved, mistyped = run("0v_rrii", body)
    assert buffer_content(buffer) == DATA
    assert (moved, mistyped) == (0, 0)
    assert read_word(buffer.address) == 3  # the module's own, the list's, ours
    del items
    assert read_word(buffer.address) == 2


def test_globals(run):
    def prepare(module):
        module.global_value(4)
        module.global_value(8)

    body = simple(
        ("global.store.i32", 0, 0), ("global.store.i64", 8, 2), ("global.load.i32", 0, 4),
        ("global.load.i64", 8, 6), ("const.i32", 8, 5), ("global.load.indirect.i64", 5, 8),
        ("global.load.indirect.i32", 1, 10), ("return", [4, 6, 8, 10]),
    )
    assert run("0iiI_iIIi", body, -3, 0, 1 << 50, prepare=prepare) == [-3, 1 << 50, 1 << 50, -3]
    for offset in (-1, 13, 16, 1 << 30):
        with pytest.raises(VmError, match="OUT_OF_RANGE"):
            run("0iiI_iIIi", body, -3, offset, 0, prepare=prepare)


def test_float_globals_and_indirect_stores(run):
    def prepare(module):
        module.global_value(4)
        module.global_value(8)

    body = simple(
        ("global.store.f32", 0, 0), ("global.load.f32", 0, 1), ("const.i32", 8, 4),
        ("global.store.indirect.f64", 4, 2), ("global.load.f64", 8, 6),
        ("global.load.indirect.f64", 4, 8), ("const.i32.zero", 5), ("global.store.indirect.f32", 5, 1),
        ("global.load.indirect.f32", 5, 10), ("global.store.f64", 8, 8), ("return", [1, 6, 8, 10]),
    )
    assert run("0fF_fFFf", body, 1.5, 0.1, prepare=prepare) == [1.5, 0.1, 0.1, 1.5]


def test_reference_globals(assemble, context_of):
    def prepare(module):
        module.global_ref()
        module.global_ref()

    body = simple(
        ("const.i32", 1, 0), ("global.store.ref", 0, element("!vm.buffer"), ref(0)),
        ("global.load.ref", 0, element("!vm.buffer"), ref(1)),
        ("global.store.indirect.ref", 0, element("!vm.opaque"), ref(1, move=True)),
        ("global.load.indirect.ref", 0, element("!vm.buffer"), ref(2)),
        ("return", [ref(2, move=True)]),
    )
    context = context_of(assemble("0r_r", body, prepare))
    buffer = Ref(image().buffer_allocate(8, 16))
    (result,) = context.invoke("main", [buffer])
    assert result.address == buffer.address
    del result
    assert read_word(buffer.address) == 3
    assert context.invoke("main", [None]) == [None]
    assert read_word(buffer.address) == 1
    items = Ref(image().list_allocate(layout.TYPE_NONE, 1))
    with pytest.raises(VmError, match=r"INVALID_ARGUMENT.*global\.store\.ref"):
        context.invoke("main", [items])
    assert read_word(items.address) == 1
    context.invoke("main", [buffer])
    context.close()
    assert read_word(buffer.address) == 1


def test_reference_moves(run):
    buffer, other = (Ref(image().buffer_allocate(8, 16)) for _ in range(2))
    select = simple(
        ("select.ref", 0, element("!vm.buffer"), ref(0), ref(1, move=True), ref(2)),
        ("assign.ref", ref(2, move=True), ref(3)),
        ("cast.any.ref", ref(3, move=True), element("!vm.buffer"), ref(4)),
        ("cmp.eq.ref", ref(4), ref(0), 1), ("cmp.nz.ref", ref(1), 2), ("cmp.ne.ref", ref(0), ref(4), 3),
        ("return", [ref(4), 1, 2, 3]),
    )
    assert run("0irr_riii", select, 1, buffer, other)[1:] == [1, 0, 0]
    assert run("0irr_riii", select, 0, buffer, other)[1:] == [0, 0, 1]
    switch = simple(
        ("switch.ref", 0, element("!vm.buffer"), ref(0), [ref(1, move=True), ref(0)], ref(2)), ("return", [ref(2)])
    )
    for index, expected in ((0, other), (1, buffer), (2, buffer), (-1, buffer)):
        assert run("0irr_r", switch, index, buffer, other)[0].address == expected.address
    cast = simple(("cast.any.ref", ref(0), element("!vm.list<i8>"), ref(1)), ("return", []))
    with pytest.raises(VmError, match="INVALID_ARGUMENT"):
        run("0r_v", cast, buffer)
    assert (read_word(buffer.address), read_word(other.address)) == (1, 1)


def test_impossible_allocations(run):
    body = simple(("const.i32", 16, 2), ("buffer.alloc", 0, 2, ref(0)), ("return", []))
    for size in (-1, 1 << 62):
        with pytest.raises(VmError, match="RESOURCE_EXHAUSTED"):
            run("0I_v", body, size)
