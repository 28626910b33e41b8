"""`stablehlo.triangular_solve` and `stablehlo.cholesky`, written out in StableHLO as loops over rows or columns.

A step of a loop is a dot product with what is known already, so that each element is rounded once a step. What
lies in the other triangle of the matrix is never used, NaN included. JAX itself calls LAPACK for f32, f64 and complex
numbers; these loops serve the other types, and programs that must run without LAPACK.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyiree.compiler.input.converter import Converter, converts
from pyiree.compiler.input.elements import COMPLEX
from pyiree.compiler.input.jaxlib_mlir import dialect_attribute
from pyiree.compiler.input.values import Lazy, Uniform


class _Text:
    """A function of StableHLO on batches of matrices, line by line."""

    def __init__(self, batch: Sequence[int], element: str, is_complex: bool):
        self.batch = list(batch)
        self.rank = len(self.batch) + 2
        self.element = element
        self.is_complex = is_complex
        self.lines: list[str] = []
        self._count = 0

    def type(self, *dims: int) -> str:
        """Of a matrix for each item of the batch."""
        return self.tensor([*self.batch, *dims], self.element)

    @staticmethod
    def tensor(shape: Sequence[int], element: str) -> str:
        return f"tensor<{'x'.join([*map(str, shape), element])}>"

    def line(self, text: str) -> str:
        """A line that defines a value, by the name that it gets."""
        name = f"%v{self._count}"
        self._count += 1
        self.lines.append(f"{name} = {text}")
        return name

    def transposed(self, x: str, rows: int, columns: int) -> str:
        """The transpose of a matrix of so many rows and columns."""
        n = len(self.batch)
        order = [*range(n), n + 1, n]
        types = f"({self.type(rows, columns)}) -> {self.type(columns, rows)}"
        return self.line(f"stablehlo.transpose {x}, dims = {order} : {types}")

    def conjugate(self, x: str, type: str) -> str:
        if not self.is_complex:
            return x
        part = type.replace(self.element, self.element[len("complex<") : -1])
        real = self.line(f"stablehlo.real {x} : ({type}) -> {part}")
        imaginary = self.line(f"stablehlo.imag {x} : ({type}) -> {part}")
        negated = self.line(f"stablehlo.negate {imaginary} : {part}")
        return self.line(f"stablehlo.complex {real}, {negated} : {type}")

    def zeros(self, type: str) -> str:
        number = "(0.0, 0.0)" if self.is_complex else "0.0"
        return self.line(f"stablehlo.constant dense<{number}> : {type}")

    def integer(self, number: int) -> str:
        return self.line(f"stablehlo.constant dense<{number}> : tensor<i32>")

    def slice(self, x: str, from_type: str, row: str, column: str, size: tuple[int, int]) -> str:
        """A part of each matrix, from a row and a column."""
        places = ", ".join([*["%zero"] * len(self.batch), row, column])
        indices = ", ".join(["tensor<i32>"] * self.rank)
        sizes = [*self.batch, *size]
        types = f"({from_type}, {indices}) -> {self.type(*size)}"
        return self.line(f"stablehlo.dynamic_slice {x}, {places}, sizes = {sizes} : {types}")

    def insert(self, part: str, part_type: str, x: str, type: str, row: str, column: str) -> str:
        places = ", ".join([*["%zero"] * len(self.batch), row, column])
        indices = ", ".join(["tensor<i32>"] * self.rank)
        types = f"({type}, {part_type}, {indices}) -> {type}"
        return self.line(f"stablehlo.dynamic_update_slice {x}, {part}, {places} : {types}")

    def dot(self, x: str, x_type: str, y: str, y_type: str, contracted: tuple[int, int], result: str) -> str:
        """The product of two matrices for each item of the batch, summed over one dimension of each."""
        n = len(self.batch)
        batching = f"batching_dims = {list(range(n))} x {list(range(n))}, " if n else ""
        summed = f"contracting_dims = [{n + contracted[0]}] x [{n + contracted[1]}]"
        return self.line(f"stablehlo.dot_general {x}, {y}, {batching}{summed} : ({x_type}, {y_type}) -> {result}")

    def spread(self, x: str, from_type: str, type: str) -> str:
        return self.line(
            f"stablehlo.broadcast_in_dim {x}, dims = {list(range(self.rank))} : ({from_type}) -> {type}"
        )

    def compare(self, numbers: str, direction: str, place: str, shape: Sequence[int]) -> str:
        """How numbers of a shape compare with one."""
        whole, flags = self.tensor(shape, "i32"), self.tensor(shape, "i1")
        other = self.line(f"stablehlo.broadcast_in_dim {place}, dims = [] : (tensor<i32>) -> {whole}")
        return self.line(f"stablehlo.compare {direction}, {numbers}, {other} : ({whole}, {whole}) -> {flags}")

    def iota(self, shape: Sequence[int], dimension: int) -> str:
        return self.line(f"stablehlo.iota dim = {dimension} : {self.tensor(shape, 'i32')}")

    def select(self, flags: str, x: str, y: str, shape: Sequence[int]) -> str:
        types = f"{self.tensor(shape, 'i1')}, {self.tensor(shape, self.element)}"
        return self.line(f"stablehlo.select {flags}, {x}, {y} : {types}")

    def loop(self, count: int, start: str, type: str, body: Any) -> str:
        """`body(step, value)` gives the next value; the last one is the result."""
        self.lines.append("%zero = stablehlo.constant dense<0> : tensor<i32>")
        self.lines.append("%one = stablehlo.constant dense<1> : tensor<i32>")
        self.lines.append(f"%count = stablehlo.constant dense<{count}> : tensor<i32>")
        self.lines.append(f"%r:2 = stablehlo.while(%t = %zero, %x = {start}) : tensor<i32>, {type}")
        self.lines.append(" cond { %go = stablehlo.compare LT, %t, %count : (tensor<i32>, tensor<i32>) -> tensor<i1>")
        self.lines.append(" stablehlo.return %go : tensor<i1> } do {")
        following = body("%t", "%x")
        self.lines.append("%next = stablehlo.add %t, %one : tensor<i32>")
        self.lines.append(f"stablehlo.return %next, {following} : tensor<i32>, {type} }}")
        return "%r#1"

    def function(self, parameters: Sequence[tuple[str, str]], result: str, type: str) -> str:
        given = ", ".join(f"{name}: {kind}" for name, kind in parameters)
        lines = "\n".join(self.lines)
        return f"func.func @main({given}) -> {type} {{\n{lines}\nreturn {result} : {type}\n}}"


def _solve_text(
    batch: Sequence[int], n: int, columns: int, element: str, is_complex: bool, flags: tuple[bool, bool, bool, str]
) -> str:
    left, lower, has_unit_diagonal, transpose = flags
    text = _Text(batch, element, is_complex)
    matrix, result = text.type(n, n), text.type(n, columns)
    a, b, given = "%a", "%b", result
    if transpose == "ADJOINT":
        a = text.conjugate(a, matrix)
    # From the right: the transposed system is one from the left.
    if (transpose != "NO_TRANSPOSE") != (not left):
        a, lower = text.transposed(a, n, n), not lower
    if not left:
        given = text.type(columns, n)
        b = text.transposed(b, columns, n)
    start = text.zeros(result)
    row, line = text.type(1, n), text.type(1, columns)
    row_shape = [*batch, 1, n]

    def step(t: str, x: str) -> str:
        i = t if lower else text.line(f"stablehlo.subtract {text.integer(n - 1)}, {t} : tensor<i32>")
        found = text.slice(a, matrix, i, "%zero", (1, n))
        known = text.compare(text.iota(row_shape, len(batch) + 1), "LT" if lower else "GT", i, row_shape)
        found = text.select(known, found, text.zeros(row), row_shape)
        product = text.dot(found, row, x, result, (1, 0), line)
        right = text.slice(b, result, i, "%zero", (1, columns))
        solved = text.line(f"stablehlo.subtract {right}, {product} : {line}")
        if not has_unit_diagonal:
            pivot = text.spread(text.slice(a, matrix, i, i, (1, 1)), text.type(1, 1), line)
            solved = text.line(f"stablehlo.divide {solved}, {pivot} : {line}")
        return text.insert(solved, line, x, result, i, "%zero")

    solution = text.loop(n, start, result, step)
    if not left:
        solution = text.transposed(solution, n, columns)
    return text.function([("%a", matrix), ("%b", given)], solution, given)


def _cholesky_text(batch: Sequence[int], n: int, element: str, is_complex: bool, lower: bool) -> str:
    text = _Text(batch, element, is_complex)
    matrix, column, row, one = text.type(n, n), text.type(n, 1), text.type(1, n), text.type(1, 1)
    shape = [*batch, n, 1]
    a = "%a" if lower else text.conjugate(text.transposed("%a", n, n), matrix)
    start = text.zeros(matrix)

    def step(j: str, factor: str) -> str:
        known = text.conjugate(text.slice(factor, matrix, j, "%zero", (1, n)), row)
        product = text.dot(factor, matrix, known, row, (1, 1), column)
        rest = text.line(f"stablehlo.subtract {text.slice(a, matrix, '%zero', j, (n, 1))}, {product} : {column}")
        pivot = text.slice(rest, column, j, "%zero", (1, 1))
        if is_complex:
            part = one.replace(element, element[len("complex<") : -1])
            real = text.line(f"stablehlo.real {pivot} : ({one}) -> {part}")
            root = text.line(f"stablehlo.sqrt {real} : {part}")
            none = text.line(f"stablehlo.constant dense<0.0> : {part}")
            root = text.line(f"stablehlo.complex {root}, {none} : {one}")
        else:
            root = text.line(f"stablehlo.sqrt {pivot} : {one}")
        root = text.spread(root, one, column)
        below = text.line(f"stablehlo.divide {rest}, {root} : {column}")
        numbers = text.iota(shape, len(batch))
        values = text.select(text.compare(numbers, "GT", j, shape), below, text.zeros(column), shape)
        values = text.select(text.compare(numbers, "EQ", j, shape), root, values, shape)
        return text.insert(values, column, factor, matrix, "%zero", j)

    factor = text.loop(n, start, matrix, step)
    if not lower:
        factor = text.conjugate(text.transposed(factor, n, n), matrix)
    return text.function([("%a", matrix)], factor, matrix)


def _static_shape(c: Converter, op: Any, operand: Lazy) -> list[int]:
    shape = [n for n in operand.shaped.shape if n is not None]
    if len(shape) != len(operand.shaped.shape):
        raise c.emitter.unsupported(op, "of matrices whose size is not known")
    return shape


@converts("stablehlo.triangular_solve")
def _triangular_solve(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    result = c.result_shaped(op)
    *batch, rows, columns = _static_shape(c, op, operands[1])
    if 0 in result.shape:
        return [Uniform(result, scalar=c.emitter.zero(result.element.type))]
    left, lower, unit = (op.attributes[name].value for name in ("left_side", "lower", "unit_diagonal"))
    transpose = dialect_attribute(op, "transpose_a", "TransposeAttr").value
    n, others = (rows, columns) if left else (columns, rows)
    kind = result.element
    flags = (left, lower, unit, transpose)
    text = _solve_text(batch, n, others, kind.spelling, kind.kind == COMPLEX, flags)
    return c.write_out(text, operands)


@converts("stablehlo.cholesky")
def _cholesky(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    result = c.result_shaped(op)
    *batch, n, _ = _static_shape(c, op, operands[0])
    if 0 in result.shape:
        return [Uniform(result, scalar=c.emitter.zero(result.element.type))]
    lower = op.attributes["lower"].value if "lower" in op.attributes else False
    text = _cholesky_text(batch, n, result.element.spelling, result.element.kind == COMPLEX, lower)
    return c.write_out(text, operands)
