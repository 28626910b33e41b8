"""Programs in StableHLO that the compiler writes itself, for calls of JAX that are computations of their own.

Enters: Python expressions of `Written` values. Leaves: the text of a function, for `Converter.write_out`. An operand
with one column stands for as many as the other one has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

_PART = {"complex<f32>": "f32", "complex<f64>": "f64"}


class Program:
    """A function under construction."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._count = 0

    def name(self) -> str:
        """A name that no other value has."""
        self._count += 1
        return f"%v{self._count}"

    def parameter(self, shape: Sequence[int], element: str) -> Written:
        """A value that comes from outside."""
        return Written(self, self.name(), tuple(shape), element)

    def op(self, text: str, shape: Sequence[int], element: str) -> Written:
        """The result of an op."""
        made = self.parameter(shape, element)
        self._lines.append(f"{made.name} = {text}")
        return made

    def constant(self, number: float, shape: Sequence[int], element: str) -> Written:
        """One number everywhere."""
        spelled = str(int(number)) if element.startswith("i") else repr(float(number))
        spelled = f"({spelled}, 0.0)" if element in _PART else spelled
        return self.op(f"stablehlo.constant dense<{spelled}> : {tensor(shape, element)}", shape, element)

    def loop(
        self,
        state: Sequence[Written],
        condition: Callable[..., Written],
        body: Callable[..., Sequence[Written]],
    ) -> list[Written]:
        """`while condition(*state): state = body(*state)`."""
        types = ", ".join(value.type for value in state)
        regions = []
        for function in (condition, body):
            outer, self._lines = self._lines, []
            inside = [self.parameter(value.shape, value.element) for value in state]
            given = function(*inside)
            returned = list(given) if isinstance(given, (list, tuple)) else [given]
            names = ", ".join(value.name for value in returned)
            self._lines.append(f"stablehlo.return {names} : {', '.join(value.type for value in returned)}")
            parameters = ", ".join(f"{value.name}: {value.type}" for value in inside)
            regions.append("\n".join([f"{{ ^bb0({parameters}):", *self._lines, "}"]))
            self._lines = outer
        name, operands = self.name(), ", ".join(value.name for value in state)
        bodies = ", ".join(regions)
        self._lines.append(f'{name}:{len(state)} = "stablehlo.while"({operands}) ({bodies}) : ({types}) -> ({types})')
        return [Written(self, f"{name}#{i}", value.shape, value.element) for i, value in enumerate(state)]

    def text(self, parameters: Sequence[Written], result: Written) -> str:
        """The function."""
        given = ", ".join(f"{value.name}: {value.type}" for value in parameters)
        lines = "\n".join(self._lines)
        return f"func.func @main({given}) -> {result.type} {{\n{lines}\nreturn {result.name} : {result.type}\n}}"


def tensor(shape: Sequence[int], element: str) -> str:
    """A tensor type."""
    return f"tensor<{'x'.join([*map(str, shape), element])}>"


class Written:
    """A value of a program."""

    def __init__(self, program: Program, name: str, shape: tuple[int, ...], element: str):
        self.program, self.name, self.shape, self.element = program, name, shape, element

    @property
    def type(self) -> str:
        return tensor(self.shape, self.element)

    def like(self, number: float) -> Written:
        """A number everywhere in a tensor of this type."""
        return self.program.constant(number, self.shape, self.element)

    def _unary(self, op: str, element: str | None = None) -> Written:
        element = element or self.element
        types = f"({self.type}) -> {tensor(self.shape, element)}"
        return self.program.op(f'"stablehlo.{op}"({self.name}) : {types}', self.shape, element)

    def _binary(self, op: str, other: Written | float) -> Written:
        right = other if isinstance(other, Written) else self.like(other)
        shape = max(self.shape, right.shape)
        x, y = self.spread(shape), right.spread(shape)
        return self.program.op(f"stablehlo.{op} {x.name}, {y.name} : {x.type}", shape, self.element)

    def __add__(self, other: Written | float) -> Written:
        return self._binary("add", other)

    def __sub__(self, other: Written | float) -> Written:
        return self._binary("subtract", other)

    def __mul__(self, other: Written | float) -> Written:
        return self._binary("multiply", other)

    def __truediv__(self, other: Written | float) -> Written:
        return self._binary("divide", other)

    def __and__(self, other: Written) -> Written:
        return self._binary("and", other)

    def __or__(self, other: Written) -> Written:
        return self._binary("or", other)

    def __invert__(self) -> Written:
        return self._unary("not")

    def __neg__(self) -> Written:
        return self._unary("negate")

    def __abs__(self) -> Written:
        return self._unary("abs", _PART.get(self.element))

    def maximum(self, other: Written | float) -> Written:
        return self._binary("maximum", other)

    @property
    def real(self) -> Written:
        return self._unary("real", _PART[self.element]) if self.element in _PART else self

    def as_element(self, element: str) -> Written:
        """The numbers in another type."""
        return self if element == self.element else self._unary("convert", element)

    def is_negative(self) -> Written:
        """Whether a real number has its sign set, zero and NaN included."""
        bits = self._unary("bitcast_convert", f"i{self.element[1:]}")
        return bits.compare("LT", 0)

    def compare(self, direction: str, other: Written | float) -> Written:
        right = other if isinstance(other, Written) else self.like(other)
        shape = max(self.shape, right.shape)
        x, y = self.spread(shape), right.spread(shape)
        types = f"({x.type}, {y.type}) -> {tensor(shape, 'i1')}"
        return self.program.op(f"stablehlo.compare {direction}, {x.name}, {y.name} : {types}", shape, "i1")

    def select(self, x: Written, y: Written) -> Written:
        """`x` where this holds, `y` elsewhere."""
        shape = max(self.shape, x.shape, y.shape)
        flags, left, right = self.spread(shape), x.spread(shape), y.spread(shape)
        types = f"{flags.type}, {left.type}"
        return self.program.op(f"stablehlo.select {flags.name}, {left.name}, {right.name} : {types}", shape, x.element)

    def spread(self, shape: tuple[int, ...]) -> Written:
        """As many columns as a shape has, or a number everywhere."""
        if shape == self.shape:
            return self
        dims = list(range(len(self.shape)))
        types = f"({self.type}) -> {tensor(shape, self.element)}"
        return self.program.op(f"stablehlo.broadcast_in_dim {self.name}, dims = {dims} : {types}", shape, self.element)

    def reshape(self, *shape: int) -> Written:
        types = f"({self.type}) -> {tensor(shape, self.element)}"
        return self.program.op(f"stablehlo.reshape {self.name} : {types}", shape, self.element)

    def column(self, number: int) -> Written:
        """One column of a matrix, as a matrix."""
        rows = self.shape[0]
        types = f"({self.type}) -> {tensor((rows, 1), self.element)}"
        text = f"stablehlo.slice {self.name} [0:{rows}, {number}:{number + 1}] : {types}"
        return self.program.op(text, (rows, 1), self.element)

    def beside(self, *others: Written) -> Written:
        """Matrices side by side."""
        parts = [self, *others]
        shape = (self.shape[0], sum(part.shape[1] for part in parts))
        types = f"({', '.join(part.type for part in parts)}) -> {tensor(shape, self.element)}"
        names = ", ".join(part.name for part in parts)
        return self.program.op(f"stablehlo.concatenate {names}, dim = 1 : {types}", shape, self.element)

    def at(self, number: Written) -> Written:
        """`self[:, number]` of a tensor of three dims."""
        batch, _, width = self.shape
        zero = self.program.constant(0, (), "i32")
        made = tensor((batch, 1, width), self.element)
        types = f"({self.type}, tensor<i32>, tensor<i32>, tensor<i32>) -> {made}"
        places = f"{zero.name}, {number.name}, {zero.name}"
        text = f"stablehlo.dynamic_slice {self.name}, {places}, sizes = [{batch}, 1, {width}] : {types}"
        return self.program.op(text, (batch, 1, width), self.element).reshape(batch, width)

    def with_at(self, number: Written, value: Written) -> Written:
        """This with `self[:, number] = value`."""
        batch, width = value.shape
        zero, part = self.program.constant(0, (), "i32"), value.reshape(batch, 1, width)
        types = f"({self.type}, {part.type}, tensor<i32>, tensor<i32>, tensor<i32>) -> {self.type}"
        places = f"{zero.name}, {number.name}, {zero.name}"
        text = f"stablehlo.dynamic_update_slice {self.name}, {part.name}, {places} : {types}"
        return self.program.op(text, self.shape, self.element)

    def reduce(self, op: str, start: float, dims: Sequence[int]) -> Written:
        """A reduction over dims."""
        first = self.program.constant(start, (), self.element)
        shape = tuple([n for d, n in enumerate(self.shape) if d not in dims])
        types = f"({self.type}, {first.type}) -> {tensor(shape, self.element)}"
        text = (
            f"stablehlo.reduce({self.name} init: {first.name}) applies stablehlo.{op} across dimensions = {list(dims)}"
        )
        return self.program.op(f"{text} : {types}", shape, self.element)
