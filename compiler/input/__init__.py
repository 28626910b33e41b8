"""The input phase: StableHLO → `util.func` on tensors (linalg, tensor, arith, math, scf, iree_linalg_ext).

    load        a jaxlib module, text, bytecode or portable artifact, by jaxlib (`jaxlib_mlir`)
    convert     op by op (`converter`, one family a file); calls are inlined on the way
    explain     what has no conversion is listed with the user's lines (`legality`)
    clean up    canonicalize, cse

The conversion is ours from op to op, and does not go through jaxlib's legalization: it knows signedness, spells out
StableHLO's rules once (`scalars`), keeps locations, and takes less time than the passes and the reading of their
result would. jaxlib still writes out the special functions and some of complex analysis, a scalar at a time.
"""
