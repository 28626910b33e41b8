"""Memory over time: loops that allocate once, deallocations after the last use, reuse, and waits that go."""

HOIST, ARC, REUSE, ELIDE = (
    "pyiree-stream-hoist-loop-allocations", "iree-stream-automatic-reference-counting",
    "iree-stream-reuse-allocations", "iree-stream-elide-timepoints",
)  # fmt: skip
R = "!stream.resource<transient>"
T = "!stream.timepoint"


def copy(name, wait, source, target):
    """A region that copies one resource of %n bytes to another."""
    return f"""
  %{name} = stream.cmd.execute await({wait}) => with({source} as %s_{name}: {R}{{%n}}, {target} as %d_{name}: {R}{{%n}})
  {{
    stream.cmd.copy %s_{name}[%c0], %d_{name}[%c0], %n : {R}{{%n}} -> {R}{{%n}}
  }} => {T}"""


def loop(body, first="%x", more=""):
    return f"""
util.func public @f(%x: {R}, %n: index, %k: index, %t0: {T}) -> ({R}, {T}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  {more}
  %r:2 = scf.for %i = %c0 to %k step %c1 iter_args(%a = {first}, %t = %t0) -> ({R}, {T}) {{
    {body}
  }}
  util.return %r#0, %r#1 : {R}, {T}
}}"""


SWAPPED = loop(
    f"""
    %new, %ta = stream.resource.alloca uninitialized await(%t) => {R}{{%n}} => {T}
    {copy("e", "%ta", "%a", "%new")}
    scf.yield %new, %e : {R}, {T}"""
)


def test_a_carried_value_alternates_between_two_buffers(run_passes, accepted, in_order):
    text = run_passes(SWAPPED, HOIST)
    accepted(text)
    # What comes in is somebody else's: it is read once and never written.
    assert text.count("resource.alloca ") == 2
    in_order(
        text,
        "alloca ", "alloca ", "timepoint.join", "scf.for", "%arg5 = %arg0", "%arg7 = %result,", "%arg8 = %result_0",
        "await(%arg6)", "%arg5 as ", "%arg7 as ", "scf.yield %arg7, %2, %arg8, %arg7",
    )  # fmt: skip


def test_memory_of_the_function_itself_is_one_of_the_buffers(run_passes, accepted, in_order):
    first = f"""%own, %to = stream.resource.alloca uninitialized await(%t0) => {R}{{%n}} => {T}
  {copy("init", "%to", "%x", "%own")}"""
    source = SWAPPED.replace("%a = %x, %t = %t0", "%a = %own, %t = %init").replace("%r:2", first + "\n%r:2")
    text = run_passes(source, HOIST)
    accepted(text)
    assert text.count("resource.alloca ") == 2
    in_order(
        text,
        "%arg5 = %result,", "%arg6 = %result_timepoint_1,", "%arg7 = %result_0", "%arg5 as ", "%arg7 as ",
        "scf.yield %arg7, ", ", %arg5 :",
    )  # fmt: skip


def _handing_on(old):
    """The loop that also carries what was there before as `%old`, and hands on something for it."""
    body = f"""
    %new, %ta = stream.resource.alloca uninitialized await(%t) => {R}{{%n}} => {T}
    {copy("e", "%ta", "%a", "%new")}
    scf.yield %new, %e, {old} : {R}, {T}, {R}"""
    return (
        loop(body)
        .replace(f"%t = %t0) -> ({R}, {T})", f"%t = %t0, %old = %x) -> ({R}, {T}, {R})")
        .replace("%r:2", "%r:3")
    )


def test_old_contents_that_are_handed_on_have_a_buffer_too(run_passes, accepted, in_order):
    text = run_passes(_handing_on("%a"), HOIST)
    accepted(text)
    assert text.count("resource.alloca ") == 3
    in_order(
        text,
        "alloca ", "alloca ", "alloca ", "scf.for", "%arg5 = %arg0", "%arg7 = %arg0", "%arg8 = %result,",
        "%arg9 = %result_0", "%arg10 = %result_2", "%arg5 as ", "%arg8 as ",
        "scf.yield %arg8, ", ", %arg5, %arg9, %arg10, %arg8 :",
    )  # fmt: skip


def test_nothing_swaps_when_the_new_contents_are_handed_on_twice(run_passes):
    text = run_passes(_handing_on("%new"), HOIST)
    assert text.count("resource.alloca ") == 1
    assert text.index("scf.for") < text.index("resource.alloca")


def test_nothing_swaps_when_the_order_is_not_certain(run_passes):
    # The iteration hands on a timepoint that does not come after its work.
    text = SWAPPED.replace("scf.yield %new, %e", "scf.yield %new, %t")
    made = run_passes(text, HOIST)
    assert made.index("scf.for") < made.index("resource.alloca")


def test_a_size_that_changes_stays_inside(run_passes):
    text = SWAPPED.replace(f"uninitialized await(%t) => {R}{{%n}}", f"uninitialized await(%t) => {R}{{%m}}")
    text = text.replace("%new, %ta", "%m = arith.addi %n, %i : index\n%new, %ta")
    made = run_passes(text, HOIST)
    assert made.index("scf.for") < made.index("resource.alloca")


TRANSIENT = loop(
    f"""
    %tmp, %ta = stream.resource.alloca uninitialized await(%t) => {R}{{%n}} => {T}
    {copy("e", "%ta", "%a", "%tmp")}
    {copy("g", "%e", "%tmp", "%a")}
    %free = stream.resource.dealloca await(%g) => %tmp : {R}{{%n}} => {T}
    scf.yield %a, %free : {R}, {T}"""
)


def test_transients_are_allocated_in_front_and_freed_behind(run_passes, accepted, in_order):
    text = run_passes(TRANSIENT, HOIST)
    accepted(text)
    in_order(text, "resource.alloca ", "scf.for", "cmd.execute", "cmd.execute", "scf.yield", "resource.dealloca")
    assert text.count("alloca ") == 2 and "util.return %1#0, %2" in text.replace("%0#0, %1", "%1#0, %2")


def _sized(text):
    """With sizes of 64 bytes."""
    text = text.replace("%n}", "%c64}").replace(", %n :", ", %c64 :")
    return text.replace("%c0 = arith.constant 0", "%c64 = arith.constant 64 : index\n  %c0 = arith.constant 0", 1)


def _branching(then, other):
    return _sized(
        loop(
            f"""
    %odd = arith.trunci %flag : i8 to i1
    %b:2 = scf.if %odd -> ({R}, {T}) {{
      {then}
    }} else {{
      {other}
    }}
    scf.yield %b#0, %b#1 : {R}, {T}"""
        ).replace("%k: index", "%k: index, %flag: i8")
    )


NEW = f"""%new, %ta = stream.resource.alloca uninitialized await(%t) => {R}{{%n}} => {T}
    {copy("e", "%ta", "%a", "%new")}
    scf.yield %new, %e : {R}, {T}"""


def test_branches_leave_their_results_in_memory_from_before_the_loop(run_passes, accepted, in_order):
    text = run_passes(_branching(NEW, "scf.yield %a, %t : " + f"{R}, {T}"), HOIST)
    accepted(text)
    # One way writes there what it makes, the other copies what it hands on.
    assert text.count("resource.alloca ") == 2
    in_order(
        text,
        "alloca ", "alloca ", "scf.for", "%arg6 = %arg0", "%arg8 = %result,", "%arg9 = %result_", "scf.if",
        "%arg6 as ", "%arg8 as ", "scf.yield %arg8", "else", "%arg6 as ", "%arg8 as ", "scf.yield %arg8",
        "scf.yield %arg8, ", ", %arg9, %arg8 :",
    )  # fmt: skip


def test_what_a_branch_hands_on_is_copied_if_it_is_small(run_passes):
    text = _branching(NEW, "scf.yield %a, %t : " + f"{R}, {T}").replace("constant 64", "constant 100000")
    made = run_passes(text, HOIST)
    assert made.index("scf.if") < made.index("resource.alloca")
    both = _branching(NEW, NEW).replace("constant 64", "constant 100000")
    made = run_passes(both, HOIST)
    assert made.count("resource.alloca ") == 2 and made.index("resource.alloca") < made.index("scf.for")


def test_transients_of_branches_leave_the_loop(run_passes, accepted, in_order):
    used = f"""%tmp, %tb = stream.resource.alloca uninitialized await(%t) => {R}{{%n}} => {T}
    {copy("g", "%tb", "%a", "%tmp")}
    {copy("h", "%g", "%tmp", "%a")}
    %free = stream.resource.dealloca await(%h) => %tmp : {R}{{%n}} => {T}
    scf.yield %a, %free : {R}, {T}"""
    text = run_passes(_branching(used, "scf.yield %a, %t : " + f"{R}, {T}"), HOIST)
    accepted(text)
    in_order(text, "alloca ", "scf.for", "scf.if", "cmd.execute", "cmd.execute", "else", "scf.yield", "dealloca")
    assert text.count("resource.alloca ") == 1


def test_a_branch_outside_of_loops_allocates_where_it_does(run_passes):
    text = _branching(NEW, NEW)
    start, end = text.index("%r:2"), text.index("util.return")
    inner = text[text.index("%odd") : text.rindex("scf.yield")].replace("await(%t)", "await(%t0)")
    inner = inner.replace("%a ", "%x ").replace("%a,", "%x,")
    made = run_passes(text[:start] + inner + text[end:].replace("%r#", "%b#"), HOIST)
    assert made.index("scf.if") < made.index("resource.alloca")


def test_what_inner_loops_leave_is_copied_out_of_their_buffers(run_passes, accepted, in_order):
    inner = f"""
    %b:2 = scf.for %j = %c0 to %i step %c1 iter_args(%a = %o, %t = %u) -> ({R}, {T}) {{
      {NEW}
    }}
    scf.yield %b#0, %b#1 : {R}, {T}"""
    source = loop(inner).replace("iter_args(%a = %x, %t = %t0)", "iter_args(%o = %x, %u = %t0)")
    text = run_passes(_sized(source), HOIST)
    accepted(text)
    # Two for each loop, none of them in a loop.
    assert text.count("resource.alloca ") == 4
    in_order(text, "alloca ", "alloca ", "alloca ", "scf.for", "scf.for", "scf.yield", "cmd.copy", "scf.yield")
    assert "alloca" not in text[text.index("scf.for") :]


def test_work_on_what_was_known_before_waits_for_the_iteration(run_passes, accepted, in_order):
    body = f"""
    %tmp, %ta = stream.resource.alloca uninitialized await(%t0) => {R}{{%n}} => {T}
    {copy("e", "%ta", "%x", "%tmp")}
    %u = stream.timepoint.join max(%t, %e) => {T}
    {copy("g", "%u", "%tmp", "%a")}
    scf.yield %a, %g : {R}, {T}"""
    text = run_passes(loop(body), HOIST)
    accepted(text)
    in_order(text, "resource.alloca ", "scf.for", "timepoint.join max(%arg3, %arg6)", "cmd.execute", "cmd.execute")
    assert text.count("resource.alloca ") == 1


def test_work_on_what_the_outer_loop_carries_waits_for_the_inner_iteration(run_passes, accepted, in_order):
    """The outer loop's timepoint covers what inner loops did before, not what this one does."""
    inner = f"""
    %b:2 = scf.for %j = %c0 to %k step %c1 iter_args(%a = %o, %t = %u) -> ({R}, {T}) {{
      %tmp, %ta = stream.resource.alloca uninitialized await(%u) => {R}{{%n}} => {T}
      {copy("e", "%ta", "%o", "%tmp")}
      %v = stream.timepoint.join max(%t, %e) => {T}
      {copy("g", "%v", "%tmp", "%a")}
      scf.yield %a, %g : {R}, {T}
    }}
    scf.yield %b#0, %b#1 : {R}, {T}"""
    source = loop(inner).replace("iter_args(%a = %x, %t = %t0)", "iter_args(%o = %x, %u = %t0)")
    text = run_passes(source, HOIST)
    accepted(text)
    assert text.count("resource.alloca ") == 1
    in_order(text, "resource.alloca ", "scf.for", "scf.for", "timepoint.join max(%arg6, %arg9)", "cmd.execute")


def test_work_that_the_host_waits_for_needs_no_chain(run_passes, accepted):
    text = run_passes(
        f"""
util.func public @f(%x: {R}, %n: index, %t0: {T}) -> {T} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.while (%t = %t0) : ({T}) -> ({T}) {{
    %s, %ta = stream.resource.alloca uninitialized await(%t) => !stream.resource<staging>{{%c1}} => {T}
    %e = stream.cmd.execute await(%ta) => with(%x as %a: {R}{{%n}}, %s as %b: !stream.resource<staging>{{%c1}}) {{
      stream.cmd.copy %a[%c0], %b[%c0], %c1 : {R}{{%n}} -> !stream.resource<staging>{{%c1}}
    }} => {T}
    %w = stream.timepoint.await %e => %s : !stream.resource<staging>{{%c1}}
    %v = stream.resource.load %w[%c0] : !stream.resource<staging>{{%c1}} -> i8
    %b = arith.trunci %v : i8 to i1
    scf.condition(%b) %t : {T}
  }} do {{
  ^bb0(%t: {T}):
    scf.yield %t : {T}
  }}
  util.return %r : {T}
}}""",
        HOIST,
    )
    accepted(text)
    assert text.index("resource.alloca") < text.index("scf.while")


def test_work_that_waits_for_nothing_of_the_loop_waits_for_its_memory(run_passes, accepted, in_order):
    body = f"""
    %now = stream.timepoint.immediate => {T}
    %tmp, %ta = stream.resource.alloca uninitialized await(%now) => {R}{{%n}} => {T}
    {copy("e", "%ta", "%x", "%tmp")}
    %w = stream.timepoint.await %e => %tmp : {R}{{%n}}
    {copy("g", "%t", "%x", "%a")}
    scf.yield %a, %g : {R}, {T}"""
    text = run_passes(loop(body), HOIST)
    accepted(text)
    in_order(text, "alloca ", "scf.for", "%1 = stream.timepoint.immediate", "join max(%1, %arg6)", "execute await(%2)")


def test_work_that_the_host_waits_for_comes_after_what_it_came_after(run_passes, accepted, in_order):
    text = run_passes(
        f"""
util.func public @f(%x: {R}, %n: index, %k: index, %t0: {T}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %k step %c1 {{
    %tmp, %ta = stream.resource.alloca uninitialized await(%t0) => {R}{{%n}} => {T}
    {copy("e", "%ta", "%x", "%tmp")}
    %w = stream.timepoint.await %e => %tmp : {R}{{%n}}
    scf.yield
  }}
  util.return
}}""",
        HOIST,
    )
    accepted(text)
    in_order(text, "resource.alloca ", "scf.for", "%1 = stream.timepoint.join max(%arg3, %", "cmd.execute await(%1)")


def _counting(in_condition, in_body):
    """A loop that hands on a number and no timepoint, around one that works on what the outer one allocates."""
    return f"""
util.func public @f(%x: {R}, %n: index, %k: index, %t0: {T}) -> index {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %k step %c1 iter_args(%sum = %c0) -> (index) {{
    %tmp, %ta = stream.resource.alloca uninitialized : {R}{{%n}} => {T}
    %b:2 = scf.while (%j = %i, %t = %ta) : (index, {T}) -> (index, {T}) {{
      {in_condition}
      %more = arith.cmpi slt, %j, %k : index
      scf.condition(%more) %j, %t : index, {T}
    }} do {{
    ^bb0(%j: index, %t: {T}):
      {copy("e", "%t", "%x", "%tmp")}
      {in_body}
      %next = arith.addi %j, %c1 : index
      scf.yield %next, %e : index, {T}
    }}
    %s = arith.addi %sum, %b#0 : index
    scf.yield %s : index
  }}
  util.return %r : index
}}"""


_WAIT = f"%w = stream.timepoint.await %t => %x : {R}{{%n}}"


def test_what_the_next_condition_of_an_inner_loop_waits_for_needs_no_chain(run_passes, accepted):
    text = run_passes(_counting(_WAIT, ""), HOIST)
    accepted(text)
    assert text.index("resource.alloca") < text.index("scf.for")


def test_a_wait_for_the_iteration_before_is_not_enough(run_passes, accepted):
    text = run_passes(_counting("", _WAIT), HOIST)
    accepted(text)
    assert text.index("resource.alloca") > text.index("scf.for")


ACROSS = f"""
util.func public @f(%x: {R}, %n: index, %t0: {T}) -> {T} {{
  %c0 = arith.constant 0 : index
  %tmp, %ta = stream.resource.alloca uninitialized await(%t0) => {R}{{%n}} => {T}
  {copy("e", "%ta", "%x", "%tmp")}
  {copy("g", "%e", "%tmp", "%x")}
  {copy("h", "%ta", "%tmp", "%tmp")}
  %j = stream.timepoint.join max(%g, %h) => {T}
  util.return %j : {T}
}}"""


def test_memory_is_given_back_after_all_of_its_last_uses(run_passes, iree_passes, accepted, in_order):
    text = run_passes(ACROSS, ARC)
    accepted(text)
    in_order(
        text, "cmd.execute", "cmd.execute", "cmd.execute", "join max(%1, %2)", "dealloca origin await(%3) => %result"
    )
    theirs = iree_passes(ACROSS, ARC)
    assert text.count("dealloca") == theirs.count("dealloca") == 1


def test_memory_that_leaves_is_not_given_back(run_passes):
    text = ACROSS.replace(f"-> {T} {{", f"-> ({T}, {R}) {{").replace(
        f"util.return %j : {T}", f"util.return %j, %tmp : {T}, {R}"
    )
    assert "dealloca" not in run_passes(text, ARC)


REUSED = f"""
util.func public @f(%x: {R}, %n: index, %t0: {T}, %other: {T}) -> ({R}, {T}) {{
  %free = stream.resource.dealloca await(%t0) => %x : {R}{{%n}} => {T}
  %j = stream.timepoint.join max(%free, %other) => {T}
  %y, %t = stream.resource.alloca uninitialized await(%j) => {R}{{%n}} => {T}
  util.return %y, %t : {R}, {T}
}}"""


def test_freed_memory_is_taken_again(run_passes, accepted):
    text = run_passes(REUSED, REUSE)
    accepted(text)
    # Whoever waited for the allocation still waits for all that it waited for.
    assert "alloca" not in text and "join max(%arg2, %arg3)" in text and "util.return %arg0, %0" in text


def test_memory_of_another_size_or_kind_is_not(run_passes):
    other = REUSED.replace(f"await(%j) => {R}{{%n}}", "await(%j) => !stream.resource<external>{%n}")
    other = other.replace(f"-> ({R}, {T}) {{", f"-> (!stream.resource<external>, {T}) {{")
    other = other.replace(f"%y, %t : {R}, {T}", f"%y, %t : !stream.resource<external>, {T}")
    assert "alloca " in run_passes(other, REUSE)
    sized = REUSED.replace(f"%other: {T}", f"%other: {T}, %m: index")
    assert "alloca " in run_passes(sized.replace(f"await(%j) => {R}{{%n}}", f"await(%j) => {R}{{%m}}"), REUSE)


def test_joins_name_only_what_no_other_covers(run_passes, accepted):
    text = run_passes(
        f"""
util.func public @f(%x: {R}, %n: index, %t0: {T}) -> ({T}, {T}) {{
  %c0 = arith.constant 0 : index
  %now = stream.timepoint.immediate => {T}
  {copy("e", "%t0", "%x", "%x")}
  {copy("g", "%e", "%x", "%x")}
  {copy("h", "%now", "%x", "%x")}
  %i = stream.timepoint.join max(%t0, %e, %g, %now) => {T}
  %j = stream.timepoint.join max(%i, %h, %h) => {T}
  util.return %i, %j : {T}, {T}
}}""",
        ELIDE,
        "canonicalize",
    )
    accepted(text)
    assert "join max(%1, %2)" in text and "util.return %1, %3" in text and "immediate" not in text


def test_the_host_waits_once(run_passes, accepted):
    text = run_passes(
        f"""
util.func public @f(%x: {R}, %n: index, %t0: {T}) -> ({R}, {T}) {{
  %c0 = arith.constant 0 : index
  {copy("e", "%t0", "%x", "%x")}
  %y = stream.timepoint.await %e => %x : {R}{{%n}}
  %z = stream.timepoint.await %t0 => %y : {R}{{%n}}
  {copy("g", "%t0", "%x", "%x")}
  util.return %z, %g : {R}, {T}
}}""",
        ELIDE,
    )
    accepted(text)
    assert text.count("timepoint.await") == 1
    assert text.count("cmd.execute await(") == 1 and text.count("cmd.execute with(") == 1


def test_a_wait_in_one_branch_says_nothing_about_the_other(run_passes):
    text = run_passes(
        f"""
util.func public @f(%x: {R}, %n: index, %t0: {T}, %c: i1) -> {R} {{
  cf.cond_br %c, ^bb1, ^bb2(%x : {R})
^bb1:
  %y = stream.timepoint.await %t0 => %x : {R}{{%n}}
  cf.br ^bb2(%y : {R})
^bb2(%p: {R}):
  %z = stream.timepoint.await %t0 => %p : {R}{{%n}}
  util.return %z : {R}
}}""",
        ELIDE,
    )
    assert text.count("timepoint.await") == 2


def test_timepoints_that_are_always_reached_are_no_values(run_passes, accepted):
    text = run_passes(
        f"""
util.func public @f(%x: {R}, %n: index, %k: index) -> {R} {{
  %c0 = arith.constant 0 : index
  %now = stream.timepoint.immediate => {T}
  cf.br ^bb1(%c0, %now : index, {T})
^bb1(%i: index, %t: {T}):
  %c = arith.cmpi slt, %i, %k : index
  %j = arith.addi %i, %n : index
  cf.cond_br %c, ^bb1(%j, %t : index, {T}), ^bb2
^bb2:
  %y = stream.timepoint.await %t => %x : {R}{{%n}}
  util.return %y : {R}
}}""",
        ELIDE,
    )
    accepted(text)
    assert "timepoint.await" not in text
