"""The named ops of linalg: generics with a usual name, each a row of a table.

%r = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x16xf32>) outs(%c : tensor<4x16xf32>) -> tensor<4x16xf32>

A row says which loops index each operand, by letters: `mk,kn->mn`; loops missing on the right reduce. Windows are
written `h+p`, where the stride of `h` and the dilation of `p` come from the op's attributes.
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

from pyiree.compiler.dialects.linalg_interface import (
    PARALLEL,
    REDUCTION,
    LinalgOp,
    parse_operand_groups,
    parse_result_types,
    print_operand_groups,
    print_result_types,
)
from pyiree.compiler.ir.affine import AffineDim, AffineExpr, AffineMap
from pyiree.compiler.ir.attributes import ArrayAttr
from pyiree.compiler.ir.dense import DenseElementsAttr
from pyiree.compiler.ir.fields import OptionalAttr
from pyiree.compiler.ir.parametrized import EnumAttr

__all__ = [
    "BatchMatmulOp",
    "BatchMatvecOp",
    "BatchVecmatOp",
    "ContractionOp",
    "CopyOp",
    "DotOp",
    "FillOp",
    "MatmulOp",
    "MatvecOp",
    "NamedOp",
    "TypeFnAttr",
    "VecmatOp",
    "WindowOp",
]


class TypeFnAttr(EnumAttr, name="linalg.type_fn"):
    """How a named op widens integers."""

    cases = ("cast_signed", "cast_unsigned")


class NamedOp(LinalgOp):
    """Base of the named ops: text, maps and loops from the row."""

    indexing: ClassVar[str] = ""
    #: `(operands) -> result` of the body: "multiply_add", "copy", or the reduction of a pooling.
    combine: ClassVar[str] = "multiply_add"

    def print(self, printer: Any) -> None:
        printer.print_attr_dict(self, ("indexing_maps",))
        maps = self.properties.get("indexing_maps")
        if maps is not None:
            printer.emit(f" indexing_maps = {printer.attr_text(maps)}")
        print_operand_groups(self, printer)
        print_result_types(self, printer)

    @classmethod
    def parse(cls, parser: Any) -> Any:
        attributes = parser.parse_optional_attr_dict()
        if parser.parse_optional_literal("indexing_maps"):
            parser.parse_punctuation("=")
            attributes["indexing_maps"] = parser.parse_attribute()
        inputs, outputs = parse_operand_groups(parser)
        types = parse_result_types(parser, outputs)
        declared = {k: attributes.pop(k) for k in list(attributes) if k in cls.definition.attribute_by_name}
        return cls(inputs, outputs, result_types=types, attributes=attributes, **declared)

    def maps(self) -> tuple[AffineMap, ...]:
        return _maps(self.indexing, self.window_factors())

    def iterators(self) -> tuple[str, ...]:
        return _iterators(self.indexing)

    def window_factors(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Strides and dilations of the window dimensions."""
        return (), ()

    def verify_(self) -> None:
        self._verify_results()
        ranks = [len(getattr(v.type, "shape", ())) for v in self.operands]
        wanted = [m.num_results for m in self.maps()]
        if ranks != wanted:
            raise self.error(f"takes operands of ranks {wanted}, given {ranks}")


def _sides(indexing: str) -> tuple[list[list[str]], list[str]]:
    """The operands' dimensions as loop sums, inputs and output, and the loops in the order of the generic form."""
    left, right = indexing.split("->")
    operands = [_dimensions(part) for part in (*left.split(","), right)]
    order: list[str] = list(operands[-1])
    for operand in operands:
        for dimension in operand:
            for loop in dimension.split("+"):
                if loop not in order:
                    order.append(loop)
    return operands, order


def _dimensions(text: str) -> list[str]:
    """`nh+pc` as `["n", "h+p", "c"]`."""
    found: list[str] = []
    for i, letter in enumerate(text):
        if letter == "+":
            found[-1] += "+"
        elif i and text[i - 1] == "+":
            found[-1] += letter
        else:
            found.append(letter)
    return found


@cache
def _maps(indexing: str, factors: tuple[tuple[int, ...], tuple[int, ...]]) -> tuple[AffineMap, ...]:
    operands, order = _sides(indexing)
    strides, dilations = factors
    maps = []
    for operand in operands:
        results: list[AffineExpr] = []
        window = 0
        for dimension in operand:
            loops = [AffineDim(order.index(loop)) for loop in dimension.split("+")]
            if len(loops) == 1:
                results.append(loops[0])
            else:
                results.append(loops[0] * strides[window] + loops[1] * dilations[window])
                window += 1
        maps.append(AffineMap(len(order), 0, results))
    return tuple(maps)


@cache
def _iterators(indexing: str) -> tuple[str, ...]:
    operands, order = _sides(indexing)
    return tuple([PARALLEL if loop in operands[-1] else REDUCTION for loop in order])


class FillOp(NamedOp, name="linalg.fill"):
    """A scalar at every place.

    %r = linalg.fill ins(%x : f32) outs(%t : tensor<4xf32>) -> tensor<4xf32>
    """

    combine = "copy"

    def maps(self) -> tuple[AffineMap, ...]:
        rank = len(self.outputs[0].type.shape)
        return AffineMap(rank, 0, ()), AffineMap.identity(rank)

    def iterators(self) -> tuple[str, ...]:
        return (PARALLEL,) * len(self.outputs[0].type.shape)


class CopyOp(NamedOp, name="linalg.copy"):
    """The input, element by element."""

    combine = "copy"

    def maps(self) -> tuple[AffineMap, ...]:
        return (AffineMap.identity(len(self.outputs[0].type.shape)),) * 2

    def iterators(self) -> tuple[str, ...]:
        return (PARALLEL,) * len(self.outputs[0].type.shape)


class ContractionOp(NamedOp):
    """Sums of products; `indexing_maps`, where given, replace those of the row (a transposed operand)."""

    indexing_maps: OptionalAttr[ArrayAttr]
    cast: OptionalAttr[TypeFnAttr]

    def maps(self) -> tuple[AffineMap, ...]:
        given = self.indexing_maps
        return super().maps() if given is None else given.value


class MatmulOp(ContractionOp, name="linalg.matmul"):
    """The product of two matrices, added to the output."""

    indexing = "mk,kn->mn"


class BatchMatmulOp(ContractionOp, name="linalg.batch_matmul"):
    """The products of two batches of matrices."""

    indexing = "bmk,bkn->bmn"


class MatvecOp(ContractionOp, name="linalg.matvec"):
    """A matrix times a vector."""

    indexing = "mk,k->m"


class VecmatOp(ContractionOp, name="linalg.vecmat"):
    """A vector times a matrix."""

    indexing = "k,kn->n"


class BatchMatvecOp(ContractionOp, name="linalg.batch_matvec"):
    """Batches of a matrix times a vector."""

    indexing = "bmk,bk->bm"


class BatchVecmatOp(ContractionOp, name="linalg.batch_vecmat"):
    """Batches of a vector times a matrix."""

    indexing = "bk,bkn->bn"


class DotOp(ContractionOp, name="linalg.dot"):
    """The product of two vectors."""

    indexing = "k,k->"


class WindowOp(NamedOp):
    """Convolutions and poolings: windows over one to three dimensions."""

    strides: OptionalAttr[DenseElementsAttr]
    dilations: OptionalAttr[DenseElementsAttr]

    def window_factors(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        count = self.indexing.split(",")[0].count("+")
        ones = (1,) * count
        strides, dilations = self.strides, self.dilations
        return (
            ones if strides is None else _integers(strides),
            ones if dilations is None else _integers(dilations),
        )


def _integers(attribute: DenseElementsAttr) -> tuple[int, ...]:
    return tuple(int(v) for v in attribute.array().reshape(-1))


def _window_op(mnemonic: str, indexing: str, combine: str = "multiply_add") -> type[WindowOp]:
    """One row of the windows."""
    class_name = "".join(part.capitalize() for part in mnemonic.split("_")) + "Op"
    namespace = {
        "__doc__": f"`{indexing}`.",
        "__module__": __name__,
        "__qualname__": class_name,
        "indexing": indexing,
        "combine": combine,
    }
    return type(WindowOp)(class_name, (WindowOp,), namespace, name=f"linalg.{mnemonic}")


#: Convolutions: input, kernel, output.
_CONVOLUTIONS = {
    "conv_1d": "w+q,q->w",
    "conv_2d": "h+pw+q,pq->hw",
    "conv_3d": "d+oh+pw+q,opq->dhw",
    "conv_1d_ncw_fcw": "ncw+q,fcq->nfw",
    "conv_1d_nwc_wcf": "nw+qc,qcf->nwf",
    "conv_2d_nchw_fchw": "nch+pw+q,fcpq->nfhw",
    "conv_2d_nhwc_fhwc": "nh+pw+qc,fpqc->nhwf",
    "conv_2d_nhwc_hwcf": "nh+pw+qc,pqcf->nhwf",
    "conv_3d_ncdhw_fcdhw": "ncd+oh+pw+q,fcopq->nfdhw",
    "conv_3d_ndhwc_dhwcf": "nd+oh+pw+qc,opqcf->ndhwf",
    "depthwise_conv_1d_nwc_wc": "nw+qc,qc->nwc",
    "depthwise_conv_1d_nwc_wcm": "nw+qc,qcm->nwcm",
    "depthwise_conv_2d_nchw_chw": "nch+pw+q,cpq->nchw",
    "depthwise_conv_2d_nhwc_hwc": "nh+pw+qc,pqc->nhwc",
    "depthwise_conv_2d_nhwc_hwcm": "nh+pw+qc,pqcm->nhwcm",
    "depthwise_conv_3d_ncdhw_cdhw": "ncd+oh+pw+q,copq->ncdhw",
    "depthwise_conv_3d_ndhwc_dhwc": "nd+oh+pw+qc,opqc->ndhwc",
    "depthwise_conv_3d_ndhwc_dhwcm": "nd+oh+pw+qc,opqcm->ndhwcm",
}

#: Poolings: input, a tensor that only gives the window's shape, output; and how elements combine.
_POOLINGS = {
    "pooling_nchw_max": ("nch+pw+q,pq->nchw", "max"),
    "pooling_nchw_sum": ("nch+pw+q,pq->nchw", "sum"),
    "pooling_ncw_max": ("ncw+q,q->ncw", "max"),
    "pooling_ncw_sum": ("ncw+q,q->ncw", "sum"),
    "pooling_ndhwc_max": ("nd+oh+pw+qc,opq->ndhwc", "max"),
    "pooling_ndhwc_min": ("nd+oh+pw+qc,opq->ndhwc", "min"),
    "pooling_ndhwc_sum": ("nd+oh+pw+qc,opq->ndhwc", "sum"),
    "pooling_nhwc_max": ("nh+pw+qc,pq->nhwc", "max"),
    "pooling_nhwc_max_unsigned": ("nh+pw+qc,pq->nhwc", "max_unsigned"),
    "pooling_nhwc_min": ("nh+pw+qc,pq->nhwc", "min"),
    "pooling_nhwc_min_unsigned": ("nh+pw+qc,pq->nhwc", "min_unsigned"),
    "pooling_nhwc_sum": ("nh+pw+qc,pq->nhwc", "sum"),
    "pooling_nwc_max": ("nw+qc,q->nwc", "max"),
    "pooling_nwc_min": ("nw+qc,q->nwc", "min"),
    "pooling_nwc_sum": ("nw+qc,q->nwc", "sum"),
}

WINDOW_OPS: dict[str, type[WindowOp]] = {
    **{name: _window_op(name, indexing) for name, indexing in _CONVOLUTIONS.items()},
    **{name: _window_op(name, indexing, combine) for name, (indexing, combine) in _POOLINGS.items()},
}
