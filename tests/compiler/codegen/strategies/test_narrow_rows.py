"""Rows of a few elements: columns computed side by side and stored in the order of memory."""

import numpy as np
import pytest


def turned(texts, shape, element):
    """The transposition of a matrix."""
    source, target = texts.tensor(shape, element), texts.tensor(shape[::-1], element)
    body = f"%e = tensor.empty() : {target}\n" + texts.generic(
        "%out0", [("%in0", source)], [("%e", target)], ["(i, j) -> (j, i)", "(i, j) -> (i, j)"], ["parallel"] * 2,
        "", "%a0",
    )  # fmt: skip
    return texts.dispatch([source], [target], body)


def beside(texts, rows, columns, element):
    """So many vectors as the columns of a matrix, the first one doubled."""
    one, column = texts.tensor((rows,), element), texts.tensor((rows, 1), element)
    whole = texts.tensor((rows, columns), element)
    add = "arith.addf" if element.startswith("f") else "arith.addi"
    body = f"%e = tensor.empty() : {column}\n" + texts.generic(
        "%c0", [("%in0", one)], [("%e", column)], ["(i, j) -> (i)", "(i, j) -> (i, j)"], ["parallel"] * 2,
        f"%r = {add} %a0, %a0 : {element}", "%r",
    )  # fmt: skip
    for k in range(1, columns):
        body += f"\n%c{k} = tensor.expand_shape %in{k} [[0, 1]] output_shape [{rows}, 1] : {one} into {column}"
    names = ", ".join(f"%c{k}" for k in range(columns))
    body += f"\n%out0 = tensor.concat dim(1) {names} : ({', '.join([column] * columns)}) -> {whole}"
    return texts.dispatch([one] * columns, [whole], body)


def numbers(texts, shape, element):
    random = np.random.default_rng(7)
    if element == "i1":
        return random.random(shape) > 0.5
    return (random.standard_normal(shape) * 50).astype(texts.numpy[element])


@pytest.mark.each_value
@pytest.mark.parametrize("element", ["f32", "f64", "i8", "f16", "i1"])
@pytest.mark.parametrize("shape", [(2, 640), (3, 1000), (7, 333), (12, 515), (13, 300)], ids=str)
def test_transpositions(texts, build_kernel, runnable_target, shape, element):
    x = numbers(texts, shape, element)
    found = np.empty(shape[::-1], x.dtype)
    build_kernel(turned(texts, shape, element), runnable_target.cpu).run([x, found])
    np.testing.assert_array_equal(found, x.T)


@pytest.mark.each_value
@pytest.mark.parametrize("element", ["f32", "f64", "i8"])
@pytest.mark.parametrize(("rows", "columns"), [(1000, 2), (517, 3), (640, 7), (301, 12), (50, 3), (300, 14)])
def test_columns_of_their_own(texts, build_kernel, runnable_target, rows, columns, element):
    vectors = [numbers(texts, (rows,), element) + np.array(k, texts.numpy[element]) for k in range(columns)]
    found = np.empty((rows, columns), vectors[0].dtype)
    build_kernel(beside(texts, rows, columns, element), runnable_target.cpu).run([*vectors, found])
    np.testing.assert_array_equal(found, np.stack([vectors[0] + vectors[0], *vectors[1:]], 1))


def test_vectors_of_rows_are_stored_whole(texts, build_kernel):
    text = build_kernel(beside(texts, 640, 3, "f32"), "skylake-avx512").kernel.text("kernel")
    (loop,) = [part.partition("}")[0] for part in text.split("for ")[1:]]
    assert [loop.count(f" {word}") for word in ("load", "shuffle", "store", "scatter", "select")] == [3, 6, 3, 0, 0]
    assert "for %" in text


@pytest.mark.parametrize(("columns", "are_turned"), [(4, True), (5, False)])
def test_few_columns_of_bytes_are_turned_round(texts, build_kernel, columns, are_turned):
    # LLVM takes long to find the instructions of every shuffle of 64 bytes.
    text = build_kernel(turned(texts, (columns, 640), "i8"), "skylake-avx512").kernel.text("kernel")
    assert (" shuffle" in text) == are_turned


def test_the_elements_of_vectors_in_turns():
    from pyiree.compiler.codegen.loops import KernelBuilder
    from pyiree.compiler.codegen.narrow_rows import in_order_of_rows

    class Shuffles(KernelBuilder):
        """Shuffles lists of what the lanes are."""

        def shuffle(self, x, y, picks):
            return Lanes([(*x, *y)[p] for p in picks])

    class Lanes(tuple):
        @property
        def lanes(self):
            return len(self)

    builder = Shuffles("kernel")
    for count in range(1, 13):
        columns = [Lanes([(row, c) for row in range(8)]) for c in range(count)]
        found = in_order_of_rows(builder, columns)
        assert [lane for part in found for lane in part] == [(row, c) for row in range(8) for c in range(count)]
