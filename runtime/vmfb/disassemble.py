"""A module as text, in the form that IREE's assembler reads back.

Enters: a `ModuleDef`. Leaves: text: module tables first, then each function with its blocks. Every operand is
printed as it is encoded (a moved reference as `%R3`), so reassembling gives the same bytes. IREE's assembler
does not take `switch.ref`, nor quotes and line breaks in strings.
"""

import struct

from pyiree.runtime.vmfb import abi, isa, schema

# How an instruction is written where it is not `results = vm.NAME operands`; {k} is its field k.
_FORMS = {
    "list.alloc": "{2} = vm.{name} {1} : !vm.list<{0}>",
    "list.get.ref": "{3} = vm.{name} {0}, {1} : {2}",
    "select.ref": "{4} = vm.{name} {0} ? {2} : {3} -> {1}",
    "switch.ref": "{4} = vm.{name} {0}[{3}] else {2} -> {1}",
    "cast.any.ref": "{2} = vm.{name} {0} : !vm.ref<?> -> {1}",
    "const.ref.rodata": "{1} = vm.{name} {0}",
    "br": "vm.{name} {0}{1}",
    "yield": "vm.{name} {0}{1}",
    "break": "vm.{name} {0}{1}",
    "cond_br": "vm.{name} {0}, {1}{2}, {3}{4}",
    "cond_break": "vm.{name} {0}, {1}{2}",
    "br_table": "vm.{name} {0} {{ default: {1}{2}{3} }}",
    "call": "{2} = vm.{name} {0}({1})",
    "call.variadic": "{3} = vm.{name} {0} segments[{1}]({2})",
    "call.yieldable": "vm.{name} {0}({1}) -> {2}({3})",
    "call.variadic.yieldable": "vm.{name} {0} segments[{1}]({2}) -> {3}({4})",
    "import.resolved": "{1} = vm.{name} {0}",
    "global.load.ref": "{2} = vm.{name} .refs[{0}] : {1}",
    "global.store.ref": "vm.{name} {2}, .refs[{0}] : {1}",
    "global.load.indirect.ref": "{2} = vm.{name} {0} : {1}",
    "global.store.indirect.ref": "vm.{name} {0} : {1}, {2}",
}
for _kind in ("i32", "i64", "f32", "f64"):
    _FORMS[f"select.{_kind}"] = "{3} = vm.{name} {0} ? {1} : {2}"
    _FORMS[f"switch.{_kind}"] = "{3} = vm.{name} {0}[{2}] else {1}"
    _FORMS[f"global.load.{_kind}"] = "{1} = vm.{name} .rwdata[{0}]"
    _FORMS[f"global.store.{_kind}"] = "vm.{name} {1}, .rwdata[{0}]"
for _kind in ("i8", "i16", "i32", "i64", "f32", "f64"):
    _FORMS[f"buffer.store.{_kind}"] = "vm.{name} {2}, {0}, {1}"

_CODE_TYPES = {"i": "i32", "I": "i64", "f": "f32", "F": "f64", "r": "!vm.ref<?>"}


def disassemble(module: schema.ModuleDef) -> str:
    """The whole module."""
    lines = [f"vm.module @{module.name} version {module.version}"]
    lines += [f"vm.type {item.full_name}" for item in module.types]
    for item in module.imported_functions:
        optional = "optional " if item.flags & schema.IMPORT_OPTIONAL else ""
        lines.append(f'vm.import {optional}@{item.full_name} cconv "{item.signature.calling_convention}"')
    for k, segment in enumerate(module.rodata_segments):
        lines.append(f"vm.rodata[{k}] = {bytes(segment.data).hex().upper()}")
    names = function_names(module)
    for ordinal in range(len(module.function_descriptors)):
        lines.append("")
        for export in module.exported_functions:
            if export.internal_ordinal == ordinal:
                lines.append(f"vm.export @{export.local_name}")
        lines += disassemble_function(module, ordinal, names)
    return "\n".join(lines) + "\n"


def function_names(module: schema.ModuleDef) -> list[str]:
    """A name for each function, no two the same: an export's, else one after its ordinal."""
    names = [f"fn{k}" for k in range(len(module.function_descriptors))]
    for export in module.exported_functions:
        names[export.internal_ordinal] = export.local_name
    return names


def disassemble_function(module: schema.ModuleDef, ordinal: int, names: list[str]) -> list[str]:
    """The lines of one function."""
    descriptor = module.function_descriptors[ordinal]
    start = descriptor.bytecode_offset
    code = memoryview(module.bytecode_data)[start : start + descriptor.bytecode_length]
    convention = abi.parse_convention(module.function_signatures[ordinal].calling_convention)
    arguments = ", ".join(_arguments(convention.arguments))
    results = ", ".join(_CODE_TYPES[code_] for code_ in convention.results)
    instructions = list(_instructions(code))
    blocks = {offset: f"^bb{k}" for k, (offset, op, _) in enumerate(i for i in instructions if i[1] is None)}
    lines = [f"vm.func @{names[ordinal]}({arguments}) -> ({results}) {{"]
    for offset, op, operands in instructions:
        if op is None:
            lines.append(f"{blocks[offset]}:")
        else:
            lines.append("  " + _instruction(module, names, blocks, op, operands))
    return [*lines, "}"]


def _instructions(code):
    """(Offset, op, operands) for every instruction; (offset, None, None) for a block marker."""
    offset = 0
    while offset < len(code):
        if code[offset] == isa.BLOCK_MARKER:
            yield offset, None, None
            offset += 1
        else:
            op, operands, following = isa.decode(code, offset)
            yield offset, op, operands
            offset = following


def _arguments(codes) -> list[str]:
    """The arguments of a function's head. The assembler wants them numbered without the gaps of alignment."""
    texts, value, ref = [], 0, 0
    for code in codes:
        if code == "r":
            texts.append(f"%r{ref}: {_CODE_TYPES[code]}")
            ref += 1
        elif code in "IF":
            texts.append(f"%i{value}:{value + 1}: {_CODE_TYPES[code]}")
            value += 2
        else:
            texts.append(f"%i{value}: {_CODE_TYPES[code]}")
            value += 1
    return texts


def _register(register: int) -> str:
    if isa.is_ref(register):
        return f"%{'R' if register & isa.MOVE_BIT else 'r'}{isa.ref_ordinal(register)}"
    return f"%i{register}"


def _instruction(module, names, blocks, op: isa.Op, operands: list) -> str:
    texts = [_operand(module, names, blocks, op, field, value) for field, value in zip(op.fields, operands)]
    form = _FORMS.get(op.name)
    if form is None:
        results = ", ".join(text for text, field in zip(texts, op.fields) if field.is_result)
        sources = ", ".join(text for text, field in zip(texts, op.fields) if not field.is_result and text)
        line = f"{results} = vm.{op.name}" if results else f"vm.{op.name}"
        return f"{line} {sources}" if sources else line
    line = form.format(*texts, name=op.name)
    return line.removeprefix(" = ")


def _operand(module, names, blocks, op: isa.Op, field: isa.Field, value) -> str:
    kind = field.kind
    if kind in "IF":
        return f"%i{value}:{value + 1}"
    if kind in "ifrR":
        return _register(value)
    if kind == "#f32":
        return repr(struct.unpack("<f", struct.pack("<f", value))[0]) if value == value else "nan"
    if kind == "#f64":
        return repr(value)
    if kind == "type":
        return module.types[value].full_name
    if kind == "func":
        if value & isa.IMPORT_BIT:
            return f"@{module.imported_functions[value & ~isa.IMPORT_BIT].full_name}"
        return f"@{names[value]}"
    if kind == "pc":
        return blocks[value]
    if kind == "*":
        return ", ".join(_register(register) for register in value)
    if kind == "*seg":
        return ", ".join(map(str, value))
    if kind == "remap":
        return "(" + ", ".join(f"{_register(a)}->{_register(b)}" for a, b in value) + ")"
    if kind == "cases":
        return "".join(
            f", {k}: {blocks[target]}{_operand(module, names, blocks, op, isa.Field('remap', False), remap)}"
            for k, (target, remap) in enumerate(value)
        )
    if kind == "str":
        return _quoted(bytes(value))
    return str(value)  # integer immediates, globals, rodata


def _quoted(text: bytes) -> str:
    """A string literal; bytes that need it are escaped."""
    special = {0x22: '\\"', 0x5C: "\\\\", 0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t"}
    return '"' + "".join(special.get(b, chr(b) if 32 <= b < 127 else f"\\x{b:02X}") for b in text) + '"'
