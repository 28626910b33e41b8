"""Copy on write, elision of copies, and emplacement: in place only where nobody looks at the old contents.

Sizes are values throughout (`%n`), so nothing here depends on static shapes.
"""

import pytest

COW = "iree-stream-materialize-copy-on-write"
ELIDE = "iree-stream-elide-async-copies"
EMPLACE = "iree-stream-emplace-allocations"


def program(body, arguments="%x: !hal.buffer_view, %n: index, %a: index, %b: index, %k: index, %p: i1, %v: i32"):
    return f"""
util.global private @d : !hal.device
stream.executable private @e {{
  stream.executable.export public @f
  builtin.module {{
    func.func @f(%0: !stream.binding, %1: !stream.binding) {{ return }}
  }}
}}
util.func public @main({arguments}) -> (!hal.buffer_view, !hal.buffer_view) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  {body}
  util.return %o0, %o1 : !hal.buffer_view, !hal.buffer_view
}}"""


R = "!stream.resource<*>"
FRESH = f"%0 = stream.async.splat %v : i32 -> {R}{{%n}}"
IMPORT = (
    "%i = stream.tensor.import %x : !hal.buffer_view -> tensor<?xi32>{%k} in !stream.resource<external>{%n}\n"
    f"  %0 = stream.async.cast %i : !stream.resource<external>{{%n}} -> {R}{{%n}}"
)


def export(name, value):
    external = "!stream.resource<external>"
    return (
        f"%c_{name} = stream.async.cast {value} : {R}{{%n}} -> {external}{{%n}}\n"
        f"  %{name} = stream.tensor.export %c_{name} : tensor<?xi32>{{%k}} in {external}{{%n}} -> !hal.buffer_view"
    )


def fill(result, target):
    return f"{result} = stream.async.fill %v, {target}[%a to %b for %k] : i32 -> {target} as {R}{{%n}}"


def other():
    return f"%z = stream.async.splat %v : i32 -> {R}{{%n}}\n  {export('o1', '%z')}"


CASES = {
    # name: (copies that stay, body)
    "the last use is written in place": (0, [FRESH, fill("%1", "%0"), export("o0", "%1"), other()]),
    "a chain of writes": (0, [FRESH, fill("%1", "%0"), fill("%2", "%1"), export("o0", "%2"), other()]),
    "the old value goes outside": (1, [FRESH, fill("%1", "%0"), export("o0", "%0"), export("o1", "%1")]),
    "two writers of one value": (
        1, [FRESH, fill("%1", "%0"), fill("%2", "%0"), export("o0", "%1"), export("o1", "%2")],
    ),
    "an argument is not ours": (1, [IMPORT, fill("%1", "%0"), export("o0", "%1"), other()]),
    "a consumed argument is ours": (
        0, [IMPORT.replace("import %x", "import consume %x"), fill("%1", "%0"), export("o0", "%1"), other()],
    ),
    "an argument handed on": (2, [IMPORT, export("o0", "%0"), export("o1", "%0")]),
    "a consumed argument handed on beside its change": (
        1, [IMPORT.replace("import %x", "import consume %x"), fill("%1", "%0"), export("o0", "%0"), export("o1", "%1")],
    ),
    "one result twice": (1, [FRESH, export("o0", "%0"), export("o1", "%0")]),
    "a read before the write": (
        0,
        [FRESH, f"%s = stream.async.dispatch @e::@f(%0[%c0 to %n for %n]) : ({R}{{%n}}) -> {R}{{%n}}",
         fill("%1", "%0"), export("o0", "%1"), export("o1", "%s")],
    ),
    "a read after the write": (
        1,
        [FRESH, fill("%1", "%0"), f"%s = stream.async.dispatch @e::@f(%0[%c0 to %n for %n]) : ({R}{{%n}}) -> {R}{{%n}}",
         export("o0", "%1"), export("o1", "%s")],
    ),
    "a dispatch that reads what it writes over": (
        1,
        [FRESH, "%1 = stream.async.dispatch @e::@f(%0[%c0 to %n for %n], %0[%a to %b for %k])"
         f" : ({R}{{%n}}, {R}{{%n}}) -> %0{{%n}}", export("o0", "%1"), other()],
    ),
    "a write in one branch, the old value in the other": (
        0,
        [FRESH, f"%r = scf.if %p -> ({R}) {{ {fill('%1', '%0')}\n scf.yield %1 : {R} }} else {{ scf.yield %0 : {R} }}",
         export("o0", "%r"), other()],
    ),
    "a loop over a fresh value": (
        0,
        [FRESH, f"%r = scf.for %q = %c0 to %k step %c1 iter_args(%y = %0) -> ({R}) {{ {fill('%1', '%y')}\n"
         f" scf.yield %1 : {R} }}", export("o0", "%r"), other()],
    ),
    "a loop over an argument copies it once": (
        1,
        [IMPORT, f"%r = scf.for %q = %c0 to %k step %c1 iter_args(%y = %0) -> ({R}) {{ {fill('%1', '%y')}\n"
         f" scf.yield %1 : {R} }}", fill("%2", "%r"), export("o0", "%2"), other()],
    ),
    "a loop that hands on the old value as well": (
        2,
        [FRESH, f"%w = stream.async.splat %v : i32 -> {R}{{%n}}",
         f"%r:2 = scf.for %q = %c0 to %k step %c1 iter_args(%y = %0, %u = %w) -> ({R}, {R}) {{ {fill('%1', '%y')}\n"
         f" scf.yield %1, %y : {R}, {R} }}", export("o0", "%r#0"), export("o1", "%r#1")],
    ),
    "a loop that writes a value from outside": (
        2,
        [FRESH, f"%w = stream.async.splat %v : i32 -> {R}{{%n}}",
         f"%r = scf.for %q = %c0 to %k step %c1 iter_args(%y = %w) -> ({R}) {{ {fill('%1', '%0')}\n"
         f" scf.yield %1 : {R} }}", fill("%2", "%r"), export("o0", "%2"), other()],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_copies(name, run_passes):
    wanted, lines = CASES[name]
    text = run_passes(program("\n  ".join(lines)), COW, ELIDE)
    assert text.count("stream.async.clone") == wanted, text


def test_the_copy_for_a_loop_stands_before_it(run_passes, in_order):
    _, lines = CASES["a loop over an argument copies it once"]
    in_order(run_passes(program("\n  ".join(lines)), COW, ELIDE), "stream.async.clone", "scf.for", "stream.async.fill")


def test_only_the_branch_that_hands_on_an_argument_copies_it(run_passes, in_order):
    lines = [
        IMPORT,
        f"%r = scf.if %p -> ({R}) {{ %1 = stream.async.splat %v : i32 -> {R}{{%n}}\n scf.yield %1 : {R} }}"
        f" else {{ scf.yield %0 : {R} }}",
        export("o0", "%r"),
        other(),
    ]
    text = run_passes(program("\n  ".join(lines)), COW, ELIDE)
    in_order(text, "scf.if", "else", "stream.async.clone", "scf.yield")
    assert text.count("stream.async.clone") == 1


def test_slices_are_ranges_of_dispatches(run_passes, in_order):
    lines = [
        IMPORT,
        f"%s = stream.async.slice %0[%a to %b] : {R}{{%n}} -> {R}{{%k}}",
        f"%1 = stream.async.dispatch @e::@f(%s[%c0 to %k for %k]) : ({R}{{%k}}) -> {R}{{%n}}",
        export("o0", "%1"),
        other(),
    ]
    text = run_passes(program("\n  ".join(lines)), COW, ELIDE)
    in_order(text, "stream.async.dispatch @e::@f(", "[%arg2 to %arg3 for %arg4]")
    assert "stream.async.slice" not in text


def test_a_slice_stays_where_the_original_changes_before_it_is_read(run_passes):
    lines = [
        FRESH,
        f"%s = stream.async.slice %0[%a to %b] : {R}{{%n}} -> {R}{{%k}}",
        fill("%w", "%0"),
        f"%1 = stream.async.dispatch @e::@f(%s[%c0 to %k for %k]) : ({R}{{%k}}) -> {R}{{%n}}",
        export("o0", "%1"),
        export("o1", "%w"),
    ]
    text = run_passes(program("\n  ".join(lines)), COW, ELIDE)
    assert "stream.async.slice" in text
    assert "stream.async.clone" not in text


def test_an_overlapping_update_reads_the_old_value(run_passes, in_order):
    # x.at[1:].set(x[:-1]) in place on x: the slice is taken first and kept apart.
    lines = [
        FRESH,
        f"%s = stream.async.slice %0[%c0 to %a] : {R}{{%n}} -> {R}{{%a}}",
        f"%1 = stream.async.update %s, %0[%b to %n] : {R}{{%a}} -> %0 as {R}{{%n}}",
        export("o0", "%1"),
        other(),
    ]
    text = run_passes(program("\n  ".join(lines)), COW, ELIDE, EMPLACE)
    in_order(text, "stream.async.slice", "stream.async.update")
    assert "stream.async.copy" not in text


def test_pieces_are_made_in_place(run_passes, in_order, accepted):
    lines = [
        IMPORT,
        f"%t = stream.async.alloca : {R}{{%n}}",
        f"%1 = stream.async.dispatch @e::@f(%0[%c0 to %n for %n]) : ({R}{{%n}}) -> {R}{{%a}}",
        f"%2 = stream.async.splat %v : i32 -> {R}{{%a}}",
        f"%3 = stream.async.slice %0[%c0 to %a] : {R}{{%n}} -> {R}{{%a}}",
        f"%u0 = stream.async.update %1, %t[%c0 to %a] : {R}{{%a}} -> %t as {R}{{%n}}",
        f"%u1 = stream.async.update %2, %u0[%a to %b] : {R}{{%a}} -> %u0 as {R}{{%n}}",
        f"%u2 = stream.async.update %3, %u1[%b to %n] : {R}{{%a}} -> %u1 as {R}{{%n}}",
        export("o0", "%u2"),
        other(),
    ]
    text = run_passes(program("\n  ".join(lines)), COW, ELIDE, EMPLACE)
    in_order(
        text,
        "stream.async.alloca",
        "stream.async.dispatch @e::@f(",
        "[%c0 to %arg2 for %arg2]",
        "stream.async.fill",
        "[%arg2 to %arg3 for %arg2]",
        "stream.async.copy",
    )
    assert "stream.async.update" not in text
    accepted(text)
