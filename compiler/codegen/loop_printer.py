"""Prints loop IR. Enters: a `KernelFunction`. Leaves: text, one op a line (phase "kernel")."""

from __future__ import annotations

from .loops import Block, Buffer, KernelFunction, Op, Value


def print_kernel(kernel: KernelFunction) -> str:
    """The kernel as text."""
    return _Printer().kernel(kernel)


class _Printer:
    def __init__(self):
        self._names: dict[Value, str] = {}
        self._lines: list[str] = []
        self._indent = 1

    def kernel(self, kernel: KernelFunction) -> str:
        parameters = ", ".join(self._buffer_declaration(b) for b in kernel.buffers)
        self._lines.append(f"kernel @{kernel.name}({parameters}) {{")
        self._block(kernel.body)
        self._lines.append("}")
        return "\n".join(self._lines) + "\n"

    def _buffer_declaration(self, buffer: Buffer) -> str:
        if buffer.space == "local":
            return f"%{buffer.name}: local {buffer.elem} at {buffer.byte_offset}"
        if buffer.data is not None:
            return f"%{buffer.name}: table of {len(buffer.data)} bytes, {buffer.elem}"
        access = "readwrite" if buffer.writable else "readonly"
        offset = buffer.byte_offset
        where = "" if offset == 0 else f" at {offset if isinstance(offset, int) else '?'}"
        return f"%{buffer.name}: binding {buffer.number} {access} {buffer.elem}{where}"

    def _name(self, value: Value) -> str:
        if value.const is not None:
            return str(value.const)
        name = self._names.get(value)
        if name is None:
            name = self._names[value] = f"%{len(self._names)}"
        return name

    def _line(self, text: str) -> None:
        self._lines.append("  " * self._indent + text)

    def _block(self, block: Block, condition: bool = False) -> None:
        for op in block.ops:
            if op.name != "const":
                self._op(op)
        if condition:
            again, *values = block.yields
            self._line(f"yield {', '.join(map(self._name, values))} while {self._name(again)}")
        elif block.yields:
            self._line("yield " + ", ".join(map(self._name, block.yields)))

    def _op(self, op: Op) -> None:
        if op.name == "for":
            self._for(op)
        elif op.name == "repeat":
            self._repeat(op)
        elif op.name == "if":
            self._line(f"if {self._name(op.operands[0])} {{")
            self._nested(op.body)
        elif op.name in ("load", "gather", "store", "stream", "scatter"):
            self._memory(op)
        elif op.name in ("prefetch", "prefetch.far"):
            buffer, offset = op.attrs
            self._line(f"{op.name} %{buffer.name}[{self._name(op.operands[0])}{f' + {offset}' if offset else ''}]")
        else:
            result = op.results[0]
            operands = ", ".join(map(self._name, op.operands))
            attrs = "" if op.attrs is None else f" {_attribute(op.attrs)}"
            self._line(f"{self._name(result)} = {op.name}{attrs} {operands}".rstrip() + f" : {result.type}")

    def _repeat(self, op: Op) -> None:
        carry = ", ".join(f"{self._name(c)} = {self._name(i)}" for c, i in zip(op.body.args, op.operands, strict=True))
        self._line(f"{', '.join(map(self._name, op.results))} = repeat carry({carry}) {{")
        self._nested(op.body, True)

    def _nested(self, block: Block, condition: bool = False) -> None:
        self._indent += 1
        self._block(block, condition)
        self._indent -= 1
        self._line("}")

    def _for(self, op: Op) -> None:
        start, stop, *initial = op.operands
        index, *carried = op.body.args
        results = ", ".join(map(self._name, op.results))
        carry = ", ".join(f"{self._name(c)} = {self._name(i)}" for c, i in zip(carried, initial, strict=True))
        self._line(
            (f"{results} = " if results else "")
            + f"for {self._name(index)} = {self._name(start)} to {self._name(stop)} step {op.attrs}"
            + (f" carry({carry})" if carry else "")
            + " {"
        )
        self._nested(op.body)

    def _memory(self, op: Op) -> None:
        buffer, offset = op.attrs
        operands = op.operands
        stored = ""
        if op.name in ("store", "stream", "scatter"):
            stored = f" {self._name(operands[0])},"
            operands = operands[1:]
        where = f"%{buffer.name}[{self._name(operands[0])}{f' + {offset}' if offset else ''}]"
        mask = f" mask {self._name(operands[1])}" if len(operands) > 1 else ""
        other = f" else {self._name(operands[2])}" if len(operands) > 2 else ""
        result = f"{self._name(op.results[0])} = " if op.results else ""
        kind = f" : {op.results[0].type}" if op.results else f" : {op.operands[0].type}"
        self._line(f"{result}{op.name}{stored} {where}{mask}{other}{kind}")


def _attribute(attrs) -> str:
    if isinstance(attrs, tuple):
        return "<" + ", ".join(map(str, attrs)) + ">"
    return f"<{attrs}>"
