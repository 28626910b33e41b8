"""Loops over bands: workgroup tiles, scalar loops, and vector loops with their tails.

Enters: bands with tiles and a `VectorPlan`. Leaves: loop IR; the body is called with a `LaneScope` that says where it
is. A vector loop is up to three parts: unrolled vectors, single vectors, and a tail (masked, or lane by lane).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

from pyiree.runtime.vmfb.lazy_dataclass import dataclass

from .configure import Band, Tiles, VectorPlan
from .indexing import Dim, Lanes, LaneScope
from .loops import KernelBuilder

# Vectors of a range that is worth aligning.
_LONG = 16


@dataclass
class Range:
    """Where a band runs in this workgroup: start to stop. `size` is the length where it is always the same, and
    `multiple` divides start."""

    start: Dim
    stop: Dim
    size: int | None
    multiple: int


def whole(extent: Dim) -> Range:
    return Range(0, extent, extent if extent.__class__ is int else None, 1 << 30)


def tile_ranges(builder: KernelBuilder, bands: Sequence[Band], tiles: Tiles) -> list[Range]:
    """The ranges of this workgroup; its number runs through the tiles with the innermost band fastest."""
    ranges: list[Range] = []
    number: Dim | None = None
    cut = [k for k, size in enumerate(tiles.sizes) if size]
    counts = tiles.count(bands, builder)
    for k in range(len(bands) - 1, -1, -1):
        extent, size = bands[k].extent, tiles.sizes[k]
        if not size:
            ranges.append(whole(extent))
            continue
        if number is None:
            number = builder.workgroup_id()
        position = number if k == cut[0] else builder.rem(number, counts[k])
        number = builder.div(number, counts[k])
        start = builder.mul(position, size)
        exact = extent.__class__ is int and extent % size == 0
        end = builder.add(start, size)
        ranges.append(Range(start, end if exact else builder.min(end, extent), size if exact else None, size))
    ranges.reverse()
    return ranges


def split_range(builder: KernelBuilder, rng: Range, multiple: int) -> tuple[Range, Range]:
    """The part of a range that is a multiple long, and the rest; sizes of 0 are known to be empty."""
    length = rng.size if rng.size is not None else builder.sub(rng.stop, rng.start)
    main = builder.round_down(length, multiple)
    middle = builder.add(rng.start, main)
    known = main.__class__ is int
    divides = math.gcd(rng.multiple, multiple)
    return (
        Range(rng.start, middle, main if known else None, divides),
        Range(middle, rng.stop, rng.size - main if known and rng.size is not None else None, divides),
    )


@dataclass
class Part:
    """One loop of a vector loop: `vectors` of `lanes` an iteration. `valid` lanes exist: None for all, an int, or
    -1 for what is left before stop. A part with `valid` is one iteration."""

    start: Dim
    stop: Dim
    vectors: int
    lanes: int
    valid: int | None = None

    @property
    def step(self) -> int:
        return self.vectors * self.lanes


def vector_parts(builder: KernelBuilder, rng: Range, plan: VectorPlan) -> list[Part]:
    """The loops that cover a range; those that are known to be empty are left out."""
    lanes = plan.lanes
    vectors = plan.repeat if plan.repeat > 1 else plan.unroll
    length = rng.size if rng.size is not None else builder.sub(rng.stop, rng.start)
    parts: list[Part] = []
    if rng.start.__class__ is int and length.__class__ is int and not plan.scalar_tail:
        # Vectors that lie across cache lines cost twice: a long range begins with a short one.
        first = -rng.start % lanes
        if first and length >= _LONG * lanes:
            parts.append(Part(rng.start, rng.start + first, 1, lanes, first))
            rng = Range(rng.start + first, rng.stop, length - first, lanes)
            length -= first
    start = rng.start
    for count in (vectors, 1) if plan.repeat == 1 and vectors > 1 else (vectors,):
        step = count * lanes
        end = builder.add(rng.start, builder.round_down(length, step))
        if _may_differ(start, end, rng.start, length, step):
            parts.append(Part(start, end, count, lanes))
        start = end
    done = lanes * (vectors if plan.repeat > 1 else 1)
    if length.__class__ is int:
        rest = length % done
        if rest and plan.scalar_tail:
            parts.append(Part(start, rng.stop, 1, 1))
        elif rest:
            parts.append(Part(start, rng.stop, 1, lanes, rest))
    elif plan.scalar_tail:
        parts.append(Part(start, rng.stop, 1, 1))
    elif lanes > 1:
        parts.append(Part(start, rng.stop, 1, lanes, -1))
    return parts


def _may_differ(start: Dim, end: Dim, base: Dim, length: Dim, step: int) -> bool:
    """Whether the loop from start to end may run: ints tell, and so does a known length on a variable base."""
    if start.__class__ is int and end.__class__ is int:
        return start < end
    if length.__class__ is int and start is base:
        return length >= step
    return start is not end


def part_scopes(part: Part, index: Dim, scope: LaneScope, band: Band, multiple: int) -> Iterator[LaneScope]:
    """A scope for each vector of one iteration at `index`."""
    builder = scope.builder
    for number in range(part.vectors):
        mask = None
        if part.valid is not None:
            valid = builder.sub(part.stop, index) if part.valid < 0 else part.valid
            mask = builder.lane_mask(part.lanes, valid)
        inner = scope.copy(part.lanes, mask)
        first = number * part.lanes
        pattern = first if part.lanes == 1 else tuple(range(first, first + part.lanes))
        inner.bind(band.syms, Lanes(index, pattern, multiple))
        yield inner


def pieces_of(scope: LaneScope, band: Band, rng: Range) -> Iterator[tuple[LaneScope, Range]]:
    """A range as the parts at whose ends the band is cut, each with a scope that knows of it."""
    if not band.cuts:
        yield scope, rng
        return
    builder = scope.builder
    for low, high in itertools.pairwise((0, *band.cuts, band.extent)):
        start = builder.max(rng.start, low)
        stop = builder.max(builder.min(rng.stop, high), start)
        known = start.__class__ is int and stop.__class__ is int
        if known and start == stop:
            continue
        multiple = rng.multiple if low == 0 else 1
        yield (
            scope.within(band.syms, (low, high - 1)),
            Range(start, stop, stop - start if known else None, multiple),
        )


def vector_loop(
    scope: LaneScope, band: Band, rng: Range, plan: VectorPlan, body: Callable[[list[LaneScope]], None]
) -> None:
    """Runs `body` over a band in vectors; it gets a scope for each vector of one iteration."""
    builder = scope.builder
    for inner, piece in pieces_of(scope, band, rng):
        for part in vector_parts(builder, piece, plan):
            multiple = part.step if piece.multiple % part.step == 0 else 1
            with builder.for_(part.start, part.stop, part.step, covered=not band.cuts) as loop:
                body(list(part_scopes(part, loop.index, inner, band, multiple)))


def loop_nest(
    scope: LaneScope, bands: Sequence[Band], ranges: Sequence[Range], body: Callable[[LaneScope], None]
) -> None:
    """Runs `body` over bands one by one, outermost first."""
    if not bands:
        body(scope)
        return
    band = bands[0]
    for inner, rng in pieces_of(scope, band, ranges[0]):
        if rng.size == 1:
            one = inner.copy(mask=inner.mask)
            one.bind(band.syms, Lanes(rng.start))
            loop_nest(one, bands[1:], ranges[1:], body)
            continue
        with scope.builder.for_(rng.start, rng.stop, 1, covered=not band.cuts) as loop:
            one = inner.copy(mask=inner.mask)
            one.bind(band.syms, Lanes(loop.index))
            loop_nest(one, bands[1:], ranges[1:], body)
