"""The marks `each_value` and `each_pair` keep every value, or every pair of values, in the fast tier."""

import itertools

import pytest

CASES = [tuple(enumerate(values)) for values in itertools.product("abcd", range(5), "xyz")]


@pytest.mark.parametrize(("size", "most"), [(1, 5), (2, 24), (3, 60)])
def test_all_that_is_together_stays_together(covering, size, most):
    chosen = covering(CASES, size)
    assert chosen == sorted(set(chosen)) and len(chosen) <= most

    def seen(cases):
        return {values for case in cases for values in itertools.combinations(case, size)}

    assert seen(CASES[number] for number in chosen) == seen(CASES)


def test_a_case_alone_stays(covering):
    assert covering([(("name", 3),)], 2) == [0]


@pytest.mark.each_value
@pytest.mark.parametrize("second", range(3))
@pytest.mark.parametrize("first", range(3))
def test_other_cases_are_slow(request, first, second):
    slow = request.node.get_closest_marker("slow") is not None
    together = [item for item in request.session.items if item.originalname == request.node.originalname]
    if not slow and len(together) > 1:
        assert {item.callspec.params["first"] for item in together} == {0, 1, 2}
        assert len([item for item in together if item.get_closest_marker("slow") is None]) == 3
