"""Fixtures of the hal tests: passes run on text, beside IREE's of the same names; fragments looked for in order."""

# ruff: noqa: E501  (IR text)
import re

import pytest


@pytest.fixture
def run_passes():
    """A function (text, *passes) that gives the text after the passes, verified after each."""
    from pyiree.compiler.hal import pipeline  # noqa: F401  (says where the passes are)
    from pyiree.compiler.ir.parser import parse_module
    from pyiree.compiler.ir.passes import PassContext, PassManager

    def run(text, *passes):
        module = parse_module(text, verify=True)
        PassManager(passes).run(module, PassContext(verify_each=True))
        return str(module)

    return run


@pytest.fixture
def in_order():
    """A function (text, *fragments) that asserts that the fragments occur in this order."""

    def check(text, *fragments):
        at = 0
        for fragment in fragments:
            found = text.find(fragment, at)
            assert found >= 0, f"{fragment!r} does not follow at {text[at : at + 200]!r} in\n{text}"
            at = found + len(fragment)

    return check


@pytest.fixture
def accepted(iree_tool):
    """A function (text, *passes) that lets iree-opt parse and verify a text, and gives it after IREE's passes."""

    def check(text, *passes):
        return iree_tool("iree-opt", "-", *[f"--{name}" for name in passes], input=text).stdout

    return check


@pytest.fixture
def counted():
    """A function (text, *words) that says how often each word occurs, longer words aside."""

    def count(text, *words):
        return {word: len(re.findall(rf"(?<![\w.]){re.escape(word)}(?![\w.])", text)) for word in words}

    return count


TARGET = """
#exe = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu = "generic", native_vector_size = 16 : i64, target_triple = "x86_64-unknown-unknown-eabi-elf"}>
#device = #hal.device.target<"local", [#exe]> : !hal.device
"""

#: Doubles a tensor whose size comes as a word of the dispatch.
DOUBLE = """
  stream.executable private @NAME {
    stream.executable.export public @NAME workgroups(%w: index) -> (index, index, index) {
      %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice(%w)
      stream.return %x, %y, %z : index, index, index
    }
    builtin.module {
      func.func @NAME(%in: !stream.binding {stream.alignment = 64 : index}, %word: i32, %out: !stream.binding) {
        %c0 = arith.constant 0 : index
        %size = arith.index_castui %word : i32 to index
        %n = iree_tensor_ext.dispatch.workload.ordinal %size, 0 : index
        %0 = stream.binding.subspan %in[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<?xf32>>{%n}
        %1 = iree_tensor_ext.dispatch.tensor.load %0, offsets = [0], sizes = [%n], strides = [1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<?xf32>>{%n} -> tensor<?xf32>
        %2 = tensor.empty(%n) : tensor<?xf32>
        %3 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%1 : tensor<?xf32>) outs(%2 : tensor<?xf32>) {
        ^bb0(%a: f32, %b: f32):
          %5 = arith.addf %a, %a : f32
          linalg.yield %5 : f32
        } -> tensor<?xf32>
        %4 = stream.binding.subspan %out[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<?xf32>>{%n}
        iree_tensor_ext.dispatch.tensor.store %3, %4, offsets = [0], sizes = [%n], strides = [1] : tensor<?xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<?xf32>>{%n}
        return
      }
    }
  }
"""


@pytest.fixture
def program():
    """A function (host code, executables=names) that gives a module at the stream phase with those executables."""

    def make(host, executables=("double",)):
        kernels = "".join([DOUBLE.replace("NAME", name) for name in executables])
        return f"""{TARGET}
module @m attributes {{stream.affinity.default = #hal.device.affinity<@device>}} {{
  util.global private @device = #device
  {kernels}
  {host}
}}
"""

    return make
