"""Native calls: from the arguments of a Python call to a program, and from its results to Python again.

Enters: a loaded program and the records of the signatures that it is called with. Leaves: Python callables that CPython
calls natively: `caller` matches arguments, `entry` takes a list of arrays, `call` runs the program, small ones by the
plan that `launch_plan` read off the bytecode.
"""
