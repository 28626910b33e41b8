"""Register allocation: a register for each value, and the moves that branches need.

Enters: a function whose references are discarded where they end. Leaves: `Allocation`: the register of each value,
where instructions take references over, the ordered moves of each edge, and how many registers there are.

There are two banks. Numbers live in the 32-bit bank, those of 64 bits in an even register and the next; references in
their own. Values are given registers along the dominator tree, the lowest one free at their definition; a value that a
block gets as an argument, or is to become one, takes that argument's register where it is free, so that most branches
move nothing. As the program is in SSA form, what is live at a definition is all that is in the way.
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.ir.core import Block, Operation, Value
from pyiree.compiler.ir.diagnostics import CompileError
from pyiree.compiler.ir.dominance import reverse_post_order
from pyiree.compiler.ir.types import f64, i64
from pyiree.compiler.vm.liveness import Liveness, branch_targets
from pyiree.compiler.vm.moves import moved_operands
from pyiree.compiler.vm.parallel_copies import sequentialize
from pyiree.compiler.vm.types import is_ref, value_code
from pyiree.runtime.vmfb import abi, isa

Remap = list[tuple[int, int]]

#: The even registers of a bank.
_EVEN = int("01" * (isa.MAX_I32_REGISTERS // 2 + 2), 2)


class Bank:
    """One kind of registers: the lowest free ones, and how many were ever used."""

    def __init__(self, limit: int, what: str) -> None:
        self.count = 0
        self.limit = limit
        self.what = what

    def lowest_free(self, occupied: int, width: int) -> int:
        """The lowest free register; for a width of two, the lowest even one that is free with the next."""
        if width == 1:
            free = ~occupied
        else:
            free = ~(occupied | occupied >> 1) & _EVEN & ((4 << occupied.bit_length()) - 1)
        return (free & -free).bit_length() - 1

    def use(self, register: int, width: int) -> None:
        """Counts a register in."""
        self.count = max(self.count, register + width)
        if self.count > self.limit:
            raise CompileError(f"a function needs more than {self.limit} {self.what} registers; split it up")


class Allocation:
    """The registers of a function; a reference's carries the bit that marks one."""

    def __init__(self, func: Any) -> None:
        self.registers: dict[Value, int] = {}
        self._places: dict[Value, tuple[bool, int]] = {}  # the bank, and the registers as bits
        self.numbers = Bank(isa.MAX_I32_REGISTERS, "32-bit")
        self.references = Bank(isa.MAX_REF_REGISTERS, "reference")
        self._blocks = list(func.body.blocks)
        self._live = Liveness(self._blocks)
        self._moved: dict[Operation, dict[int, Value]] = {}
        # Dominators come before what they dominate: what is live into a block has its registers already.
        for block in reverse_post_order(func.body):
            self._allocate_block(block)

    # What the encoder asks.

    def operands(self, op: Operation) -> list[int]:
        """The registers of the operands, with the MOVE bit where the op takes the reference over."""
        registers = [self.registers[value] for value in op.operands]
        for position in self._moved.get(op, ()):
            registers[position] |= isa.MOVE_BIT
        return registers

    def remaps(self, op: Any) -> list[Remap]:
        """The moves of each edge of a terminator, in order."""
        return [self._remap(target, passed) for target, passed in branch_targets(op)]

    # Allocation.

    def _allocate_block(self, block: Block) -> None:
        occupied = [0, 0]  # numbers, references
        for value in self._live.members(self._live.live_in[block]):
            self._occupy(value, occupied)
        if block.is_entry:
            self._allocate_parameters(block, occupied)
        else:
            for argument in block.arguments:
                self._assign(argument, occupied, self._incoming(argument, block))
        # An argument that is never read needs its register for the moment of the branch only.
        for argument in block.arguments:
            if not argument.has_uses:
                self._release(argument, occupied)
        afters = dict(self._live.live_after(block))
        for op in block.ops:
            after = afters[op]
            is_live = self._live.test(after)
            dying = [v for v in dict.fromkeys(op.operands) if not is_live(v)]
            moved = moved_operands(op, is_live)
            if moved:
                self._moved[op] = moved
            # A number may take the place of an operand that ends here. A reference may not: the instruction could
            # give up the operand after the result has been written.
            for value in dying:
                if not is_ref(value.type):
                    self._release(value, occupied)
            for result in op.results:
                self._assign(result, occupied, self._outgoing(result))
            for value in dying:
                if is_ref(value.type):
                    self._release(value, occupied)
            for result in op.results:
                if not is_live(result):
                    self._release(result, occupied)

    def _allocate_parameters(self, block: Block, occupied: list[int]) -> None:
        """The calling convention says where a function's arguments are."""
        registers, _, _ = abi.assign_registers([value_code(a.type) for a in block.arguments])
        for argument, register in zip(block.arguments, registers):
            self._place(argument, register, occupied)

    def _assign(self, value: Value, occupied: list[int], wishes: list[int]) -> None:
        """The first wish that is free, else the lowest free register."""
        references, width = is_ref(value.type), _width(value)
        mask = (1 << width) - 1
        for wish in wishes:
            register = isa.ref_ordinal(wish) if references else wish
            if not occupied[references] >> register & mask:
                break
        else:
            bank = self.references if references else self.numbers
            register = bank.lowest_free(occupied[references], width)
        self._place(value, register, occupied)

    def _place(self, value: Value, register: int, occupied: list[int]) -> None:
        """Gives a value a register of its bank."""
        references, width = is_ref(value.type), _width(value)
        (self.references if references else self.numbers).use(register, width)
        self.registers[value] = isa.ref(register) if references else register
        self._places[value] = references, ((1 << width) - 1) << register
        self._occupy(value, occupied)

    def _occupy(self, value: Value, occupied: list[int]) -> None:
        references, bits = self._places[value]
        occupied[references] |= bits

    def _release(self, value: Value, occupied: list[int]) -> None:
        references, bits = self._places[value]
        occupied[references] &= ~bits

    def _incoming(self, argument: Any, block: Block) -> list[int]:
        """The registers of what branches pass for an argument, as far as they have any yet."""
        found = []
        for predecessor in block.predecessors:
            for target, passed in branch_targets(predecessor.terminator):
                if target is block and passed and passed[argument.index] in self.registers:
                    found.append(self.registers[passed[argument.index]])
        return found

    def _outgoing(self, value: Value) -> list[int]:
        """The registers of the arguments that a value is passed for."""
        found = []
        for user in value.users:
            for target, passed in branch_targets(user) if user.successors else ():
                for argument, operand in zip(target.arguments, passed):
                    if operand is value and argument in self.registers:
                        found.append(self.registers[argument])
        return found

    # Moves.

    def _remap(self, target: Block, passed: tuple[Value, ...]) -> Remap:
        live = self._live
        numbers: Remap = []
        references: Remap = []
        busy = [0, 0]
        for value in (*live.members(live.live_in[target]), *target.arguments, *passed):
            self._occupy(value, busy)
        ended: set[int] = set()
        for value, argument in zip(passed, target.arguments):
            source, destination = self.registers[value], self.registers[argument]
            if is_ref(value.type):
                references.append((source, destination))
                if not live.contains(live.live_in[target], value):
                    ended.add(source)
            elif argument.has_uses:
                numbers += [(source + i, destination + i) for i in range(_width(value))]
        kept = {source for source, destination in references if source == destination}
        moves = sequentialize(numbers, lambda: self._scratch(self.numbers, busy[0]))
        scratch: set[int] = set()

        def reference_scratch() -> int:
            register = isa.ref(self._scratch(self.references, busy[1]))
            scratch.add(register)
            return register

        ordered = sequentialize(references, reference_scratch)
        return moves + _with_moves(ordered, (ended | scratch) - kept)

    def _scratch(self, bank: Bank, busy: int) -> int:
        register = bank.lowest_free(busy, 1)
        bank.use(register, 1)
        return register


def _with_moves(copies: Remap, ended: set[int]) -> Remap:
    """Marks the last read of each register in `ended` as giving the reference up."""
    marked: Remap = []
    seen: set[int] = set()
    for source, destination in reversed(copies):
        last = source in ended and source not in seen
        seen.add(source)
        marked.append((source | isa.MOVE_BIT if last else source, destination))
    return marked[::-1]


def _width(value: Value) -> int:
    return 2 if value.type in (i64, f64) else 1
