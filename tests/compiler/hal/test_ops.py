"""The text of hal ops is IREE's: `iree-opt` reads what we print and prints the same, for every op that we have."""

# ruff: noqa: E501  (IR text)
import re

import pytest

HOST = """
util.global private @device : !hal.device
util.func public @host(%view: !hal.buffer_view, %n: index, %d: i64, %host: !util.buffer, %pattern: i32) -> !hal.buffer_view {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c0_i64 = arith.constant 0 : i64
  %c-1_i64 = arith.constant -1 : i64
  %c-1_i32 = arith.constant -1 : i32
  %device_count = hal.devices.count : index
  %device_n = hal.devices.get %n : !hal.device
  %ok, %value = hal.device.query<%device_n : !hal.device> key("hal.device.id" :: "local*") : i1, i1 = false
  %ok_0, %value_1 = hal.device.query<%device_n : !hal.device> key("a" :: "b") : i1, i64
  %device:3 = hal.device.resolve on(#hal.device.affinity<@device, [0, 3]>) : !hal.device, !hal.allocator, i64
  %allocator = hal.device.allocator<%device_n : !hal.device> : !hal.allocator
  %memory_type = hal.memory_type<"DeviceVisible|DeviceLocal"> : i32
  %memory_type_a = hal.memory_type<DeviceVisible> : i32
  %memory_type_b = hal.memory_type<"HostVisible|HostCoherent|HostLocal|DeviceVisible"> : i32
  %buffer_usage = hal.buffer_usage<"TransferSource|TransferTarget|Transfer|DispatchStorageRead|DispatchStorageWrite|DispatchStorage|SharingImmutable"> : i32
  %buffer_usage_a = hal.buffer_usage<"TransferSource|TransferTarget|Transfer|DispatchStorageRead|DispatchStorageWrite|DispatchStorage|MappingScoped|MappingAccessRandom|Mapping"> : i32
  %element_type_f32 = hal.element_type<f32> : i32
  %element_type_i1 = hal.element_type<i1> : i32
  %element_type_ui8 = hal.element_type<ui8> : i32
  %element_type_bf16 = hal.element_type<bf16> : i32
  %element_type_complex = hal.element_type<complex<f32>> : i32
  %dense_row_major = hal.encoding_type<dense_row_major> : i32
  %e = hal.buffer_view.element_type<%view : !hal.buffer_view> : i32
  %g = hal.buffer_view.encoding_type<%view : !hal.buffer_view> : i32
  %rank = hal.buffer_view.rank<%view : !hal.buffer_view> : index
  %dim = hal.buffer_view.dim<%view : !hal.buffer_view>[1] : index
  hal.buffer_view.trace "key" = %view, %view : !hal.buffer_view, !hal.buffer_view
  hal.buffer_view.assert<%view : !hal.buffer_view> message("input0") shape([%n, %c64]) type(%element_type_f32) encoding(%dense_row_major)
  hal.buffer_view.assert<%view : !hal.buffer_view> message("scalar") shape([]) type(%element_type_f32) encoding(%dense_row_major)
  %buffer = hal.buffer_view.buffer<%view : !hal.buffer_view> : !hal.buffer
  hal.buffer.assert<%buffer : !hal.buffer> message("tensor") allocator(%allocator : !hal.allocator) minimum_length(%n) type(DeviceVisible) usage("TransferSource|TransferTarget|Transfer|DispatchStorageRead|DispatchStorageWrite|DispatchStorage")
  hal.buffer.allocation.preserve<%buffer : !hal.buffer>
  %was_terminal = hal.buffer.allocation.discard<%buffer : !hal.buffer> : i1
  %is_terminal = hal.buffer.allocation.is_terminal<%buffer : !hal.buffer> : i1
  %buffer_c = hal.buffer.subspan<%buffer : !hal.buffer>[%c0, %n] : !hal.buffer
  %length = hal.buffer.length<%buffer : !hal.buffer> : index
  %load = hal.buffer.load<%buffer : !hal.buffer>[%c0] : i32
  hal.buffer.store<%buffer : !hal.buffer>[%c0] value(%load : i32)
  %buffer_d = hal.allocator.allocate<%allocator : !hal.allocator> affinity(%c-1_i64) type(%memory_type) usage(%buffer_usage) : !hal.buffer{%n}
  %did_import, %mapped = hal.allocator.import<%allocator : !hal.allocator> source(%host : !util.buffer)[%c0, %n] affinity(%c-1_i64) type(%memory_type) usage(%buffer_usage) : i1, !hal.buffer
  %null = util.null : !hal.fence
  %fence = hal.fence.create device(%device_n : !hal.device) flags("None") : !hal.fence
  %fence_e = hal.fence.join at([%fence, %null]) flags("None") -> !hal.fence
  %transient_buffer = hal.device.queue.alloca<%device_n : !hal.device> affinity(%c-1_i64) wait(%null) signal(%fence) pool(%c0_i64) type(%memory_type) usage(%buffer_usage) flags("None") : !hal.buffer{%n}
  %transient_buffer_f = hal.device.queue.alloca<%device_n : !hal.device> affinity(%c-1_i64) wait(%null) signal(%fence) pool(%c0_i64) type(%memory_type) usage(%buffer_usage) flags(IndeterminateLifetime) : !hal.buffer{%n}
  hal.device.queue.dealloca<%device_n : !hal.device> affinity(%c-1_i64) wait(%null) signal(%fence) buffer(%transient_buffer : !hal.buffer) flags("None")
  hal.device.queue.dealloca<%device_n : !hal.device> affinity(%c-1_i64) wait(%null) signal(%fence) buffer(%transient_buffer_f : !hal.buffer) flags(PreferOrigin)
  hal.device.queue.fill<%device_n : !hal.device> affinity(%c-1_i64) wait(%null) signal(%fence) target(%buffer : !hal.buffer)[%c0] length(%n) pattern(%pattern : i32) flags("None")
  hal.device.queue.update<%device_n : !hal.device> affinity(%c-1_i64) wait(%null) signal(%fence) source(%host : !util.buffer)[%c0] target(%buffer : !hal.buffer)[%c0] length(%n) flags("None")
  hal.device.queue.copy<%device_n : !hal.device> affinity(%c-1_i64) wait(%null) signal(%fence) source(%buffer : !hal.buffer)[%c0] target(%mapped : !hal.buffer)[%c0] length(%n) flags("None")
  %memory_file = hal.ex.file.from_memory device(%device_n : !hal.device) affinity(%c-1_i64) access(Read) buffer(%host : !util.buffer)[%c0 for %n] flags(%c-1_i32) : !hal.file
  hal.device.queue.read<%device_n : !hal.device> affinity(%c-1_i64) wait(%null) signal(%fence) source(%memory_file : !hal.file)[%d] target(%buffer : !hal.buffer)[%c0] length(%n) flags("None")
  hal.device.queue.write<%device_n : !hal.device> affinity(%c-1_i64) wait(%null) signal(%fence) source(%buffer : !hal.buffer)[%c0] target(%memory_file : !hal.file)[%d] length(%n) flags("None")
  hal.device.queue.barrier<%device_n : !hal.device> affinity(%c-1_i64) wait(%null) signal(%fence) flags("None")
  hal.device.queue.flush<%device_n : !hal.device> affinity(%c-1_i64)
  %status = hal.fence.query<%fence : !hal.fence> : i32
  hal.fence.signal<%fence : !hal.fence>
  hal.fence.fail<%fence : !hal.fence> status(%status)
  %status_g = hal.fence.await until([%fence, %fence_e]) timeout_millis(%c-1_i32) flags("None") : i32
  util.status.check_ok %status_g, "failed to wait on timepoint"
  %view_h = hal.buffer_view.create buffer(%buffer : !hal.buffer)[%c0, %n] shape([%n, %c64]) type(%element_type_f32) encoding(%dense_row_major) : !hal.buffer_view
  %view_i = hal.buffer_view.create buffer(%buffer : !hal.buffer)[%c0, %n] shape([]) type(%element_type_f32) encoding(%dense_row_major) : !hal.buffer_view
  util.return %view_h : !hal.buffer_view
}
"""

ALIASES = """
#exe = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu = "generic"}>
#pipeline_layout = #hal.pipeline.layout<constants = 2, bindings = [#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, Indirect>, #hal.pipeline.binding<storage_buffer>], flags = Indirect>
"""

COMMANDS = """
util.global private @device = #hal.device.target<"local", {ordinal = 1 : index}, [#exe]> : !hal.device
hal.executable private @exe {
  hal.executable.variant public @embedded_elf_x86_64 target(#exe) {
    hal.executable.export public @f ordinal(0) layout(#pipeline_layout) count(%arg0: !hal.device, %arg1: index) -> (index, index, index) {
      %c1 = arith.constant 1 : index
      hal.return %arg1, %c1, %c1 : index, index, index
    }
    hal.executable.export public @g ordinal(1) layout(#hal.pipeline.layout<bindings = []>)
    hal.executable.export public @h ordinal(2) layout(#pipeline_layout) condition(%arg0: !hal.device) -> i1 {
      %ok, %value = hal.device.query<%arg0 : !hal.device> key("a" :: "b") : i1, i1 = true
      hal.return %value : i1
    } fallback(@f) count(%arg0: !hal.device, %arg1: index) -> (index, index, index) {
      %c1 = arith.constant 1 : index
      hal.return %c1, %c1, %c1 : index, index, index
    }
    builtin.module {
      func.func @f() {
        %c0 = arith.constant 0 : index
        %a = hal.interface.constant.load layout(#pipeline_layout) ordinal(0) : i32
        %b = hal.interface.constant.load layout(#pipeline_layout) ordinal(1) alignment(16) values([16 : i32, 32 : i32]) : i32
        %n = arith.index_cast %b : i32 to index
        %x = hal.interface.binding.subspan layout(#pipeline_layout) binding(0) alignment(64) offset(%c0) flags("ReadOnly|Indirect") : !iree_tensor_ext.dispatch.tensor<readonly:tensor<?x4xf32>>{%n}
        %y = hal.interface.binding.subspan layout(#pipeline_layout) binding(1) flags(Indirect) : !iree_tensor_ext.dispatch.tensor<writeonly:tensor<?x4xf32>>{%n}
        %z = hal.interface.binding.subspan layout(#pipeline_layout) binding(2) : memref<4xf32>
        %workgroup_id_x = hal.interface.workgroup.id[0] : index
        %workgroup_count_y = hal.interface.workgroup.count[1] : index
        return
      }
    }
  }
}
hal.executable private @binary {
  hal.executable.binary public @embedded_elf_x86_64 <format = "embedded-elf-x86_64", data = dense<[127, 69, 76, 70]> : vector<4xi8>, mime_type = "application/x-elf">
  hal.executable.binary public @other <format = "other", data = dense<0> : vector<4xi8>>
}
util.func public @commands(%device: !hal.device, %buffer: !hal.buffer, %host: !util.buffer, %n: index, %k: i32, %byte: i8, %fence: !hal.fence) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c-1_i64 = arith.constant -1 : i64
  %ordinal = hal.executable.export.ordinal target(@exe::@embedded_elf_x86_64::@f) : index
  %workgroup_x, %workgroup_y, %workgroup_z = hal.executable.calculate_workgroups device(%device : !hal.device) target(@exe::@embedded_elf_x86_64::@f) workload([%n]) : index, index, index
  %executable = hal.executable.create device(%device : !hal.device) affinity(%c-1_i64) target(@binary::@embedded_elf_x86_64) constants([%k, %k]) : !hal.executable
  %executable_0 = hal.executable.create device(%device : !hal.device) affinity(%c-1_i64) target(@binary::@embedded_elf_x86_64) : !hal.executable
  %exe = hal.executable.lookup device(%device : !hal.device) executable(@exe) : !hal.executable
  %function_id = hal.executable.lookup.function target(%exe : !hal.executable) function(@exe::@embedded_elf_x86_64::@f) : i64
  %memo = hal.device.memoize<%device : !hal.device> affinity(%c-1_i64) -> !hal.command_buffer {
    %cmd = hal.command_buffer.create device(%device : !hal.device) mode("None") categories("Transfer|Dispatch") affinity(%c-1_i64) bindings(%c4) : !hal.command_buffer
    hal.command_buffer.finalize<%cmd : !hal.command_buffer>
    hal.return %cmd : !hal.command_buffer
  }
  %cmd_1 = hal.command_buffer.create device(%device : !hal.device) mode("OneShot|AllowInlineExecution") categories(Dispatch) affinity(%c-1_i64) : !hal.command_buffer
  %cmd_2 = hal.command_buffer.create device(%device : !hal.device) mode(OneShot) categories("Transfer|Dispatch") affinity(%c-1_i64) bindings(%c4) : !hal.command_buffer
  hal.command_buffer.begin_debug_group<%cmd_2 : !hal.command_buffer> label("group")
  hal.command_buffer.fill_buffer<%cmd_2 : !hal.command_buffer> target(%c0 : index)[%c0, %n] pattern(%k : i32) flags("None")
  hal.command_buffer.fill_buffer<%cmd_2 : !hal.command_buffer> target(%buffer : !hal.buffer)[%c0, %n] pattern(%byte : i8) flags("None")
  hal.command_buffer.update_buffer<%cmd_2 : !hal.command_buffer> source(%host : !util.buffer{%n})[%c0] target(%c1 : index)[%c0] length(%n) flags("None")
  hal.command_buffer.copy_buffer<%cmd_2 : !hal.command_buffer> source(%c0 : index)[%c0] target(%buffer : !hal.buffer)[%c0] length(%n) flags("None")
  hal.command_buffer.execution_barrier<%cmd_2 : !hal.command_buffer> source("Dispatch|Transfer|CommandRetire") target("CommandIssue|Dispatch|Transfer") flags("None")
  hal.command_buffer.dispatch<%cmd_2 : !hal.command_buffer> target(%exe : !hal.executable)[%function_id] workgroups([%n, %c1, %c1]) constants([%k, %k]) bindings([
    (%c0 : index)[%c0, %n],
    (%buffer : !hal.buffer)[%c4, %n]
  ]) flags("None")
  hal.command_buffer.dispatch<%cmd_2 : !hal.command_buffer> target(%exe : !hal.executable)[%function_id] workgroups([%n, %c1, %c1]) bindings([
    (%c0 : index)[%c0, %n]
  ]) flags("None")
  hal.command_buffer.end_debug_group<%cmd_2 : !hal.command_buffer>
  hal.command_buffer.finalize<%cmd_2 : !hal.command_buffer>
  %null = util.null : !hal.fence
  hal.device.queue.execute<%device : !hal.device> affinity(%c-1_i64) wait(%null) signal(%fence) commands(%cmd_1) flags("None")
  hal.device.queue.execute.indirect<%device : !hal.device> affinity(%c-1_i64) wait(%null) signal(%fence) commands(%memo) bindings([
    (%buffer : !hal.buffer)[%c0, %n],
    (%buffer : !hal.buffer)[%c4, %c4]
  ]) flags("None")
  util.return
}
"""

TENSORS = """
util.func public @tensors(%view: !hal.buffer_view, %buffer: !hal.buffer, %fence: !hal.fence, %n: index) -> (!hal.buffer_view, !hal.buffer) {
  %0 = hal.tensor.import %view "input0" : !hal.buffer_view -> tensor<?x4xf32>{%n}
  %1 = hal.tensor.import on(#hal.device.affinity<@device>) wait(%fence) => consume %view offset(%n) : !hal.buffer_view -> tensor<4xui8> as tensor<4xi8>
  %2 = hal.tensor.import %buffer : !hal.buffer -> tensor<4xf32>
  %3:2 = hal.tensor.barrier join(%0, %1 : tensor<?x4xf32>, tensor<4xi8>) => %fence : !hal.fence
  %4 = hal.tensor.export on(#hal.device.affinity<@device>) %3#0 "output0" : tensor<?x4xf32>{%n} -> !hal.buffer_view
  %5 = hal.tensor.export %3#1 : tensor<4xui8> as tensor<4xi8> -> !hal.buffer
  %6 = hal.tensor.export %2 : tensor<4xf32> -> !hal.buffer_view
  util.return %4, %5 : !hal.buffer_view, !hal.buffer
}
"""

TEXTS = {"host": HOST, "commands": COMMANDS, "tensors": TENSORS}
#: Ops whose text is read in every module of executables but which are never written themselves.
UNWRITTEN = {"hal.executable_end", "hal.executable.variant_end"}


def normalized(text):
    """Text without the comments on predecessors and without space at the ends of lines."""
    return re.sub(r"\s*(//.*)?$", "", text, flags=re.M).strip()


@pytest.mark.parametrize("name", TEXTS)
def test_text_is_read_by_iree_and_printed_alike(name, iree_tool):
    from pyiree.compiler.ir.parser import parse
    from pyiree.compiler.ir.printer import print_operation

    ours = print_operation(parse(f"{ALIASES} module {{ {TEXTS[name]} }}", verify=True))
    theirs = iree_tool("iree-opt", "-", input=ours).stdout
    assert normalized(ours) == normalized(theirs)
    assert print_operation(parse(ours, verify=True)) == ours


@pytest.mark.parametrize("name", TEXTS)
def test_generic_text_is_read_by_iree(name, iree_tool):
    from pyiree.compiler.ir.parser import parse
    from pyiree.compiler.ir.printer import print_operation

    module = parse(f"{ALIASES} module {{ {TEXTS[name]} }}", verify=True)
    generic = print_operation(module, generic=True)
    theirs = iree_tool("iree-opt", "-", input=generic).stdout
    assert normalized(theirs) == normalized(print_operation(module))


def test_every_op_occurs():
    from pyiree.compiler.ir.registry import operations_of

    text = "".join(TEXTS.values())
    known = {cls.name for cls in operations_of(["hal"])}
    assert known - set(re.findall(r"\bhal\.[a-z_.]*[a-z]", text)) == UNWRITTEN
