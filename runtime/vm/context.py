"""A module in use: its globals and resolved imports, and calls of its functions.

Enters: a `Module` and what provides its imports. Leaves: results of functions. Creating a context runs the
module's `__init`; closing it runs `__deinit`.

Threads: a context may be invoked from any number of threads at once as long as the module's functions do not
write globals after `__init`, which is so for compiled programs without variables. Each invocation has a
stack of its own; a program that writes globals needs a lock around its calls, or a context for each thread.
"""

import ctypes
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, NamedTuple

from pyiree.runtime.native.image import image
from pyiree.runtime.native.python_objects import objects
from pyiree.runtime.vm import layout
from pyiree.runtime.vm.errors import ClosedError
from pyiree.runtime.vm.invocation import Invocation
from pyiree.runtime.vm.module import Module
from pyiree.runtime.vm.values import Ref, from_slot, to_slot
from pyiree.runtime.vmfb import schema
from pyiree.runtime.vmfb.errors import ModuleError
from pyiree.runtime.vmfb.lazy_dataclass import dataclass


class NativeImport(NamedTuple):
    """A native import with a state of its own, which leaves some calls to a Python callable (`ASK_PYTHON`)."""

    address: int
    state: int
    python: Callable


@dataclass
class ImportModule:
    """A provider of imports.

    `functions` maps a name (without the module's) to a native address `i64 fn(i64 state, i64 arguments, i64
    results)`, to a Python callable, or to both. `conventions`, where it has the name, must equal what is imported.
    `keep_alive` is held for as long as a context uses the provider.
    """

    functions: Mapping[str, int | Callable | NativeImport]
    state: int = 0
    version: int = 0
    conventions: Mapping[str, str] = field(default_factory=dict)
    keep_alive: Any = None


class Context:
    """One instance of a module's state."""

    def __init__(self, module: Module, imports: Mapping[str, ImportModule] | None = None):
        self.module = module
        self._providers = dict(imports or {})
        self.python_imports: list[Callable | None] = []
        self._closed = False
        state = module.definition.module_state or schema.ModuleStateDef()
        self._imports = self._resolve_imports()
        self._global_bytes = (ctypes.c_int64 * (state.global_bytes_capacity // 8 + 2))()
        self._global_refs = (ctypes.c_int64 * (state.global_ref_count + 1))()
        self._block = (ctypes.c_int64 * (layout.CONTEXT_BYTES // 8))()
        self.address = ctypes.addressof(self._block)
        fields = {
            layout.CONTEXT_FUNCTIONS: ctypes.addressof(module.functions),
            layout.CONTEXT_IMPORTS: ctypes.addressof(self._imports),
            layout.CONTEXT_TYPES: ctypes.addressof(module.types),
            layout.CONTEXT_RODATA: ctypes.addressof(module.rodata),
            layout.CONTEXT_GLOBALS: ctypes.addressof(self._global_bytes),
            layout.CONTEXT_GLOBAL_BYTES: state.global_bytes_capacity,
            layout.CONTEXT_GLOBAL_REFS: ctypes.addressof(self._global_refs),
            layout.CONTEXT_GLOBAL_REF_COUNT: state.global_ref_count,
            layout.CONTEXT_STACK_BYTES: module.stack_bytes(),
        }
        for place, value in fields.items():
            self._block[place // 8] = value
        self._dispose = weakref.finalize(self, _dispose, self._block, self._global_refs, self._providers)
        self._dispose.atexit = False  # the threads that use the state may still run then
        if "__init" in module.exports:
            self.invoke("__init")

    def _resolve_imports(self) -> ctypes.Array:
        module = self.module
        for dependency in module.definition.dependencies:
            provider = self._providers.get(dependency.name)
            if provider is None:
                if dependency.flags & schema.DEPENDENCY_REQUIRED:
                    raise ModuleError(f"{module.name} needs module {dependency.name!r}, which is not provided")
            elif provider.version < dependency.minimum_version:
                raise ModuleError(
                    f"{module.name} needs version {dependency.minimum_version} of module {dependency.name!r}; "
                    f"version {provider.version} is provided"
                )
        records = type(module.import_records)(*module.import_records)
        words = layout.IMPORT_BYTES // 8
        for k, item in enumerate(module.definition.imported_functions):
            provider, target = self._find_import(item)
            native = target if isinstance(target, int) else 0
            state = provider.state if provider else 0
            if isinstance(target, NativeImport):
                native, state, target = target
            self.python_imports.append(None if isinstance(target, int) else target)
            records[words * k + layout.IMPORT_FUNCTION // 8] = native
            records[words * k + layout.IMPORT_STATE // 8] = state
            records[words * k + layout.IMPORT_RESOLVED // 8] = 0 if target is None else 1
        return records

    def _find_import(
        self, item: schema.ImportFunctionDef
    ) -> tuple[ImportModule | None, int | Callable | NativeImport | None]:
        module_name, _, name = item.full_name.partition(".")
        provider = self._providers.get(module_name)
        target = provider.functions.get(name) if provider else None
        if target is None:
            if item.flags & schema.IMPORT_OPTIONAL:
                return None, None
            raise ModuleError(f"{self.module.name} imports {item.full_name}, which is not provided")
        declared, wanted = provider.conventions.get(name), item.signature.calling_convention
        if declared is not None and declared != wanted:
            raise ModuleError(
                f"{self.module.name} imports {item.full_name} as {wanted}, but it is provided as {declared}"
            )
        return provider, target

    @property
    def global_refs_address(self) -> int:
        """Where the references of the ref globals lie."""
        return ctypes.addressof(self._global_refs)

    def function(self, name: str) -> "Function":
        """An exported function."""
        if name not in self.module.exports:
            known = ", ".join(sorted(self.module.exports)) or "none"
            raise KeyError(f"{self.module.name} exports no function {name!r}; its exports: {known}")
        return Function(self, name, self.module.exports[name])

    def invoke(self, name: str, arguments: Sequence[Any] = ()) -> list[Any]:
        """Calls an exported function. References come back as `Ref`, null ones as None."""
        return self.function(name)(*arguments)

    def close(self) -> None:
        """Runs `__deinit` and lets go of all state; at most once."""
        if not self._closed:
            if "__deinit" in self.module.exports:
                self.invoke("__deinit")
            self._closed = True
            self._dispose()
            objects.drain()

    @property
    def closed(self) -> bool:
        return self._closed

    def __enter__(self) -> "Context":
        return self

    def __exit__(self, *_) -> None:
        self.close()


def _dispose(block: ctypes.Array, global_refs: ctypes.Array, providers: dict) -> None:
    for k, address in enumerate(global_refs):
        global_refs[k] = 0
        image().release(address)
    image().vm_free_pool(ctypes.addressof(block))
    providers.clear()


class Function:
    """An exported function of a context."""

    def __init__(self, context: Context, name: str, ordinal: int):
        self.context = context
        self.name = name
        self.ordinal = ordinal
        self.convention = context.module.conventions[ordinal]

    def __call__(self, *arguments: Any) -> list[Any]:
        """Calls the function and waits for it; Ctrl-C ends it between two native steps."""
        invocation = self.start(*arguments)
        while not invocation.step():
            pass
        return invocation.results()

    def start(self, *arguments: Any) -> Invocation:
        """An invocation to be driven step by step; several may be under way."""
        if self.context.closed:
            raise ClosedError(f"the context of {self.context.module.name} is closed")
        return Invocation(self.context, self.prepare(), arguments)

    def prepare(self) -> "PreparedCall":
        """Slot arrays for native callers of `vm_invoke`."""
        return PreparedCall(self)


class PreparedCall:
    """A function with its slots allocated: `vm_invoke(context, ordinal, arguments, results, out)` runs it.

    The addresses are valid for as long as this object lives; it serves one invocation at a time.
    """

    __slots__ = ("addresses", "arguments", "context", "function", "ordinal", "out", "results")

    def __init__(self, function: Function):
        convention = function.convention
        self.function = function
        self.arguments = (ctypes.c_int64 * (len(convention.arguments) + 1))()
        self.results = (ctypes.c_int64 * (len(convention.results) + 1))()
        self.out = ctypes.c_int64()
        self.context = function.context.address
        self.ordinal = function.ordinal
        # The arguments of vm_invoke, in order.
        self.addresses = (
            self.context,
            self.ordinal,
            ctypes.addressof(self.arguments),
            ctypes.addressof(self.results),
            ctypes.addressof(self.out),
        )

    def fill(self, values: Sequence[Any]) -> None:
        """Writes the argument slots."""
        codes = self.function.convention.arguments
        if len(values) != len(codes):
            raise TypeError(f"{self.function.name} takes {len(codes)} arguments, not {len(values)}")
        for k, (code, value) in enumerate(zip(codes, values)):
            self.arguments[k] = to_slot(code, value)

    def take_results(self) -> list[Any]:
        """The results as Python values, which own their references."""
        values: list[Any] = []
        for k, code in enumerate(self.function.convention.results):
            value = from_slot(code, self.results[k])
            if code == "r":
                value = Ref(value) if value else None
            values.append(value)
        return values
