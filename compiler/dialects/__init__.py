"""The dialects that phases share, one file each; names, operand order and text are MLIR's and IREE's."""
