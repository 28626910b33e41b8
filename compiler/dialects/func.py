"""The func dialect: functions of kernels and of modules from elsewhere.

func.func @f(%arg0: i32) -> i32 { … return %arg0 : i32 }
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.dialects.functions import FunctionOp
from pyiree.compiler.ir.constraints import AnyType
from pyiree.compiler.ir.definition import Op
from pyiree.compiler.ir.fields import Results, SymbolRef, Variadic
from pyiree.compiler.ir.traits import HasParent, Pure, ReturnLike, Terminator


class FuncOp(FunctionOp, name="func.func"):
    """A function, or the declaration of one."""

    default_dialect = "func"


class ReturnOp(Op, name="func.return"):
    """Returns from a function.

    return %0, %1 : i32, f32
    """

    operands: Variadic[AnyType]
    traits = (Pure, Terminator, ReturnLike, HasParent("func.func"))
    format = "attr-dict ($operands^ `:` type($operands))?"

    def verify_(self) -> None:
        function: Any = self.parent_op
        if tuple(self.operand_types) != tuple(function.function_type.results):
            found = ", ".join(map(str, self.operand_types))
            raise self.error(f"returns ({found}) from a function of type {function.function_type}")


class CallOp(Op, name="func.call"):
    """Calls a function by name.

    %0 = call @f(%a) : (i32) -> i32
    """

    callee: SymbolRef
    operands: Variadic[AnyType]
    results: Results[AnyType]
    format = "$callee `(` $operands `)` attr-dict `:` functional-type($operands, $results)"
