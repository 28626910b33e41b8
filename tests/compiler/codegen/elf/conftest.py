"""A checker of the rules that IREE's embedded ELF loader has for a shared object."""

import struct

import pytest

PT_LOAD, PT_DYNAMIC, PT_GNU_RELRO = 1, 2, 0x6474E552
ALLOWED_RELOCATIONS = {62: {0, 8}, 183: {0, 1027}}  # none and RELATIVE: what our linker makes


@pytest.fixture(scope="session")
def check_shared_object():
    """A function that asserts every rule and gives {exported name: (address, section number)}."""
    return _check


def _check(image: bytes) -> dict[str, tuple[int, int]]:
    ident, kind, machine, version, _, phoff, shoff, _, ehsize, phsize, phnum, shsize, shnum, shstr = struct.unpack_from(
        "<16sHHIQQQIHHHHHH", image
    )
    assert ident[:7] == b"\x7fELF\x02\x01\x01"
    assert (kind, version) == (3, 1)
    assert machine in ALLOWED_RELOCATIONS
    assert (ehsize, phsize, shsize) == (64, 56, 64)
    assert phnum and phoff + phnum * 56 <= len(image)
    assert shnum and shoff and shoff + shnum * 64 <= len(image)
    assert shstr < shnum

    headers = [struct.unpack_from("<IIQQQQQQ", image, phoff + 56 * k) for k in range(phnum)]
    page = 0x1000 if machine == 62 else 0x10000
    loads = [h for h in headers if h[0] == PT_LOAD]
    pages = {}
    for number, (_, flags, offset, address, _, in_file, memory, align) in enumerate(loads):
        assert flags & 3 != 3, "writable and executable"
        assert offset + in_file <= len(image) and in_file <= memory
        assert align == page and offset % page == address % page
        for p in range(address // page, -(-(address + memory) // page)):
            assert pages.setdefault(p, number) == number, "two segments share a page"
    dynamic = [h for h in headers if h[0] == PT_DYNAMIC]
    assert len(dynamic) == 1

    def at(address: int, size: int) -> bytes:
        for _, _, offset, start, _, in_file, _, _ in loads:
            if start <= address and address + size <= start + in_file:
                return image[offset + address - start : offset + address - start + size]
        raise AssertionError(f"{address:#x} is in no segment")

    _, _, offset, address, _, size, _, _ = dynamic[0]
    assert at(address, size) == image[offset : offset + size]
    tags = dict(struct.iter_unpack("<QQ", at(address, size)))
    assert 0 in tags and not {17, 18, 1} & tags.keys()
    assert tags[11] == 24 and tags[9] == 24
    buckets, count = struct.unpack("<II", at(tags[4], 8))
    chain = struct.unpack(f"<{buckets + count}I", at(tags[4] + 8, 4 * (buckets + count)))
    reached, seen = chain[0], set()
    while reached:
        assert reached not in seen
        seen.add(reached)
        reached = chain[buckets + reached]
    assert seen == set(range(1, count))

    strings = at(tags[5], tags[10])
    symbols = {}
    for k, (name, info, _, section, value, _) in enumerate(struct.iter_unpack("<IBBHQQ", at(tags[6], 24 * count))):
        if k:
            assert section and info >> 4 == 1
            symbols[strings[name : strings.index(b"\0", name)].decode()] = (value, section)
    writable = [(h[3], h[3] + h[6]) for h in loads if h[1] & 2]
    for place, info, target in struct.iter_unpack("<QQq", at(tags[7], tags[8]) if tags[8] else b""):
        assert info in ALLOWED_RELOCATIONS[machine]
        assert any(start <= place and place + 8 <= end for start, end in writable)
        assert any(h[3] <= target <= h[3] + h[6] for h in loads)
    for _, _, _, address, _, _, memory, _ in (h for h in headers if h[0] == PT_GNU_RELRO):
        assert {pages.get(p) for p in range(address // page, (address + memory) // page)} <= {
            number for number, h in enumerate(loads) if h[3] == address
        }
    return symbols
