"""Pipelines as text: `builtin.module(util.func(cse,a{factor=2 names=x,y}),canonicalize)`.

What enters: the text. What leaves: steps and nested pipelines.
"""

from __future__ import annotations

import functools
import re

from pyiree.compiler.ir.diagnostics import PassError
from pyiree.runtime.vmfb.lazy_dataclass import dataclass

_NAME = re.compile(r"\s*([A-Za-z_][\w.-]*)\s*")
_OPTION = re.compile(r'\s*([\w-]+)(?:=(?:"([^"]*)"|([^\s}]*)))?')


@dataclass
class PassStep:
    """One pass of a pipeline, with its options as text."""

    name: str
    options: dict[str, str]

    def __str__(self) -> str:
        if not self.options:
            return self.name
        return f"{self.name}{{{' '.join([f'{k}={_quote_option(v)}' for k, v in self.options.items()])}}}"


def _quote_option(value: str) -> str:
    return f'"{value}"' if not value or any(c in value for c in ' {}()"') else value


@dataclass
class Pipeline:
    """Steps to run on each op named `anchor` inside the current one (or the current one itself)."""

    anchor: str
    steps: list[PassStep | Pipeline]

    def __str__(self) -> str:
        return f"{self.anchor}({','.join(map(str, self.steps))})"


@functools.lru_cache(maxsize=128)
def parse_pipeline(text: str) -> Pipeline:
    """A pipeline from text; without an anchor it runs on `builtin.module`. Nobody changes it: equal texts share one."""
    steps = parse_steps(text)
    if len(steps) == 1 and isinstance(steps[0], Pipeline):
        return steps[0]
    return Pipeline("builtin.module", steps)


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
