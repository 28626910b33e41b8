"""What is the same in all iterations and takes much is computed once, before the loop."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

PASS = "iree-loop-invariant-code-motion"

HEAD = """
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
"""

#: A loop that carries %x, between what is before it and what its iterations do.
LOOP = """
util.func private @f(%c: tensor<64x64xf32>, %v: tensor<64xf32>, %init: tensor<64x64xf32>, %n: i32, %flag: i1)
    -> tensor<64x64xf32> {{
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %init) -> (tensor<64x64xf32>) : i32 {{
{body}
    %m = linalg.matmul ins(%last, %x : tensor<64x64xf32>, tensor<64x64xf32>) outs(%e : tensor<64x64xf32>)
        -> tensor<64x64xf32>
    scf.yield %m : tensor<64x64xf32>
  }}
  util.return %r : tensor<64x64xf32>
}}
"""


def _pointwise(name, body, *inputs, shape="64x64"):
    """The text of an element-wise op; `body` computes %s of %a (and %b)."""
    types = [f"tensor<{'64' if value == '%v' else shape}xf32>" for value in inputs]
    maps = ", ".join(["#row" if value == "%v" else "#id" for value in inputs] + ["#id"])
    arguments = ", ".join(f"{a}: f32" for a in ("%a", "%b")[: len(inputs)])
    return f"""
    {name} = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel"]}}
        ins({", ".join(inputs)} : {", ".join(types)}) outs(%e : tensor<{shape}xf32>) {{
    ^bb0({arguments}, %out: f32):
      %s = {body} : f32
      linalg.yield %s : f32
    }} -> tensor<{shape}xf32>"""


def _product(name, left, right):
    """The text of a product, with the zeros that it starts from."""
    type = "tensor<64x64xf32>"
    return f"""
    %fill{name[1:]} = linalg.fill ins(%zero : f32) outs(%e : {type}) -> {type}
    {name} = linalg.matmul ins({left}, {right} : {type}, {type}) outs(%fill{name[1:]} : {type}) -> {type}"""


def _parts(text):
    """What is before the first loop, and the rest."""
    at = min(text.find(loop) for loop in ("scf.for", "scf.while") if loop in text)
    return text[:at], text[at:]


def _moved(run_passes, *body):
    text = HEAD + LOOP.format(body="".join(body))
    return _parts(run_passes(text, PASS))


def _is_unchanged(run_passes, *body):
    text = HEAD + LOOP.format(body="".join(body))
    return run_passes(text, PASS) == run_passes(text)


def test_a_product_moves_with_what_it_needs_and_its_epilogue(run_passes, in_order):
    before, loop = _moved(
        run_passes,
        _product("%p", "%c", "%c"),
        _pointwise("%q", "arith.addf %a, %b", "%p", "%v"),
        _pointwise("%last", "arith.mulf %a, %b", "%q", "%x"),
    )
    in_order(before, "linalg.fill", "linalg.matmul ins(%arg0, %arg0", "arith.addf")
    assert "linalg.fill" not in loop and "arith.addf" not in loop
    in_order(loop, "arith.mulf", "linalg.matmul")


def test_only_what_is_alone_for_it_goes_along(run_passes):
    """The negation is cheap and needed at both places; so it is at both."""
    before, loop = _moved(
        run_passes,
        _pointwise("%q", "arith.subf %a, %a", "%c"),
        _product("%p", "%q", "%c"),
        _pointwise("%z", "arith.mulf %a, %b", "%p", "%x"),
        _pointwise("%last", "arith.addf %a, %b", "%q", "%z"),
    )
    assert before.count("arith.subf") == loop.count("arith.subf") == 1
    assert "linalg.matmul" in before and loop.count("linalg.matmul") == 1


def test_transcendental_functions_move(run_passes):
    before, loop = _moved(run_passes, _pointwise("%last", "math.exp %a", "%c"))
    assert "math.exp" in before and "math.exp" not in loop


def test_cheap_ops_add_up(run_passes):
    def chain(length):
        names = ["%c", *[f"%q{k}" for k in range(length - 1)], "%last"]
        return [_pointwise(made, "arith.addf %a, %a", read) for read, made in itertools.pairwise(names)]

    assert _is_unchanged(run_passes, *chain(8))
    before, loop = _moved(run_passes, *chain(16))
    assert before.count("arith.addf") == 16 and "arith.addf" not in loop


def test_constants_in_the_loop_are_no_hindrance(run_passes):
    before, loop = _moved(
        run_passes,
        """
    %dense = arith.constant dense<2.0> : tensor<64x64xf32>""",
        _product("%p", "%c", "%dense"),
        _pointwise("%last", "arith.addf %a, %b", "%p", "%dense"),
    )
    assert "arith.addf" in before and "arith.addf" not in loop


SAME = {
    "cheap": [_pointwise("%last", "arith.addf %a, %b", "%c", "%v")],
    "a_broadcast": [_pointwise("%last", "arith.negf %a", "%v")],
    "carried": [_product("%p", "%c", "%x"), _pointwise("%last", "math.exp %a", "%p")],
    "counted": [
        """
    %t = arith.sitofp %i : i32 to f32
    %g = linalg.fill ins(%t : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>""",
        _pointwise("%last", "math.exp %a", "%g"),
    ],
    "carried_and_captured": [
        """
    %last = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]}
        outs(%e : tensor<64x64xf32>) {
    ^bb0(%out: f32):
      %j = linalg.index 0 : index
      %k = linalg.index 1 : index
      %a = tensor.extract %x[%k, %j] : tensor<64x64xf32>
      %s = math.exp %a : f32
      linalg.yield %s : f32
    } -> tensor<64x64xf32>"""
    ],
    "in_a_branch": [
        """
    %last = scf.if %flag -> (tensor<64x64xf32>) {""",
        _product("%p", "%c", "%c"),
        """
      scf.yield %p : tensor<64x64xf32>
    } else {
      scf.yield %x : tensor<64x64xf32>
    }""",
    ],
    "a_call": [
        """
    %g = util.call @g(%c) : (tensor<64x64xf32>) -> tensor<64x64xf32>""",
        _pointwise("%last", "math.exp %a", "%g"),
    ],
    "a_number_divided": [
        """
    %d = arith.divsi %c1, %n : i32
    %t = arith.sitofp %d : i32 to f32
    %g = linalg.fill ins(%t : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>""",
        _pointwise("%last", "math.exp %a", "%g"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_what_stays(name, run_passes):
    text = HEAD + LOOP.format(body="".join(SAME[name]))
    if name == "a_call":
        text += "util.func private @g(%x: tensor<64x64xf32>) -> tensor<64x64xf32>\n"
    assert run_passes(text, PASS) == run_passes(text)


def test_little_work_stays(run_passes):
    text = (HEAD + LOOP.format(body=_product("%last", "%c", "%c"))).replace("64x64", "4x4")
    assert run_passes(text, PASS) == run_passes(text)


@pytest.mark.parametrize(("rows", "moves"), [(1 << 18, True), (1 << 19, False)])
def test_what_needs_much_more_memory_stays(rows, moves, run_passes):
    type = f"tensor<{rows}x64xf32>"
    text = f"""{HEAD}
util.func private @f(%v: tensor<64xf32>, %w: tensor<64x64xf32>, %init: {type}, %n: index) -> {type} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : {type}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %init) -> ({type}) {{
    {_pointwise("%q", "math.exp %a", "%v", shape=f"{rows}x64")}
    %p = linalg.matmul ins(%x, %w : {type}, tensor<64x64xf32>) outs(%e : {type}) -> {type}
    {_pointwise("%z", "arith.addf %a, %b", "%p", "%q", shape=f"{rows}x64")}
    scf.yield %z : {type}
  }}
  util.return %r : {type}
}}
"""
    before, _ = _parts(run_passes(text, PASS))
    assert ("math.exp" in before) == moves


def test_out_of_all_loops_in_which_it_is_the_same(run_passes):
    body = _product("%p", "%c", "%c") + _product("%q", "%p", "%x") + _product("%z", "%q", "%y")
    before, loop = _moved(
        run_passes,
        f"""
    %last = scf.for %j = %c0 to %n step %c1 iter_args(%y = %x) -> (tensor<64x64xf32>) : i32 {{{body}
      scf.yield %z : tensor<64x64xf32>
    }}""",
    )
    assert before.count("linalg.matmul") == 1 and "linalg.matmul ins(%arg0, %arg0" in before
    start, outer, inner = loop.split("scf.for")
    assert not start and outer.count("linalg.matmul") == 1, "what follows from the outer loop is done there"
    assert inner[: inner.index("scf.yield")].count("linalg.matmul") == 1


def test_a_loop_in_a_branch(run_passes, in_order):
    text = HEAD + LOOP.format(body=_product("%last", "%c", "%c"))
    text = text.replace("%r = scf.for", "%r = scf.if %flag -> (tensor<64x64xf32>) {\n%s = scf.for")
    text = text.replace(
        "  util.return", "  scf.yield %s : tensor<64x64xf32> } else { scf.yield %c : tensor<64x64xf32> }\n  util.return"
    )
    in_order(run_passes(text, PASS), "scf.if", "linalg.matmul ins(%arg0, %arg0", "scf.for", "linalg.matmul", "else")


def test_while_both_regions(run_passes, in_order):
    text = f"""{HEAD}
util.func private @f(%c: tensor<64x64xf32>, %init: tensor<64x64xf32>) -> tensor<64x64xf32> {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %r = scf.while (%x = %init) : (tensor<64x64xf32>) -> tensor<64x64xf32> {{
    {_pointwise("%l", "math.exp %a", "%c")}
    {_pointwise("%d", "arith.subf %a, %b", "%l", "%x")}
    %k = arith.constant 0 : index
    %s = tensor.extract %d[%k, %k] : tensor<64x64xf32>
    %t = arith.cmpf olt, %s, %zero : f32
    scf.condition(%t) %x : tensor<64x64xf32>
  }} do {{
  ^bb0(%y: tensor<64x64xf32>):
    {_product("%p", "%c", "%c")}
    {_pointwise("%z", "arith.addf %a, %b", "%p", "%y")}
    scf.yield %z : tensor<64x64xf32>
  }}
  util.return %r : tensor<64x64xf32>
}}
"""
    before, loop = _parts(run_passes(text, PASS))
    in_order(before, "math.exp", "linalg.matmul")
    assert "math.exp" not in loop and "linalg.matmul" not in loop
    in_order(loop, "arith.subf", "tensor.extract", "scf.condition", "arith.addf")


def test_sizes_of_the_call(run_passes, in_order):
    """The size of a dim is a number that is computed in the loop, and goes along."""
    type = "tensor<?x64xf32>"
    text = f"""{HEAD}
util.func private @f(%rows: {type}, %c: tensor<64x64xf32>, %init: {type}, %n: index) -> {type} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %init) -> ({type}) {{
    %d = tensor.dim %rows, %c0 : {type}
    %e = tensor.empty(%d) : {type}
    %fill = linalg.fill ins(%zero : f32) outs(%e : {type}) -> {type}
    %p = linalg.matmul ins(%rows, %c : {type}, tensor<64x64xf32>) outs(%fill : {type}) -> {type}
    {_pointwise("%z", "arith.addf %a, %b", "%p", "%x", shape="?x64")}
    scf.yield %z : {type}
  }}
  util.return %r : {type}
}}
"""
    before, loop = _parts(run_passes(text, PASS))
    in_order(before, "tensor.dim", "tensor.empty", "linalg.fill", "linalg.matmul")
    assert "linalg.matmul" not in loop and "tensor.dim" not in loop and "arith.addf" in loop


def _is_in_a_kernel(text):
    return "scf.for" not in text[text.index("util.func public") :]


def test_a_loop_in_a_kernel_stays(traced, flow_text, dispatches):
    x = np.ones(4096, np.float32)
    text = flow_text(traced(lambda x, y: lax.fori_loop(0, 50, lambda i, y: y * 0.5 + jnp.exp(x), y), x, x))
    assert _is_in_a_kernel(text) and len(dispatches(text)) == 1


def test_a_loop_that_is_left_without_its_product_goes_into_a_kernel(traced, flow_text, dispatches):
    x = np.ones((64, 64), np.float32)
    text = flow_text(traced(lambda x, y: lax.fori_loop(0, 50, lambda i, y: y * i + (x @ x) % 7, y), x, x))
    assert _is_in_a_kernel(text) and len(dispatches(text)) == 2


def test_without_loops_nothing_is_looked_at(monkeypatch, traced, flow_text):
    from pyiree.compiler.flow import loop_invariant_code_motion

    def fail(*_):
        raise AssertionError

    monkeypatch.setattr(loop_invariant_code_motion, "_Motion", fail)
    x = np.ones((8, 8), np.float32)
    flow_text(traced(lambda x: lax.cond(x.sum() > 0, lambda: x @ x, lambda: jax.nn.softmax(x)), x))
