"""The module `pyiree_lapack`: LAPACK routines for bytecode to import.

Enters: buffer views and the attributes of a call (see `vmfb/host_calls`). Leaves: new buffer views. A call runs on the
thread that invoked the program; how a routine is called is worked out here once for each combination of shapes, and
natively looked up from then on.
"""

from __future__ import annotations

import ctypes

from pyiree.runtime.fork import fork_safe_lock
from pyiree.runtime.hal.device import memory_pool
from pyiree.runtime.hal.element_types import dtype_of
from pyiree.runtime.hal.layout import VIEW_DIMS, VIEW_ELEMENT_TYPE, VIEW_RANK
from pyiree.runtime.modules import lapack_layout as layout
from pyiree.runtime.modules.lapack_calls import CallBuilder, Plan, Spec
from pyiree.runtime.modules.lapack_routines import DESCRIPTIONS
from pyiree.runtime.native.image import image
from pyiree.runtime.native.layout import (
    FAILED_PRECONDITION,
    INVALID_ARGUMENT,
    MESSAGE_BYTES,
    OBJECT_TYPE,
    OK,
    SLOW,
    TYPE_HAL_BUFFER_VIEW,
)
from pyiree.runtime.native.python_objects import read_word
from pyiree.runtime.vm.context import ImportModule, NativeImport
from pyiree.runtime.vm.errors import VmError
from pyiree.runtime.vmfb.host_calls import LAPACK_ROUTINES


def lapack_module(names: set[str]) -> ImportModule:
    """The provider of the routines of these names to one program."""
    routines = {name: _Routine(name) for name in names & LAPACK_ROUTINES.keys()}
    functions = {name: NativeImport(image().address("lapack_call"), r.state, r.call) for name, r in routines.items()}
    conventions = {name: LAPACK_ROUTINES[name].convention for name in routines}
    return ImportModule(functions, conventions=conventions, keep_alive=routines)


class _Routine:
    """One import: its plans, which native code looks through."""

    def __init__(self, name: str):
        self._name = name
        self._plans: list[Plan] = []
        self._lock = fork_safe_lock()
        self._block = (ctypes.c_int64 * (layout.STATE_BYTES // 8))()
        self._block[layout.STATE_POOL // 8] = memory_pool()
        self.state = ctypes.addressof(self._block)

    def call(self, *arguments: int) -> int | tuple[int, ...]:
        """A call for which there was no plan."""
        routine = LAPACK_ROUTINES[self._name]
        count = len(routine.operands)
        kinds = [self._kind_of(view) for view in arguments[:count]]
        specs = [Spec(dims, dtype_of(element_type)) for dims, element_type in kinds]
        plan = Plan(self._build(specs, arguments[count:]), [kind[1] for kind in kinds], arguments[count:])
        with self._lock:
            plan.follow_by(self._block[layout.STATE_PLANS // 8])
            self._plans.append(plan)
            self._block[layout.STATE_PLANS // 8] = plan.address
        given = (ctypes.c_int64 * len(arguments))(*arguments)
        results = (ctypes.c_int64 * (MESSAGE_BYTES // 8))()
        status = image().lapack_run_plan(
            plan.address, self.state, ctypes.addressof(given), ctypes.addressof(results)
        )
        if status not in (OK, SLOW):
            length = results[0]
            raise VmError(status, bytes(memoryview(results).cast("B")[8 : 8 + length]).decode())
        made = tuple(results[: plan.result_count])
        return made[0] if len(made) == 1 else made

    def _build(self, specs: list[Spec], scalars: tuple[int, ...]) -> CallBuilder:
        name = self._name
        description = DESCRIPTIONS[name[1:]]
        for spec, rank in zip(specs, description.ranks):
            if len(spec.shape) < rank:
                raise VmError(
                    INVALID_ARGUMENT, f"{name} needs arrays of {rank} dimensions at least, not {list(spec.shape)}"
                )
        attributes = dict(zip(LAPACK_ROUTINES[name].attributes, scalars))
        builder = CallBuilder(name[0], specs, attributes, description.ranks)
        description.describe(builder)
        return builder

    def _kind_of(self, view: int) -> tuple[tuple[int, ...], int]:
        """The dimensions and the element type of a view."""
        if not view:
            raise VmError(FAILED_PRECONDITION, f"{self._name} needs an array, not a null reference")
        if read_word(view + OBJECT_TYPE) != TYPE_HAL_BUFFER_VIEW:
            raise VmError(INVALID_ARGUMENT, f"{self._name} needs buffer views")
        rank = read_word(view + VIEW_RANK)
        return tuple([read_word(view + VIEW_DIMS + 8 * k) for k in range(rank)]), read_word(view + VIEW_ELEMENT_TYPE)
