"""Branches, tables, calls, failures, suspension; imports, native and Python, plain and variadic."""

import threading

import pytest
from pyiree.runtime.native.image import image
from pyiree.runtime.native.python_objects import read_word
from pyiree.runtime.vm.context import Context, ImportModule
from pyiree.runtime.vm.errors import ClosedError, VmError
from pyiree.runtime.vm.module import Module
from pyiree.runtime.vm.values import Ref
from pyiree.runtime.vmfb import archive
from pyiree.runtime.vmfb.assemble import FunctionAssembler, ModuleAssembler
from pyiree.runtime.vmfb.errors import ModuleError
from pyiree.runtime.vmfb.isa import NOT_VARIADIC, ref


def test_branch_operands_and_loop(assemble, context_of):
    def body(module, f):
        f.block("entry")
        f.op("const.i64", 1, 2)
        f.op("const.i64.zero", 4)
        f.op("br", "head", [(4, 6), (5, 7), (0, 8), (1, 9)])
        f.block("head")
        f.op("cmp.nz.i64", 8, 10)
        f.op("cond_br", 10, "loop", [], "end", [(6, 12), (7, 13)])
        f.block("loop")
        f.op("add.i64", 6, 8, 6)
        f.op("sub.i64", 8, 2, 8)
        f.op("br", "head", [])
        f.block("end")
        f.op("return", [12])

    context = context_of(assemble("0I_I", body))
    assert context.invoke("main", [1000]) == [500500]


def test_branch_table(assemble, context_of):
    def body(module, f):
        f.block("entry")
        f.op("const.i32", 7, 1)
        f.op("br_table", 0, "default", [(1, 2)], [("a", []), ("b", [(0, 2), (1, 3)]), ("a", [(1, 3)])])
        f.block("a")
        f.op("const.i32", 100, 2)
        f.op("return", [2])
        f.block("b")
        f.op("add.i32", 2, 3, 2)
        f.op("return", [2])
        f.block("default")
        f.op("return", [2])

    context = context_of(assemble("0i_i", body))
    assert [context.invoke("main", [i])[0] for i in (0, 1, 2, 3, -1, 1 << 30)] == [100, 8, 100, 7, 7, 7]


@pytest.mark.parametrize("kind", ["i32", "i64", "f32", "f64"])
def test_switch(assemble, context_of, kind):
    code = {"i32": "i", "i64": "I", "f32": "f", "f64": "F"}[kind]

    def body(module, f):
        f.block("entry")
        f.op(f"switch.{kind}", 0, 2, [4, 6, 2], 8)
        f.op("return", [8])

    convention = f"0ii{code}{code if kind[1:] == '64' else 'i' + code}{code if kind[1:] == '64' else 'i' + code}_{code}"
    context = context_of(assemble(convention, body))
    values = [5, 6, 7] if kind[1:] == "64" else [5, 0, 6, 0, 7]
    assert [context.invoke("main", [i, 0, *values])[0] for i in (0, 1, 2, 3, -1)] == [6, 7, 5, 5, 5]


def two_functions(callee_convention, callee_body, caller_convention, caller_body, prepare=lambda module: None):
    """A module whose function 0 is `callee` and function 1 `main`."""
    module = ModuleAssembler("calls")
    prepare(module)
    for name, convention, body in (
        ("callee", callee_convention, callee_body),
        ("main", caller_convention, caller_body),
    ):
        function = FunctionAssembler(convention)
        body(module, function)
        module.add_function(function, export=name)
    return archive.write_module(module.build())


def test_calls_pass_every_kind(context_of, iree_run):
    def callee(module, f):
        f.block("entry")
        f.op("ext.i32.i64.s", 0, 10)
        f.op("add.i64", 2, 10, 10)
        f.op("add.f32", 4, 4, 4)
        f.op("add.f64", 6, 6, 6)
        f.op("return", [6, ref(0, move=True), 4, 10])

    def caller(module, f):
        f.block("entry")
        f.op("call", 0, [0, 2, 4, 6, ref(0)], [12, ref(1), 14, 16])
        f.op("return", [12, ref(1, move=True), 14, 16])

    context = context_of(two_functions("0iIfFr_FrfI", callee, "0iIfFr_FrfI", caller))
    buffer = Ref(image().buffer_allocate(4, 16))
    result = context.invoke("main", [3, 1 << 40, 1.5, 0.25, buffer])
    assert result[0] == 0.5 and result[2:] == [3.0, (1 << 40) + 3]
    assert result[1].address == buffer.address and read_word(buffer.address) == 2


def test_deep_recursion_ends_in_an_error(context_of):
    def body(module, f):
        f.block("entry")
        f.op("call", 0, [0, ref(0)], [0])
        f.op("return", [0])

    content = two_functions("0ir_i", body, "0ir_i", body)
    context = context_of(content)
    buffer = Ref(image().buffer_allocate(4, 16))
    with pytest.raises(VmError, match="RESOURCE_EXHAUSTED") as raised:
        context.invoke("main", [1, buffer])
    assert len(raised.value.trace) > 1000
    assert read_word(buffer.address) == 1


def test_yieldable_call_goes_on_at_its_block(context_of):
    def callee(module, f):
        f.block("entry")
        f.op("yield", "next", [(0, 1)])
        f.block("next")
        f.op("add.i32", 0, 1, 0)
        f.op("return", [0])

    def caller(module, f):
        f.block("entry")
        f.op("call.yieldable", 0, [0], "after", [2])
        f.block("other")
        f.op("return", [0])
        f.block("after")
        f.op("return", [2])

    context = context_of(two_functions("0i_i", callee, "0i_i", caller))
    function = context.function("main")
    several = [function.start(i) for i in range(5)]
    assert [invocation.step() for invocation in several] == [False] * 5
    assert [invocation.step() for invocation in reversed(several)] == [True] * 5
    assert [invocation.results() for invocation in several] == [[2 * i] for i in range(5)]


def test_fail_carries_status_and_message(assemble, context_of, iree_run):
    def body(module, f):
        f.block("entry")
        f.op("fail", 0, "the reason")

    content = assemble("0i_v", body)
    with pytest.raises(VmError, match=r"NOT_FOUND: the reason \(in fail in @main of example at byte 1\)") as raised:
        context_of(content).invoke("main", [5])
    assert raised.value.status == 5
    printed, ok = iree_run(content, "main", "5")
    assert not ok and "NOT_FOUND" in printed and "the reason" in printed


def test_endless_loop_is_interruptible(assemble, context_of):
    def body(module, f):
        f.block("entry")
        f.op("br", "entry", [])

    invocation = context_of(assemble("0v_v", body)).function("main").start()
    for _ in range(3):
        assert not invocation.step()
    invocation.abort()


def test_debug_ops(assemble, context_of, capfd):
    def body(module, f):
        f.block("entry")
        f.op("trace", "mark", [0])
        f.op("print", "values:", [0, 1])
        f.op("cond_break", 0, "next", [(0, 2)])
        f.block("next")
        f.op("break", "last", [(2, 3)])
        f.block("last")
        f.op("return", [3])

    assert context_of(assemble("0ii_i", body)).invoke("main", [-12, -(2**31)]) == [-12]
    assert capfd.readouterr().err == "values: -12 -2147483648\n"


# ------------------------------------------------------------------ imports


def importing(convention, name="host.function", optional=False):
    def body(module, f):
        imported = module.import_function(name, "0iIfFr_rFfIi", optional=optional)
        f.block("entry")
        f.op("import.resolved", imported, 20)
        f.op("call", imported, [0, 2, 4, 6, ref(0)], [ref(1), 8, 10, 12, 14])
        f.op("return", [ref(1, move=True), 8, 10, 12, 14, 20])

    return body


def test_python_import(assemble, context_of):
    content = assemble("0iIfFr_rFfIii", importing("0iIfFr_rFfIi"))
    seen = []

    def function(*arguments):
        seen.append(arguments)
        i, wide, f, d, reference = arguments
        return Ref.retained(reference), d + 1, f + 1, wide + 1, i + 1

    context = context_of(content, {"host": ImportModule({"function": function})})
    buffer = Ref(image().buffer_allocate(4, 16))
    result = context.invoke("main", [-5, 1 << 40, 1.5, 0.1, buffer])
    assert seen == [(-5, 1 << 40, 1.5, 0.1, buffer.address)]
    assert result[1:] == [1.1, 2.5, (1 << 40) + 1, -4, 1]
    assert result[0].address == buffer.address and read_word(buffer.address) == 2


def test_python_import_may_raise(assemble, context_of):
    content = assemble("0iIfFr_rFfIii", importing("0iIfFr_rFfIi"))
    buffer = Ref(image().buffer_allocate(4, 16))

    def broken(*_):
        raise KeyError("mine")

    def failing(*_):
        raise VmError(14, "try later")

    context = context_of(content, {"host": ImportModule({"function": broken})})
    with pytest.raises(KeyError, match="mine"):
        context.invoke("main", [0, 0, 0, 0, buffer])
    context = context_of(content, {"host": ImportModule({"function": failing})})
    with pytest.raises(VmError, match=r"UNAVAILABLE: try later \(in call host.function in @main"):
        context.invoke("main", [0, 0, 0, 0, buffer])
    assert read_word(buffer.address) == 1


def test_imports_are_checked(assemble):
    content = assemble("0iIfFr_rFfIii", importing("0iIfFr_rFfIi"))
    with pytest.raises(ModuleError, match=r"imports host\.function, which is not provided"):
        Context(Module(content))
    provider = ImportModule({"function": lambda: None}, conventions={"function": "0v_v"})
    with pytest.raises(ModuleError, match="as 0iIfFr_rFfIi, but it is provided as 0v_v"):
        Context(Module(content), {"host": provider})


def test_optional_import(assemble, context_of):
    def body(module, f):
        imported = module.import_function("host.maybe", "0v_i", optional=True)
        f.block("entry")
        f.op("import.resolved", imported, 0)
        f.op("cond_br", 0, "call", [], "no", [])
        f.block("call")
        f.op("call", imported, [], [0])
        f.op("return", [0])
        f.block("no")
        f.op("const.i32", -1, 0)
        f.op("return", [0])

    content = assemble("0v_i", body)
    assert context_of(content).invoke("main") == [-1]
    assert context_of(content, {"host": ImportModule({"maybe": lambda: 8})}).invoke("main") == [8]


def test_dependency_versions(assemble):
    def prepare(module):
        module.dependency("host", 3)

    content = assemble("0v_v", lambda m, f: (f.block(0), f.op("return", [])), prepare)
    Context(Module(content), {"host": ImportModule({}, version=3)})
    with pytest.raises(ModuleError, match="needs version 3"):
        Context(Module(content), {"host": ImportModule({}, version=2)})
    with pytest.raises(ModuleError, match="needs module 'host'"):
        Context(Module(content))


@pytest.mark.parametrize("count", [0, 1, 3])
def test_variadic_import(assemble, context_of, count):
    def body(module, f):
        imported = module.import_function("host.sum", "0iCiIDCrDI_I")
        f.block("entry")
        operands = [0] + [0, 2] * count + [ref(0)] * count + [2]
        segments = [NOT_VARIADIC, count, count, NOT_VARIADIC]
        f.op("call.variadic.yieldable", imported, segments, operands, "next", [4])
        f.block("next")
        f.op("return", [4])

    def total(first, pairs, references, last):
        assert len(pairs) == len(references) == count
        return first + sum(a * b for a, b in pairs) + last

    context = context_of(assemble("0iIr_I", body), {"host": ImportModule({"sum": total})})
    assert context.invoke("main", [3, 1 << 33, None]) == [3 + count * 3 * (1 << 33) + (1 << 33)]


def test_callback_may_invoke_another_function(assemble, context_of):
    content = assemble("0iIfFr_rFfIii", importing("0iIfFr_rFfIi"))
    inner = context_of(assemble("0i_i", lambda m, f: (f.block(0), f.op("add.i32", 0, 0, 0), f.op("return", [0]))))

    def function(i, wide, f, d, reference):
        return None, d, f, wide, inner.invoke("main", [i])[0]

    context = context_of(content, {"host": ImportModule({"function": function})})
    assert context.invoke("main", [21, 0, 0, 0, None]) == [None, 0, 0, 0, 42, 1]


# ------------------------------------------------------------------ contexts


def stateful() -> bytes:
    module = ModuleAssembler("state")
    counter = module.global_value(4)
    for name, value in (("__init", 10), ("__deinit", 99)):
        f = FunctionAssembler("0v_v")
        f.block("entry")
        f.op("const.i32", value, 0)
        f.op("global.store.i32", counter, 0)
        f.op("return", [])
        module.add_function(f, export=name)
    f = FunctionAssembler("0i_i")
    f.block("entry")
    f.op("global.load.i32", counter, 1)
    f.op("add.i32", 0, 1, 0)
    f.op("global.store.i32", counter, 0)
    f.op("return", [0])
    module.add_function(f, export="add")
    return archive.write_module(module.build())


def test_contexts_have_their_own_state():
    module = Module(stateful())
    with Context(module) as one, Context(module) as two:
        assert one.invoke("add", [5]) == [15]
        assert one.invoke("add", [5]) == [20]
        assert two.invoke("add", [1]) == [11]
    with pytest.raises(ClosedError):
        one.invoke("add", [5])


def test_arguments_are_checked():
    with Context(Module(stateful())) as context:
        with pytest.raises(TypeError, match="takes 1 arguments, not 2"):
            context.invoke("add", [1, 2])
        with pytest.raises(OverflowError):
            context.invoke("add", [1 << 40])
        with pytest.raises(KeyError, match="its exports: __deinit, __init, add"):
            context.invoke("nothing")


def test_many_threads(assemble, context_of):
    def body(module, f):
        f.block("entry")
        f.op("const.i32", 1, 1)
        f.op("const.i32.zero", 2)
        f.op("br", "head", [])
        f.block("head")
        f.op("add.i32", 2, 0, 2)
        f.op("sub.i32", 0, 1, 0)
        f.op("cond_br", 0, "head", [], "end", [])
        f.block("end")
        f.op("return", [2])

    context = context_of(assemble("0i_i", body))
    wrong = []

    def work():
        for n in range(1, 200):
            if context.invoke("main", [n]) != [n * (n + 1) // 2]:
                wrong.append(n)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
