"""Index expressions and what they are in each lane.

Enters: the dims of an iteration domain as `Sym`s. Leaves: an `Index` (a linear combination of syms, scalar values
and a constant), and in a `LaneScope`, which says what each sym is in every lane of a vector, the address parts
that a load or a value needs: a scalar base, a constant per lane, a vector.

A `Dim` is an int or a scalar loop IR value; strides and sizes are dims.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from .loops import Buffer, KernelBuilder, Value, vector

if TYPE_CHECKING:
    from .transposition import TransposeTile

Dim = int | Value


def same_extent(x: Dim, y: Dim) -> bool:
    """Whether two dims are equal: what is known only at run time is the same value."""
    return x is y or x == y


def same_shape(x: Sequence[Dim], y: Sequence[Dim]) -> bool:
    return len(x) == len(y) and all(map(same_extent, x, y))


class Sym:
    """One dim of an iteration domain, running from 0 to `extent` - 1."""

    __slots__ = ("extent", "name")

    def __init__(self, name: str, extent: Dim):
        self.name = name
        self.extent = extent

    def __repr__(self) -> str:
        return self.name


class Index:
    """sum of coefficient * term + constant. A term is a Sym or an i64 value (one lane, or a vector)."""

    __slots__ = ("_hash", "constant", "terms")

    def __init__(self, terms: dict, constant: int = 0):
        self.terms = terms
        self.constant = constant
        self._hash = hash((frozenset(terms.items()), constant))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other) -> bool:
        if other.__class__ is not Index or self._hash != other._hash:
            return False
        return self.constant == other.constant and self.terms == other.terms

    def __repr__(self) -> str:
        parts = [f"{c}*{t}" for t, c in self.terms.items()]
        return " + ".join([*parts, str(self.constant)]) if parts else str(self.constant)

    @property
    def is_constant(self) -> bool:
        return not self.terms


def constant(value: int) -> Index:
    return Index({}, value)


ZERO = constant(0)


def of(term: Sym | Dim) -> Index:
    """A sym, a value or an int as an index. A sym of extent 1 is 0."""
    if term.__class__ is int:
        return constant(term)
    if term.__class__ is Sym:
        return ZERO if term.extent.__class__ is int and term.extent == 1 else Index({term: 1})
    return constant(term.const) if term.const is not None else Index({term: 1})


def add(x: Index, y: Index, builder: KernelBuilder) -> Index:
    if not y.terms:
        return x if y.constant == 0 else Index(x.terms, x.constant + y.constant)
    terms = dict(x.terms)
    for term, coefficient in y.terms.items():
        total = builder.add(terms[term], coefficient) if term in terms else coefficient
        if total.__class__ is int and total == 0:
            del terms[term]
        else:
            terms[term] = total
    return Index(terms, x.constant + y.constant)


def scale(x: Index, factor: Dim, builder: KernelBuilder) -> Index:
    if factor.__class__ is int:
        if factor == 0:
            return ZERO
        if factor == 1:
            return x
        return Index({t: builder.mul(c, factor) for t, c in x.terms.items()}, x.constant * factor)
    terms = {t: builder.mul(factor, c) for t, c in x.terms.items()}
    if x.constant:
        terms[factor] = builder.add(terms.get(factor, 0), x.constant)
    return Index(terms)


def row_major_strides(shape: Sequence[Dim], builder: KernelBuilder) -> list[Dim]:
    strides: list[Dim] = [1] * len(shape)
    for k in range(len(shape) - 2, -1, -1):
        strides[k] = builder.mul(strides[k + 1], shape[k + 1])
    return strides


def linear(indices: Sequence[Index], strides: Sequence[Dim], builder: KernelBuilder) -> Index:
    total = ZERO
    for index, stride in zip(indices, strides, strict=True):
        total = add(scale(index, stride, builder), total, builder)
    return total


Bounds = tuple[int, int]
"""The least and the greatest value of something."""


def bounds(x: Index, ranges: Mapping[Sym, Bounds]) -> Bounds | None:
    """The bounds of an index, or None where a part is not known at compile time; `ranges` are those of syms that do
    not run over all of their extent."""
    low = high = x.constant
    for term, coefficient in x.terms.items():
        if term.__class__ is not Sym or term.extent.__class__ is not int or coefficient.__class__ is not int:
            return None
        first, last = ranges.get(term) or (0, term.extent - 1)
        if coefficient < 0:
            first, last = last, first
        low += coefficient * first
        high += coefficient * last
    return low, high


def split(x: Index, divisor: int) -> tuple[Index, Index]:
    """(whole, rest) with x = whole * divisor + rest: the terms that `divisor` divides, and the others."""
    whole, rest = {}, {}
    for term, coefficient in x.terms.items():
        if coefficient.__class__ is int and coefficient % divisor == 0:
            whole[term] = coefficient // divisor
        else:
            rest[term] = coefficient
    return Index(whole, x.constant // divisor), Index(rest, x.constant % divisor)


class Lanes:
    """What a sym is in each lane: base + pattern[lane]. `multiple` divides base; an int pattern is all lanes'."""

    __slots__ = ("base", "multiple", "pattern")

    def __init__(self, base: Dim, pattern: int | tuple[int, ...] = 0, multiple: int = 1):
        self.base, self.pattern, self.multiple = base, pattern, multiple


class Resolved:
    """An index in a scope: scalar `base` + int `offset` + constant `pattern` a lane + `vector`."""

    __slots__ = ("base", "offset", "pattern", "vector")

    def __init__(self, base: Dim, offset: int, pattern: tuple[int, ...] | None, vector: Value | None):
        self.base, self.offset, self.pattern, self.vector = base, offset, pattern, vector

    @property
    def is_uniform(self) -> bool:
        return self.pattern is None and self.vector is None


class LaneScope:
    """What the syms of the domain are in the current loop body.

    A collapsed dim is a group: several adjacent syms, outermost first, that run together as one number. An index
    that uses them row-major is linear in that number; another one gets them back by division.
    """

    def __init__(self, builder: KernelBuilder, lanes: int, mask: Value | None = None):
        self.builder = builder
        self.lanes = lanes
        self.mask = mask
        self.on_paper = False
        self.tile: tuple[TransposeTile, int] | None = None
        """The register tile that this scope is a row of, and its number there."""
        self.ranges: dict[Sym, Bounds] = {}
        """Syms that only run over a part of their extent here."""
        self._syms: dict[Sym, Lanes] = {}
        self._groups: list[tuple[tuple[Sym, ...], Lanes]] = []

    def bind(self, syms: Sym | Sequence[Sym], lanes: Lanes) -> None:
        """Says what a sym, or a collapsed group of syms, is."""
        if syms.__class__ is Sym:
            self._syms[syms] = lanes
        elif len(syms) == 1:
            self._syms[syms[0]] = lanes
        else:
            group = tuple(syms)
            self._groups = [*[entry for entry in self._groups if entry[0] != group], (group, lanes)]

    def lanes_of(self, syms: Sequence[Sym]) -> Lanes:
        """What `bind` said of a sym or group."""
        if len(syms) == 1:
            return self._syms[syms[0]]
        return next(lanes for group, lanes in self._groups if group == tuple(syms))

    def copy(self, lanes: int | None = None, mask: Value | None = None) -> LaneScope:
        other = LaneScope(self.builder, lanes or self.lanes, mask)
        other.take(self)
        return other

    def take(self, other: LaneScope) -> None:
        """Binds everything to what it is in another scope."""
        self.ranges, self._syms, self._groups = other.ranges, dict(other._syms), list(other._groups)

    def within(self, syms: Sequence[Sym], part: Bounds) -> LaneScope:
        """This scope in a part of the extent of a sym; a group has no parts."""
        (sym,) = syms
        other = self.copy(mask=self.mask)
        other.ranges = {**self.ranges, sym: part}
        return other

    def bounds(self, index: Index) -> Bounds | None:
        """The least and the greatest value that an index has here, where that is known."""
        return bounds(index, self.ranges)

    def touch(self, buffer: Buffer, index: Index, store: bool) -> None:
        """Told of every access; a survey writes them down."""

    def compared(self, index: Index, size: int) -> None:
        """Told of every index of which the program must know whether it is in [0, size); a survey writes it down."""

    def resolve(self, index: Index) -> Resolved:
        """The parts of an index in this scope."""
        total = _Sum(self)
        total.offset = index.constant
        terms = index.terms
        for syms, lanes in self._groups:
            terms = self._add_group(total, terms, syms, lanes)
        for term, coefficient in terms.items():
            if term.__class__ is not Sym:
                total.add_value(term, coefficient)
            elif term in self._syms:
                total.add_lanes(self._syms[term], coefficient)
            else:
                raise KeyError(f"index uses {term.name}, which no loop binds")
        return Resolved(total.base, total.offset, total.pattern, total.vector)

    def _add_group(self, total: _Sum, terms: dict, syms: tuple[Sym, ...], lanes: Lanes) -> dict:
        """Adds a collapsed group's part of the index; gives the terms that are left."""
        coefficients = [terms.get(sym, 0) for sym in syms]
        if all(c.__class__ is int and c == 0 for c in coefficients):
            return terms
        step = coefficients[-1]
        row_major = step.__class__ is not int or step != 0
        for k in range(len(syms) - 2, -1, -1):
            step = self.builder.mul(step, syms[k + 1].extent)
            row_major = row_major and coefficients[k] == step
        if row_major:
            total.add_lanes(lanes, coefficients[-1])
        else:
            for k, coefficient in enumerate(coefficients):
                if coefficient.__class__ is not int or coefficient != 0:
                    self._add_digit(total, coefficient, syms, k, lanes)
        return {t: c for t, c in terms.items() if t not in syms}

    def _add_digit(self, total: _Sum, coefficient: Dim, syms: tuple[Sym, ...], k: int, lanes: Lanes) -> None:
        """Adds coefficient * (number // inner % extent of the sym)."""
        builder = self.builder
        inner: Dim = 1
        for sym in syms[k + 1 :]:
            inner = builder.mul(inner, sym.extent)
        extent = syms[k].extent if k else None
        known = inner.__class__ is int and (extent is None or extent.__class__ is int)
        pattern = lanes.pattern if lanes.pattern.__class__ is tuple else None
        if known and lanes.multiple % (inner * (extent or 1)) == 0 and pattern is not None:
            digits = tuple([p // inner if extent is None else p // inner % extent for p in pattern])
            base = builder.div(lanes.base, inner) if extent is None else 0
            total.add_lanes(Lanes(base, digits), coefficient)
        elif pattern is None:
            number = builder.add(lanes.base, lanes.pattern)
            digit = builder.div(number, inner)
            total.add_value(digit if extent is None else builder.rem(digit, extent), coefficient)
        else:
            number = self.vector_value(Resolved(lanes.base, 0, pattern, None))
            size: Dim = 1
            for sym in syms:
                size = builder.mul(size, sym.extent)
            bound = size if size.__class__ is int else None
            digit = self.divide(number, inner, bound)[0]
            total.add_value(digit if extent is None else self.divide(digit, extent, bound)[1], coefficient)

    def divide(self, x: Value, divisor: Dim, bound: int | None = None) -> tuple[Value, Value]:
        """Quotient and remainder of a non-negative i64 scalar or vector that is less than `bound`.

        A vector is divided in 32 bits where the bound allows: by a constant that takes a few vector instructions,
        while a 64-bit division is done lane by lane.
        """
        builder = self.builder
        if divisor.__class__ is int and divisor == 1:
            return x, builder.const(0, x.type)
        by = builder.splat(builder.index(divisor), x.lanes)
        narrow = x.lanes > 1 and bound is not None and bound <= 1 << 31 and by.const is not None
        if narrow:
            x, by = _narrow(builder, x, "i32"), _narrow(builder, by, "i32")
        quotient = builder.op("arith.divui", (x, by), x.type)
        rest = builder.op("arith.subi", (x, builder.op("arith.muli", (quotient, by), x.type)), x.type)
        if narrow:
            wide = x.type.with_elem("i64")
            return builder.op("arith.extui", (quotient,), wide), builder.op("arith.extui", (rest,), wide)
        return quotient, rest

    def vector_value(self, parts: Resolved, elem: str = "i64") -> Value:
        """The index as a value of a given integer type: a scalar where all lanes agree, else a vector."""
        builder = self.builder
        scalar = builder.index(builder.add(parts.base, parts.offset))
        if elem != "i64":
            scalar = _narrow(builder, scalar, elem)
        if parts.is_uniform:
            return scalar
        type = vector(elem, self.lanes)
        result = None
        if parts.pattern is not None:
            result = builder.const_vector(parts.pattern, elem)
        if parts.vector is not None:
            lanes = parts.vector if elem == "i64" else _narrow(builder, parts.vector, elem)
            result = lanes if result is None else builder.op("arith.addi", (lanes, result), type)
        if scalar.const == 0:
            return result
        return builder.op("arith.addi", (builder.splat(scalar, self.lanes), result), type)

    def value(self, index: Index, elem: str = "i64") -> Value:
        return self.vector_value(self.resolve(index), elem)


def _narrow(builder: KernelBuilder, value: Value, elem: str) -> Value:
    if value.const is not None:
        return builder.const(value.const, value.type.with_elem(elem))
    return builder.op("arith.trunci", (value,), value.type.with_elem(elem))


class _Sum:
    """Adds up the parts of an index."""

    __slots__ = ("base", "builder", "lanes", "offset", "pattern", "vector")

    def __init__(self, scope: LaneScope):
        self.builder = scope.builder
        self.lanes = scope.lanes
        self.base: Dim = 0
        self.offset = 0
        self.pattern: tuple[int, ...] | None = None
        self.vector: Value | None = None

    def add_lanes(self, lanes: Lanes, coefficient: Dim) -> None:
        self.add_value(lanes.base, coefficient)
        pattern = lanes.pattern
        if coefficient.__class__ is int:
            if pattern.__class__ is int:
                self.offset += pattern * coefficient
            else:
                self._add_pattern([p * coefficient for p in pattern])
        elif pattern.__class__ is int:
            self.add_value(coefficient, pattern)
        else:
            builder = self.builder
            lane_numbers = builder.const_vector(pattern, "i64")
            step = builder.splat(coefficient, self.lanes)
            self._add_vector(builder.op("arith.muli", (step, lane_numbers), lane_numbers.type))

    def add_value(self, value: Dim, coefficient: Dim) -> None:
        builder = self.builder
        if value.__class__ is int or value.lanes == 1:
            product = builder.mul(value, coefficient)
            if product.__class__ is int:
                self.offset += product
            else:
                self.base = builder.add(self.base, product)
        elif coefficient.__class__ is int and coefficient == 1:
            self._add_vector(value)
        else:
            factor = builder.splat(builder.index(coefficient), self.lanes)
            self._add_vector(builder.op("arith.muli", (value, factor), value.type))

    def _add_pattern(self, pattern: Iterable[int]) -> None:
        if self.pattern is not None:
            pattern = [a + b for a, b in zip(self.pattern, pattern, strict=True)]
        pattern = tuple(pattern)
        if self.lanes == 1 or len(set(pattern)) == 1:
            self.offset += pattern[0]
            self.pattern = None
        else:
            self.pattern = pattern

    def _add_vector(self, vector: Value) -> None:
        if self.vector is not None:
            vector = self.builder.op("arith.addi", (self.vector, vector), vector.type)
        self.vector = vector


def as_index(value: Value, scope: LaneScope) -> Index:
    """An integer value of any width as an index (sign-extended)."""
    if value.type.elem != "i64":
        value = scope.builder.op("arith.extsi", (value,), value.type.with_elem("i64"))
    return of(value)
