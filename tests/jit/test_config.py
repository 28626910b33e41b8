"""Settings: attribute and environment variable of one name, checked."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pyiree
import pytest
from pyiree import config
from pyiree.errors import ConfigError
from pyiree.runtime.hal.processor import host_architecture, host_features
from pyiree.runtime.task.executor import fixed_thread_count


@pytest.fixture
def setting():
    """Sets attributes for one test."""
    names = []

    def assign(name, value):
        names.append(name)
        setattr(config, name, value)

    yield assign
    for name in set(names):
        if name in vars(config) or name == "threads":
            delattr(config, name)


TOO_LATE = "ignore:config.threads = . has no effect on this process"


@pytest.mark.filterwarnings(TOO_LATE)
@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("cache", "off", False),
        ("cache", "1", True),
        ("cache_dir", "/somewhere", Path("/somewhere")),
        ("cache_max_size", "500000000", 500_000_000),
        ("cache_max_size", "1.5GB", 1_500_000_000),
        ("cache_max_size", "2 MiB", 2 * 2**20),
        ("cpu", "x86-64-v3", "x86-64-v3"),
        ("threads", "3", 3),
        ("dump", "/dumps", Path("/dumps")),
        ("print_after", "cse, canonicalize", ("cse", "canonicalize")),
        ("log", "all", ("misses", "compiles", "cache")),
        ("log", "cache", ("cache",)),
        ("verify", "yes", True),
    ],
)
def test_environment_and_attribute_mean_the_same(monkeypatch, setting, name, text, value):
    monkeypatch.setenv(config.variable(name), text)
    assert getattr(config, name) == value
    monkeypatch.delenv(config.variable(name))
    setting(name, text)
    assert getattr(config, name) == value


@pytest.mark.parametrize("name", config.SETTINGS)
def test_every_setting_has_a_default_and_a_meaning(monkeypatch, name):
    monkeypatch.delenv(config.variable(name), raising=False)
    assert getattr(config, name) == config.SETTINGS[name].default
    assert config.SETTINGS[name].meaning


def test_an_attribute_outranks_the_environment(monkeypatch, setting):
    monkeypatch.setenv("PYIREE_CPU", "generic")
    setting("cpu", "host")
    assert config.cpu == "host"
    del config.cpu
    assert config.cpu == "generic"


@pytest.mark.filterwarnings(TOO_LATE)
def test_what_the_runtime_reads_is_in_the_environment(monkeypatch, setting):
    monkeypatch.delenv("PYIREE_THREADS", raising=False)
    setting("threads", 4)
    assert os.environ["PYIREE_THREADS"] == "4" and config.threads == 4
    del config.threads
    assert "PYIREE_THREADS" not in os.environ and config.threads is None


def test_an_empty_variable_is_none(monkeypatch):
    monkeypatch.setenv("PYIREE_CACHE_DIR", "")
    monkeypatch.setenv("PYIREE_THREADS", "")
    assert config.cache_dir is None and config.threads is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cache", "maybe"),
        ("cache_max_size", "much"),
        ("cache_max_size", "-1"),
        ("cache_max_size", "9" * 400),
        ("cache_max_size", "1e9"),
        ("threads", "0"),
        ("threads", "-1"),
        ("threads", "two"),
        ("threads", "2.5"),
        ("threads", "4097"),
        ("threads", "9" * 5000),
        ("log", "everything"),
    ],
)
def test_wrong_values_are_named(monkeypatch, setting, name, value):
    monkeypatch.setenv(config.variable(name), value)
    with pytest.raises(ConfigError, match=f"{config.variable(name)} = '{value}': "):
        getattr(config, name)
    with pytest.raises(ConfigError, match=f"^config.{name} = '{value}': expected "):
        setting(name, value)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("threads", None, "a number of threads, at least 1 and at most 4096"),
        ("threads", 2.5, "a number of threads, at least 1 and at most 4096"),
        ("log", [1], "names, with commas between them"),
        ("print_after", 3, "names, with commas between them"),
        ("cpu", None, "a name"),
        ("cache_dir", 5, "str, bytes or os.PathLike object, not int"),
    ],
)
def test_objects_that_are_no_value_are_refused(setting, name, value, expected):
    with pytest.raises(ConfigError) as caught:
        setting(name, value)
    assert str(caught.value) == f"config.{name} = {value!r}: expected {expected}"


def test_variables_that_the_runtime_reads_are_checked(python_child):
    code = """
import numpy as np, pyiree
try:
    pyiree.jit(lambda x: x + 1)(np.ones(3, np.float32))
except pyiree.ConfigError as error:
    print(error)
"""
    threads = "a number of threads, at least 1 and at most 4096"
    cases = (("THREADS", "many", threads), ("THREADS", "0", threads), ("RUNTIME", "x", "aot or jit"))
    for name, value, expected in cases:
        told = python_child(code, env={f"PYIREE_{name}": value}).stdout
        assert told == f"PYIREE_{name} = '{value}': expected {expected}\n"


@pytest.mark.parametrize("folder", ["/proc/nope", "/proc"])
def test_a_dump_folder_that_can_t_be_written_to(monkeypatch, setting, folder):
    message = (
        rf"the IR of every pass can't be written to {folder} \(No such file or directory\): PYIREE_DUMP, config.dump"
    )
    monkeypatch.setenv("PYIREE_DUMP", folder)
    with pytest.raises(ConfigError, match=message):
        pyiree.jit(lambda x: x + 1)(np.float32(1))
    monkeypatch.delenv("PYIREE_DUMP")
    setting("dump", folder)
    with pytest.raises(ConfigError, match=message):
        pyiree.jit(lambda x: x + 1)(np.float32(1))


def test_threads_that_are_set_too_late_are_warned_of(setting):
    pyiree.jit(lambda x: x + 1)(np.float32(1))
    there = fixed_thread_count()
    message = f"config.threads = {there + 1} has no effect on this process, which computes with {there} threads"
    with pytest.warns(UserWarning, match=message) as caught:
        setting("threads", there + 1)
    assert [warning.filename for warning in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        setting("threads", there)


def test_unknown_settings_are_refused(setting):
    with pytest.raises(AttributeError, match="no setting 'cachedir'; there are cache, cache_dir"):
        setting("cachedir", "/x")
    with pytest.raises(AttributeError, match="no setting"):
        config.cachedir  # noqa: B018


def test_a_misspelled_variable_is_told_about():
    environment = {**os.environ, "PYIREE_CACHE_DIRECTORY": "/somewhere"}
    code = "import pyiree; pyiree.config.cache"
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert result.stderr.startswith("<string>:1: UserWarning: ")
    assert "PYIREE_CACHE_DIRECTORY: pyiree has no such setting, did you mean PYIREE_CACHE_DIR?" in result.stderr


@pytest.mark.parametrize(
    ("name", "ending"),
    [
        ("PYIREE_LGO", "setting, did you mean PYIREE_LOG?"),
        ("PYIREE_THREAD", "setting, did you mean PYIREE_THREADS?"),
        ("PYIREE_TYPO", "setting; there are PYIREE_CACHE, PYIREE_CACHE_DIR, PYIREE_CACHE_MAX_SIZE, PYIREE_CPU, "),
    ],
)
def test_what_is_close_is_suggested(monkeypatch, name, ending):
    monkeypatch.setenv(name, "1")
    [line] = config.unknown_variables()
    assert line.startswith(f"{name}: pyiree has no such {ending}")


@pytest.mark.parametrize("by", ["attribute", "variable"])
def test_a_pass_to_print_after_must_exist(monkeypatch, setting, by):
    if by == "attribute":
        setting("print_after", "canonicalise")
    else:
        monkeypatch.setenv("PYIREE_PRINT_AFTER", "canonicalise")
    name = "config.print_after" if by == "attribute" else "PYIREE_PRINT_AFTER"
    with pytest.raises(ConfigError, match=f"^{name}: there is no pass 'canonicalise'"):
        pyiree.jit(lambda x: x + 1)(np.float32(1))


@pytest.mark.parametrize("by", ["attribute", "variable"])
def test_a_cpu_must_exist(monkeypatch, setting, by):
    if by == "attribute":
        setting("cpu", "haswel")
    else:
        monkeypatch.setenv("PYIREE_CPU", "haswel")
    name = "config.cpu" if by == "attribute" else "PYIREE_CPU"
    message = f"^{name} = 'haswel': unknown target CPU 'haswel', did you mean 'haswell'"
    with pytest.raises(ConfigError, match=message) as caught:
        pyiree.jit(lambda x: x + 1)(np.float32(1))
    assert not hasattr(caught.value, "__notes__")  # nothing was compiled, so there is nothing to reproduce


#: CPUs whose programs can't run here and why: of another architecture, and with what only the other vendor has.
CPUS_OF_OTHERS = {"x86-64": "that is a CPU of x86_64, "}
if host_architecture() == "x86_64":
    CPUS_OF_OTHERS = {
        "generic": "that is a CPU of aarch64, and this machine has one of x86_64; ",
        "sapphirerapids": "this machine lacks .*avx512fp16",
        "znver4": "this machine lacks .*sse4a",
    }
    CPUS_OF_OTHERS = {cpu: why for cpu, why in CPUS_OF_OTHERS.items() if why.rpartition("*")[2] not in host_features()}


@pytest.mark.parametrize("cpu", CPUS_OF_OTHERS)
def test_a_cpu_whose_programs_can_t_run_here(monkeypatch, setting, cpu):
    function = pyiree.jit(lambda x: x + 1)
    monkeypatch.setenv("PYIREE_CPU", cpu)
    reason = CPUS_OF_OTHERS[cpu]
    with pytest.raises(ConfigError, match=f"^PYIREE_CPU = '{cpu}': {reason}.*leave it out"):
        pyiree.jit(lambda x: x + 1)(np.float32(1))
    monkeypatch.delenv("PYIREE_CPU")
    setting("cpu", cpu)
    with pytest.raises(ConfigError, match=f"^config.cpu = '{cpu}': {reason}"):
        pyiree.jit(lambda x: x + 1)(np.float32(1))
    del config.cpu
    assert function(np.float32(1)) == 2
    text = "%x: tensor<f32>) -> tensor<f32> { %y = stablehlo.abs %x : tensor<f32> return %y : tensor<f32> }"
    with pytest.raises(ConfigError, match=f"^target_cpu = '{cpu}': {reason}"):
        pyiree.compile(f"func.func public @main({text}", target_cpu=cpu)


def test_options_of_the_compiler():
    x = np.ones(3, np.float32)
    with pytest.raises(ConfigError, match="the compiler has no option 'speed'; it has target_cpu, "):
        pyiree.jit(lambda x: x + 1, compiler_options={"speed": 9})
    with pytest.raises(ConfigError, match="the compiler has no option 'speed'"):
        pyiree.compile("module {}", speed=9)
    with pytest.warns(UserWarning, match="xla_cpu_enable_fast_math is an option of XLA; pyiree ignores it"):
        function = pyiree.jit(lambda x: x + 1, compiler_options={"xla_cpu_enable_fast_math": True})
    np.testing.assert_array_equal(function(x), x + 1)
    chosen = pyiree.jit(lambda x: x + 2, compiler_options={"target_cpu": "x86-64-v2", "verify_each": True})
    assert "xmm" in chosen.lower(x).as_text("asm") and "ymm" not in chosen.lower(x).as_text("asm")
    np.testing.assert_array_equal(chosen(x), x + 2)


def test_an_option_may_name_a_folder_for_the_passes(tmp_path):
    pyiree.jit(lambda x: x + 3, compiler_options={"dump_dir": tmp_path}).lower(np.ones(3, np.float32)).compile()
    assert any(tmp_path.iterdir())
