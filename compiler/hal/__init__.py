"""The HAL phase: device objects, command buffers and machine code."""
