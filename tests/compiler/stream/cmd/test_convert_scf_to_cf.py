"""iree-stream-convert-scf-to-cf: blocks and branches that count what the loops did.

The text is compiled by IREE and run: `iree-run-module` is the judge.
"""

import pytest

PASS = "iree-stream-convert-scf-to-cf"
PROGRAMS = {
    "count": (
        """
  %r = scf.for %i = %zero to %n step %one iter_args(%s = %zero) -> (i32) : i32 {
    %p = arith.muli %i, %i : i32
    %q = arith.addi %s, %p : i32
    scf.yield %q : i32
  }
  util.return %r : i32""",
        {0: 0, 1: 0, 5: 30},
    ),
    "nested": (
        """
  %r = scf.for %i = %zero to %n step %one iter_args(%s = %zero) -> (i32) : i32 {
    %q = scf.for %j = %zero to %i step %one iter_args(%t = %s) -> (i32) : i32 {
      %even = arith.andi %j, %one : i32
      %c = arith.cmpi eq, %even, %zero : i32
      %u = scf.if %c -> (i32) {
        %x = arith.addi %t, %i : i32
        scf.yield %x : i32
      } else {
        %x = arith.addi %t, %one : i32
        scf.yield %x : i32
      }
      scf.yield %u : i32
    }
    scf.yield %q : i32
  }
  util.return %r : i32""",
        {0: 0, 4: 11, 6: sum((i + 1) // 2 * i + i // 2 for i in range(6))},
    ),
    "open": (
        """
  %r:2 = scf.while (%a = %n, %b = %zero) : (i32, i32) -> (i32, i32) {
    %c = arith.cmpi sgt, %a, %one : i32
    %k = arith.addi %b, %one : i32
    scf.condition(%c) %k, %a : i32, i32
  } do {
  ^bb0(%k: i32, %a: i32):
    %h = arith.shrui %a, %one : i32
    scf.yield %h, %k : i32, i32
  }
  util.return %r#0 : i32""",
        {1: 1, 2: 2, 100: 7},
    ),
    "switch": (
        """
  %i = arith.index_cast %n : i32 to index
  %r = scf.index_switch %i -> i32
  case 2 {
    %x = arith.constant 20 : i32
    scf.yield %x : i32
  }
  case 5 {
    %x = arith.addi %n, %one : i32
    scf.yield %x : i32
  }
  default {
    scf.yield %zero : i32
  }
  util.return %r : i32""",
        {2: 20, 5: 6, 3: 0},
    ),
    "no_else": (
        """
  %c = arith.cmpi sgt, %n, %one : i32
  scf.if %c {
    util.global.store %n, @g : i32
  }
  %r = util.global.load @g : i32
  util.return %r : i32""",
        {0: 77, 3: 3},
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_blocks_do_what_regions_did(name, run_passes, accepted, iree_tool, tmp_path):
    body, wanted = PROGRAMS[name]
    text = run_passes(
        f"""
util.global private mutable @g = 77 : i32
util.func public @main(%n: i32) -> i32 attributes {{iree.abi.stub}} {{
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32{body}
}}""",
        PASS,
    )
    assert "scf." not in text
    accepted(text)
    module = tmp_path / "m.vmfb"
    iree_tool("iree-compile", "--compile-from=stream", "-", "-o", module, input=text)
    for argument, result in wanted.items():
        done = iree_tool("iree-run-module", f"--module={module}", "--function=main", f"--input={argument}")
        assert f"i32={result}\n" in done.stdout


def test_loops_of_dispatch_functions_stay(run_passes):
    text = run_passes(
        """
stream.executable private @e {
  stream.executable.export public @f
  builtin.module {
    func.func @f(%n: index, %x: !stream.binding) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %n step %c1 {
        util.optimization_barrier %i : index
      }
      return
    }
  }
}""",
        PASS,
    )
    assert "scf.for" in text
