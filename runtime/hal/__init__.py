"""The HAL: devices, memory, fences, command buffers and executables.

Modules that hold native code (imported by the native build alone): `allocator buffer fence transfer
command_buffer instance queue`. The Python side: `device executable elf_loader processor element_types
device_array registry` and the drivers in `drivers/`. `layout` has every native record.
"""
