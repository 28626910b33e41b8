"""LAPACK imports called directly, on buffer views."""

import ctypes

import numpy as np
import pytest
from pyiree.runtime.hal.device_array import DeviceArray
from pyiree.runtime.modules.lapack import lapack_module
from pyiree.runtime.modules.lapack_routines import DESCRIPTIONS
from pyiree.runtime.native.image import image
from pyiree.runtime.native.layout import ASK_PYTHON, OK
from pyiree.runtime.vm.errors import VmError
from pyiree.runtime.vm.values import Ref
from pyiree.runtime.vmfb.abi import parse_convention
from pyiree.runtime.vmfb.host_calls import LAPACK_ROUTINES

UPPER, LOWER = ord("U"), ord("L")


def arrays(addresses):
    addresses = addresses if isinstance(addresses, tuple) else (addresses,)
    return [np.array(DeviceArray(Ref(address))) for address in addresses]


def test_every_routine_has_a_description_and_a_convention():
    assert {name[1:] for name in LAPACK_ROUTINES} == set(DESCRIPTIONS)
    for routine in LAPACK_ROUTINES.values():
        convention = parse_convention(routine.convention)
        assert len(convention.arguments) == len(routine.operands) + len(routine.attributes)


def test_a_second_call_is_native():
    module = lapack_module({"dpotrf", "dgetrf"})
    assert set(module.functions) == {"dpotrf", "dgetrf"}
    call = module.functions["dpotrf"]
    a = np.array([[[4.0, 2], [2, 5]], [[-1, 0], [0, 1]]])
    given = DeviceArray.from_numpy(a)
    arguments = (ctypes.c_int64 * 2)(given.view.address, LOWER)
    results = (ctypes.c_int64 * 64)()

    def natively():
        address = image().address("lapack_call")
        function = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3)(address)
        return function(call.state, ctypes.addressof(arguments), ctypes.addressof(results))

    assert natively() == ASK_PYTHON
    factor, info = arrays(call.python(given.view.address, LOWER))
    # Column by column: the lower triangle of LAPACK's is the upper one of NumPy's.
    assert np.array_equal(np.triu(factor[0]), [[2, 1], [0, 2]])
    assert info.tolist() == [0, 1]
    assert natively() == OK
    again, info = arrays((results[0], results[1]))
    assert np.array_equal(again, factor) and info.tolist() == [0, 1]
    arguments[1] = UPPER  # other scalars want another plan
    assert natively() == ASK_PYTHON
    assert np.array_equal(np.asarray(given), a)


@pytest.mark.parametrize(
    ("name", "operands", "scalars", "message"),
    [
        ("spotrf", [np.zeros((2, 3), "float32")], [LOWER], "square"),
        ("spotrf", [np.zeros(3, "float32")], [LOWER], "2 dimensions at least"),
        ("spotrf", [np.zeros((2, 2), "float64")], [LOWER], "float64, not float32"),
        ("spotrf", [None], [LOWER], "null reference"),
        ("strsm", [np.zeros((2, 2, 2), "float32"), np.zeros((3, 2, 2), "float32")], [85, 76, 78, 76], "batch"),
        ("dgees", [np.zeros((2, 2))], [ord("V"), ord("S")], "sorted"),
    ],
)
def test_wrong_arguments_are_named(name, operands, scalars, message):
    given = [None if operand is None else DeviceArray.from_numpy(operand) for operand in operands]
    addresses = [0 if array is None else array.view.address for array in given]
    with pytest.raises(VmError, match=message):
        lapack_module({name}).functions[name].python(*addresses, *scalars)
