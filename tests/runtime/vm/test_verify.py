"""Bad modules are clear errors, never crashes: one test for each rule, and thousands of damaged real modules."""

import random
import struct

import pytest
from pyiree.runtime.vm.context import Context, ImportModule
from pyiree.runtime.vm.errors import VmError
from pyiree.runtime.vm.module import Module
from pyiree.runtime.vmfb import abi, archive, isa, schema
from pyiree.runtime.vmfb.assemble import FunctionAssembler, ModuleAssembler
from pyiree.runtime.vmfb.errors import ModuleError
from pyiree.runtime.vmfb.isa import ref

ADD = """
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.addf %a, %b : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
SCALARS = """
util.func public @main(%n: i32, %x: f32, %w: i64) -> (i64, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1_i32 = arith.constant 1 : i32
  %l = util.list.create %c1 : !util.list<?>
  util.list.resize %l, %c1 : !util.list<?>
  util.list.set %l[%c0], %n : i32 -> !util.list<?>
  %r:3 = scf.while (%acc = %w, %i = %n, %y = %x) : (i64, i32, f32) -> (i64, i32, f32) {
    %c = arith.cmpi sgt, %i, %c1_i32 : i32
    scf.condition(%c) %acc, %i, %y : i64, i32, f32
  } do {
  ^bb0(%acc: i64, %i: i32, %y: f32):
    %e = arith.extsi %i : i32 to i64
    %a = arith.muli %acc, %e : i64
    %z = arith.addf %y, %x : f32
    %j = arith.subi %i, %c1_i32 : i32
    scf.yield %a, %j, %z : i64, i32, f32
  }
  util.return %r#0, %r#2 : i64, f32
}
"""


def module_with(*ops, convention="0v_v", before=lambda module: None, blocks=None) -> ModuleAssembler:
    module = ModuleAssembler("bad")
    before(module)
    function = FunctionAssembler(convention)
    function.block("entry")
    for name, *operands in ops:
        function.op(name, *operands)
    module.add_function(function, export="main")
    return module


def load(module) -> Module:
    definition = module.build() if isinstance(module, ModuleAssembler) else module
    return Module(archive.write_module(definition))


@pytest.mark.parametrize(
    ("ops", "message"),
    [
        ([("const.i32", 1, 0)], "does not end with a terminator"),
        ([("return", []), ("const.i32", 1, 0)], "outside any block"),
        ([("add.i64", 1, 2, 4), ("return", [])], "odd or out of range"),
        ([("buffer.length", 3, 0), ("return", [])], "reference register is malformed"),
        ([("add.i32", ref(0), 0, 0), ("return", [])], "value register is out of range"),
        ([("global.load.i32", 0, 0), ("return", [])], "global is out of range"),
        ([("global.load.ref", 0, 0, ref(0)), ("return", [])], "global is out of range"),
        ([("list.alloc", 0, 0, ref(0)), ("return", [])], "type is out of range"),
        ([("const.ref.rodata", 0, ref(0)), ("return", [])], "rodata segment is out of range"),
        ([("call", 1, [], []), ("return", [])], "function ordinal is out of range"),
        ([("call", isa.IMPORT_BIT, [], []), ("return", [])], "function ordinal is out of range"),
        ([("import.resolved", 7, 0), ("return", [])], "function ordinal is out of range"),
        ([("call", 0, [0], []), ("return", [])], "does not fit the signature"),
        ([("return", [0])], "does not fit the signature"),
        ([("call.variadic", 0, [], [], []), ("return", [])], "function ordinal is out of range"),
        ([("br", "entry", [(0, ref(0))])], "between register banks"),
    ],
)
def test_bytecode_rules(ops, message):
    with pytest.raises(ModuleError, match=message):
        load(module_with(*ops))


def test_type_kinds():
    def before(module):
        module.type("i32")
        module.global_ref()

    with pytest.raises(ModuleError, match="of the wrong kind"):
        load(module_with(("global.load.ref", 0, 0, ref(0)), ("return", []), before=before))
    with pytest.raises(ModuleError, match=r"unknown type '!my\.thing'"):
        load(module_with(("return", []), before=lambda module: module.type("!my.thing")))


@pytest.mark.parametrize(
    ("segments", "operands", "good"),
    [
        ([isa.NOT_VARIADIC, 2], [0, 2, ref(0), 4, ref(0)], True),
        ([isa.NOT_VARIADIC, 0], [0], True),
        ([isa.NOT_VARIADIC, 1], [0, 2], False),
        ([isa.NOT_VARIADIC, 1], [0, ref(0), 2], False),
        ([isa.NOT_VARIADIC, 1], [0, 3, ref(0)], False),
        ([1, 1], [0, 2, ref(0)], False),
        ([isa.NOT_VARIADIC, isa.NOT_VARIADIC], [0, 2, ref(0)], False),
        ([isa.NOT_VARIADIC], [0], False),
        ([isa.NOT_VARIADIC, 0], [0, 2], False),
    ],
)
def test_variadic_calls(segments, operands, good):
    module = ModuleAssembler("bad")
    imported = module.import_function("host.f", "0iCIrD_v")
    function = FunctionAssembler("0v_v")
    function.block("entry")
    function.op("call.variadic", imported, segments, operands, [])
    function.op("const.i64", 0, 4)
    function.op("const.ref.zero", ref(0))
    function.op("return", [])
    module.add_function(function)
    if good:
        load(module)
    else:
        with pytest.raises(ModuleError):
            load(module)


def test_plain_call_of_a_variadic_import():
    module = ModuleAssembler("bad")
    imported = module.import_function("host.f", "0CiD_v")
    function = FunctionAssembler("0v_v")
    function.block("entry")
    function.op("call", imported, [0], [])
    function.op("return", [])
    module.add_function(function)
    with pytest.raises(ModuleError, match="variadic call"):
        load(module)


def edited(change, **options) -> schema.ModuleDef:
    module = module_with(("const.i32", 1, 0), ("return", []), **options).build()
    change(module)
    return module


def set_descriptor(**values):
    def change(module):
        for name, value in values.items():
            setattr(module.function_descriptors[0], name, value)

    return change


def set_convention(text):
    return lambda module: setattr(module.function_signatures[0], "calling_convention", text)


def set_code(offset, value):
    def change(module):
        code = bytearray(module.bytecode_data)
        code[offset] = value
        module.bytecode_data = bytes(code)

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: setattr(m, "name", ""), "no name"),
        (lambda m: setattr(m, "bytecode_version", 16 << 16), "bytecode version 16.0"),
        (lambda m: setattr(m, "bytecode_version", (17 << 16) + 1), "bytecode version 17.1"),
        (lambda m: setattr(m, "requirements", 64), "unknown features"),
        (set_descriptor(requirements=64), "unknown features"),
        (lambda m: m.function_signatures.clear(), "1 functions have 0 signatures"),
        (set_descriptor(bytecode_offset=-8), "outside the bytecode"),
        (set_descriptor(bytecode_offset=4), "not aligned"),
        (set_descriptor(bytecode_length=1000), "outside the bytecode"),
        (set_descriptor(bytecode_length=0), "outside the bytecode"),
        (set_descriptor(bytecode_length=3), "runs past the function's end"),
        (set_descriptor(i32_register_count=-1), "-1 value registers"),
        (set_descriptor(i32_register_count=0), "value register is out of range"),
        (set_descriptor(ref_register_count=-1), "-1 reference registers"),
        (set_descriptor(block_count=2), "block count is wrong"),
        (lambda m: setattr(m.exported_functions[0], "internal_ordinal", 1), "names function 1"),
        (set_convention("0q_v"), "unknown code 'q'"),
        (set_convention("v_v"), "not of the form"),
        (set_convention("0CiD_v"), "variadic"),
        (set_convention("0" + 9 * "r" + "_v"), "fewer registers"),
        (lambda m: setattr(m, "module_state", schema.ModuleStateDef(-1, 0)), "-1 bytes of globals"),
        (lambda m: setattr(m, "module_state", schema.ModuleStateDef(0, -1)), "-1 reference globals"),
        (lambda m: m.imported_functions.append(schema.ImportFunctionDef("noname")), "malformed name"),
        (set_code(1, 200), "opcode is unknown"),
        (set_code(0, 12), "outside any block"),
    ],
)
def test_table_rules(change, message):
    with pytest.raises(ModuleError, match=message):
        load(edited(change))


def test_branch_into_an_instruction():
    module = module_with(("const.i32", 1, 0), ("br", "entry", []), ("return", [])).build()
    code = bytearray(module.bytecode_data)
    code[9:13] = struct.pack("<I", 3)
    module.bytecode_data = bytes(code)
    module.function_descriptors[0].bytecode_length = 16
    with pytest.raises(ModuleError, match="branch target is no block"):
        load(module)


def test_float_ops_need_their_bit():
    module = module_with(("const.f32.zero", 0), ("return", [])).build()
    module.function_descriptors[0].requirements = 0
    with pytest.raises(ModuleError, match="requirement bit"):
        load(module)


def test_initializer_takes_nothing():
    module = ModuleAssembler("bad")
    function = FunctionAssembler("0i_v")
    function.block("entry")
    function.op("return", [])
    module.add_function(function, export="__init")
    with pytest.raises(ModuleError, match=r"__init takes or gives values"):
        load(module)


@pytest.mark.parametrize(
    "content", [b"", b"IREE", b"PK\x03\x04", bytes(64), b"\xff" * 64, b"PK\x03\x04" + b"\xff" * 60]
)
def test_no_module_at_all(content):
    with pytest.raises(ModuleError):
        Module(content)


# ------------------------------------------------------------------ damage


class NoHal(dict):
    """Every HAL import, failing."""

    def get(self, name, default=None):
        def fail(*_):
            raise VmError(12, "no device here")

        return fail


def run_a_little(content: bytes) -> str:
    """Loads and, if that works, runs a damaged module for a few steps; says how far it came."""
    try:
        module = Module(content)
        context = Context(module, {"hal": ImportModule(NoHal(), version=99)})
    except (ModuleError, VmError):
        return "refused"
    for name in list(module.exports):
        if not name.startswith("__"):
            function = context.function(name)
            try:
                invocation = function.start(*[None if c == "r" else 3 for c in function.convention.arguments])
                for _ in range(3):
                    if invocation.step():
                        break
                invocation.abort()
            except (VmError, TypeError):
                return "failed"
    return "ran"


@pytest.mark.parametrize("text", [ADD, SCALARS], ids=["hal", "scalars"])
@pytest.mark.parametrize(
    "flags", [(), ("--iree-vm-emit-polyglot-zip=false", "--iree-vm-bytecode-module-strip-debug-ops")]
)
def test_damaged_modules(iree_compile, text, flags):
    content = iree_compile(text, *flags)
    assert run_a_little(content) in ("failed", "ran", "refused")
    random_numbers = random.Random(0)
    outcomes = set()
    for round_number in range(500):
        damaged = bytearray(content)
        if round_number % 10 == 0:
            damaged = damaged[: random_numbers.randrange(len(damaged))]
        else:
            for _ in range(random_numbers.choice((1, 1, 2, 8))):
                position = random_numbers.randrange(len(damaged))
                flipped = damaged[position] ^ (1 << random_numbers.randrange(8))
                damaged[position] = random_numbers.choice((0, 1, 0x7F, 0xFF, flipped))
        outcomes.add(run_a_little(bytes(damaged)))
    assert "refused" in outcomes


def test_damaged_bytecode_alone(iree_compile):
    """The same with every change in the bytecode, where the verifier and the interpreter have to hold."""
    definition = archive.read_module(iree_compile(SCALARS))
    whole = bytes(definition.bytecode_data)
    random_numbers = random.Random(1)
    outcomes = set()
    for _ in range(1500):
        code = bytearray(whole)
        for _ in range(random_numbers.choice((1, 1, 2, 3))):
            value = random_numbers.choice((0, 1, 2, 4, 0x80, 0xC0, random_numbers.randrange(256)))
            code[random_numbers.randrange(len(code))] = value
        definition.bytecode_data = bytes(code)
        outcomes.add(run_a_little(archive.write_module(definition)))
    assert outcomes == {"refused", "failed", "ran"}


def test_random_bytecode_of_valid_instructions():
    """Instructions with operands in range, at random: all of it verifies, and none of it harms."""
    random_numbers = random.Random(2)
    values, refs = 12, 6

    def operand(kind):
        if kind in "if":
            return random_numbers.randrange(values)
        if kind in "IF":
            return 2 * random_numbers.randrange(values // 2)
        if kind in "rR":
            return ref(random_numbers.randrange(refs), move=kind == "R" and random_numbers.random() < 0.5)
        if kind.startswith("#"):
            return random_numbers.choice((0, 1, 2, 3, -1, 7, 100, 1 << 30, -(1 << 31)))
        if kind == "*":
            return [operand("i") for _ in range(random_numbers.randrange(4))]
        return 0

    usable = [op for op in isa.OPS.values() if not op.is_terminator and not op.name.startswith(("call", "print"))]
    usable = [op for op in usable if op.name != "import.resolved"]
    for _ in range(300):
        module = ModuleAssembler("random")
        module.type("!vm.opaque")
        module.type("!vm.buffer")
        module.rodata(b"0123456789abcdef")
        module.global_value(8)
        module.global_ref()
        function = FunctionAssembler("0iI_v")
        function.value_registers, function.ref_registers = values, refs
        for block in range(6):
            function.block(block)
            for _ in range(25):
                op = random_numbers.choice(usable)
                operands = [operand(field.kind) for field in op.fields]
                if op.name == "switch.i64" or op.name == "switch.f64":
                    operands[2] = [operand("I") for _ in range(2)]
                if op.name in ("switch.ref", "discard.refs"):
                    operands[-2 if op.name == "switch.ref" else 0] = [operand("R") for _ in range(2)]
                if op.name == "buffer.alloc":  # not gigabytes of them
                    function.op("const.i64", random_numbers.randrange(64), operands[0])
                if op.name in ("list.alloc", "list.reserve", "list.resize"):
                    function.op("const.i32", random_numbers.randrange(64), operands[1])
                function.op(op.name, *operands)
            function.op("br" if block < 5 else "return", *((block + 1, []) if block < 5 else ([],)))
        module.add_function(function, export="main")
        context = Context(Module(archive.write_module(module.build())))
        for arguments in ((0, 0), (1, 3), (-1, 1 << 40)):
            try:
                context.invoke("main", arguments)
            except VmError as error:
                assert 0 < error.status < len(abi.STATUS_NAMES)
        context.close()


def test_verification_is_quick():
    """At least a megabyte of bytecode a second, so that it never shows in a load."""
    import time

    module = ModuleAssembler("large")
    for _ in range(200):
        function = FunctionAssembler("0ii_i")
        function.block("entry")
        for _ in range(700):
            function.op("add.i32", 0, 1, 2)
        function.op("return", [2])
        module.add_function(function)
    content = archive.write_module(module.build())
    load(module_with(("return", [])))
    start = time.perf_counter()
    Module(content)
    assert time.perf_counter() - start < len(content) / 1e6
