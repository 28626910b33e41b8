"""The cf dialect: branches between blocks.

cf.cond_br %c, ^bb1(%a : i32), ^bb2
"""

from __future__ import annotations

from typing import Any

from pyiree.compiler.ir.attributes import IntegerAttr
from pyiree.compiler.ir.constraints import AnyType
from pyiree.compiler.ir.core import Block, Operation, Value
from pyiree.compiler.ir.definition import Op
from pyiree.compiler.ir.fields import Operand, StringProp, Successor, Variadic
from pyiree.compiler.ir.traits import Terminator
from pyiree.compiler.ir.types import i1
