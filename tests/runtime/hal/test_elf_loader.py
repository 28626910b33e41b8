"""The ELF loader on executables that iree-compile and this project's own linker made, whole and damaged."""

import random
import struct

import pytest
from pyiree.runtime.hal import layout
from pyiree.runtime.hal.elf_loader import ElfError, load_elf
from pyiree.runtime.hal.executable import ExecutableError, create_executable
from pyiree.runtime.native.image import image
from pyiree.runtime.native.python_objects import read_word
from pyiree.runtime.vmfb import archive


@pytest.fixture(scope="module")
def elf(iree_module):
    definition = archive.read_module(iree_module("layer").read_bytes())
    return next(
        bytes(s.data) for s in definition.rodata_segments if bytes(s.data[:4]) == b"\x7fELF"
    )


def test_exports_of_a_compiled_executable(elf):
    address, own = create_executable(elf)
    assert not own
    assert read_word(address + layout.EXECUTABLE_COUNT) == 1
    export = read_word(address + layout.EXECUTABLE_EXPORTS)
    assert read_word(export + layout.EXPORT_BINDING_COUNT) == 4
    assert read_word(export + layout.EXPORT_CONSTANT_COUNT) == 0
    image().release(address)


def test_pages_are_never_writable_and_executable(elf):
    loaded = load_elf(elf)
    with open("/proc/self/maps") as maps:
        mine = []
        for line in maps:
            start, end = (int(x, 16) for x in line.split()[0].split("-"))
            if start < loaded.base + loaded.size and end > loaded.base:
                mine.append(line.split()[1])
    loaded.unmap()
    assert any("x" in flags for flags in mine)
    assert not any("w" in flags and "x" in flags for flags in mine)


def test_wrong_constants_are_named(elf):
    with pytest.raises(ExecutableError, match="takes 0 constants, not 2"):
        create_executable(elf, [1, 2])


@pytest.mark.parametrize("size", [0, 3, 63, 64, 100, 200])
def test_truncated(elf, size):
    with pytest.raises(ElfError):
        load_elf(elf[:size])


def test_truncated_anywhere(elf):
    for size in range(0, len(elf), 97):
        with pytest.raises(ElfError):
            load_elf(elf[:size])


@pytest.mark.parametrize(
    ("offset", "value", "reason"),
    [
        (0, b"\x7fELG", "no ELF"),
        (4, b"\x01", "64-bit"),
        (16, b"\x02\x00", "no shared object"),
        (18, b"\x03\x00", "machine 3"),
        (52, b"\x41\x00", "header sizes"),
        (56, b"\x00\x00", "no program headers"),
        (32, b"\xff\xff\xff\xff\xff\xff\xff\x7f", "program headers"),
        (60, b"\x00\x00", "no section headers"),
    ],
)
def test_bad_header(elf, offset, value, reason):
    with pytest.raises(ElfError, match=reason):
        load_elf(elf[:offset] + value + elf[offset + len(value) :])


def test_writable_code_is_refused(elf):
    count = struct.unpack_from("<H", elf, 56)[0]
    start = struct.unpack_from("<Q", elf, 32)[0]
    for k in range(count):
        kind, flags = struct.unpack_from("<II", elf, start + 56 * k)
        if kind == 1 and flags & 1:
            at = start + 56 * k + 4
            with pytest.raises(ElfError, match="writable and executable"):
                load_elf(elf[:at] + struct.pack("<I", 7) + elf[at + 4 :])


def test_random_damage_of_the_headers_and_tables(elf):
    """Loads or raises; what is loaded isn't run."""
    loaded = load_elf(elf)
    text = min(start for start, _ in loaded._code) - loaded.base
    loaded.unmap()
    rng = random.Random(5)
    dynamic = [
        struct.unpack_from("<IIQQQQ", elf, struct.unpack_from("<Q", elf, 32)[0] + 56 * k)
        for k in range(struct.unpack_from("<H", elf, 56)[0])
    ]
    places = list(range(min(text, len(elf))))
    for segment in dynamic:
        if segment[0] == 2:
            places += range(segment[2], segment[2] + segment[5])
    refused = 0
    for _ in range(1500):
        damaged = bytearray(elf)
        for _ in range(rng.choice([1, 1, 2, 8])):
            damaged[rng.choice(places)] = rng.randrange(256)
        try:
            load_elf(damaged).unmap()
        except ElfError:
            refused += 1
    assert refused > 300
