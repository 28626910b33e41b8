"""Byte buffers of the host, in the util dialect. Sizes travel beside buffers: `!util.buffer{%size}`."""

from __future__ import annotations

from typing import Any

from pyiree.compiler.dialects.util_types import BufferType
from pyiree.compiler.ir.attributes import Attribute, IntegerAttr, StringAttr, quote
from pyiree.compiler.ir.constraints import AnyType
from pyiree.compiler.ir.definition import Op
from pyiree.compiler.ir.fields import Attr, Operand, OptionalAttr, OptionalIntProp, OptionalStringProp, Result
from pyiree.compiler.ir.format import directive
from pyiree.compiler.ir.traits import MemoryAlloc, MemoryFree, MemoryRead, MemoryWrite, Pure
from pyiree.compiler.ir.types import IndexType, i1, i64, index

__all__ = [
    "BufferAllocOp",
    "BufferCompareOp",
    "BufferConstantOp",
    "BufferCopyOp",
    "BufferDeallocOp",
    "BufferFillOp",
    "BufferHashOp",
    "BufferLoadOp",
    "BufferSizeOp",
    "BufferSliceOp",
    "BufferStoreOp",
    "BufferSubspanOp",
]


@directive("BufferProperties")
class BufferProperties:
    """`<alignment = 64, mime_type = "text/plain">`, or nothing where both are absent."""

    @staticmethod
    def print(
        printer: Any, op: Any, alignment: IntegerAttr | None, mime_type: StringAttr | None = None
    ) -> None:
        entries = []
        if alignment is not None:
            entries.append(f"alignment = {alignment.value}")
        if mime_type is not None:
            entries.append(f"mime_type = {quote(mime_type.value)}")
        if entries:
            printer.emit(f" <{', '.join(entries)}>")

    @staticmethod
    def parse(parser: Any) -> tuple[Any, Any]:
        found: dict[str, Any] = {}
        if parser.parse_optional("<"):
            braces = parser.parse_optional("{")
            while not parser.at("}" if braces else ">"):
                name = parser.parse_one_of(("alignment", "mime_type"), "a property")
                parser.parse_punctuation("=")
                found[name] = parser.parse_attribute(index if name == "alignment" else None)
                if parser.parse_optional(":"):
                    parser.parse_type()
                if not parser.parse_optional(","):
                    break
            if braces:
                parser.parse_punctuation("}")
            parser.parse_punctuation(">")
        return found.get("alignment"), found.get("mime_type")


@directive("BufferAlignment")
class BufferAlignment:
    """`<alignment = 64>`, or nothing."""

    print = BufferProperties.print

    @staticmethod
    def parse(parser: Any) -> Any:
        return BufferProperties.parse(parser)[0]


class BufferConstantOp(Op, name="util.buffer.constant"):
    """A constant of the module as a buffer.

    %0 = util.buffer.constant : !util.buffer = dense<[1, 2, 3]> : tensor<3xi32>
    """

    name_: OptionalStringProp
    value: Attr[Attribute]
    alignment: OptionalIntProp[index]
    mime_type: OptionalStringProp
    result: Result[BufferType]
    traits = (Pure,)
    format = (
        "($name^)? `` custom<BufferProperties>($alignment, $mime_type) attr-dict `:` type($result) `=` $value"
    )

    def result_names(self) -> list[str]:
        return [self.name_ or "buffer_cst"]


class BufferAllocOp(Op, name="util.buffer.alloc"):
    """A new buffer of undefined contents.

    %0 = util.buffer.alloc uninitialized : !util.buffer{%n}
    """

    storage_size: Operand[IndexType]
    alignment: OptionalIntProp[index]
    result: Result[BufferType]
    traits = (MemoryAlloc,)
    format = (
        "`uninitialized` `` custom<BufferAlignment>($alignment) attr-dict "
        "`:` type($result) `` `{` $storage_size `}`"
    )

    def result_names(self) -> list[str]:
        return ["buffer"]


class BufferDeallocOp(Op, name="util.buffer.dealloc"):
    """Gives up a buffer."""

    operand: Operand[BufferType]
    operand_size: Operand[IndexType]
    traits = (MemoryFree,)
    format = "$operand `:` type($operand) `{` $operand_size `}` attr-dict-with-keyword"


class BufferSliceOp(Op, name="util.buffer.slice"):
    """A copy of a range.

    %1 = util.buffer.slice %0[%offset] : !util.buffer{%n} -> !util.buffer{%m}
    """

    source: Operand[BufferType]
    source_size: Operand[IndexType]
    source_offset: Operand[IndexType]
    result_size: Operand[IndexType]
    alignment: OptionalAttr[IntegerAttr]
    result: Result[BufferType]
    traits = (MemoryAlloc, MemoryRead)
    format = (
        "$source `[` $source_offset `]` attr-dict `:` type($source) `` `{` $source_size `}` `->` "
        "type($result) `` `{` $result_size `}`"
    )

    def result_names(self) -> list[str]:
        return ["buffer"]


class BufferSubspanOp(Op, name="util.buffer.subspan"):
    """A view of a range."""

    source: Operand[BufferType]
    source_size: Operand[IndexType]
    source_offset: Operand[IndexType]
    result_size: Operand[IndexType]
    result: Result[BufferType]
    traits = (Pure,)
    format = (
        "$source `[` $source_offset `]` `:` type($source) `` `{` $source_size `}` `->` "
        "type($result) `` `{` $result_size `}` attr-dict-with-keyword"
    )

    def result_names(self) -> list[str]:
        return ["buffer_span"]


class BufferSizeOp(Op, name="util.buffer.size"):
    """The bytes of a buffer."""

    operand: Operand[BufferType]
    result: Result[IndexType]
    traits = (Pure,)
    format = "$operand `:` type($operand) attr-dict-with-keyword"

    def result_names(self) -> list[str]:
        return ["buffer_size"]


class BufferCopyOp(Op, name="util.buffer.copy"):
    """Copies a range of one buffer into another."""

    source: Operand[BufferType]
    source_size: Operand[IndexType]
    source_offset: Operand[IndexType]
    target: Operand[BufferType]
    target_size: Operand[IndexType]
    target_offset: Operand[IndexType]
    length: Operand[IndexType]
    traits = (MemoryRead, MemoryWrite)
    format = (
        "$source `[` $source_offset `]` `,` $target `[` $target_offset `]` `,` $length `:` "
        "type($source) `` `{` $source_size `}` `->` type($target) `` `{` $target_size `}` attr-dict-with-keyword"
    )


class BufferCompareOp(Op, name="util.buffer.compare"):
    """Whether two ranges hold the same bytes."""

    lhs: Operand[BufferType]
    lhs_size: Operand[IndexType]
    lhs_offset: Operand[IndexType]
    rhs: Operand[BufferType]
    rhs_size: Operand[IndexType]
    rhs_offset: Operand[IndexType]
    length: Operand[IndexType]
    result: Result[i1]
    traits = (MemoryRead,)
    format = (
        "$lhs `[` $lhs_offset `]` `,` $rhs `[` $rhs_offset `]` `,` $length `:` "
        "type($lhs) `` `{` $lhs_size `}` `,` type($rhs) `` `{` $rhs_size `}` attr-dict-with-keyword"
    )


class BufferFillOp(Op, name="util.buffer.fill"):
    """Repeats a pattern over a range."""

    pattern: Operand[AnyType]
    target: Operand[BufferType]
    target_size: Operand[IndexType]
    target_offset: Operand[IndexType]
    length: Operand[IndexType]
    traits = (MemoryWrite,)
    format = (
        "$pattern `,` $target `[` $target_offset `for` $length `]` `:` type($pattern) `->` "
        "type($target) `` `{` $target_size `}` attr-dict-with-keyword"
    )


class BufferLoadOp(Op, name="util.buffer.load"):
    """A number from a buffer.

    %1 = util.buffer.load %0[%offset for %c4] : !util.buffer{%n} -> i32
    """

    source: Operand[BufferType]
    source_size: Operand[IndexType]
    source_offset: Operand[IndexType]
    length: Operand[IndexType]
    result: Result[AnyType]
    traits = (MemoryRead,)
    format = (
        "$source `[` $source_offset `for` $length `]` `:` type($source) `` `{` $source_size `}` `->` "
        "type($result) attr-dict-with-keyword"
    )


class BufferStoreOp(Op, name="util.buffer.store"):
    """Writes a number into a buffer."""

    source: Operand[AnyType]
    target: Operand[BufferType]
    target_size: Operand[IndexType]
    target_offset: Operand[IndexType]
    length: Operand[IndexType]
    traits = (MemoryWrite,)
    format = (
        "$source `,` $target `[` $target_offset `for` $length `]` `:` type($source) `->` "
        "type($target) `` `{` $target_size `}` attr-dict-with-keyword"
    )


class BufferHashOp(Op, name="util.buffer.hash"):
    """A hash of a range."""

    source: Operand[BufferType]
    source_size: Operand[IndexType]
    source_offset: Operand[IndexType]
    length: Operand[IndexType]
    result: Result[i64]
    traits = (MemoryRead,)
    format = (
        "$source `[` $source_offset `for` $length `]` `:` type($source) `` `{` $source_size `}` `->` "
        "type($result) attr-dict-with-keyword"
    )
