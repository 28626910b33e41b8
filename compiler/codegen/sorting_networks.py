"""Networks that sort vectors of signed integers in registers.

Enters: vectors of keys. Leaves: sorted ones. A network compares the same lanes whatever the keys are, so it has no
branches: a comparison is a minimum and a maximum. `sort_columns` sorts each lane over many vectors, `merge_bitonic`
the lanes of two vectors that rise and then fall. Two vectors share every step of that: their lanes that are to be
compared are brought to the same places by shuffles of both, in forms that are one instruction at every width.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .loops import KernelBuilder, Value

_SHUFFLE_BITS = 128


def comparisons(count: int) -> Iterator[tuple[int, int]]:
    """Batcher's odd-even merge sort of a power of two: the places to compare, in order."""
    size = 1
    while size < count:
        step = size
        while step:
            for start in range(step % size, count - step, 2 * step):
                for k in range(start, start + step):
                    if k // (2 * size) == (k + step) // (2 * size):
                        yield k, k + step
            step //= 2
        size *= 2


def sort_columns(builder: KernelBuilder, rows: Sequence[Value]) -> list[Value]:
    """Sorts each lane over the vectors, the smallest first."""
    rows = list(rows)
    for low, high in comparisons(len(rows)):
        rows[low], rows[high] = compare(builder, rows[low], rows[high])
    return rows


def compare(builder: KernelBuilder, x: Value, y: Value) -> tuple[Value, Value]:
    """The smaller and the greater of two keys, in every lane."""
    return builder.op("arith.minsi", (x, y), x.type), builder.op("arith.maxsi", (x, y), x.type)


def transpose_columns(builder: KernelBuilder, rows: Sequence[Value]) -> list[list[Value]]:
    """Vectors along the columns of a matrix whose rows are given: for each vector of a column its lanes. With more
    lanes than rows a vector holds several columns, one after the other, which lie as many apart as there are rows."""
    lanes, count = rows[0].lanes, len(rows)
    side = min(lanes, count)
    blocks = [list(rows[k : k + side]) for k in range(0, count, side)]
    step = 1
    while step < side:
        low = [k if not k & step else lanes + (k ^ step) for k in range(lanes)]
        high = [k | step if not k & step else lanes + k for k in range(lanes)]
        for block in blocks:
            for k in range(side):
                if not k & step:
                    x, y = block[k], block[k | step]
                    block[k], block[k | step] = builder.shuffle(x, y, low), builder.shuffle(x, y, high)
        step *= 2
    return [[block[k] for block in blocks] for k in range(side)]


def reverse(builder: KernelBuilder, x: Value) -> Value:
    """The lanes in the other order."""
    return builder.shuffle(x, x, range(x.lanes - 1, -1, -1))


def merge_bitonic(
    builder: KernelBuilder, x: Value, y: Value, falls: tuple[bool, bool] = (False, False)
) -> tuple[Value, Value]:
    """Sorts two vectors, each of which rises and then falls (or falls and then rises)."""
    lanes = x.lanes
    in_lane = max(2, _SHUFFLE_BITS // x.type.bits)
    # Which lane of which vector lies at each place of the two registers.
    labels = [[(number, k) for k in range(lanes)] for number in (0, 1)]
    registers = [x, y]
    step = lanes // 2
    while step:
        place = next(bit for bit in _bits(lanes) if all(_says(bit, register, step) for register in labels))
        picks = _exchange(lanes, place, in_lane)
        low, high = (builder.shuffle(*registers, pick) for pick in picks)
        both = labels[0] + labels[1]
        labels = [[both[k] for k in pick] for pick in picks]
        registers = list(compare(builder, low, high))
        step //= 2
    both = labels[0] + labels[1]
    where = {label: k for k, label in enumerate(both)}
    order = [range(lanes - 1, -1, -1) if fall else range(lanes) for fall in falls]
    first, second = ([where[number, k] for k in order[number]] for number in (0, 1))
    return builder.shuffle(*registers, first), builder.shuffle(*registers, second)


def _says(bit: int, register: Sequence[tuple[int, int]], step: int) -> bool:
    """Whether a bit of the place is that bit of the lane that lies there."""
    return all(bool(lane & step) == bool(k & bit) for k, (_, lane) in enumerate(register))


def _bits(lanes: int) -> Iterator[int]:
    bit = 1
    while bit < lanes:
        yield bit
        bit *= 2


def _exchange(lanes: int, place: int, in_lane: int) -> tuple[list[int], list[int]]:
    """Picks from two registers: the lanes with one bit of their place clear, and those with it set. Within 128 bits
    they are interleaved, if they are the halves of that; otherwise blocks change places."""
    if 2 * place == in_lane:
        low, high = [], []
        for k in range(lanes):
            base, rest = k - k % in_lane, k % in_lane
            at = base + rest // 2 + (lanes if rest % 2 else 0)
            low.append(at)
            high.append(at + place)
        return low, high
    low = [k if not k & place else lanes + (k ^ place) for k in range(lanes)]
    high = [k | place if not k & place else lanes + k for k in range(lanes)]
    return low, high
