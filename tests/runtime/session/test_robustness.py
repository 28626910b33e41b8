"""Long runs, threads, signals and forks; what can end a process runs in one of its own."""

import textwrap

import numpy as np
import pytest
from pyiree.runtime import session
from pyiree.runtime.hal.device import memory_statistics


@pytest.fixture
def child(python_child, iree_module):
    def run(name, code, **options):
        start = (
            "import os, signal, sys, threading, time\nimport numpy as np\nfrom pyiree.runtime import session\n"
            f"path = {str(iree_module(name))!r}\n"
        )
        return python_child(start + textwrap.dedent(code), timeout=60, **options).stdout

    return run


def test_nothing_heavy_is_imported(child):
    """The runtime needs neither jax, nor the compiler, nor numba once its native code is built."""
    child("add", "session.load(path).main(np.ones(4, np.float32), np.ones(4, np.float32))")
    out = child(
        "add",
        """
        session.load(path).main(np.ones(4, np.float32), np.ones(4, np.float32))
        print([m for m in sys.modules if m.split(".")[0] in ("jax", "jaxlib", "numba", "iree")],
              [m for m in sys.modules if m.startswith("pyiree.compiler")])
        """,
    )
    assert out.strip() == "[] []"


@pytest.mark.parametrize("count", [20_000, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("device", ["local-sync", "local-task"])
def test_many_calls_leave_nothing_behind(iree_module, device, count):
    program = session.load(iree_module("add"), devices=device)["main"].bind([((4,), "f4")] * 2, [((4,), "f4")])
    x = np.ones(4, np.float32)
    arrays = [x, x]
    for _ in range(1000):
        program(arrays)
    before, resident = memory_statistics(), _resident()
    for _ in range(count):
        program(arrays)
    after = memory_statistics()
    assert after.live == before.live and after.live_blocks == before.live_blocks
    assert _resident() - resident < 1 << 20
    main = session.load(iree_module("dynamic"), devices=device).main
    a = np.ones((3, 5), np.float32)
    for _ in range(3000):
        main(a, a)
    before, resident = memory_statistics(), _resident()
    for _ in range(count // 4):
        main(a, a)
    assert memory_statistics().live == before.live
    assert _resident() - resident < 4 << 20  # the rest of the process moves by a megabyte or two


def _resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.parametrize("device", ["local-sync", "local-task"])
def test_sixteen_threads(child, device):
    out = child(
        "layer",
        f"""
        module = session.load(path, devices={device!r})
        main = module["main"]
        program = main.bind([((8, 16), "f4"), ((16, 32), "f4"), ((32,), "f4")], [((8, 32), "f4")])
        bad = []
        def work(seed):
            rng = np.random.default_rng(seed)
            x, w, b = (rng.standard_normal(s, np.float32) for s in ((8, 16), (16, 32), (32,)))
            [first] = program([x, w, b])
            np.testing.assert_allclose(first, np.tanh(x @ w + b), atol=1e-5)
            for k in range(300):
                if not np.array_equal(program([x, w, b])[0], first):
                    bad.append((seed, k))
                if k % 10 == 0 and not np.array_equal(main(x, w, b), first):
                    bad.append((seed, k, "main"))
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(16)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        print(bad)
        """,
    )
    assert out.strip() == "[]"


@pytest.mark.parametrize("device", ["local-sync", "local-task"])
@pytest.mark.parametrize("way", ["main", "bound"])
def test_interrupt(child, device, way):
    out = child(
        "slow",
        f"""
        main = session.load(path, devices={device!r})["main"]
        bound = main.bind([((), "i4"), ((256, 256), "f4")], [((256, 256), "f4")])
        call = bound if {way!r} == "bound" else lambda arrays: main(*arrays)
        x = np.eye(256, dtype=np.float32)
        call([np.array(3, np.int32), x])
        def interrupt():
            global sent
            sent = time.perf_counter()
            os.kill(os.getpid(), signal.SIGINT)
        threading.Timer(0.3, interrupt).start()
        try:
            call([np.array(1_000_000, np.int32), x])
            print("not interrupted")
        except KeyboardInterrupt:
            print("interrupted after", time.perf_counter() - sent)
        result = call([np.array(3, np.int32), x])
        assert np.array_equal(result[0] if {way!r} == "bound" else result, x)
        """,
    )
    assert out.startswith("interrupted after") and float(out.split()[-1]) < 0.2, out


@pytest.mark.parametrize("device", ["local-sync", "local-task"])
def test_fork(child, device):
    out = child(
        "wide",
        f"""
        module = session.load(path, devices={device!r})
        program = module["main"].bind([((4096, 4096), "f4")], [((4096, 4096), "f4")])
        x = np.ones((4096, 4096), np.float32)
        [want] = program([x])
        child = os.fork()
        [got] = program([x])
        good = np.array_equal(got, want)
        if child == 0:
            os._exit(0 if good else 1)
        print(good, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """,
    )
    assert out.strip() == "True 0"


def test_other_python_threads_run_during_long_calls(child):
    out = child(
        "wide",
        """
        program = session.load(path)["main"].bind([((4096, 4096), "f4")], [((4096, 4096), "f4")])
        x = np.ones((4096, 4096), np.float32)
        ticks, stop = [0], []
        def tick():
            while not stop:
                ticks[0] += 1
                time.sleep(0.001)
        thread = threading.Thread(target=tick)
        thread.start()
        for _ in range(10):
            program([x])
        seen = ticks[0]
        stop.append(1)
        thread.join()
        print(seen)
        """,
    )
    assert int(out) > 20


def test_exit_with_work_in_flight(child):
    assert child("wide", "session.load(path).main(np.ones((4096, 4096), np.float32)); print('end')") == "end\n"
