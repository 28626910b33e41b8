"""The workbench of the conversion to vm: types, values, constants, data, imports and calls of the module being made.

Enters: ops of other dialects, one after the other, each given to the function registered for its name by `@converts`.
Leaves: vm ops at the place where the converter stands. Constants are made once a function, at its start; ops are
folded as they are made.

Integers of less than 32 bits live in 32-bit registers whose upper bits mean nothing, except that an i1 is 0 or 1.
What depends on the upper bits asks for `signed` or `unsigned` first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from pyiree.compiler.dialects import util_types as util
from pyiree.compiler.ir.attributes import Attribute, FloatAttr, IntegerAttr, StringAttr, SymbolRefAttr
from pyiree.compiler.ir.builder import Builder
from pyiree.compiler.ir.core import Block, Operation, Value
from pyiree.compiler.ir.diagnostics import ConversionError
from pyiree.compiler.ir.parametrized import DialectType
from pyiree.compiler.ir.rewrite import constant_value
from pyiree.compiler.ir.types import FloatType, IntegerType, Type, f32, f64, i32, i64
from pyiree.compiler.vm.hal_imports import hal_import, hal_import_row
from pyiree.compiler.vm.ops import (
    FAMILY_OPS,
    CallOp,
    CallVariadicOp,
    CondBranchOp,
    ConstRefRodataOp,
    ConstRefZeroOp,
    FailOp,
    ImportOp,
    InitializerOp,
    ModuleOp,
    RodataOp,
    constant_op,
    segment_sizes_attr,
)
from pyiree.compiler.vm.pseudo_ops import expand_value
from pyiree.compiler.vm.rodata_names import sanitize_symbol, string_segment_name
from pyiree.compiler.vm.types import BufferType, ListType, OpaqueType, RefType, is_ref

Convert = Callable[["Converter", Any], None]
_CONVERSIONS: dict[str, Convert] = {}


def converts(*names: str) -> Callable[[Convert], Convert]:
    """Registers the function that converts ops of these names."""

    def register(function: Convert) -> Convert:
        for name in names:
            if name in _CONVERSIONS:
                raise ValueError(f"'{name}' has two conversions")
            _CONVERSIONS[name] = function
        return function

    return register


@cache
def convert_type(type: Type) -> Type | None:
    """The VM's type for one of another dialect; None if there is none."""
    if isinstance(type, IntegerType):
        return i64 if type.width == 64 else i32 if type.width <= 32 else None
    if type.is_index:
        return i64
    if isinstance(type, FloatType):
        # Smaller floats are only carried about, as bits.
        return type if type in (f32, f64) else i32
    if isinstance(type, util.BufferType):
        return BufferType()
    if isinstance(type, util.ListType):
        element = type.element_type
        inner = OpaqueType() if isinstance(element, util.VariantType) else convert_type(element)
        return None if inner is None else ListType(inner)
    if isinstance(type, util.ObjectType):
        return RefType(OpaqueType())
    if isinstance(type, util.PtrType):
        target = convert_type(type.target_type)
        return None if target is None else util.PtrType(target)
    if is_ref(type):
        return type
    if isinstance(type, DialectType) and type.mnemonic.startswith("hal."):
        return RefType(type)
    return None


class Converter:
    """Where the conversion stands: the module, and in a function the place and the values known so far."""

    def __init__(
        self,
        module: ModuleOp,
        executables: dict[str, Operation],
        functions: dict[str, Operation],
        constant_globals: set[str],
    ) -> None:
        self.module = module
        self.executables = executables
        #: The functions and imports that calls may name.
        self.functions = functions
        #: The globals that only initializers set.
        self.constant_globals = constant_globals
        self.called: set[str] = set()
        self.imports: dict[str, ImportOp] = {}
        self._segments: dict[str, RodataOp] = {}
        self._holder: Operation | None = None
        self.builder = Builder()
        self.blocks: dict[Block, Block] = {}
        self._values: dict[Value, Value] = {}
        self._constants: dict[Any, Value] = {}
        self._pure_calls: dict[Any, list[Value]] = {}
        self._entry: Block | None = None

    # Functions.

    def begin_function(self, holder: Operation, entry: Block) -> None:
        """Starts on the body of a new function; data that it uses goes before it in the module."""
        self._holder = holder
        self._entry = entry
        self._values, self._constants, self._pure_calls, self.blocks = {}, {}, {}, {}

    def convert_op(self, op: Operation) -> None:
        """Converts one op; an error if nothing is registered for it."""
        convert = _CONVERSIONS.get(op.name)
        if convert is None:
            raise ConversionError(f"'{op.name}' has no counterpart in the VM; it must be lowered before", op.location)
        self.builder.location = op.location
        convert(self, op)

    # Values and types.

    def type(self, type: Type, op: Operation) -> Type:
        """The VM's type for one; an error if there is none."""
        found = convert_type(type)
        if found is None:
            raise ConversionError(f"'{op.name}': values of type {type} cannot be held by the VM", op.location)
        return found

    def value(self, value: Value) -> Value:
        """The converted value."""
        return self._values[value]

    def values(self, values: Sequence[Value]) -> list[Value]:
        """The converted values."""
        return [self._values[v] for v in values]

    def map(self, old: Value, new: Value) -> None:
        """Says what a value becomes."""
        self._values[old] = new

    def replace(self, op: Any, *values: Value) -> None:
        """Says what the results of an op become."""
        for old, new in zip(op.results, values, strict=True):
            self._values[old] = new

    # Building.

    def insert(self, op: Any) -> Any:
        """Inserts a vm op."""
        return self.builder.insert(op)

    def emit(self, mnemonic: str, *operands: Any) -> Value:
        """A value op of a family by its mnemonic, folded where it can be, pseudo ops written with others."""
        if mnemonic.startswith("const."):
            type = {"i32": i32, "i64": i64, "f32": f32, "f64": f64}[mnemonic.split(".")[1]]
            return self.constant(operands[0] if operands else 0, type)
        expanded = expand_value(mnemonic, list(operands), self.emit)
        if expanded is not None:
            return expanded
        op = FAMILY_OPS[mnemonic](*operands)
        if hasattr(op, "fold"):
            folded = op.fold([constant_value(v) for v in op.operands])
            if folded is not None:
                op.drop_all_references()
                found = folded[0]
                return self.constant(found, op.result.type) if isinstance(found, Attribute) else found
        return self.insert(op).result

    def constant(self, value: Any, type: Type) -> Value:
        """A number; made once a function."""
        if not isinstance(value, Attribute):
            value = FloatAttr(value, type) if type.is_float else IntegerAttr(value, type)
        found = self._constants.get(value)
        if found is None:
            op = constant_op(value, type, self.builder.location)
            assert op is not None, (value, type)
            found = self._constants[value] = self._at_start(op)
        return found

    def null(self, type: Type) -> Value:
        """The null reference of a type; made once a function."""
        found = self._constants.get(type)
        if found is None:
            found = self._constants[type] = self._at_start(
                ConstRefZeroOp(result=type, location=self.builder.location)
            )
        return found

    def load_immutable(self, name: str, make: Callable[[], Any]) -> Value:
        """The value of a global that is set before any function runs; loaded once a function, unless it initializes."""
        if isinstance(self._holder, InitializerOp):
            return self.insert(make()).results[0]
        found = self._constants.get(name)
        if found is None:
            found = self._constants[name] = self._at_start(make())
        return found

    def _at_start(self, op: Any) -> Value:
        """Inserts a constant behind the constants at the start of the function."""
        assert self._entry is not None
        last = None
        if self._constants:
            last = next(reversed(self._constants.values())).defining_op
        self._entry.insert_before(self._entry.first_op if last is None else last.next_op, op)
        return op.results[0]

    # Narrow integers.

    def signed(self, value: Value, type: Type) -> Value:
        """A value of an integer type with the sign in all upper bits."""
        width = 64 if type.is_index else type.width
        if width >= 32:
            return value
        if width == 1:
            return self.emit("sub.i32", self.constant(0, i32), value)
        if width in (8, 16):
            return self.emit(f"ext.i{width}.i32.s", value)
        shift = self.constant(32 - width, i32)
        return self.emit("shr.i32.s", self.emit("shl.i32", value, shift), shift)

    def unsigned(self, value: Value, type: Type) -> Value:
        """A value of an integer type with zeros in all upper bits."""
        width = 64 if type.is_index else type.width
        if width >= 32 or width == 1:
            return value
        if width in (8, 16):
            return self.emit(f"ext.i{width}.i32.u", value)
        return self.emit("and.i32", value, self.constant((1 << width) - 1, i32))

    def to_i64(self, value: Value) -> Value:
        """An integer of the VM in 64 bits, as an unsigned one."""
        return value if value.type is i64 else self.emit("ext.i32.i64.u", value)

    def to_i32(self, value: Value) -> Value:
        """The low 32 bits of an integer of the VM."""
        return value if value.type is i32 else self.emit("trunc.i64.i32", value)

    # Data.

    def string(self, text: str) -> Value:
        """A buffer with the bytes of a text."""
        return self.data(string_segment_name(text), StringAttr(text), alignment=1)

    def data(
        self, name: str, value: Attribute, *, alignment: int | None = None, mime_type: str | None = None
    ) -> Value:
        """A buffer with the bytes of a constant, as a segment of the module; data of one name is the same."""
        name = sanitize_symbol(name)
        segment = self._segments.get(name)
        while segment is not None and segment.value != value:
            name += "_"
            segment = self._segments.get(name)
        if segment is None:
            segment = RodataOp(
                sym_visibility="private",
                sym_name=name,
                value=value,
                alignment=alignment,
                mime_type=mime_type,
                location=self.builder.location,
            )
            self._segments[name] = segment
            self.module.entry_block.insert_before(self._holder, segment)
        return self.insert(ConstRefRodataOp(SymbolRefAttr(segment.sym_name))).value

    # Calls.

    def call_import(self, name: str, arguments: Sequence[Value | list[Any]]) -> list[Value]:
        """Calls a function of the hal module; numbers are made as wide as the parameters are.

        An argument for a span is a list of values, or of tuples of them.
        """
        if name not in self.imports:
            self.imports[name] = hal_import(name)
        row = hal_import_row(name)
        inputs, results = row.function_type.inputs, row.function_type.results
        flat: list[Value] = []
        sizes = []
        for argument, type in zip(arguments, inputs, strict=True):
            if isinstance(argument, list):
                sizes.append(len(argument))
                members = type.types if hasattr(type, "types") else (type,)
                for item in argument:
                    parts = item if isinstance(item, tuple) else (item,)
                    flat += [self._fit(v, t) for v, t in zip(parts, members, strict=True)]
            else:
                sizes.append(-1)
                flat.append(self._fit(argument, type))
        pure = row.attributes.get("nosideeffects")
        attributes = {} if pure is None else {"nosideeffects": pure}
        # In one block, a call without effects gives the same for the same.
        key = (self.builder.block, name, tuple(flat), tuple(sizes))
        if attributes and key in self._pure_calls:
            return self._pure_calls[key]
        callee = SymbolRefAttr(name)
        if row.is_variadic:
            sizes_attr = segment_sizes_attr(sizes)
            call = CallVariadicOp(flat, callee, sizes_attr, row.segment_types, results=results, attributes=attributes)
        else:
            call = CallOp(flat, callee, results=results, attributes=attributes)
        made = list(self.insert(call).results)
        if attributes:
            self._pure_calls[key] = made
        return made

    def _fit(self, value: Value, type: Type) -> Value:
        if value.type is type or is_ref(type):
            return value
        return self.to_i64(value) if type is i64 else self.to_i32(value)

    # Failing.

    def fail_if(self, condition: Value, status: Value, message: str | None) -> None:
        """Ends the invocation if a value is not 0; what follows goes into a block of its own."""
        region = self.builder.block.region
        following = Block()
        region.insert(region.blocks.index(self.builder.block) + 1, following)
        failing = region.append(Block())
        failing.append(FailOp(status, message, location=self.builder.location))
        self.insert(CondBranchOp(condition, [], [], failing, following))
        self.builder.move_to_end(following)

