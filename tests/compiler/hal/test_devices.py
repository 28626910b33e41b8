"""Devices and executables are found and loaded with the program; globals that stay the same are loaded once."""

FORMAT = "embedded-elf-x86_64"


def test_initialize_devices(run_passes, accepted, in_order, program):
    text = run_passes(program("", ()), "iree-hal-initialize-devices")
    accepted(text)
    in_order(
        text,
        "util.global private @device : !hal.device",
        "util.initializer {",
        "hal.devices.count : index",
        "hal.devices.get %",
        'key("hal.device.id" :: "local*") : i1, i1 = false',
        f'key("hal.executable.format" :: "{FORMAT}") : i1, i1 = false',
        f'"HAL device `device` not found or unavailable: local with {FORMAT}"',
        "util.global.store",
    )


def test_the_second_device_is_the_one_behind_the_first(run_passes, in_order, program):
    second = f'#hal.device.target<"local", {{ordinal = 1 : index}}, [#hal.executable.target<"llvm-cpu", "{FORMAT}">]>'
    text = run_passes(
        program(f"util.global private @second = {second} : !hal.device", ()), "iree-hal-initialize-devices"
    )
    assert text.count("util.initializer") == 2
    at_second = text.index("private @second :")
    first, behind = text[:at_second], text[at_second:]
    assert "arith.cmpi eq" not in first and first.count("arith.addi") == 1
    in_order(
        behind,
        "^bb1(%0: index, %1: index)",
        f'key("hal.executable.format" :: "{FORMAT}")',
        "%c1 = arith.constant 1 : index",
        "arith.cmpi eq, %1, %c1",
        "arith.addi %1, %c1",
        "util.global.store",
    )


LOOKUPS = """
  hal.executable private @exe {
    hal.executable.variant public @embedded_elf_x86_64 target(#exe) {
    }
  }
  util.func public @f(%p: i1) -> (!hal.executable, !hal.executable) {
    %device = util.global.load immutable @device : !hal.device
    %0 = hal.executable.lookup device(%device : !hal.device) executable(@exe) : !hal.executable
    cf.cond_br %p, ^bb1, ^bb2
  ^bb1:
    %again = util.global.load immutable @device : !hal.device
    %1 = hal.executable.lookup device(%again : !hal.device) executable(@exe) : !hal.executable
    util.return %0, %1 : !hal.executable, !hal.executable
  ^bb2:
    util.return %0, %0 : !hal.executable, !hal.executable
  }
"""


def test_executables_are_loaded_once(run_passes, accepted, in_order, program):
    text = run_passes(program(LOOKUPS, ()), "iree-hal-materialize-resource-caches")
    accepted(text)
    in_order(
        text,
        "util.global private @device = #device",
        "util.global private @device_executable_0_exe : !hal.executable",
        "util.initializer",
        "hal.executable.create device(%device : !hal.device) affinity(%c-1_i64) target(@exe::@embedded_elf_x86_64)",
        "util.global.store",
        "util.func public @f",
        "util.global.load immutable @device_executable_0_exe",
    )
    assert "executable.lookup" not in text and text.count("executable.create") == 1
    assert "device.query" not in text  # the device is chosen for the format


def test_the_format_is_asked_for_where_the_device_may_be_another(run_passes, accepted, in_order, program):
    """As here, where the device is found already."""
    text = run_passes(program(LOOKUPS, ()), "iree-hal-initialize-devices", "iree-hal-materialize-resource-caches")
    accepted(text)
    in_order(
        text,
        "util.global private @device : !hal.device",
        "util.initializer",
        "util.global private @device_executable_0_exe : !hal.executable",
        "util.initializer",
        f'key("hal.executable.format" :: "{FORMAT}")',
        f'"HAL device `device` does not support executable `exe` of format {FORMAT}"',
        "hal.executable.create device(%device : !hal.device) affinity(%c-1_i64) target(@exe::@embedded_elf_x86_64)",
        "util.global.store",
        "util.func public @f",
    )


def test_each_device_loads_its_own(run_passes, program):
    source = LOOKUPS.replace(
        "%again = util.global.load immutable @device", "%again = util.global.load immutable @other"
    )
    source = "util.global private @other = #device\n" + source
    text = run_passes(program(source, ()), "iree-hal-initialize-devices", "iree-hal-materialize-resource-caches")
    assert text.count("executable.create") == 2
    assert "@device_executable_0_exe" in text and "@other_executable_1_exe" in text


def test_loads_of_what_never_changes_are_joined(run_passes, accepted, in_order, program):
    source = """
  util.global private mutable @state : i32
  util.func public @f(%p: i1) -> (!hal.device, !hal.device, i32, i32) {
    cf.cond_br %p, ^bb1, ^bb2
  ^bb1:
    %a = util.global.load immutable @device : !hal.device
    %x = util.global.load @state : i32
    util.return %a, %a, %x, %x : !hal.device, !hal.device, i32, i32
  ^bb2:
    %b = util.global.load immutable @device : !hal.device
    %c = util.global.load immutable @device : !hal.device
    %y = util.global.load @state : i32
    %z = util.global.load @state : i32
    util.return %b, %c, %y, %z : !hal.device, !hal.device, i32, i32
  }
"""
    text = run_passes(program(source, ()), "iree-util-simplify-global-accesses")
    accepted(text)
    assert text.count("load immutable @device") == 1 and text.count("load @state") == 3
    in_order(text, "@f(", "util.global.load immutable @device", "cf.cond_br", "^bb1")


def test_an_initializer_loads_what_it_stored_behind_the_store(run_passes, in_order, program):
    source = """
  util.global private @x : i32
  util.global private @y : i32
  util.initializer {
    %c1 = arith.constant 1 : i32
    util.global.store %c1, @x : i32
    %0 = util.global.load immutable @x : i32
    util.global.store %0, @y : i32
    util.return
  }
"""
    text = run_passes(program(source, ()), "iree-util-simplify-global-accesses")
    in_order(text, "store %c1_i32, @x", "load immutable @x", "@y")
