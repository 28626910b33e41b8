"""The input phase: StableHLO in, `util.func` on tensors out.

Before: a program in StableHLO (a jaxlib module, text, bytecode or a portable artifact), of which `@main` is called
from outside. After: a module of public `util.func`s on signless tensors, with linalg, tensor, arith, math, scf and
iree_linalg_ext inside; `iree.abi.encoding` says which arguments and results are unsigned. Calls are inlined.

Example: `stablehlo.tanh` of a `tensor<4xf32>` becomes a `linalg.generic` whose body is `math.tanh`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pyiree.compiler.dialects.builtin import ModuleOp
from pyiree.compiler.dialects.util import FuncOp
from pyiree.compiler.errors import UnsupportedError
from pyiree.compiler.input import jaxlib_mlir
from pyiree.compiler.input.converter import Converter
from pyiree.compiler.input.elements import UNSIGNED
from pyiree.compiler.input.emitter import Emitter
from pyiree.compiler.input.families import load_families
from pyiree.compiler.input.import_mlir import Shaped, SourceReader
from pyiree.compiler.input.imports import Imports
from pyiree.compiler.input.legality import explain_unsupported
from pyiree.compiler.input.values import TOKEN, Group, Lazy, Token
from pyiree.compiler.ir.attributes import Attribute, TypeAttr
from pyiree.compiler.ir.location import Location
from pyiree.compiler.ir.passes import PassContext, PassManager
from pyiree.compiler.ir.types import FunctionType, IntegerType, TensorType

TOKEN_TYPE = "!stablehlo.token"

# Ops that jaxlib rewrites as others: deprecated ones, and those of CHLO that are no functions of single elements.
_REWRITTEN = ("chlo.", "stablehlo.broadcast", "stablehlo.unary_einsum", "stablehlo.cross-replica-sum")


def import_program(source: Any, context: PassContext | None = None) -> ModuleOp:
    """The module of a StableHLO source in the form of the input phase."""
    module = convert_source(source)
    manager = PassManager.parse("builtin.module(canonicalize,cse)")
    manager.run(module, PassContext() if context is None else context)
    return module


def stablehlo_text(source: Any) -> str:
    """A source as StableHLO text, with locations left out."""
    return jaxlib_mlir.load_module(source).operation.get_asm(enable_debug_info=False)


def convert_source(source: Any) -> ModuleOp:
    """The module as converted, before it is cleaned up."""
    load_families()
    program = jaxlib_mlir.load_module(source)
    try:
        return _converted(program)
    except UnsupportedError as error:
        # Rare ops are worth a second attempt rather than a look for them in every program.
        if any(name.startswith(_REWRITTEN) for name, _ in error.ops):
            return _converted(jaxlib_mlir.in_plain_ops(program))
        raise


def _converted(program: Any) -> ModuleOp:
    operation = program.operation
    reader = SourceReader()
    functions = {}
    for view in operation.regions[0].blocks[0].operations:
        op = view.operation
        if op.name == "func.func":
            functions[op.attributes["sym_name"].value] = op
    name = operation.attributes["sym_name"].value if "sym_name" in operation.attributes else None
    module = ModuleOp(sym_name=name, location=reader.location(operation.location))
    imports = Imports()
    try:
        for function_name, function in functions.items():
            if function_name == "main" or _is_public(function):
                module.body_block.append(_convert_function(function_name, function, reader, functions, imports))
    except UnsupportedError as error:
        raise explain_unsupported(error, functions, reader) from None
    for declaration in reversed(imports.declarations):
        module.body_block.prepend(declaration)
    return module


def _is_public(function: Any) -> bool:
    """Whether callers may call it. JAX leaves comparators of custom calls public; these end as regions do."""
    visibility = function.attributes["sym_visibility"].value if "sym_visibility" in function.attributes else "public"
    terminator = list(function.regions[0].blocks[0].operations)[-1].operation
    return visibility == "public" and terminator.name == "func.return"


def _convert_function(
    name: str, function: Any, reader: SourceReader, functions: dict[str, Any], imports: Imports
) -> FuncOp:
    block = function.regions[0].blocks[0]
    location = reader.location(function.location)
    inputs = [_shaped(reader, type, location) for value in block.arguments for type in _leaf_types(value.type)]
    made = FuncOp.create(name, [s.type for s in inputs], [], "public", location)
    entry = made.entry_block
    emitter = Emitter(entry)
    converter = Converter(emitter, reader, functions, imports)
    tensors = iter([converter.argument(*given) for given in zip(inputs, entry.arguments)])
    places = [reader.location(value.location) for value in block.arguments for _ in _leaf_types(value.type)]
    for argument, place in zip(entry.arguments, places):
        argument.location = place
    given = converter.inline(function, [_from_leaves(value.type, tensors) for value in block.arguments])
    results = _leaves(given)
    emitter.location = location
    values = [converter.of_type(converter.tensor(result), result.shaped.type) for result in results]
    emitter.emit("util.return", values, ())
    outputs = [result.shaped for result in results]
    made.function_type = FunctionType([s.type for s in inputs], [s.type for s in outputs])
    made.set_argument_attributes(_encodings(inputs))
    made.set_result_attributes(_encodings(outputs))
    return made


def _leaf_types(type: Any) -> list[Any]:
    """The types of what callers pass for a value: for a tuple each of its parts; no tokens, since a call happens when
    it is made."""
    ir = jaxlib_mlir.mlir()
    if isinstance(type, ir.RankedTensorType):
        return [type]
    if isinstance(type, ir.TupleType):
        return [leaf for number in range(type.num_types) for leaf in _leaf_types(type.get_type(number))]
    return [] if str(type) == TOKEN_TYPE else [type]


def _from_leaves(type: Any, tensors: Iterator[Lazy]) -> Any:
    """A value of a type, from the tensors that callers pass for it."""
    ir = jaxlib_mlir.mlir()
    if isinstance(type, ir.TupleType):
        return Group([_from_leaves(type.get_type(number), tensors) for number in range(type.num_types)])
    return next(tensors) if isinstance(type, ir.RankedTensorType) or str(type) != TOKEN_TYPE else TOKEN


def _leaves(values: Sequence[Any]) -> list[Lazy]:
    """The tensors among values, those in tuples too."""
    found: list[Lazy] = []
    for value in values:
        if isinstance(value, Group):
            found.extend(_leaves(value.parts))
        elif not isinstance(value, Token):
            found.append(value)
    return found


def _shaped(reader: SourceReader, type: Any, location: Location) -> Shaped:
    found = reader.shaped(type)
    if found is None:
        raise UnsupportedError([(f"argument of type {type}", str(location))])
    return found


def _encodings(tensors: Sequence[Shaped]) -> list[dict[str, Attribute]]:
    """For unsigned tensors the type that callers see."""
    found: list[dict[str, Attribute]] = []
    for shaped in tensors:
        if shaped.element.kind == UNSIGNED:
            seen = TensorType(shaped.type.shape, IntegerType(shaped.element.type.width, "u"))
            found.append({"iree.abi.encoding": TypeAttr(seen)})
        else:
            found.append({})
    return found
