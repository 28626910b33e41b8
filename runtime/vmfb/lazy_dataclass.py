"""`dataclass`, whose methods are made when the first object is.

What enters: a class with annotated fields.  What leaves: the same dataclass as the standard library's, fields,
`replace` and comparison included.  That compiles each class's methods from text when it is defined, which takes a
third of a millisecond; here there are a hundred such classes, and a process makes objects of a few.
"""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, eq=True, frozen=False, slots=False):
        """The class as a dataclass; the options mean what they mean to the standard library."""
        if cls is None:
            return lambda cls: dataclass(cls, eq=eq, frozen=frozen, slots=slots)
        own = set(cls.__dict__)
        if cls.__doc__ is None:
            cls.__doc__ = cls.__name__  # or the signature would be computed for it
        made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
        names = ["__init__", "__repr__"]
        if eq:
            names.append("__eq__")
            if not frozen and "__hash__" not in own:
                made.__hash__ = None
            elif frozen:
                names.append("__hash__")
        names = [name for name in names if name not in own]
        if frozen:
            made.__setattr__ = made.__delattr__ = _refuse_change
            if slots:
                made.__getstate__, made.__setstate__ = _state, _set_state
        for name in names:
            setattr(made, name, _maker(made, name, names, eq, frozen))
        return made


def _maker(made: Any, name: str, names: list[str], eq: bool, frozen: bool) -> Callable[..., Any]:
    """Stands for a method until someone calls it or one of the others."""

    def make_and_call(self: Any, *args: Any, **kwargs: Any) -> Any:
        twin = _twin(made, eq, frozen)
        for each in names:
            setattr(made, each, getattr(twin, each))
        return getattr(twin, name)(self, *args, **kwargs)

    make_and_call.__name__ = name
    return make_and_call


def _twin(made: Any, eq: bool, frozen: bool) -> Any:
    """A class of the standard library's with the same fields, for its methods."""
    content: dict[str, Any] = {"__doc__": "", "__annotations__": {}}
    for field in dataclasses.fields(made):
        content["__annotations__"][field.name] = field.type
        copy: Any = dataclasses.field(
            default=field.default,
            default_factory=field.default_factory,  # type: ignore[arg-type]
            init=field.init,
            repr=field.repr,
            hash=field.hash,
            compare=field.compare,
        )
        content[field.name] = copy
    return dataclasses.dataclass(eq=eq, frozen=frozen)(type(made.__name__, (), content))


def _refuse_change(self: Any, name: str, value: Any = None) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot change field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
