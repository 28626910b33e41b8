"""The assembly format language: a format string becomes a list of elements.

What enters: MLIR's declarative format, for example ``"$lhs `,` $rhs attr-dict `:` type($result)"``. What leaves:
elements that `format.py` turns into a printer and a parser.
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import Any

from pyiree.runtime.vmfb.lazy_dataclass import dataclass

_TOKEN = re.compile(
    r"""\s*(?:
      `(?P<literal>[^`]*)`
    | \$(?P<variable>\w+)
    | (?P<string>"[^"]*")
    | (?P<word>[A-Za-z_][\w-]*)
    | (?P<punct>[()<>,:?^|])
    )""",
    re.VERBOSE,
)


_WITHOUT_ARGUMENTS = ("attr-dict", "attr-dict-with-keyword", "operands", "results", "regions", "successors")


@dataclass(slots=True)
class Literal:
    """Fixed text; a single space or nothing steers the spacing only."""

    text: str


@dataclass(slots=True)
class Variable:
    """`$name`."""

    name: str


@dataclass(slots=True)
class Directive:
    """`name(args)`, or a bare word such as `attr-dict`; `custom<Name>(…)` is a directive of that name."""

    name: str
    args: list[Any] = field(default_factory=list)
    custom: bool = False


@dataclass(slots=True)
class OptionalGroup:
    """`(then… ^ …)? : (otherwise…)`."""

    elements: list[Any]
    otherwise: list[Any]
    anchor: Any


@dataclass(slots=True)
class OptionalList:
    """`oilist(…|…)`: clauses in any order, each starting with a keyword."""

    clauses: list[list[Any]]


class Spacing:
    """Decides where MLIR puts spaces: before most things, but not around brackets nor before commas."""

    def __init__(self, space: bool, punctuation: bool) -> None:
        self.space = space
        self.punctuation = punctuation

    def literal(self, value: str) -> str:
        """The literal with the space before it; a literal that is a space, empty or a new line steers only."""
        if value in ("", " ", "\\n"):
            self.space, self.punctuation = False, value == ""
            return "\n" if value == "\\n" else value
        before = " " if self.space and self._wants_space_before(value) else ""
        self.space = len(value) != 1 or value[0] not in "<({["
        self.punctuation = value[0] != "_" and not value[0].isalpha()
        return before + value

    def element(self) -> str:
        """The space before something that is not a literal."""
        before = " " if self.space or not self.punctuation else ""
        self.space, self.punctuation = True, False
        return before

    def _wants_space_before(self, value: str) -> bool:
        if len(value) != 1 and value != "->":
            return True
        return value[0] not in (">)}]," if self.punctuation else "<>(){}[],")


class FormatError(ValueError):
    """The format string is malformed or names what the op does not have."""


def parse_format(text: str) -> list[Any]:
    """The elements of a format string."""
    tokens: list[tuple[str, str]] = []
    position = 0
    while text[position:].strip():
        match = _TOKEN.match(text, position)
        if match is None:
            raise FormatError(f"cannot read the format at {text[position:]!r}")
        kind = match.lastgroup or ""
        tokens.append((kind, match.group(kind)))
        position = match.end()
    tokens.append(("end", ""))
    return _Reader(tokens).elements(("end",))


class _Reader:
    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.tokens = tokens
        self.at = 0
        self.anchor: Any = None

    def peek(self) -> tuple[str, str]:
        return self.tokens[self.at]

    def take(self) -> tuple[str, str]:
        self.at += 1
        return self.tokens[self.at - 1]

    def take_punct(self, value: str) -> bool:
        if self.peek() == ("punct", value):
            self.at += 1
            return True
        return False

    def expect(self, value: str) -> None:
        if not self.take_punct(value):
            raise FormatError(f"expected '{value}' in the format, found {self.peek()[1]!r}")

    def elements(self, closing: tuple[str, ...]) -> list[Any]:
        found: list[Any] = []
        while True:
            kind, value = self.peek()
            if kind == "end" or (kind == "punct" and value in closing):
                return found
            element = self.element()
            found.append(element)
            if self.take_punct("^"):
                self.anchor = element

    def element(self) -> Any:
        kind, value = self.take()
        if kind == "literal":
            return Literal(value)
        if kind == "variable":
            return Variable(value)
        if kind == "word":
            return self.directive(value)
        if (kind, value) == ("punct", "("):
            outer, self.anchor = self.anchor, None
            then = self.elements((")",))
            self.expect(")")
            otherwise: list[Any] = []
            if self.take_punct(":"):
                self.expect("(")
                otherwise = self.elements((")",))
                self.expect(")")
            self.expect("?")
            anchor, self.anchor = self.anchor, outer
            if anchor is None:
                raise FormatError("an optional group needs an anchor '^'")
            return OptionalGroup(then, otherwise, anchor)
        raise FormatError(f"unexpected {value!r} in the format")

    def directive(self, name: str) -> Any:
        custom = False
        if name == "custom":
            self.expect("<")
            name, custom = self.take()[1], True
            self.expect(">")
        if name == "oilist":
            self.expect("(")
            clauses = [self.elements((")", "|"))]
            while self.take_punct("|"):
                clauses.append(self.elements((")", "|")))
            self.expect(")")
            return OptionalList(clauses)
        args: list[Any] = []
        if name not in _WITHOUT_ARGUMENTS and self.take_punct("("):
            while not self.take_punct(")"):
                kind, value = self.take()
                if kind == "variable":
                    args.append(Variable(value))
                elif kind == "word":
                    args.append(self.directive(value))
                elif kind == "string":
                    args.append(value[1:-1])
                elif (kind, value) != ("punct", ","):
                    raise FormatError(f"unexpected {value!r} in the arguments of '{name}'")
        return Directive(name, args, custom)
