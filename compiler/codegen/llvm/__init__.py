"""LLVM: IR text (values, emit), its soft library, objects, and the executable library around kernels."""
