"""How the interpreter is set while programs are compiled, and put back after."""

import gc
import sys

import pytest
from pyiree.compiler.interpreter import for_compilation


@pytest.fixture(autouse=True)
def _restored():
    interval = sys.getswitchinterval()
    yield
    gc.enable()
    sys.setswitchinterval(interval)


def test_put_back_when_the_last_of_several_is_done():
    interval = sys.getswitchinterval()
    first, second = for_compilation(), for_compilation()
    first.__enter__()
    second.__enter__()
    assert not gc.isenabled() and sys.getswitchinterval() < interval
    first.__exit__(None, None, None)
    assert not gc.isenabled() and sys.getswitchinterval() < interval
    second.__exit__(None, None, None)
    assert gc.isenabled() and sys.getswitchinterval() == interval


def test_what_the_user_turned_off_stays_off():
    gc.disable()
    sys.setswitchinterval(1e-5)
    with for_compilation():
        assert sys.getswitchinterval() == pytest.approx(1e-5)
    assert not gc.isenabled() and sys.getswitchinterval() == pytest.approx(1e-5)


def test_put_back_after_an_error():
    with pytest.raises(ValueError), for_compilation():
        raise ValueError
    assert gc.isenabled()
