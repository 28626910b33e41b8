"""References in bytecode, followed along every path: none is read after it was given up, none is left or overwritten.

Blocks that fail may leave and overwrite what they hold: a failing call gives up all of it.
"""

import hypothesis
import pytest
from hypothesis import strategies as st

CASES = {
    "unused argument": "vm.return",
    "unused result": """
        %n = vm.buffer.alloc %c8, %c1 : !vm.buffer
        vm.return""",
    "used where it cannot be moved": """
        %l = vm.buffer.length %a : !vm.buffer -> i64
        vm.return""",
    "twice in a call": """
        vm.call @take(%a, %a) : (!vm.buffer, !vm.buffer) -> ()
        vm.return""",
    "on one of two edges": """
        vm.cond_br %c, ^bb1(%a : !vm.buffer), ^bb2
      ^bb1(%x: !vm.buffer):
        vm.br ^bb2
      ^bb2:
        vm.return""",
    "passed twice": """
        vm.br ^bb1(%a, %a : !vm.buffer, !vm.buffer)
      ^bb1(%x: !vm.buffer, %y: !vm.buffer):
        vm.call @take(%x, %y) : (!vm.buffer, !vm.buffer) -> ()
        vm.return""",
    "passed and kept": """
        vm.br ^bb1(%a : !vm.buffer)
      ^bb1(%x: !vm.buffer):
        vm.call @take(%x, %a) : (!vm.buffer, !vm.buffer) -> ()
        vm.return""",
    "swapped in a loop": """
        vm.br ^bb1(%a, %b, %c : !vm.buffer, !vm.buffer, i32)
      ^bb1(%x: !vm.buffer, %y: !vm.buffer, %n: i32):
        %m = vm.sub.i32 %n, %c1 : i32
        vm.cond_br %m, ^bb1(%y, %x, %m : !vm.buffer, !vm.buffer, i32), ^bb2
      ^bb2:
        vm.return""",
    "rotated in a loop, one twice": """
        vm.br ^bb1(%a, %b, %a, %c : !vm.buffer, !vm.buffer, !vm.buffer, i32)
      ^bb1(%x: !vm.buffer, %y: !vm.buffer, %z: !vm.buffer, %n: i32):
        %m = vm.sub.i32 %n, %c1 : i32
        vm.cond_br %m, ^bb1(%y, %z, %x, %m : !vm.buffer, !vm.buffer, !vm.buffer, i32),
          ^bb1(%y, %y, %x, %m : !vm.buffer, !vm.buffer, !vm.buffer, i32)""",
    "both to one block": """
        vm.cond_br %c, ^bb1(%a : !vm.buffer), ^bb1(%b : !vm.buffer)
      ^bb1(%x: !vm.buffer):
        %l = vm.buffer.length %x : !vm.buffer -> i64
        vm.return""",
    "a table": """
        vm.br_table %c {
          default: ^bb1(%a : !vm.buffer),
          0: ^bb2,
          1: ^bb1(%b : !vm.buffer)
        }
      ^bb1(%x: !vm.buffer):
        vm.br ^bb2
      ^bb2:
        vm.return""",
    "selected": """
        %s = vm.select.ref %c, %a, %b : !vm.buffer
        %l = vm.buffer.length %s : !vm.buffer -> i64
        vm.return""",
    "in a list that is an operand too": """
        %l = vm.list.alloc %c1 : (i32) -> !vm.list<?>
        vm.list.resize %l, %c1 : (!vm.list<?>, i32)
        vm.list.set.ref %l, %c0, %l : (!vm.list<?>, i32, !vm.list<?>)
        vm.return""",
    "alive into a failure": """
        vm.cond_br %c, ^bb1, ^bb2
      ^bb1:
        vm.fail %c, "no"
      ^bb2:
        %l = vm.buffer.length %a : !vm.buffer -> i64
        vm.return""",
}


@pytest.mark.parametrize("body", CASES.values(), ids=CASES)
def test_references_end_once(to_vmfb, check_ownership, body):
    text = f"""
    vm.module @m {{
      vm.export @f
      vm.func private @take(%a: !vm.buffer, %b: !vm.buffer) {{ vm.return }}
      vm.func private @f(%a: !vm.buffer, %b: !vm.buffer, %c: i32) {{
        %c0 = vm.const.i32.zero
        %c1 = vm.const.i32 1
        %c8 = vm.const.i64 8
        {body}
      }}
    }}"""
    check_ownership(to_vmfb(text))


def test_returned_on_one_path_given_up_on_the_other(to_vmfb, check_ownership):
    text = """
    vm.module @m {
      vm.func private @f(%a: !vm.buffer, %b: !vm.buffer, %c: i32) -> !vm.buffer {
        vm.cond_br %c, ^bb1, ^bb2
      ^bb1:
        vm.return %a : !vm.buffer
      ^bb2:
        vm.return %b : !vm.buffer
      }
    }"""
    check_ownership(to_vmfb(text))


@st.composite
def reference_programs(draw):
    """A function over buffers: blocks with buffer arguments, ops on them, branches anywhere (it need not end)."""
    blocks = draw(st.integers(2, 5))
    arity = [2] + [draw(st.integers(0, 3)) for _ in range(blocks - 1)]
    lines, number = [], 0
    for block in range(blocks):
        values = ["%a", "%b"] + [f"%x{block}_{i}" for i in range(arity[block]) if block]
        if block:
            arguments = ", ".join(f"%x{block}_{i}: !vm.buffer" for i in range(arity[block]))
            lines.append(f"^bb{block}({arguments}):" if arguments else f"^bb{block}:")
        for _ in range(draw(st.integers(0, 3))):
            kind = draw(st.sampled_from(("alloc", "length", "take", "select", "make")))
            one, two = draw(st.sampled_from(values)), draw(st.sampled_from(values))
            if kind == "length":
                lines.append(f"%v{number} = vm.buffer.length {one} : !vm.buffer -> i64")
            elif kind == "take":
                lines.append(f"vm.call @take({one}, {two}) : (!vm.buffer, !vm.buffer) -> ()")
            else:
                make = {
                    "alloc": "vm.buffer.alloc %c8, %c : !vm.buffer",
                    "select": f"vm.select.ref %c, {one}, {two} : !vm.buffer",
                    "make": f"vm.call @make({one}) : (!vm.buffer) -> !vm.buffer",
                }[kind]
                lines.append(f"%v{number} = {make}")
                values.append(f"%v{number}")
            number += 1

        def edge(values=values):
            target = draw(st.integers(1, blocks - 1))
            passed = [draw(st.sampled_from(values)) for _ in range(arity[target])]
            types = ", ".join(["!vm.buffer"] * len(passed))
            return f"^bb{target}({', '.join(passed)} : {types})" if passed else f"^bb{target}"

        kind = draw(st.sampled_from(("br", "cond_br", "return", "br_table", "fail")))
        if block == 0 and kind in ("return", "fail"):
            kind = "br"
        if kind == "br":
            lines.append(f"vm.br {edge()}")
        elif kind == "cond_br":
            lines.append(f"vm.cond_br %c, {edge()}, {edge()}")
        elif kind == "br_table":
            lines.append(f"vm.br_table %c {{ default: {edge()}, 0: {edge()}, 1: {edge()} }}")
        elif kind == "return":
            lines.append(f"vm.return {draw(st.sampled_from(values))} : !vm.buffer")
        else:
            lines.append('vm.fail %c, "no"')
    body = "\n".join(lines)
    return f"""
    vm.module @m {{
      vm.func private @take(%a: !vm.buffer, %b: !vm.buffer) {{ vm.return }}
      vm.func private @make(%a: !vm.buffer) -> !vm.buffer {{ vm.return %a : !vm.buffer }}
      vm.func private @f(%a: !vm.buffer, %b: !vm.buffer, %c: i32, %c8: i64) -> !vm.buffer {{
        {body}
      }}
    }}"""


@hypothesis.given(reference_programs())
@hypothesis.settings(max_examples=60, deadline=None, derandomize=True)
def test_references_end_once_in_any_program(to_vmfb, check_ownership, text):
    check_ownership(to_vmfb(text))
