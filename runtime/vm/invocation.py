"""One call of a function under way: native steps, with Python's part between them.

Enters: a prepared call and its arguments. Leaves: its results, or an exception. Between two steps Python may
handle signals, perform an import that is written in Python, or turn to another invocation.
"""

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyiree.runtime.native.image import image
from pyiree.runtime.native.layout import MESSAGE_BYTES
from pyiree.runtime.native.python_objects import objects, read_word
from pyiree.runtime.vm import layout
from pyiree.runtime.vm.errors import VmError
from pyiree.runtime.vm.values import Ref, from_slot, to_slot
from pyiree.runtime.vmfb import isa
from pyiree.runtime.vmfb.abi import Span

if TYPE_CHECKING:
    from pyiree.runtime.vm.context import Context, PreparedCall


class Invocation:
    """A call that is run by `step` until it is done."""

    def __init__(self, context: "Context", call: "PreparedCall", arguments: Sequence[Any]):
        self._context = context
        self._call = call
        self._arguments = arguments  # lent to the callee, so kept until the end
        self._address = 0
        self._started = False
        self._done = False
        call.fill(arguments)

    @classmethod
    def adopt(cls, context: "Context", address: int) -> "Invocation":
        """A call that native code has begun and leaves to Python; its results go where that code said."""
        self = cls.__new__(cls)
        self._context = context
        self._arguments = ()
        self._address = address
        self._started = True
        self._done = False
        return self

    @property
    def done(self) -> bool:
        return self._done

    def step(self) -> bool:
        """Runs until something outside is needed and performs it; True when the results are there."""
        if self._done:
            return True
        try:
            if self._started:
                state = image().vm_resume(self._address)
            else:
                self._started = True
                state = image().vm_invoke(*self._call.addresses)
                self._address = self._call.out.value
        except BaseException:
            self.abort()
            raise
        return self.settle(state)

    def settle(self, state: int) -> bool:
        """Performs what a native step asks for by its state; True when the results are there."""
        try:
            if state == layout.PYTHON_CALL:
                self._call_python()
            elif state == layout.FAILED:
                raise self._error()
        except BaseException:
            self.abort()
            raise
        if state == layout.DONE:
            self._address = 0
            self._done = True
            objects.drain()
        return self._done

    def results(self) -> list[Any]:
        """The results of a finished call; they may be taken once."""
        if not self._done:
            raise RuntimeError("the invocation is not done")
        return self._call.take_results()

    def abort(self) -> None:
        """Ends the call wherever it stands and releases what it holds."""
        address, self._address = self._address, 0
        if address:
            image().vm_abort(address)
            objects.drain()

    def __del__(self):
        if getattr(self, "_address", 0) and image is not None:  # None at the very end of the interpreter
            self.abort()

    # -------------------------------------------------------------- imports written in Python

    def _call_python(self) -> None:
        ordinal = read_word(self._address + layout.INVOCATION_IMPORT)
        convention = self._context.module.import_conventions[ordinal]
        target = self._context.python_imports[ordinal]
        slots = read_word(self._address + layout.INVOCATION_ARGUMENTS)
        results = read_word(self._address + layout.INVOCATION_RESULTS)
        status = 0
        try:
            values = target(*read_arguments(convention.arguments, slots))
        except VmError as error:
            status = error.status or 2
            _leave_message(results, error.message)
        else:
            name = self._context.module.definition.imported_functions[ordinal].full_name
            _write_results(name, convention.results, values, results)
        ctypes.c_int64.from_address(self._address + layout.INVOCATION_IMPORT_STATUS).value = status

    # -------------------------------------------------------------- failures

    def _error(self) -> BaseException:
        if not self._address:
            return MemoryError("no memory for an invocation")
        status = read_word(self._address + layout.INVOCATION_STATUS)
        length = read_word(self._address + layout.INVOCATION_MESSAGE_BYTES)
        place = read_word(self._address + layout.INVOCATION_MESSAGE)
        message = ctypes.string_at(place, length).decode("utf-8", "replace") if place else ""
        return VmError(status, message, tuple(self._trace()))

    def _trace(self) -> list[str]:
        """Where each frame stands, the innermost first."""
        module = self._context.module
        trace = []
        frame = read_word(self._address + layout.INVOCATION_FRAME)
        pc = read_word(self._address + layout.INVOCATION_PC)
        while frame:
            record = read_word(frame + layout.FRAME_FUNCTION)
            ordinal = (record - ctypes.addressof(module.functions)) // layout.FUNCTION_BYTES
            offset = pc - read_word(record + layout.FUNCTION_CODE)
            place = f"{module.function_name(ordinal)} of {module.name} at byte {offset}"
            trace.append(place if trace else f"{self._instruction(ordinal, offset)} in {place}")
            pc = read_word(frame + layout.FRAME_RETURN)
            frame = read_word(frame + layout.FRAME_CALLER)
        return trace

    def _instruction(self, ordinal: int, offset: int) -> str:
        """What the instruction that failed does: its mnemonic, for a call also whom it calls."""
        module = self._context.module
        start = module.definition.function_descriptors[ordinal].bytecode_offset
        op, operands, _ = isa.decode(memoryview(module.code).cast("B"), start + offset)
        if op.name.startswith("call") and operands[0] & isa.IMPORT_BIT:
            imported = module.definition.imported_functions[operands[0] & ~isa.IMPORT_BIT]
            return f"{op.name} {imported.full_name}"
        return op.name


def read_arguments(parameters, slots: int) -> list[Any]:
    """An import's arguments as Python values; references are bare addresses, lent for the call."""
    values: list[Any] = []
    for code in parameters:
        if isinstance(code, Span):
            count = read_word(slots)
            slots += 8
            tuples = []
            for _ in range(count):
                tuples.append(tuple(from_slot(c, read_word(slots + 8 * k)) for k, c in enumerate(code.codes)))
                slots += 8 * len(code.codes)
            values.append(tuples)
        else:
            values.append(from_slot(code, read_word(slots)))
            slots += 8
    return values


def _write_results(name: str, codes, values: Any, results: int) -> None:
    """Writes what a Python import gave. References pass to the program: a `Ref` gives its count away."""
    if len(codes) == 0:
        values = ()
    elif len(codes) == 1:
        values = (values,)
    if len(values) != len(codes):
        raise TypeError(f"import {name} gave {len(values)} results in place of {len(codes)}")
    for k, (code, value) in enumerate(zip(codes, values)):
        slot = value.detach() if isinstance(value, Ref) else to_slot(code, value)
        ctypes.c_int64.from_address(results + 8 * k).value = slot


def _leave_message(results: int, text: str) -> None:
    data = text.encode()[: MESSAGE_BYTES - 8]
    ctypes.c_int64.from_address(results).value = len(data)
    ctypes.memmove(results + 8, data, len(data))
