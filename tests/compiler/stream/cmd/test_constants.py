"""iree-stream-pack-constants, iree-util-combine-initializers and iree-util-propagate-subranges."""

CONSTANTS = """
util.func public @f(%n: index) -> (!stream.resource<LIFE>, !stream.resource<LIFE>, !stream.timepoint) {
  %c4 = arith.constant 4 : index
  %c80 = arith.constant 80 : index
  %0:3 = stream.resource.constants :
    !stream.resource<LIFE>{%c4} = dense<100> : tensor<1xi32>,
    !stream.resource<LIFE>{%c80} = dense<7> : tensor<20xi32>
    => !stream.timepoint
  util.return %0#0, %0#1, %0#2 : !stream.resource<LIFE>, !stream.resource<LIFE>, !stream.timepoint
}"""


def words(text):
    names = (
        "util.buffer.constant", "resource.try_map", "resource.alloc ", "file.constant", "file.read", "scf.if",
        "resource.subview", "dense<0> : vector<60xi8>", "dense<0> : vector<48xi8>", "util.composite<192xi8",
    )  # fmt: skip
    return {name: text.count(name) for name in names}


def test_constants_are_mapped_or_read(run_passes, iree_on_functions, accepted, in_order):
    source = CONSTANTS.replace("LIFE", "constant")
    text = run_passes(source, "iree-stream-pack-constants")
    accepted(text)
    assert words(text) == words(iree_on_functions(source, "iree-stream-pack-constants"))
    in_order(text, "try_map", "scf.if", "scf.yield", "else", "resource.alloc", "file.read", "scf.yield", "[%c64")


def test_variables_are_copies(run_passes, iree_on_functions, accepted):
    source = CONSTANTS.replace("LIFE", "variable")
    text = run_passes(source, "iree-stream-pack-constants")
    accepted(text)
    assert words(text) == words(iree_on_functions(source, "iree-stream-pack-constants"))
    assert "try_map" not in text


INITIALIZERS = """
util.global private @a : i32
util.initializer {
  %0 = arith.constant 1 : i32
  util.global.store %0, @a : i32
  util.return
}
util.global private @b : i32
util.initializer {
  %0 = util.global.load @a : i32
  util.global.store %0, @b : i32
  util.return
}
"""


def test_initializers_run_in_their_order(run_passes, accepted, in_order):
    text = run_passes(INITIALIZERS, "iree-util-combine-initializers")
    accepted(text)
    assert text.count("util.initializer") == 1
    in_order(text, "@b : i32", "util.initializer", "store %c1_i32, @a", "load @a", "@b : i32", "util.return")


def test_an_initializer_of_several_blocks_stays_alone(run_passes):
    blocks = """
util.initializer {
  cf.br ^bb1
^bb1:
  util.return
}
"""
    text = run_passes(INITIALIZERS.replace("util.global private @b", blocks + "util.global private @b"),
                      "iree-util-combine-initializers")  # fmt: skip
    assert text.count("util.initializer") == 3


GLOBALS = """
util.global private @x : !stream.resource<constant>
util.global private @y : !stream.resource<constant>
util.initializer {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %t = stream.timepoint.immediate => !stream.timepoint
  %r = stream.resource.alloc uninitialized : !stream.resource<constant>{%c128}
  %a = stream.resource.subview %r[%c0] : !stream.resource<constant>{%c128} -> !stream.resource<constant>{%c4}
  %b = stream.resource.subview %r[%c64] : !stream.resource<constant>{%c128} -> !stream.resource<constant>{%c8}
  %w:2 = stream.timepoint.await sync %t => %a, %b : !stream.resource<constant>{%c4}, !stream.resource<constant>{%c8}
  util.global.store %w#0, @x : !stream.resource<constant>
  util.global.store %w#1, @y : !stream.resource<constant>
  util.return
}
util.func public @f(%o: !stream.resource<external>, %n: index, %i: index) -> !stream.timepoint {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = util.global.load immutable @x : !stream.resource<constant>
  %y = util.global.load immutable @y : !stream.resource<constant>
  %part = stream.resource.subview %o[%i] : !stream.resource<external>{%n} -> !stream.resource<external>{%c8}
  %t = stream.cmd.execute with(
      %x as %a: !stream.resource<constant>{%c4}, %y as %b: !stream.resource<constant>{%c8},
      %part as %c: !stream.resource<external>{%c8}) {
    stream.cmd.copy %a[%c0], %c[%c4], %c4 : !stream.resource<constant>{%c4} -> !stream.resource<external>{%c8}
    stream.cmd.dispatch @e::@k { ro %b[%c0 for %c8] : !stream.resource<constant>{%c8} }
  } => !stream.timepoint
  util.return %t : !stream.timepoint
}
"""


def test_globals_share_their_storage_and_regions_capture_it_once(run_passes, accepted, in_order):
    text = run_passes(GLOBALS, "iree-util-propagate-subranges", "canonicalize", "cse")
    accepted(text)
    assert "@y" not in text and "subview" not in text
    in_order(
        text,
        "%x as %arg3: !stream.resource<constant>{%c128}, %arg0 as %arg4: !stream.resource<external>{%arg1}",
        "stream.cmd.copy %arg3[%c0], %arg4[", "], %c4", "ro %arg3[%c64 for %c8]",
    )  # fmt: skip


def test_a_view_that_leaves_stays(run_passes, accepted):
    text = run_passes(
        """
util.func public @f(%o: !stream.resource<external>, %n: index, %i: index) -> !hal.buffer_view {
  %v = stream.resource.subview %o[%i] : !stream.resource<external>{%n} -> !stream.resource<external>{%i}
  %w = stream.resource.subview %v[%i] : !stream.resource<external>{%i} -> !stream.resource<external>{%i}
  %d = arith.divui %i, %i : index
  %e = stream.tensor.export %w : tensor<?xi8>{%d} in !stream.resource<external>{%i} -> !hal.buffer_view
  util.return %e : !hal.buffer_view
}""",
        "iree-util-propagate-subranges",
    )
    accepted(text)
    assert text.count("subview") == 1 and "arith.addi %arg2, %arg2" in text


def test_constants_of_a_program_are_one_piece_of_data(program_at):
    text = program_at("constant")
    assert text.count("util.buffer.constant") == 1 and text.count("util.initializer") == 1
    assert text.count("util.global private @") == 2
