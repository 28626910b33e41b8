"""The module `pyiree_lapack`: LAPACK routines for bytecode to import.

Enters: buffer views and the attributes of a call (see `vmfb/host_calls`). Leaves: new buffer views. A call runs on the
thread that invoked the program, without the GIL; how a routine is called is worked out once for each combination of
shapes.
"""

from __future__ import annotations

import functools
from typing import Any

from pyiree.runtime.hal import layout
from pyiree.runtime.hal.element_types import dtype_of
from pyiree.runtime.modules.lapack_calls import CallBuilder, Plan, Spec
from pyiree.runtime.modules.lapack_routines import DESCRIPTIONS
from pyiree.runtime.native.layout import FAILED_PRECONDITION, INVALID_ARGUMENT, OBJECT_TYPE, TYPE_HAL_BUFFER_VIEW
from pyiree.runtime.native.python_objects import read_word
from pyiree.runtime.vm.context import ImportModule
from pyiree.runtime.vm.errors import VmError
from pyiree.runtime.vmfb.host_calls import LAPACK_ROUTINES

_ViewKind = tuple[tuple[int, ...], int]  # dimensions, element type


@functools.cache
def lapack_module() -> ImportModule:
    """The provider of the module's imports."""
    functions: dict[str, Any] = {name: functools.partial(_call, name) for name in LAPACK_ROUTINES}
    conventions = {name: routine.convention for name, routine in LAPACK_ROUTINES.items()}
    return ImportModule(functions, conventions=conventions)


def _call(name: str, *arguments: int) -> Any:
    count = len(LAPACK_ROUTINES[name].operands)
    views = arguments[:count]
    results = _plan(name, tuple([_kind_of(view, name) for view in views]), arguments[count:]).run(views)
    return results[0] if len(results) == 1 else tuple(results)


def _kind_of(view: int, name: str) -> _ViewKind:
    if not view:
        raise VmError(FAILED_PRECONDITION, f"{name} needs an array, not a null reference")
    if read_word(view + OBJECT_TYPE) != TYPE_HAL_BUFFER_VIEW:
        raise VmError(INVALID_ARGUMENT, f"{name} needs buffer views")
    rank = read_word(view + layout.VIEW_RANK)
    dims = tuple([read_word(view + layout.VIEW_DIMS + 8 * k) for k in range(rank)])
    return dims, read_word(view + layout.VIEW_ELEMENT_TYPE)


@functools.lru_cache(maxsize=1024)
def _plan(name: str, kinds: tuple[_ViewKind, ...], scalars: tuple[int, ...]) -> Plan:
    routine, description = LAPACK_ROUTINES[name], DESCRIPTIONS[name[1:]]
    for (dims, _), rank in zip(kinds, description.ranks):
        if len(dims) < rank:
            raise VmError(INVALID_ARGUMENT, f"{name} needs arrays of {rank} dimensions at least, not {list(dims)}")
    specs = [Spec(dims, dtype_of(element_type)) for dims, element_type in kinds]
    builder = CallBuilder(name[0], specs, dict(zip(routine.attributes, scalars)), description.ranks)
    description.describe(builder)
    return builder.plan
