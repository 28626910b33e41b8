"""Random StableHLO programs as they grow: values, ops in text, and the same ops with an error added.

Enters: choices of a hypothesis `draw`. Leaves: a `Program`: its text, its text with errors as large as those that an
evaluator may make, and its arguments.

An op that evaluators may compute in more than one way (functions that are approximated, sums in any order) adds in the
second text an error of that size. Where a result of the whole program does not move, it must be right to the bit; where
it moves, evaluators may differ by a few times as much.
"""

import dataclasses
import math
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from . import element_types as et
from .element_types import tensor

DIMS = (0, 1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 33, 64, 67, 130)
MAX_ELEMENTS = 500


@dataclass(frozen=True)
class Value:
    """A tensor of the program. `exact` says that every evaluator must compute the same bits."""

    name: str
    element: str
    shape: tuple[int, ...]
    exact: bool = True

    @property
    def type(self):
        return tensor(self.shape, self.element)

    @property
    def size(self):
        return math.prod(self.shape)


@dataclass
class Op:
    """One op: as we get it, as the interpreter gets it, and that with an error added; what it reads and makes."""

    text: str
    plain: str
    moved: str
    operands: tuple[str, ...]
    results: tuple[str, ...]


@dataclass
class Program:
    """A whole program."""

    arguments: list
    ops: list
    results: list
    data: list

    def text(self, form="text"):
        """MLIR of the ops that the results need, in one of an op's forms."""
        needed = {v.name for v in self.results}
        kept = []
        for op in reversed(self.ops):
            if needed.intersection(op.results):
                kept.append(getattr(op, form))
                needed.update(op.operands)
        body = "\n".join("  " + text for text in reversed(kept))
        given = ", ".join(f"{v.name}: {v.type}" for v in self.arguments)
        types = ", ".join(v.type for v in self.results)
        names = ", ".join(v.name for v in self.results)
        return f"func.func @main({given}) -> ({types}) {{\n{body}\n  return {names} : {types}\n}}\n"

    def only(self, results):
        """The program with some of its results."""
        return dataclasses.replace(self, results=[self.results[i] for i in results])

    def __repr__(self):
        lines = [self.text()]
        for value, data in zip(self.arguments, self.data):
            lines.append(f"// {value.name} = {et.literal(data, value.element) if data.size <= 64 else data!r}")
        return "\n".join(lines)


class Choices:
    """Hypothesis' `draw` with short names."""

    def __init__(self, draw):
        self._draw = draw

    def integer(self, low, high):
        return self._draw(st.integers(low, high))

    def pick(self, options):
        options = list(options)
        return options[self._draw(st.integers(0, len(options) - 1))]

    def chance(self, percent):
        """True in about so many of a hundred cases; shrinks to False."""
        return self._draw(st.integers(0, 99)) >= 100 - percent

    def subset(self, options):
        return [o for o in options if self.chance(50)]

    def order(self, options):
        return list(self._draw(st.permutations(list(options))))

    def shape(self, max_rank=4, limit=MAX_ELEMENTS, low=0):
        rank = self.pick([1, 2, 0, 3, 4][: max_rank + 1 if max_rank > 1 else 3])
        shape = []
        for _ in range(rank):
            dim = self.pick(DIMS if self.chance(60) else (1, 2, 3, 5, 8))
            dim = max(dim, low)
            shape.append(dim if math.prod(shape) * dim <= limit else 1)
        return tuple(shape)

    def element(self, among=et.ALL):
        common = [e for e in ("f32", "i32", "f32", "bf16", "i8", "f16", "ui32", "f64") if e in among]
        return self.pick(common if common and self.chance(55) else among)


class Scope:
    """Where ops are added: the function's body, or a region."""

    def __init__(self, choices, names, parent=None):
        self.choices, self.names, self.parent = choices, names, parent
        self.ops, self.values = [], []
        self.arguments, self.data = [], []
        self.root = parent.root if parent else self

    def fresh(self):
        self.names[0] += 1
        return f"%v{self.names[0]}"

    def all_values(self):
        return self.values + (self.parent.all_values() if self.parent else [])

    def add(self, text, operands, results, plain=None, moved=None):
        """Appends an op whose text is ready; gives its values."""
        plain = text if plain is None else plain
        moved = plain if moved is None else moved
        self.ops.append(Op(text, plain, moved, tuple(o.name for o in operands), tuple(r.name for r in results)))
        return results

    def emit(self, name, operands, element, shape, attributes="", error=None, region="", plain=None):
        """An op with one result.

        `error` is a function (raw value, result) that gives the lines that make the result from the raw value.
        `plain` is what the interpreter gets where it is wrong about the op as it stands: (lines, operands, attributes).
        """
        result = Value(self.fresh(), element, tuple(shape), error is None and all(o.exact for o in operands))

        def spelled(made, operands, attributes):
            names, types = ", ".join(o.name for o in operands), ", ".join(o.type for o in operands)
            return f'{made.name} = "stablehlo.{name}"({names}) {region}{attributes} : ({types}) -> {made.type}'

        lines, given, told = plain or ([], operands, attributes)
        raw = dataclasses.replace(result, name=result.name + "r")
        moved = [*lines, spelled(raw, given, told), *error(raw, result)] if error is not None else None
        self.add(
            spelled(result, operands, attributes), operands, [result],
            "\n  ".join([*lines, spelled(result, given, told)]), moved and "\n  ".join(moved),
        )  # fmt: skip
        self.values.append(result)
        return result

    def constant(self, element, shape, data=None):
        """A constant of random or given numbers."""
        c = self.choices
        if data is None:
            if c.chance(50):
                number = et.array(element, (), self.style(element), c.integer(0, 999))
                data = np.full(shape, number, et.numpy_dtype(element))
            else:
                data = et.array(element, shape, self.style(element), c.integer(0, 999))
        result = Value(self.fresh(), element, tuple(shape))
        self.add(f"{result.name} = stablehlo.constant {et.literal(np.asarray(data), element)}", [], [result])
        self.values.append(result)
        return result

    def style(self, element):
        return self.choices.pick(("small", "special", "special", "bits"))

    def argument(self, element, shape, style=None):
        """A new argument of the program."""
        root = self.root
        value = Value(f"%arg{len(root.arguments)}", element, tuple(shape))
        root.arguments.append(value)
        root.data.append(et.array(element, shape, style or self.style(element), self.choices.integer(0, 9999)))
        root.values.append(value)
        return value

    def find(self, accept):
        """A value that fits, newer ones first; None if there is none."""
        fitting = [v for v in self.all_values() if accept(v)]
        return self.choices.pick(reversed(fitting)) if fitting else None

    def any(self, among=et.ALL, accept=lambda v: True, low=0, max_rank=4):
        """A value of one of some element types."""
        found = None if self.choices.chance(15) else self.find(lambda v: v.element in among and accept(v))
        for _ in range(8):
            if found is not None:
                return found
            made = self.argument(self.choices.element(among), self.choices.shape(max_rank, low=low))
            found = made if accept(made) else None
        return found

    def of(self, element, shape):
        """A value of just this type."""
        c = self.choices
        found = None if c.chance(20) else self.find(lambda v: v.element == element and v.shape == tuple(shape))
        if found is not None:
            return found
        kind = c.integer(0, 5)
        if kind == 1 and element != "i1" and shape and element not in et.SMALL_FLOATS:
            return self.emit("iota", [], element, shape, f" {{iota_dimension = {c.integer(0, len(shape) - 1)} : i64}}")
        if kind == 2:
            return self.constant(element, shape)
        if kind == 3:
            other = self.find(lambda v: v.shape == tuple(shape) and v.element != element)
            if other is not None:
                return convert(self, other, element)
        if kind == 4:
            other = self.find(lambda v: v.element == element and v.size == math.prod(shape))
            if other is not None:
                return self.emit("reshape", [other], element, shape)
        return self.argument(element, shape)

    def scalar(self, element, number):
        """A rank-0 constant."""
        return self.constant(element, (), np.asarray(number).astype(et.numpy_dtype(element)))


def relative(element, factor=2.0):
    """An error of some units in the last place, for `emit`."""

    def error(raw, result):
        name, kind = result.name, raw.type
        if element.startswith("complex"):
            size = factor * et.epsilon(element[8:-1])
            number = f"dense<({size:e}, {size:e})>"
        else:
            number = f"dense<{factor * et.epsilon(element):e}>"
        return [
            f"{name}e = stablehlo.constant {number} : {kind}",
            f"{name}d = stablehlo.multiply {name}r, {name}e : {kind}",
            f"{name} = stablehlo.add {name}r, {name}d : {kind}",
        ]

    return error


#: Types of small floats that have infinities.
INFINITE = ("f8E5M2", "f8E4M3", "f8E3M4", *et.FLOATS)


def of_magnitude(lines_of, element, factor=4.0):
    """An error in proportion to another value, whose lines are given for the name.

    Where that overflows, evaluators may differ altogether: parts of a sum may overflow in one and not in another.
    """

    def error(raw, result):
        name, kind = result.name, raw.type
        number = f"{factor * et.epsilon_of(element):e}"
        number = f"dense<({number}, 0.0)>" if element.startswith("complex") else f"dense<{number}>"
        lines = [
            *lines_of(f"{name}m"),
            f"{name}e = stablehlo.constant {number} : {kind}",
            f"{name}d = stablehlo.multiply {name}m, {name}e : {kind}",
        ]
        if element.startswith("complex"):
            return [
                *lines,
                f"{name}z = stablehlo.subtract {name}d, {name}d : {kind}",
                f"{name}y = stablehlo.add {name}d, {name}z : {kind}",
                f"{name} = stablehlo.add {name}r, {name}y : {kind}",
            ]
        flags, nan = tensor(raw.shape, "i1"), et.literal(et.np_full(raw.shape, np.nan, element), element)
        lines += [
            f"{name}s = stablehlo.add {name}r, {name}d : {kind}",
            f"{name}f = stablehlo.is_finite {name}m : ({kind}) -> {flags}",
            f"{name}u = stablehlo.compare NE, {name}r, {name}r, FLOAT : ({kind}, {kind}) -> {flags}",
            f"{name}z = stablehlo.constant dense<0.0> : {kind}",
            f"{name}q = stablehlo.constant {nan}",
            f"{name}o = stablehlo.select {name}u, {name}z, {name}q : {flags}, {kind}",
        ]
        if element not in INFINITE:
            return [*lines, f"{name} = stablehlo.select {name}f, {name}s, {name}o : {flags}, {kind}"]
        return [
            *lines,
            f"{name}t = stablehlo.select {name}f, {name}s, {name}o : {flags}, {kind}",
            f"{name}g = stablehlo.compare NE, {name}m, {name}m, FLOAT : ({kind}, {kind}) -> {flags}",
            f"{name} = stablehlo.select {name}g, {name}r, {name}t : {flags}, {kind}",
        ]

    return error


def of_product(element, factor, lines_of):
    """An error in proportion to a product; where parts of it over- or underflow, evaluators may differ altogether."""

    def error(raw, result):
        name, kind = result.name, raw.type
        flags, least = tensor(raw.shape, "i1"), 16 * float(et.ml_dtypes.finfo(et.numpy_dtype(element)).tiny)
        # Not far enough from 0: the product without errors may be it even where this one is NaN.
        other = np.inf if element in INFINITE else 0.0
        numbers = {"e": factor * et.epsilon(element), "z": other, "q": np.nan, "w": least}
        literals = {k: et.literal(et.np_full(raw.shape, n, element), element) for k, n in numbers.items()}
        return [
            *lines_of(name),
            *[f"{name}{k} = stablehlo.constant {literal}" for k, literal in literals.items()],
            f"{name}d = stablehlo.multiply {name}r, {name}e : {kind}",
            f"{name}s = stablehlo.add {name}r, {name}d : {kind}",
            f"{name}u = stablehlo.compare NE, {name}r, {name}r, FLOAT : ({kind}, {kind}) -> {flags}",
            f"{name}o = stablehlo.select {name}u, {name}z, {name}q : {flags}, {kind}",
            f"{name}f = stablehlo.is_finite {name}h : ({kind}) -> {flags}",
            f"{name}g = stablehlo.compare GE, {name}l, {name}w, FLOAT : ({kind}, {kind}) -> {flags}",
            f"{name}b = stablehlo.and {name}f, {name}g : {flags}",
            f"{name} = stablehlo.select {name}b, {name}s, {name}o : {flags}, {kind}",
        ]

    return error


def unless(mask_lines, element):
    """For integers of which some are of no interest: those where the mask holds move."""

    def error(raw, result):
        name = result.name
        shape = raw.shape
        return [
            *mask_lines(f"{name}k"),
            f"{name}n = stablehlo.not {name}r : {raw.type}",
            f"{name} = stablehlo.select {name}k, {name}n, {name}r : {tensor(shape, 'i1')}, {raw.type}",
        ]

    return error


def convert(scope, value, element):
    """`stablehlo.convert`; numbers that an integer type does not have are left open by the specification."""
    error = None
    source = value
    if element in et.INTEGERS and not (value.element in et.INTEGERS or value.element == "i1"):
        if value.element.startswith("complex"):
            source = scope.emit("real", [value], value.element[8:-1], value.shape)
        bits = et.width(element) - (element[0] == "i")
        # One less than the power: every float type has that or rounds it to where the test errs on the safe side.
        high, low = 2.0**bits, (-(2.0**bits) if element[0] == "i" else 0.0)
        kind, flags = source.type, tensor(source.shape, "i1")
        wide = tensor(source.shape, "f64")

        def outside(name):
            return [
                f"{name}w = stablehlo.convert {source.name} : ({kind}) -> {wide}",
                f"{name}h = stablehlo.constant dense<{high:e}> : {wide}",
                f"{name}l = stablehlo.constant dense<{low - 1:e}> : {wide}",
                f"{name}a = stablehlo.compare LT, {name}w, {name}h, FLOAT : ({wide}, {wide}) -> {flags}",
                f"{name}b = stablehlo.compare GT, {name}w, {name}l, FLOAT : ({wide}, {wide}) -> {flags}",
                f"{name}c = stablehlo.and {name}a, {name}b : {flags}",
                f"{name} = stablehlo.not {name}c : {flags}",
            ]

        error = unless(outside, element)
        return scope.emit("convert", [source], element, source.shape, error=error)
    return scope.emit("convert", [value], element, value.shape)

