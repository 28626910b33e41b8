"""Launch plans: what a function without control flow does, found by reading its bytecode once.

Enters: a function of a loaded module, and the shapes and dtypes that it is bound to. Leaves: a `LaunchPlan`, which says
what memory the function takes, which command buffers it executes on what, and where its results lie; or None for a
function that does anything else: such a one is always interpreted.

    assert the arguments · allocate · execute command buffers · await · make views · return

The checks of arguments are done here, as the shapes are known. Fences order what this order orders anyway.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pyiree.runtime.hal import layout as hal
from pyiree.runtime.hal.element_types import element_type_of
from pyiree.runtime.native import layout
from pyiree.runtime.native.python_objects import read_word
from pyiree.runtime.vmfb import isa
from pyiree.runtime.vmfb.abi import ENCODING_DENSE_ROW_MAJOR, parse_convention

if TYPE_CHECKING:
    from pyiree.runtime.session import Function

_MOST_STEPS = 1 << 16  # instructions; a longer function has more to do than a plan would spare


class Range(NamedTuple):
    """Bytes of an argument, or of an allocation: `source` counts the arguments first."""

    source: int
    offset: int
    length: int


class Launch(NamedTuple):
    """One execution of a command buffer, which a global of the module holds."""

    place: int  # address of the global's reference
    commands: int
    device: int
    bindings: tuple[Range, ...]


class LaunchPlan(NamedTuple):
    """What a call does, in order: takes the memory, executes, gives views of it."""

    allocations: tuple[int, ...]  # bytes
    launches: tuple[Launch, ...]
    results: tuple[Range, ...]


class _View(NamedTuple):
    memory: Range
    element_type: int
    dims: tuple[int, ...]


class _Global(NamedTuple):
    place: int


class _NotStraight(Exception):
    """The function does something that a plan can't say."""


def plan_of(function: "Function", arguments: Sequence[Any], results: Sequence[Any]) -> LaunchPlan | None:
    """The plan of a function bound to these (shape, dtype) pairs; None if it can't have one."""
    reader = _Reader(function, [_typed(k, *spec) for k, spec in enumerate(arguments)])
    try:
        views = reader.run()
    except _NotStraight:
        return None
    wanted = [_typed(0, *spec) for spec in results]
    for view, want in zip(views, wanted, strict=True):
        fits = view.dims == want.dims and view.memory.length == want.memory.length
        if not fits or not _same_storage(view.element_type, want.element_type):
            return None
    return LaunchPlan(tuple(reader.allocations), tuple(reader.launches), tuple(view.memory for view in views))


def _typed(source: int, shape: tuple[int, ...], dtype: Any) -> _View:
    size = dtype.itemsize
    for extent in shape:
        size *= extent
    return _View(Range(source, 0, size), element_type_of(dtype), tuple(shape))


def _same_storage(first: int, second: int) -> bool:
    """Element types are equal, or integers of one width, whatever they say about the sign."""
    integers = 0x10 <= first >> 24 <= 0x12 and 0x10 <= second >> 24 <= 0x12
    return first == second or (integers and first & hal.ELEMENT_BITS == second & hal.ELEMENT_BITS)


class _Reader:
    """Follows a function's instructions; values are known numbers, references are what they stand for."""

    def __init__(self, function: "Function", arguments: list[_View]):
        self._context = function.context
        module = function.context.module.definition
        self._module = module
        ordinal = function.prepared.ordinal
        descriptor = module.function_descriptors[ordinal]
        start = descriptor.bytecode_offset
        self._code = memoryview(module.bytecode_data)[start : start + descriptor.bytecode_length]
        self._arguments = arguments
        self._values: dict[int, int] = {}
        self._references: dict[int, Any] = dict(enumerate(arguments))
        self._imports: dict[int, tuple[Any, Sequence[Any]]] = {}
        self.allocations: list[int] = []
        self.launches: list[Launch] = []

    def run(self) -> list[_View]:
        at = 0
        for _ in range(_MOST_STEPS):
            if self._code[at] == isa.BLOCK_MARKER:
                at += 1
                continue
            op, operands, following = isa.decode(self._code, at)
            if op.name == "return":
                found = [self._reference(register) for register in operands[0]]
                if not all(isinstance(item, _View) for item in found):
                    raise _NotStraight
                return found
            at = self._step(op.name, operands, following)
        raise _NotStraight

    def _step(self, name: str, operands: list[Any], following: int) -> int:
        """Follows one instruction; where the next one is."""
        if name in ("const.i32.zero", "const.i64.zero"):
            self._values[operands[0]] = 0
        elif name in ("const.i32", "const.i64"):
            self._values[operands[1]] = operands[0]
        elif name == "const.ref.zero":
            self._set(operands[0], None)
        elif name == "const.ref.rodata":
            self._set(operands[1], "rodata")
        elif name == "global.load.ref":
            refs = self._context.global_refs_address
            self._set(operands[2], _Global(refs + 8 * operands[0]))
        elif name == "assign.ref":
            self._set(operands[1], self._reference(operands[0]))
        elif name == "discard.refs":
            pass
        elif name == "br":
            return self._branch(*operands)
        elif name == "cond_br":
            condition, *cases = operands
            return self._branch(*(cases[:2] if self._value(condition) else cases[2:]))
        elif name in ("call", "call.variadic", "call.yieldable", "call.variadic.yieldable"):
            ordinal, *rest = operands
            segments = rest.pop(0) if "variadic" in name else None
            arguments, results = rest[0], rest[-1]
            self._call(ordinal, segments, arguments, results)
            if "yieldable" in name:
                return rest[1]
        else:
            raise _NotStraight
        return following

    def _branch(self, target: int, moves: list[tuple[int, int]]) -> int:
        read = [self._reference(a) if isa.is_ref(a) else self._value(a) for a, _ in moves]
        for (_, register), value in zip(moves, read):
            if isa.is_ref(register):
                self._set(register, value)
            else:
                self._values[register] = value
        return target

    def _value(self, register: int) -> int:
        if register not in self._values:
            raise _NotStraight
        return self._values[register]

    def _set(self, register: int, value: Any) -> None:
        self._references[isa.ref_ordinal(register)] = value

    def _reference(self, register: int) -> Any:
        return self._references.get(isa.ref_ordinal(register))

    # -------------------------------------------------------------- imports

    def _call(self, ordinal: int, segments: list[int] | None, operands: list[int], results: list[int]) -> None:
        if not ordinal & isa.IMPORT_BIT:
            raise _NotStraight
        follow, codes = self._imported(ordinal & ~isa.IMPORT_BIT)
        values = self._arguments_of(codes, segments, operands)
        found = follow(*values)
        for register in results:
            if isa.is_ref(register):
                self._set(register, found)
            else:
                self._values[register] = found

    def _imported(self, number: int) -> tuple[Any, Sequence[Any]]:
        """The method that follows an import, and the codes of its arguments."""
        known = self._imports.get(number)
        if known is None:
            item = self._module.imported_functions[number]
            module, _, name = item.full_name.partition(".")
            follow = getattr(self, "_import_" + name.replace(".", "_"), None) if module == "hal" else None
            if follow is None:
                raise _NotStraight
            known = follow, parse_convention(item.signature.calling_convention).arguments
            self._imports[number] = known
        return known

    def _arguments_of(self, codes: Sequence[Any], segments: list[int] | None, operands: list[int]) -> list[Any]:
        """The arguments of an import; a span comes as a list of tuples."""
        values: list[Any] = []
        registers = iter(operands)

        def take(code: Any) -> Any:
            register = next(registers)
            return self._reference(register) if code == "r" else self._value(register)

        for k, code in enumerate(codes):
            if isinstance(code, str):
                values.append(take(code))
            else:
                values.append([tuple(take(member) for member in code.codes) for _ in range(segments[k])])
        return values

    def _import_buffer_view_assert(self, view: Any, _: Any, element_type: int, encoding: int, dims: list[Any]) -> None:
        expected = isinstance(view, _View) and view.dims == tuple(extent for (extent,) in dims)
        if not expected or encoding != ENCODING_DENSE_ROW_MAJOR or not _same_storage(view.element_type, element_type):
            raise _NotStraight

    def _import_buffer_view_buffer(self, view: Any) -> Range:
        if not isinstance(view, _View):
            raise _NotStraight
        return view.memory

    def _import_buffer_assert(self, buffer: Any, _: Any, allocator: Any, length: int, types: int, usage: int) -> None:
        # Memory that is lent or allocated here is of any type and good for any use.
        if not isinstance(buffer, Range) or buffer.length < length:
            raise _NotStraight

    def _import_buffer_view_create(
        self, buffer: Any, offset: int, length: int, element_type: int, encoding: int, dims: list[Any]
    ) -> _View:
        dense = encoding == ENCODING_DENSE_ROW_MAJOR
        return _View(_part(buffer if dense else None, offset, length), element_type, tuple(d for (d,) in dims))

    def _import_device_allocator(self, device: Any) -> str:
        self._object(device, layout.TYPE_HAL_DEVICE)
        return "allocator"

    def _import_fence_create(self, device: Any, flags: int) -> str:
        return "fence"

    def _import_fence_join(self, flags: int, fences: list[Any]) -> str:
        return "fence"

    def _import_fence_await(self, timeout: int, flags: int, fences: list[Any]) -> int:
        if timeout != -1 or any(fence not in (None, "fence") for (fence,) in fences):
            raise _NotStraight
        return layout.OK

    def _import_device_queue_alloca(
        self, device: Any, affinity: int, wait: Any, signal: Any, pool: int, types: int, usage: int, size: int, _: int
    ) -> Range:
        self._object(device, layout.TYPE_HAL_DEVICE)
        self.allocations.append(size)
        return Range(len(self._arguments) + len(self.allocations) - 1, 0, size)

    def _import_device_queue_dealloca(self, device: Any, *_: Any) -> None:
        self._object(device, layout.TYPE_HAL_DEVICE)

    def _import_device_queue_barrier(self, device: Any, *_: Any) -> None:
        self._object(device, layout.TYPE_HAL_DEVICE)

    def _import_device_queue_execute(
        self, device: Any, affinity: int, wait: Any, signal: Any, commands: Any, flags: int
    ) -> None:
        self._launch(device, commands, [])

    def _import_device_queue_execute_indirect(
        self, device: Any, affinity: int, wait: Any, signal: Any, commands: Any, flags: int, table: list[Any]
    ) -> None:
        self._launch(device, commands, [_part(*binding) for binding in table])

    def _launch(self, device: Any, commands: Any, bindings: list[Range]) -> None:
        device = self._object(device, layout.TYPE_HAL_DEVICE)
        place = commands.place if isinstance(commands, _Global) else 0
        commands = self._object(commands, layout.TYPE_HAL_COMMAND_BUFFER)
        ready = read_word(commands + hal.COMMANDS_FINAL) == 1
        again = not read_word(commands + hal.COMMANDS_MODES) & hal.MODE_ONE_SHOT
        room = len(bindings) <= read_word(commands + hal.COMMANDS_CAPACITY)
        runs = read_word(device + hal.DEVICE_KIND) != hal.DEVICE_NULL
        if not (ready and again and room and runs):
            raise _NotStraight
        self.launches.append(Launch(place, commands, device, tuple(bindings)))

    def _object(self, reference: Any, wanted: int) -> int:
        """The object that a global holds now, if it is of the wanted type."""
        address = read_word(reference.place) if isinstance(reference, _Global) else 0
        if not address or read_word(address + layout.OBJECT_TYPE) != wanted:
            raise _NotStraight
        return address


def _part(buffer: Any, offset: int, length: int) -> Range:
    """A part of a buffer; a length of -1 is the rest."""
    if not isinstance(buffer, Range):
        raise _NotStraight
    length = buffer.length - offset if length == -1 else length
    if offset < 0 or length < 0 or offset + length > buffer.length:
        raise _NotStraight
    return Range(buffer.source, buffer.offset + offset, length)
