"""iree-hal-conversion: resources become buffers, timepoints fences, and their ops those of devices and queues."""

# ruff: noqa: E501  (IR text)
import pytest
from pyiree.compiler.ir.diagnostics import CompileError

PASS = "iree-hal-conversion"
E = "!stream.resource<external>"
T = "!stream.resource<transient>"

CASES = {
    "allocation in the order of a queue, of a size known at run time": (
        f"""util.func public @f(%n: index, %t: !stream.timepoint) -> ({T}, !stream.timepoint) {{
          %r, %u = stream.resource.alloca uninitialized await(%t) => {T}{{%n}} => !stream.timepoint
          util.return %r, %u : {T}, !stream.timepoint
        }}""",
        [
            "@f(%arg0: index, %arg1: !hal.fence) -> (!hal.buffer, !hal.fence)",
            "util.global.load immutable @device : !hal.device",
            "%fence = hal.fence.create device(%device : !hal.device)",
            'hal.memory_type<"DeviceVisible|DeviceLocal">',
            "hal.device.queue.alloca<%device : !hal.device> affinity(%c-1_i64) wait(%arg1) signal(%fence)",
            ": !hal.buffer{%arg0}",
            "util.return %transient_buffer, %fence : !hal.buffer, !hal.fence",
        ],
    ),
    "allocation that waits for nothing": (
        f"""util.func public @f(%n: index) -> ({E}, !stream.timepoint) {{
          %r, %u = stream.resource.alloca uninitialized : {E}{{%n}} => !stream.timepoint
          util.return %r, %u : {E}, !stream.timepoint
        }}""",
        ["%0 = util.null : !hal.fence", "wait(%0) signal(%fence)"],
    ),
    "an allocation that only its timepoint is needed of": (
        f"""util.func public @f(%n: index) -> !stream.timepoint {{
          %r, %u = stream.resource.alloca uninitialized : {E}{{%n}} => !stream.timepoint
          util.return %u : !stream.timepoint
        }}""",
        ["%fence = hal.fence.create", "hal.device.queue.alloca", "signal(%fence)", "util.return %fence"],
    ),
    "staging memory is the host's": (
        """util.func public @f(%n: index) -> (!stream.resource<staging>, !stream.timepoint) {
          %r, %u = stream.resource.alloca uninitialized : !stream.resource<staging>{%n} => !stream.timepoint
          util.return %r, %u : !stream.resource<staging>, !stream.timepoint
        }""",
        ['hal.memory_type<"HostVisible|HostCoherent|HostLocal|DeviceVisible">', "MappingScoped|MappingAccessRandom"],
    ),
    "memory is given back in the order of a queue": (
        f"""util.func public @f(%r: {T}, %n: index, %t: !stream.timepoint) -> !stream.timepoint {{
          %u = stream.resource.dealloca await(%t) => %r : {T}{{%n}} => !stream.timepoint
          util.return %u : !stream.timepoint
        }}""",
        ["hal.device.queue.dealloca<", "wait(%arg2) signal(%fence) buffer(%arg0 : !hal.buffer)", "util.return %fence"],
    ),
    "constants are mapped, or read from the file": (
        """util.func public @f(%b: !util.buffer, %n: index) -> (i1, !stream.resource<constant>) {
          %c0 = arith.constant 0 : index
          %ok, %r = stream.resource.try_map %b[%c0] : !util.buffer -> i1, !stream.resource<constant>{%n}
          util.return %ok, %r : i1, !stream.resource<constant>
        }
        util.func public @g(%b: !util.buffer, %n: index, %r: !stream.resource<constant>) -> !stream.timepoint {
          %c0 = arith.constant 0 : index
          %c0_i64 = arith.constant 0 : i64
          %file = stream.file.constant %b[%c0 for %n] : !util.buffer{%n} -> !stream.file
          %t = stream.file.read : %file[%c0_i64], %r[%c0], %n : !stream.file -> !stream.resource<constant>{%n} => !stream.timepoint
          util.return %t : !stream.timepoint
        }""",
        [
            "SharingImmutable",
            "hal.allocator.import<%allocator : !hal.allocator> source(%arg0 : !util.buffer)[%c0, %arg1]",
            "hal.ex.file.from_memory device(%device : !hal.device)",
            "access(Read) buffer(%arg0 : !util.buffer)[%c0 for %arg1]",
            "hal.device.queue.read<",
            "source(%memory_file : !hal.file)[%c0_i64] target(%arg2 : !hal.buffer)[%c0] length(%arg1)",
        ],
    ),
    "numbers of the host": (
        """util.func public @f(%r: !stream.resource<staging>, %n: index, %i: index) -> f32 {
          %0 = stream.resource.load %r[%i] : !stream.resource<staging>{%n} -> f32
          stream.resource.store %0, %r[%i] : f32 -> !stream.resource<staging>{%n}
          %size = stream.resource.size %r : !stream.resource<staging>
          util.return %0 : f32
        }""",
        ["hal.buffer.load<%arg0 : !hal.buffer>[%arg2] : f32", "hal.buffer.store<%arg0", "hal.buffer.length<%arg0"],
    ),
    "shares of an allocation": (
        f"""util.func public @f(%r: {E}, %n: index) -> (i1, i1) {{
          stream.resource.retain %r : {E}{{%n}}
          %0 = stream.resource.release %r : {E}{{%n}}
          %1 = stream.resource.is_terminal %r : {E}{{%n}}
          util.return %0, %1 : i1, i1
        }}""",
        ["hal.buffer.allocation.preserve<", "hal.buffer.allocation.discard<", "hal.buffer.allocation.is_terminal<"],
    ),
    "views of a buffer": (
        f"""util.func public @f(%r: {E}, %n: index, %i: index, %k: index) -> {E} {{
          %0 = stream.resource.subview %r[%i] : {E}{{%n}} -> {E}{{%k}}
          util.return %0 : {E}
        }}""",
        ["hal.buffer.subspan<%arg0 : !hal.buffer>[%arg2, %arg3] : !hal.buffer"],
    ),
    "slices of unknown size lie end to end": (
        """util.func public @f(%n: index, %k: index) -> (index, index, index) {
          %0:3 = stream.resource.pack slices({
            [0, 1] = %n,
            [1, 2] = %k
          }) : index
          util.return %0#0, %0#1, %0#2 : index, index, index
        }""",
        ["arith.addi %c0, %arg0", "arith.addi %0, %arg1", "util.return %1, %c0, %0"],
    ),
    "waiting for a timepoint": (
        f"""util.func public @f(%r: {E}, %n: index, %t: !stream.timepoint) -> {E} {{
          %0 = stream.timepoint.await sync %t => %r : {E}{{%n}}
          util.return %0 : {E}
        }}""",
        [
            "hal.fence.await until([%arg2]) timeout_millis(%c-1_i32)",
            'util.status.check_ok %status, "failed to wait on timepoint"',
            "util.return %arg0",
        ],
    ),
    "timepoints are joined": (
        """util.func public @f(%a: !stream.timepoint, %b: !stream.timepoint) -> (!stream.timepoint, !stream.timepoint) {
          %now = stream.timepoint.immediate => !stream.timepoint
          %0 = stream.timepoint.join max(%a, %now, %b) => !stream.timepoint
          %1 = stream.timepoint.join max(%now, %b) => !stream.timepoint
          util.return %0, %1 : !stream.timepoint, !stream.timepoint
        }""",
        ["hal.fence.join at([%arg0, %arg1])", "util.return %fence, %arg1"],
    ),
    "fences of the outside": (
        """util.func public @f(%a: !hal.fence, %b: !hal.fence) -> !hal.fence {
          %0 = stream.timepoint.import %a : (!hal.fence) => !stream.timepoint
          %1 = stream.timepoint.export %0 => (!hal.fence)
          stream.timepoint.chain_external %0 => (%b : !hal.fence)
          util.return %1 : !hal.fence
        }""",
        ["hal.device.queue.barrier<", "wait(%arg0) signal(%arg1)", "util.return %arg0"],
    ),
    "tensors at the boundary": (
        f"""util.func public @f(%v: !hal.buffer_view, %d: index, %n: index) -> !hal.buffer_view {{
          %0 = stream.tensor.import %v : !hal.buffer_view -> tensor<?x4xf32>{{%d}} in {E}{{%n}}
          %1 = stream.tensor.export %0 : tensor<?x4xf32>{{%d}} in {E}{{%n}} -> !hal.buffer_view
          util.return %1 : !hal.buffer_view
        }}""",
        [
            "%buffer = hal.buffer_view.buffer<%arg0 : !hal.buffer_view> : !hal.buffer",
            'hal.buffer.assert<%buffer : !hal.buffer> message("tensor")',
            "minimum_length(%arg2) type(DeviceVisible)",
            "hal.buffer_view.create buffer(%buffer : !hal.buffer)[%c0, %arg2] shape([%arg1, %c4])",
        ],
    ),
    "globals": (
        f"""util.global private mutable @state : {E}
        util.func public @f() -> {E} {{
          %0 = util.global.load @state : {E}
          util.return %0 : {E}
        }}""",
        ["util.global private mutable @state : !hal.buffer", "util.global.load @state : !hal.buffer"],
    ),
    "control flow": (
        f"""util.func public @f(%r: {E}, %s: {E}, %t: !stream.timepoint, %p: i1) -> ({E}, !stream.timepoint) {{
          %now = stream.timepoint.immediate => !stream.timepoint
          cf.cond_br %p, ^bb1(%r, %t : {E}, !stream.timepoint), ^bb1(%s, %now : {E}, !stream.timepoint)
        ^bb1(%0: {E}, %1: !stream.timepoint):
          util.return %0, %1 : {E}, !stream.timepoint
        }}""",
        ["cf.cond_br %arg3, ^bb1(%arg0, %arg2 : !hal.buffer, !hal.fence), ^bb1(%arg1, %0 : !hal.buffer, !hal.fence)"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_before_and_after(name, run_passes, in_order, program):
    source, fragments = CASES[name]
    text = run_passes(program(source, executables=()), PASS)
    assert "stream.resource" not in text and "!stream" not in text
    in_order(text, *fragments)


def test_the_signal_of_an_unused_allocation_stays(run_passes, in_order, program):
    source, lines = CASES["an allocation that only its timepoint is needed of"]
    in_order(run_passes(program(source, executables=()), PASS, "canonicalize", "cse", "dce"), *lines)


def test_iree_takes_all_of_them(run_passes, accepted, program):
    texts = [run_passes(program(source, executables=()), PASS) for source, _ in CASES.values()]
    accepted("\n// -----\n".join(texts), "split-input-file")


COMMANDS = f"""
  util.func public @f(%in: {E}, %out: {E}, %n: index, %k: index, %v: i8, %t: !stream.timepoint) -> !stream.timepoint {{
    %c0 = arith.constant 0 : index
    %u = stream.cmd.execute await(%t) => with(%in as %a: {E}{{%n}}, %out as %b: {E}{{%n}}) {{
      stream.cmd.invalidate %a[%c0 for %n] : {E}{{%n}}
      stream.cmd.concurrent {{
        stream.cmd.fill %v, %a[%c0 for %k] : i8 -> {E}{{%n}}
        stream.cmd.serial {{
          stream.cmd.fill %v, %b[%c0 for %k] : i8 -> {E}{{%n}}
          stream.cmd.fill %v, %b[%k for %k] : i8 -> {E}{{%n}}
        }}
      }}
      stream.cmd.copy %a[%c0], %b[%k], %k : {E}{{%n}} -> {E}{{%n}}
      stream.cmd.flush %b[%c0 for %n] : {E}{{%n}}
    }} => !stream.timepoint
    util.return %u : !stream.timepoint
  }}
"""


def test_commands_are_recorded_with_slots(run_passes, accepted, in_order, program):
    text = run_passes(program(COMMANDS, executables=()), PASS)
    accepted(text)
    create = "hal.command_buffer.create device(%device : !hal.device) mode(OneShot)"
    in_order(
        text,
        create, "bindings(%c2)",
        "fill_buffer<%cmd", "target(%c0_0 : index)[%c0, %arg3] pattern(%arg4 : i8)",
        "fill_buffer<%cmd", "target(%c1 : index)[%c0, %arg3]",
        "execution_barrier<%cmd",
        "fill_buffer<%cmd", "target(%c1 : index)[%arg3, %arg3]",
        "execution_barrier<%cmd",
        "copy_buffer<%cmd", "source(%c0_0 : index)[%c0] target(%c1 : index)[%arg3] length(%arg3)",
        "hal.command_buffer.finalize",
        "hal.device.queue.execute.indirect<", "wait(%arg5) signal(%fence) commands(%cmd) bindings([",
        "(%arg0 : !hal.buffer)[%c0_1, %arg2]",
        "(%arg1 : !hal.buffer)[%c0_1, %arg2]",
        "util.return %fence",
    )  # fmt: skip
    # Between commands that need an order, and nowhere else.
    assert text.count("execution_barrier") == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%0 = stream.timepoint.import %x : (i32) => !stream.timepoint", "only one !hal.fence can be imported"),
        ("%0 = stream.tensor.import %x : i32 -> tensor<4xf32> in !stream.resource<external>{%n}", "import a tensor from"),
        ("%0 = stream.async.alloca : !stream.resource<transient>{%n}", "'stream.async.alloca' has no counterpart"),
    ],
)
def test_errors_name_what_is_wrong(line, message, run_passes, program):
    source = f"util.func public @f(%x: i32, %n: index) {{ {line}\n util.return }}"
    with pytest.raises(CompileError, match=message):
        run_passes(program(source, executables=()), PASS)


def test_an_op_needs_a_device(run_passes):
    source = f"""util.func public @f(%r: {E}, %n: index) -> !stream.timepoint {{
      %0 = stream.resource.dealloca %r : {E}{{%n}} => !stream.timepoint
      util.return %0 : !stream.timepoint
    }}"""
    with pytest.raises(CompileError, match="is on no device, and the module names no default one"):
        run_passes(source, PASS)
