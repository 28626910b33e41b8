"""Arrays on the command line."""

import ml_dtypes
import numpy as np
import pytest
from pyiree.cli.output import CommandError
from pyiree.cli.tensors import format_tensor, parse_tensor


@pytest.mark.parametrize(
    ("text", "dtype", "values"),
    [
        ("4xf32=1,2,3,4", np.float32, [1, 2, 3, 4]),
        ("4xf32=1 2 3 4", np.float32, [1, 2, 3, 4]),
        ("2x2xi32=[1 2][3 4]", np.int32, [[1, 2], [3, 4]]),
        ("2x3xf64=7", np.float64, [[7] * 3] * 2),
        ("f32=2.5", np.float32, 2.5),
        ("3xi8", np.int8, [0, 0, 0]),
        ("2xi1=true,0", np.bool_, [True, False]),
        ("2xui8=255,0x10", np.uint8, [255, 16]),
        ("2xbf16=1,2", ml_dtypes.bfloat16, [1, 2]),
        ("2xcomplex<f32>=1+2j,3", np.complex64, [1 + 2j, 3]),
        ("3xf32=nan,inf,-inf", np.float32, [np.nan, np.inf, -np.inf]),
        ("0x3xf32=", np.float32, np.zeros((0, 3))),
    ],
)
def test_parse(text, dtype, values):
    got = parse_tensor(text)
    want = np.array(values).astype(dtype)
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_array_equal(got, want)


def test_files(tmp_path):
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(tmp_path / "x.npy", array)
    array.tofile(tmp_path / "x.bin")
    np.testing.assert_array_equal(parse_tensor(f"@{tmp_path}/x.npy"), array)
    np.testing.assert_array_equal(parse_tensor(f"2x3xf32=@{tmp_path}/x.bin"), array)


@pytest.mark.parametrize(
    "text",
    ["", "4xf33=1", "4xf32=1,2", "x4f32=1", "4xi32=1.5", "f32=one", "4x=1", "2xi8=300", f"{2**40}x{2**40}xf32=1"],
)
def test_errors_name_the_input(text):
    with pytest.raises(CommandError, match="--input="):
        parse_tensor(text)


def test_files_of_another_kind_are_named(tmp_path):
    (tmp_path / "empty.npy").write_bytes(b"")
    (tmp_path / "text.npy").write_bytes(b"not an array")
    np.save(tmp_path / "objects.npy", np.array([None]), allow_pickle=True)
    np.savez(tmp_path / "archive.npz", a=np.ones(3))
    for name in ("empty.npy", "text.npy", "objects.npy", "archive.npz"):
        with pytest.raises(CommandError, match=f"--input=@.*{name}: (no .npy file|an archive of arrays .a.)"):
            parse_tensor(f"@{tmp_path / name}")


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.float32([1, 2.5, -3e-8]), "3xf32=1 2.5 -3E-08"),
        (np.arange(4, dtype=np.int32).reshape(2, 2), "2x2xi32=[0 1][2 3]"),
        (np.float64(3), "f64=3"),
        (np.array([True, False]), "2xi1=1 0"),
        (np.zeros((2, 1, 2), np.uint8), "2x1x2xui8=[[0 0]][[0 0]]"),
    ],
)
def test_format(array, text):
    assert format_tensor(np.asarray(array)).lower() == text.lower()


def test_long_arrays_are_elided():
    assert format_tensor(np.zeros(2000, np.int8), limit=3) == "2000xi8=0 0 0 ..."
