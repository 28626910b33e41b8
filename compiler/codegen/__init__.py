"""Code generation: one executable from linalg to loops, LLVM IR and an ELF shared object."""
