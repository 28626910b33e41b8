"""Texts made by IREE's compiler, and hand-written ones of every op: ours prints what IREE's tools print."""

from pathlib import Path

import pytest
from pyiree.compiler.ir.parser import parse
from pyiree.compiler.ir.verifier import verify

_CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.mlir"))


@pytest.mark.parametrize("path", _CORPUS, ids=lambda path: path.stem)
def test_print_parses_again(path):
    module = parse(path.read_text())
    verify(module)
    text = str(module)
    assert str(parse(text)) == text


def test_iree_prints_the_same_for_ours_as_for_the_original(iree_tool):
    separator = "// -----\n"
    originals = [path.read_text().strip() + "\n" for path in _CORPUS]
    ours = [str(parse(text)).strip() + "\n" for text in originals]
    printed = [
        iree_tool("iree-opt", "--split-input-file", "-", input=separator.join(texts)).stdout
        for texts in (originals, ours)
    ]
    assert printed[0] == printed[1]
