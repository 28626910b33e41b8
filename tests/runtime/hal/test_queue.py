"""Queue operations, fences and command buffers through the native imports."""

import time

import numpy as np
import pytest
from pyiree.runtime.native.image import image
from pyiree.runtime.vm.errors import VmError

PENDING = 17
LARGE = 3 << 20


def queue(hal, wait, signal):
    return hal.device, -1, wait, signal


def test_operations_wait_for_their_fence_and_signal_theirs(hal):
    start, filled, copied = hal.fence(), hal.fence(), hal.fence()
    source, target = hal.buffer(256, 1), hal.buffer(256, 2)
    hal.call("device.queue.copy", *queue(hal, filled, copied), source, 0, target, 0, 256, 0)
    hal.call("device.queue.fill", *queue(hal, start, filled), source, 0, 256, 0x0807, 2, 0)
    assert hal.call("fence.query", copied) == PENDING and hal.array(target)[0] == 2
    hal.call("fence.signal", start)
    assert hal.wait(copied) == 0
    assert hal.array(target).view(np.uint16).tolist() == [0x0807] * 128


def test_failure_reaches_what_waits(hal):
    start, end = hal.fence(), hal.fence()
    target = hal.buffer(64, 1)
    hal.call("device.queue.fill", *queue(hal, start, end), target, 0, 64, 5, 1, 0)
    hal.call("fence.fail", start, 9)
    assert hal.wait(end) == 9 and hal.array(target)[0] == 1


def test_join(hal):
    first, second = hal.fence(), hal.fence()
    joined = hal.call("fence.join", 0, 3, first, 0, second)
    hal.call("fence.signal", first)
    assert hal.call("fence.query", joined) == PENDING
    hal.call("fence.signal", second)
    assert hal.wait(joined) == 0
    assert hal.wait(hal.call("fence.join", 0, 0)) == 0
    failed = hal.fence()
    hal.call("fence.fail", failed, 10)
    assert hal.wait(hal.call("fence.join", 0, 2, first, failed)) == 10


def test_await_has_a_deadline(hal):
    fence = hal.fence()
    assert hal.wait(fence, timeout=0) == 4
    start = time.perf_counter()
    assert hal.wait(fence, timeout=80) == 4
    assert 0.07 < time.perf_counter() - start < 1


def test_fence_that_nobody_can_signal_fails_its_waiters(hal):
    lost, end = hal.fence(), hal.fence()
    hal.call("device.queue.barrier", *queue(hal, lost, end), 0)
    image().release(lost)
    assert hal.wait(end) == 10


def test_long_chains_of_waiting_operations(hal):
    """A chain is settled in a loop: recursion would exhaust the stack."""
    start = fence = hal.fence()
    for _ in range(20000):
        following = hal.fence()
        hal.call("device.queue.barrier", *queue(hal, fence, following), 0)
        fence = following
    hal.call("fence.signal", start)
    assert hal.wait(fence) == 0


def test_large_transfers_are_split(hal):
    rng = np.random.default_rng(1)
    content = rng.integers(0, 256, LARGE, np.uint8)
    source, target = hal.buffer(LARGE, content), hal.buffer(LARGE, 0)
    done = hal.fence()
    hal.call("device.queue.copy", *queue(hal, 0, done), source, 0, target, 5, LARGE - 5, 0)
    assert hal.wait(done) == 0
    assert np.array_equal(hal.array(target)[5:], content[:-5])
    done = hal.fence()
    hal.call("device.queue.fill", *queue(hal, 0, done), target, 8, LARGE - 8, 0x01020304, 4, 0)
    assert hal.wait(done) == 0
    assert np.all(hal.array(target)[8:].view(np.uint32) == 0x01020304)


def test_update_and_file(hal):
    target, done = hal.buffer(16, 0), hal.fence()
    data = hal.text(bytes(range(32)))
    hal.call("device.queue.update", *queue(hal, 0, done), data, 4, target, 0, 8, 0)
    assert hal.array(target).tolist() == [4, 5, 6, 7, 8, 9, 10, 11] + [0] * 8
    file = hal.call("ex.file.from_memory", hal.device, -1, 1, data, 16, 16, 0)
    hal.call("device.queue.read", *queue(hal, 0, done), file, 8, target, 0, 4, 0)
    assert hal.array(target)[:4].tolist() == [24, 25, 26, 27]
    with pytest.raises(VmError, match="read-only"):
        hal.call("device.queue.write", *queue(hal, 0, 0), target, 0, file, 0, 4, 0)


def record(hal, *commands, capacity=2):
    buffer = hal.call("command_buffer.create", hal.device, 0, 3, -1, capacity)
    for name, *slots in commands:
        hal.call(f"command_buffer.{name}", buffer, *slots)
    hal.call("command_buffer.finalize", buffer)
    return buffer


def execute(hal, commands, *table):
    done = hal.fence()
    triples = [slot for entry in table for slot in entry]
    hal.call("device.queue.execute.indirect", *queue(hal, 0, done), commands, 0, len(table), *triples)
    return hal.wait(done)


def test_command_buffer_with_slots_and_barriers(hal):
    barrier = ("execution_barrier", 28, 13, 0)
    commands = record(
        hal,
        ("fill_buffer", 0, 0, 64, 0, 7, 1, 0),
        ("fill_buffer", 0, 64, 64, 0, 9, 1, 0),
        barrier,
        ("copy_buffer", 0, 1, 0, 0, 0, 64, 64, 0),
        ("copy_buffer", 0, 1, 0, 64, 0, 0, 64, 0),
        barrier,
        barrier,
        ("update_buffer", hal.text(b"xyz"), 0, 0, 1, 3, 1, 0),
    )
    for _ in range(50):
        first, second = hal.buffer(128, 0), hal.buffer(128, 0)
        assert execute(hal, commands, (first, 0, 128), (second, 0, 128)) == 0
        assert bytes(hal.array(second)) == b"\x09xyz" + b"\x09" * 60 + b"\x07" * 64
        image().release(first)
        image().release(second)


def test_command_buffer_misuse(hal):
    commands = record(hal, ("fill_buffer", 0, 0, 64, 0, 7, 1, 0))
    small = hal.buffer(32)
    for table, status in (((small, 0, 32), 11), ((small, 16, 32), 11), ((0, 0, 0), 9)):
        with pytest.raises(VmError) as failure:
            execute(hal, commands, table)
        assert failure.value.status == status
    with pytest.raises(VmError, match="refused"):
        hal.call("command_buffer.finalize", commands)
    unfinished = hal.call("command_buffer.create", hal.device, 0, 3, -1, 1)
    with pytest.raises(VmError, match="not finalized"):
        execute(hal, unfinished, (small, 0, 32))
    with pytest.raises(VmError):
        hal.call("command_buffer.fill_buffer", unfinished, 0, 0, 64, 5, 7, 1, 0)  # slot 5 of 1
    with pytest.raises(VmError):
        hal.call("command_buffer.finalize", unfinished)
    with pytest.raises(VmError, match="null"):
        hal.call("fence.signal", 0)
    with pytest.raises(VmError, match="wrong type"):
        hal.call("fence.signal", small)


def test_wide_groups_through_barrier_nodes(hal):
    """Many commands side by side, then many more, large enough to be spread over the workers."""
    size = 1 << 19
    fills = [("fill_buffer", 0, k * size, size, 0, k + 1, 1, 0) for k in range(6)]
    copies = [("copy_buffer", 0, 1, 0, k * size, 0, (5 - k) * size, size, 0) for k in range(6)]
    commands = record(hal, *fills, ("execution_barrier", 28, 13, 0), *copies)
    first, second = hal.buffer(6 * size), hal.buffer(6 * size)
    for _ in range(20):
        hal.array(second)[:] = 0
        assert execute(hal, commands, (first, 0, -1), (second, 0, -1)) == 0
        assert hal.array(second)[::size].tolist() == [6, 5, 4, 3, 2, 1]
        assert hal.array(second)[size - 1 :: size].tolist() == [6, 5, 4, 3, 2, 1]


def test_null_device_runs_nothing(null_hal):
    target = null_hal.buffer(64, 1)
    commands = record(null_hal, ("fill_buffer", 0, 0, 64, 0, 7, 1, 0))
    assert execute(null_hal, commands, (target, 0, 64)) == 0
    assert null_hal.array(target)[0] == 1
