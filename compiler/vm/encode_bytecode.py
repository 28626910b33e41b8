"""Bytecode of a function: each op as the instruction of its name, with registers, ordinals and block offsets.

Enters: a function whose symbols have ordinals. Leaves: `FunctionCode`: the bytes, the counts of its descriptor, and
where the code of each op starts.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import Any

from pyiree.compiler.ir.core import Block, Operation
from pyiree.compiler.ir.location import Location
from pyiree.compiler.ir.types import Type
from pyiree.compiler.vm.allocate_registers import Allocation, Remap
from pyiree.compiler.vm.moves import instruction
from pyiree.compiler.vm.ordinal_allocation import Ordinals
from pyiree.runtime.vmfb import isa
from pyiree.runtime.vmfb.lazy_dataclass import dataclass

_U16, _U32 = struct.Struct("<H"), struct.Struct("<I")
_PAIR = struct.Struct("<HH")
_NUMBERS = {"#i32": struct.Struct("<i"), "#i64": struct.Struct("<q")}
_PREFIX_REQUIREMENTS = {0: 0, isa.PREFIX_F32: isa.REQUIRES_F32, isa.PREFIX_F64: isa.REQUIRES_F64}
_REGISTERS = frozenset("iIfFrR")


@cache
def _plain(name: str) -> struct.Struct | None:
    """The layout of the instruction of ops of a name if it has only registers, those of the operands before those of
    the results; None for any other."""
    found = instruction(name)
    assert found is not None
    kinds = [field.kind for field in found.fields]
    results = [field.is_result for field in found.fields]
    return struct.Struct(f"<{len(kinds)}H") if _REGISTERS.issuperset(kinds) and results == sorted(results) else None


@dataclass
class FunctionCode:
    """The code of one function."""

    code: bytes
    requirements: int
    block_count: int
    i32_register_count: int
    ref_register_count: int
    locations: list[tuple[int, Location]]


class _Encoder:
    def __init__(self, func: Any, ordinals: Ordinals) -> None:
        self.func = func
        self.ordinals = ordinals
        self.allocation = Allocation(func)
        self.out = bytearray()
        self.labels: dict[Block, int] = {}
        self.fixups: list[tuple[int, Block]] = []
        self.requirements = 0
        self.locations: list[tuple[int, Location]] = []

    def run(self) -> FunctionCode:
        for block in self.func.body.blocks:
            self.labels[block] = len(self.out)
            self.out.append(isa.BLOCK_MARKER)
            for op in block.ops:
                self.encode(op)
        for position, block in self.fixups:
            _U32.pack_into(self.out, position, self.labels[block])
        numbers = self.allocation.numbers.count
        return FunctionCode(
            bytes(self.out),
            self.requirements,
            len(self.labels),
            numbers + (numbers & 1),
            self.allocation.references.count,
            self.locations,
        )

    def encode(self, op: Any) -> None:
        """Appends an op; `op` gives its operands, results and edges in the order of the instruction's fields."""
        found = instruction(op.name)
        if found is None:
            raise op.error("has no instruction: it is a pseudo op that was not written with others")
        self.locations.append((len(self.out), op.location))
        self.out += bytes([found.prefix, found.code]) if found.prefix else bytes([found.code])
        self.requirements |= _PREFIX_REQUIREMENTS[found.prefix]
        operands, results = self.operand_registers(op), self.result_registers(op)
        if not op.successors and (plain := _plain(op.name)) is not None:
            self.out += plain.pack(*operands, *results)
            return
        edges = [list(edge) for edge in zip(op.successors, self.allocation.remaps(op))] if op.successors else []
        number, result_number, edge = 0, 0, 0
        for field in found.fields:
            kind = field.kind
            if kind in _REGISTERS:
                if field.is_result:
                    self.out += _U16.pack(results[result_number])
                    result_number += 1
                else:
                    self.out += _U16.pack(operands[number])
                    number += 1
            elif kind == "*":
                registers = results[result_number:] if field.is_result else operands[number:]
                self.u16_list(registers)
            elif kind == "pc":
                self.target(edges[edge][0])
                edge += 1
            elif kind == "remap":
                self.remap(edges[edge - 1][1])
            elif kind == "cases":
                self.out += _U16.pack(len(edges) - edge)
                for block, moves in edges[edge:]:
                    self.target(block)
                    self.remap(moves)
            else:
                _FIELDS[kind](self, op)

    def operand_registers(self, op: Any) -> list[int]:
        """The registers of operands, in the order of fields; what branches pass is not among them."""
        registers = self.allocation.operands(op)
        # Indirect stores name the address first.
        return registers[::-1] if op.name.startswith("vm.global.store.indirect") else registers

    def result_registers(self, op: Operation) -> list[int]:
        """The registers of results; a yieldable call's are the arguments of the block where it goes on."""
        yields = op.name.endswith(".yieldable")
        values = op.successors[0].arguments if yields else op.results
        return [self.allocation.registers[v] for v in values]

    # Fields.

    def align(self) -> None:
        if len(self.out) & 1:
            self.out.append(0)

    def u16_list(self, values: list[int]) -> None:
        self.align()
        self.out += struct.pack(f"<{len(values) + 1}H", len(values), *values)

    def target(self, block: Block) -> None:
        self.fixups.append((len(self.out), block))
        self.out += bytes(4)

    def remap(self, moves: Remap) -> None:
        self.align()
        self.out += _U16.pack(len(moves))
        for source, destination in moves:
            self.out += _PAIR.pack(source, destination)

    def number(self, kind: str, value: int) -> None:
        self.out += _NUMBERS[kind].pack(value)

    def u32(self, value: int) -> None:
        self.out += _U32.pack(value)

    def string(self, text: str | None) -> None:
        data = (text or "").encode()[:0xFFFF]
        self.out += _U16.pack(len(data)) + data


def _type_of(op: Any) -> Type:
    """The type that an instruction names: of its result, of the value that it stores, or of a new list's elements."""
    if op.name == "vm.list.alloc":
        return op.result.type.element_type
    return op.results[0].type if op.results else op.value.type


def _text_of(op: Any) -> str | None:
    return op.event_name if op.name == "vm.trace" else op.message


def _int_of(encoder: _Encoder, op: Any) -> int:
    return encoder.ordinals.of_global(op.global_.leaf) if op.name == "vm.global.address" else op.value.value


def _callee(op: Any) -> str:
    return op.import_.leaf if op.name == "vm.import.resolved" else op.callee.leaf


_FIELDS: dict[str, Callable[[_Encoder, Any], None]] = {
    "#i32": lambda e, op: e.number("#i32", _int_of(e, op)),
    "#i64": lambda e, op: e.number("#i64", op.value.value),
    "#f32": lambda e, op: e.out.extend(struct.pack("<I", op.value.bits)),
    "#f64": lambda e, op: e.out.extend(struct.pack("<Q", op.value.bits)),
    "glob": lambda e, op: e.u32(e.ordinals.of_global(op.global_.leaf)),
    "type": lambda e, op: e.u32(e.ordinals.of_type(_type_of(op))),
    "rodata": lambda e, op: e.u32(e.ordinals.rodata[op.rodata.leaf]),
    "func": lambda e, op: e.u32(e.ordinals.of_callee(_callee(op))),
    "str": lambda e, op: e.string(_text_of(op)),
    "*seg": lambda e, op: e.u16_list([size & 0xFFFF for size in op.sizes]),
}


def encode_function(func: Any, ordinals: Ordinals) -> FunctionCode:
    """The bytecode of a function."""
    return _Encoder(func, ordinals).run()
