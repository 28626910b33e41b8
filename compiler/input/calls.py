"""Calls: functions of the module are inlined, composites are their decomposition, annotations are the identity;
there is one device, number 0. Tokens are nothing, since what has side effects stays in order; tuples are their parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyiree.compiler.input.converter import CALLEE_NAMES, Conversion, Converter, converts
from pyiree.compiler.input.import_mlir import Shaped
from pyiree.compiler.input.sizes import is_static
from pyiree.compiler.input.values import TOKEN, Group, Lazy, Uniform
from pyiree.compiler.ir.attributes import IntegerAttr

#: Custom calls that only say where values live or how they are laid out.
ANNOTATIONS = frozenset(
    {"Sharding", "annotate_device_placement", "SPMDFullToShardShape", "SPMDShardToFullShape", "LayoutConstraint"}
)

#: Custom calls that are computations of ours, by target; families add theirs.
CUSTOM_CALLS: dict[str, Conversion] = {}

#: Those that take arrays of sizes which are known when the program runs.
OF_ANY_SIZE: set[str] = set()


@converts(*CALLEE_NAMES)
def _call(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    return c.call(op.attributes[CALLEE_NAMES[op.name]].value, operands)


@converts("stablehlo.partition_id", "stablehlo.replica_id")
def _device_number(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    result = c.result_shaped(op)
    return [Uniform(result, IntegerAttr(0, result.element.type))]


@converts("stablehlo.after_all", "stablehlo.create_token")
def _token(c: Converter, op: Any, operands: list[Lazy]) -> list[Any]:
    return [TOKEN]


@converts("stablehlo.tuple")
def _tuple(c: Converter, op: Any, operands: list[Any]) -> list[Any]:
    return [Group(operands)]


@converts("stablehlo.get_tuple_element")
def _tuple_element(c: Converter, op: Any, operands: list[Any]) -> list[Lazy]:
    return [operands[0].parts[op.attributes["index"].value]]


@converts("stablehlo.custom_call")
def _custom_call(c: Converter, op: Any, operands: list[Lazy]) -> Sequence[Lazy]:
    target = op.attributes["call_target_name"].value
    if target in ANNOTATIONS:
        return operands
    known = CUSTOM_CALLS.get(target)
    if known is None:
        raise c.emitter.unsupported(op, f"@{target}")
    is_sized = all(is_static(operand.shaped.shape) for operand in operands if isinstance(operand, Lazy))
    if target not in OF_ANY_SIZE and not is_sized:
        raise c.emitter.unsupported(op, f"@{target} of a dynamic shape")
    return known(c, op, operands)


def shape_operands(op: Any) -> list[int]:
    """Which operands of a custom call are no data but the shapes of its results, in order."""
    name = "indices_of_shape_operands"
    return [int(number) for number in op.attributes[name]] if name in op.attributes else []


def custom_call_results(c: Converter, op: Any, operands: Sequence[Any]) -> list[Shaped | None]:
    """Shapes and elements of a custom call's results, with the sizes that its operands say; None for tokens."""
    positions = shape_operands(op)
    results: list[Shaped | None] = []
    for number, value in enumerate(op.results):
        shaped = c.reader.shaped(value.type)
        if shaped is not None and not shaped.type.has_static_shape:
            if number >= len(positions):
                raise c.emitter.unsupported(op, "whose result has a size that it does not say")
            sizes = c.sizes_in(operands[positions[number]])
            shaped = Shaped.of([s if n is None else n for n, s in zip(shaped.shape, sizes)], shaped.element)
        results.append(shaped)
    return results
