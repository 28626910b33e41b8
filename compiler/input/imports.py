"""The functions of other modules that a program calls.

Enters: names and types, as calls are converted. Leaves: one declaration for each function, `util.func private` without
a body, which the VM phase turns into an import.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyiree.compiler.dialects.util import FuncOp
from pyiree.compiler.ir.attributes import Attribute, SymbolRefAttr, UnitAttr
from pyiree.compiler.ir.core import Region
from pyiree.compiler.ir.types import FunctionType, Type


class Imports:
    """Collects the declarations of one module."""

    def __init__(self) -> None:
        self._declared: dict[str, FuncOp] = {}

    def declare(self, name: str, inputs: Sequence[Type], results: Sequence[Type], marks: Sequence[str] = ()) -> None:
        """Says that the program calls `module.function`; all calls of it have one type. `marks` are attributes:
        `vm.yield` where it may suspend the program, `nosideeffects` where it gives the same for the same."""
        if name not in self._declared:
            attributes: dict[str, Attribute] = {mark: UnitAttr() for mark in marks}
            self._declared[name] = FuncOp(
                sym_name=name,
                function_type=FunctionType(inputs, results),
                sym_visibility="private",
                body=Region(),
                attributes=attributes,
            )

    def symbol(self, name: str) -> SymbolRefAttr:
        """The reference by which a call names it."""
        return SymbolRefAttr(name)

    @property
    def declarations(self) -> list[FuncOp]:
        """The functions, in the order in which they were first called."""
        return list(self._declared.values())
