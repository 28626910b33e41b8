"""A program for two devices: what one has computed goes to the other, on our runtime and on IREE's."""

# ruff: noqa: E501  (IR text)

import numpy as np
import pytest

#: `(x + x)` on the first device, `y * y` of it on the second, a loop that goes back and forth, and two results, one on
#: each device. The size is known at run time only.
PROGRAM = """
#exe = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu = "generic", target_triple = "x86_64-unknown-unknown-eabi-elf", native_vector_size = 16 : i64}>
module @two attributes {stream.affinity.default = #hal.device.affinity<@first>} {
util.global private @first = #hal.device.target<"local", {ordinal = 0 : index}, [#exe]> : !hal.device
util.global private @second = #hal.device.target<"local", {ordinal = 1 : index}, [#exe]> : !hal.device
KERNELS
util.func public @main(%x: !hal.buffer_view, %steps: i32) -> (!hal.buffer_view, !hal.buffer_view) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.index_cast %steps : i32 to index
  %d = hal.buffer_view.dim<%x : !hal.buffer_view>[0] : index
  %0 = hal.tensor.import %x "x" : !hal.buffer_view -> tensor<?xf32>{%d}
  %1 = flow.dispatch @addf::@addf[%d](%0, %d) : (tensor<?xf32>{%d}, index) -> tensor<?xf32>{%d}
  %2 = flow.tensor.transfer %1 : tensor<?xf32>{%d} to #hal.device.affinity<@second>
  %3 = flow.dispatch @mulf::@mulf[%d](%2, %d) : (tensor<?xf32>{%d}, index) -> tensor<?xf32>{%d}
  %4 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %3) -> (tensor<?xf32>) {
    %there = flow.tensor.transfer %s : tensor<?xf32>{%d} to #hal.device.affinity<@first>
    %a = flow.dispatch @addf::@addf[%d](%there, %d) : (tensor<?xf32>{%d}, index) -> tensor<?xf32>{%d}
    %back = flow.tensor.transfer %a : tensor<?xf32>{%d} to #hal.device.affinity<@second>
    scf.yield %back : tensor<?xf32>
  }
  %5 = flow.tensor.transfer %4 : tensor<?xf32>{%d} to #hal.device.affinity<@first>
  %o = hal.tensor.export %5 "o" : tensor<?xf32>{%d} -> !hal.buffer_view
  %p = hal.tensor.export on(#hal.device.affinity<@second>) %3 "p" : tensor<?xf32>{%d} -> !hal.buffer_view
  util.return %o, %p : !hal.buffer_view, !hal.buffer_view
}}
"""
KERNEL = """
flow.executable private @OP {
  flow.executable.export public @OP workgroups(%w: index) -> (index, index, index) {
    %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice(%w)
    flow.return %x, %y, %z : index, index, index
  }
  builtin.module { func.func @OP(%a: !iree_tensor_ext.dispatch.tensor<readonly:tensor<?xf32>>, %d: index, %b: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<?xf32>>) {
    %n = iree_tensor_ext.dispatch.workload.ordinal %d, 0 : index
    %0 = iree_tensor_ext.dispatch.tensor.load %a, offsets = [0], sizes = [%n], strides = [1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<?xf32>>{%n} -> tensor<?xf32>
    %e = tensor.empty(%n) : tensor<?xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%0 : tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%i: f32, %o: f32):
      %2 = arith.OP %i, %i : f32
      linalg.yield %2 : f32
    } -> tensor<?xf32>
    iree_tensor_ext.dispatch.tensor.store %1, %b, offsets = [0], sizes = [%n], strides = [1] : tensor<?xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<?xf32>>{%n}
    return
  } }
}
"""
STEPS = 3
X = np.linspace(-2, 2, 101, dtype=np.float32)
WANT = [(X + X) ** 2 * 2.0**STEPS, (X + X) ** 2]


@pytest.fixture(scope="module")
def source():
    return PROGRAM.replace("KERNELS", "".join([KERNEL.replace("OP", op) for op in ("addf", "mulf")]))


@pytest.fixture(scope="module")
def vmfb(source):
    from pyiree.compiler import pipeline

    return pipeline.compile(source, compile_from="flow").vmfb


@pytest.mark.parametrize("devices", [("local-task",) * 2, ("local-sync",) * 2, ("local-task", "local-sync")])
def test_on_our_runtime(vmfb, devices):
    from pyiree.runtime import session

    module = session.load(vmfb, devices=devices)
    for _ in range(3):
        results = module.main(X, STEPS)
        for found, want in zip(results, WANT, strict=True):
            np.testing.assert_array_equal(np.asarray(found), want)


def test_on_iree_s_runtime(vmfb, iree_tool, tmp_path):
    path = tmp_path / "two.vmfb"
    path.write_bytes(vmfb)
    np.save(tmp_path / "x.npy", X)
    iree_tool(
        "iree-run-module", f"--module={path}", "--device=local-task", "--device=local-task", "--function=main",
        f"--input=@{tmp_path}/x.npy", f"--input={STEPS}",
        f"--output=@{tmp_path}/o.npy", f"--output=@{tmp_path}/p.npy",
    )  # fmt: skip
    for name, want in zip(("o", "p"), WANT):
        np.testing.assert_array_equal(np.load(tmp_path / f"{name}.npy"), want)


def test_one_device_is_too_few(vmfb, iree_tool, tmp_path):
    from pyiree.runtime import session
    from pyiree.runtime.vm.errors import VmError

    message = "HAL device `second` not found or unavailable: local with embedded-elf-x86_64"
    with pytest.raises(VmError, match=message):
        session.load(vmfb, devices="local-task")
    path = tmp_path / "two.vmfb"
    path.write_bytes(vmfb)
    done = iree_tool("iree-run-module", f"--module={path}", "--device=local-task", "--function=main", check=False)
    assert done.returncode != 0 and message in done.stderr


def test_each_device_has_its_own(source):
    from pyiree.compiler import pipeline

    text = pipeline.compile(source, compile_from="flow", compile_to="hal").text()
    for name in ("first", "second"):
        assert f"util.global private @{name} : !hal.device" in text
        assert f"util.global private @{name}_executable_" in text
        assert f"hal.device.queue.execute.indirect<%{name} : !hal.device>" in text


def test_iree_takes_the_text_of_every_phase(source, iree_tool):
    from pyiree.compiler import pipeline

    texts = [pipeline.compile(source, compile_from="flow", compile_to=p).text() for p in ("stream", "hal", "vm")]
    iree_tool("iree-opt", "--split-input-file", "-", input="\n// -----\n".join([source, *texts]))
