"""A scatter whose body reads several operands together, as a loop over the updates' elements.

Enters: operands and updates as vectors, and for each update the element it goes to, -1 for none. Leaves: the operands
after one update after the other. One body needs the numbers of another's element as they are after all updates before,
so nothing can be scattered into on its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyiree.compiler.input.converter import Converter
from pyiree.compiler.input.import_mlir import Shaped
from pyiree.compiler.input.values import Lazy

_GENERIC_REGION = " ({", "}) "


def scatter_together(
    c: Converter, op: Any, operands: Sequence[Lazy], updates: Sequence[Lazy], rows: Lazy
) -> list[Lazy]:
    """The results as vectors."""
    return list(c.write_out(_loop_text(c, op, operands, updates, rows), [*operands, *updates, rows]))


def _loop_text(c: Converter, op: Any, operands: Sequence[Lazy], updates: Sequence[Lazy], rows: Lazy) -> str:
    """A function of operands, updates and row numbers.

    A step combines scalars by a `reduce` of one element each, whose body is the scatter's.
    """
    numbers = range(len(operands))
    olds, news = [_spelled(v.shaped) for v in operands], [_spelled(v.shaped) for v in updates]
    scalars = [f"tensor<{v.shaped.element.spelling}>" for v in operands]
    ones = [f"tensor<1x{v.shaped.element.spelling}>" for v in operands]
    row = _spelled(rows.shaped)
    place = f"tensor<{rows.shaped.element.spelling}>"
    carried = ", ".join(olds)
    lines = [
        f"func.func @main({_typed('x', olds)}, {_typed('u', news)}, %rows: {row}) -> ({carried}) {{",
        "%first = stablehlo.constant dense<0> : tensor<i32>",
        "%step = stablehlo.constant dense<1> : tensor<i32>",
        f"%count = stablehlo.get_dimension_size %rows, dim = 0 : ({row}) -> tensor<i32>",
        f"%zero = stablehlo.constant dense<0> : {place}",
        f'%done:{len(olds) + 1} = "stablehlo.while"(%first, {_names("x", numbers)}) ({{',
        f"^bb0(%k: tensor<i32>, {_typed('c', olds)}):",
        "%more = stablehlo.compare LT, %k, %count, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>",
        "stablehlo.return %more : tensor<i1>",
        "}, {",
        f"^bb0(%k: tensor<i32>, {_typed('b', olds)}):",
        f"%rowv = stablehlo.dynamic_slice %rows, %k, sizes = [1] : ({row}, tensor<i32>) -> {_ones(place)}",
        f"%row = stablehlo.reshape %rowv : ({_ones(place)}) -> {place}",
        f"%valid = stablehlo.compare GE, %row, %zero, SIGNED : ({place}, {place}) -> tensor<i1>",
    ]
    for i in numbers:
        lines += [
            f"%o{i} = stablehlo.dynamic_slice %b{i}, %row, sizes = [1] : ({olds[i]}, {place}) -> {ones[i]}",
            f"%s{i} = stablehlo.reshape %o{i} : ({ones[i]}) -> {scalars[i]}",
            f"%v{i} = stablehlo.dynamic_slice %u{i}, %k, sizes = [1] : ({news[i]}, tensor<i32>) -> {ones[i]}",
        ]
    types = f"({', '.join([*ones, *scalars])}) -> ({', '.join(scalars)})"
    lines.append(f'%n:{len(olds)} = "stablehlo.reduce"({_names("v", numbers)}, {_names("s", numbers)}) ({{')
    lines += [_body_of(op), f"}}) {{dimensions = array<i64: 0>}} : {types}"]
    for i in numbers:
        lines += [
            f"%q{i} = stablehlo.select %valid, %n#{i}, %s{i} : tensor<i1>, {scalars[i]}",
            f"%w{i} = stablehlo.reshape %q{i} : ({scalars[i]}) -> {ones[i]}",
            f"%d{i} = stablehlo.dynamic_update_slice %b{i}, %w{i}, %row : "
            f"({olds[i]}, {ones[i]}, {place}) -> {olds[i]}",
        ]
    results = ", ".join(f"%done#{i + 1}" for i in numbers)
    lines += [
        "%next = stablehlo.add %k, %step : tensor<i32>",
        f"stablehlo.return %next, {_names('d', numbers)} : tensor<i32>, {carried}",
        f"}}) : (tensor<i32>, {carried}) -> (tensor<i32>, {carried})",
        f"return {results} : {carried}",
        "}",
    ]
    return "\n".join(lines)


def _body_of(op: Any) -> str:
    """The block of a scatter's region as text."""
    text = op.get_asm(print_generic_op_form=True, enable_debug_info=False)
    begin, end = _GENERIC_REGION
    return text[text.index(begin) + len(begin) : text.rindex(end)]


def _spelled(shaped: Shaped) -> str:
    return f"tensor<{shaped.shape[0]}x{shaped.element.spelling}>"  # a `Size` reads `?`


def _ones(scalar: str) -> str:
    return scalar.replace("tensor<", "tensor<1x", 1)


def _typed(name: str, types: Sequence[str]) -> str:
    return ", ".join(f"%{name}{i}: {type}" for i, type in enumerate(types))


def _names(name: str, numbers: range) -> str:
    return ", ".join(f"%{name}{i}" for i in numbers)
