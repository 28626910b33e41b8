"""Tokens of MLIR text.

What enters: source text. What leaves: one token at a time, by a single regular expression. Shapes such as `4x?xf32`
are not tokens; the type parser reads them from the text itself.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from pyiree.compiler.ir.location import FileLineColLoc

#: Token kinds are the names of the groups; punctuation is its own kind.
_TOKEN = re.compile(
    r"""
    (?:[ \t\n\r]+|//[^\n]*)*
    (?:
      (?P<ID>[A-Za-z_][\w.$]*)
    | (?P<VALUE>%(?:[0-9]+|[A-Za-z$._-][\w$.-]*)(?:\#[0-9]+)?)
    | (?P<PUNCT>->|::|\.\.\.|\{-\#|\#-\}|[,:=(){}<>\[\]?*+|/&;]|-(?!>))
    | (?P<NUMBER>0x[0-9a-fA-F]+|[0-9]+(?:\.[0-9]*(?:[eE][-+]?[0-9]+)?)?)
    | (?P<SYMBOL>@(?:[A-Za-z_][\w$.]*|"(?:[^"\\\n]|\\.)*"))
    | (?P<STRING>"[^"\\\n]*(?:\\.[^"\\\n]*)*")
    | (?P<BLOCK>\^(?:[0-9]+|[A-Za-z$._-][\w$.-]*))
    | (?P<HASH>\#[A-Za-z_$.0-9-][\w$.-]*)
    | (?P<BANG>![A-Za-z_$.0-9-][\w$.-]*)
    | (?P<EOF>\Z)
    )""",
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2}|.)", re.DOTALL)
_NAMED_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", '"': '"', "r": "\r"}


def match_token(text: str, position: int) -> re.Match[str] | None:
    """The token at or after `position` (its kind is `lastgroup`), or None where none can start."""
    return _TOKEN.match(text, position)


def unquote(token: str) -> str:
    """The value of a string token."""
    body = token[1:-1]
    if "\\" not in body:
        return body
    out = bytearray()
    end = 0
    for match in _ESCAPE.finditer(body):
        out += body[end : match.start()].encode("utf-8", "surrogateescape")
        code = match.group(1)
        out += bytes([int(code, 16)]) if len(code) == 2 else _NAMED_ESCAPES.get(code, code).encode()
        end = match.end()
    out += body[end:].encode("utf-8", "surrogateescape")
    return out.decode("utf-8", "surrogateescape")


class Source:
    """A text with a name; knows lines and columns."""

    def __init__(self, text: str, filename: str) -> None:
        self.text = text
        self.filename = filename
        self._starts: list[int] | None = None

    def location(self, position: int) -> FileLineColLoc:
        """The location of a character."""
        if self._starts is None:
            self._starts = [0, *[m.end() for m in re.finditer("\n", self.text)]]
        line = bisect_right(self._starts, position)
        return FileLineColLoc(self.filename, line, position - self._starts[line - 1] + 1)
