"""How often command buffers are recorded: once for the program, once before a loop, or for one use.

Recording follows from `iree-hal-conversion`; `iree-hal-outline-memoize-regions` makes what needs only the device when
the program is loaded.
"""

# ruff: noqa: E501  (IR text)
import pytest
from pyiree.compiler.ir.diagnostics import CompileError

CONVERT = ("iree-hal-materialize-interfaces", "iree-hal-translate-all-executables", "iree-hal-conversion")
CLEAN = ("canonicalize", "cse")
OUTLINE = (*CLEAN, "iree-hal-materialize-resource-caches", "iree-hal-outline-memoize-regions")
E = "!stream.resource<external>"


def loop(size, word, body_values=""):
    """Doubles `%a` into `%b` and back: only the buffers change from one iteration to the next."""
    return f"""
  util.func public @f(%a: {E}, %b: {E}, %n: index, %word: i32, %steps: index) -> !stream.timepoint {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %c16_i32 = arith.constant 16 : i32
    %now = stream.timepoint.immediate => !stream.timepoint
    cf.br ^bb1(%c0, %a, %b, %now : index, {E}, {E}, !stream.timepoint)
  ^bb1(%i: index, %x: {E}, %y: {E}, %t: !stream.timepoint):
    %more = arith.cmpi slt, %i, %steps : index
    cf.cond_br %more, ^bb2, ^bb3
  ^bb2:
    {body_values}
    %u = stream.cmd.execute await(%t) => with(%x as %from: {E}{{{size}}}, %y as %to: {E}{{{size}}}) {{
      stream.cmd.dispatch @double::@double[{size}]({word} : i32) {{
        ro %from[%c0 for {size}] : {E}{{{size}}},
        wo %to[%c0 for {size}] : {E}{{{size}}}
      }}
    }} => !stream.timepoint
    %next = arith.addi %i, %c1 : index
    cf.br ^bb1(%next, %y, %x, %u : index, {E}, {E}, !stream.timepoint)
  ^bb3:
    util.return %t : !stream.timepoint
  }}
"""


def test_a_region_of_constants_is_recorded_when_the_program_is_loaded(run_passes, accepted, in_order, program):
    text = run_passes(program(loop("%c64", "%c16_i32")), *CONVERT)
    in_order(text, "^bb2", "hal.device.memoize<%device", "-> !hal.command_buffer {", 'mode("None")', "hal.return %cmd")
    accepted(text)
    text = run_passes(text, *OUTLINE)
    accepted(text)
    in_order(
        text,
        "util.func private @__f_memoize_0_apply() -> !hal.command_buffer {",
        "hal.command_buffer.create", "bindings(%c2)", "hal.command_buffer.finalize", "util.return %cmd",
        "util.global private @__f_memoize_0_result_0 : !hal.command_buffer",
        "util.initializer {", "util.call @__f_memoize_0_apply()", "util.global.store",
        "util.func public @f", "^bb2", "util.global.load immutable @__f_memoize_0_result_0",
        "hal.device.queue.execute.indirect<", "(%2 : !hal.buffer)", "(%3 : !hal.buffer)",
    )  # fmt: skip
    assert text.count("command_buffer.create") == 1


def test_a_loop_whose_sizes_are_known_at_run_time_records_once_before_it(run_passes, accepted, in_order, program):
    text = run_passes(program(loop("%n", "%word")), *CONVERT, *CLEAN)
    accepted(text)
    in_order(text, '@f(', 'mode("None")', "workgroups([", "hal.command_buffer.finalize", "^bb1(", "^bb2", "commands(%cmd)")
    assert text.count("command_buffer.create") == 1 and "memoize" not in text


def test_a_loop_that_pushes_its_counter_records_for_one_use(run_passes, in_order, program):
    text = run_passes(program(loop("%n", "%k", "%k = arith.index_cast %i : index to i32")), *CONVERT, *CLEAN)
    in_order(text, "^bb2", "mode(OneShot)", "constants([%", "hal.command_buffer.finalize", "commands(%cmd)")
    assert text.count("command_buffer.create") == 1


ONCE = f"""
  util.func public @f(%a: {E}, %b: {E}, %n: index) -> !stream.timepoint {{
    %c0 = arith.constant 0 : index
    %u = stream.cmd.execute with(%a as %from: {E}{{%n}}, %b as %to: {E}{{%n}}) {{
      stream.cmd.copy %from[%c0], %to[%c0], %n : {E}{{%n}} -> {E}{{%n}}
    }} => !stream.timepoint
    util.return %u : !stream.timepoint
  }}
"""


def test_a_region_of_run_time_sizes_is_recorded_where_it_stands(run_passes, in_order, program):
    in_order(run_passes(program(ONCE, ()), *CONVERT), "mode(OneShot)", "length(%arg2)", "(%arg0 : !hal.buffer)[%c0_1, %arg2]")


def test_a_captured_resource_may_have_any_size(run_passes, in_order, program):
    """The bytes of a resource are no part of the recording: what is recorded are the ranges that commands touch."""
    source = ONCE.replace("%to[%c0], %n :", "%to[%c0], %c4 :").replace("%u =", "%c4 = arith.constant 4 : index\n %u =")
    text = run_passes(program(source, ()), *CONVERT, *OUTLINE)
    in_order(text, "_apply()", "length(%c4)", "util.func public @f", "(%arg0 : !hal.buffer)[%c0, %arg2]")


def test_an_initializer_records_where_it_stands(run_passes, accepted, program):
    source = f"""
  util.global private @state : {E}
  util.initializer {{
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %v = arith.constant 0 : i32
    %r, %t = stream.resource.alloca uninitialized : {E}{{%c64}} => !stream.timepoint
    %u = stream.cmd.execute await(%t) => with(%r as %a: {E}{{%c64}}) {{
      stream.cmd.fill %v, %a[%c0 for %c64] : i32 -> {E}{{%c64}}
    }} => !stream.timepoint
    %w = stream.timepoint.await %u => %r : {E}{{%c64}}
    util.global.store %w, @state : {E}
    util.return
  }}
"""
    text = run_passes(program(source, ()), *CONVERT, *OUTLINE)
    accepted(text)
    assert "memoize" not in text and text.count("command_buffer.create") == 1


def test_what_is_copied_into_an_outlined_region(run_passes, in_order, program):
    source = """
  util.func public @f(%fence: !hal.fence, %x: i64) {
    %device = util.global.load immutable @device : !hal.device
    %c-1_i64 = arith.constant -1 : i64
    %allocator = hal.device.allocator<%device : !hal.device> : !hal.allocator
    %made = hal.device.memoize<%device : !hal.device> affinity(%c-1_i64) -> !hal.command_buffer {
      util.optimization_barrier %allocator : !hal.allocator
      %cmd = hal.command_buffer.create device(%device : !hal.device) mode("None") categories(Dispatch) affinity(VALUE) : !hal.command_buffer
      hal.return %cmd : !hal.command_buffer
    }
    hal.device.queue.execute<%device : !hal.device> affinity(%c-1_i64) wait(%fence) signal(%fence) commands(%made) flags("None")
    util.return
  }
"""
    text = run_passes(program(source.replace("VALUE", "%c-1_i64"), ()), "iree-hal-outline-memoize-regions")
    in_order(
        text, "_apply()", "util.global.load immutable @device", "hal.device.allocator", "command_buffer.create",
        "util.func public @f",
    )  # fmt: skip
    with pytest.raises(CompileError, match="a memoize region reads a value that changes"):
        run_passes(program(source.replace("VALUE", "%x"), ()), "iree-hal-outline-memoize-regions")


def test_command_buffers_are_made_behind_the_devices(run_passes, in_order, program):
    """Whatever the order of the text is: an initializer sees only what those before it have stored."""
    source = program(loop("%c64", "%c16_i32"))
    function = source[source.index("  util.func public") : source.rindex("}")]
    first = source.replace(function, "").replace("  util.global private @device", function + "  util.global private @device")
    text = run_passes(first, *CONVERT, "iree-hal-initialize-devices", *OUTLINE)
    in_order(text, "util.func public @f", "util.global private @device :", "@device_executable_0", "_result_0 :", "call @__f_")
