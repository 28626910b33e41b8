"""Damaged `.vmfb` files give errors; a file with a digest of its executables never runs damaged code."""

import random

import numpy as np
import pytest
from pyiree.runtime import session
from pyiree.runtime.vmfb import archive
from pyiree.runtime.vmfb.digest import DIGEST_ATTRIBUTE, executable_digest
from pyiree.runtime.vmfb.errors import ModuleError
from pyiree.runtime.vmfb.schema import AttrDef


@pytest.fixture(scope="module")
def signed(iree_module):
    """The program `add` with the digest that our compiler would leave in it."""
    definition = archive.read_module(iree_module("add").read_bytes())
    digest = executable_digest(segment.data for segment in definition.rodata_segments)
    definition.attrs = [*definition.attrs, AttrDef(DIGEST_ATTRIBUTE, digest)]
    return archive.write_module(definition)


def test_good_digest(signed):
    one = np.ones(4, np.float32)
    assert np.asarray(session.load(signed).main(one, one)).tolist() == [2] * 4


def test_any_change_of_an_executable_is_noticed(signed):
    start = signed.index(b"\x7fELF")
    size = len(next(s.data for s in archive.read_module(signed).rodata_segments if s.data[:4] == b"\x7fELF"))
    rng = random.Random(1)
    for place in [start + 4, start + size - 1, *(start + rng.randrange(4, size) for _ in range(60))]:
        damaged = bytearray(signed)
        damaged[place] ^= 1 << rng.randrange(8)
        with pytest.raises(ModuleError, match="do not match their digest"):
            session.load(bytes(damaged))


def test_a_damaged_name_of_the_digest_is_no_missing_digest(signed):
    damaged = bytearray(signed)
    damaged[signed.index(DIGEST_ATTRIBUTE.encode()) + 3] ^= 1
    session.load(bytes(damaged))
    damaged[signed.index(b"\x7fELF") + 200] ^= 1
    with pytest.raises(ModuleError, match="do not match their digest"):
        session.load(bytes(damaged))


def test_changes_elsewhere_never_crash(signed, python_child, tmp_path):
    """Bytes outside of the executable: the file loads and runs, or an exception says why not."""
    path = tmp_path / "signed.vmfb"
    path.write_bytes(signed)
    out = python_child(
        """
import random, sys
import numpy as np
from pyiree.runtime import session
content = open(sys.argv[1], "rb").read()
code = range(content.index(b"\\x7fELF"), len(content))
rng = random.Random(int(sys.argv[2]))
one, counts = np.ones(4, np.float32), [0, 0]
for _ in range(400):
    damaged = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 5])):
        damaged[rng.randrange(code[0])] = rng.randrange(256)
    try:
        module = session.load(bytes(damaged), devices="local-sync")
        for function in module.functions.values():
            function.call_numpy([one, one])
        counts[0] += 1
    except Exception as error:
        assert str(error), repr(error)
        counts[1] += 1
print(*counts)
""",
        path,
        7,
    ).stdout
    ran, refused = map(int, out.split())
    assert ran + refused == 400 and refused > 100
