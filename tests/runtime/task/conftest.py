"""The start of every scheduler test's child process: kernels in LLVM IR, and graphs of them on an executor."""

import pytest

_KERNELS = r"""
define i32 @count(ptr %env, ptr %work, ptr %group) {
  %field = getelementptr i8, ptr %work, i64 24
  %state = load ptr, ptr %field
  %old = atomicrmw add ptr %state, i64 1 seq_cst
  ret i32 0
}
; a word for each workgroup of one dim: adds 1, and in the high half the number of the thread that ran it last
define i32 @each(ptr %env, ptr %work, ptr %group) {
  %field = getelementptr i8, ptr %work, i64 24
  %state = load ptr, ptr %field
  %x = load i32, ptr %group
  %place = zext i32 %x to i64
  %word.p = getelementptr i64, ptr %state, i64 %place
  %old = load i64, ptr %word.p
  %count.a = and i64 %old, 4294967295
  %count = add i64 %count.a, 1
  %thread.p = getelementptr i8, ptr %group, i64 12
  %thread.n = load i32, ptr %thread.p
  %thread.w = zext i32 %thread.n to i64
  %thread = shl i64 %thread.w, 32
  %new = or i64 %count, %thread
  store i64 %new, ptr %word.p
  ret i32 0
}
define i32 @fail(ptr %env, ptr %work, ptr %group) {
  ret i32 3
}
declare i64 @llvm.readcyclecounter()
define i32 @busy(ptr %env, ptr %work, ptr %group) {
entry:
  %field = getelementptr i8, ptr %work, i64 24
  %state = load ptr, ptr %field
  %span = load i64, ptr %state
  %start = call i64 @llvm.readcyclecounter()
  br label %loop
loop:
  %now = call i64 @llvm.readcyclecounter()
  %gone = sub i64 %now, %start
  %more = icmp ult i64 %gone, %span
  br i1 %more, label %loop, label %end
end:
  ret i32 0
}
; constants: own counter, number of predecessors, then (address of its counter, value it must have) of each
define i32 @ordered(ptr %env, ptr %work, ptr %group) {
entry:
  %field = getelementptr i8, ptr %work, i64 24
  %state = load ptr, ptr %field
  %count.p = getelementptr i64, ptr %state, i64 1
  %count = load i64, ptr %count.p
  br label %loop
loop:
  %k = phi i64 [0, %entry], [%next, %good]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %check, label %done
check:
  %pair = mul i64 %k, 2
  %first = add i64 %pair, 2
  %second = add i64 %pair, 3
  %a = getelementptr i64, ptr %state, i64 %first
  %b = getelementptr i64, ptr %state, i64 %second
  %counter = load ptr, ptr %a
  %want = load i64, ptr %b
  %have = load atomic i64, ptr %counter seq_cst, align 8
  %next = add i64 %k, 1
  %same = icmp eq i64 %have, %want
  br i1 %same, label %good, label %bad
good:
  br label %loop
bad:
  ret i32 7
done:
  %old = atomicrmw add ptr %state, i64 1 seq_cst
  ret i32 0
}
; called when a submission is done: leaves 1 + status in the word behind it
define i64 @finished(i64 %submission) {
  %status.a = add i64 %submission, 64
  %status.p = inttoptr i64 %status.a to ptr
  %status = load i64, ptr %status.p
  %outcome = add i64 %status, 1
  %word.a = add i64 %submission, 192
  %word = inttoptr i64 %word.a to ptr
  store atomic i64 %outcome, ptr %word seq_cst, align 8
  ret i64 0
}
"""

_START = r'''
import ctypes, os, random, signal, sys, threading, time
import llvmlite.binding as llvm
import numpy as np
from pyiree.runtime.native.image import image
from pyiree.runtime.task import executor as executors, layout as task

native = image()
llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
_engine = llvm.create_mcjit_compiler(llvm.parse_assembly(KERNELS),
                                     llvm.Target.from_default_triple().create_target_machine(jit=True))
_engine.finalize_object()
KERNEL = {name: _engine.get_function_address(name) for name in ("count", "each", "fail", "busy", "ordered", "finished")}

def aligned(size):
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start:start + size]

def words(address, size):
    return (ctypes.c_int64 * (size // 8)).from_address(address)

class Graph:
    """A submission of nodes: dicts with kernel, state (int64 array), count, deps, grain."""
    def __init__(self, executor, nodes):
        self.executor, self.nodes = executor, nodes
        self.memory = aligned(task.SUBMISSION_BYTES + 8)
        self.address = self.memory.ctypes.data
        at = self.at = [native.take_node(executor.address) for _ in nodes]
        successors = [[] for _ in nodes]
        for k, node in enumerate(nodes):
            for d in node.get("deps", ()):
                successors[d].append(at[k])
        self.keep = []
        for k, node in enumerate(nodes):
            work = aligned(task.WORK_BYTES)
            edges = np.array(successors[k] + [0], np.int64)
            x, y, z = node.get("count", (1, 1, 1))
            w = work.view(np.int64)
            state = node.get("state")
            w[task.WORK_CONSTANTS // 8] = state.ctypes.data if state is not None else 0
            w[task.WORK_FUNCTION // 8] = KERNEL[node["kernel"]]
            w[task.WORK_NX // 8], w[task.WORK_NY // 8], w[task.WORK_TILES // 8] = x, y, x * y * z
            deps = len(node.get("deps", ()))
            n = words(at[k], task.NODE_BYTES)
            for place, value in ((task.NODE_WORK, work.ctypes.data), (task.NODE_SUBMISSION, self.address),
                                 (task.NODE_DEPENDENCIES, deps), (task.NODE_PENDING, deps),
                                 (task.NODE_SUCCESSORS, edges.ctypes.data),
                                 (task.NODE_SUCCESSOR_COUNT, len(successors[k])),
                                 (task.NODE_GRAIN, node.get("grain", 1))):
                n[place // 8] = value
            self.keep += [work, edges]
        self.roots = np.array([a for a, node in zip(at, nodes) if not node.get("deps")], np.int64)
        s = self.words = self.memory.view(np.int64)
        for place, value in ((task.SUBMISSION_NODE_COUNT, len(nodes)),
                             (task.SUBMISSION_ROOTS, self.roots.ctypes.data),
                             (task.SUBMISSION_ROOT_COUNT, len(self.roots)),
                             (task.SUBMISSION_WIDTH, len(nodes)),
                             (task.SUBMISSION_ON_DONE, KERNEL["finished"]),
                             (task.SUBMISSION_OWNER, threading.get_ident())):
            s[place // 8] = value
    def submit(self):
        self.words[-1] = 0
        self.words[task.SUBMISSION_OWNER // 8] = threading.get_ident()
        assert native.submit(self.executor.address, self.address)
    def wait(self):
        after = int(self.words[task.SUBMISSION_NUMBER // 8]) - 1
        try:
            while not native.wait_for_word(self.executor.address, self.address + task.SUBMISSION_BYTES, 2_000_000):
                self.executor.start_if_wanted()
        except BaseException:
            self.executor.cancel(after)
            raise
        return int(self.words[-1]) - 1
    def run(self):
        self.submit()
        return self.wait()

def started(workers, spin=None):
    executor = executors.Executor(workers)
    executors._executors[f"test-{id(executor)}"] = executor
    if spin is not None:
        ctypes.c_int64.from_address(executor.address + task.EXECUTOR_SPIN).value = spin
    executor.start()
    return executor

def cell(size=1):
    return np.zeros(size, np.int64)
'''


@pytest.fixture(scope="session")
def scheduler_child(python_child):
    """Runs Python code in a process of its own in which `Graph`, `started` and `cell` are defined."""

    def run(code, **options):
        return python_child(f"KERNELS = {_KERNELS!r}\n{_START}\n{code}", timeout=60, **options)

    return run
