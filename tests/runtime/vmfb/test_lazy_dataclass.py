"""Dataclasses whose methods are made late are those of the standard library."""

import copy
import dataclasses
import pickle
from functools import cached_property

import pytest
from pyiree.runtime.vmfb.lazy_dataclass import dataclass as lazy

OPTIONS = [{}, {"slots": True}, {"frozen": True}, {"frozen": True, "slots": True}, {"eq": False}]


def define(dataclass, options):
    @dataclass(**options)
    class Base:
        x: int
        y: list = dataclasses.field(default_factory=list)
        z: float = dataclasses.field(default=2.0, compare=False)

    @dataclass(**options)
    class Derived(Base):
        w: str = "w"

        def __repr__(self):
            return f"own {self.w}"

    return Base, Derived


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_it_is_what_the_standard_library_makes(options):
    for ours, theirs in zip(define(lazy, options), define(dataclasses.dataclass, options)):
        a, b = ours(1, z=3.0), theirs(1, z=3.0)
        assert repr(a) == repr(b) and dataclasses.asdict(a) == dataclasses.asdict(b)
        assert a.y is not ours(1).y
        assert (a == ours(1)) == (b == theirs(1))
        assert (a == ours(2)) == (b == theirs(2)) and a != object()
        assert dataclasses.replace(a, x=5).x == 5 and copy.copy(a).z == 3.0
        assert ours.__match_args__ == theirs.__match_args__ and hasattr(a, "__dict__") == hasattr(b, "__dict__")
        assert [f.name for f in dataclasses.fields(ours)] == [f.name for f in dataclasses.fields(theirs)]
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
            ours()


@pytest.mark.parametrize("dataclass", [lazy, dataclasses.dataclass])
def test_hashes_and_frozen_fields(dataclass):
    @dataclass(frozen=True)
    class Point:
        x: int
        y: int = 0

        @cached_property
        def norm(self):
            return self.x + self.y

    point = Point(1)
    assert hash(point) == hash(Point(1, 0)) and {point: 1}[Point(1)] == 1 and point.norm == 1
    for change in (lambda: setattr(point, "x", 2), lambda: delattr(point, "y")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            change()

    @dataclass
    class Open:
        x: int

    with pytest.raises(TypeError, match="unhashable"):
        hash(Open(1))


@lazy(frozen=True, slots=True)
class Kept:
    """At the top of a file, where pickle finds it."""

    x: int
    y: str = "y"


def test_frozen_slots_are_pickled():
    assert pickle.loads(pickle.dumps(Kept(3))) == Kept(3) != Kept(4)


def test_nothing_is_compiled_before_the_first_object(monkeypatch):
    made = []
    whole = dataclasses.dataclass
    monkeypatch.setattr(dataclasses, "dataclass", lambda *a, **k: made.append(k.get("init", True)) or whole(*a, **k))
    _, derived = define(lazy, {})
    assert made == [False, False]
    derived(1)
    assert made == [False, False, True]
    derived(1)
    assert made == [False, False, True]
