"""iree-stream-schedule-allocation: results have allocations of their own, transients are slices of one slab."""

import pytest

PASS = "iree-stream-schedule-allocation"
EXECUTABLE = """
stream.executable private @e {
  stream.executable.export public @f workgroups() -> (index, index, index) {
    %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice()
    stream.return %x, %y, %z : index, index, index
  }
}
"""


def region(body, arguments, results, captured="%x as %a: !stream.resource<external>{%n}"):
    """A function with one execution region; every size is a value of the caller."""
    types = ", ".join(["!stream.resource<external>"] * results)
    sized = ", ".join(["!stream.resource<external>{%n}"] * results)
    names = ", ".join([f"%r#{i}" for i in range(results)])
    return f"""
util.func public @f(%x: !stream.resource<external>, %n: index, %m: index, {arguments}%t: !stream.timepoint)
    -> ({types}, !stream.timepoint) {{
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %v = arith.constant 7 : i32
  %r:{results + 1} = stream.async.execute await(%t) => with({captured}) -> ({sized}) {{
{body}
  }} => !stream.timepoint
  util.return {names}, %r#{results} : {types}, !stream.timepoint
}}"""


TWO = region(
    """
    %1 = stream.async.splat %v : i32 -> !stream.resource<transient>{%m}
    %2 = stream.async.dispatch @e::@f(%a[%c0 to %n for %n], %1[%c4 to %m for %c4], %v)
        : (!stream.resource<external>{%n}, !stream.resource<transient>{%m}, i32) -> !stream.resource<external>{%n}
    %3 = stream.async.clone %2 : !stream.resource<external>{%n} -> !stream.resource<external>{%n}
    stream.yield %2, %3 : !stream.resource<external>{%n}, !stream.resource<external>{%n}""",
    "",
    2,
)


def test_each_result_has_its_own_allocation(run_passes, in_order, accepted):
    text = run_passes(EXECUTABLE + TWO, PASS)
    accepted(text)
    assert text.count("stream.resource.alloca ") == 3
    assert text.count("!stream.resource<external>{%arg1} => !stream.timepoint") == 2
    in_order(
        text,
        "alloca uninitialized await(%arg3) => !stream.resource<external>",
        "alloca uninitialized await(%arg3) => !stream.resource<external>",
        "util.align %arg2", "stream.resource.pack", "[0, 1] =",
        "alloca uninitialized await(%arg3) => !stream.resource<transient>",
        "stream.timepoint.join max(", "stream.cmd.execute await(",
        "stream.cmd.fill", "stream.cmd.dispatch @e::@f(%c7_i32 : i32)", "ro ", "ro ", "wo ", "stream.cmd.copy",
        "stream.resource.dealloca await(", "util.return",
    )  # fmt: skip


def counts(text):
    words = ("cmd.execute", "cmd.dispatch", "cmd.copy", "cmd.fill", "cmd.concurrent", "ro ", "rw ",
             "wo ", "resource.dealloca", "resource.constants")  # fmt: skip
    return {word: text.count(word) for word in words}


TIED = region(
    """
    %1 = stream.async.fill %v, %a[%c0 to %c4 for %c4] : i32 -> %a as !stream.resource<external>{%n}
    %2 = stream.async.dispatch @e::@f(%1[%c4 to %n for %m]) : (!stream.resource<external>{%n})
        -> %1{%n}
    stream.yield %2 : !stream.resource<external>{%n}""",
    "",
    1,
).replace("-> (!stream.resource<external>{%n}) {", "-> %x as !stream.resource<external>{%n} {")

CONCURRENT = region(
    """
    %1:2 = stream.async.concurrent with(%a as %b: !stream.resource<external>{%n})
        -> (!stream.resource<external>{%n}, !stream.resource<transient>{%m}) {
      %2 = stream.async.dispatch @e::@f(%b[%c0 to %n for %n]) : (!stream.resource<external>{%n})
          -> !stream.resource<external>{%n}
      %3 = stream.async.splat %v : i32 -> !stream.resource<transient>{%m}
      stream.yield %2, %3 : !stream.resource<external>{%n}, !stream.resource<transient>{%m}
    }
    %4 = stream.async.update %1#1, %1#0[%c0 to %m] : !stream.resource<transient>{%m}
        -> %1#0 as !stream.resource<external>{%n}
    stream.yield %4 : !stream.resource<external>{%n}""",
    "",
    1,
)

CONSTANTS = region(
    """
    %1 = stream.async.constant : !stream.resource<constant>{%c4} = dense<3> : tensor<1xi32>
    %2 = stream.async.dispatch @e::@f(%1[%c0 to %c4 for %c4], %a[%c0 to %n for %n])
        : (!stream.resource<constant>{%c4}, !stream.resource<external>{%n}) -> !stream.resource<external>{%n}
    stream.yield %2 : !stream.resource<external>{%n}""",
    "",
    1,
)


@pytest.mark.parametrize("text", [TWO, TIED, CONCURRENT, CONSTANTS], ids=["two", "tied", "concurrent", "constants"])
def test_the_same_commands_as_iree(text, run_passes, iree_passes, accepted):
    ours = run_passes(EXECUTABLE + text, PASS, "canonicalize", "cse")
    accepted(ours)
    assert counts(ours) == counts(iree_passes(EXECUTABLE + text, PASS, "canonicalize", "cse"))


def test_a_result_in_captured_memory_is_that_memory(run_passes):
    text = run_passes(EXECUTABLE + TIED, PASS)
    assert "resource.alloca" not in text
    assert "rw %arg4[%c4 for %arg2]" in text
    assert "util.return %arg0, " in text


def test_an_empty_region_is_its_wait(run_passes):
    text = run_passes(
        region("    stream.yield %a : !stream.resource<external>{%n}", "", 1).replace(
            "-> (!stream.resource<external>{%n}) {", "-> %x as !stream.resource<external>{%n} {"
        ),
        PASS,
    )
    assert "cmd.execute" not in text and "util.return %arg0, %arg3" in text


def test_transfers_out_and_in_are_flushed_and_invalidated(run_passes, in_order, accepted):
    text = run_passes(
        """
util.func public @f(%x: !stream.resource<staging>, %n: index) -> (!stream.resource<staging>, !stream.timepoint) {
  %r:2 = stream.async.execute with(%x as %a: !stream.resource<staging>{%n}) -> !stream.resource<staging>{%n} {
    %1 = stream.async.transfer %a : !stream.resource<staging>{%n} -> !stream.resource<transient>{%n}
    %2 = stream.async.transfer %1 : !stream.resource<transient>{%n} -> !stream.resource<staging>{%n}
    stream.yield %2 : !stream.resource<staging>{%n}
  } => !stream.timepoint
  util.return %r#0, %r#1 : !stream.resource<staging>, !stream.timepoint
}""",
        PASS,
    )
    accepted(text)
    in_order(text, "cmd.invalidate", "cmd.copy", "cmd.copy", "cmd.flush")


def test_loads_and_stores_of_the_host(run_passes, accepted):
    text = run_passes(
        """
util.func public @f(%x: !stream.resource<staging>, %n: index, %i: index, %v: i32) -> (i32) {
  %0 = stream.async.store %v, %x[%i] : i32 -> %x as !stream.resource<staging>{%n}
  %1 = stream.async.load %0[%i] : !stream.resource<staging>{%n} -> i32
  util.return %1 : i32
}""",
        PASS,
    )
    accepted(text)
    assert "stream.resource.store %arg3, %arg0[%arg2]" in text and "stream.resource.load %arg0[%arg2]" in text
