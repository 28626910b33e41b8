"""Writes LLVM IR as text. Enters: method calls; leaves: `module.text()`, which `llvm.objects` compiles.

`Module` is here, `Function` (the instructions) in `function`, types and constants in `values`, loops in
`control_flow`. Appending strings is several times faster than building llvmlite's objects, and the text is
what
gets hashed for the object cache anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .function import Declaration, Function
from .values import PTR, VOID, Value, const

_PLAIN = frozenset(range(0x20, 0x7F)) - {0x22, 0x5C}
_ESCAPED = [chr(b) if b in _PLAIN else f"\\{b:02X}" for b in range(256)]
#: Longer data is no text that anyone reads, and is written in hexadecimal, which takes less time.
_LONG_BYTES = 256


class Module:
    """One LLVM module. `target` (codegen.target.Target) gives the triple, data layout and function
    attributes."""

    def __init__(self, target=None):
        self.target = target
        self.functions: list[Function] = []
        self.globals: list[str] = []
        self.declarations: dict[str, str] = {}
        self._metadata: list[str] = []
        self._strings: dict[bytes, Value] = {}
        self._named_metadata: dict[str, str] = {}
        width = target.vector_bytes * 8 if target is not None else 0
        # Vectors that do not fit the registers wait on the stack: where they would lie across cache lines, each load of
        # one costs two.
        self._attributes = "nounwind"
        if width >= 256:
            self._attributes += f' alignstack={width // 8} "prefer-vector-width"="{width}"'

    # -- functions

    def function(
        self,
        name: str,
        args: Sequence[tuple[str, str]],
        ret: str = VOID,
        linkage: str = "internal",
        attrs: str = "",
    ) -> Function:
        """Defines a function. args: (name, type with optional attributes: "ptr noalias readonly").

        linkage: "internal" for helpers, "hidden" for a kernel that another object of the same library names,
        "" for a symbol that the shared object exports.
        """
        function = Function(self, name, args, ret, linkage, attrs)
        self.functions.append(function)
        return function

    def declare(self, name: str, ret: str, args: Sequence[str], attrs: str = "", hidden: bool = True) -> Declaration:
        """Declares a function of another object of the same library (hidden: addressed without a GOT)."""
        if name not in self.declarations:
            visibility = "hidden " if hidden and not name.startswith("llvm.") else ""
            self.declarations[name] = f"declare {visibility}{ret} @{name}({', '.join(args)}) {attrs}".rstrip()
        return Declaration(name, ret, tuple(args))

    def external(self, name: str) -> Value:
        """Data of another object of the same library; its value is the address."""
        self.globals.append(f"@{name} = external hidden constant i8")
        return Value(f"@{name}", PTR)

    # -- constants in read-only memory

    def constant(self, name: str, ty: str, init: str, align: int = 8, linkage: str = "private unnamed_addr") -> Value:
        """A constant global with LLVM's own text for its type and initializer; its value is the address."""
        self.globals.append(f"@{name} = {linkage} constant {ty} {init}, align {align}")
        return Value(f"@{name}", PTR)

    def constant_bytes(self, name: str, data: bytes, align: int = 64) -> Value:
        text = "".join([_ESCAPED[b] for b in data]) if len(data) <= _LONG_BYTES else "\\" + data.hex("\\")
        return self.constant(name, f"[{len(data)} x i8]", f'c"{text}"', align)

    def constant_array(self, name: str, ty: str, values: Iterable, align: int = 64) -> Value:
        """An array of numbers of one scalar type."""
        items = [str(const(v, ty)) for v in values]
        return self.constant(name, f"[{len(items)} x {ty}]", "[" + ", ".join(items) + "]", align)

    def pointer_table(self, name: str, entries: Iterable[Value | Function | Declaration | None]) -> Value:
        """An array of addresses, relocated at load time; None is a null pointer."""
        refs = [f"ptr {_address(e)}" for e in entries]
        return self.constant(name, f"[{len(refs)} x ptr]", "[" + ", ".join(refs) + "]", 8)

    def string(self, text: str | bytes) -> Value:
        """A zero-terminated string; equal strings are one."""
        data = (text.encode() if isinstance(text, str) else text) + b"\0"
        if data not in self._strings:
            self._strings[data] = self.constant_bytes(f"str.{len(self._strings)}", data, 1)
        return self._strings[data]

    # -- metadata

    def metadata(self, text: str) -> str:
        """Adds a numbered node and returns its reference (`!3`)."""
        self._metadata.append(text)
        return f"!{len(self._metadata) - 1}"

    def shared_metadata(self, text: str) -> str:
        """The same, but equal nodes are one."""
        if text not in self._named_metadata:
            self._named_metadata[text] = self.metadata(text)
        return self._named_metadata[text]

    def loop_metadata(self, *properties: str) -> str:
        """`, !llvm.loop !n` with properties such as 'llvm.loop.unroll.disable'."""
        at = self.metadata("")
        nodes = [self.shared_metadata(f'!{{!"{p}"}}') for p in properties]
        self._metadata[int(at[1:])] = f"distinct !{{{', '.join([at, *nodes])}}}"
        return f", !llvm.loop {at}"

    def text(self) -> str:
        """The module as LLVM IR."""
        parts = []
        if self.target is not None:
            parts += [
                f'target datalayout = "{self.target.data_layout}"',
                f'target triple = "{self.target.triple}"',
            ]
        parts += self.globals
        parts += self.declarations.values()
        parts += [f.text() for f in self.functions]
        parts.append(f"attributes #0 = {{ {self._attributes} }}")
        parts += [f"!{k} = {node}" for k, node in enumerate(self._metadata)]
        return "\n".join(parts) + "\n"


def _address(entry) -> str:
    if entry is None:
        return "null"
    return entry.ref if isinstance(entry, Value) else f"@{entry.name}"
