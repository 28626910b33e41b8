"""Random programs of all StableHLO ops that we take: we compute what the StableHLO interpreter does."""

import pytest
from hlo_fuzz.strategies import programs
from hypothesis import HealthCheck, given, settings


@settings(max_examples=30, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(program=programs(ops=8))
def test_programs(program, check_program):
    check_program(program)


@pytest.mark.slow
@pytest.mark.timeout(0)
@settings(max_examples=5000, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=programs(ops=14))
def test_many_programs(program, check_program):
    check_program(program)
