"""The format of IREE `.vmfb` files as data: container, schema, instruction set, calling conventions."""
