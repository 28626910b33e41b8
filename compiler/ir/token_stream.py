"""The parser's view of a source: the current token, ways to consume it, and errors that name its place.

What enters: a source. What leaves: identifiers, numbers, strings, lists and balanced text, one after the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NoReturn

from pyiree.compiler.ir.diagnostics import ParseError
from pyiree.compiler.ir.lexer import Source, match_token, unquote
from pyiree.compiler.ir.location import Location

_OPEN, _CLOSE = "<([{", ">)]}"
_BLANK = re.compile(r"(?:\s|//[^\n]*)*")


class TokenStream:
    """The current token (`kind`, `token`, `start`) of a source, and ways to consume it."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.text
        self._pos = 0
        self.advance()

    def advance(self) -> None:
        """Goes to the next token."""
        match = match_token(self.text, self._pos)
        if match is None:
            self.start = _BLANK.match(self.text, self._pos).end()  # type: ignore[union-attr]
            raise self.error_at(self.start, f"unexpected character {self.text[self.start]!r}")
        self.kind = kind = match.lastgroup
        self.token = match.group(kind)  # type: ignore[arg-type]
        self.start = match.start(kind)  # type: ignore[arg-type]
        self._pos = match.end()

    def seek(self, position: int) -> None:
        """Goes on reading at a position of the text."""
        self._pos = position
        self.advance()

    def error_at(self, position: int, message: str) -> ParseError:
        """An error about a position of the text."""
        return ParseError(message, self.source.location(position))

    def error(self, message: str) -> ParseError:
        """An error about the current token."""
        return self.error_at(self.start, message)

    def fail_expected(self, what: str) -> NoReturn:
        """Raises: something else than the current token is needed here."""
        found = f"'{self.token}'" if self.kind != "EOF" else "the end of the text"
        raise self.error(f"expected {what}, found {found}")

    def current_location(self) -> Location:
        """The location of the current token."""
        return self.source.location(self.start)

    def at(self, token: str) -> bool:
        """Whether the current token is this punctuation or keyword."""
        return self.token == token and self.kind != "STRING"

    def parse_optional(self, token: str) -> bool:
        """Consumes the punctuation or keyword if it is next."""
        if self.token == token and self.kind != "STRING":
            self.advance()
            return True
        # `->` and `::` are one token, but a type may begin right after their first half.
        if self.kind == "PUNCT" and len(token) == 1 and self.token == "::" and token == ":":
            self.seek(self.start + 1)
            return True
        return False

    def parse_punctuation(self, token: str) -> None:
        """Consumes the punctuation or keyword, which must be next."""
        if not self.parse_optional(token):
            self.fail_expected(f"'{token}'")

    parse_keyword = parse_punctuation

    def parse_literal(self, literal: str) -> None:
        """Consumes literal text of several tokens, such as `for` or `](`."""
        if not self.parse_optional_literal(literal):
            self.fail_expected(f"'{literal}'")

    def parse_optional_literal(self, literal: str) -> bool:
        """Consumes literal text if it is next."""
        if self.parse_optional(literal):
            return True
        if self.text.startswith(literal, self.start) and self.kind in ("PUNCT", "ID") and not literal[-1:].isalnum():
            self.seek(self.start + len(literal))
            return True
        return False

    def parse_identifier(self, what: str = "an identifier") -> str:
        """Consumes and returns a bare identifier or keyword."""
        if self.kind != "ID":
            self.fail_expected(what)
        token = self.token
        self.advance()
        return token

    def parse_optional_identifier(self) -> str | None:
        """Consumes and returns a bare identifier if one is next."""
        return self.parse_identifier() if self.kind == "ID" else None

    def parse_one_of(self, words: Any, what: str) -> str:
        """Consumes and returns one of the keywords."""
        if self.kind != "ID" or self.token not in words:
            self.fail_expected(f"{what} ({', '.join(words)})")
        return self.parse_identifier()

    def parse_string(self) -> str:
        """Consumes a string literal and returns its value."""
        if self.kind != "STRING":
            self.fail_expected("a string")
        value = unquote(self.token)
        self.advance()
        return value

    def parse_optional_string(self) -> str | None:
        """A string literal's value if one is next."""
        return self.parse_string() if self.kind == "STRING" else None

    def parse_symbol_name(self) -> str:
        """Consumes `@name` and returns the name."""
        if self.kind != "SYMBOL":
            self.fail_expected("a symbol name")
        token = self.token[1:]
        self.advance()
        return unquote(token) if token.startswith('"') else token

    def parse_optional_symbol_name(self) -> str | None:
        """`@name` if one is next."""
        return self.parse_symbol_name() if self.kind == "SYMBOL" else None

    def parse_integer(self) -> int:
        """Consumes an integer with its sign."""
        value = self.parse_optional_integer()
        if value is None:
            self.fail_expected("an integer")
        return value

    def parse_optional_integer(self) -> int | None:
        """An integer with its sign if one is next."""
        negative = self.at("-")
        if negative:
            self.advance()
        if self.kind != "NUMBER" or (not self.token.startswith("0x") and not self.token.isdigit()):
            if negative:
                self.fail_expected("an integer")
            return None
        value = int(self.token, 0 if self.token.startswith("0x") else 10)
        self.advance()
        return -value if negative else value

    def parse_list(self, parse: Callable[[], Any], opening: str = "", closing: str = "") -> list[Any]:
        """`opening a, b closing`; without delimiters at least one element."""
        if opening:
            self.parse_punctuation(opening)
            if self.parse_optional(closing):
                return []
        items = [parse()]
        while self.parse_optional(","):
            items.append(parse())
        if closing:
            self.parse_punctuation(closing)
        return items

    def balanced_text(self) -> str:
        """Consumes `<…>` with everything inside and returns it as text."""
        text, position, stack = self.text, self.start, []
        while position < len(text):
            char = text[position]
            if char == '"':
                match = match_token(text, position)
                if match is None:
                    break
                position = match.end()
                continue
            if char in _OPEN:
                stack.append(_CLOSE[_OPEN.index(char)])
            elif char in _CLOSE and not (char == ">" and text[position - 1] == "-"):
                if stack.pop() != char:
                    break
                if not stack:
                    body = text[self.start : position + 1]
                    self.seek(position + 1)
                    return body
            position += 1
        raise self.error("unbalanced brackets")
