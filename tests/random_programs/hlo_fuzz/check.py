"""One random program, computed by us and by an oracle.

Enters: a `Program`. Leaves: what an oracle says of it in words, None where we compute the same. The interpreter of
StableHLO is the oracle; where it can't run a program XLA is.
"""

import itertools
import re

from . import compare
from .processes import Evaluator


class Checker:
    """Evaluators that are kept for many programs."""

    def __init__(self):
        self._evaluators = {name: Evaluator(name) for name in ("ours", "reference", "xla")}

    def difference(self, program):
        """What is wrong, in words; None if nothing is, or if there is no oracle for the program."""
        ours = self._run("ours", program, program.text("text"))
        oracle, flushes = self._oracle("reference", program, "plain"), False
        if oracle is None and not _xla_differs(program):
            oracle, flushes = self._oracle("xla", program, "text"), True
        if isinstance(ours, str):
            return ours
        if oracle is None:
            return None
        name, results, moved = oracle
        found = dict(compare.failures(program, ours, results, moved, flushes))
        # What is rounded down, or compared, may be on the other side only with the whole error, one way or the other.
        for sign in ("add", "subtract") if found else ():
            moved = self._run(name, program, _with_whole_errors(program.text("moved"), sign))
            if not isinstance(moved, str):
                left = dict(compare.failures(program, ours, results, moved, flushes, times=1.0))
                found = {k: text for k, text in found.items() if k in left}
        return "\n".join(found.values()) or None

    def check(self, program):
        """Asserts that nothing is wrong."""
        wrong = self.difference(program)
        assert wrong is None, f"{wrong}\n{program!r}"

    def close(self):
        """Ends the processes."""
        for evaluator in self._evaluators.values():
            evaluator.close()

    def _run(self, name, program, text):
        arguments = [v.element for v in program.arguments]
        results = [(v.shape, v.element) for v in program.results]
        return self._evaluators[name].run(text, program.data, arguments, results)

    def _oracle(self, name, program, form):
        """The evaluator's name, results, and results with errors added; None if the oracle can't give them."""
        found = self._run(name, program, program.text(form))
        moved = found if isinstance(found, str) else self._run(name, program, program.text("moved"))
        return None if isinstance(moved, str) else (name, found, moved)


#: Where an error is added to a raw result.
_SUM = re.compile(
    r"(?P<to>(?P<name>%\S+?)s?) = stablehlo\.add (?P<raw>(?P=name)r), (?P<error>(?P=name)[dy]) : (?P<type>.*)"
)


def _with_whole_errors(moved, sign):
    """The text of a program with errors added: `compare.TIMES` as large, and added or subtracted."""
    assert compare.TIMES == 8

    def lines(match):
        to, raw, error, kind = (match[key] for key in ("to", "raw", "error", "type"))
        steps = [error, f"{error}2", f"{error}4", f"{error}8"]
        made = [f"{b} = stablehlo.add {a}, {a} : {kind}" for a, b in itertools.pairwise(steps)]
        return "\n  ".join([*made, f"{to} = stablehlo.{sign} {raw}, {steps[-1]} : {kind}"])

    return _SUM.sub(lines, moved)


def _xla_differs(program):
    """Whether XLA computes another thing than what is written: a reduction of single elements is a copy for it, of the
    initial values that a window meets in the padding it takes one, and convolutions of integers saturate."""
    return any(
        ('"stablehlo.reduce"' in op.text and _reduces_single_elements(op.text))
        or ('"stablehlo.reduce_window"' in op.text and "padding" in op.text)
        or ('"stablehlo.convolution"' in op.text and re.search(r"-> tensor<[0-9x]*u?i\d+>", op.text))
        for op in program.ops
    )


def _reduces_single_elements(text):
    """Whether all dimensions that a reduction goes over have one element; also if there are none."""
    dimensions = re.search(r"dimensions = array<i64(?:: ([0-9, ]+))?>", text)[1]
    shape = re.search(r"\}\) \{.*?\} : \(tensor<([0-9x]*)", text)[1].split("x")
    return all(shape[int(n)] == "1" for n in dimensions.split(",")) if dimensions else True
