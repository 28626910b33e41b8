"""Modules that the VM's bytecode imports: `hal` in Python and native halves.

`hal` makes the import table. Native code (imported by the native build alone): `text`, `hal_buffer`,
`hal_command_buffer`, `hal_queue`.
"""
