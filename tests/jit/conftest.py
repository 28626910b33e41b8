"""What tests of the native entry ask of it."""

import pytest
from pyiree.runtime.calls.caller_table import last_record
from pyiree.runtime.hal.device import memory_pool
from pyiree.runtime.hal.layout import POOL_LIVE_BLOCKS
from pyiree.runtime.native.python_objects import read_word


@pytest.fixture
def went_native():
    """Whether the last call of a jitted function was the native entry's."""
    return lambda function: last_record(function._native) >= 0


@pytest.fixture
def called_natively(went_native):
    """The result of a native call with some arguments."""

    def call(function, *args, **kwargs):
        for _ in range(2):
            function(*args, **kwargs)
        result = function(*args, **kwargs)
        assert went_native(function)
        return result

    return call


@pytest.fixture
def live_blocks():
    """How many blocks of the memory pool somebody has."""
    return lambda: read_word(memory_pool() + POOL_LIVE_BLOCKS)
