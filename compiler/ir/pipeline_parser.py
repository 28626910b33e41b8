"""Pipelines as text: `builtin.module(util.func(cse,a{factor=2 names=x,y}),canonicalize)`.

What enters: the text. What leaves: steps and nested pipelines.
"""

from __future__ import annotations

import re

from pyiree.compiler.ir.diagnostics import PassError
from pyiree.compiler.ir.passes import PassStep, Pipeline

_NAME = re.compile(r"\s*([A-Za-z_][\w.-]*)\s*")
_OPTION = re.compile(r'\s*([\w-]+)(?:=(?:"([^"]*)"|([^\s}]*)))?')


def parse_steps(text: str) -> list[PassStep | Pipeline]:
    """The steps of a pipeline text."""
    steps, end = _steps(text, 0)
    if text[end:].strip():
        raise PassError(f"cannot read the pipeline at '{text[end:]}'")
    return steps


def _steps(text: str, position: int) -> tuple[list[PassStep | Pipeline], int]:
    steps: list[PassStep | Pipeline] = []
    while True:
        match = _NAME.match(text, position)
        if match is None:
            return steps, position
        name, position = match.group(1), match.end()
        if text[position : position + 1] == "(":
            inner, position = _steps(text, position + 1)
            if text[position : position + 1] != ")":
                raise PassError(f"the pipeline has no ')' for '{name}('")
            steps.append(Pipeline(name, inner))
            position += 1
        else:
            options: dict[str, str] = {}
            if text[position : position + 1] == "{":
                options, position = _options(text, position + 1, name)
            steps.append(PassStep(name, options))
        while text[position : position + 1].isspace():
            position += 1
        if text[position : position + 1] != ",":
            return steps, position
        position += 1


def _options(text: str, position: int, name: str) -> tuple[dict[str, str], int]:
    options: dict[str, str] = {}
    while (match := _OPTION.match(text, position)) is not None:
        key, quoted, plain = match.groups()
        options[key] = quoted if quoted is not None else plain if plain is not None else "true"
        position = match.end()
    while text[position : position + 1].isspace():
        position += 1
    if text[position : position + 1] != "}":
        raise PassError(f"the options of pass '{name}' have no end")
    return options, position + 1
