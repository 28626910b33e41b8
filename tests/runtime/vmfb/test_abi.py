"""Calling conventions, registers, struct layouts, and the HAL's import table."""

import ctypes

import pytest
from pyiree.runtime.vmfb import abi


@pytest.mark.parametrize("text", ["0v_v", "0ii_i", "0iIfFr_rFfIi", "0rrIiiiICiDCiirIID_v", *abi.HAL_IMPORTS.values()])
def test_conventions_round_trip(text):
    assert str(abi.parse_convention(text)) == text


@pytest.mark.parametrize("text", ["", "v_v", "0v", "0x_v", "0Ci_v", "0CD_v", "0CCiDD_v", "1i_i"])
def test_malformed_conventions(text):
    with pytest.raises(ValueError, match="calling convention"):
        abi.parse_convention(text)


def test_variadic():
    convention = abi.parse_convention("0iCrID_v")
    assert convention.is_variadic
    assert convention.arguments == ("i", abi.Span("rI"))
    assert not abi.parse_convention("0i_v").is_variadic


def test_registers():
    assert abi.assign_registers("iIriI") == ([0, 2, 0, 4, 6], 8, 1)
    assert abi.assign_registers("") == ([], 0, 0)
    assert abi.assign_registers("fFrrf") == ([0, 2, 0, 1, 4], 5, 2)


def test_element_types():
    assert len(abi.ELEMENT_TYPES) == len(abi.ELEMENT_NAMES)
    bits = {"i1": 8, "i4": 4, "bf16": 16, "complex<f64>": 128, "f8E4M3FN": 8}
    assert {name: abi.element_bits(abi.ELEMENT_TYPES[name]) for name in bits} == bits


def test_hal_table_has_every_import():
    assert len(abi.HAL_IMPORTS) == 54
    assert (abi.BARRIER_SOURCE_STAGES, abi.BARRIER_TARGET_STAGES) == (28, 13)
    assert int(abi.BufferUsage.DEFAULT) == 3075


SCALARS = {"u8": ctypes.c_uint8, "u16": ctypes.c_uint16, "u32": ctypes.c_uint32, "u64": ctypes.c_uint64,
           "ptr": ctypes.c_void_p}


@pytest.mark.parametrize(
    "layout", [abi.LIBRARY_HEADER, abi.LIBRARY, abi.DISPATCH_ATTRIBUTES, abi.ENVIRONMENT, abi.DISPATCH_STATE,
               abi.WORKGROUP_STATE]
)
def test_layouts_have_no_overlaps(layout):
    end = 0
    for offset, kind in layout.fields.values():
        size = ctypes.sizeof(SCALARS[kind])
        assert offset >= end and offset % size == 0
        end = offset + size
    assert end <= layout.size
