"""Programs at the hal phase, made by iree-compile: our vm phase and file run on IREE's runtime, with right numbers."""

import numpy as np
import pytest
from pyiree.compiler.ir.passes import PassContext
from pyiree.compiler.ir.printer import print_operation
from pyiree.compiler.vm.serialize import serialize


def _tanh(a, b):
    import jax.numpy as jnp

    return jnp.tanh(a @ b)


def _several(x):
    import jax.numpy as jnp

    return x * 2, jnp.sum(x, axis=0), jnp.argmax(x)


def _loop(x):
    import jax

    return jax.lax.fori_loop(0, 10, lambda i, c: c * 2 + i.astype(np.float32), x)


def _while(n, x):
    import jax

    return jax.lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 1.5), (np.int32(0), x))


def _cond(n, x):
    import jax

    return jax.lax.cond(n > 3, lambda v: v + 1, lambda v: v * 2, x)


def _constant(x):
    return x + np.arange(2000, dtype=np.float32).reshape(2, 1000)


rng = np.random.default_rng(7)
F32 = rng.standard_normal((8, 16)).astype(np.float32)
PROGRAMS = {
    "tanh": (_tanh, [F32, rng.standard_normal((16, 32)).astype(np.float32)]),
    "several": (_several, [F32]),
    "loop": (_loop, [F32]),
    "while": (_while, [np.int32(5), np.float32(1.25)]),
    "cond": (_cond, [np.int32(5), np.ones(4, np.float32)]),
    "constant": (_constant, [rng.standard_normal((2, 1000)).astype(np.float32)]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers(hal_text, to_vm, run_module, name):
    import jax

    function, arguments = PROGRAMS[name]
    content = serialize(to_vm(hal_text(function, *arguments)), PassContext())
    wanted = jax.tree_util.tree_leaves(jax.jit(function)(*arguments))
    for device in ("local-task", "local-sync"):
        results = run_module(content, arguments, device)
        assert len(results) == len(wanted)
        for found, expected in zip(results, wanted):
            np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-5)


DYNAMIC = """
func.func @main(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> (tensor<?x?xf32>, tensor<?x?xf32>) {
  %0 = arith.addf %a, %b : tensor<?x?xf32>
  %1 = arith.mulf %a, %b : tensor<?x?xf32>
  return %0, %1 : tensor<?x?xf32>, tensor<?x?xf32>
}"""


def test_dynamic_shapes(iree_tool, target_flags, to_vm, run_module, tmp_path):
    source = tmp_path / "dynamic.mlir"
    source.write_text(DYNAMIC)
    text = iree_tool("iree-compile", "--compile-to=hal", *target_flags, source).stdout
    content = serialize(to_vm(text), PassContext())
    for shape in ((3, 5), (1, 1), (64, 33)):
        a, b = rng.standard_normal((2, *shape)).astype(np.float32)
        total, product = run_module(content, [a, b])
        np.testing.assert_array_equal(total, a + b)
        np.testing.assert_array_equal(product, a * b)


@pytest.mark.parametrize("name", ["tanh", "while"])
def test_iree_takes_our_text(hal_text, to_vm, iree_tool, run_module, tmp_path, name):
    import jax

    function, arguments = PROGRAMS[name]
    source, output = tmp_path / "main.vm.mlir", tmp_path / "main.vmfb"
    source.write_text(print_operation(to_vm(hal_text(function, *arguments))))
    iree_tool("iree-opt", source, "-o", tmp_path / "again.mlir")
    iree_tool("iree-compile", "--compile-from=vm", source, "-o", output)
    results = run_module(output.read_bytes(), arguments)
    for found, expected in zip(results, jax.tree_util.tree_leaves(jax.jit(function)(*arguments))):
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["tanh", "while"])
def test_same_bytes_each_time(hal_text, to_vm, name):
    function, arguments = PROGRAMS[name]
    text = hal_text(function, *arguments)
    assert serialize(to_vm(text), PassContext()) == serialize(to_vm(text), PassContext())


def test_imports_are_the_ones_used(hal_text, to_vm):
    function, arguments = PROGRAMS["tanh"]
    module = to_vm(hal_text(function, *arguments))
    called = {op.get_attr("callee").leaf for op in module.walk() if op.get_attr("callee") is not None}
    declared = {op.sym_name for op in module.walk() if op.name == "vm.import"}
    assert declared == {name for name in called if name.startswith("hal.")}


def test_references_of_whole_programs_end_once(hal_text, to_vm, check_ownership):
    for function, arguments in PROGRAMS.values():
        check_ownership(serialize(to_vm(hal_text(function, *arguments)), PassContext()))


HOST_CALL = """
module @m {
  util.func private @pyiree_callback.call(%id: i64, %view: !hal.buffer_view, %wait: !hal.fence, %signal: !hal.fence)
      -> !hal.buffer_view attributes {vm.version = 2 : i32, vm.yield}
  util.func private @pyiree_callback.other(%id: i64)
  util.func public @main(%arg0: !hal.buffer_view, %wait: !hal.fence, %signal: !hal.fence) -> !hal.buffer_view {
    %id = arith.constant 7 : i64
    %0 = util.call @pyiree_callback.call(%id, %arg0, %wait, %signal)
      : (i64, !hal.buffer_view, !hal.fence, !hal.fence) -> !hal.buffer_view
    util.return %0 : !hal.buffer_view
  }
}"""


def test_functions_of_the_host_are_imports(to_vm, iree_tool):
    from pyiree.runtime.vmfb import archive

    module = to_vm(HOST_CALL)
    text = print_operation(module)
    iree_tool("iree-opt", "-", input=text)
    assert "vm.call.yieldable @pyiree_callback.call" in text and "pyiree_callback.other" not in text
    file = archive.read_module(serialize(module, PassContext(), prepared=True))
    assert [(i.full_name, i.signature.calling_convention) for i in file.imported_functions] == [
        ("pyiree_callback.call", "0Irrr_r")
    ]
    assert [(d.name, d.minimum_version) for d in file.dependencies] == [("pyiree_callback", 2)]


@pytest.mark.parametrize(
    "line,message",
    [
        ("%0 = arith.minimumf %x, %x : f32", "'arith.minimumf' has no counterpart in the VM"),
        ("%0 = math.cttz %i : i32", "'math.cttz' has no counterpart in the VM"),
        ("%0 = arith.addf %h, %h : f16", "'arith.addf' on f16"),
        ("util.call @elsewhere() : () -> ()", "names @elsewhere, which is no function of the module"),
    ],
)
def test_what_has_no_counterpart_is_named(to_vm, line, message):
    from pyiree.compiler.ir.diagnostics import CompileError

    text = f"module @m {{ util.func public @f(%x: f32, %i: i32, %h: f16) {{ {line} util.return }} }}"
    with pytest.raises(CompileError) as error:
        to_vm(text)
    assert message in str(error.value)
