"""Everything that conflicts is in an order by timepoints, in every program and at every loop count."""

import pathlib
import random
import re

import pytest

PROGRAMS = pathlib.Path(__file__).parent.parent / "programs"
NAMES = sorted(path.stem for path in PROGRAMS.glob("*.mlir"))
#: Passes that only save memory and time.
SAVING = (
    "pyiree-stream-hoist-loop-allocations", "iree-stream-automatic-reference-counting", "iree-stream-reuse-allocations",
    "iree-stream-elide-timepoints",
)  # fmt: skip
#: These make one command of a loop, which the simulator would take for a dispatch like any other.
LAST = ("pyiree-stream-form-loop-dispatches", "pyiree-stream-form-control-dispatches")


def lowered(text, without=()):
    from pyiree.compiler.ir.parser import parse_module
    from pyiree.compiler.ir.passes import PassContext, PassManager
    from pyiree.compiler.stream.pipeline import PASSES

    module = parse_module(text)
    PassManager([name for name in PASSES if name not in (*without, *LAST)]).run(module, PassContext())
    return str(module)


def check(source, name, simulate, random_loads):
    """Runs a program with and without the passes that save; the allocations of both, for each input."""
    saving, plain, counts = lowered(source), lowered(source, SAVING), []
    for seed in range(4):
        loads = random_loads(seed)
        ours, allocations = simulate(saving, name, (seed,), loads)
        theirs, more = simulate(plain, name, (seed,), loads)
        assert ours == theirs and ours
        counts.append((allocations, more))
    return counts


@pytest.mark.parametrize("name", [n for n in NAMES if n != "dynamic"])
def test_programs(name, simulate, random_loads):
    source = (PROGRAMS / f"{name}.mlir").read_text()
    function = re.search(r"util.func public @(\w+)", source).group(1)
    check(source, function, simulate, random_loads)


@pytest.mark.parametrize("function", ["loops", "devices"])
def test_dynamic_shapes_and_two_devices(function, simulate, random_loads):
    check((PROGRAMS / "dynamic.mlir").read_text(), function, simulate, random_loads)


def functions():
    import jax.numpy as jnp
    from jax import lax

    def inner(x):
        return lax.fori_loop(0, 3, lambda i, y: lax.fori_loop(0, i + 1, lambda j, z: z @ z + j, y) + y, x)

    def search(x):
        return lax.while_loop(lambda s: s[0].sum() < 5, lambda s: (s[1] @ s[0], s[0] + 1), (x, x * 2))

    def branches(x):
        def body(i, s):
            return lax.cond(s[0, 0] > 0, lambda a: a @ a, lambda a: a + i, s)

        return lax.fori_loop(0, 4, body, x)

    def of_the_outer(x):
        return lax.fori_loop(0, 3, lambda i, k: lax.fori_loop(0, 3, lambda j, v: k.at[jnp.array([0, 2])].add(1), k), x)

    def swap(x):
        start = (jnp.concatenate([x[4:], x[:4] * 2]), x, 0)
        return lax.while_loop(lambda s: s[2] < s[0].sum(), lambda s: (s[1], s[0], s[2] + 1), start)[:2]

    return {
        "counted": lambda x: lax.fori_loop(0, 5, lambda i, y: y @ y + i, x),
        "two_buffers": lambda x: lax.fori_loop(0, 5, lambda i, s: (s[1] @ s[0], s[0] + 1), (x, x * 2)),
        "shifted": lambda x: lax.fori_loop(0, 5, lambda i, s: (s[0] @ s[1], s[0]), (x, x * 2)),
        "nested": inner,
        "of_the_outer": of_the_outer,
        "search": search,
        "swap": swap,
        "branches": branches,
        "kept": lambda x: lax.scan(lambda c, a: (c + a, jnp.tanh(c @ x)), x[0], x),
        "reads_the_start": lambda x: lax.fori_loop(0, 5, lambda i, y: y @ x + x, x * 2),
        "updates": lambda x: lax.fori_loop(0, 4, lambda i, y: y.at[i].set(y[i + 1] * 2 + x[i]), x),
        "results": lambda x: (x @ x, (x @ x).sum(), jnp.concatenate([x, x @ x]), x),
    }


@pytest.mark.parametrize("name", functions())
def test_functions(name, simulate, random_loads):
    import jax
    import numpy as np
    from pyiree.compiler.pipeline import compile

    lowered = jax.jit(functions()[name]).lower(np.ones((8, 8), np.float32))
    source = compile(lowered.compiler_ir("stablehlo"), compile_to="flow").text()
    for ours, without in check(source, "main", simulate, random_loads):
        # A loop that turns out to do nothing would have needed no buffers.
        assert ours <= without or name == "search"


def random_step(random, depth):
    """A random function of two 4x4 arrays, with control flow of this depth."""
    import jax.numpy as jnp
    from jax import lax

    def body(a, b):
        for step in steps:
            a, b = step(a, b)
        return a, b

    row = random.randint(0, 3)
    simple = [
        lambda a, b: (a @ b * 0.1, b),
        lambda a, b: (a + 1, b - a),
        lambda a, b: (b, a),
        lambda a, b: (a * 0.5 + b.sum(0), b),
        lambda a, b: (a.at[row].set(b[0] * 2), b),
        lambda a, b: (a.at[jnp.array([row, 0])].add(b[:2]), b),
        lambda a, b: (jnp.concatenate([a[:2], b[2:]]), a),
    ]
    if depth == 0 or random.random() < 0.4:
        return random.choice(simple)
    steps = [random_step(random, depth - 1) for _ in range(random.randint(1, 3))]
    other = random_step(random, depth - 1)

    def search(a, b):
        return lax.while_loop(lambda s: s[2] < s[0].sum(), lambda s: (*body(*s[:2]), s[2] + 1), (a, b, 0))[:2]

    return random.choice(
        [
            search,
            lambda a, b: lax.fori_loop(0, row, lambda i, s: body(*s), (a, b)),
            lambda a, b: lax.fori_loop(0, row, lambda i, s: body(a, b), (a, b)),
            lambda a, b: lax.cond(a[0, 0] > 0.5, body, other, a, b),
        ]
    )


@pytest.mark.parametrize("seed", [1, *[pytest.param(n, marks=pytest.mark.slow) for n in range(2, 60)]])
def test_random_programs(seed, simulate, random_loads):
    import jax
    import numpy as np
    from pyiree.compiler.pipeline import compile

    chance = random.Random(seed)
    steps = [random_step(chance, 2) for _ in range(3)]

    def function(a, b):
        for step in steps:
            a, b = step(a, b)
        return a, b

    lowered = jax.jit(function).lower(np.ones((4, 4), np.float32), np.ones((4, 4), np.float32))
    source = compile(lowered.compiler_ir("stablehlo"), compile_to="flow").text()
    check(source, "main", simulate, random_loads)


CORRECT = """
util.func public @main(%v: !hal.buffer_view) -> !hal.buffer_view {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %p = arith.constant 7 : i32
  %now = stream.timepoint.immediate => !stream.timepoint
  %r, %ta = stream.resource.alloca uninitialized : !stream.resource<transient>{%c4} => !stream.timepoint
  %b, %tb = stream.resource.alloca uninitialized await(%ta) => !stream.resource<external>{%c4} => !stream.timepoint
  %e = stream.cmd.execute await(%tb) => with(%r as %x: !stream.resource<transient>{%c4}) {
    stream.cmd.fill %p, %x[%c0 for %c4] : i32 -> !stream.resource<transient>{%c4}
  } => !stream.timepoint
  %f = stream.cmd.execute await(%e) => with(%b as %y: !stream.resource<external>{%c4},
                                            %r as %x: !stream.resource<transient>{%c4}) {
    stream.cmd.copy %x[%c0], %y[%c0], %c4 : !stream.resource<transient>{%c4} -> !stream.resource<external>{%c4}
  } => !stream.timepoint
  %g = stream.resource.dealloca await(%f) => %r : !stream.resource<transient>{%c4} => !stream.timepoint
  %w = stream.timepoint.await %g => %b : !stream.resource<external>{%c4}
  %o = stream.tensor.export %w : tensor<1xi32> in !stream.resource<external>{%c4} -> !hal.buffer_view
  util.return %o : !hal.buffer_view
}"""


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("await(%e) => with(%b", "await(%tb) => with(%b"),
        ("await(%tb) => with(%r", "await(%now) => with(%r"),
        ("dealloca await(%f)", "dealloca await(%e)"),
        ("timepoint.await %g => %b", "timepoint.await %e => %b"),
        ("[%c0], %c4 :", "[%c4], %c4 :"),
    ],
)
def test_the_simulator_finds_races(right, wrong, simulate, race):
    simulate(CORRECT)
    assert right in CORRECT
    with pytest.raises(race):
        simulate(CORRECT.replace(right, wrong))
