"""Arguments of dispatch functions: fused, annotated, packed into words, folded where they are uniform."""

import pytest

FUSE, ANNOTATE, PACK, FOLD = (
    "iree-stream-fuse-dispatch-bindings", "iree-stream-annotate-dispatch-arguments",
    "iree-stream-pack-dispatch-operands", "iree-stream-fold-uniform-operands",
)  # fmt: skip
R = "!stream.resource<transient>"


def program(arguments, body, sites, host="", results=""):
    return f"""
stream.executable private @e {{
  stream.executable.export public @f
  builtin.module {{
    func.func @f({arguments}) {{
      {body}
      return
    }}
  }}
}}
util.func public @main(%r: {R}, %n: index, %m: index, %i: i32{host}) -> !stream.timepoint {{
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c20 = arith.constant 20 : index
  %c40 = arith.constant 40 : index
  %c64 = arith.constant 64 : index
  %aligned = arith.muli %n, %c64 : index
  %true = arith.constant true
  %v = arith.constant 7 : i32
  %t = stream.cmd.execute with(%r as %a: {R}{{%n}}) {{
    {sites}
  }} => !stream.timepoint
  util.return %t : !stream.timepoint
}}
"""


def dispatch(operands, *ranges):
    lines = ",\n".join([f"{access} %a[{offset} for {length}] : {R}{{%n}}" for access, offset, length in ranges])
    return f"stream.cmd.dispatch @e::@f{operands} {{\n{lines}\n}}\n"


def span(name, offset="%c0"):
    return f"""
      %s{name} = stream.binding.subspan %{name}[{offset}] : !stream.binding -> memref<?xi8>{{%c4}}
      util.optimization_barrier %s{name} : memref<?xi8>"""


BODY = "%c0 = arith.constant 0 : index\n%c4 = arith.constant 4 : index" + span("x") + span("y", "%c4") + span("z")
RANGES = program(
    "%x: !stream.binding, %y: !stream.binding, %z: !stream.binding", BODY,
    dispatch("", ("ro", "%c0", "%c4"), ("ro", "%m", "%c4"), ("wo", "%c64", "%c4"))
    + dispatch("", ("ro", "%c4", "%c4"), ("ro", "%c20", "%c4"), ("wo", "%c40", "%c4")),
)  # fmt: skip


def test_ranges_stay_bindings_while_there_are_few(run_passes):
    assert run_passes(RANGES, FUSE) == run_passes(RANGES)


def test_ranges_become_one_binding_and_offsets(run_passes, accepted, in_order):
    text = run_passes(RANGES, FUSE + "{limit=2}", "cse")
    accepted(text)
    in_order(
        text,
        "func.func @f(%arg0: !stream.binding, %arg1: !stream.binding, %arg2: index, %arg3: index)",
        "subspan %arg0[%arg2]", "arith.addi %arg3, %c4", "subspan %arg0[%2]", "subspan %arg1[%c0]",
        "@e::@f(%c0, %arg2 : index, index)", "ro %arg4[%c0 for %arg1]", "wo %arg4[%c64 for %c4]",
        "@e::@f(%c4, %c20 : index, index)", "ro %arg4[%c0 for %arg1]", "wo %arg4[%c40 for %c4]",
    )  # fmt: skip


def test_equal_ranges_are_one_binding(run_passes, accepted, in_order):
    text = run_passes(RANGES.replace("[%m for", "[%c0 for").replace("[%c20 for", "[%c4 for"), FUSE)
    accepted(text)
    in_order(text, "func.func @f(%arg0: !stream.binding, %arg1: !stream.binding)", "ro ", "wo ", "ro ", "wo ")
    assert text.count("ro %") == 2


def test_what_is_written_is_never_fused(run_passes):
    text = run_passes(RANGES.replace("ro ", "rw ").replace("wo ", "rw "), FUSE + "{limit=0}")
    assert text.count("rw %") == 6


NUMBERS = program(
    "%p: index, %q: i1, %s: index, %i: i32, %f: f32, %x: !stream.binding",
    "%c0 = arith.constant 0 : index" + span("x").replace("%c4", "%c0"),
    dispatch("(%c20, %true, %aligned, %i, %g : index, i1, index, i32, f32)", ("ro", "%c64", "%c4"))
    + dispatch("(%c40, %true, %aligned, %i, %g : index, i1, index, i32, f32)", ("ro", "%c20", "%c4")),
    ", %g: f32",
)


def test_possible_values_and_divisors(run_passes, iree_passes, accepted):
    text = run_passes(NUMBERS, ANNOTATE)
    accepted(text)
    signature = next(line for line in text.splitlines() if "func.func @f" in line)
    assert "stream.alignment = 20 : index, stream.values = [20 : index, 40 : index]" in signature
    assert "i1 {stream.values = [true]}" in signature and "%arg3: i32, %arg4: f32" in signature
    assert "%arg2: index {stream.alignment = 64 : index}" in signature
    assert "!stream.binding {stream.alignment = 4 : index}" in signature
    theirs = next(line for line in iree_passes(NUMBERS, ANNOTATE).splitlines() if "func.func @f" in line)
    assert theirs.count("stream.values") == signature.count("stream.values")


@pytest.mark.parametrize(
    ("type", "words", "unpack"),
    [
        ("i1", 1, ("trunci", "i32 to i1")),
        ("i8", 1, ("trunci", "i32 to i8")),
        ("i32", 1, ()),
        ("i64", 2, ("shli", "ori")),
        ("index", 2, ("shli", "ori", "index_castui", "i64 to index")),
        ("bf16", 1, ("trunci", "bitcast", "i16 to bf16")),
        ("f32", 1, ("bitcast", "i32 to f32")),
        ("f64", 2, ("shli", "ori", "bitcast", "i64 to f64")),
        ("complex<f32>", 2, ("bitcast", "bitcast", "complex.create")),
    ],
)
def test_numbers_travel_as_words(type, words, unpack, run_passes, accepted, in_order, iree_passes):
    source = program(
        f"%p: {type}, %x: !stream.binding", f"util.optimization_barrier %p : {type}",
        dispatch(f"(%g : {type})", ("ro", "%c0", "%c4")), f", %g: {type}",
    )  # fmt: skip
    text = run_passes(source, PACK, "canonicalize")
    accepted(text)
    arguments = ", ".join([f"%arg{i}: i32" for i in range(words)])
    in_order(text, f"@f({arguments}, %arg{words}: !stream.binding)", *unpack, "optimization_barrier", "return")
    assert f": {', '.join(['i32'] * words)})" in text
    if type != "index":
        # IREE passes an index in one word by default.
        theirs = iree_passes(source, PACK, "canonicalize")
        host = [t[t.index("util.func") :] for t in (text, theirs)]
        for op in ("trunci", "shrui", "extui", "bitcast"):
            assert host[0].count(op) == host[1].count(op)


def test_words_are_put_together_as_they_were_taken_apart(run_passes, iree_tool, tmp_path):
    # The function itself: what comes in, taken apart and put together again, is folded to itself by IREE's folders.
    source = program(
        "%p: i64, %x: !stream.binding", "util.optimization_barrier %p : i64",
        dispatch("(%big : i64)", ("ro", "%c0", "%c4")),
    ).replace("%true =", "%big = arith.constant 0x123456789abcdef0 : i64\n  %true =")  # fmt: skip
    text = run_passes(source, PACK, "canonicalize", FOLD, "canonicalize")
    assert "arith.constant 1311768467463790320 : i64" in text and "@e::@f {" in text


UNIFORM = program(
    "%p: i32, %q: index, %s: i32, %u: index, %w: index, %x: !stream.binding",
    "\n".join(f"util.optimization_barrier %{n} : {t}" for n, t in
              (("p", "i32"), ("q", "index"), ("s", "i32"), ("u", "index"), ("w", "index"))),
    dispatch("(%i, %n, %i, %c4, %c20 : i32, index, i32, index, index)", ("ro", "%c0", "%c4"))
    + dispatch("(%v, %n, %v, %c4, %c40 : i32, index, i32, index, index)", ("ro", "%c0", "%c4")),
)  # fmt: skip


def test_uniform_numbers_are_not_passed(run_passes, iree_passes, accepted, in_order):
    text = run_passes(UNIFORM, FOLD)
    accepted(text)
    in_order(
        text,
        "func.func @f(%arg0: i32, %arg1: index, %arg2: index, %arg3: !stream.binding)", "arith.constant 4 : index",
        "barrier %arg0", "barrier %arg1", "barrier %arg0", "barrier %c4", "barrier %arg2",
        "@e::@f(%arg3, %arg1, %c20 : i32, index, index)", "@e::@f(%c7_i32, %arg1, %c40 : i32, index, index)",
    )  # fmt: skip
    theirs = iree_passes(UNIFORM, FOLD)
    for line in ("func.func @f(", "stream.cmd.dispatch @e::@f("):
        mine, other = (next(x for x in t.splitlines() if line in x) for t in (text, theirs))
        assert mine.count(": i32") + mine.count(": index") == other.count(": i32") + other.count(": index")
