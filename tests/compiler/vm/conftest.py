"""Modules at the vm phase, made to run: on our interpreter, on IREE's runtime, and checked path by path."""

import numpy as np
import pytest
from pyiree.compiler.ir.parser import parse
from pyiree.compiler.ir.passes import PassContext, PassManager
from pyiree.compiler.vm.pipeline import PASSES
from pyiree.compiler.vm.serialize import serialize
from pyiree.runtime.vmfb import abi, archive, isa

TARGET_FLAGS = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
    "--iree-input-demote-f64-to-f32=false",
)


@pytest.fixture(scope="session")
def target_flags():
    """The flags of iree-compile for this machine."""
    return TARGET_FLAGS


@pytest.fixture(scope="session")
def to_vmfb():
    """A function (text at the vm phase, **options) that gives the bytes of its file."""
    return lambda text, **options: serialize(parse(text, verify=True), PassContext(), **options)


@pytest.fixture(scope="session")
def to_vm():
    """A function (text at the hal phase) that gives the module after the vm phase, verified after each pass."""

    def run(text):
        module = parse(text, verify=True)
        PassManager(PASSES).run(module, PassContext(verify_each=True))
        return module

    return run


@pytest.fixture(scope="session")
def call_iree():
    """A function (bytes, name, *numbers) that calls an exported function on IREE's runtime."""
    import iree.runtime as rt

    instance = rt.VmInstance()

    def call(content, name, *arguments):
        module = rt.VmModule.copy_buffer(instance, content)
        context = rt.VmContext(instance, modules=[module])
        function = module.lookup_function(name)
        inputs, outputs = rt.VmVariantList(len(arguments)), rt.VmVariantList(4)
        for value in arguments:
            inputs.push_float(value) if isinstance(value, float) else inputs.push_int(value)
        context.invoke(function, inputs, outputs)
        return [outputs.get_variant(i) for i in range(outputs.size)]

    return call


@pytest.fixture(scope="session")
def call_ours():
    """The same on our interpreter."""
    from pyiree.runtime.vm.context import Context
    from pyiree.runtime.vm.module import Module

    def call(content, name, *arguments):
        with Context(Module(content), {}) as context:
            return context.invoke(name, arguments)

    return call


@pytest.fixture(scope="session")
def hal_text(iree_tool, tmp_path_factory):
    """A function (jax function, *arguments) that gives its text at the hal phase, made by iree-compile."""
    import jax

    folder = tmp_path_factory.mktemp("hal")
    made = {}

    def compile_to_hal(function, *arguments):
        key = (function, *[(np.shape(a), np.asarray(a).dtype) for a in arguments])
        if key not in made:
            source = folder / f"{len(made)}.mlir"
            source.write_text(jax.jit(function).lower(*arguments).as_text())
            output = source.with_suffix(".hal.mlir")
            iree_tool(
                "iree-compile", "--iree-input-type=stablehlo", "--compile-to=hal", *TARGET_FLAGS, source, "-o", output
            )
            made[key] = output.read_text()
        return made[key]

    return compile_to_hal


@pytest.fixture
def run_module(iree_tool, tmp_path):
    """A function (bytes, arrays, device) that runs `main` by iree-run-module and gives its results."""

    def run(content, arrays, device="local-task"):
        path = tmp_path / "module.vmfb"
        path.write_bytes(content)
        flags = []
        for i, array in enumerate(arrays):
            np.save(tmp_path / f"in{i}.npy", array)
            flags.append(f"--input=@{tmp_path}/in{i}.npy")
        outputs = [tmp_path / f"out{i}.npy" for i in range(8)]
        for output in outputs:
            output.unlink(missing_ok=True)
        count = len(_results_of(content))
        flags += [f"--output=@{output}" for output in outputs[:count]]
        iree_tool("iree-run-module", f"--module={path}", f"--device={device}", "--function=main", *flags)
        return [np.load(output) for output in outputs[:count]]

    return run


def _results_of(content):
    module = archive.read_module(content)
    (main,) = [e for e in module.exported_functions if e.local_name == "main"]
    signature = module.function_signatures[main.internal_ordinal]
    return abi.parse_convention(signature.calling_convention).results


@pytest.fixture(scope="session")
def check_ownership():
    """A function (bytes) that follows references along every path."""
    return _check_ownership


def _check_ownership(content):
    """Follows the reference registers of every function of a file over all edges; AssertionError at a fault."""
    module = archive.read_module(content)
    for descriptor, signature in zip(module.function_descriptors, module.function_signatures):
        start = descriptor.bytecode_offset
        code = bytes(module.bytecode_data[start : start + descriptor.bytecode_length])
        _check_function(code, abi.parse_convention(signature.calling_convention))


def _fails(code, offset):
    position = offset + 1
    while True:
        op, _, position = isa.decode(code, position)
        if op.is_terminator:
            return op.name == "fail"


def _check_function(code, convention):
    count = sum(a == "r" for a in convention.arguments)
    pending = [(0, frozenset(range(count)))]
    known = {}
    while pending:
        offset, held = pending.pop()
        assert code[offset] == isa.BLOCK_MARKER
        if _fails(code, offset):
            continue
        if offset in known:
            assert known[offset] == held, f"block {offset} is reached with {sorted(known[offset])} and {sorted(held)}"
            continue
        known[offset] = held
        position, registers = offset + 1, set(held)
        while True:
            op, operands, following = isa.decode(code, position)
            edges = _step(op, operands, registers, lambda target: _fails(code, target))
            position = following
            if op.is_terminator:
                if op.name == "return":
                    assert not registers, f"return at {position} leaves {sorted(registers)}"
                pending += edges
                break


def _read(register, registers, *, may_move=True):
    ordinal = isa.ref_ordinal(register)
    assert ordinal in registers, f"register r{ordinal} is read while it is empty"
    if register & isa.MOVE_BIT:
        assert may_move
        registers.discard(ordinal)


def _write(register, registers):
    ordinal = isa.ref_ordinal(register)
    assert ordinal not in registers, f"register r{ordinal} is overwritten while it holds something"
    registers.add(ordinal)


def _step(op, operands, registers, fails):
    """Applies an instruction; gives (block, registers) of its edges."""
    edges, written = [], []
    target = None
    for field, value in zip(op.fields, operands):
        if field.kind in ("r", "R"):
            if field.is_result:
                written.append(value)
            else:
                _read(value, registers, may_move=field.kind == "R")
        elif field.kind == "*":
            for register in value:
                if isa.is_ref(register):
                    written.append(register) if field.is_result else _read(register, registers)
        elif field.kind == "pc":
            target = value
        elif field.kind == "remap":
            if not fails(target):
                edges.append((target, _remapped(value, registers)))
            target = None
        elif field.kind == "cases":
            edges += [(block, _remapped(moves, registers)) for block, moves in value if not fails(block)]
    for register in written:
        _write(register, registers)
    if target is not None:
        edges.append((target, frozenset(registers)))
    return edges


def _remapped(moves, registers):
    after = set(registers)
    for source, destination in moves:
        if isa.is_ref(source):
            _read(source, after)
            _write(destination, after)
    return frozenset(after)
