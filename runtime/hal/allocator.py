"""Native memory pools: 64-byte aligned blocks in size classes, reused when freed.

Enters: a pool and a size. Leaves: the address of a block of its size class. Small blocks are cut from slabs
that are kept; a large one is an allocation of its own, on huge pages where the system has them, and is kept
for reuse up to a limit.
"""

from pyiree.runtime.hal import layout as hal
from pyiree.runtime.native.intrinsics import (
    aligned_alloc,
    count_leading_zeros,
    extern,
    free,
    load_i64,
    memset,
    native,
    store_i64,
)
from pyiree.runtime.task.lock import acquire_lock, release_lock

_LARGEST = 1 << 46
_MADV_HUGEPAGE = 14

_madvise = extern("madvise", 3)


@native("int64(int64)")
def pool_create(cache_limit):
    """A pool that keeps up to `cache_limit` bytes of large free blocks; it lives as long as the process."""
    pool = aligned_alloc(hal.POOL_ALIGNMENT, (hal.POOL_BYTES + hal.POOL_ALIGNMENT - 1) & -hal.POOL_ALIGNMENT)
    memset(pool, 0, hal.POOL_BYTES)
    store_i64(pool + hal.POOL_CACHE_LIMIT, cache_limit)
    return pool


@native("int64(int64)")
def size_class(size):
    """The class of blocks that hold `size` bytes: 64, 128, 192, 256, then four a power of two."""
    if size <= 256:
        return (size + 63) // 64 - 1 if size > 0 else 0
    bits = 63 - count_leading_zeros(size - 1)
    return 4 + (bits - 8) * 4 + ((size - 1 - (1 << bits)) >> (bits - 2))


@native("int64(int64)")
def class_bytes(index):
    if index < 4:
        return (index + 1) * 64
    bits = 8 + (index - 4) // 4
    return (1 << bits) + ((index - 4) % 4 + 1) * (1 << (bits - 2))


@native("int64(int64,int64)")
def _cut_from_slab(pool, size):
    """A new small block; the pool is locked."""
    block = load_i64(pool + hal.POOL_CHUNK)
    if block + size > load_i64(pool + hal.POOL_CHUNK_END):
        block = aligned_alloc(4096, hal.SLAB_BYTES)
        if block == 0:
            return 0
        store_i64(pool + hal.POOL_CHUNK_END, block + hal.SLAB_BYTES)
    store_i64(pool + hal.POOL_CHUNK, block + size)
    return block


@native("int64(int64)")
def _allocate_large(size):
    if size < 2 * hal.HUGE_PAGE:
        return aligned_alloc(4096, (size + 4095) & -4096)
    whole = (size + hal.HUGE_PAGE - 1) & -hal.HUGE_PAGE
    block = aligned_alloc(hal.HUGE_PAGE, whole)
    if block != 0:
        _madvise(block, whole, _MADV_HUGEPAGE)
    return block


@native("int64(int64,int64)")
def pool_allocate(pool, size):
    """A block for `size` bytes; 0 when memory is short."""
    if size < 0 or size > _LARGEST:
        return 0
    index = size_class(size)
    size = class_bytes(index)
    head = pool + hal.POOL_FREE + 8 * index
    small = size <= hal.LARGEST_SLAB_BLOCK
    acquire_lock(pool + hal.POOL_LOCK)
    block = load_i64(head)
    if block != 0:
        store_i64(head, load_i64(block))
        store_i64(pool + hal.POOL_CACHED, load_i64(pool + hal.POOL_CACHED) - size)
    elif small:
        block = _cut_from_slab(pool, size)
    if block == 0 and not small:
        release_lock(pool + hal.POOL_LOCK)
        block = _allocate_large(size)
        acquire_lock(pool + hal.POOL_LOCK)
    if block != 0:
        live = load_i64(pool + hal.POOL_LIVE) + size
        store_i64(pool + hal.POOL_LIVE, live)
        if live > load_i64(pool + hal.POOL_PEAK):
            store_i64(pool + hal.POOL_PEAK, live)
        store_i64(pool + hal.POOL_ALLOCATIONS, load_i64(pool + hal.POOL_ALLOCATIONS) + 1)
        store_i64(pool + hal.POOL_LIVE_BLOCKS, load_i64(pool + hal.POOL_LIVE_BLOCKS) + 1)
    release_lock(pool + hal.POOL_LOCK)
    return block


@native("void(int64,int64,int64)")
def pool_free(pool, block, index):
    """Takes a block of a size class back."""
    size = class_bytes(index)
    acquire_lock(pool + hal.POOL_LOCK)
    store_i64(pool + hal.POOL_LIVE, load_i64(pool + hal.POOL_LIVE) - size)
    store_i64(pool + hal.POOL_LIVE_BLOCKS, load_i64(pool + hal.POOL_LIVE_BLOCKS) - 1)
    cached = load_i64(pool + hal.POOL_CACHED) + size
    keep = size <= hal.LARGEST_SLAB_BLOCK or cached <= load_i64(pool + hal.POOL_CACHE_LIMIT)
    if keep:
        head = pool + hal.POOL_FREE + 8 * index
        store_i64(block, load_i64(head))
        store_i64(head, block)
        store_i64(pool + hal.POOL_CACHED, cached)
    release_lock(pool + hal.POOL_LOCK)
    if not keep:
        free(block)


@native("int64(int64,int64)")
def block_tag(pool, size):
    """Pool and size class of a block for `size` bytes in one word, with which `free_tagged` takes it back."""
    return pool + size_class(size)


@native("void(int64,int64)")
def free_tagged(block, tag):
    pool_free(tag & -hal.POOL_ALIGNMENT, block, tag & (hal.POOL_ALIGNMENT - 1))


@native("int64(int64)")
def pool_trim(pool):
    """Gives all large free blocks back to the system; how many bytes that were."""
    given = 0
    for index in range(size_class(hal.LARGEST_SLAB_BLOCK) + 1, hal.POOL_CLASSES):
        acquire_lock(pool + hal.POOL_LOCK)
        block = load_i64(pool + hal.POOL_FREE + 8 * index)
        store_i64(pool + hal.POOL_FREE + 8 * index, 0)
        chain = block
        count = 0
        while chain != 0:
            chain = load_i64(chain)
            count += 1
        size = class_bytes(index) * count
        store_i64(pool + hal.POOL_CACHED, load_i64(pool + hal.POOL_CACHED) - size)
        release_lock(pool + hal.POOL_LOCK)
        given += size
        while block != 0:
            chain = load_i64(block)
            free(block)
            block = chain
    return given
