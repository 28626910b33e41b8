"""Which dims of a contraction are the rows of a matrix product, over which of them its innermost loop runs, and how
large its register tiles are."""

import pytest
from pyiree.compiler.codegen import target as targets
from pyiree.compiler.codegen.dispatch import DispatchGraph
from pyiree.compiler.codegen.row_kernel import RowKernel
from pyiree.compiler.codegen.strategies.matmul.shape import matmul_shape
from pyiree.compiler.codegen.strategies.matmul.tile_sizes import choose_sizes
from pyiree.compiler.ir.parser import parse


@pytest.fixture
def kernel_of(texts):
    """A function (letters of both factors and the result, sizes, target) → the kernel of that contraction in f32."""

    def run(letters, sizes, target="x86-64-v4"):
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
        return RowKernel(DispatchGraph(func), targets.named(target))

    return run


@pytest.fixture
def shape_of(kernel_of):
    """A function (letters of both factors and the result, sizes) → (extent of the rows, extents of the products)."""

    def run(letters, sizes):
        kernel = kernel_of(letters, sizes)
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


@pytest.fixture
def tile_of(kernel_of):
    """A function (letters, (rows, products, columns), target) → (rows, vectors of columns) of a register tile."""

    def run(letters, extents, target="x86-64-v4"):
        kernel = kernel_of(letters, dict(zip("ikj", extents, strict=True)), target)
        shape = matmul_shape(kernel)
        lanes = kernel.target.lanes(32)
        sizes = choose_sizes(kernel, shape, lanes)
        vectors = sizes.height * sizes.width + sizes.width + 1
        assert vectors <= kernel.target.vector_registers
        return sizes.height, sizes.width

    return run


@pytest.mark.parametrize(
    ("letters", "extents", "tile"),
    [
        # Read in place: a panel's vector is one load, so that tiles are wide.
        ("ik,kj->ij", (256, 256, 256), (6, 4)),
        ("ik,kj->ij", (128, 128, 64), (6, 4)),
        ("ki,kj->ij", (128, 128, 128), (6, 4)),
        # As few rows in the last strip as there must be.
        ("ik,kj->ij", (64, 64, 48), (8, 3)),
        # No whole number of wide panels.
        ("ik,kj->ij", (128, 128, 160), (13, 2)),
        ("ik,kj->ij", (128, 128, 16), (26, 1)),
        # Packed: a panel's vector is asked for and comes from further away.
        ("ik,kj->ij", (768, 768, 768), (8, 3)),
        ("ik,jk->ij", (768, 768, 768), (8, 3)),
        ("ik,kj->ij", (1024, 1024, 1024), (13, 2)),
        # Blocks of the right number of columns, where transposed rows are packed.
        ("ki,kj->ij", (768, 768, 768), (12, 2)),
        # The columns' factor is gone through once.
        ("ik,kj->ij", (12, 256, 256), (12, 2)),
        # Narrow tiles are all alike, wide ones would leave a rest.
        ("ik,kj->ij", (28, 64, 64), (14, 2)),
    ],
)
def test_tiles_load_little_for_each_multiply_add(tile_of, letters, extents, tile):
    assert tile_of(letters, extents) == tile


@pytest.mark.parametrize(
    ("target", "extents", "tile"),
    [
        ("x86-64-v3", (96, 96, 96), (6, 2)),
        ("x86-64-v3", (96, 96, 64), (6, 2)),
        ("x86-64-v3", (768, 768, 768), (6, 2)),
        ("generic", (96, 96, 64), (6, 4)),
    ],
)
def test_tiles_fit_the_registers_of_the_target(tile_of, target, extents, tile):
    assert tile_of("ik,kj->ij", extents, target) == tile
