"""Strings of a loaded executable are read within their segment: what lies behind it may not be readable."""

import ctypes
import mmap

import pytest
from pyiree.runtime.hal.elf_loader import ElfError, LoadedElf


@pytest.fixture
def segments():
    """Two pages of which only the first may be read; its last bytes are a name."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    memory = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    memory[mmap.PAGESIZE - 5 : mmap.PAGESIZE] = b"name\0"
    assert libc.mprotect(start + mmap.PAGESIZE, mmap.PAGESIZE, 0) == 0
    yield start
    libc.mprotect(start + mmap.PAGESIZE, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE)


def test_a_name_at_the_end_of_a_segment(segments):
    end = segments + mmap.PAGESIZE
    elf = LoadedElf(segments, 2 * mmap.PAGESIZE, {}, [(segments, end)], [])
    assert elf.string(end - 5) == b"name"
    assert elf.contains(end - 8, 8) and not elf.contains(end - 4, 8)
    with pytest.raises(ElfError):
        elf.string(end)
