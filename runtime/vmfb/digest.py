"""The digest of a module's executables, which a loader compares before it runs their code.

Enters: a module's rodata segments. Leaves: the value of the module attribute DIGEST_ATTRIBUTE. Tables and
bytecode can be verified; machine code can't, so a damaged file would crash the process.
"""

import hashlib
from collections.abc import Iterable

DIGEST_ATTRIBUTE = "pyiree.digest"
_KIND = "blake2b-256:"
_ELF_MAGIC = b"\x7fELF"


def executable_digest(segments: Iterable[bytes | memoryview]) -> str:
    """The digest of the segments that are ELF files, in their order."""
    digest = hashlib.blake2b(digest_size=32)
    for segment in segments:
        content = memoryview(segment).cast("B")
        if bytes(content[:4]) == _ELF_MAGIC:
            digest.update(len(content).to_bytes(8, "little"))
            digest.update(content)
    return f"{_KIND}{digest.hexdigest()}"


def stated_digest(attributes: Iterable[tuple[str, str]]) -> str | None:
    """The digest among a module's attributes (key, value), or None.

    Its key or the kind of its value is enough: a file whose key is damaged is not one that never had a digest.
    """
    return next((value for key, value in attributes if key == DIGEST_ATTRIBUTE or value.startswith(_KIND)), None)
