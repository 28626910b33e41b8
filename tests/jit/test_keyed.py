"""`cache_key`: programs found by the user's key, in a process that neither traces nor imports jax."""

import collections
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pyiree
import pytest
from pyiree.keyed import KeyedFunction, flatten, unflatten

Pair = collections.namedtuple("Pair", "a b")
BIG = np.ones(1025, np.float32)
SUM = jax.new_ref(jnp.float32(0))

CHILD = """
import json, sys
import numpy as np, pyiree

def f(params, x, *, scale=2.0):
    print("traced")
    import jax.numpy as jnp
    return {"y": jnp.tanh(x @ params["w"] + params["b"]) * scale, "n": [x.sum(), None], "i": (params["k"] * 3,)}

g = pyiree.jit(f, cache_key=sys.argv[1])
params = {"w": np.full((4, 3), 0.25, np.float32), "b": np.arange(3, dtype=np.float64), "k": 7}
x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
for _ in range(2):
    result = g(params, x, scale=3.0)
print(json.dumps([result["y"].tolist(), float(result["n"][0]), result["n"][1], int(result["i"][0])]))
print(str(result["y"].dtype), str(result["i"][0].dtype), list(result), type(result["i"]).__name__, "jax" in sys.modules)
"""


@pytest.fixture(scope="module")
def run(python_child, tmp_path_factory):
    """Runs the program above with a key; gives its lines. All runs share a cache."""
    folder = tmp_path_factory.mktemp("keyed")

    def run(key="v1", **env):
        env = {"PYIREE_CACHE_DIR": str(folder), "PYIREE_CACHE": "on", **env}
        return python_child(CHILD, key, env=env).stdout.splitlines()

    return run


@pytest.fixture(scope="module")
def first(run):
    """The lines of the first run."""
    return run()


def test_a_later_process_neither_traces_nor_imports_jax(run, first):
    later = run()
    assert first[0] == "traced" and "traced" not in later
    assert first[-2] == later[-2]
    assert first[-1] == "float32 int32 ['i', 'n', 'y'] tuple True"
    assert later[-1] == "float32 int32 ['i', 'n', 'y'] tuple False"


def test_64_bits_are_another_program(run, first):
    wide = run(JAX_ENABLE_X64="1")
    assert wide[0] == "traced" and wide[-1].startswith("float64 int64")
    again = run(JAX_ENABLE_X64="1")
    assert again == [*wide[1:-1], wide[-1].replace("True", "False")]


@pytest.mark.parametrize(
    "changed",
    [{"key": "v2"}, pytest.param({"JAX_DEFAULT_MATMUL_PRECISION": "highest"}, marks=pytest.mark.slow)],
    ids=str,
)
def test_other_keys_and_settings_are_other_programs(run, first, changed):
    assert run(**changed)[0] == "traced"


@pytest.mark.parametrize("again", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_without_a_cache_it_is_traced_each_time(run, first, again):
    if again:
        run(PYIREE_CACHE="off")
    assert run(PYIREE_CACHE="off")[0] == "traced"


def test_results_are_those_of_jax():
    def f(x, y):
        return jnp.sin(x) @ y.T, (x > 0).sum()

    g = pyiree.jit(f, cache_key="sin")
    x, y = np.random.default_rng(0).standard_normal((2, 5, 6), np.float32)
    for _ in range(2):
        for ours, theirs in zip(g(x, y), f(x, y)):
            assert type(ours) is np.ndarray
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    assert isinstance(g(jnp.asarray(x), jnp.asarray(y))[0], jax.Array)
    assert g(x[::2, ::-1], y)[0].shape == (3, 5)


def test_under_jax_it_is_the_function():
    g = pyiree.jit(lambda x: x**3, cache_key="cube")
    assert jax.grad(g)(2.0) == 12.0
    assert jax.vmap(g)(jnp.arange(3.0)).tolist() == [0.0, 1.0, 8.0]

    @jax.jit
    def closes_over_a_tracer(x):
        return pyiree.jit(lambda y: x + y, cache_key="closure")(np.float32(1))

    assert closes_over_a_tracer(2.0) == 3.0


def test_what_needs_jax_is_left_to_it():
    g = pyiree.jit(lambda p: Pair(p.b, p.a), cache_key="swap")
    assert g(Pair(np.float32(1), np.float32(2))) == Pair(2, 1)
    h = pyiree.jit(lambda x: Pair(x, x + 1), cache_key="pair")
    assert h(np.float32(1)) == Pair(1, 2)
    for _ in range(2):  # the second one is called as the cache says
        big = pyiree.jit(lambda x: x + 1, cache_key="big")
        assert big(1) == 2
        with pytest.raises(
            OverflowError, match=rf"can't be called with {2**40} as (x|its leaf number 0): it is out of"
        ):
            big(2**40)


class Scale:
    """A function with a state that a key says nothing of."""

    def __init__(self, factor):
        self.factor = factor

    def times(self, x):
        return x * self.factor

    @pyiree.jit(cache_key="method")
    def decorated(self, x):
        return x * self.factor

    __call__ = times


jax.tree_util.register_static(Scale)


@pytest.mark.parametrize(
    ("function_of", "kind"),
    [
        (lambda scale: pyiree.jit(scale.times, cache_key="times"), "a method is no plain function"),
        (lambda scale: pyiree.jit(scale, cache_key="scale"), "a Scale is no plain function"),
        (
            lambda scale: pyiree.jit(functools.partial(jnp.multiply, scale.factor), cache_key="partial"),
            "a partial is no plain function",
        ),
        (lambda scale: scale.decorated, "it is a method"),
    ],
    ids=["bound", "object", "partial", "decorated"],
)
def test_a_key_is_that_of_a_plain_function(monkeypatch, capfd, function_of, kind):
    monkeypatch.setenv("PYIREE_LOG", "cache")
    x = np.ones(2, np.float32)
    for factor in (2, 3):
        assert function_of(Scale(factor))(x).tolist() == [factor, factor]
    told = capfd.readouterr().err
    assert f"called as without its cache_key, since {kind}" in told and "untraced" not in told


def test_calls_without_the_key_are_told_of_once(monkeypatch, capfd):
    monkeypatch.setenv("PYIREE_LOG", "cache")

    def halves(tree):
        return jax.tree.map(lambda x: x / 2, tree)

    g = pyiree.jit(halves, cache_key="halves")
    x = np.ones(2, np.float32)
    for tree, words in (
        (jnp.asarray(x), "jaxlib._jax.ArrayImpl"),
        ({1: x}, "a dict whose keys are not all text"),
        ([x.astype(">f4")], "ndarray of >f4"),
        ((x.astype(jnp.bfloat16),), "ndarray of bfloat16"),
    ):
        for _ in range(2):
            [half] = jax.tree.leaves(g(tree))
            assert half.tolist() == [0.5, 0.5]
        told = [line for line in capfd.readouterr().err.splitlines() if "without its cache_key" in line]
        assert told == [f"pyiree cache: halves: called as without its cache_key, since it is called with {words}"]
    g(x)
    assert "without its cache_key" not in capfd.readouterr().err
    with jax.debug_nans(True):
        g(x)
    assert "since jax traces it or looks for NaNs" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: x + BIG, "it closes over an array of 4100 bytes, more than 4 KiB; pass it"),
        (lambda x: x + SUM[...], "it closes over a mutable array"),
        (lambda x: jax.pure_callback(np.sin, x, x), "it calls back into Python"),
        (lambda x: x.astype(jnp.bfloat16), "it takes or gives bfloat16, which is no type of NumPy's own"),
        (lambda x: Pair(x, x + 1), "its results are in containers other than tuples, lists and dicts"),
    ],
    ids=["constants", "mutable", "callback", "type", "container"],
)
def test_why_a_key_has_no_use(monkeypatch, tmp_path, capfd, function, reason):
    monkeypatch.setenv("PYIREE_LOG", "cache")
    monkeypatch.setenv("PYIREE_CACHE_DIR", str(tmp_path))
    pyiree.jit(function, cache_key="a key")(np.float32(1))
    assert f"<lambda>: its cache_key has no use, every process must trace it: {reason}" in capfd.readouterr().err


def test_programs_that_use_lapack_are_kept(python_child, tmp_path):
    code = """
import sys
import numpy as np, pyiree

def root(a):
    print("traced")
    import jax.numpy as jnp
    return jnp.linalg.cholesky(a)

print(pyiree.jit(root, cache_key="root")(np.diag([4.0, 9.0]).astype(np.float32)).tolist(), "jax" in sys.modules)
"""
    env = {"PYIREE_CACHE_DIR": str(tmp_path), "PYIREE_CACHE": "on"}
    runs = [python_child(code, env=env).stdout.splitlines() for _ in range(2)]
    assert runs == [["traced", "[[2.0, 0.0], [0.0, 3.0]] True"], ["[[2.0, 0.0], [0.0, 3.0]] False"]]


def test_options():
    with pytest.raises(TypeError, match="cache_key is a text"):
        pyiree.jit(lambda x: x, cache_key=3)
    with pytest.raises(TypeError, match="takes no static_argnums with a cache_key"):
        pyiree.jit(lambda x, n: x, cache_key="a", static_argnums=1)
    g = pyiree.jit(lambda x: x + 1, cache_key="plus")
    assert isinstance(g, KeyedFunction) and "stablehlo.add" in g.lower(np.ones(3)).as_text()


def test_structures_are_in_the_order_of_jax():
    tree = ({"b": [1, None, (2,)], "a": 3}, 4, ())
    leaves = []
    structure = flatten(tree, leaves)
    assert leaves == jax.tree.leaves(tree)
    assert unflatten(structure, iter(leaves)) == tree
