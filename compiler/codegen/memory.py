"""Loads and stores at an index, in the form that its lanes allow.

Enters: a buffer and a linear index in a scope. Leaves: a scalar access, a vector access, wide loads with a shuffle
(small constant strides, short rows side by side), or a gather.
"""

from __future__ import annotations

from . import indexing
from .indexing import Index, LaneScope, Resolved
from .loops import Buffer, Value, vector

# A pattern of lanes is fetched with wide loads and shuffles while it spans at most this many vectors.
_MAX_WIDE_LOADS = 8


def load_at(scope: LaneScope, buffer: Buffer, index: Index, mask: Value | None) -> Value:
    """The elements at `index`; lanes where `mask` is false are not touched and give zero."""
    scope.touch(buffer, index, False)
    builder = scope.builder
    where = scope.resolve(index)
    if where.is_uniform and (mask is None or mask.lanes == 1):
        return _uniform_load(scope, buffer, where, mask)
    both = _lane_mask(scope, mask)
    lanes = scope.lanes
    if where.vector is None and where.pattern is not None:
        pattern = where.pattern
        if pattern == tuple(range(pattern[0], pattern[0] + lanes)):
            return builder.load(buffer, where.base, where.offset + pattern[0], lanes, both)
        if scope.tile is not None and both is None:
            tile, row = scope.tile
            found = tile.load(scope, buffer, index, where, row)
            if found is not None:
                return found
        span = max(pattern) - min(pattern) + 1
        if both is None and span <= _MAX_WIDE_LOADS * lanes:
            return _wide_load(scope, buffer, where)
    return builder.gather(buffer, _vector_index(scope, where), where.offset, both)


def load_pair_at(scope: LaneScope, buffer: Buffer, index: Index, mask: Value | None) -> tuple[Value, Value]:
    """What lies at `index` and after it, in every lane: neighbours are loaded as whole vectors."""
    builder, lanes = scope.builder, scope.lanes
    if lanes > 1 and mask is None and scope.mask is None:
        where = scope.resolve(index)
        first = _first_of_pairs(where, lanes)
        if first is not None:
            low, high = (builder.load(buffer, where.base, first + k * lanes, lanes) for k in (0, 1))
            parts = [builder.shuffle(low, high, range(k, 2 * lanes, 2)) for k in (0, 1)]
            return parts[0], parts[1]
    after = indexing.add(index, indexing.constant(1), builder)
    return load_at(scope, buffer, index, mask), load_at(scope, buffer, after, mask)


def _uniform_load(scope: LaneScope, buffer: Buffer, where: Resolved, mask: Value | None) -> Value:
    builder = scope.builder
    if mask is None:
        return builder.load(buffer, where.base, where.offset, 1)
    if mask.const is not None and not mask.const:
        return builder.const(0, vector(buffer.elem))
    return builder.load(buffer, where.base, where.offset, 1, mask)


def _lane_mask(scope: LaneScope, mask: Value | None) -> Value | None:
    if mask is not None:
        mask = scope.builder.splat(mask, scope.lanes)
    return scope.builder.and_(scope.mask, mask)


def _vector_index(scope: LaneScope, where: Resolved) -> Value:
    """The address of each lane, without the constant offset."""
    return scope.builder.splat(scope.vector_value(Resolved(where.base, 0, where.pattern, where.vector)), scope.lanes)


def _wide_load(scope: LaneScope, buffer: Buffer, where: Resolved) -> Value:
    """A constant pattern of lanes: as many whole vectors as it spans, then shuffles that pick the lanes.

    The last vector is read only as far as the pattern goes, since the buffer may end there.
    """
    builder, lanes = scope.builder, scope.lanes
    pattern = where.pattern
    low, high = min(pattern), max(pattern)
    parts = []
    for start in range(low, high + 1, lanes):
        count = high + 1 - start
        mask = builder.lane_mask(lanes, count) if count < lanes else None
        parts.append(builder.load(buffer, where.base, where.offset + start, lanes, mask))
    picks = [p - low for p in pattern]
    result = None
    for k in range(0, len(parts), 2):
        first, second = parts[k], parts[min(k + 1, len(parts) - 1)]
        start = k * lanes
        chosen = [p - start if start <= p < start + 2 * lanes else 0 for p in picks]
        piece = builder.shuffle(first, second, chosen)
        if result is None:
            result = piece
        else:
            result = builder.shuffle(result, piece, [
                lanes + lane if start <= p < start + 2 * lanes else lane for lane, p in enumerate(picks)
            ])  # fmt: skip
    return result


def store_at(scope: LaneScope, buffer: Buffer, index: Index, value: Value) -> None:
    """Stores the lanes that the scope has."""
    scope.touch(buffer, index, True)
    if scope.on_paper:
        return
    builder = scope.builder
    where = scope.resolve(index)
    if where.is_uniform:
        if value.lanes != 1:
            raise ValueError("a store to one place has a value per lane")
        builder.store(value, buffer, where.base, where.offset)
        return
    lanes = scope.lanes
    value = builder.splat(value, lanes)
    pattern = where.pattern
    if where.vector is None and pattern == tuple(range(pattern[0], pattern[0] + lanes)):
        builder.store(value, buffer, where.base, where.offset + pattern[0], scope.mask)
    else:
        builder.scatter(value, buffer, _vector_index(scope, where), where.offset, scope.mask)


def store_pair_at(scope: LaneScope, buffer: Buffer, index: Index, first: Value, second: Value) -> None:
    """Stores `first` at an index and `second` after it, in every lane: neighbours are stored as whole vectors."""
    builder, lanes = scope.builder, scope.lanes
    where = scope.resolve(index)
    place = _first_of_pairs(where, lanes)
    if scope.on_paper or scope.mask is not None or place is None:
        after = indexing.add(index, indexing.constant(1), builder)
        store_at(scope, buffer, index, first)
        store_at(scope, buffer, after, second)
        return
    first, second = builder.splat(first, lanes), builder.splat(second, lanes)
    for start in (0, lanes // 2):
        picks = [lane for k in range(start, start + lanes // 2) for lane in (k, lanes + k)]
        builder.store(builder.shuffle(first, second, picks), buffer, where.base, place + 2 * start)


def _first_of_pairs(where: Resolved, lanes: int) -> int | None:
    """The constant part of the address of neighbouring pairs, one a lane; None where they lie otherwise."""
    pattern = where.pattern
    if where.vector is None and pattern is not None and pattern == tuple(range(pattern[0], pattern[0] + 2 * lanes, 2)):
        return where.offset + pattern[0]
    return None
