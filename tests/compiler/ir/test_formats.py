"""Assembly formats, directives, and declared types and attributes."""

import pytest
from pyiree.compiler.ir import types as T
from pyiree.compiler.ir.attributes import ArrayAttr, Attribute, IntegerAttr, StringAttr
from pyiree.compiler.ir.constraints import AnyType
from pyiree.compiler.ir.core import Region
from pyiree.compiler.ir.definition import Op
from pyiree.compiler.ir.equivalence import structurally_equal
from pyiree.compiler.ir.fields import (
    Attr,
    IntProp,
    Operand,
    OptionalAttr,
    OptionalIntProp,
    OptionalOperand,
    OptionalResult,
    OptionalUnitAttr,
    Result,
    Results,
    SymbolRef,
    Variadic,
    VariadicRegion,
    VariadicSuccessor,
)
from pyiree.compiler.ir.format_parser import FormatError
from pyiree.compiler.ir.parametrized import DialectAttr, DialectType, EnumAttr, Keyword
from pyiree.compiler.ir.parser import parse, parse_module
from pyiree.compiler.ir.traits import Terminator
from pyiree.compiler.ir.types import Type
from pyiree.compiler.ir.verifier import verify


class ShapeAttr(DialectAttr, name="f.shape"):
    """Parameters of most kinds."""

    dims: tuple[int, ...]
    element: Type
    label: str = ""
    flag: bool = False


class ModeAttr(EnumAttr, name="f.mode"):
    """Written in angle brackets."""

    cases = ("read", "write")


class PairType(DialectType, name="f.pair"):
    """A format with everything that a parameter format has."""

    first: Type
    second: Type | None = None
    kind: Keyword | None = None
    format = "`<` $first (`to` $second^)? (`:` $kind^)? `>`"


class CheckedType(DialectType, name="f.checked"):
    """Refuses odd widths."""

    width: int

    def verify(self):
        if self.width % 2:
            raise ValueError(f"width {self.width} is odd")


class LoadOp(Op, name="f.load"):
    """Types that follow from the operands."""

    source: Operand[T.TensorType]
    indices: Variadic[T.index]
    result: Result[AnyType]
    format = "$source `[` $indices `]` attr-dict `:` type($source)"

    def infer_types(self):
        return [self.source.type.element_type]


class CallOp(Op, name="f.call"):
    """A functional type, an attribute that is stripped, an optional list."""

    callee: SymbolRef
    mode: OptionalAttr[ModeAttr]
    shape: OptionalAttr[ShapeAttr]
    value: OptionalAttr[Attribute]
    tail: OptionalUnitAttr
    weight: IntProp[T.i32] = IntegerAttr(7, T.i32)
    operands: Variadic[AnyType]
    results: Results[AnyType]
    format = (
        "oilist(`tail` $tail | `weight` `(` $weight `)`) (`mode` `` $mode^)? $callee `(` operands `)` "
        "(`shape` qualified($shape)^)? (`=` $value^)? attr-dict `:` functional-type(operands, results)"
    )


class SwitchOp(Op, name="f.switch"):
    """Successors and regions without number."""

    selector: Operand[T.index]
    targets: VariadicSuccessor
    traits = (Terminator,)
    format = "$selector (`[` $targets^ `]`)? attr-dict"


class RegionsOp(Op, name="f.regions"):
    """Any number of regions, with or without an operand and a result."""

    value: OptionalOperand[T.i32]
    cases: VariadicRegion
    result: OptionalResult[T.i64]
    format = "($value^)? `{` `}` ($cases^)? attr-dict (`->` type($result)^)?"


class WrappedOp(Op, name="f.wrapped"):
    """A region after `do`."""

    body: Region
    default: Region
    format = "`do` $body (`else` $default^)? attr-dict"


TEXT = """\
%0:2 = "x.y"() : () -> (tensor<4xi64>, index)
%1 = f.load %0#0[%0#1, %0#1] : tensor<4xi64>
%2:2 = f.call tail weight(3) mode<write> @a::@b(%0#1, %1) shape #f.shape<[1, 2], f32, "x", true> = "v" : \
(index, i64) -> (i32, i64)
f.call @a() : () -> ()
f.call mode<read> @a() : () -> ()
"x.z"() ({
  f.switch %0#1[^bb1, ^bb2]
^bb1:  // pred: ^bb0
  f.switch %0#1
^bb2:  // pred: ^bb0
  f.switch %0#1
}) : () -> ()
f.regions{}
%3 = f.regions %2#0{} {
  "x.t"() : () -> ()
}, {
} -> i64
f.wrapped do {
  "x.t"() : () -> ()
}
f.wrapped do {
  "x.t"() : () -> ()
} else {
  "x.u"() : () -> ()
}"""


def test_formats_round_trip():
    module = parse_module(TEXT)
    text = str(module)
    assert "\n".join(line.removeprefix("  ") for line in text.strip().splitlines()[1:-1]) == TEXT
    assert structurally_equal(parse_module(text), module)
    call = next(module.walk_type(CallOp))
    assert call.tail and call.weight == 3 and call.mode == "write" and call.callee.path == ("a", "b")
    assert call.shape is ShapeAttr((1, 2), T.f32, "x", True) and call.value is StringAttr("v")
    plain = list(module.walk_type(CallOp))[1]
    assert not plain.tail and plain.weight == 7 and plain.mode is None
    loads = next(module.walk_type(LoadOp))
    assert loads.result.type is T.i64
    verify(parse_module("\n".join(TEXT.splitlines()[:5])))


def test_spaces_are_those_of_mlir():
    module = parse_module('%0:2 = "x.y"() : () -> (tensor<4xi64>, index)\n%1 = f.load %0#0[] {a} : tensor<4xi64>')
    assert "f.load %0#0[] {a} : tensor<4xi64>" in str(module)


@pytest.mark.parametrize(
    "value",
    [
        PairType(T.i32, None, None),
        PairType(T.i32, T.f32, Keyword("deep")),
        PairType(PairType(T.i1, None, None), None, Keyword("x")),
        CheckedType(4),
        T.TensorType((2,), T.i8, ShapeAttr((), T.index)),
    ],
)
def test_declared_types(value):
    op = parse('"x.y"() : () -> ' + str(value))
    op = op if op.name == "x.y" else op.body_block.first_op
    assert op.result_types == (value,)


def test_text_of_parameters():
    assert str(PairType(T.i32, T.f32, Keyword("deep"))) == "!f.pair<i32 to f32 : deep>"
    assert str(ShapeAttr((1, 2), T.f32)) == '#f.shape<[1, 2], f32, "", false>'
    assert str(ArrayAttr([ModeAttr("read")])) == "[#f.mode<read>]"
    assert ShapeAttr([1, 2], element=T.f32) is ShapeAttr((1, 2), T.f32, "", False)


def test_parameters_are_checked():
    with pytest.raises(ValueError, match="width 3 is odd"):
        CheckedType(3)
    with pytest.raises(ValueError, match="width 3 is odd"):
        CheckedType(3)
    with pytest.raises(Exception, match=r"f\.mlir:1:\d+: error: width 3 is odd"):
        parse('"x.y"() : () -> !f.checked<3>', "f.mlir")
    with pytest.raises(TypeError, match="parameter 'element' is missing"):
        ShapeAttr((1,))


def test_wrong_formats_say_so():
    class Wrong(Op, name="f.wrong"):
        value: Attr[StringAttr]
        format = "$valu"

    with pytest.raises(FormatError, match=r"Wrong\.format: the op has no field 'valu'"):
        str(Wrong(StringAttr("x")))
    with pytest.raises(FormatError, match="there is no directive 'Nothing'"):

        class Other(Op, name="f.other"):
            value: Attr[StringAttr]
            format = "Nothing($value)"

        str(Other(StringAttr("x")))


def test_properties_that_the_format_does_not_write():
    class Rodata(Op, name="f.rodata"):
        mime_type: OptionalAttr[StringAttr]
        alignment: OptionalIntProp[T.i64]
        value: Attr[StringAttr]
        weight: IntProp[T.i32] = IntegerAttr(7, T.i32)
        format = "attr-dict $value"

    text = 'f.rodata <mime_type = "elf", alignment = 16, weight = 3 : i32> {q} "data"'
    op = parse(text)
    assert str(op) == text and op.alignment == 16
    assert str(parse('f.rodata {q, weight = 3 : i32, alignment = 16} "d"')) == (
        'f.rodata <alignment = 16, weight = 3 : i32> {q} "d"'
    )
    assert str(parse('f.rodata "data"')) == 'f.rodata "data"'


def test_required_attributes_are_asked_for():
    class Needs(Op, name="f.needs"):
        value: Attr[StringAttr]
        format = "attr-dict"

    assert parse('f.needs {value = "x"}').value is StringAttr("x")
    with pytest.raises(Exception, match=r"f\.mlir:1:1: error: 'f.needs' needs the attribute 'value'"):
        parse("f.needs", "f.mlir")
