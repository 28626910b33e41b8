"""Programs made by `pyiree.jit` under interrupts, many threads, many calls, and with damage done to their files.

What can end a process runs in one of its own.
"""

import textwrap

import pytest

START = """
import os, random, signal, sys, threading, time
import numpy as np
import jax, jax.numpy as jnp
import pyiree
"""


@pytest.fixture
def child(python_child):
    def run(code, *args, timeout=200):
        return python_child(START + textwrap.dedent(code), *args, timeout=timeout).stdout

    return run


@pytest.mark.parametrize("device", ["local-task", "local-sync"])
def test_interrupt_in_a_dispatch_of_many_workgroups(child, device):
    """One dispatch, hundreds of workgroups of some milliseconds: the interrupt is raised long before its end."""
    out = child(
        f"""
        @pyiree.jit(device={device!r})
        def slow(x):
            for _ in range(40):
                x = jnp.sin(x) + 0.5
            return x

        x = np.ones((2048, 2048), np.float32)
        start = time.perf_counter()
        want = slow(x)
        assert slow.lower(x).as_text(phase="flow").count("flow.dispatch @") == 1
        start = time.perf_counter()
        slow(x)
        whole = time.perf_counter() - start
        def interrupt():
            global sent
            sent = time.perf_counter()
            os.kill(os.getpid(), signal.SIGINT)
        for part in (0.1, 0.4, 0.7):
            threading.Timer(part * whole, interrupt).start()
            try:
                while True:
                    slow(x)
            except KeyboardInterrupt:
                print(time.perf_counter() - sent)
        assert np.array_equal(slow(x), want)
        """
    )
    waits = [float(line) for line in out.split()]
    assert len(waits) == 3 and max(waits) < 0.2, waits


def test_interrupt_in_a_loop_of_the_host(child):
    out = child(
        """
        @pyiree.jit
        def loop(x, n):
            return jax.lax.fori_loop(0, n, lambda i, c: jnp.tanh(c @ c) + i, x)

        x = np.eye(128, dtype=np.float32)
        want = loop(x, 3)
        def interrupt():
            global sent
            sent = time.perf_counter()
            os.kill(os.getpid(), signal.SIGINT)
        threading.Timer(0.3, interrupt).start()
        try:
            loop(x, 10_000_000)
        except KeyboardInterrupt:
            print(time.perf_counter() - sent)
        assert np.array_equal(loop(x, 3), want)
        """
    )
    assert float(out) < 0.2


def test_interrupt_in_dispatches_of_many_iterations(child):
    """A loop of little work is one dispatch for many iterations; no dispatch of them is long."""
    out = child(
        """
        loops = [
            pyiree.jit(lambda x, n=n: jax.lax.fori_loop(0, n, lambda i, c: jnp.flip(c) * 0.5 + c.sum() * 0.01 + i, x))
            for n in (3, 2_000_000_000)
        ]
        x = np.ones(24, np.float32)
        assert "main_loop" in loops[1].lower(x).as_text("stream")
        want = loops[0](x)
        compiled = loops[1].lower(x).compile()
        def interrupt():
            global sent
            sent = time.perf_counter()
            os.kill(os.getpid(), signal.SIGINT)
        threading.Timer(0.3, interrupt).start()
        try:
            compiled(x)
        except KeyboardInterrupt:
            print(time.perf_counter() - sent)
        assert np.array_equal(loops[0](x), want)
        """
    )
    assert float(out) < 0.2


def test_sixteen_threads_call_one_function(child):
    """From its first call on, which all of them make at once; each gets the results of its own arguments."""
    out = child(
        """
        @pyiree.jit
        def layer(x, w, b):
            return jnp.tanh(x @ w + b), jnp.sum(x)

        barrier = threading.Barrier(16)
        bad = []
        def work(seed):
            rng = np.random.default_rng(seed)
            x, w, b = (rng.standard_normal(s, np.float32) for s in ((8, 16), (16, 32), (32,)))
            barrier.wait()
            first = layer(x, w, b)
            if not np.allclose(first[0], np.tanh(x.astype(np.float64) @ w + b), atol=1e-5):
                bad.append((seed, "first"))
            for k in range(300):
                if not all(np.array_equal(a, b) for a, b in zip(layer(x, w, b), first)):
                    bad.append((seed, k))
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(16)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        print(bad)
        """
    )
    assert out.strip() == "[]"


def test_many_threads_compile_in_a_fresh_process(child, tmp_path):
    """The first compilations load dialects and passes; a thread must not meet another one's half-loaded ones."""
    out = child(
        """
        sys.setswitchinterval(1e-5)
        functions = [
            lambda x: jnp.tanh(x @ x.T) + 1,
            lambda x: jnp.sort(x, axis=0),
            lambda x: jax.lax.fori_loop(0, 5, lambda i, c: c * 2 + i, x),
            lambda x: x.at[jnp.array([0, 1])].add(1.0),
            lambda x: jnp.cumsum(x, axis=1),
            lambda x: jax.nn.softmax(x),
        ]
        x = np.linspace(0, 1, 20, dtype=np.float32).reshape(4, 5)
        barrier = threading.Barrier(len(functions))
        bad, results = [], {}
        def work(n):
            barrier.wait()
            try:
                results[n] = pyiree.jit(functions[n])(x)
            except BaseException as error:
                bad.append((n, error))
        threads = [threading.Thread(target=work, args=(n,)) for n in range(len(functions))]
        [t.start() for t in threads]
        [t.join() for t in threads]
        bad += [n for n in results if not np.allclose(results[n], jax.jit(functions[n])(x), atol=1e-5)]
        print(bad)
        """
    )
    assert out.strip() == "[]"


FORK = """
import warnings
warnings.simplefilter("ignore")  # jax warns of any fork

def in_child(work):
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)  # a child that hangs dies of it
        try:
            work()
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
"""


def test_a_forked_child_compiles(child):
    """A module with more than one function is verified by MLIR's threads, which a child doesn't have."""
    out = child(
        FORK
        + textwrap.dedent(
            """
            x = np.eye(9, dtype=np.float32) * 4
            def work():
                for k in range(3):
                    got = pyiree.jit(lambda x: jnp.linalg.cholesky(x) + jnp.median(x) + k)(x)
                    assert np.allclose(got, np.sqrt(x) + k), got
            work()
            print(in_child(work), in_child(lambda: (work(), os._exit(in_child(work)))))
            """
        )
    )
    assert out.split() == ["0", "0"]


def test_a_fork_while_another_thread_compiles(child):
    """The child calls the function that the other thread, which it lacks, was about to compile for other shapes."""
    out = child(
        FORK
        + textwrap.dedent(
            """
            entered, leave = threading.Event(), threading.Event()
            def traced(x):
                entered.set()
                leave.wait()
                return x * 2
            f = pyiree.jit(traced)
            g = pyiree.jit(lambda x: x + 1)
            x = np.ones(3, np.float32)
            g(x)
            thread = threading.Thread(target=f, args=(x,))
            thread.start()
            entered.wait()
            def work():
                leave.set()
                y = np.ones(5, np.float32)
                assert np.array_equal(f(y), y * 2) and np.array_equal(g(x), x + 1)
            status = in_child(work)
            leave.set()
            thread.join()
            print(status, np.array_equal(f(x), x * 2))
            """
        )
    )
    assert out.split() == ["0", "True"]


def test_a_call_from_deep_in_the_stack(child):
    """jax compiles with a hundred frames to spare; an op's location may be a chain as long as the stack."""
    out = child(
        """
        def deep(n, function, *args):
            return function(*args) if n == 0 else deep(n - 1, function, *args)
        x = np.arange(4, dtype=np.float32)
        for limit in (10, -1):
            jax.config.update("jax_traceback_in_locations_limit", limit)
            for depth in (600, 880):
                assert np.array_equal(deep(depth, pyiree.jit(lambda x: x * 2 + depth), x), x * 2 + depth)
                assert np.array_equal(pyiree.jit(lambda x: deep(depth, lambda y: y * 3 + depth, x))(x), x * 3 + depth)
        print("done")
        """
    )
    assert out.strip() == "done"


CALLS = """
from pyiree.runtime.hal.device import memory_statistics

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

@pyiree.jit
def add(x, y):
    return x + y

@pyiree.jit
def loop(x):
    return jax.lax.fori_loop(0, 5, lambda i, c: jnp.sin(c) + i, x)

x = np.ones(16, np.float32)
def calls(n):
    for _ in range(n):
        add(x, x)
    for _ in range(n // 100):
        loop(x)
warm, count = map(int, sys.argv[1:])
calls(warm)
live, before = memory_statistics().live, resident()
calls(count)
print(memory_statistics().live - live, resident() - before)
"""


def _check_growth(out):
    live, grown = map(int, out.split())
    assert live == 0 and grown < 1 << 20, out


def test_calls_leave_nothing_behind(child):
    _check_growth(child(CALLS, 2000, 30_000))


@pytest.mark.slow
def test_a_million_calls_leave_nothing_behind(child):
    _check_growth(child(CALLS, 20_000, 1_000_000))


DAMAGE = """
from pyiree.runtime import session

content = open(sys.argv[1], "rb").read()
count, seed = map(int, sys.argv[2:4])
arguments = [np.load(path) for path in sys.argv[4:]]
rng = random.Random(seed)

class TooLong(Exception):
    pass

def stop(*_):
    raise TooLong("runs on and on")

signal.signal(signal.SIGALRM, stop)
counts = {"ran": 0, "refused": 0}
for number in range(count):
    damaged = bytearray(content)
    if number % 4 == 0:
        del damaged[rng.randrange(len(damaged)) :]
    else:
        for _ in range(rng.choice([1, 1, 1, 2, 8])):
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    signal.setitimer(signal.ITIMER_REAL, 5)
    try:
        session.load(bytes(damaged), devices="local-sync")["main"](*arguments)
        counts["ran"] += 1
    except Exception as error:
        assert str(error), repr(error)
        counts["refused"] += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
print(counts["ran"], counts["refused"])
"""


@pytest.mark.parametrize("count", [200, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["several", "counted_loop", "constant"])
def test_damaged_files_never_crash(child, programs, tmp_path, name, count):
    """Bits flipped and ends cut off: the file runs or an error says why not."""
    import numpy as np

    path = tmp_path / "program.vmfb"
    path.write_bytes(programs[name].vmfb)
    files = []
    for i, array in enumerate(programs[name].arguments):
        files.append(tmp_path / f"{i}.npy")
        np.save(files[-1], array)
    ran, refused = map(int, child(DAMAGE, path, count, 11, *files).split())
    assert ran + refused == count and refused > 0.4 * count
