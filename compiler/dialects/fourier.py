"""Discrete Fourier transforms as linalg generics.

A transform is the generic that its definition says: a sum over places of elements times roots of unity, which the
body computes from the indices. So any tool can read and run it; the attribute `pyiree.fourier = [sign, scale]` says
what it is, so that nobody has to find that out from the body. The result for a real operand of even length may be the
first half of its spectrum, and the real result for such a half that signal.

    %r = linalg.generic {indexing_maps = [(b, k, n) -> (b, n), (b, k, n) -> (b, k)],
                         iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x : tensor<4x8xcomplex<f32>>) outs(%zero : tensor<4x8xcomplex<f32>>)
        attrs = {pyiree.fourier = [-1, 1.0]} { … %zero + %x * scale * exp(sign * 2πi * k * n / 8) … }
"""

from __future__ import annotations

from pyiree.compiler.dialects.linalg import GenericOp
from pyiree.compiler.ir.attributes import ArrayAttr, FloatAttr, IntegerAttr
from pyiree.compiler.ir.core import Operation
from pyiree.compiler.ir.types import f64, i64
from pyiree.runtime.vmfb.lazy_dataclass import dataclass

ATTRIBUTE = "pyiree.fourier"
#: Transforms are written with such lengths only as one kernel does at a time: of short primes, and of so many bytes.
LARGEST_PRIME = 31
LONGEST_BYTES = 1 << 16
#: So many elements may be summed with all roots of unity, whatever the factors of their number are.
LONGEST_DENSE = 256
OPERAND, RESULT = "operand", "result"


def smooth_part(length: int) -> int:
    """The product of the short prime factors of a length."""
    rest = length
    for factor in range(2, LARGEST_PRIME + 1):
        while rest % factor == 0:
            rest //= factor
    return length // rest


def is_smooth(length: int) -> bool:
    """Whether all prime factors of a length are short."""
    return smooth_part(length) == length


@dataclass(frozen=True)
class FourierTransform:
    """What a generic transforms: `sign` is that of the exponent, `frequency` and `place` are its loops."""

    op: GenericOp
    sign: int
    scale: float
    frequency: int
    place: int

    @property
    def length(self) -> int:
        """The number of places and of frequencies; of a half spectrum there are fewer."""
        ranges = self.op.loop_ranges()
        return max(ranges[self.place], ranges[self.frequency])

    @property
    def places(self) -> int:
        """The number of elements that are summed."""
        return self.op.loop_ranges()[self.place]

    @property
    def half(self) -> str | None:
        """Whether the operand or the result is half of the spectrum of a real signal of even length."""
        ranges = self.op.loop_ranges()
        if ranges[self.place] == ranges[self.frequency]:
            return None
        return OPERAND if ranges[self.place] < ranges[self.frequency] else RESULT


def transform_attribute(sign: int, scale: float) -> ArrayAttr:
    """What marks a generic as a transform."""
    return ArrayAttr([IntegerAttr(sign, i64), FloatAttr(scale, f64)])


def is_transform(op: Operation) -> bool:
    """Whether an op is marked as a transform."""
    return isinstance(op, GenericOp) and ATTRIBUTE in op.attributes


def transform_of(op: GenericOp) -> FourierTransform:
    """The transform that a marked generic is. Its last two loops are those over frequencies and places."""
    sign, scale = op.attributes[ATTRIBUTE]
    loops = len(op.iterators())
    return FourierTransform(op, sign.value, scale.value, loops - 2, loops - 1)
