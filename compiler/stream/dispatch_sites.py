"""The dispatch functions of a module beside the commands that dispatch them.

Enters: a module at the cmd level. Leaves: for every function its sites, its numbers and its bindings, and ways to
change the arguments of a function and the operands at all its sites together.

The numbers among a function's arguments stand for a site's uniform operands, its bindings for the site's resources,
each in order; the two may be mixed in the list of arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyiree.compiler.dialects.functions import FunctionOp
from pyiree.compiler.ir.attributes import Attribute
from pyiree.compiler.ir.core import BlockArgument, Operation
from pyiree.compiler.ir.types import FunctionType
from pyiree.compiler.stream.ops import BindingType, CmdDispatchOp, ExecutableExportOp, ExecutableOp
from pyiree.runtime.vmfb.lazy_dataclass import dataclass


@dataclass
class DispatchFunction:
    """A dispatch function, and all commands that dispatch it."""

    function: FunctionOp
    sites: list[CmdDispatchOp]

    @property
    def numbers(self) -> list[BlockArgument]:
        """The arguments that are numbers, in the order of a site's uniform operands."""
        return [a for a in self.function.entry_block.arguments if not isinstance(a.type, BindingType)]

    @property
    def bindings(self) -> list[BlockArgument]:
        """The arguments that are bindings, in the order of a site's resources."""
        return [a for a in self.function.entry_block.arguments if isinstance(a.type, BindingType)]

    def erase_numbers(self, positions: Sequence[int]) -> None:
        """Drops unused numbers from the function and from its sites."""
        numbers = self.numbers
        erase_arguments(self.function, [numbers[i] for i in positions])
        for site in self.sites:
            site.uniform_operands = [v for i, v in enumerate(site.uniform_operands) if i not in positions]


def functions_of(executable: ExecutableOp) -> Iterator[FunctionOp]:
    """The functions that an executable holds."""
    for op in executable.body.ops:
        if op.name == "builtin.module":
            yield from [f for f in op.regions[0].ops if isinstance(f, FunctionOp) and not f.is_declaration]


def dispatch_functions(module: Operation) -> list[DispatchFunction]:
    """Every exported function of a module whose sites each have no other choice."""
    sites: dict[tuple[str, str], list[CmdDispatchOp]] = {}
    shared: set[tuple[str, str]] = set()
    for op in module.walk_type(CmdDispatchOp):
        entries = [(entry.root, entry.leaf) for entry in op.entry_points]
        for entry in entries:
            sites.setdefault(entry, []).append(op)
        if len(entries) > 1:
            shared.update(entries)
    found = []
    for executable in module.walk_type(ExecutableOp):
        functions = {f.sym_name: f for f in functions_of(executable)}
        for export in executable.body.ops:
            if isinstance(export, ExecutableExportOp) and export.function_ref.leaf in functions:
                key = (executable.sym_name, export.sym_name)
                if key in sites and key not in shared:
                    found.append(DispatchFunction(functions[export.function_ref.leaf], sites[key]))
    return found


def erase_arguments(function: FunctionOp, arguments: Sequence[BlockArgument]) -> None:
    """Drops unused arguments of a function with their attributes."""
    block = function.entry_block
    gone = {a.index for a in arguments}
    kept = [function.argument_attributes(i).value for i in range(len(block.arguments)) if i not in gone]
    for index in sorted(gone, reverse=True):
        block.erase_argument(index)
    set_signature(function, kept)


def set_signature(function: FunctionOp, attributes: Sequence[dict[str, Attribute]]) -> None:
    """The type of a function is that of its arguments again, which have these attributes."""
    function.function_type = FunctionType(function.entry_block.argument_types, function.function_type.results)
    function.set_argument_attributes(attributes)
