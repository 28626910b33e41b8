"""Reads `loc(…)`.

What enters: the parser at `loc`. What leaves: a location; `#loc1` aliases that are defined later in the text come as
placeholders, which the op parser resolves at the end.
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.ir.location import UNKNOWN, CallSiteLoc, FileLineColLoc, FusedLoc, Location, NameLoc


def parse_location(parser: Any) -> Location:
    """`loc(body)`."""
    parser.parse_keyword("loc")
    parser.parse_punctuation("(")
    location = parse_location_body(parser)
    parser.parse_punctuation(")")
    return location


def parse_location_body(parser: Any) -> Location:
    """What stands inside `loc(…)`."""
    if parser.kind == "HASH":
        found = parser.parse_attribute()
        if not isinstance(found, Location):
            raise parser.error(f"{found} is not a location")
        return found
    if parser.kind == "STRING":
        name = parser.parse_string()
        if parser.parse_optional(":"):
            line = parser.parse_integer()
            parser.parse_punctuation(":")
            column = parser.parse_integer()
            if parser.parse_optional("to"):
                # A range ends somewhere behind; the start says where to look.
                if parser.kind == "NUMBER":
                    parser.parse_integer()
                parser.parse_punctuation(":")
                parser.parse_integer()
            return FileLineColLoc(name, line, column)
        child = None
        if parser.parse_optional("("):
            child = parse_location_body(parser)
            parser.parse_punctuation(")")
        return NameLoc(name, child)
    word = parser.parse_one_of(("unknown", "callsite", "fused", "loc"), "a location")
    if word == "unknown":
        return UNKNOWN
    if word == "loc":
        parser.parse_punctuation("(")
        inner = parse_location_body(parser)
        parser.parse_punctuation(")")
        return inner
    if word == "callsite":
        parser.parse_punctuation("(")
        callee = parse_location_body(parser)
        parser.parse_keyword("at")
        caller = parse_location_body(parser)
        parser.parse_punctuation(")")
        return CallSiteLoc(callee, caller)
    metadata = None
    if parser.parse_optional("<"):
        metadata = parser.parse_attribute()
        parser.parse_punctuation(">")
    return FusedLoc(parser.parse_list(lambda: parse_location_body(parser), "[", "]"), metadata)
