"""Loop IR: ops are built once, in the outermost block where they may run; what nothing uses is dropped; it prints."""

import pytest
from pyiree.compiler.codegen import target as targets
from pyiree.compiler.codegen.llvm.emit import Module
from pyiree.compiler.codegen.llvm.kernel import Kernel
from pyiree.compiler.codegen.loop_printer import print_kernel
from pyiree.compiler.codegen.loops import INDEX, KernelBuilder, vector
from pyiree.compiler.codegen.lower_loops import lower_kernel


def lines(builder):
    return [line.strip() for line in print_kernel(builder.finish()).splitlines()]


def test_invariants_leave_the_loop_and_equal_ops_are_one():
    b = KernelBuilder("k")
    source, out = b.binding("in0", "f32", 0, 0, False), b.binding("out1", "f32", 1, 0, True)
    with b.for_(0, 4) as rows:
        start = b.mul(rows.index, 64)
        with b.for_(0, 64, 16) as columns:
            scale = b.splat(b.load(source, rows.index, 0, 1), 16)
            again = b.splat(b.load(source, rows.index, 0, 1), 16)
            assert scale is again
            value = b.op("arith.mulf", (scale, b.load(source, b.add(start, columns.index), 0, 16)), scale.type)
            b.store(value, out, b.add(start, columns.index))
    text = lines(b)
    inner = next(k for k, line in enumerate(text) if line.startswith("for") and "step 16" in line)
    assert sum("splat" in line for line in text) == 1
    assert all("splat" not in line and "muli" not in line for line in text[inner:])


def test_what_may_trap_stays_in_a_loop_that_may_not_run():
    b = KernelBuilder("k")
    source, out = b.binding("in0", "i64", 0, 0, False), b.binding("out1", "i64", 1, 0, True)
    count, divisor = b.load(source, 0, 0, 1), b.load(source, 1, 0, 1)
    with b.for_(0, count) as loop:
        quotient = b.op("arith.divsi", (count, divisor), INDEX)
        b.store(quotient, out, loop.index)
    text = lines(b)
    loop_at = next(k for k, line in enumerate(text) if line.startswith("for"))
    assert any("divsi" in line for line in text[loop_at:])
    assert not any("divsi" in line for line in text[:loop_at])


def test_nothing_moves_out_of_an_if():
    b = KernelBuilder("k")
    source, out = b.binding("in0", "f32", 0, 0, False), b.binding("out1", "f32", 1, 0, True)
    flag = b.op("arith.cmpi", (b.workgroup_id(), b.index(3)), vector("i1"), "slt")
    with b.if_(flag):
        b.store(b.load(source, 5, 0, 1), out, 0)
    text = lines(b)
    assert next(k for k, line in enumerate(text) if "load" in line) > next(
        k for k, line in enumerate(text) if line.startswith("if")
    )


def test_memory_that_is_written_is_read_again():
    b = KernelBuilder("k")
    row = b.local("row", "f32", 64)
    first, second = b.load(row, 0, 0, 16), b.load(row, 0, 0, 16)
    assert first is not second
    assert b.local_bytes == 256


def test_unused_ops_are_dropped():
    b = KernelBuilder("k")
    source, out = b.binding("in0", "f32", 0, 0, False), b.binding("out1", "f32", 1, 0, True)
    b.op("math.exp", (b.load(source, 7, 0, 16),), vector("f32", 16))
    with b.for_(0, 8):
        b.op("math.sin", (b.load(source, 9, 0, 16),), vector("f32", 16))
    b.store(b.load(source, 0, 0, 16), out, 0)
    text = "\n".join(lines(b))
    assert "math" not in text and "for" not in text and text.count("load") == 1


def test_index_arithmetic_folds():
    b = KernelBuilder("k")
    x = b.workgroup_id()
    assert b.add(3, 4) == 7 and b.mul(x, 1) is x and b.mul(x, 0) == 0 and b.add(x, 0) is x
    assert b.round_down(37, 16) == 32 and b.ceildiv(37, 16) == 3 and b.min(b.index(5), 3) == 3


def test_types_are_one_object_each():
    assert vector("f32") is vector("f32", 1) is vector("f32", lanes=1)
    with pytest.raises(ValueError, match="no element type"):
        vector("f8")


def test_carried_types_are_checked():
    b = KernelBuilder("k")
    with pytest.raises(TypeError, match="carries"), b.for_(0, 4, carried=[b.const(0, vector("f32"))]) as loop:
        loop.yield_(b.const(0, vector("i32")))


def test_memory_is_asked_for_near_or_far():
    b = KernelBuilder("k")
    source = b.binding("in0", "f32", 0, 0, False)
    with b.for_(0, 64, 16) as loop:
        b.prefetch(source, loop.index, 32)
        b.prefetch(source, loop.index, 512, near=False)
    assert lines(b)[2:4] == ["prefetch %in0[%0 + 32]", "prefetch.far %in0[%0 + 512]"]


def test_local_memory_has_a_limit():
    b = KernelBuilder("k")
    b.local("a", "f32", 100000)
    with pytest.raises(MemoryError, match="local memory"):
        b.local("b", "f32", 100000)


def test_an_address_with_many_offsets_is_frozen():
    """Few accesses keep their address as it is computed, which LLVM may take for a counter of its own."""
    for count, frozen in ((15, 0), (16, 1)):
        b = KernelBuilder("k")
        source, out = b.binding("in0", "f32", 0, 0, False), b.binding("out1", "f32", 1, 0, True)
        with b.for_(0, 64, 1) as loop:
            values = [b.load(source, loop.index, offset, 1) for offset in range(count)]
            total = values[0]
            for value in values[1:]:
                total = b.op("arith.addf", (total, value), value.type)
            b.store(total, out, loop.index)
        target = targets.named("x86-64-v3")
        module = Module(target)
        kernel = Kernel(module, "k")
        lower_kernel(b.finish(), kernel, target)
        kernel.finish()
        assert module.text().count("freeze ptr") == frozen
