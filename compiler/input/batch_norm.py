"""Batch normalisation, written out in simpler StableHLO as the specification decomposes it.

Enters: `stablehlo.batch_norm_inference`, `batch_norm_training` and `batch_norm_grad`. Leaves: what the sums,
differences and quotients of the decomposition become.
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.input.converter import SHAPE_RULES, Converter, converts
from pyiree.compiler.input.elements import element
from pyiree.compiler.input.import_mlir import Shaped
from pyiree.compiler.input.sizes import Size, is_static, product
from pyiree.compiler.input.values import Lazy, Uniform


def _type(shaped: Shaped) -> str:
    return f"tensor<{''.join(f'{n}x' for n in shaped.shape)}{shaped.element.spelling}>"  # a `Size` reads `?`


SHAPE_RULES.update(
    dict.fromkeys(
        [f"stablehlo.batch_norm_{kind}" for kind in ("inference", "training", "grad")],
        lambda c, op, operands: operands[0].shaped.shape,
    )
)


class _Text:
    """A function as text that grows; values are written as their names."""

    def __init__(self, c: Converter, op: Any, operands: list[Lazy]) -> None:
        shaped = operands[0].shaped
        self.c, self.operands, self.lines = c, list(operands), []
        self.shape: str | None = None
        if not is_static(shaped.shape):
            self.shape = f"%a{len(operands)}"
            self.operands.append(c.integers(shaped.shape))
        self.feature, self.epsilon = op.attributes["feature_index"].value, op.attributes["epsilon"].value
        self.element = shaped.element.spelling
        self.whole = _type(shaped)
        self.features = _type(Shaped.of([shaped.shape[self.feature]], shaped.element))
        self.others = [d for d in range(len(shaped.shape)) if d != self.feature]
        self.count = product([shaped.shape[d] for d in self.others])

    def add(self, text: str, type: str) -> str:
        """The name of a new value."""
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = stablehlo.{text} {type}")
        return name

    def combine(self, op: str, x: str, y: str, type: str | None = None) -> str:
        return self.add(f"{op} {x}, {y} :", type or self.whole)

    def number(self, value: float | int | Size, type: str | None = None) -> str:
        """A number everywhere in a type, the whole operand's if none is given."""
        scalar = f"tensor<{self.element}>"
        if isinstance(value, Size):
            name = f"%a{len(self.operands)}"
            self.operands.append(_number(self.c, value))
            number = self.add(f"convert {name} : (tensor<i64>) ->", scalar)
        else:
            number = self.add(f"constant dense<{float(value):.17e}> :", scalar)
        return number if type == scalar else self._broadcast(number, scalar, [], type or self.whole)

    def spread(self, x: str) -> str:
        """One number a feature, everywhere."""
        return self._broadcast(x, self.features, [self.feature], self.whole)

    def _broadcast(self, x: str, source: str, dims: list[int], type: str) -> str:
        if "?" not in type:
            return self.add(f"broadcast_in_dim {x}, dims = {dims} : ({source}) ->", type)
        shape, kind = self.shape, f"tensor<{len(self.others) + 1}xi64>"
        if type == self.features:
            part = f"[{self.feature}:{self.feature + 1}]"
            shape, kind = self.add(f"slice {shape} {part} : ({kind}) ->", "tensor<1xi64>"), "tensor<1xi64>"
        return self.add(f"dynamic_broadcast_in_dim {x}, {shape}, dims = {dims} : ({source}, {kind}) ->", type)

    def sum(self, x: str) -> str:
        """One sum a feature."""
        scalar = f"tensor<{self.element}>"
        zero = self.number(0.0, scalar)
        kinds = f"({self.whole}, {scalar}) ->"
        return self.add(
            f"reduce({x} init: {zero}) applies stablehlo.add across dimensions = {self.others} : {kinds}", self.features
        )

    def mean(self, x: str) -> str:
        return self.combine("divide", self.sum(x), self.number(self.count, self.features), self.features)

    def normalized(self, mean: str, variance: str) -> tuple[str, str, str]:
        """What lies between a value and its mean, its deviation, and their quotient."""
        centered = self.combine("subtract", "%a0", self.spread(mean))
        squared = self.combine("add", self.spread(variance), self.number(self.epsilon))
        deviation = self.add(f"sqrt {squared} :", self.whole)
        return centered, deviation, self.combine("divide", centered, deviation)

    def scaled(self, mean: str, variance: str) -> str:
        """The normalised values in the given scale, around the given offset."""
        _, _, normalized = self.normalized(mean, variance)
        return self.combine("add", self.combine("multiply", self.spread("%a1"), normalized), self.spread("%a2"))

    def results(self, names: list[str], types: list[str]) -> list[Lazy]:
        """The results' values, once the text is converted."""
        given = [_type(operand.shaped) for operand in self.operands]
        arguments = ", ".join(f"%a{i}: {type}" for i, type in enumerate(given))
        made = ", ".join(types)
        body = "\n".join(self.lines)
        text = f"func.func @main({arguments}) -> ({made}) {{\n{body}\nreturn {', '.join(names)} : {made}\n}}"
        return self.c.write_out(text, self.operands)


def _number(c: Converter, size: Size) -> Uniform:
    """A size as an integer of rank 0."""
    kind = element("i64")
    return Uniform(Shaped.of((), kind), scalar=c.emitter.cast("arith.index_cast", size.value, kind.type))


@converts("stablehlo.batch_norm_inference")
def _inference(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    t = _Text(c, op, operands)
    return t.results([t.scaled("%a3", "%a4")], [t.whole])


@converts("stablehlo.batch_norm_training")
def _training(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    t = _Text(c, op, operands)
    mean = t.mean("%a0")
    centered = t.combine("subtract", "%a0", t.spread(mean))
    variance = t.mean(t.combine("multiply", centered, centered))
    return t.results([t.scaled(mean, variance), mean, variance], [t.whole, t.features, t.features])


@converts("stablehlo.batch_norm_grad")
def _gradient(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    """Operands: the normalised operand, scale, mean, variance, and the gradient of the result."""
    t = _Text(c, op, operands)
    centered, deviation, normalized = t.normalized("%a2", "%a3")
    count = t.number(t.count)
    sum_of_gradient = t.sum("%a4")
    towards = t.spread(t.sum(t.combine("multiply", "%a4", centered)))
    squared = t.combine("add", t.spread("%a3"), t.number(t.epsilon))
    along = t.combine("divide", t.combine("multiply", towards, centered), squared)
    rest = t.combine("subtract", t.combine("multiply", "%a4", count), t.spread(sum_of_gradient))
    step = t.combine("divide", t.combine("divide", t.spread("%a1"), deviation), count)
    of_operand = t.combine("multiply", step, t.combine("subtract", rest, along))
    of_scale = t.sum(t.combine("multiply", "%a4", normalized))
    return t.results([of_operand, of_scale, sum_of_gradient], [t.whole, t.features, t.features])
