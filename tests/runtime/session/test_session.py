"""Modules of the real iree-compile through the public API."""

import pickle

import ml_dtypes
import numpy as np
import pytest
from pyiree.runtime import session
from pyiree.runtime.hal.device_array import DeletedArrayError, DeviceArray
from pyiree.runtime.vm.errors import VmError
from pyiree.runtime.vmfb.errors import ModuleError

DEVICES = ["local-sync", "local-task"]


@pytest.fixture(params=DEVICES)
def load(request, iree_module):
    return lambda name, *flags: session.load(iree_module(name, *flags), devices=request.param)


def test_layer(load):
    rng = np.random.default_rng(0)
    x, w, b = (rng.standard_normal(shape, np.float32) for shape in ((8, 16), (16, 32), (32,)))
    expected = np.tanh(x.astype(np.float64) @ w + b)
    module = load("layer")
    assert module.exports == ("main",)
    result = module.main(x, w, b)
    assert isinstance(result, DeviceArray) and result.shape == (8, 32) and result.dtype == np.float32
    np.testing.assert_allclose(result, expected, rtol=0, atol=2e-6)
    program = module["main"].bind([((8, 16), "f4"), ((16, 32), "f4"), ((32,), "f4")], [((8, 32), "f4")])
    for _ in range(3):
        [array] = program([x, w, b])
        np.testing.assert_array_equal(array, result)


def test_loop(load):
    n, value = load("loop").main(np.int32(20), np.float32(1))
    assert int(n) == 20 and float(value) == np.float32(1.5) ** 20


def test_dynamic_shapes_and_two_results(load):
    main = load("dynamic").main
    for shape in ((2, 3), (1, 1), (0, 5), (37, 130)):
        a, b = np.full(shape, 3, np.float32), np.full(shape, 4, np.float32)
        total, product = main(a, b)
        np.testing.assert_array_equal(total, a + b)
        np.testing.assert_array_equal(product, a * b)
    with pytest.raises(VmError, match="dimension 1 is needed of an array that is 3xf32"):
        main(np.ones(3, np.float32), np.ones(3, np.float32))


def test_integers_and_bools(load):
    module = load("two")
    a = np.arange(6, dtype=np.int32)
    product, greater = module.main(a)
    np.testing.assert_array_equal(product, a * 3)
    assert greater.dtype == bool
    np.testing.assert_array_equal(greater, a > 3)
    program = module["main"].bind([((6,), "i4")], [((6,), "i4"), ((6,), bool)])
    product, greater = program([a])
    assert greater.dtype == bool and np.array_equal(greater, a > 3) and np.array_equal(product, 3 * a)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("f64", np.array([0.1, 1e-310, 3.0]), [0.2, 0.0, 6.0]),
        ("bf16", np.array([1, 2, 3], ml_dtypes.bfloat16), [2, 4, 6]),
        ("ui8", np.array([1, 2, 200], np.uint8), [2, 4, 144]),
        ("bool", np.array([True, False, True]), [False, True, False]),
        ("complex", np.array([1j, 2, 3], np.complex64), [-1, 4, 9]),
        ("empty", np.zeros((0, 3), np.float32), np.zeros((0, 3))),
        ("scalar", np.array(4, np.float32), 8),
    ],
)
def test_types(load, name, value, expected):
    function = load("types")[name]
    assert isinstance(function(value), DeviceArray)
    program = function.bind([(value.shape, value.dtype)], [(value.shape, value.dtype)])
    for result in (np.asarray(function(value)), *function.call_numpy([value]), *program([value])):
        assert result.dtype == value.dtype and result.shape == value.shape
        np.testing.assert_array_equal(result, expected)


def test_compiled_kernels_flush_denormals_and_only_they(load):
    """As IREE's own devices do for modules of iree-compile; the thread's mode is restored."""
    tiny = np.full(4, 1e-40, np.float32)
    [result] = load("add")["main"].call_numpy([tiny, np.zeros(4, np.float32)])
    assert np.all(result == 0)
    assert np.all(tiny + 0 == tiny)


def test_results_are_the_callers_own(load):
    module = load("same")
    a = np.arange(4, dtype=np.float32)
    program = module["main"].bind([((4,), "f4")] * 2, [((4,), "f4")] * 3)
    for results in (program([a, a]), module["main"].call_numpy([a, a])):
        for k, result in enumerate(results):
            assert result.flags.writeable and result.__array_interface__["data"][0] % 16 == 0
            result[:] = 50 + k
        assert [r[0] for r in results] == [50, 51, 52]
        assert a.tolist() == [0, 1, 2, 3]
    passed, total, again = module.main(a, a)
    a[:] = 9
    assert np.asarray(passed).tolist() == [0, 1, 2, 3]
    assert np.asarray(total).tolist() == np.asarray(again).tolist() == [0, 2, 4, 6]


def test_arguments_that_the_module_keeps(load):
    """A global variable that holds an argument keeps its value, not the caller's memory."""
    module = load("counter")
    program = module["main"].bind([((4,), "f4")], [((4,), "f4")])
    a = np.full(4, 1, np.float32)
    assert program([a])[0].tolist() == [0] * 4
    a[:] = 2
    assert program([a])[0].tolist() == [1] * 4
    a[:] = 3
    assert np.asarray(module.main(a)).tolist() == [2] * 4
    a[:] = 4
    assert module["main"].call_numpy([a])[0].tolist() == [3] * 4


def test_unusual_arrays(load):
    main = load("add")["main"]
    program = main.bind([((4,), "f4")] * 2, [((4,), "f4")])
    x = np.arange(4, dtype=np.float32)
    raw = np.zeros(17, np.uint8)
    misaligned = raw[1:].view(np.float32)
    misaligned[:] = x
    strided = np.repeat(x, 2)[::2]
    fixed = x.copy()
    fixed.flags.writeable = False
    swapped = x.astype(">f4")
    subclass = x.view(np.matrix).reshape(1, 4)[0].view(type("Sub", (np.ndarray,), {})).reshape(4)
    for value in (misaligned, strided, fixed, swapped, subclass, DeviceArray.from_numpy(x)):
        assert program([value, x])[0].tolist() == [0, 2, 4, 6]
        assert program((x, value))[0].tolist() == [0, 2, 4, 6]
        assert np.asarray(main(value, x)).tolist() == [0, 2, 4, 6]
    assert type(program([subclass, x])[0]) is np.ndarray


def test_errors_name_what_is_wrong(load):
    module = load("add")
    x = np.zeros(4, np.float32)
    program = module["main"].bind([((4,), "f4")] * 2, [((4,), "f4")])
    for value in (np.zeros(4), np.zeros(5, np.float32), np.zeros((4, 1), np.float32)):
        with pytest.raises(TypeError, match=r"argument 1 of main must be float32\[4\], not"):
            program([x, value])
    with pytest.raises(TypeError, match="takes 2 arrays, not 1"):
        program([x])
    with pytest.raises(TypeError, match="takes 2 arguments"):
        module.main(x)
    with pytest.raises(TypeError, match="was to be bound to"):
        module["main"].bind([((4,), "f4")], [])
    with pytest.raises(VmError, match="input1: expected 4xf32, got 4xf64"):
        module.main(x, np.zeros(4))
    with pytest.raises(KeyError, match="no function 'other'; its exports: main"):
        module["other"]
    with pytest.raises(AttributeError, match="other"):
        module.other  # noqa: B018
    wrong = module["main"].bind([((4,), "f4")] * 2, [((4,), "f8")])
    with pytest.raises(TypeError, match="result 0 of the program has the unexpected dtype float32"):
        wrong([x, x])


def test_program_survives_failures(load):
    """The function refuses the arguments each time, and nothing is left behind."""
    module = load("add")
    bad = module["main"].bind([((5,), "f4")] * 2, [((4,), "f4")])
    good = module["main"].bind([((4,), "f4")] * 2, [((4,), "f4")])
    five, four = np.zeros(5, np.float32), np.ones(4, np.float32)
    for _ in range(100):
        with pytest.raises(VmError, match="expected 4xf32, got 5xf32"):
            bad([five, five])
        assert good([four, four])[0].tolist() == [2] * 4


def test_two_devices(iree_module):
    module = session.load(iree_module("add"), devices=("local-task", "local-task"))
    assert [d.index for d in module.devices] == [0, 1]
    assert np.asarray(module.main(np.ones(4, np.float32), np.ones(4, np.float32))).tolist() == [2] * 4


def test_null_device_and_unknown_driver(iree_module):
    module = session.load(iree_module("add"), devices="null")
    assert module.main(np.ones(4, np.float32), np.ones(4, np.float32)).shape == (4,)
    with pytest.raises(ValueError, match="no driver is called 'gpu'; there are local-sync, local-task, null"):
        session.load(iree_module("add"), devices="gpu")


def test_bytes_and_bad_files(iree_module, tmp_path):
    content = iree_module("add").read_bytes()
    module = session.load(content)
    x = np.ones(4, np.float32)
    assert np.asarray(module.main(x, x)).tolist() == [2] * 4
    with pytest.raises(FileNotFoundError):
        session.load(tmp_path / "none.vmfb")
    for size in (0, 10, 100, len(content) // 2):
        with pytest.raises(ModuleError):
            session.load(content[:size])


def test_asynchronous_functions(load):
    module = load("layer", "--iree-execution-model=async-external")
    function = module["main"]
    assert function.is_async
    rng = np.random.default_rng(3)
    x, w, b = (rng.standard_normal(shape, np.float32) for shape in ((8, 16), (16, 32), (32,)))
    expected = np.tanh(x.astype(np.float64) @ w + b)
    result = function(x, w, b)
    x[:] = 0  # the call has its own copy
    np.testing.assert_allclose(result.block_until_ready(), expected, atol=2e-6)
    assert result.is_ready()
    [array] = function.call_numpy([x, w, b])
    np.testing.assert_allclose(array, np.tanh(x @ w + b), atol=2e-6)
    program = function.bind([((8, 16), "f4"), ((16, 32), "f4"), ((32,), "f4")], [((8, 32), "f4")])
    np.testing.assert_allclose(program([x, w, b])[0], array)


def test_device_arrays(load):
    main = load("add").main
    x = DeviceArray.from_numpy(np.arange(4, dtype=np.float32))
    y = main(main(x, x), x)
    assert np.asarray(y).tolist() == [0, 3, 6, 9] and repr(y) == "DeviceArray([0., 3., 6., 9.], dtype=float32)"
    assert (y.ndim, y.size, y.nbytes, y.itemsize, len(y), y.shape) == (1, 4, 16, 4, 4, (4,))
    view = np.asarray(y)
    assert not view.flags.writeable and np.array(y).flags.writeable
    assert np.from_dlpack(y).tolist() == [0, 3, 6, 9]
    assert np.asarray(y, np.float64).dtype == np.float64
    assert np.asarray(y).__array_interface__["data"][0] == view.__array_interface__["data"][0]
    assert np.asarray(pickle.loads(pickle.dumps(y))).tolist() == [0, 3, 6, 9]
    y.delete()
    assert y.is_deleted() and view.tolist() == [0, 3, 6, 9]
    with pytest.raises(DeletedArrayError):
        main(y, x)
    one = DeviceArray.from_numpy(np.int32(7))
    assert int(one) == 7 and float(one) == 7.0 and bool(one) and range(one) == range(7) and one.item() == 7
    with pytest.raises(TypeError):
        float(x)
    with pytest.raises(TypeError):
        len(one)


def test_results_outlive_their_module(load):
    module = load("add")
    program = module["main"].bind([((4,), "f4")] * 2, [((4,), "f4")])
    x = np.ones(4, np.float32)
    [array], device = program([x, x]), module.main(x, x)
    module.close()
    del module, program
    assert array.tolist() == [2] * 4 and np.asarray(device).tolist() == [2] * 4
