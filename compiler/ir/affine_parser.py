"""Reads `affine_map<…>` and `affine_set<…>`.

What enters: the parser at the keyword. What leaves: an `AffineMap` or `IntegerSet`.
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.ir.affine import (
    AffineConstant,
    AffineDim,
    AffineExpr,
    AffineMap,
    AffineSymbol,
    IntegerSet,
    combine,
)


def parse_affine_map(parser: Any) -> AffineMap:
    """`affine_map<(d0)[s0] -> (d0 + s0)>`."""
    parser.advance()
    parser.parse_punctuation("<")
    result = parse_affine_map_body(parser)
    parser.parse_punctuation(">")
    return result


def parse_affine_map_body(parser: Any) -> AffineMap:
    """What stands between the brackets: `(d0)[s0] -> (d0 + s0)`."""
    names, num_dims, num_symbols = _parse_space(parser)
    parser.parse_punctuation("->")
    results = parser.parse_list(lambda: _parse_sum(parser, names), "(", ")")
    return AffineMap(num_dims, num_symbols, results)


def parse_affine_set(parser: Any) -> IntegerSet:
    """`affine_set<(d0) : (d0 >= 0, d0 == 3)>`."""
    parser.advance()
    parser.parse_punctuation("<")
    names, num_dims, num_symbols = _parse_space(parser)
    parser.parse_punctuation(":")
    parts = parser.parse_list(lambda: _parse_constraint(parser, names), "(", ")")
    parser.parse_punctuation(">")
    return IntegerSet(num_dims, num_symbols, [p[0] for p in parts], [p[1] for p in parts])


def _parse_space(parser: Any) -> tuple[dict[str, AffineExpr], int, int]:
    dims = parser.parse_list(parser.parse_identifier, "(", ")")
    symbols = parser.parse_list(parser.parse_identifier, "[", "]") if parser.at("[") else []
    names: dict[str, AffineExpr] = {name: AffineDim(i) for i, name in enumerate(dims)}
    names.update({name: AffineSymbol(i) for i, name in enumerate(symbols)})
    if len(names) != len(dims) + len(symbols):
        raise parser.error("an affine dimension or symbol is named twice")
    return names, len(dims), len(symbols)


def _parse_constraint(parser: Any, names: dict[str, AffineExpr]) -> tuple[AffineExpr, bool]:
    left = _parse_sum(parser, names)
    for sign, equal in ((">", False), ("=", True), ("<", None)):
        if parser.parse_optional(sign):
            parser.parse_punctuation("=")
            right = _parse_sum(parser, names)
            return (right - left, False) if equal is None else (left - right, equal)
    parser.fail_expected("'>=', '<=' or '=='")
    raise AssertionError


def _parse_sum(parser: Any, names: dict[str, AffineExpr]) -> AffineExpr:
    total = _parse_product(parser, names)
    while True:
        if parser.parse_optional("+"):
            total = total + _parse_product(parser, names)
        elif parser.parse_optional("-"):
            total = total - _parse_product(parser, names)
        else:
            return total


def _parse_product(parser: Any, names: dict[str, AffineExpr]) -> AffineExpr:
    result = _parse_factor(parser, names)
    while parser.token in ("*", "mod", "floordiv", "ceildiv"):
        kind = parser.token
        parser.advance()
        result = combine(kind, result, _parse_factor(parser, names))
    return result


def _parse_factor(parser: Any, names: dict[str, AffineExpr]) -> AffineExpr:
    if parser.parse_optional("-"):
        return -_parse_factor(parser, names)
    if parser.parse_optional("("):
        inner = _parse_sum(parser, names)
        parser.parse_punctuation(")")
        return inner
    if parser.kind == "NUMBER":
        return AffineConstant(parser.parse_integer())
    position, name = parser.start, parser.parse_identifier("an affine expression")
    if parser.at("(") and name == "symbol":
        parser.advance()
        inner = _parse_sum(parser, names)
        parser.parse_punctuation(")")
        return inner
    if name not in names:
        raise parser.error_at(position, f"'{name}' is neither a dimension nor a symbol of this map")
    return names[name]
