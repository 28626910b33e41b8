"""Whole programs at the flow phase: how many dispatches, what IREE says of the text, and the numbers."""


import jax
import jax.numpy as jnp
import numpy as np
import pytest

_RANDOM = np.random.default_rng(11)


def _f32(*shape):
    return np.abs(_RANDOM.standard_normal(shape)).astype(np.float32) + np.float32(0.1)


def _layer_norm(x, g, b):
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-5) * g + b


def _batch_norm(x, g, b, mean, variance):
    m, v = x.mean((0, 1, 2)), x.var((0, 1, 2))
    return (x - m) / jnp.sqrt(v + 1e-5) * g + b, 0.9 * mean + 0.1 * m, 0.9 * variance + 0.1 * v


def _black_scholes(s, k, t, r, v):
    d1 = (jnp.log(s / k) + (r + v * v / 2) * t) / (v * jnp.sqrt(t))
    d2 = d1 - v * jnp.sqrt(t)
    cdf = jax.scipy.stats.norm.cdf
    return s * cdf(d1) - k * jnp.exp(-r * t) * cdf(d2)


def _adam(t, *tensors):
    out = []
    for p, m, v, g in zip(*[iter(tensors)] * 4):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        out.append((p - 1e-3 * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8), m, v))
    return out


#: name: (function, arguments, dispatches at most)
PROGRAMS = {
    "tanh of a matmul": (lambda a, b, c: jnp.tanh(a @ b + c), (_f32(8, 16), _f32(16, 32), _f32(32)), 1),
    "softmax": (jax.nn.softmax, (_f32(8, 100),), 1),
    "log softmax": (jax.nn.log_softmax, (_f32(8, 100),), 1),
    "logsumexp": (lambda x: jax.scipy.special.logsumexp(x, -1), (_f32(8, 100),), 1),
    "layer norm": (_layer_norm, (_f32(8, 100), _f32(100), _f32(100)), 1),
    "layer norm, gradient": (
        lambda x, g, b: jax.grad(lambda *a: jnp.sum(_layer_norm(*a) ** 2), (0, 1, 2))(x, g, b),
        (_f32(8, 100), _f32(100), _f32(100)),
        2,
    ),
    "batch norm": (_batch_norm, (_f32(4, 6, 6, 8), *[_f32(8)] * 4), 1),
    "normalized": (lambda x: x / jnp.sum(x), (_f32(8, 100),), 1),
    "statistics": (lambda x: (x.mean(), x.std(), x.min(), x.max()), (_f32(50, 100),), 1),
    "argmax": (lambda x: jnp.argmax(x, -1), (_f32(8, 100),), 1),
    "cumsum": (lambda x: jnp.cumsum(x * 2, 1), (_f32(8, 100),), 1),
    "root mean square": (lambda x: jnp.sqrt((x * x).mean(-1)), (_f32(8, 100),), 1),
    "gelu": (jax.nn.gelu, (_f32(64, 256),), 1),
    "black-scholes": (_black_scholes, tuple(_f32(1000) for _ in range(5)), 1),
    "adam": (_adam, (np.float32(3), *[_f32(64, 32)] * 4, *[_f32(32)] * 4, *[_f32(64, 32)] * 4), 2),
    "attention": (
        lambda q, k, v: jax.nn.softmax(q @ k.T / 4) @ v,
        (_f32(32, 16), _f32(32, 16), _f32(32, 16)),
        3,
    ),
    "one layer, gradient": (
        lambda x, w, b: jax.value_and_grad(lambda w, b: jnp.mean(jnp.tanh(x @ w + b) ** 2), (0, 1))(w, b),
        (_f32(8, 16), _f32(16, 32), _f32(32)),
        4,
    ),
    "slices and pieces": (
        lambda x, y: jnp.concatenate([jnp.sin(x)[1:], jnp.pad(y, ((1, 1), (0, 0)))], 0).T * 2,
        (_f32(8, 100), _f32(4, 100)),
        2,
    ),
    "gather": (lambda x: jnp.tanh(x)[jnp.array([2, 0, 2])] + 1, (_f32(8, 100),), 2),
    "in place": (lambda x, y: x.at[2].add(y).at[3:5, 7:9].set(0.5), (_f32(80, 100), _f32(100)), 3),
    "scatter": (lambda x, y: x.at[jnp.array([1, 3, 1])].add(y * 2), (_f32(8, 100), _f32(3, 100)), 1),
    "top k": (lambda x: jax.lax.top_k(x, 5), (_f32(8, 100),), 2),
    "nothing in it": (lambda x: (jnp.sum(x, 0), jnp.exp(x), jnp.concatenate([x, x])), (_f32(0, 3),), 3),
    "one number": (lambda x: jnp.sin(x) * 2 + x, (np.float32(0.5),), 1),
}

#: Chains of one root, which IREE's own code generator takes.
SINGLE_ROOTS = ("tanh of a matmul", "gelu", "root mean square", "argmax", "gather", "one number")


@pytest.mark.parametrize("name", PROGRAMS)
def test_dispatches_and_numbers(name, traced, flow_text, dispatches, run_program):
    function, arguments, most = PROGRAMS[name]
    text = flow_text(traced(function, *arguments))
    found = dispatches(text)
    assert len(found) <= most, found
    wanted = jax.tree.leaves(jax.jit(function)(*arguments))
    for result, right in zip(run_program(text, *arguments, compile_from="flow"), wanted, strict=True):
        assert result.shape == right.shape
        np.testing.assert_allclose(result, right, rtol=1e-4, atol=1e-5)


def test_training_step(load_example, traced, flow_text, dispatches):
    """Eight products of matrices, a softmax, three sums for the biases, the loss."""
    example = load_example("train_digits")
    parameters = example.initial_parameters()
    shapes = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype), (parameters, parameters))
    lowered = jax.jit(example.step).lower(*shapes, jnp.zeros((64, 64)), jnp.zeros(64, jnp.int32))
    assert len(dispatches(flow_text(lowered.compiler_ir("stablehlo")))) <= 13


def test_iree_opt_accepts_the_text(traced, flow_text, iree_tool):
    texts = [flow_text(traced(function, *arguments)) for function, arguments, _ in PROGRAMS.values()]
    iree_tool("iree-opt", "--split-input-file", "-", input="\n// -----\n".join(texts))


_CHILD = """
import pathlib, subprocess, sys
import numpy as np
import iree.runtime as rt
compiler, folder = sys.argv[1], pathlib.Path(sys.argv[2])
started = [
    (path, subprocess.Popen([compiler, "--compile-from=flow", path, "-o", path.with_suffix(".vmfb")]))
    for path in sorted(folder.glob("*.mlir"))
]
for path, child in started:
    assert child.wait() == 0, path
    config = rt.Config("local-sync")
    context = rt.SystemContext(config=config)
    context.add_vm_module(rt.VmModule.mmap(config.vm_instance, str(path.with_suffix(".vmfb"))))
    given = np.load(path.with_suffix(".in.npz"))
    (module,) = [m for name, m in context.modules.items() if name != "hal"]
    results = module["main"](*[given[k] for k in given.files])
    results = results if isinstance(results, (list, tuple)) else [results]
    np.savez(path.with_suffix(".out.npz"), *[np.asarray(r) for r in results])
"""


def test_iree_compile_finishes_the_text(tmp_path, traced, flow_text, python_child, iree_tool_path):
    for number, name in enumerate(SINGLE_ROOTS):
        function, arguments, _ = PROGRAMS[name]
        (tmp_path / f"{number}.mlir").write_text(flow_text(traced(function, *arguments)))
        np.savez(tmp_path / f"{number}.in.npz", *arguments)
    python_child(_CHILD, iree_tool_path("iree-compile"), tmp_path)
    for number, name in enumerate(SINGLE_ROOTS):
        function, arguments, _ = PROGRAMS[name]
        wanted = jax.tree.leaves(jax.jit(function)(*arguments))
        with np.load(tmp_path / f"{number}.out.npz") as found:
            for key, right in zip(found.files, wanted, strict=True):
                np.testing.assert_allclose(found[key], right, rtol=1e-4, atol=1e-5)


DYNAMIC = """
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
util.func public @main(%a: tensor<?x?xf32>) -> (tensor<?x?xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %a, %c0 : tensor<?x?xf32>
  %n = tensor.dim %a, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%m) : tensor<?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %e2 = tensor.empty(%m, %n) : tensor<?x?xf32>
  %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<?x?xf32>) outs(%e2 : tensor<?x?xf32>) {
  ^bb0(%in: f32, %o: f32):
    %1 = math.exp %in : f32
    linalg.yield %1 : f32
  } -> tensor<?x?xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x?xf32>) outs(%f : tensor<?xf32>) {
  ^bb0(%in: f32, %o: f32):
    %1 = arith.addf %o, %in : f32
    linalg.yield %1 : f32
  } -> tensor<?xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<?x?xf32>, tensor<?xf32>) outs(%e2 : tensor<?x?xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %1 = arith.divf %p, %q : f32
    linalg.yield %1 : f32
  } -> tensor<?x?xf32>
  util.return %y, %s : tensor<?x?xf32>, tensor<?xf32>
}
"""


@pytest.mark.parametrize("shape", [(7, 33), (1, 1), (300, 5)])
def test_dynamic_shapes(shape, flow_text, dispatches, run_program, iree_tool):
    text = flow_text(DYNAMIC, compile_from="input")
    assert len(dispatches(text)) == 1
    iree_tool("iree-opt", "-", input=text)
    x = _f32(*shape)
    quotients, sums = run_program(DYNAMIC, x, compile_from="input")
    np.testing.assert_allclose(sums, np.exp(x).sum(1), rtol=1e-5)
    np.testing.assert_allclose(quotients, np.exp(x) / np.exp(x).sum(1, keepdims=True), rtol=1e-5)


TWO_DEVICES = """
#target = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64">
#local = #hal.device.target<"local", [#target]>
module {
  util.global private @device_a = #local
  util.global private @device_b = #local
  util.func public @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
    %0 = flow.tensor.transfer %a : tensor<8x16xf32> to #hal.device.affinity<@device_a>
    %e = tensor.empty() : tensor<8x16xf32>
    %1 = linalg.generic {
        indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %5 = math.exp %in : f32
      linalg.yield %5 : f32
    } -> tensor<8x16xf32>
    %2 = flow.tensor.transfer %1 : tensor<8x16xf32> to #hal.device.affinity<@device_b>
    %3 = linalg.generic {
        indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %5 = math.tanh %in : f32
      linalg.yield %5 : f32
    } -> tensor<8x16xf32>
    util.return %3 : tensor<8x16xf32>
  }
}
"""


def test_two_devices_stay_apart(flow_text, dispatches, iree_tool, in_order):
    text = flow_text(TWO_DEVICES, compile_from="input")
    assert len(dispatches(text)) == 2
    in_order(text, "util.func public @main", "transfer", "@device_a", "flow.dispatch")
    in_order(text, "flow.dispatch", "transfer", "@device_b", "flow.dispatch")
    assert "@__device_0" not in text
    iree_tool("iree-opt", "-", input=text)


def test_many_tensors(traced, flow_text, dispatches, run_program):
    """Sixty pieces, each of them dear to compute: neither one kernel of everything, nor one each."""
    pieces = [_f32(4, 3) for _ in range(60)]

    def function(*pieces):
        return jnp.concatenate([jnp.sin(x) for x in pieces]), sum(pieces)

    source = traced(function, *pieces)
    assert len(dispatches(flow_text(source))) < 15
    whole, total = run_program(source, *pieces)
    np.testing.assert_allclose(whole, np.sin(np.concatenate(pieces)), rtol=1e-5)
    np.testing.assert_allclose(total, np.sum(pieces, 0), rtol=1e-5)
