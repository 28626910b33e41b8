"""Constraints on the types of operands and results, as op declarations name them.

What enters: `Operand[TensorType]`, `Operand[i1]`, `Operand[AnyFloat | IndexType]`. What leaves: a predicate, a
description for messages, and the one type that satisfies it where there is only one.
"""

from __future__ import annotations

import types as python_types
from collections.abc import Callable
from typing import Any

from pyiree.compiler.ir.types import (
    ComplexType,
    FloatType,
    IndexType,
    IntegerType,
    MemRefType,
    NoneType,
    ShapedType,
    TensorType,
    Type,
    VectorType,
    element_type_of,
)


class TypeConstraint:
    """A named predicate on types; `only` is the type if just one satisfies it."""

    __slots__ = ("accepts", "description", "only")

    def __init__(self, description: str, accepts: Callable[[Type], bool], only: Type | None = None) -> None:
        self.description = description
        self.accepts = accepts
        self.only = only

    def __or__(self, other: Any) -> TypeConstraint:
        right = constraint(other)
        return TypeConstraint(
            f"{self.description} or {right.description}", lambda t: self.accepts(t) or right.accepts(t)
        )

    def __ror__(self, other: Any) -> TypeConstraint:
        return constraint(other) | self

    def __repr__(self) -> str:
        return self.description


def constraint(spec: Any) -> TypeConstraint:
    """The constraint that a declaration means: a constraint, a type class, a type, or a union of classes."""
    if isinstance(spec, TypeConstraint):
        return spec
    if isinstance(spec, Type):
        return TypeConstraint(str(spec), lambda t: t is spec, spec)
    if isinstance(spec, python_types.UnionType):
        parts = [constraint(part) for part in spec.__args__]
        return TypeConstraint(
            " or ".join([p.description for p in parts]), lambda t: any(p.accepts(t) for p in parts)
        )
    if isinstance(spec, type) and issubclass(spec, Type):
        # A class without parameters has a single member, which need not be written in text.
        only = spec() if not spec.parameters and spec not in (Type, ShapedType) else None
        return TypeConstraint(getattr(spec, "mnemonic", spec.__name__), lambda t: isinstance(t, spec), only)
    raise TypeError(f"{spec!r} is not a type constraint: give a type class, a type or a TypeConstraint")


def _scalar_like(description: str, accepts: Callable[[Type], bool]) -> TypeConstraint:
    return TypeConstraint(
        description, lambda t: accepts(t) or (isinstance(t, VectorType | TensorType) and accepts(t.element_type))
    )


def _signless(t: Type) -> bool:
    return isinstance(t, IntegerType) and t.is_signless


AnyType = TypeConstraint("any type", lambda t: True)
AnyInteger = TypeConstraint("an integer", lambda t: isinstance(t, IntegerType))
SignlessInteger = TypeConstraint("a signless integer", _signless)
SignlessIntegerOrIndex = TypeConstraint("a signless integer or index", lambda t: t.is_index or _signless(t))
AnyFloat = TypeConstraint("a float", lambda t: isinstance(t, FloatType))
AnyComplex = TypeConstraint("a complex number", lambda t: isinstance(t, ComplexType))
AnyScalar = TypeConstraint(
    "a scalar", lambda t: isinstance(t, IntegerType | FloatType | IndexType | ComplexType)
)
AnyShaped = TypeConstraint("a tensor, vector or memref", lambda t: isinstance(t, ShapedType))
AnyTensor = TypeConstraint("a tensor", lambda t: isinstance(t, TensorType))
AnyVector = TypeConstraint("a vector", lambda t: isinstance(t, VectorType))
AnyMemRef = TypeConstraint("a memref", lambda t: isinstance(t, MemRefType))
AnyNone = TypeConstraint("none", lambda t: isinstance(t, NoneType))
SignlessIntegerLike = _scalar_like(
    "a signless integer, index, or vector or tensor of them", lambda t: t.is_index or _signless(t)
)
FloatLike = _scalar_like("a float, or vector or tensor of floats", lambda t: isinstance(t, FloatType))
ComplexLike = _scalar_like("a complex number, or tensor of them", lambda t: isinstance(t, ComplexType))
BoolLike = _scalar_like("i1, or vector or tensor of i1", lambda t: t.is_i1)


def shaped_of(container: type, element: Any) -> TypeConstraint:
    """Tensors (or vectors, memrefs) whose element type satisfies a constraint."""
    inner = constraint(element)
    return TypeConstraint(
        f"{container.__name__} of {inner.description}",
        lambda t: isinstance(t, container) and inner.accepts(element_type_of(t)),
    )
