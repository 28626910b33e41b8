"""What a call asks for: its tree, the type of each leaf, and the values of its static arguments.

What enters: the arguments of a call.  What leaves: a `Signature`, equal for calls that one program serves,
and the same arguments with each array replaced by its type, ready to be traced; or, for two signatures, the
difference in words.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.tree_util import tree_flatten, tree_unflatten
from pyiree.errors import MaskedArrayError, SignatureError, StaticArgumentError
from pyiree.jax_internals import AbstractRef, ExtendedDType, JitArguments, Ref, float0, ref_type


class Signature(NamedTuple):
    """One shape signature; `context` is jax's configuration as far as it changes a trace."""

    tree: Any
    leaves: tuple[tuple[tuple[int, ...], Any, str], ...]  # shape, dtype, "weak " or "mutable "
    statics: tuple[tuple[int | str, type, Any], ...]
    context: tuple[Any, ...]


class Arguments(NamedTuple):
    """The arguments of a call, static ones apart."""

    leaves: list[Any]
    tree: Any
    statics: tuple[tuple[int | str, type, Any], ...]


class ArgumentSplitter:
    """Takes the static arguments of one function out of its calls and puts them back in."""

    def __init__(self, function: Callable[..., Any], arguments: JitArguments):
        self.function = function
        self.numbers = frozenset(arguments.static_argnums)
        self.names = frozenset(arguments.static_argnames)
        self.any_static = bool(self.numbers or self.names)

    def split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        """Flattens the arguments that are traced; the static ones must be hashable."""
        if not self.any_static:
            leaves, tree = tree_flatten((args, kwargs))
            return Arguments(leaves, tree, ())
        numbers = {n % len(args) for n in self.numbers if -len(args) <= n < len(args)} if args else set()
        statics = [(n, type(args[n]), args[n]) for n in sorted(numbers)]
        statics += [(name, type(value), value) for name, value in sorted(kwargs.items()) if name in self.names]
        for which, kind, value in statics:
            try:
                hash(value)
            except TypeError:
                name = self.parameter_name(which) if isinstance(which, int) else which
                raise StaticArgumentError(
                    f"static argument {name!r} of {function_name(self.function)} is a {kind.__name__},"
                    " which can't be hashed: pass a tuple or another immutable value, or don't make"
                    " the argument static"
                ) from None
        traced = tuple(arg for n, arg in enumerate(args) if n not in numbers)
        leaves, tree = tree_flatten((traced, {k: v for k, v in kwargs.items() if k not in self.names}))
        return Arguments(leaves, tree, tuple(statics))

    def join(self, arguments: Arguments, leaves: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The call's arguments again, with `leaves` in place of the traced ones."""
        args, kwargs = tree_unflatten(arguments.tree, leaves)
        args = list(args)
        for which, _, value in arguments.statics:  # numbers come in ascending order
            if isinstance(which, int):
                args.insert(which, value)
            else:
                kwargs = {**kwargs, which: value}
        return tuple(args), kwargs

    def leaf_names(self, arguments: Arguments) -> list[str]:
        """How the user would write each leaf: `x`, `params['w'][0]`."""
        taken = {which for which, _, _ in arguments.statics if isinstance(which, int)}
        positions: list[int] = []
        args, kwargs = tree_unflatten(arguments.tree, range(len(arguments.leaves)))
        while len(positions) < len(args):
            candidate = positions[-1] + 1 if positions else 0
            while candidate in taken:
                candidate += 1
            positions.append(candidate)
        names = []
        for path, _ in jax.tree_util.tree_flatten_with_path((args, kwargs))[0]:
            owner, first, *rest = path
            name = self.parameter_name(positions[first.idx]) if owner.idx == 0 else first.key
            names.append(f"{name}{jax.tree_util.keystr(tuple(rest))}")
        return names

    def parameter_name(self, number: int) -> str:
        """The name of a positional parameter, or its number where the function doesn't tell."""
        try:
            parameters = list(inspect.signature(self.function).parameters.values())
        except (TypeError, ValueError):  # a builtin, or another callable without a signature
            return f"argument {number}"
        for n, parameter in enumerate(parameters):
            if parameter.kind is parameter.VAR_POSITIONAL:
                return f"{parameter.name}[{number - n}]"
            if n == number:
                return parameter.name
        return f"argument {number}"


def function_name(function: Callable[..., Any]) -> str:
    """A name to call the function by in messages and in the cache."""
    while not hasattr(function, "__name__") and hasattr(function, "func"):  # functools.partial
        function = function.func
    return getattr(function, "__name__", None) or type(function).__name__


def leaf_type(leaf: Any) -> Any:
    """The type that jax gives to an argument; None for what isn't an array of a dtype that jax knows."""
    kind = type(leaf)
    if kind is Ref:
        return ref_type(leaf)
    if kind is AbstractRef:
        return leaf
    if isinstance(leaf, np.ma.MaskedArray):
        return None
    if kind in _SCALAR_DTYPES:
        dtype = jax.dtypes.canonicalize_dtype(_SCALAR_DTYPES[kind])
        return jax.ShapeDtypeStruct((), dtype, weak_type=kind is not bool)
    shape, dtype = getattr(leaf, "shape", None), getattr(leaf, "dtype", None)
    if shape is None and isinstance(leaf, (int, float, complex)):  # an IntEnum, say, or jax's numbers that have a dtype
        base = next(base for base in kind.__mro__ if base in _SCALAR_DTYPES)
        dtype = dtype or jax.dtypes.canonicalize_dtype(_SCALAR_DTYPES[base])
        return jax.ShapeDtypeStruct((), dtype, weak_type=True)
    if isinstance(dtype, np.dtype) and dtype.kind not in "OSUMm" and not _is_structured(dtype):
        dtype = jax.dtypes.canonicalize_dtype(dtype if dtype.isnative else dtype.newbyteorder("="))
    elif not isinstance(dtype, ExtendedDType):
        return None
    return jax.ShapeDtypeStruct(tuple(shape), dtype, weak_type=bool(getattr(leaf, "weak_type", False)))


def refuse(leaf: Any, name: str, function: str) -> None:
    """Raises an error for what looks like an array and can't be an argument without losing what it means."""
    if isinstance(leaf, np.ma.MaskedArray):
        raise MaskedArrayError(
            f"{function} can't be called with a masked array as {name}: the mask would be lost;"
            " pass .filled() values, or .data and .mask as two arguments"
        )
    dtype = getattr(leaf, "dtype", None)
    if isinstance(dtype, np.dtype) and _is_structured(dtype):
        raise SignatureError(
            f"{function} can't be called with the structured dtype {dtype} as {name}:"
            " pass its fields as arrays, such as a dict of them"
        )


def _is_structured(dtype: np.dtype) -> bool:
    """Whether elements are records or raw bytes; jax's float0 is spelled as a record of nothing."""
    return issubclass(dtype.type, np.void) and dtype != float0


_SCALAR_DTYPES = {
    bool: np.dtype("bool"),
    int: np.dtype("int64"),
    float: np.dtype("float64"),
    complex: np.dtype("complex128"),
}


def signature_of(arguments: Arguments, types: Sequence[Any], context: tuple[Any, ...]) -> Signature:
    """The identity of the program that these arguments need."""
    leaves = tuple((t.shape, t.dtype, _sort_of(t)) for t in types)
    return Signature(arguments.tree, leaves, arguments.statics, context)


def _sort_of(type: Any) -> str:
    """What else a program depends on, as a word before the type."""
    if isinstance(type, AbstractRef):
        return "mutable "
    return "weak " if type.weak_type else ""


def explain_miss(new: Signature, known: Sequence[Signature], names: Sequence[str]) -> str:
    """Why none of the known signatures serves a call: what differs from the nearest."""
    if not known:
        return "first call"
    same_tree = [old for old in known if old.tree == new.tree]
    differences = [_differences(new, old, names) for old in reversed(same_tree or known)]
    return "; ".join(min(differences, key=len))


def _differences(new: Signature, old: Signature, names: Sequence[str]) -> list[str]:
    found = []
    if new.tree != old.tree:
        found.append(f"the structure of the arguments: {old.tree} -> {new.tree}")
    else:
        for name, was, now in zip(names, old.leaves, new.leaves):
            if was != now:
                found.append(f"{name}: {_in_words(was)} -> {_in_words(now)}")
    old_statics = {which: (kind, value) for which, kind, value in old.statics}
    for which, kind, value in new.statics:
        if old_statics.get(which) != (kind, value):
            before = repr(old_statics[which][1]) if which in old_statics else "not given"
            label = f"static argument {which!r}" if isinstance(which, str) else f"static argument number {which}"
            found.append(f"{label}: {before} -> {value!r}")
    if new.context != old.context:
        found.append("jax's configuration (such as jax_enable_x64) changed")
    return found or ["static arguments were left out"]


def _in_words(leaf: tuple[tuple[int, ...], Any, str]) -> str:
    shape, dtype, sort = leaf
    return f"{sort}{dtype}[{','.join(map(str, shape))}]"
