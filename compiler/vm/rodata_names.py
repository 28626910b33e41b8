"""Names of data segments.

Enters: the name that somebody gave a constant, or its value. Leaves: the name of its symbol; strings are called after
their beginning and a hash, so that equal strings of any function have one name.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

from pyiree.compiler.ir.attributes import Attribute, StringAttr

_SHOWN = 20


@lru_cache(1024)
def sanitize_symbol(name: str) -> str:
    """A name with everything but letters, digits and underscores replaced."""
    return "".join([c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name])


@lru_cache(1024)
def string_segment_name(text: str) -> str:
    """`_utf8_hal_device_id_C6650FF2…` for "hal.device.id"."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest().upper()
    return f"_utf8_{sanitize_symbol(text[:_SHOWN]).strip('_')}_{digest}"


def segment_name(name: str | None, value: Attribute) -> str:
    """The symbol for a constant."""
    if name:
        return sanitize_symbol(name)
    return string_segment_name(value.value) if isinstance(value, StringAttr) else "_const"
