"""Picks loops, the vector dim, unrolling and workgroup tiles for a domain.

Enters: the domain's syms, a `Survey` of one point, the target. Leaves: `Band`s (collapsed loops, outermost first), and
numbers. Everything is derived from the target's registers and caches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from pyiree.runtime.vmfb.lazy_dataclass import dataclass

from .indexing import Dim, Sym
from .loops import KernelBuilder
from .survey import Access, Survey
from .target import Target

# One claim of a workgroup should be worth this many nanoseconds, or claiming shows.
CLAIM_NANOSECONDS = 8000.0
# Claims that make a run, where a workgroup gains by going on with what follows.
_RUN = 4
# Claims that are enough to share work out evenly.
_CLAIMS = 128
_NANOSECONDS_PER_OP = 0.3
_NANOSECONDS_PER_BYTE = 0.04
_LOOP_OPS_TO_UNROLL = 12.0
# Loops are cut into pieces while all copies of the body together take at most so many instructions.
_CUT_COST = 1200.0
_SHORT_VECTORS = 4
# What an extent that is known only at run time is taken for.
_USUAL_EXTENT = 64


@dataclass(eq=False)
class Band:
    """One loop: adjacent syms that run together as one number, outermost first."""

    syms: tuple[Sym, ...]
    extent: Dim
    cuts: tuple[int, ...] = ()
    """Where its loop is cut so that each part knows which pieces of concatenations and paddings it is in."""

    @property
    def inner(self) -> Sym:
        return self.syms[-1]


@dataclass
class VectorPlan:
    """Which band is vectorised and how: `repeat` > 1 vectors make up whole rows of a narrow inner band."""

    band: int
    lanes: int
    unroll: int
    repeat: int = 1
    """In a narrow band, base is kept a multiple of this many lanes, so that digits are constant per lane."""
    scalar_tail: bool = False


def bands_of(syms: Sequence[Sym], survey: Survey, builder: KernelBuilder) -> list[Band]:
    """Collapses neighbours wherever every access runs through them as through one dim."""
    bands: list[Band] = []
    for sym in syms:
        if sym.extent.__class__ is int and sym.extent == 1:
            continue
        if bands and _collapse(bands[-1], sym, survey, builder):
            last = bands[-1]
            bands[-1] = Band((*last.syms, sym), builder.mul(last.extent, sym.extent))
        else:
            bands.append(Band((sym,), sym.extent))
    return bands


def _collapse(band: Band, sym: Sym, survey: Survey, builder: KernelBuilder) -> bool:
    outer = band.inner
    if outer in survey.numbers or sym in survey.numbers:
        return False
    for access in survey.accesses:
        if outer in access.opaque or sym in access.opaque:
            return False
        step = builder.mul(access.coefficients.get(sym, 0), sym.extent)
        if access.coefficients.get(outer, 0) != step:
            return False
    return True


def lanes_for(target: Target, element_bits: int) -> int:
    return max(1, target.lanes(max(8, element_bits)))


def access_cost(access: Access, sym: Sym, lanes: int) -> float:
    """Instructions to fetch or store one vector along a sym."""
    if sym in access.opaque:
        return 1.5 * lanes
    step = access.coefficients.get(sym, 0)
    if step.__class__ is not int:
        return 1.2 * lanes
    if step == 0:
        return 0.2
    if step == 1:
        return 1.0
    if access.store:
        # Vectors can be loaded along another dim and turned round, but not stored so.
        return 1.5 * lanes
    return 2.0 * abs(step) if abs(step) <= 8 else 1.0 * lanes


def utilisation(extent: Dim, lanes: int) -> float:
    if extent.__class__ is not int:
        return 0.9
    if extent == 0:
        return 1.0
    return extent / (math.ceil(extent / lanes) * lanes)


def pick_vector_band(bands: Sequence[Band], survey: Survey, lanes: int) -> int:
    """The band whose vectors cost least an element."""
    best, best_cost = len(bands) - 1, math.inf
    for number in range(len(bands) - 1, -1, -1):
        band = bands[number]
        memory = sum(access_cost(a, band.inner, lanes) for a in survey.accesses)
        cost = (memory + survey.cost) / (lanes * utilisation(band.extent, lanes))
        if cost < best_cost * 0.999:
            best, best_cost = number, cost
    return best


def masked_tail_is_cheap(target: Target, survey: Survey) -> bool:
    """AVX-512 masks every width; AVX2 masks 32 and 64 bits; elsewhere lanes are stored one by one."""
    if target.has_avx512:
        return True
    return target.vector_bytes == 32 and all(access.bytes >= 4 for access in survey.accesses)


def cut_bands(bands: Sequence[Band], survey: Survey, plan: VectorPlan) -> list[Band]:
    """Bands with their loops cut where other pieces begin, as far as the code stays small. The vectors of a short
    band choose lane by lane instead."""
    bands = list(bands)
    copies = 1
    for number in (plan.band, *[k for k in range(len(bands) - 1, -1, -1) if k != plan.band]):
        band = bands[number]
        cuts = tuple(sorted(survey.cuts.get(band.inner, ()))) if len(band.syms) == 1 else ()
        is_short = number == plan.band and band.extent < _SHORT_VECTORS * plan.lanes if cuts else False
        cost = copies * (len(cuts) + 1) * (max(survey.cost, 1.0) + len(survey.accesses))
        if cuts and not is_short and cost <= _CUT_COST:
            bands[number] = Band(band.syms, band.extent, cuts)
            copies *= len(cuts) + 1
    return bands


def unroll_for(cost: float, most: int = 4) -> int:
    """Cheap bodies are unrolled so that loop control and latency do not show."""
    return max(1, min(most, int(_LOOP_OPS_TO_UNROLL * 2 / max(cost, 1.0))))


def narrow_repeat(bands: Sequence[Band], survey: Survey, lanes: int, vector_band: int) -> int:
    """Vectors after which a short inner band repeats its lanes, or 0 where that does not pay.

    A band of 7 leaves 9 of 16 lanes idle; run together with the band around it, 7 vectors hold 16 rows.
    """
    inner = bands[vector_band]
    if vector_band == 0 or inner.extent.__class__ is not int or utilisation(inner.extent, lanes) > 0.7:
        return 0
    outer = bands[vector_band - 1]
    if outer.extent.__class__ is not int:
        return 0
    repeat = inner.extent // math.gcd(inner.extent, lanes)
    if repeat * max(survey.cost, 2.0) > 240:
        return 0
    for access in survey.accesses:
        if access.opaque & {*inner.syms, *outer.syms}:
            return 0
        step = access.coefficients.get(inner.inner, 0)
        row = access.coefficients.get(outer.inner, 0)
        contiguous = step == 1 and row == inner.extent
        if access.store and not contiguous:
            return 0
        if not contiguous and not (step in (0, 1) and row in (0, 1)):
            return 0
    return repeat


def point_nanoseconds(survey: Survey, lanes: int) -> float:
    """A guess of the time of one point."""
    memory = sum(a.bytes for a in survey.accesses if a.coefficients or a.opaque)
    return max(survey.cost * _NANOSECONDS_PER_OP / lanes, memory * _NANOSECONDS_PER_BYTE)


@dataclass
class Tiles:
    """Workgroup tiles: for each band its tile size, an int (the whole band where its extent is smaller)."""

    sizes: list[int]

    def count(self, bands: Sequence[Band], builder: KernelBuilder) -> list[Dim]:
        return [builder.ceildiv(b.extent, t) if t else 1 for b, t in zip(bands, self.sizes, strict=True)]


def tile_bands(
    bands: Sequence[Band], nanoseconds: float, multiples: Sequence[int], claim: float = CLAIM_NANOSECONDS
) -> Tiles:
    """Tiles worth a claim: inner bands stay whole until a tile is large enough, the one that makes it so is cut
    evenly, outer ones are taken one by one. 0 is a whole band."""
    sizes = [0] * len(bands)
    wanted = max(1.0, claim / nanoseconds)
    for number in range(len(bands) - 1, -1, -1):
        extent, multiple = bands[number].extent, multiples[number]
        if wanted <= 1:
            sizes[number] = 0 if extent.__class__ is int and extent <= multiple > 1 else multiple
        elif extent.__class__ is not int and number > 0:
            wanted /= _USUAL_EXTENT
        elif extent.__class__ is not int:
            sizes[number] = math.ceil(wanted / multiple) * multiple
        elif extent <= wanted * 1.5:
            wanted /= max(extent, 1)
        else:
            pieces = max(1, round(extent / wanted))
            size = math.ceil(math.ceil(extent / pieces) / multiple) * multiple
            sizes[number] = size if size < extent else 0
            wanted = 0
    return Tiles(sizes)


def claim_of_a_run(bands: Sequence[Band], nanoseconds: float) -> float:
    """The nanoseconds of a claim where neighbours in a workgroup serve one another: several of the least claims where
    there is enough to share out. `nanoseconds` is the time of a point."""
    if any(band.extent.__class__ is not int for band in bands):
        return CLAIM_NANOSECONDS
    total = nanoseconds * math.prod([band.extent for band in bands])
    return max(CLAIM_NANOSECONDS, min(_RUN * CLAIM_NANOSECONDS, total / _CLAIMS))


def tiles_along(bands: Sequence[Band], nanoseconds: float, run: tuple[int, int], across: tuple[int, int]) -> Tiles:
    """Tiles that go so far along one band, and across another one, in multiples, as makes them worth a claim; each of
    two is the number of a band and a size. The other bands are taken one by one."""
    sizes = [1] * len(bands)
    (along, length), (other, multiple) = run, across
    extent = bands[along].extent
    if extent.__class__ is int and extent <= length:
        sizes[along], length = 0, max(extent, 1)
    else:
        sizes[along] = length
    wanted = math.ceil(CLAIM_NANOSECONDS / nanoseconds / length / multiple) * multiple
    extent = bands[other].extent
    sizes[other] = 0 if extent.__class__ is int and extent <= wanted else wanted
    return Tiles(sizes)


def in_order_of_loads(bands: list[Band], survey: Survey, plan: VectorPlan) -> tuple[list[Band], VectorPlan]:
    """The loops around the vectors in the order in which memory is read, where all that is read agrees on one: the
    processor looks ahead of what is read, while what is written past the caches waits for nothing."""
    outer = [band for k, band in enumerate(bands) if k != plan.band]
    inner = bands[plan.band]

    def steps(access: Access) -> list[int] | None:
        found = [access.coefficients.get(band.inner, 0) for band in outer]
        is_whole = all(step.__class__ is int and step > 0 for step in found) and not access.opaque
        return found if is_whole else None

    loads = [access for access in survey.accesses if not access.store]
    orders = {tuple(sorted(range(len(outer)), key=lambda k: -found[k])) for a in loads if (found := steps(a))}
    if len(orders) != 1 or len(loads) != 1 or any(len(band.syms) > 1 for band in outer):
        return bands, plan
    (order,) = orders
    return [*[outer[k] for k in order], inner], replace(plan, band=len(outer))
