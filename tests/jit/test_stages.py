"""Traced, Lowered, Compiled, and programs without a Python function."""

import textwrap
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import pyiree
import pytest

X = np.arange(6, dtype=np.float32).reshape(2, 3)
STRUCT = jax.ShapeDtypeStruct((2, 3), np.float32)


def f(x, p):
    return {"y": x @ p["w"]}, x.sum()


ARGS = (X, {"w": X.T.copy()})


@pytest.fixture(scope="module")
def ours():
    return pyiree.jit(f).trace(*ARGS)


@pytest.fixture(scope="module")
def theirs():
    return jax.jit(f).trace(*ARGS)


@pytest.fixture(scope="module")
def compiled():
    return pyiree.jit(f).lower(*ARGS).compile()


class TestAgainstJaxStages:
    def test_traced(self, ours, theirs):
        assert str(ours.jaxpr) == str(theirs.jaxpr) and ours.fun_name == theirs.fun_name == "f"
        assert ours.in_tree == theirs.in_tree and ours.out_tree == theirs.out_tree
        assert ours.in_avals == theirs.in_avals and ours.out_avals == theirs.out_avals

    @pytest.mark.parametrize("stage", ["traced", "lowered", "compiled"])
    def test_structure_and_types(self, ours, theirs, stage):
        for name in ("lower", "compile")[: ("traced", "lowered", "compiled").index(stage)]:
            ours, theirs = getattr(ours, name)(), getattr(theirs, name)()
        assert ours.in_tree == theirs.in_tree and ours.out_tree == theirs.out_tree
        assert ours.args_info == theirs.args_info and ours.donate_argnums == theirs.donate_argnums
        same = lambda a, b: (a.shape, a.dtype) == (b.shape, b.dtype)  # noqa: E731
        assert jax.tree.all(jax.tree.map(same, ours.out_info, theirs.out_info))
        assert jax.tree.all(jax.tree.map(same, ours.in_avals, theirs.in_avals))

    def test_stablehlo(self, ours, theirs):
        assert ours.lower().as_text() == theirs.lower().as_text()
        assert ours.lower().as_text(dialect="stablehlo") == ours.lower().as_text("stablehlo")
        assert str(ours.lower().compiler_ir()) == ours.lower().as_text()

    def test_cost_analysis(self, ours, theirs):
        assert ours.lower().cost_analysis() == theirs.lower().cost_analysis()
        assert ours.lower().compile().cost_analysis()["flops"] > 0

    def test_results(self, ours, theirs):
        got, want = ours.lower().compile()(*ARGS), theirs.lower().compile()(*ARGS)
        jax.tree.map(np.testing.assert_allclose, got, want)


class TestText:
    def test_source_lines_are_kept(self):
        lowered = pyiree.jit(lambda x: jnp.sin(x) + 1).lower(X)
        assert "test_stages.py" in lowered.as_text(debug_info=True)
        assert "test_stages.py" not in lowered.as_text()

    def test_large_constants_can_be_elided(self):
        constant = np.arange(100, dtype=np.float32)
        lowered = pyiree.jit(lambda x: x + constant).lower(np.float32(0))
        assert len(lowered.as_text()) > len(lowered.as_text(large_constants=False)) + 500

    SIGNS = {
        "stablehlo": "stablehlo.dot_general",
        "input": "linalg.generic",
        "flow": "flow.dispatch",
        "stream": "stream.cmd.dispatch",
        "hal": "hal.command_buffer.dispatch",
        "vm": "vm.func",
        "kernel": "kernel @",
        "llvm": "define ",
        "asm": ".text",
    }

    @pytest.mark.parametrize("phase", SIGNS)
    def test_every_phase(self, phase):
        lowered = pyiree.jit(lambda x, y: jnp.tanh(x @ y)).lower(X, X.T)
        assert self.SIGNS[phase] in lowered.as_text(phase)
        if phase in ("asm", "flow"):
            assert self.SIGNS[phase] in lowered.compile().as_text(phase)

    def test_unknown_phase(self):
        with pytest.raises(ValueError, match="stablehlo, input, flow, stream, hal, vm, kernel, llvm, asm"):
            pyiree.jit(lambda x: x).lower(X).as_text("hlo")

    def test_same_program_same_key_wherever_it_stands(self):
        from pyiree.jax_internals import bytes_without_locations

        def module(source):
            scope = {}
            exec(compile(textwrap.dedent(source), "somewhere.py", "exec"), scope)
            return pyiree.jit(scope["g"]).lower(X).compiler_ir()

        here = module("def g(x): return x * 2 + 1")
        there = module("\n\n\ndef g(x):\n    y = x * 2\n    return y + 1")
        other = module("def g(x): return x * 2 + 3")
        assert bytes_without_locations(here) == bytes_without_locations(there) != bytes_without_locations(other)


class TestLowerWithoutArguments:
    def test_last_call(self):
        g = pyiree.jit(lambda x, n, y: x * n + y, static_argnums=1)
        g(X, 2, y=X)
        g(X[0], 3, y=X[0])
        assert g.lower().in_avals == g.lower(X[0], 3, y=X[0]).in_avals
        g(X, 2, y=X)
        assert g.lower().out_info.shape == (2, 3)

    def test_annotations(self):
        def g(x: STRUCT, p: Annotated[dict, {"w": STRUCT}], *, scale: STRUCT):
            return x * p["w"] * scale

        assert pyiree.jit(g).lower().out_info.shape == (2, 3)

    def test_defaults(self):
        def g(x=STRUCT, alpha=2.0, y=X[0], n=3):
            return (x * alpha + y) * n

        lowered = pyiree.jit(g, static_argnames="n").lower()
        assert [aval.shape for aval in jax.tree.leaves(lowered.in_avals)] == [(2, 3), (3,)]

    def test_no_parameters(self):
        assert pyiree.jit(lambda: jnp.ones(3)).lower().out_info.shape == (3,)

    def test_otherwise_it_says_what_is_missing(self):
        def g(x: STRUCT, weights, bias: jax.Array):
            return x

        with pytest.raises(pyiree.SignatureError, match=r"type of weights, bias of g: .*call .*ShapeDtypeStruct"):
            pyiree.jit(g).lower()

    def test_methods(self):
        class Model:
            @pyiree.jit
            def __call__(self, x):
                return x

        with pytest.raises(pyiree.SignatureError, match="self, x"):
            Model().__call__.lower()


class TestTypesForArguments:
    def test_structs_are_enough(self):
        compiled = pyiree.jit(lambda x, y: x + y).lower(STRUCT, STRUCT).compile()
        np.testing.assert_array_equal(compiled(X, X), X + X)

    def test_eval_shape(self):
        out = pyiree.jit(lambda x, n: x.sum(n), static_argnums=1).eval_shape(STRUCT, 0)
        assert (out.shape, out.dtype) == ((3,), np.float32)


class TestCompiled:
    def test_it_takes_every_kind_of_array(self, compiled):
        assert type(compiled(*ARGS)[1]) is np.ndarray
        assert isinstance(compiled(*jax.tree.map(jnp.asarray, ARGS))[1], jax.Array)
        assert isinstance(compiled(*pyiree.device_put(ARGS))[1], pyiree.Array)

    def test_it_refuses_other_arguments(self, compiled):
        with pytest.raises(pyiree.SignatureError, match=r"float32\[2, 3\] .* not float32\[2\]"):
            compiled(X[:, 0], ARGS[1])
        with pytest.raises(pyiree.SignatureError, match="not int32\\[2, 3\\]"):
            compiled(X.astype(np.int32), ARGS[1])
        with pytest.raises(pyiree.SignatureError, match="compiled for 2 positional arguments, not 1"):
            compiled(X)
        with pytest.raises(pyiree.SignatureError, match="can't be transformed"):
            jax.jit(compiled)(*ARGS)

    def test_arguments_go_by_their_names(self):
        compiled = pyiree.jit(lambda x, n, p: x * n + p["w"][0], static_argnums=1).lower(X, 2, {"w": [X]}).compile()
        np.testing.assert_array_equal(compiled(X, {"w": [X]}), 3 * X)
        with pytest.raises(pyiree.SignatureError, match=r"float32\[2, 3\] as p\['w'\]\[0\], not float32\[3\]"):
            compiled(X, {"w": [X[0]]})

    def test_what_it_tells(self, compiled):
        memory = compiled.memory_analysis()
        assert memory.argument_size_in_bytes == 48 and memory.output_size_in_bytes == 20
        assert set(compiled.timing) >= {"trace", "lower"}
        assert compiled.runtime_executable() is not None

    def test_saved_programs_load(self, compiled, tmp_path):
        compiled.save(tmp_path / "f.vmfb")
        assert (tmp_path / "f.vmfb").read_bytes() == compiled.vmfb
        program = pyiree.load(tmp_path / "f.vmfb")
        y, total = program.main(X, ARGS[1]["w"])
        np.testing.assert_allclose(y, X @ X.T)
        assert total == 15 and "main" in program.exports
        assert program(X, ARGS[1]["w"])[1] == 15

    def test_saved_programs_hold_their_constants(self, tmp_path):
        big = np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32)
        compiled = pyiree.jit(lambda x: x @ big).lower(np.ones((2, 64), np.float32)).compile()
        compiled.save(tmp_path / "big.vmfb")
        got = pyiree.load(tmp_path / "big.vmfb").main(np.ones((2, 64), np.float32))
        np.testing.assert_allclose(got, np.ones((2, 64)) @ big, rtol=1e-4, atol=1e-4)


TEXT = """
func.func public @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = stablehlo.add %x, %y : tensor<2x3xf32>
  %1 = stablehlo.multiply %x, %y : tensor<2x3xf32>
  return %0, %1 : tensor<2x3xf32>, tensor<2x3xf32>
}
"""


class TestWithoutTracing:
    def check(self, program):
        for args in ((X, X), (jnp.asarray(X), X)):
            total, product = program.main(*args)
            assert isinstance(total, jax.Array) == isinstance(args[0], jax.Array)
            np.testing.assert_array_equal(np.asarray(total), X + X)
            np.testing.assert_array_equal(np.asarray(product), X * X)

    def test_text(self):
        self.check(pyiree.compile(TEXT))

    def test_bytecode(self):
        import io

        lowered = jax.jit(lambda x, y: (x + y, x * y)).lower(X, X)
        buffer = io.BytesIO()
        lowered.compiler_ir().operation.write_bytecode(buffer)
        self.check(pyiree.compile(buffer.getvalue()))

    def test_file(self, tmp_path):
        (tmp_path / "program.mlir").write_text(TEXT)
        self.check(pyiree.compile(tmp_path / "program.mlir"))
        self.check(pyiree.compile(str(tmp_path / "program.mlir")))

    def test_errors(self, tmp_path):
        with pytest.raises(pyiree.CompileError, match="'hello' is neither a program nor a file"):
            pyiree.compile("hello")
        with pytest.raises(pyiree.CompileError, match=r"there is no file nothing.mlir"):
            pyiree.compile("nothing.mlir")
        with pytest.raises(pyiree.CompileError, match="empty"):
            pyiree.compile("")
        for kind in (pyiree.PyireeError, FileNotFoundError):
            with pytest.raises(kind, match=r"^there is no file .*nothing.vmfb$"):
                pyiree.load(tmp_path / "nothing.vmfb")
        doubt = r"; is this StableHLO text, bytecode or a portable artifact\?$"
        for prose in ("# A title\n\nAnd text.", b"hello"):
            with pytest.raises(pyiree.CompileError, match=doubt):
                pyiree.compile(prose)
        with pytest.raises(pyiree.CompileError, match="expected StableHLO text, bytecode or a portable artifact"):
            pyiree.compile(b"\0\xff\xfe")
        with pytest.raises(pyiree.CompileError, match=r"expected operation name in quotes$"):
            pyiree.compile("module {")
        with pytest.raises(AttributeError, match="no function 'other'; it has main"):
            pyiree.compile(TEXT).other  # noqa: B018


def test_an_unsupported_op_of_a_file_is_named_with_the_file(tmp_path):
    path = tmp_path / "fed.mlir"
    path.write_text("""func.func @main(%t: !stablehlo.token) -> tensor<3xf32> {
      %r:2 = "stablehlo.infeed"(%t) {infeed_config = ""} : (!stablehlo.token) -> (tensor<3xf32>, !stablehlo.token)
      return %r#0 : tensor<3xf32>
    }""")
    with pytest.raises(pyiree.UnsupportedError, match=rf"stablehlo\.infeed at {path}:2 \(pass the data"):
        pyiree.compile(path)
    with pytest.raises(pyiree.UnsupportedError, match=r"stablehlo\.infeed at -:2 \(pass the data"):
        pyiree.compile(path.read_text())
