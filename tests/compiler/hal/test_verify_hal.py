"""iree-hal-verify: what the hal phase leaves, and errors that name what breaks it."""

# ruff: noqa: E501  (IR text)
import pytest
from pyiree.compiler.ir.diagnostics import CompileError

PASS = "iree-hal-verify"
DEVICE = "%device = util.global.load immutable @device : !hal.device"
COMMANDS = """
    %c-1_i64 = arith.constant -1 : i64
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %k = arith.constant 0 : i32
    %null = util.null : !hal.fence
    %cmd = hal.command_buffer.create device(%device : !hal.device) mode("None") categories("Transfer|Dispatch") affinity(%c-1_i64) bindings(%c2) : !hal.command_buffer
    hal.command_buffer.fill_buffer<%cmd : !hal.command_buffer> target(SLOT : index)[%c0, %c2] pattern(%k : i32) flags("None")
    hal.command_buffer.copy_buffer<%cmd : !hal.command_buffer> source(%c0 : index)[%c0] target(SLOT : index)[%c0] length(%c2) flags("None")
    hal.device.queue.execute.indirect<%device : !hal.device> affinity(%c-1_i64) wait(%null) signal(%null) commands(%cmd) bindings([
      BUFFERS
    ]) flags("None")
"""
TWO = "(%buffer : !hal.buffer)[%c0, %c2], (%buffer : !hal.buffer)[%c0, %c2]"


def module(*, host="", before="util.global private @device : !hal.device", functions=""):
    return f"""module {{ {before}
  util.func public @f(%buffer: !hal.buffer) {{
    {DEVICE}
    {host}
    util.return
  }}
  {functions}
}}"""


def commands(slot="%c0", buffers=TWO):
    return COMMANDS.replace("SLOT", slot).replace("BUFFERS", buffers)


def test_what_is_right(run_passes, program):
    run_passes(module(host=commands()), PASS)
    whole = """util.func public @f(%n: index) -> (!stream.resource<external>, !stream.timepoint) {
      %r, %u = stream.resource.alloca uninitialized : !stream.resource<external>{%n} => !stream.timepoint
      util.return %r, %u : !stream.resource<external>, !stream.timepoint
    }"""
    from pyiree.compiler.hal.pipeline import PASSES

    assert PASSES[-1] == PASS
    run_passes(program(whole), *PASSES)


CASES = {
    "a device that nothing finds": (
        module(before='util.global private @device = #hal.device.target<"local"> : !hal.device'),
        "holds a device that no initializer finds",
    ),
    "an op of another phase": (
        module(host="%t = stream.timepoint.immediate => !stream.timepoint"),
        "'stream.timepoint.immediate' is no op of the host at the end of the hal phase",
    ),
    "kernels that are no binary": (
        module(
            functions='hal.executable private @e { hal.executable.variant public @v target(<"a", "b">) { } }'
        ),
        "was not made a binary",
    ),
    "an executable that is looked up": (
        module(
            host="%e = hal.executable.lookup device(%device : !hal.device) executable(@e) : !hal.executable",
            functions="hal.executable private @e { }",
        ),
        "should have been resolved",
    ),
    "a slot that is not there": (module(host=commands(slot="%c2")), "binds slot 2 of a command buffer that has 2"),
    "too few buffers": (
        module(host=commands(buffers="(%buffer : !hal.buffer)[%c0, %c2]")),
        "fills 1 binding slots of a command buffer that has 2",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_wrong_is_named(name, run_passes):
    text, message = CASES[name]
    with pytest.raises(CompileError, match=message):
        run_passes(text, PASS)
