"""`stablehlo.triangular_solve` and `stablehlo.cholesky`, written out in StableHLO as loops over rows or columns.

A step of a loop is a dot product with what is known already, so that each element is rounded once a step. What
lies in the other triangle of the matrix is never used, NaN included. JAX itself calls LAPACK for f32, f64 and complex
numbers; these loops serve the other types, batches, and programs that must run without LAPACK.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyiree.compiler.input.converter import Converter, converts
from pyiree.compiler.input.elements import COMPLEX, element
from pyiree.compiler.input.import_mlir import Shaped
from pyiree.compiler.input.jaxlib_mlir import dialect_attribute
from pyiree.compiler.input.sizes import Size
from pyiree.compiler.input.values import Lazy, Uniform

#: A size, or the name of the value that is it, where it is known when the program runs.
_Dim = int | str


class _Text:
    """A function of StableHLO on batches of matrices, line by line."""

    def __init__(self, batch: Sequence[_Dim], element: str, is_complex: bool):
        self.batch = list(batch)
        self.rank = len(self.batch) + 2
        self.element = element
        self.is_complex = is_complex
        self.lines: list[str] = []
        self._count = 0

    def type(self, *dims: _Dim) -> str:
        """Of a matrix for each item of the batch."""
        return self.tensor([*self.batch, *dims], self.element)

    @staticmethod
    def tensor(shape: Sequence[_Dim], element: str) -> str:
        return f"tensor<{'x'.join([*(str(n) if isinstance(n, int) else '?' for n in shape), element])}>"

    def vector(self, scalars: Sequence[_Dim]) -> str:
        """Integers as one tensor."""
        parts = []
        for scalar in scalars:
            if isinstance(scalar, int):
                parts.append(self.line(f"stablehlo.constant dense<{scalar}> : tensor<1xi32>"))
            else:
                parts.append(self.line(f"stablehlo.reshape {scalar} : (tensor<i32>) -> tensor<1xi32>"))
        types = f"({', '.join(['tensor<1xi32>'] * len(parts))}) -> tensor<{len(parts)}xi32>"
        return self.line(f"stablehlo.concatenate {', '.join(parts)}, dim = 0 : {types}")

    def line(self, text: str) -> str:
        """A line that defines a value, by the name that it gets."""
        name = f"%v{self._count}"
        self._count += 1
        self.lines.append(f"{name} = {text}")
        return name

    def transposed(self, x: str, rows: _Dim, columns: _Dim) -> str:
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

    def zeros(self, *dims: _Dim) -> str:
        number = "(0.0, 0.0)" if self.is_complex else "0.0"
        zero = self.line(f"stablehlo.constant dense<{number}> : tensor<{self.element}>")
        return self.broadcast(zero, f"tensor<{self.element}>", [], [*self.batch, *dims], self.element)

    def integer(self, number: int) -> str:
        return self.line(f"stablehlo.constant dense<{number}> : tensor<i32>")

    def last(self, count: _Dim) -> str:
        """The last one of so many numbers."""
        if isinstance(count, int):
            return self.integer(count - 1)
        return self.line(f"stablehlo.subtract {count}, {self.integer(1)} : tensor<i32>")

    def slice(self, x: str, from_type: str, row: str, column: str, size: tuple[_Dim, _Dim]) -> str:
        """A part of each matrix, from a row and a column."""
        starts, sizes = [*["%zero"] * len(self.batch), row, column], [*self.batch, *size]
        result = self.type(*size)
        if all(isinstance(n, int) for n in sizes):
            types = f"({from_type}, {', '.join(['tensor<i32>'] * self.rank)}) -> {result}"
            return self.line(f"stablehlo.dynamic_slice {x}, {', '.join(starts)}, sizes = {sizes} : {types}")
        ends = []
        for start, count in zip(starts, sizes):
            number = self.integer(count) if isinstance(count, int) else count
            ends.append(self.line(f"stablehlo.add {start}, {number} : tensor<i32>"))
        vectors = ", ".join(self.vector(part) for part in (starts, ends, [1] * self.rank))
        types = f"({from_type}, {', '.join([f'tensor<{self.rank}xi32>'] * 3)}) -> {result}"
        return self.line(f"stablehlo.real_dynamic_slice {x}, {vectors} : {types}")

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

    def broadcast(self, x: str, from_type: str, dims: Sequence[int], shape: Sequence[_Dim], element: str) -> str:
        result = self.tensor(shape, element)
        if "?" not in result:
            return self.line(f"stablehlo.broadcast_in_dim {x}, dims = {list(dims)} : ({from_type}) -> {result}")
        types = f"({from_type}, tensor<{len(shape)}xi32>) -> {result}"
        return self.line(f"stablehlo.dynamic_broadcast_in_dim {x}, {self.vector(shape)}, dims = {list(dims)} : {types}")

    def spread(self, x: str, *dims: _Dim) -> str:
        """One number for each item of the batch, all over a matrix."""
        return self.broadcast(x, self.type(1, 1), range(self.rank), [*self.batch, *dims], self.element)

    def compare(self, numbers: str, direction: str, place: str, shape: Sequence[_Dim]) -> str:
        """How numbers of a shape compare with one."""
        whole, flags = self.tensor(shape, "i32"), self.tensor(shape, "i1")
        other = self.broadcast(place, "tensor<i32>", [], shape, "i32")
        return self.line(f"stablehlo.compare {direction}, {numbers}, {other} : ({whole}, {whole}) -> {flags}")

    def iota(self, shape: Sequence[_Dim], dimension: int) -> str:
        result = self.tensor(shape, "i32")
        if "?" not in result:
            return self.line(f"stablehlo.iota dim = {dimension} : {result}")
        types = f"(tensor<{len(shape)}xi32>) -> {result}"
        return self.line(f"stablehlo.dynamic_iota {self.vector(shape)}, dim = {dimension} : {types}")

    def select(self, flags: str, x: str, y: str, shape: Sequence[_Dim]) -> str:
        types = f"{self.tensor(shape, 'i1')}, {self.tensor(shape, self.element)}"
        return self.line(f"stablehlo.select {flags}, {x}, {y} : {types}")

    def loop(self, count: _Dim, start: str, type: str, body: Any) -> str:
        """`body(step, value)` gives the next value; the last one is the result."""
        self.lines.append("%zero = stablehlo.constant dense<0> : tensor<i32>")
        self.lines.append("%one = stablehlo.constant dense<1> : tensor<i32>")
        end = self.integer(count) if isinstance(count, int) else count
        self.lines.append(f"%r:2 = stablehlo.while(%t = %zero, %x = {start}) : tensor<i32>, {type}")
        self.lines.append(f" cond {{ %go = stablehlo.compare LT, %t, {end} : (tensor<i32>, tensor<i32>) -> tensor<i1>")
        self.lines.append(" stablehlo.return %go : tensor<i1> } do {")
        following = body("%t", "%x")
        self.lines.append("%next = stablehlo.add %t, %one : tensor<i32>")
        self.lines.append(f"stablehlo.return %next, {following} : tensor<i32>, {type} }}")
        return "%r#1"

    def function(self, parameters: Sequence[tuple[str, str]], sizes: Sequence[_Dim], result: str, type: str) -> str:
        """The function; it takes the `sizes` that are known when the program runs behind its parameters."""
        later = [(name, "tensor<i32>") for name in sizes if isinstance(name, str)]
        given = ", ".join(f"{name}: {kind}" for name, kind in [*parameters, *later])
        lines = "\n".join(self.lines)
        return f"func.func @main({given}) -> {type} {{\n{lines}\nreturn {result} : {type}\n}}"


def _solve_text(
    batch: Sequence[_Dim],
    n: _Dim,
    columns: _Dim,
    element: str,
    is_complex: bool,
    flags: tuple[bool, bool, bool, str],
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
    start = text.zeros(n, columns)
    row, line = text.type(1, n), text.type(1, columns)
    row_shape = [*batch, 1, n]

    def step(t: str, x: str) -> str:
        i = t if lower else text.line(f"stablehlo.subtract {text.last(n)}, {t} : tensor<i32>")
        found = text.slice(a, matrix, i, "%zero", (1, n))
        known = text.compare(text.iota(row_shape, len(batch) + 1), "LT" if lower else "GT", i, row_shape)
        found = text.select(known, found, text.zeros(1, n), row_shape)
        product = text.dot(found, row, x, result, (1, 0), line)
        right = text.slice(b, result, i, "%zero", (1, columns))
        solved = text.line(f"stablehlo.subtract {right}, {product} : {line}")
        if not has_unit_diagonal:
            pivot = text.spread(text.slice(a, matrix, i, i, (1, 1)), 1, columns)
            solved = text.line(f"stablehlo.divide {solved}, {pivot} : {line}")
        return text.insert(solved, line, x, result, i, "%zero")

    solution = text.loop(n, start, result, step)
    if not left:
        solution = text.transposed(solution, n, columns)
    return text.function([("%a", matrix), ("%b", given)], [*batch, n, columns], solution, given)


def _cholesky_text(batch: Sequence[_Dim], n: _Dim, element: str, is_complex: bool, lower: bool) -> str:
    text = _Text(batch, element, is_complex)
    matrix, column, row, one = text.type(n, n), text.type(n, 1), text.type(1, n), text.type(1, 1)
    shape = [*batch, n, 1]
    a = "%a" if lower else text.conjugate(text.transposed("%a", n, n), matrix)
    start = text.zeros(n, n)

    def step(j: str, factor: str) -> str:
        known = text.conjugate(text.slice(factor, matrix, j, "%zero", (1, n)), row)
        product = text.dot(factor, matrix, known, row, (1, 1), column)
        rest = text.line(f"stablehlo.subtract {text.slice(a, matrix, '%zero', j, (n, 1))}, {product} : {column}")
        pivot = text.slice(rest, column, j, "%zero", (1, 1))
        if is_complex:
            real_element = element[len("complex<") : -1]
            part = one.replace(element, real_element)
            real = text.line(f"stablehlo.real {pivot} : ({one}) -> {part}")
            root = text.line(f"stablehlo.sqrt {real} : {part}")
            none = text.line(f"stablehlo.constant dense<0.0> : tensor<{real_element}>")
            none = text.broadcast(none, f"tensor<{real_element}>", [], [*batch, 1, 1], real_element)
            root = text.line(f"stablehlo.complex {root}, {none} : {one}")
        else:
            root = text.line(f"stablehlo.sqrt {pivot} : {one}")
        root = text.spread(root, n, 1)
        below = text.line(f"stablehlo.divide {rest}, {root} : {column}")
        numbers = text.iota(shape, len(batch))
        values = text.select(text.compare(numbers, "GT", j, shape), below, text.zeros(n, 1), shape)
        values = text.select(text.compare(numbers, "EQ", j, shape), root, values, shape)
        return text.insert(values, column, factor, matrix, "%zero", j)

    factor = text.loop(n, start, matrix, step)
    if not lower:
        factor = text.conjugate(text.transposed(factor, n, n), matrix)
    return text.function([("%a", matrix)], [*batch, n], factor, matrix)


def _named(c: Converter, shape: Sequence[int | Size]) -> tuple[list[_Dim], list[Lazy]]:
    """A shape for a text, and its sizes that are known when the program runs, in order."""
    number = element("i32")
    later = [n for n in shape if isinstance(n, Size)]
    scalars = [c.emitter.cast("arith.index_cast", n.value, number.type) for n in later]
    names: list[_Dim] = [n if isinstance(n, int) else f"%size{d}" for d, n in enumerate(shape)]
    return names, [Uniform(Shaped.of((), number), scalar=scalar) for scalar in scalars]


@converts("stablehlo.triangular_solve")
def _triangular_solve(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    result = c.result_shaped(op)
    (*batch, rows, columns), sizes = _named(c, result.shape)
    if 0 in result.shape:
        return [Uniform(result, scalar=c.emitter.zero(result.element.type))]
    left, lower, unit = (op.attributes[name].value for name in ("left_side", "lower", "unit_diagonal"))
    transpose = dialect_attribute(op, "transpose_a", "TransposeAttr").value
    n, others = (rows, columns) if left else (columns, rows)
    if not left and isinstance(rows, str) and isinstance(columns, str):
        sizes[-2:] = reversed(sizes[-2:])  # named in the order of the system that is solved
    kind = result.element
    flags = (left, lower, unit, transpose)
    text = _solve_text(batch, n, others, kind.spelling, kind.kind == COMPLEX, flags)
    return c.write_out(text, [*operands, *sizes])


@converts("stablehlo.cholesky")
def _cholesky(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    result = c.result_shaped(op)
    (*batch, n), sizes = _named(c, result.shape[:-1])
    if 0 in result.shape:
        return [Uniform(result, scalar=c.emitter.zero(result.element.type))]
    lower = op.attributes["lower"].value if "lower" in op.attributes else False
    text = _cholesky_text(batch, n, result.element.spelling, result.element.kind == COMPLEX, lower)
    return c.write_out(text, [*operands, *sizes])
