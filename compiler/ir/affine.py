"""Affine expressions, maps and integer sets.

What enters: dimensions, symbols and constants combined by `+ - *`, `mod`, `floordiv` and `ceildiv`. What leaves:
interned, simplified expressions and the attributes `affine_map<…>` and `affine_set<…>`, which can be evaluated,
composed and permuted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pyiree.compiler.ir.attributes import Attribute
from pyiree.compiler.ir.interned import Interned, intern


class AffineExpr(Interned):
    """Base of affine expressions; operators build simplified ones."""

    __slots__ = ()

    def __add__(self, other: AffineExpr | int) -> AffineExpr:
        return _add(self, _wrap(other))

    __radd__ = __add__

    def __mul__(self, other: AffineExpr | int) -> AffineExpr:
        return _mul(self, _wrap(other))

    __rmul__ = __mul__

    def __neg__(self) -> AffineExpr:
        return _mul(self, AffineConstant(-1))

    def __sub__(self, other: AffineExpr | int) -> AffineExpr:
        return _add(self, -_wrap(other))

    def __rsub__(self, other: int) -> AffineExpr:
        return _add(_wrap(other), -self)

    def __mod__(self, other: AffineExpr | int) -> AffineExpr:
        return _divide("mod", self, _wrap(other))

    def __floordiv__(self, other: AffineExpr | int) -> AffineExpr:
        return _divide("floordiv", self, _wrap(other))

    def ceildiv(self, other: AffineExpr | int) -> AffineExpr:
        """The quotient rounded up."""
        return _divide("ceildiv", self, _wrap(other))

    def evaluate(self, dims: Sequence[int], symbols: Sequence[int] = ()) -> int:
        """The value for concrete dimensions and symbols."""
        raise NotImplementedError

    def substitute(self, dims: Sequence[AffineExpr], symbols: Sequence[AffineExpr] = ()) -> AffineExpr:
        """The expression with its dimensions and symbols replaced."""
        raise NotImplementedError

    def used_dims(self) -> frozenset[int]:
        """The positions of the dimensions that occur."""
        return frozenset(e.position for e in self.leaves() if isinstance(e, AffineDim))

    def leaves(self) -> Iterable[AffineExpr]:
        """Every dimension, symbol and constant in it, in order, with repeats."""
        return (self,)

    @property
    def is_symbolic_or_constant(self) -> bool:
        """Whether no dimension occurs."""
        return not self.used_dims()

    def text(self, printer: Any) -> str:
        return _expression_text(self, False)


class AffineDim(AffineExpr):
    """`d0`."""

    parameters = ("position",)
    __slots__ = parameters

    def __new__(cls, position: int) -> AffineDim:
        return intern(cls, (position,))

    def evaluate(self, dims: Sequence[int], symbols: Sequence[int] = ()) -> int:
        return dims[self.position]

    def substitute(self, dims: Sequence[AffineExpr], symbols: Sequence[AffineExpr] = ()) -> AffineExpr:
        return dims[self.position]


class AffineSymbol(AffineExpr):
    """`s0`."""

    parameters = ("position",)
    __slots__ = parameters

    def __new__(cls, position: int) -> AffineSymbol:
        return intern(cls, (position,))

    def evaluate(self, dims: Sequence[int], symbols: Sequence[int] = ()) -> int:
        return symbols[self.position]

    def substitute(self, dims: Sequence[AffineExpr], symbols: Sequence[AffineExpr] = ()) -> AffineExpr:
        return symbols[self.position]


class AffineConstant(AffineExpr):
    """A whole number."""

    parameters = ("value",)
    __slots__ = parameters

    def __new__(cls, value: int) -> AffineConstant:
        return intern(cls, (int(value),))

    def evaluate(self, dims: Sequence[int], symbols: Sequence[int] = ()) -> int:
        return self.value

    def substitute(self, dims: Sequence[AffineExpr], symbols: Sequence[AffineExpr] = ()) -> AffineExpr:
        return self


class AffineBinary(AffineExpr):
    """`lhs kind rhs`; kind is `+`, `*`, `mod`, `floordiv` or `ceildiv`. Built by the operators, which simplify."""

    parameters = ("kind", "lhs", "rhs")
    __slots__ = parameters

    def __new__(cls, kind: str, lhs: AffineExpr, rhs: AffineExpr) -> AffineBinary:
        return intern(cls, (kind, lhs, rhs))

    def evaluate(self, dims: Sequence[int], symbols: Sequence[int] = ()) -> int:
        return _compute(self.kind, self.lhs.evaluate(dims, symbols), self.rhs.evaluate(dims, symbols))

    def substitute(self, dims: Sequence[AffineExpr], symbols: Sequence[AffineExpr] = ()) -> AffineExpr:
        return combine(self.kind, self.lhs.substitute(dims, symbols), self.rhs.substitute(dims, symbols))

    def leaves(self) -> Iterable[AffineExpr]:
        yield from self.lhs.leaves()
        yield from self.rhs.leaves()


def combine(kind: str, lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    """The simplified expression `lhs kind rhs`."""
    if kind == "+":
        return _add(lhs, rhs)
    if kind == "*":
        return _mul(lhs, rhs)
    return _divide(kind, lhs, rhs)


def _wrap(value: AffineExpr | int) -> AffineExpr:
    return value if isinstance(value, AffineExpr) else AffineConstant(value)


def _compute(kind: str, lhs: int, rhs: int) -> int:
    if kind == "+":
        return lhs + rhs
    if kind == "*":
        return lhs * rhs
    if rhs <= 0:
        raise ValueError(f"affine {kind} by {rhs}: the divisor must be positive")
    if kind == "mod":
        return lhs % rhs
    return lhs // rhs if kind == "floordiv" else -(-lhs // rhs)


def _split_constant_factor(expr: AffineExpr) -> tuple[AffineExpr, int]:
    if isinstance(expr, AffineBinary) and expr.kind == "*" and isinstance(expr.rhs, AffineConstant):
        return expr.lhs, expr.rhs.value
    return expr, 1


def _add(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    if isinstance(lhs, AffineConstant):
        if isinstance(rhs, AffineConstant):
            return AffineConstant(lhs.value + rhs.value)
        lhs, rhs = rhs, lhs
    if isinstance(rhs, AffineConstant):
        if rhs.value == 0:
            return lhs
        if isinstance(lhs, AffineBinary) and lhs.kind == "+" and isinstance(lhs.rhs, AffineConstant):
            return _add(lhs.lhs, AffineConstant(lhs.rhs.value + rhs.value))
        return AffineBinary("+", lhs, rhs)
    # Constants go to the right end, so that they meet.
    if isinstance(rhs, AffineBinary) and rhs.kind == "+":
        return _add(_add(lhs, rhs.lhs), rhs.rhs)
    if isinstance(lhs, AffineBinary) and lhs.kind == "+" and isinstance(lhs.rhs, AffineConstant):
        return _add(_add(lhs.lhs, rhs), lhs.rhs)
    term, factor = _split_constant_factor(rhs)
    merged = _merge_term(lhs, term, factor)
    if merged is not None:
        return merged
    return AffineBinary("+", lhs, rhs)


def _merge_term(total: AffineExpr, term: AffineExpr, factor: int) -> AffineExpr | None:
    """`total + factor*term` where a summand of `total` is a multiple of `term`; else None."""
    if isinstance(total, AffineBinary) and total.kind == "+":
        merged = _merge_term(total.rhs, term, factor)
        if merged is not None:
            return _add(total.lhs, merged)
        merged = _merge_term(total.lhs, term, factor)
        return None if merged is None else _add(merged, total.rhs)
    other, count = _split_constant_factor(total)
    return _mul(term, AffineConstant(count + factor)) if other is term else None


def _mul(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    if isinstance(lhs, AffineConstant):
        if isinstance(rhs, AffineConstant):
            return AffineConstant(lhs.value * rhs.value)
        lhs, rhs = rhs, lhs
    if isinstance(rhs, AffineConstant):
        if rhs.value == 1:
            return lhs
        if rhs.value == 0:
            return rhs
        if isinstance(lhs, AffineBinary) and lhs.kind == "*" and isinstance(lhs.rhs, AffineConstant):
            return _mul(lhs.lhs, AffineConstant(lhs.rhs.value * rhs.value))
        return AffineBinary("*", lhs, rhs)
    if not rhs.is_symbolic_or_constant and lhs.is_symbolic_or_constant:
        lhs, rhs = rhs, lhs
    return AffineBinary("*", lhs, rhs)


def known_divisor(expr: AffineExpr) -> int:
    """A positive number that divides every value of the expression (0 for the constant zero)."""
    if isinstance(expr, AffineConstant):
        return abs(expr.value)
    if isinstance(expr, AffineBinary):
        if expr.kind == "*":
            return known_divisor(expr.lhs) * known_divisor(expr.rhs)
        if expr.kind in ("+", "mod"):
            from math import gcd

            return gcd(known_divisor(expr.lhs), known_divisor(expr.rhs))
    return 1


def _divide(kind: str, lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    if not isinstance(rhs, AffineConstant) or rhs.value < 1:
        return AffineBinary(kind, lhs, rhs)
    divisor = rhs.value
    if isinstance(lhs, AffineConstant):
        return AffineConstant(_compute(kind, lhs.value, divisor))
    if divisor == 1:
        return AffineConstant(0) if kind == "mod" else lhs
    if kind == "mod":
        if known_divisor(lhs) % divisor == 0:
            return AffineConstant(0)
        # Summands that are multiples of the divisor do not change the remainder.
        if isinstance(lhs, AffineBinary) and lhs.kind == "+":
            for kept, dropped in ((lhs.rhs, lhs.lhs), (lhs.lhs, lhs.rhs)):
                if known_divisor(dropped) % divisor == 0:
                    return _divide("mod", kept, rhs)
        if isinstance(lhs, AffineBinary) and lhs.kind == "mod" and known_divisor(lhs.rhs) == divisor:
            return lhs
        return AffineBinary(kind, lhs, rhs)
    term, factor = _split_constant_factor(lhs)
    if factor % divisor == 0:
        return _mul(term, AffineConstant(factor // divisor))
    if isinstance(lhs, AffineBinary) and lhs.kind == "+":
        for one, other in ((lhs.lhs, lhs.rhs), (lhs.rhs, lhs.lhs)):
            if known_divisor(one) % divisor == 0:
                return _add(_divide(kind, one, rhs), _divide(kind, other, rhs))
    return AffineBinary(kind, lhs, rhs)


def _expression_text(expr: AffineExpr, parenthesize: bool) -> str:
    if isinstance(expr, AffineDim):
        return f"d{expr.position}"
    if isinstance(expr, AffineSymbol):
        return f"s{expr.position}"
    if isinstance(expr, AffineConstant):
        return str(expr.value)
    kind, lhs, rhs = expr.kind, expr.lhs, expr.rhs
    if kind == "*" and isinstance(rhs, AffineConstant) and rhs.value == -1:
        body = f"-{_expression_text(lhs, True)}"
    elif kind != "+":
        body = f"{_expression_text(lhs, True)} {kind} {_expression_text(rhs, True)}"
    else:
        body = _sum_text(lhs, rhs)
    return f"({body})" if parenthesize else body


def _sum_text(lhs: AffineExpr, rhs: AffineExpr) -> str:
    left = _expression_text(lhs, False)
    if isinstance(rhs, AffineConstant) and rhs.value < 0:
        return f"{left} - {-rhs.value}"
    if isinstance(rhs, AffineBinary) and rhs.kind == "*" and isinstance(rhs.rhs, AffineConstant):
        if rhs.rhs.value == -1:
            inner = rhs.lhs
            parenthesize = isinstance(inner, AffineBinary) and inner.kind == "+"
            return f"{left} - {_expression_text(inner, parenthesize)}"
        if rhs.rhs.value < -1:
            return f"{left} - {_expression_text(rhs.lhs, True)} * {-rhs.rhs.value}"
    return f"{left} + {_expression_text(rhs, False)}"


def _space_text(num_dims: int, num_symbols: int) -> str:
    dims = ", ".join([f"d{i}" for i in range(num_dims)])
    symbols = ", ".join([f"s{i}" for i in range(num_symbols)])
    return f"({dims})[{symbols}]" if num_symbols else f"({dims})"


def dims(count: int) -> tuple[AffineDim, ...]:
    """The dimensions d0 … d(count-1)."""
    return tuple(AffineDim(i) for i in range(count))


def symbols(count: int) -> tuple[AffineSymbol, ...]:
    """The symbols s0 … s(count-1)."""
    return tuple(AffineSymbol(i) for i in range(count))


class AffineMap(Attribute):
    """`affine_map<(d0, d1)[s0] -> (d1, d0 + s0)>`; the map is itself the attribute."""

    parameters = ("num_dims", "num_symbols", "results")
    __slots__ = parameters
    alias = "map"

    def __new__(cls, num_dims: int, num_symbols: int, results: Iterable[AffineExpr | int]) -> AffineMap:
        return intern(cls, (num_dims, num_symbols, tuple(_wrap(r) for r in results)))

    @classmethod
    def identity(cls, rank: int) -> AffineMap:
        """`(d0, …) -> (d0, …)`."""
        return cls(rank, 0, dims(rank))

    @classmethod
    def permutation(cls, order: Sequence[int]) -> AffineMap:
        """`(d0, …) -> (d[order[0]], d[order[1]], …)`."""
        return cls(len(order), 0, [AffineDim(i) for i in order])

    @classmethod
    def constant(cls, *values: int) -> AffineMap:
        """`() -> (values…)`."""
        return cls(0, 0, values)

    @property
    def num_results(self) -> int:
        """The number of results."""
        return len(self.results)

    @property
    def is_identity(self) -> bool:
        """Whether the results are the dimensions in order, with no symbols."""
        return self.num_symbols == 0 and self.results == dims(self.num_dims)

    @property
    def is_projected_permutation(self) -> bool:
        """Whether every result is a dimension and none occurs twice."""
        return all(isinstance(r, AffineDim) for r in self.results) and len(set(self.results)) == len(self.results)

    @property
    def is_permutation(self) -> bool:
        """Whether the results are all the dimensions, in some order."""
        return self.is_projected_permutation and len(self.results) == self.num_dims

    def dim_positions(self) -> tuple[int | None, ...]:
        """For each result the position of the dimension that it is, or None for any other expression."""
        return tuple(r.position if isinstance(r, AffineDim) else None for r in self.results)

    def evaluate(self, dims: Sequence[int], symbols: Sequence[int] = ()) -> tuple[int, ...]:
        """The results for concrete dimensions and symbols."""
        if len(dims) != self.num_dims or len(symbols) != self.num_symbols:
            raise ValueError(f"{self} takes {self.num_dims} dims and {self.num_symbols} symbols")
        return tuple(r.evaluate(dims, symbols) for r in self.results)

    def compose(self, inner: AffineMap) -> AffineMap:
        """`self ∘ inner`: the results of `inner` are the dimensions of `self`; symbols are put side by side."""
        if inner.num_results != self.num_dims:
            raise ValueError(f"{self} takes {self.num_dims} dims, but {inner} has {inner.num_results} results")
        # The outer map's symbols come first, as in MLIR.
        outer = symbols(self.num_symbols)
        moved = [AffineSymbol(self.num_symbols + i) for i in range(inner.num_symbols)]
        shifted = [r.substitute(dims(inner.num_dims), moved) for r in inner.results]
        results = [r.substitute(shifted, outer) for r in self.results]
        return AffineMap(inner.num_dims, self.num_symbols + inner.num_symbols, results)

    def inverse_permutation(self) -> AffineMap | None:
        """The map from results to dimensions, if every dimension is some result by itself; else None."""
        found: dict[int, int] = {}
        for i, result in enumerate(self.results):
            if isinstance(result, AffineDim):
                found.setdefault(result.position, i)
        if len(found) != self.num_dims or self.num_symbols:
            return None
        return AffineMap(self.num_results, 0, [AffineDim(found[i]) for i in range(self.num_dims)])

    def sub_map(self, positions: Sequence[int]) -> AffineMap:
        """The map of only some of the results."""
        return AffineMap(self.num_dims, self.num_symbols, [self.results[i] for i in positions])

    def drop_dims(self, dropped: Iterable[int]) -> AffineMap:
        """The map over the dimensions that remain; the dropped ones must not be used."""
        gone = set(dropped)
        kept = [i for i in range(self.num_dims) if i not in gone]
        used = set().union(*[r.used_dims() for r in self.results]) if self.results else set()
        if used & gone:
            raise ValueError(f"{self} uses a dimension that is to be dropped: {sorted(used & gone)}")
        replacement: list[AffineExpr] = [AffineConstant(0)] * self.num_dims
        for new, old in enumerate(kept):
            replacement[old] = AffineDim(new)
        results = [r.substitute(replacement, symbols(self.num_symbols)) for r in self.results]
        return AffineMap(len(kept), self.num_symbols, results)

    def body(self) -> str:
        """What stands between the angle brackets."""
        results = ", ".join([_expression_text(r, False) for r in self.results])
        return f"{_space_text(self.num_dims, self.num_symbols)} -> ({results})"

    def text(self, printer: Any) -> str:
        return f"affine_map<{self.body()}>"


class IntegerSet(Attribute):
    """`affine_set<(d0) : (d0 - 1 >= 0, d0 == 0)>`: constraints `expr >= 0` or, where flagged, `expr == 0`."""

    parameters = ("num_dims", "num_symbols", "constraints", "equalities")
    __slots__ = parameters
    alias = "set"

    def __new__(
        cls, num_dims: int, num_symbols: int, constraints: Iterable[AffineExpr], equalities: Iterable[bool]
    ) -> IntegerSet:
        return intern(cls, (num_dims, num_symbols, tuple(constraints), tuple(equalities)))

    def contains(self, dims: Sequence[int], symbols: Sequence[int] = ()) -> bool:
        """Whether a point satisfies every constraint."""
        values = (c.evaluate(dims, symbols) for c in self.constraints)
        return all(v == 0 if equal else v >= 0 for v, equal in zip(values, self.equalities))

    def text(self, printer: Any) -> str:
        parts = [
            f"{_expression_text(c, False)} {'==' if equal else '>='} 0"
            for c, equal in zip(self.constraints, self.equalities)
        ]
        return f"affine_set<{_space_text(self.num_dims, self.num_symbols)} : ({', '.join(parts)})>"
