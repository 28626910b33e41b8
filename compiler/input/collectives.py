"""Collectives of a program that runs on one device.

Enters: collectives whose groups have one member each. Leaves: the operands, for what one device tells itself it knows.
Ops of larger groups need devices that are not there: they are unsupported, by name.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pyiree.compiler.input.converter import SHAPE_RULES, Converter, converts
from pyiree.compiler.input.values import Lazy, Uniform

_GROUPED = (
    "stablehlo.all_gather",
    "stablehlo.all_reduce",
    "stablehlo.all_to_all",
    "stablehlo.collective_broadcast",
    "stablehlo.reduce_scatter",
)

SHAPE_RULES.update(dict.fromkeys((*_GROUPED, "stablehlo.collective_permute")))


@converts(*_GROUPED)
def _grouped(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    # An empty list of groups means one group of all devices there are.
    groups = np.array(op.attributes["replica_groups"])
    if groups.size and groups.shape[-1] != 1:
        raise c.emitter.unsupported(op, f"of {groups.shape[-1]} devices")
    return operands


@converts("stablehlo.collective_permute")
def _permuted(c: Converter, op: Any, operands: list[Lazy]) -> list[Lazy]:
    pairs = np.array(op.attributes["source_target_pairs"]).reshape(-1, 2).tolist()
    if any(pair != [0, 0] for pair in pairs):
        raise c.emitter.unsupported(op, "between devices")
    if pairs:
        return operands
    # A device that nothing is sent to has zeros.
    shaped = operands[0].shaped
    zero = c.emitter.zero(shaped.element.type).defining_op.properties["value"]
    return [Uniform(shaped, zero)]
