"""How names and strings are written in MLIR text."""

from __future__ import annotations


def quote(value: str) -> str:
    """A string in double quotes with MLIR's escapes (`\\22` for a quote, `\\0A` for a newline)."""
    if value.isascii() and value.isprintable() and '"' not in value and "\\" not in value:
        return f'"{value}"'
    out = []
    for byte in value.encode("utf-8", "surrogateescape"):
        if byte == 0x5C:
            out.append("\\\\")
        elif 0x20 <= byte < 0x7F and byte != 0x22:
            out.append(chr(byte))
        else:
            out.append(f"\\{byte:02X}")
    return '"' + "".join(out) + '"'


def is_bare_identifier(name: str) -> bool:
    return name.isascii() and name.replace(".", "_").replace("$", "_").isidentifier() and name[0] not in ".$"


def symbol_text(name: str) -> str:
    """`@name`, quoted when it is not an identifier."""
    return f"@{name}" if name and is_bare_identifier(name) else "@" + quote(name)
