"""The task system: persistent worker threads that run kernels over workgroups.

`layout` has the memory layouts, `queue` the native code (ready ring, workgroup claiming, parking), `executor`
the Python side (threads, start and stop, fork), `setting` how many there are to be.
"""
