"""Runs random programs in a process that may die: `python -m hlo_fuzz.evaluate`, with jobs from stdin.

Enters: a length and a pickled (evaluator, program text, argument arrays, their element types, result types), time and
again. Leaves: for each a length and a pickled list of arrays or an error's text. Evaluators: "ours"; "reference",
the interpreter of StableHLO in jaxlib; "xla".
"""

import functools
import pickle
import struct
import sys

import numpy as np

#: Types that no bytes are made of: the interpreter hands over wider ones.
NARROW = ("i1", "i2", "ui2", "i4", "ui4")


def run_ours(text, arguments, elements, results):
    """Compiled and run by pyiree."""
    from pyiree.compiler import pipeline
    from pyiree.compiler.options import CompileOptions
    from pyiree.runtime import session

    with session.load(pipeline.compile(text, CompileOptions()).vmfb) as module:
        found = module["main"](*arguments)
        return [np.array(r) for r in (found if isinstance(found, (list, tuple)) else [found])]


@functools.cache
def _context():
    from jax._src.interpreters import mlir

    return mlir.make_ir_context()


def run_reference(text, arguments, elements, results):
    """The interpreter takes and gives signless integers here: jaxlib has no way in or out for all other types."""
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    from .element_types import literal, numpy_dtype, tensor, width

    lines, names, given = [], [], []
    for i, (array, element) in enumerate(zip(arguments, elements)):
        lines.append(f"%a{i} = stablehlo.constant {literal(array, element)}")
        names.append(f"%a{i}")
        given.append(tensor(array.shape, element))
    made = ", ".join(tensor(shape, element) for shape, element in results)
    lines.append(f"%r:{len(results)} = func.call @program({', '.join(names)}) : ({', '.join(given)}) -> ({made})")
    outer, outer_types = [], []
    for i, (shape, element) in enumerate(results):
        parts = [(f"%r#{i}", element)]
        if element.startswith("complex"):
            part = element[8:-1]
            parts = [(f"%p{i}_{kind}", part) for kind in ("real", "imag")]
            lines += [
                f"%p{i}_{kind} = stablehlo.{kind} %r#{i} : ({tensor(shape, element)}) -> {tensor(shape, part)}"
                for kind in ("real", "imag")
            ]
        for j, (name, part) in enumerate(parts):
            narrow = part in NARROW
            carrier = "i8" if narrow else f"i{width(part)}"
            op = "convert" if narrow else "bitcast_convert"
            lines.append(f"%o{i}_{j} = stablehlo.{op} {name} : ({tensor(shape, part)}) -> {tensor(shape, carrier)}")
            outer.append(f"%o{i}_{j}")
            outer_types.append(tensor(shape, carrier))
    body = "\n".join(lines)
    main = f"func.func @main() -> ({', '.join(outer_types)}) {{\n{body}\n"
    main += f"return {', '.join(outer)} : {', '.join(outer_types)}\n}}\n"
    program = text.replace("func.func @main", "func.func private @program", 1)
    with _context(), ir.Location.unknown():
        module = ir.Module.parse(main + program)
        module.operation.verify()
        attributes = iter([_raw(a) for a in stablehlo.eval_module(module, [])])
    found = []
    for shape, element in results:
        dtype = numpy_dtype(element)
        if element.startswith("complex"):
            number = np.empty(shape, dtype)
            part = np.dtype(f"f{dtype.itemsize // 2}")
            number.real, number.imag = [next(attributes).view(part).reshape(shape) for _ in range(2)]
            found.append(number)
        elif element in NARROW:
            found.append(next(attributes).reshape(shape).astype(dtype))
        else:
            found.append(next(attributes).view(dtype).reshape(shape))
    return found


def _raw(attribute):
    array = np.asarray(memoryview(attribute)) if attribute.type.shape.count(0) == 0 else np.zeros(0, np.int8)
    if attribute.type.shape.count(0):
        return np.zeros(0, f"i{int(str(attribute.type.element_type)[1:]) // 8}")
    return np.ascontiguousarray(array).reshape(-1)


def run_xla(text, arguments, elements, results):
    """jax's compiler, as it stands."""
    import jax
    from jax._src import compiler, xla_bridge
    from jax._src.lib import xla_client
    from jaxlib.mlir import ir

    backend = xla_bridge.get_backend("cpu")
    with jax.enable_x64(True), _context(), ir.Location.unknown():
        module = ir.Module.parse(f"module @program {{\n{text}}}")
        options = compiler.get_compile_options(num_replicas=1, num_partitions=1)
        devices = xla_client.DeviceList(tuple(backend.local_devices()[:1]))
        program = compiler.backend_compile_and_load(backend, module, devices, options, [])
        given = [jax.device_put(a, backend.local_devices()[0]) for a in arguments]
        return [np.asarray(r[0]) for r in program.execute_sharded(given).disassemble_into_single_device_arrays()]


EVALUATORS = {"ours": run_ours, "reference": run_reference, "xla": run_xla}


def main():
    """Jobs until stdin ends."""
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    while header := stdin.read(8):
        evaluator, *job = pickle.loads(stdin.read(struct.unpack("<Q", header)[0]))
        try:
            answer = EVALUATORS[evaluator](*job)
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        data = pickle.dumps(answer)
        stdout.write(struct.pack("<Q", len(data)) + data)
        stdout.flush()


if __name__ == "__main__":
    main()
