"""The public names of pyiree: `jit`, the stages, arrays and configuration (all loaded on first use)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

# Public name -> the module that holds it; a name that is the module itself has no attribute after the colon.
_PUBLIC = {
    "Array": "pyiree.array:Array",
    "CacheWarning": "pyiree.errors:CacheWarning",
    "CompileError": "pyiree.errors:CompileError",
    "Compiled": "pyiree.stages:Compiled",
    "ConfigError": "pyiree.errors:ConfigError",
    "Lowered": "pyiree.stages:Lowered",
    "MaskedArrayError": "pyiree.errors:MaskedArrayError",
    "Program": "pyiree.program:Program",
    "PyireeError": "pyiree.errors:PyireeError",
    "SignatureError": "pyiree.errors:SignatureError",
    "StaticArgumentError": "pyiree.errors:StaticArgumentError",
    "Traced": "pyiree.stages:Traced",
    "UnsupportedError": "pyiree.errors:UnsupportedError",
    "__version__": "pyiree.cache:package_version",
    "cache": "pyiree.cache",
    "clear_caches": "pyiree.jitted:clear_caches",
    "compile": "pyiree.program:compile",
    "config": "pyiree.config",
    "device_put": "pyiree.array:device_put",
    "jit": "pyiree.decorator:jit",
    "load": "pyiree.program:load",
}

__all__ = sorted(_PUBLIC)

if TYPE_CHECKING:
    from pyiree import cache as cache
    from pyiree import config as config
    from pyiree.array import Array as Array
    from pyiree.array import device_put as device_put
    from pyiree.decorator import jit as jit
    from pyiree.errors import CacheWarning as CacheWarning
    from pyiree.errors import CompileError as CompileError
    from pyiree.errors import ConfigError as ConfigError
    from pyiree.errors import MaskedArrayError as MaskedArrayError
    from pyiree.errors import PyireeError as PyireeError
    from pyiree.errors import SignatureError as SignatureError
    from pyiree.errors import StaticArgumentError as StaticArgumentError
    from pyiree.errors import UnsupportedError as UnsupportedError
    from pyiree.jitted import clear_caches as clear_caches
    from pyiree.program import Program as Program
    from pyiree.program import compile as compile
    from pyiree.program import load as load
    from pyiree.stages import Compiled as Compiled
    from pyiree.stages import Lowered as Lowered
    from pyiree.stages import Traced as Traced

    __version__: str


def __getattr__(name: str) -> Any:
    target = _PUBLIC.get(name)
    if target is None:
        raise AttributeError(f"module 'pyiree' has no attribute {name!r}")
    module, _, attribute = target.partition(":")
    value: Any = importlib.import_module(module)
    if attribute:
        value = getattr(value, attribute)
    if name == "__version__":
        value = value()
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
