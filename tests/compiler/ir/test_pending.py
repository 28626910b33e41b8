"""Constants that are still being made: whoever looks waits, whoever passes them on does not."""

import numpy as np
import pytest
from pyiree.compiler.ir.core import UnregisteredOp
from pyiree.compiler.ir.dense import DenseElementsAttr
from pyiree.compiler.ir.pending import PendingBytesAttr
from pyiree.compiler.ir.printer import print_operation
from pyiree.compiler.ir.types import VectorType, i8


@pytest.fixture
def pending():
    """A constant of four bytes, and how often they were asked for."""
    asked = []

    def finish():
        asked.append(1)
        return b"\x01\x02\xff\x00"

    return PendingBytesAttr(finish), asked


def test_passing_it_on_does_not_ask(pending):
    attribute, asked = pending
    op = UnregisteredOp("test.data", attributes={"data": attribute})
    copy = op.clone()
    assert copy.attributes["data"] is attribute and {attribute: 1}[attribute] == 1
    assert not asked


def test_text_and_bytes_are_those_of_the_finished_constant(pending):
    attribute, asked = pending
    finished = DenseElementsAttr(VectorType((4,), i8), np.array([1, 2, -1, 0], np.int8))
    assert attribute.type is finished.type and str(attribute) == str(finished)
    assert attribute.data.tobytes() == b"\x01\x02\xff\x00" and not attribute.is_splat
    assert "dense<[1, 2, -1, 0]> : vector<4xi8>" in print_operation(UnregisteredOp("a.b", attributes={"d": attribute}))
    assert asked == [1]


def test_an_error_is_raised_for_whoever_looks_each_time():
    def fail():
        raise ValueError("no bytes")

    attribute = PendingBytesAttr(fail)
    for _ in range(2):
        with pytest.raises(ValueError, match="no bytes"):
            str(attribute)
