"""Objects: equal bytes from threads and from one thread, cached by everything they depend on."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from pyiree.compiler.codegen import target as targets
from pyiree.compiler.codegen.llvm import objects
from pyiree.compiler.codegen.llvm.emit import Module
from pyiree.compiler.codegen.llvm.objects import Unit, assembly, compile_object, compile_objects, object_key
from pyiree.compiler.codegen.llvm.values import F32, I64, PTR, vec
from pyiree.compiler.errors import CompileError

HOST = targets.host()


def _kernel(name, target=HOST, count=20):
    m = Module(target)
    f = m.function(name, [("p", "ptr noalias"), ("n", I64)], linkage="hidden")
    ty = vec(target.lanes(32), F32)
    with f.for_(0, f.args["n"], target.lanes(32)) as loop:
        p = f.gep(f.args["p"], loop.index, F32)
        x = f.load(ty, p)
        for k in range(count):
            x = f.fadd(f.fmul(x, x), k + 0.5)
        f.store(x, p)
    f.ret()
    return m.text()


class Cache(dict):
    puts = 0

    def put(self, key, data):
        self.puts += 1
        self[key] = data


def test_threads_give_the_bytes_of_one():
    texts = [_kernel(f"k{i}", count=30 + i) for i in range(24)]
    assert compile_objects(texts, HOST) == compile_objects(texts, HOST, parallel=False)


def test_many_threads_compile_at_once():
    """Callers from several threads, each with its own target machines."""
    texts = [_kernel(f"k{i}") for i in range(6)]
    want = [compile_object(t, HOST) for t in texts]
    failures = []

    def work():
        for _ in range(5):
            for cpu in ("x86-64", "generic"):
                compile_object(_kernel("k", targets.named(cpu)), targets.named(cpu))
            if compile_objects(texts, HOST) != want:
                failures.append("bytes differ")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


def test_cache_is_asked_and_filled():
    cache = Cache()
    texts = [_kernel("a"), _kernel("b"), _kernel("a")]
    first = compile_objects(texts, HOST, cache)
    assert cache.puts == 2 and first[0] == first[2] != first[1]
    marked = {key: b"kept " + data for key, data in cache.items()}
    assert compile_objects(texts, HOST, Cache(marked)) == [b"kept " + data for data in first]


def test_key_depends_on_text_target_and_level():
    text = _kernel("a")
    keys = {
        object_key(unit, target)
        for unit in (Unit(text), Unit(text, optimize=True), Unit(text + " "))
        for target in (HOST, targets.named("x86-64"), targets.named("x86-64-v3"), targets.named("generic"))
    }
    assert len(keys) == 12
    assert object_key(Unit(text), HOST) == object_key(Unit(str(text)), HOST)


def test_o2_vectorises_scalar_loops_and_the_explicit_level_does_not():
    m = Module(targets.named("x86-64-v3"))
    f = m.function("k", [("a", "ptr noalias readonly"), ("o", "ptr noalias"), ("n", I64)], linkage="hidden")
    with f.for_(0, f.args["n"]) as loop:
        x = f.load(F32, f.gep(f.args["a"], loop.index, F32))
        f.store(f.fmul(x, x), f.gep(f.args["o"], loop.index, F32))
    f.ret()
    target = targets.named("x86-64-v3")
    assert "vmulps" in assembly(Unit(m.text(), optimize=True), target)
    plain = assembly(m.text(), target)
    assert "vmulss" in plain and "vmulps" not in plain


def test_bad_ir_is_one_clear_line():
    with pytest.raises(CompileError, match=r"does not parse: .*value doesn't match") as caught:
        compile_object("define i32 @x() { ret i64 0 }", HOST)
    assert "\n" not in str(caught.value)
    with pytest.raises(CompileError, match="is not valid"):
        compile_object("define void @x() { %a = add i32 %a, 1 ret void }", HOST)
    with pytest.raises(CompileError, match="does not parse"):
        compile_objects([_kernel(f"k{i}", count=60) for i in range(6)] + ["nonsense"], HOST)


def test_interrupt_leaves_pending_work_undone(monkeypatch):
    """The exception comes out at once, and what had not started never runs."""
    started = []

    def slow(unit, target):
        started.append(unit)
        time.sleep(0.02)
        raise KeyboardInterrupt

    monkeypatch.setattr(objects, "compile_object", slow)
    monkeypatch.setattr(objects, "usable_cores", lambda: 2)
    with pytest.raises(KeyboardInterrupt):
        compile_objects([_kernel(f"k{i}", count=60) for i in range(40)], HOST)
    time.sleep(0.1)
    assert len(started) < 10


def test_a_batch_starts_when_a_module_is_added(monkeypatch):
    started = threading.Event()

    def compile_it(unit, target):
        started.set()
        return compile_object(unit, target)

    monkeypatch.setattr(objects, "compile_object", compile_it)
    monkeypatch.setattr(objects, "usable_cores", lambda: 2)
    objects.forget_objects()
    batch = objects.ObjectBatch(HOST)
    texts = [_kernel("first"), _kernel("second"), _kernel("first")]
    batch.add(texts[0])
    assert started.wait(20)
    batch.add(texts[1])
    batch.add(texts[2])
    assert batch.objects() == [compile_object(text, HOST) for text in texts]
    assert batch.objects()[0] == batch.objects()[2]


def test_a_cancelled_batch_is_left_undone(monkeypatch):
    begun, may_end, done = threading.Event(), threading.Event(), []

    def slow(unit, target):
        begun.set()
        may_end.wait(20)
        done.append(unit)
        return b""

    monkeypatch.setattr(objects, "compile_object", slow)
    monkeypatch.setattr(objects, "_shared_pool", ThreadPoolExecutor(1))
    monkeypatch.setattr(objects, "usable_cores", lambda: 2)
    objects.forget_objects()
    batch = objects.ObjectBatch(HOST)
    for k in range(5):
        batch.add(_kernel("k", count=k + 1))
    assert begun.wait(20)
    batch.cancel()
    may_end.set()
    objects._shared_pool.shutdown(wait=True)
    assert len(done) == 1


def test_assembly_is_readable():
    text = assembly(_kernel("shown"), HOST)
    assert "shown:" in text and PTR not in text
