"""The task queue under load and misuse, each case in a process of its own."""

import os
import textwrap

import pytest


@pytest.fixture
def run(scheduler_child):
    return lambda code, **options: scheduler_child(textwrap.dedent(code), **options).stdout


def test_random_graphs_from_many_threads(run):
    """Every kernel checks that all workgroups of its predecessors are done."""
    run("""
        executor = started(4, spin=200)
        bad, keep = [], []
        def submitter(seed):
            rng = random.Random(seed)
            for repetition in range(6):
                n = rng.randint(1, 50)
                states = [cell(2 + 2 * 8) for _ in range(n)]
                nodes = []
                for j in range(n):
                    deps = sorted(rng.sample(range(j), min(j, rng.randint(0, 4)))) if j else []
                    states[j][1] = len(deps)
                    count = (rng.randint(1, 5), rng.randint(1, 3), rng.randint(1, 2))
                    grain = rng.choice([1, 1, 2, 8])
                    nodes.append(dict(kernel="ordered", state=states[j], count=count, deps=deps, grain=grain))
                total = [int(np.prod(node["count"])) for node in nodes]
                graph = Graph(executor, nodes)
                keep.append((graph, states))
                for r in range(1, 40):
                    for j, node in enumerate(nodes):
                        for k, d in enumerate(node["deps"]):
                            states[j][2 + 2 * k] = states[d].ctypes.data
                            states[j][3 + 2 * k] = total[d] * r
                    status = graph.run()
                    if status or any(states[j][0] != total[j] * r for j in range(n)):
                        bad.append((seed, repetition, r, status))
                        return
        threads = [threading.Thread(target=submitter, args=(seed,)) for seed in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        assert not bad, bad
    """)


def test_every_workgroup_runs_once(run):
    """Few claims have bits of one word, many are counted; the last one may be shorter."""
    run("""
        executor = started(3, spin=200)
        for grain in (1, 2, 3, 7, 32):
            for tiles in (1, 2, 3, 5, 31, 32, 33, 63, 64, 65, 97, 200):
                states = [np.zeros(tiles, np.int64) for _ in range(3)]
                nodes = [dict(kernel="each", state=s, count=(tiles, 1, 1), grain=grain) for s in states]
                nodes[2]["deps"] = [0, 1]
                graph = Graph(executor, nodes)
                for _ in range(20):
                    assert graph.run() == 0
                assert all(np.all(s & 0xFFFFFFFF == 20) for s in states), (grain, tiles)
    """)


def test_a_thread_alone_takes_its_own_part_first(run):
    """And then what others would take last; so it takes all, in whatever order."""
    run("""
        executor = started(0)
        state = np.zeros(24, np.int64)
        graph = Graph(executor, [dict(kernel="each", state=state, count=(24, 1, 1), grain=2)])
        assert graph.run() == 0
        assert np.all(state & 0xFFFFFFFF == 1) and len(set(state >> 32)) == 1
    """)


def test_no_worker_is_a_legal_setting(run):
    run("""
        executor = started(0)
        c = cell()
        node = dict(kernel="count", state=c)
        nodes = [dict(node, count=(3, 1, 1)), dict(node, count=(4, 2, 1), deps=[0])]
        assert Graph(executor, nodes).run() == 0 and c[0] == 11
    """)


def test_dispatch_without_workgroups_completes(run):
    run("""
        executor = started(1)
        c = cell()
        node = dict(kernel="count", state=c)
        graph = Graph(executor, [dict(node, count=(3, 1, 1)), dict(node, count=(0, 1, 1), deps=[0]),
                                 dict(node, count=(2, 1, 1), deps=[1])])
        assert graph.run() == 0 and c[0] == 5
    """)


def test_failing_kernel_stops_the_rest_and_spares_the_executor(run):
    run("""
        executor = started(2)
        c = cell()
        bad = Graph(executor, [dict(kernel="fail"), dict(kernel="count", state=c, deps=[0])])
        assert bad.run() == (3 << 8 | 13) and c[0] == 0
        good = Graph(executor, [dict(kernel="count", state=c, count=(5, 1, 1))])
        assert good.run() == 0 and c[0] == 5
    """)


def test_workers_start_only_when_wanted(run):
    run("""
        executor = executors.Executor(2)
        c = cell()
        single = Graph(executor, [dict(kernel="count", state=c)])
        assert single.run() == 0 and not executor._threads, "one workgroup wakes nobody"
        many = Graph(executor, [dict(kernel="busy", state=np.array([1 << 20]), count=(64, 1, 1))])
        many.submit()
        executor.start_if_wanted()
        assert len(executor._threads) == 2
        assert many.wait() == 0
        executor.stop()
        assert executor.running_workers == 0
    """)


@pytest.mark.parametrize("spin", [0, 10**9])
def test_exit_with_idle_workers(run, spin):
    run(f"""
        executor = started(2, spin={spin})
        c = cell()
        assert Graph(executor, [dict(kernel="count", state=c, count=(5, 1, 1))]).run() == 0
    """)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_workers_leave_the_core_of_the_caller(run):
    run("""
        cores = sorted(os.sched_getaffinity(0))
        executor = started(1)
        while not executor.running_workers:
            time.sleep(0.001)
        worker = executor._threads[0].native_id
        c = cell()
        graph = Graph(executor, [dict(kernel="count", state=c, count=(8, 1, 1))])
        for core in (*cores, *cores):
            os.sched_setaffinity(0, {core})
            assert graph.run() == 0
            assert core not in os.sched_getaffinity(worker), (core, os.sched_getaffinity(worker))
    """)


def test_exit_while_a_dispatch_runs(run):
    assert "leaving" in run("""
        executor = started(2)
        graph = Graph(executor, [dict(kernel="busy", state=np.array([500_000_000]), count=(4, 1, 1))])
        graph.submit()
        print("leaving")
    """)


def test_fork(run):
    out = run("""
        executor = started(2)
        c = cell()
        graph = Graph(executor, [dict(kernel="count", state=c, count=(5, 1, 1))])
        graph.run()
        child = os.fork()
        if child == 0:
            graph = Graph(executor, [dict(kernel="count", state=c, count=(5, 1, 1))])
            ok = graph.run() == 0 and c[0] == 10
            os._exit(0 if ok else 1)
        assert graph.run() == 0 and c[0] == 10
        print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """)
    assert "child 0" in out


def test_fork_while_other_threads_submit(run):
    """No native lock is held in the child."""
    run("""
        executor = started(2)
        stop = False
        def submitter():
            c = cell()
            graph = Graph(executor, [dict(kernel="count", state=c, count=(2, 1, 1))])
            while not stop:
                graph.run()
        threads = [threading.Thread(target=submitter) for _ in range(3)]
        [t.start() for t in threads]
        for _ in range(20):
            child = os.fork()
            if child == 0:
                c = cell()
                ok = Graph(executor, [dict(kernel="count", state=c, count=(3, 1, 1))]).run() == 0 and c[0] == 3
                os._exit(0 if ok else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        stop = True
        [t.join() for t in threads]
    """)


@pytest.mark.parametrize("workers", [0, 1])
def test_interrupt_of_a_long_dispatch(run, workers):
    out = run(f"""
        executor = started({workers})
        graph = Graph(executor, [dict(kernel="busy", state=np.array([20_000_000]), count=(4000, 1, 1))])
        def interrupt():
            global sent
            sent = time.perf_counter()
            os.kill(os.getpid(), signal.SIGINT)
        threading.Timer(0.2, interrupt).start()
        try:
            graph.run()
            print("not interrupted")
        except KeyboardInterrupt:
            print("interrupted after", time.perf_counter() - sent)
        c = cell()
        assert Graph(executor, [dict(kernel="count", state=c, count=(5, 1, 1))]).run() == 0 and c[0] == 5
    """)
    # All of it would take minutes; a busy machine takes its time to deliver a signal.
    assert out.startswith("interrupted after") and float(out.split()[-1]) < 5, out


def test_thread_count_setting(run):
    assert run("print(executors.thread_count())", env={"PYIREE_THREADS": "3"}).strip() == "3"
    code = """
        from pyiree.runtime.vmfb.errors import ConfigError
        try:
            executors.thread_count()
        except ConfigError as error:
            print(error)
    """
    for text in ("none", "0"):
        told = run(code, env={"PYIREE_THREADS": text}).strip()
        assert told == f"PYIREE_THREADS = '{text}': expected a number of threads, at least 1 and at most 4096"
