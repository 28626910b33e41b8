"""What becomes one dispatch: groups before and after, on text."""

import re

import jax.numpy as jnp
import numpy as np
import pytest

PASS = "iree-dispatch-creation-form-dispatch-regions"

HEAD = """
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#col = affine_map<(d0, d1) -> (d1)>
#flip = affine_map<(d0, d1) -> (d1, d0)>
#one = affine_map<(d0) -> (d0)>
"""


def _map(result, source, op, *, maps="#id, #id", type="tensor<8x16xf32>", into=None):
    into = into or type
    kinds = ", ".join(['"parallel"'] * (into.count("x")))
    return f"""
    {result}_e = tensor.empty() : {into}
    {result} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
        ins({source} : {type}) outs({result}_e : {into}) {{
    ^bb0(%in: f32, %out: f32):
      %made = math.{op} %in : f32
      linalg.yield %made : f32
    }} -> {into}
    """


def _sum(result, source, *, out="#row", kinds='"parallel", "reduction"', type="tensor<8x16xf32>", into="tensor<8xf32>"):
    return f"""
    {result}_z = arith.constant 0.0 : f32
    {result}_e = tensor.empty() : {into}
    {result}_i = linalg.fill ins({result}_z : f32) outs({result}_e : {into}) -> {into}
    {result} = linalg.generic {{indexing_maps = [#id, {out}], iterator_types = [{kinds}]}}
        ins({source} : {type}) outs({result}_i : {into}) {{
    ^bb0(%in: f32, %acc: f32):
      %sum = arith.addf %acc, %in : f32
      linalg.yield %sum : f32
    }} -> {into}
    """


def _regions(text):
    """The ops of each region, and how many results it has."""
    found = []
    for part in text.split("flow.dispatch.region")[1:]:
        body = part.partition("flow.return")[0]
        results = part.partition("flow.return")[2].partition(":")[0].split(",")
        found.append((re.findall(r"math\.\w+|arith\.addf|linalg\.\w*matmul\w*|tensor\.extract\b", body), len(results)))
    return found


def _function(body, results="%y", types="tensor<8x16xf32>", arguments="%a: tensor<8x16xf32>"):
    return f"{HEAD} util.func private @f({arguments}) -> ({types}) {{ {body} util.return {results} : {types} }}"


def test_a_chain_is_one(run_passes):
    text = run_passes(_function(_map("%x", "%a", "exp") + _map("%y", "%x", "tanh")), PASS)
    assert _regions(text) == [(["math.exp", "math.tanh"], 1)]


def test_a_value_that_is_needed_outside_is_a_second_result(run_passes):
    body = _map("%x", "%a", "exp") + _map("%y", "%x", "tanh")
    text = run_passes(_function(body, "%x, %y", "tensor<8x16xf32>, tensor<8x16xf32>"), PASS)
    assert _regions(text) == [(["math.exp", "math.tanh"], 2)]


def test_a_value_for_an_op_that_nothing_needs_is_no_result(run_passes):
    unneeded = _map("%u", "%x", "sin") + _map("%v", "%u", "cos")
    text = run_passes(_function(_map("%x", "%a", "exp") + unneeded + _map("%y", "%x", "tanh")), PASS)
    assert _regions(text) == [(["math.exp", "math.tanh"], 1)]


def test_a_scatter_stores_only_its_result(traced, flow_text):
    """The counts of what is unique need nothing of the values that the places are made of."""

    def places(x):
        return jnp.unique(x, size=3, return_index=True, return_inverse=True, return_counts=True)

    text = flow_text(traced(places, np.zeros(1, np.int32)))
    scatters = [part for part in text.split("func.func") if "iree_linalg_ext.scatter" in part]
    assert [part.count("dispatch.tensor.store") for part in scatters] == [1]


def test_rows_stay_together(run_passes):
    """exp, its sum, and the quotient: a softmax."""
    body = (
        _map("%x", "%a", "exp")
        + _sum("%s", "%x")
        + """
        %e = tensor.empty() : tensor<8x16xf32>
        %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
            ins(%x, %s : tensor<8x16xf32>, tensor<8xf32>) outs(%e : tensor<8x16xf32>) {
        ^bb0(%p: f32, %q: f32, %o: f32):
          %r = arith.divf %p, %q : f32
          linalg.yield %r : f32
        } -> tensor<8x16xf32>
        """
    )
    assert _regions(run_passes(_function(body), PASS)) == [(["math.exp", "arith.addf"], 1)]


def test_reductions_side_by_side(run_passes):
    body = _sum("%s", "%a") + _map("%x", "%a", "exp") + _sum("%t", "%x")
    text = run_passes(_function(body, "%s, %t", "tensor<8xf32>, tensor<8xf32>"), PASS)
    assert _regions(text) == [(["arith.addf", "math.exp", "arith.addf"], 2)]


def test_rows_and_columns_are_two(run_passes):
    columns = _sum("%t", "%a", out="#col", kinds='"reduction", "parallel"', into="tensor<16xf32>")
    text = run_passes(_function(_sum("%s", "%a") + columns, "%s, %t", "tensor<8xf32>, tensor<16xf32>"), PASS)
    assert len(_regions(text)) == 2


def test_nothing_is_computed_once_a_column_in_each_row(run_passes):
    """A dear function of a vector that large rows read is a dispatch of its own."""
    wide = "tensor<4096x1024xf32>"
    body = _map("%v", "%a", "exp", maps="#one, #one", type="tensor<1024xf32>") + _map(
        "%y", "%v", "absf", maps="#col, #id", type="tensor<1024xf32>", into=wide
    )
    text = run_passes(_function(body, types=wide, arguments="%a: tensor<1024xf32>"), PASS)
    assert [ops for ops, _ in _regions(text)] == [["math.exp"], ["math.absf"]]


def test_a_matmul_takes_what_follows_it(run_passes):
    body = (
        _map("%p", "%a", "exp")
        + """
        %z = arith.constant 0.0 : f32
        %e = tensor.empty() : tensor<8x8xf32>
        %i = linalg.fill ins(%z : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
        %m = linalg.matmul ins(%p, %b : tensor<8x16xf32>, tensor<16x8xf32>)
            outs(%i : tensor<8x8xf32>) -> tensor<8x8xf32>
        """
        + _map("%y", "%m", "tanh", type="tensor<8x8xf32>")
    )
    arguments = "%a: tensor<8x16xf32>, %b: tensor<16x8xf32>"
    text = run_passes(_function(body, types="tensor<8x8xf32>", arguments=arguments), PASS)
    assert _regions(text) == [(["math.exp"], 1), (["linalg.matmul", "math.tanh"], 1)]


def test_groups_never_wait_for_each_other(run_passes):
    """%y needs %c, which needs %x: %x may not be stored by a group that waits for %c."""
    body = (
        _map("%x", "%a", "exp")
        + """
        %k = util.optimization_barrier %x : tensor<8x16xf32>
        %e = tensor.empty() : tensor<8x16xf32>
        %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
            ins(%x, %k : tensor<8x16xf32>, tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) {
        ^bb0(%p: f32, %q: f32, %o: f32):
          %r = arith.addf %p, %q : f32
          linalg.yield %r : f32
        } -> tensor<8x16xf32>
        """
    )
    text = run_passes(_function(body), PASS)
    assert _regions(text) == [(["math.exp"], 1), (["arith.addf"], 1)]


def test_gathered_tensors_are_made_before(run_passes):
    body = (
        _map("%x", "%a", "exp")
        + """
        %e = tensor.empty() : tensor<8x16xf32>
        %y = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]}
            outs(%e : tensor<8x16xf32>) {
        ^bb0(%o: f32):
          %i = linalg.index 0 : index
          %j = linalg.index 1 : index
          %c7 = arith.constant 7 : index
          %k = arith.subi %c7, %i : index
          %v = tensor.extract %x[%k, %j] : tensor<8x16xf32>
          linalg.yield %v : f32
        } -> tensor<8x16xf32>
        """
    )
    assert _regions(run_passes(_function(body), PASS)) == [(["math.exp"], 1), (["tensor.extract"], 1)]


def test_dynamic_rows(run_passes, in_order):
    text = run_passes(
        f"""{HEAD}
        util.func private @f(%a: tensor<?x16xf32>, %n: index) -> tensor<?xf32> {{
          %z = arith.constant 0.0 : f32
          %e = tensor.empty(%n) : tensor<?xf32>
          %i = linalg.fill ins(%z : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
          %s = linalg.generic {{indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}}
              ins(%a : tensor<?x16xf32>) outs(%i : tensor<?xf32>) {{
          ^bb0(%x: f32, %acc: f32):
            %t = arith.addf %acc, %x : f32
            linalg.yield %t : f32
          }} -> tensor<?xf32>
          util.return %s : tensor<?xf32>
        }}
        """,
        PASS,
    )
    in_order(text, "flow.dispatch.region -> (tensor<?xf32>{%arg1})", "tensor.empty(%arg1)", "linalg.generic")


def test_reshapes_of_what_is_read_stay_outside(run_passes, in_order):
    body = """
    %s = tensor.collapse_shape %a [[0, 1]] : tensor<8x16xf32> into tensor<128xf32>
    """ + _map("%y", "%s", "exp", maps="#one, #one", type="tensor<128xf32>")
    text = run_passes(_function(body, types="tensor<128xf32>"), PASS)
    in_order(text, "tensor.collapse_shape", "flow.dispatch.region", "math.exp")


def test_bodies_of_loops_have_their_own_groups(run_passes, in_order):
    body = f"""
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c5 = arith.constant 5 : index
    %y = scf.for %i = %c0 to %c5 step %c1 iter_args(%c = %a) -> (tensor<8x16xf32>) {{
      {_map("%n", "%c", "exp")}
      scf.yield %n : tensor<8x16xf32>
    }}
    """
    text = run_passes(_function(body), PASS)
    in_order(text, "scf.for", "flow.dispatch.region", "math.exp", "flow.return", "scf.yield")


def _binary(result, left, right, op="addf"):
    return f"""
    {result}_e = tensor.empty() : tensor<8x16xf32>
    {result} = linalg.generic {{indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}}
        ins({left}, {right} : tensor<8x16xf32>, tensor<8x16xf32>) outs({result}_e : tensor<8x16xf32>) {{
    ^bb0(%p: f32, %q: f32, %o: f32):
      %made = arith.{op} %p, %q : f32
      linalg.yield %made : f32
    }} -> tensor<8x16xf32>
    """


def _total(results, values, op="addf"):
    """The sum of some values, from left to right; the last of `results` names is it."""
    *first, second = values[:2]
    text = _binary(results[0], *first, second, op)
    for result, before, value in zip(results[1:], results, values[2:]):
        text += _binary(result, before, value, op)
    return text


def _wide(count, prefix, source):
    """So many values made of one, and their sum."""
    values = [f"{prefix}{n}" for n in range(count)]
    sums = [f"{prefix}s{n}" for n in range(1, count)]
    return "".join([_map(v, source, "exp") for v in values]) + _total(sums, values), sums[-1]


def _reads_and_writes(text):
    """The tensors from outside that each region reads, and how many results it has."""
    found = []
    for part in text.split("flow.dispatch.region")[1:]:
        body, _, rest = part.partition("flow.return")
        inside = set(re.findall(r"(%\w+) =", body))
        read = {v for line in re.findall(r"ins\((.*?) :", body) for v in line.split(", ")} - inside
        found.append((len(read), rest.partition(":")[0].count(",") + 1))
    return found


def test_many_values_half_way_are_no_reason_to_part(run_passes):
    body, last = _wide(60, "%v", "%a")
    text = run_passes(_function(body, last), PASS)
    assert _reads_and_writes(text) == [(1, 1)]


def test_what_reads_too_much_is_cut_where_little_crosses(run_passes):
    """A sum of 24 of the arguments, all of whose logarithms the sum of the next 24 is added to."""
    arguments = ", ".join([f"%x{n}: tensor<8x16xf32>" for n in range(48)])
    body = ""
    sums = {}
    for half in (0, 1):
        values = [f"%l{n}" for n in range(half * 24, half * 24 + 24)]
        body += "".join([_map(v, v.replace("l", "x"), "log") for v in values])
        if half:
            values.append("%t")
        names = [f"%s{half}_{n}" for n in range(len(values) - 1)]
        body += _total(names, values)
        sums[half] = names[-1]
        body += _map("%t", names[-1], "tanh") if not half else ""
    text = run_passes(_function(body, sums[1], arguments=arguments), PASS)
    assert _reads_and_writes(text) == [(24, 1), (25, 1)]


def test_a_long_program_is_cut_where_it_is_narrow(run_passes):
    body, at = "", "%a"
    for number in range(12):
        more, at = _wide(30, f"%v{number}_", at)
        body += more
    assert _reads_and_writes(run_passes(_function(body, at), PASS)) == [(1, 1)] * 2


def _turned(result, source, *, type, into, map):
    """A transposition."""
    kinds = ", ".join(['"parallel"'] * 4)
    maps = f"affine_map<(a, b, c, d) -> ({map})>, affine_map<(a, b, c, d) -> (a, b, c, d)>"
    return f"""
    {result}_e = tensor.empty() : {into}
    {result} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
        ins({source} : {type}) outs({result}_e : {into}) {{
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    }} -> {into}
    """


_PRODUCT = """
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<{n}x{p}x{c}xf32>
    %i = linalg.fill ins(%z : f32) outs(%e : tensor<{n}x{p}x{c}xf32>) -> tensor<{n}x{p}x{c}xf32>
    {result} = linalg.generic {{indexing_maps = [
        affine_map<(n, p, c, k, l) -> (n, p, k, l)>, affine_map<(n, p, c, k, l) -> (k, l, c)>,
        affine_map<(n, p, c, k, l) -> (n, p, c)>
      ], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}}
      ins({left}, {right} : tensor<{n}x{p}x{k}x{l}xf32>, tensor<{k}x{l}x{c}xf32>) outs(%i : tensor<{n}x{p}x{c}xf32>) {{
    ^bb0(%a0: f32, %b0: f32, %o0: f32):
      %m0 = arith.mulf %a0, %b0 : f32
      %s0 = arith.addf %o0, %m0 : f32
      linalg.yield %s0 : f32
    }} -> tensor<{n}x{p}x{c}xf32>
"""
_SIZES = {"n": 4, "p": 28, "c": 64, "k": 9, "l": 16}


@pytest.mark.parametrize(
    ("place", "source", "count"),
    [
        # Its last dim is the last or the one before: read in vectors, or in blocks that are turned round.
        ("b, a, c, d", "28x4x9x16", 1),
        ("a, b, d, c", "4x28x16x9", 1),
        # What lies side by side would be read at strides all along: laid out before.
        ("d, c, b, a", "16x9x28x4", 2),
        ("a, c, d, b", "4x9x16x28", 2),
    ],
)
def test_a_factor_that_is_read_out_of_order_is_laid_out_before(run_passes, place, source, count):
    given, turned, other = f"tensor<{source}xf32>", "tensor<4x28x9x16xf32>", "tensor<9x16x64xf32>"
    body = _turned("%x", "%a", type=given, into=turned, map=place)
    body += _PRODUCT.format(left="%x", right="%b", result="%y", **_SIZES)
    text = _function(body, "%y", "tensor<4x28x64xf32>", f"%a: {given}, %b: {other}")
    assert run_passes(text, PASS).count("flow.dispatch.region") == count


_WINDOWS = """
    %we = tensor.empty() : tensor<4x28x9x16xf32>
    %w = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>],
        iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%we : tensor<4x28x9x16xf32>) {
    ^bb0(%out: f32):
      %i0 = linalg.index 0 : index
      %i1 = linalg.index 1 : index
      %i2 = linalg.index 2 : index
      %i3 = linalg.index 3 : index
      %at = arith.addi %i1, %i2 : index
      %v = tensor.extract %a[%i0, %at, %i3] : tensor<4x36x16xf32>
      linalg.yield %v : f32
    } -> tensor<4x28x9x16xf32>
"""


@pytest.mark.parametrize(("place", "source", "count"), [("b, a, c", "16x9x64", 1), ("a, c, b", "9x64x16", 2)])
def test_a_factor_beside_windows_is_not_turned_round_at_each_of_their_places(run_passes, place, source, count):
    """Where its last dim stays the last, vectors are read as they are."""
    given = f"tensor<{source}xf32>"
    body = _WINDOWS + _turned_in_three("%x", "%b", type=given, into="tensor<9x16x64xf32>", place=place)
    body += _PRODUCT.format(left="%w", right="%x", result="%y", **_SIZES)
    text = _function(body, "%y", "tensor<4x28x64xf32>", f"%a: tensor<4x36x16xf32>, %b: {given}")
    assert run_passes(text, PASS).count("flow.dispatch.region") == count


def _turned_in_three(result, source, *, type, into, place):
    kinds = ", ".join(['"parallel"'] * 3)
    maps = f"affine_map<(a, b, c) -> ({place})>, affine_map<(a, b, c) -> (a, b, c)>"
    return f"""
    {result}_e = tensor.empty() : {into}
    {result} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
        ins({source} : {type}) outs({result}_e : {into}) {{
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    }} -> {into}
    """


@pytest.mark.parametrize(
    ("place", "into", "count"),
    [
        # Columns are stored in vectors, or in blocks that are turned round.
        ("b, a, c", "28x4x64", 1),
        ("a, c, b", "4x64x28", 1),
        # Element by element, but for a dispatch of its own.
        ("b, c, a", "64x4x28", 2),
    ],
)
def test_products_that_are_stored_out_of_order_are_turned_round_after(run_passes, place, into, count):
    result, left, right = "tensor<4x28x64xf32>", "tensor<4x28x9x16xf32>", "tensor<9x16x64xf32>"
    turned = _turned_in_three("%y", "%s", type=result, into=f"tensor<{into}xf32>", place=place)
    product = _PRODUCT.format(left="%a", right="%b", result="%s", **_SIZES) + turned
    text = _function(product, "%y", f"tensor<{into}xf32>", f"%a: {left}, %b: {right}")
    assert run_passes(text, PASS).count("flow.dispatch.region") == count


_PADDED = """
    %c = arith.constant 0.0 : f32
    {result} = tensor.pad {source} low[{low}] high[{low}] {{
    ^bb0(%i: index, %j: index, %k: index, %l: index):
      tensor.yield %c : f32
    }} : {type} to {into}
"""


@pytest.mark.parametrize(
    ("place", "given", "count"), [("a, d, b, c", "2x64x30x30", 2), ("a, c, b, d", "2x30x30x64", 1)]
)
def test_what_is_padded_is_turned_round_before(run_passes, place, given, count):
    """Where a part of a result is padding, blocks can't be turned round, and elements would be read one by one."""
    source, turned, padded = f"tensor<{given}xf32>", "tensor<2x30x30x64xf32>", "tensor<2x32x32x64xf32>"
    body = _turned("%x", "%a", type=source, into=turned, map=place)
    body += _PADDED.format(result="%y", source="%x", low="0, 1, 1, 0", type=turned, into=padded)
    text = _function(body, "%y", padded, f"%a: {source}")
    assert run_passes(text, PASS).count("flow.dispatch.region") == count


@pytest.mark.parametrize(("place", "into", "count"), [("a, d, b, c", "2x32x64x32", 2), ("a, c, b, d", "2x32x32x64", 1)])
def test_what_is_turned_round_is_padded_before(run_passes, place, into, count):
    source, padded, turned = "tensor<2x30x30x64xf32>", "tensor<2x32x32x64xf32>", f"tensor<{into}xf32>"
    body = _PADDED.format(result="%x", source="%a", low="0, 1, 1, 0", type=source, into=padded)
    body += _turned("%y", "%x", type=padded, into=turned, map=place)
    text = _function(body, "%y", turned, f"%a: {source}")
    assert run_passes(text, PASS).count("flow.dispatch.region") == count


def _halved(levels):
    """Each level adds the elements at even and at odd places of the one before."""
    lines, size = [], 8 << levels
    value = "%a"
    for level in range(levels):
        half = size // 2
        lines.append(f"""
    %e{level} = tensor.extract_slice {value}[0] [{half}] [2] : tensor<{size}xf32> to tensor<{half}xf32>
    %o{level} = tensor.extract_slice {value}[1] [{half}] [2] : tensor<{size}xf32> to tensor<{half}xf32>
    %t{level} = tensor.empty() : tensor<{half}xf32>
    %s{level} = linalg.generic {{indexing_maps = [#one, #one, #one], iterator_types = ["parallel"]}}
        ins(%e{level}, %o{level} : tensor<{half}xf32>, tensor<{half}xf32>) outs(%t{level} : tensor<{half}xf32>) {{
    ^bb0(%l: f32, %r: f32, %out: f32):
      %made = arith.addf %l, %r : f32
      linalg.yield %made : f32
    }} -> tensor<{half}xf32>""")
        value, size = f"%s{level}", half
    types = f"tensor<{size}xf32>"
    return _function("".join(lines), value, types, arguments=f"%a: tensor<{8 << levels}xf32>")


@pytest.mark.parametrize(("levels", "parts"), [(3, [3]), (5, [5]), (8, [2, 6])])
def test_places_that_a_kernel_computes_on_their_own_are_counted(run_passes, levels, parts):
    # Every level has two copies of the one before in the kernel of the last.
    regions = _regions(run_passes(_halved(levels), PASS))
    assert [len(ops) for ops, _ in regions] == parts


@pytest.mark.parametrize(("count", "parts"), [(8, 1), (64, 2), (1024, 4)])
def test_what_is_computed_for_each_piece_is_counted(traced, flow_text, dispatches, count, parts):
    """Butterflies: each level reads two elements of the one before, which are each computed for both pieces of it."""

    def transformed(x):
        length = 1
        while length < count:
            pairs = x.reshape(-1, 2, length)
            x = jnp.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], 1).reshape(-1)
            length *= 2
        return x

    assert len(dispatches(flow_text(traced(transformed, np.zeros(count, np.float32))))) == parts


@pytest.mark.parametrize(("run", "parts"), [(8, 2), (128, 1)])
def test_rows_of_short_runs_are_read_once_for_all_of_them(traced, flow_text, dispatches, run, parts):
    """Whether a mean and what it is taken from are one dispatch, where rows lie between each other."""

    def centred(x):
        return x - x.max((1, 3), keepdims=True)

    assert len(dispatches(flow_text(traced(centred, np.zeros((16, 12, 8, run), np.float32))))) == parts
