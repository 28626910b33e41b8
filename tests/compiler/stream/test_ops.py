"""The stream dialect's ops: their text goes out and in, and IREE's tools take it."""

import pathlib

import pytest

CORPUS = sorted((pathlib.Path(__file__).parent / "corpus").glob("*_ops.mlir"))


@pytest.fixture(scope="module")
def modules():
    from pyiree.compiler.ir.parser import parse

    return [parse(path.read_text(), path.name, verify=True) for path in CORPUS]


def test_text_is_read_back_as_the_same_program(modules):
    from pyiree.compiler.ir.equivalence import structurally_equal
    from pyiree.compiler.ir.parser import parse

    for module in modules:
        text = str(module)
        again = parse(text, verify=True)
        assert structurally_equal(module, again)
        assert str(again) == text


def test_every_op_has_an_example(modules):
    from pyiree.compiler.ir.definition import Op
    from pyiree.compiler.stream import ops

    declared = {
        cls.name for cls in vars(ops).values() if isinstance(cls, type) and issubclass(cls, Op) and cls is not Op
    }
    declared = {name for name in declared if name.startswith("stream.")}
    used = {op.name for module in modules for op in module.walk()}
    assert declared - used == set()


def test_iree_reads_the_text(modules, accepted):
    devices = "util.global private @a : !hal.device\nutil.global private @b : !hal.device\n"
    accepted(*[str(module).replace("module {\n", f"module {{\n{devices}", 1) for module in modules])
