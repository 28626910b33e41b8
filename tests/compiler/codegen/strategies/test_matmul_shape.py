"""Which dims of a contraction are the rows of a matrix product, and over which of them its innermost loop runs."""

import pytest
from pyiree.compiler.codegen import target as targets
from pyiree.compiler.codegen.dispatch import DispatchGraph
from pyiree.compiler.codegen.row_kernel import RowKernel
from pyiree.compiler.codegen.strategies.matmul.shape import matmul_shape
from pyiree.compiler.ir.parser import parse


@pytest.fixture
def shape_of(texts):
    """A function (letters of both factors and the result, sizes) → (extent of the rows, extents of the products)."""

    def run(letters, sizes):
        left, rest = letters.split(",")
        right, out = rest.split("->")
        loops = out + "".join([c for c in left if c not in out])
        every = "(" + ", ".join([f"d{k}" for k in range(len(loops))]) + ")"
        maps = [f"{every} -> ({', '.join([f'd{loops.index(c)}' for c in part])})" for part in (left, right, out)]
        types = [texts.tensor([sizes[c] for c in part], "f32") for part in (left, right, out)]
        kinds = ["parallel" if c in out else "reduction" for c in loops]
        body = f"%z = arith.constant 0.0 : f32\n%e = tensor.empty() : {types[2]}\n"
        body += f"%f = linalg.fill ins(%z : f32) outs(%e : {types[2]}) -> {types[2]}\n"
        body += texts.generic(
            "%out0", [("%in0", types[0]), ("%in1", types[1])], [("%f", types[2])], maps, kinds,
            "%p = arith.mulf %a0, %a1 : f32\n%s = arith.addf %c0, %p : f32", "%s",
        )  # fmt: skip
        module = parse(texts.dispatch(types[:2], [types[2]], body))
        func = next(op for op in module.walk() if op.name == "func.func")
        kernel = RowKernel(DispatchGraph(func), targets.named("x86-64-v4"))
        shape = matmul_shape(kernel)
        return shape.row_count(kernel), [band.extent for band in (*shape.outer_products, shape.products)]

    return run


def test_rows_are_the_innermost_dim_that_fills_a_tile(shape_of):
    """The longer one lies further apart; what is used no more often need not be packed."""
    assert shape_of("nwhk,kc->nhwc", {"n": 40, "h": 30, "w": 20, "k": 64, "c": 64}) == (20, [64])
    # Too few to fill a tile.
    assert shape_of("nwhk,kc->nhwc", {"n": 40, "h": 30, "w": 5, "k": 64, "c": 64}) == (30, [64])


def test_rows_are_the_longest_dim_where_columns_are_packed_for_them(shape_of):
    assert shape_of("nwhk,ck->nhwc", {"n": 40, "h": 30, "w": 20, "k": 64, "c": 64}) == (40, [64])


@pytest.mark.parametrize(
    ("sizes", "products"),
    [
        # Images far from each other: along their rows.
        ({"n": 32, "h": 14, "w": 20, "i": 32, "o": 64}, [32, 14, 20]),
        # Rows that are too short.
        ({"n": 32, "h": 14, "w": 6, "i": 32, "o": 64}, [6, 14, 32]),
    ],
)
def test_products_lie_close_to_each_other(shape_of, sizes, products):
    """As in the gradient of a convolution by its filter; the other factor has its dims in another order."""
    rows, found = shape_of("nhwi,hnwo->io", sizes)
    assert rows == sizes["i"]
    assert (found[-1], sorted(found)) == (products[-1], sorted(products))
