"""Regions become functions of executables."""

PASS = "iree-flow-outline-dispatch-regions"

EXP = """
#id = affine_map<(d0) -> (d0)>
util.func private @f(%a: tensor<{n}xf32>, %d: index, %k: f32) -> tensor<{n}xf32> {{
  %0 = flow.dispatch.region -> (tensor<{n}xf32>{dims}) {{
    %e = tensor.empty({size}) : tensor<{n}xf32>
    %1 = linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel"]}}
        ins(%a : tensor<{n}xf32>) outs(%e : tensor<{n}xf32>) {{
    ^bb0(%x: f32, %o: f32):
      %2 = arith.mulf %x, %k : f32
      linalg.yield %2 : f32
    }} -> tensor<{n}xf32>
    flow.return %1 : tensor<{n}xf32>
  }}
  util.return %0 : tensor<{n}xf32>
}}
"""


def test_arguments_in_order(run_passes, in_order):
    text = run_passes(EXP.format(n=8, dims="", size=""), PASS)
    in_order(
        text,
        "flow.executable private @f_dispatch_0",
        "flow.executable.export public @f_dispatch_0_elementwise_8_f32 workgroups()",
        "iree_tensor_ext.dispatch.workgroup_count_from_slice()",
        "func.func @f_dispatch_0_elementwise_8_f32(%arg0: !iree_tensor_ext.dispatch.tensor<readonly:tensor<8xf32>>, "
        "%arg1: f32, %arg2: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<8xf32>>)",
        "iree_tensor_ext.dispatch.tensor.load %arg0",
        "arith.mulf %in, %arg1",
        "iree_tensor_ext.dispatch.tensor.store",
        "flow.dispatch @f_dispatch_0::@f_dispatch_0_elementwise_8_f32(%arg0, %arg2) : (tensor<8xf32>, f32)",
    )


def test_dims_are_the_workload(run_passes, in_order):
    source = EXP.format(n="?", dims="{%d}", size="%d").replace(
        "  %0 = flow", "  %c = flow.tensor.splat %k : tensor<?xf32>{%d}\n  %0 = flow"
    )
    text = run_passes(source.replace("ins(%a", "ins(%c"), PASS)
    in_order(
        text,
        "workgroups(%arg0: index)",
        "workgroup_count_from_slice(%arg0)",
        "%arg2: index",
        "iree_tensor_ext.dispatch.workload.ordinal %arg2, 0",
        "sizes = [%0]",
        "tensor.empty(%0)",
        "flow.dispatch @f_dispatch_0::@f_dispatch_0_elementwise_D_f32[%arg1](",
        "{%arg1}",
        "-> tensor<?xf32>{%arg1}",
    )


def test_sizes_that_are_read_inside_are_the_workload_too(run_passes, in_order):
    """Those of what a kernel makes on the way may follow from them."""
    source = EXP.format(n="?", dims="{%d}", size="%d").replace(
        "  %0 = flow", "  %s = arith.addi %d, %d : index\n  %c = flow.tensor.splat %k : tensor<?xf32>{%d}\n  %0 = flow"
    )
    inner = "%p = tensor.empty(%s) : tensor<?xf32>\n    %m = tensor.dim %p, %z : tensor<?xf32>"
    source = source.replace("%e = ", f"%z = arith.constant 0 : index\n    {inner}\n    %e = ")
    text = run_passes(source.replace("ins(%a", "ins(%c"), PASS)
    in_order(text, "workgroups(%arg0: index, %arg1: index)", "ordinal %arg2, 0", "ordinal %arg3, 1", "tensor.empty(%1)")
    in_order(text, "flow.dispatch @f_dispatch_0::@f_dispatch_0_elementwise_D_f32[%arg1, %0](")


def test_numbers_are_no_workload_where_all_sizes_are_known(run_passes):
    source = EXP.format(n=8, dims="", size="").replace("arith.mulf %x, %k", "arith.mulf %x, %y")
    factor = "%j = arith.index_cast %d : index to i32\n      %y = arith.sitofp %j : i32 to f32"
    source = source.replace("%2 =", f"{factor}\n      %2 =")
    text = run_passes(source, PASS)
    assert "workgroups() ->" in text and "%arg1: index" in text


SCATTER = """
util.func private @f(%u: tensor<3x8xf32>, %i: tensor<3x1xi32>, %x: tensor<10x8xf32>) -> tensor<10x8xf32> {{
  %0 = flow.dispatch.region -> (tensor<10x8xf32>) {{
    %1 = iree_linalg_ext.scatter dimension_map = [0] unique_indices(false)
        ins({updates}, %i : tensor<3x8xf32>, tensor<3x1xi32>) outs(%x : tensor<10x8xf32>) {{
    ^bb0(%new: f32, %old: f32):
      %s = arith.addf %old, %new : f32
      iree_linalg_ext.yield %s : f32
    }} -> tensor<10x8xf32>
    flow.return %1 : tensor<10x8xf32>
  }}
  util.return %0 : tensor<10x8xf32>
}}
"""


def test_a_scatter_writes_in_place(run_passes, in_order):
    text = run_passes(SCATTER.format(updates="%u"), PASS)
    in_order(text, "readwrite:tensor<10x8xf32>", "tensor.load", "scatter", "tensor.store", "tensor<10x8xf32>) -> %arg2")
    assert "writeonly" not in text


def test_a_scatter_that_reads_its_tensor_elsewhere_does_not(run_passes):
    source = SCATTER.format(updates="%part").replace(
        "%1 = iree",
        "%part = tensor.extract_slice %x[0, 0] [3, 8] [1, 1] : tensor<10x8xf32> to tensor<3x8xf32>\n    %1 = iree",
    )
    assert "readwrite" not in run_passes(source, PASS)


UPDATE = """
#id = affine_map<(d0, d1) -> (d0, d1)>
util.func private @f(%x: tensor<100x100xf32>, %u: tensor<4x5xf32>, %i: index) -> tensor<100x100xf32> {{
  %0 = flow.dispatch.region -> (tensor<100x100xf32>) {{
    %old = tensor.extract_slice %x[{read}, 5] [4, 5] [1, 1] : tensor<100x100xf32> to tensor<4x5xf32>
    %e = tensor.empty() : tensor<4x5xf32>
    %new = linalg.generic {{indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}}
        ins(%old, %u : tensor<4x5xf32>, tensor<4x5xf32>) outs(%e : tensor<4x5xf32>) {{
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    }} -> tensor<4x5xf32>
    %1 = tensor.insert_slice %new into %x[%i, 5] [4, 5] [1, 1] : tensor<4x5xf32> into tensor<100x100xf32>
    flow.return %1 : tensor<100x100xf32>
  }}
  util.return %0 : tensor<100x100xf32>
}}
"""


def test_an_update_writes_its_part_in_place(run_passes, in_order):
    text = run_passes(UPDATE.format(read="%i"), PASS)
    in_order(
        text,
        "readwrite:tensor<100x100xf32>",
        "tensor.store",
        "offsets = [%arg2, 5], sizes = [4, 5]",
        ") -> %arg0",
    )
    assert "tensor.insert_slice" not in text


def test_an_update_from_another_place_does_not(run_passes):
    text = run_passes(UPDATE.format(read="0"), PASS)
    assert "readwrite" not in text and "tensor.insert_slice" in text
