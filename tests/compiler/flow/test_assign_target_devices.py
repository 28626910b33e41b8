"""A program that names no device gets the default one."""

PASS = "iree-hal-assign-target-devices"


def test_default_device(run_passes, in_order):
    text = run_passes("util.func private @f() { util.return }", PASS)
    in_order(
        text,
        '#hal.executable.target<"llvm-cpu", "embedded-elf-',
        '#hal.device.target<"local"',
        "stream.affinity.default = #hal.device.affinity<@__device_0>",
        "util.global private @__device_0 = #device_target_local",
    )


def test_devices_that_are_named_stay(run_passes):
    source = """
    #target = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64">
    module { util.global private @mine = #hal.device.target<"local", [#target]> }
    """
    text = run_passes(source, PASS)
    assert "__device_0" not in text and "stream.affinity.default" not in text
