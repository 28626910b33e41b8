"""What all vm ops share: names of results by their type, the constraints on operands, property lists in text.

Enters: nothing. Leaves: `VmOp`, the base of the dialect's ops; constraints; the directive `VmProperties`; and
`FAMILY_OPS`, the op classes of the regular families by their mnemonics (`FAMILY_OPS["add.i32"]` is `vm.add.i32`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyiree.compiler.ir.attributes import Attribute, IntegerAttr
from pyiree.compiler.ir.constraints import TypeConstraint
from pyiree.compiler.ir.definition import Op, OpMeta
from pyiree.compiler.ir.format import directive
from pyiree.compiler.ir.registry import register_operation_maker
from pyiree.compiler.ir.types import i64
from pyiree.compiler.vm.types import BufferType, ListType, RefType, is_ref, is_vm_type

AnyVm = TypeConstraint("a value of the VM", is_vm_type)
AnyRef = TypeConstraint("a reference", is_ref)
AnyList = TypeConstraint("!vm.list", lambda t: isinstance(t, ListType))
AnyBuffer = TypeConstraint("!vm.buffer", lambda t: isinstance(t, BufferType), BufferType())

_NAMES_BY_TYPE = {RefType: "ref", BufferType: "buffer", ListType: "list"}


class VmOp(Op):
    """Base of the vm dialect's ops: a reference without a better name is called after its type."""

    def result_names(self) -> list[str]:
        return [_NAMES_BY_TYPE.get(type(r.type), "") for r in self.results]


def property_text(printer: Any, name: str, value: Attribute) -> str:
    """`name = value`; a 64-bit integer goes without its type."""
    if isinstance(value, IntegerAttr) and value.type is i64:
        return f"{name} = {value.value}"
    return f"{name} = {printer.attr_text(value)}"


@directive("VmProperties")
class VmProperties:
    """` <alignment = 16, mime_type = "text/plain">`: properties that the format writes nowhere else, or nothing."""

    @staticmethod
    def print(printer: Any, op: Any, *arguments: Any) -> None:
        names = arguments[: len(arguments) // 2]
        values = arguments[len(arguments) // 2 :]
        entries = [property_text(printer, n, v) for n, v in sorted(zip(names, values)) if v is not None]
        if entries:
            printer.emit(f" <{', '.join(entries)}>")

    @staticmethod
    def parse(parser: Any, *names: str) -> Any:
        found: dict[str, Any] = {}
        if parser.parse_optional("<"):
            braces = parser.parse_optional("{")
            while not parser.at("}" if braces else ">"):
                name = parser.parse_one_of(names, "a property")
                parser.parse_punctuation("=")
                found[name] = parser.parse_attribute(i64 if name == "alignment" else None)
                if not parser.parse_optional(","):
                    break
            if braces:
                parser.parse_punctuation("}")
            parser.parse_punctuation(">")
        values = tuple([found.get(name) for name in names])
        return values if len(values) > 1 else values[0]


class OpFamilies:
    """Op classes by mnemonic, each made from its row when it is first asked for: a program needs few of them."""

    def __init__(self) -> None:
        self._rows: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {}
        self._made: dict[str, Any] = {}

    def add(self, mnemonic: str, base: Any, fields: dict[str, Any], **namespace: Any) -> None:
        """A row: the family's class with its fields filled in."""
        self._rows[mnemonic] = (base, fields, namespace)

    def __getitem__(self, mnemonic: str) -> Any:
        found = self._made.get(mnemonic)
        if found is None:
            base, fields, namespace = self._rows[mnemonic]
            namespace = {"__annotations__": fields, "__doc__": base.__doc__, "__module__": base.__module__, **namespace}
            class_name = "".join([part.capitalize() for part in mnemonic.split(".")]) + "Op"
            found = self._made[mnemonic] = OpMeta(class_name, (base,), namespace, name=f"vm.{mnemonic}")
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __contains__(self, mnemonic: object) -> bool:
        return mnemonic in self._rows

    def lookup(self, name: str) -> Any:
        """The class of an op by its full name, or None."""
        mnemonic = name.removeprefix("vm.")
        return self[mnemonic] if mnemonic in self._rows else None


FAMILY_OPS = OpFamilies()
register_operation_maker("vm", FAMILY_OPS.lookup)
