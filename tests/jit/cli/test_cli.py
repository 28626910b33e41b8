"""The command `pyiree`, as a user runs it: output, exit codes, errors of one line."""

import io
import json
import os
import subprocess
import sys
import time
from typing import NamedTuple

import numpy as np
import pytest
from pyiree.cli.main import main
from pyiree.runtime.hal.executable import supported_format
from pyiree.runtime.hal.processor import host_architecture, host_features

PROGRAM = """
func.func public @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.add %x, %y : tensor<4xf32>
  %1 = stablehlo.multiply %x, %y : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
"""


class Done(NamedTuple):
    """What a command left behind."""

    code: int
    stdout: str
    stderr: str


@pytest.fixture
def pyiree_command(monkeypatch, capfd):
    """Runs the command in this process; an error must be one line."""

    def run(*args, code=0, input=""):
        monkeypatch.setattr(sys, "argv", ["pyiree", *map(str, args)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(input.encode())))
        capfd.readouterr()
        try:
            main()
            status = 0
        except SystemExit as exit:
            status = exit.code or 0
        done = Done(status, *capfd.readouterr())
        assert done.code == code, f"{args}: {done.code}\n{done.stdout}\n{done.stderr}"
        if code == 1:
            assert done.stderr.startswith("pyiree: error: ") and done.stderr.count("\n") == 1, done.stderr
        return done

    return run


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("cli") / "program.mlir"
    path.write_text(PROGRAM)
    return path


@pytest.fixture(scope="module")
def iree_module(program, iree_tool):
    """The program compiled by IREE."""
    path = program.with_name("iree.vmfb")
    iree_tool("iree-compile", program, "--iree-hal-target-backends=llvm-cpu", "-o", path)
    return path


def test_help_is_quick():
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "pyiree", "--help"], capture_output=True, text=True, check=True)
    assert time.perf_counter() - started < 2.0  # 0.1 s on a quiet machine
    for command in ("compile", "run", "dump", "opt", "benchmark", "cache", "devices", "targets"):
        assert f"\n    {command} " in done.stdout


def test_help_imports_little(python_child):
    code = (
        "import contextlib, sys; from pyiree.cli.main import run_command_line\n"
        "with contextlib.suppress(SystemExit): run_command_line(['--help'])\n"
        "assert not {'jax', 'numpy', 'rich', 'llvmlite'} & set(sys.modules)"
    )
    python_child(code)


def test_version(pyiree_command):
    assert pyiree_command("--version").stdout.startswith("pyiree ")


def test_wrong_command_lines(pyiree_command):
    assert "give one .vmfb file" in pyiree_command("run", code=2).stderr
    assert "unrecognized arguments: --fast" in pyiree_command("run", "x.vmfb", "--fast", code=2).stderr
    for words in ((), ("cache",)):
        assert "usage: pyiree" in pyiree_command(*words, code=2).stdout
    assert "invalid choice: 'fly'" in pyiree_command("fly", code=2).stderr
    for command in ("compile", "run", "dump", "opt"):
        assert pyiree_command(command, "nothing", code=1).stderr == "pyiree: error: there is no file nothing\n"
    assert "the phases are" in pyiree_command("compile", "-", "--compile-to=hlo", code=1, input=PROGRAM).stderr


def test_files_that_can_t_be_read_are_named(pyiree_command, tmp_path):
    for command in ("compile", "run", "dump", "opt"):
        error = pyiree_command(command, tmp_path, code=1).stderr
        assert error == f"pyiree: error: {tmp_path} is a folder, not a file\n"
    source = tmp_path / "wrong.mlir"
    source.write_text("import nothing\n")
    doubt = "is this StableHLO text, bytecode or a portable artifact?"
    assert doubt in pyiree_command("compile", source, code=1).stderr
    for phase in ("stablehlo", "flow"):
        error = pyiree_command("compile", source, f"--compile-from={phase}", code=1).stderr
        assert f"error: {source}:1:1: " in error and f"(read as {phase}; --compile-from" in error
    error = pyiree_command("compile", source, "--compile-from=vm", "--compile-to=flow", code=1).stderr
    assert "a program at vm is behind that phase" in error


def test_files_with_nothing_in_them(pyiree_command, tmp_path):
    (tmp_path / "empty").write_text("\n")
    for command in (("compile",), ("opt", "--cse")):
        assert pyiree_command(*command, tmp_path / "empty", code=1).stderr.endswith(f"{tmp_path / 'empty'} is empty\n")
        assert pyiree_command(*command, "-", code=1).stderr == "pyiree: error: standard input is empty\n"


def test_output_that_nobody_takes(tmp_path, project_root):
    """A reader that has gone ends the command in silence; a full disk is an error. Both when the text is short."""
    script = [sys.executable, "-m", "pyiree", "devices"]
    reading, writing = os.pipe()
    os.close(reading)
    quiet = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    for environment in (quiet, {**quiet, "PYTHONUNBUFFERED": "1"}):
        done = subprocess.run(script, stdout=writing, stderr=subprocess.PIPE, text=True, env=environment, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (1, "")
        with open("/dev/full", "w") as full:
            done = subprocess.run(script, stdout=full, stderr=subprocess.PIPE, text=True, env=environment, cwd=tmp_path)
        assert done.returncode == 1 and done.stderr.count("\n") == 1 and "No space left" in done.stderr
    os.close(writing)


def test_a_dump_folder_that_can_t_be_made_is_explained(pyiree_command, program, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PYIREE_DUMP", str(tmp_path / "file"))
    error = pyiree_command("compile", program, "-o", tmp_path / "p.vmfb", code=1).stderr
    assert f"can't be written to {tmp_path / 'file'} (File exists): PYIREE_DUMP, config.dump or " in error


def test_settings_are_looked_at_before_a_command_begins(pyiree_command, monkeypatch):
    monkeypatch.setenv("PYIREE_LGO", "all")
    done = pyiree_command("cache", "path")
    assert done.stderr == "pyiree: warning: PYIREE_LGO: pyiree has no such setting, did you mean PYIREE_LOG?\n"
    monkeypatch.delenv("PYIREE_LGO")
    monkeypatch.setenv("PYIREE_LOG", "nonsense")
    expected = "pyiree: error: PYIREE_LOG = 'nonsense': expected some of misses, compiles, cache, or all\n"
    for words in (["compile", "-"], ["run", "x.vmfb"], ["benchmark", "x.vmfb"], ["cache", "path"]):
        assert pyiree_command(*words, code=1).stderr == expected


def test_a_misspelled_variable_is_one_line_of_a_command(python_child):
    code = "import sys; sys.argv[1:] = ['cache', 'path']; from pyiree.cli.main import main; main()"
    told = python_child(code, env={"PYIREE_LGO": "all"}).stderr
    assert told == "pyiree: warning: PYIREE_LGO: pyiree has no such setting, did you mean PYIREE_LOG?\n"


class TestDump:
    def test_tables(self, pyiree_command, iree_module, iree_tool):
        text = pyiree_command("dump", iree_module, "--output=metadata").stdout
        theirs = iree_tool("iree-dump-module", "--output=metadata", iree_module).stdout
        listed = theirs.split("Imported Functions:")[1].split("Exported")[0].splitlines()
        imports = [line.split("] ")[1].split("(")[0] for line in listed if "] " in line]
        assert imports and all(f"] {name}(" in text for name in imports)
        assert "main(ref, ref) -> (ref, ref)" in text and "iree.abi.declaration: sync func @main" in text

    def test_disassembly(self, pyiree_command, iree_module):
        text = pyiree_command("dump", iree_module, "--function=main").stdout
        assert text.count("\nfunc [") == 1 and "@main" in text
        assert "vm.call" in text and "@hal." in text and "vm.return (" in text

    def test_json(self, pyiree_command, iree_module):
        found = json.loads(pyiree_command("dump", "--module", iree_module, "--json").stdout)
        assert found["exports"]["main"]["calling_convention"] == "0rr_rr"
        assert sum(found["functions"][1]["instructions"].values()) > 5

    def test_errors(self, pyiree_command, iree_module, program):
        assert "no function 'other'" in pyiree_command("dump", iree_module, "--function=other", code=1).stderr
        assert f"{program}: not a .vmfb file" in pyiree_command("dump", program, code=1).stderr
        pyiree_command("dump", iree_module, "--output=everything", code=1)


class TestRun:
    def test_like_iree_run_module(self, pyiree_command, iree_module, iree_tool):
        args = [f"--module={iree_module}", "--input=4xf32=1,2.5,-3,4e-3", "--input=4xf32=2", "--function=main"]
        ours = pyiree_command("run", *args).stdout
        assert ours == iree_tool("iree-run-module", *args, "--device=local-task").stdout

    def test_files(self, pyiree_command, iree_module, tmp_path):
        np.save(tmp_path / "x.npy", np.arange(4, dtype=np.float32))
        pyiree_command("run", iree_module, f"--input=@{tmp_path}/x.npy", "--input=4xf32=2",
                       f"--output=@{tmp_path}/sum.npy", f"--output=@{tmp_path}/product.npy")  # fmt: skip
        np.testing.assert_array_equal(np.load(tmp_path / "sum.npy"), [2, 3, 4, 5])
        np.testing.assert_array_equal(np.load(tmp_path / "product.npy"), [0, 2, 4, 6])

    def test_json_and_devices(self, pyiree_command, iree_module):
        done = pyiree_command("run", iree_module, "--input=4xf32=1", "--input=4xf32=2", "--device=local-sync", "--json")
        assert [result["values"] for result in json.loads(done.stdout)] == [[3.0] * 4, [2.0] * 4]

    def test_errors(self, pyiree_command, iree_module):
        inputs = ("--input=4xf32=1", "--input=4xf32=2")
        assert "no function 'other'" in pyiree_command("run", iree_module, "--function=other", code=1).stderr
        assert "3 values for 4" in pyiree_command("run", iree_module, "--input=4xf32=1,2,3", code=1).stderr
        assert "SHAPExTYPE" in pyiree_command("run", iree_module, "--input=4xfloat=1", code=1).stderr
        for command in ("run", "benchmark"):
            assert "takes 2 arguments, not 1" in pyiree_command(command, iree_module, "--input=4xf32=1", code=1).stderr
        assert "@file.npy" in pyiree_command("run", iree_module, "--input=@", code=1).stderr
        pyiree_command("run", iree_module, "--input=5xf32=1", "--input=4xf32=2", code=1)
        pyiree_command("run", iree_module, *inputs, "--device=toaster", code=1)
        pyiree_command("run", iree_module, *inputs, "--output=-", code=1)
        assert "@file.npy" in pyiree_command("run", iree_module, *inputs, "--output=@", "--output=-", code=1).stderr
        for seconds in ("-1", "nan", "long"):
            error = pyiree_command("benchmark", iree_module, *inputs, f"--seconds={seconds}", code=2).stderr
            assert f"argument --seconds: expected a number from 0 on, not '{seconds}'" in error

    def test_neither_jax_nor_the_compiler(self, python_child, iree_module):
        code = (
            "import sys; from pyiree.cli.main import run_command_line;"
            "run_command_line(['run', sys.argv[1], '--input=4xf32=1', '--input=4xf32=2']);"
            "assert not [n for n in sys.modules if n == 'jax' or n.startswith('pyiree.compiler')]"
        )
        python_child(code, iree_module)

    def test_benchmark(self, pyiree_command, iree_module):
        done = pyiree_command("benchmark", iree_module, "--input=4xf32=1", "--input=4xf32=2", "--seconds=0.1", "--json")
        found = json.loads(done.stdout)
        assert found["calls"] > 1 and 0 < found["min"] <= found["median"] <= found["max"]


class TestCompile:
    def test_to_a_module_that_runs(self, pyiree_command, program, tmp_path, iree_tool):
        target = tmp_path / "ours.vmfb"
        timing = pyiree_command("compile", program, "-o", target, "--timing", "--iree-llvmcpu-target-cpu=host").stderr
        assert "ms" in timing
        args = ["--input=4xf32=1,2,3,4", "--input=4xf32=2"]
        ours = pyiree_command("run", target, *args).stdout
        assert "4xf32=3 4 5 6" in ours
        theirs = iree_tool("iree-run-module", f"--module={target}", *args, "--function=main", "--device=local-task")
        assert ours == theirs.stdout

    @pytest.mark.parametrize("phase", ["input", "flow", "stream", "hal", "vm"])
    def test_to_a_phase_and_on_from_there(self, pyiree_command, program, tmp_path, phase):
        pyiree_command("compile", program, f"--compile-to={phase}", "-o", tmp_path / "phase.mlir")
        pyiree_command("compile", tmp_path / "phase.mlir", f"--compile-from={phase}", "-o", tmp_path / "out.vmfb")
        done = pyiree_command("run", tmp_path / "out.vmfb", "--input=4xf32=1", "--input=4xf32=2")
        assert "4xf32=3 3 3 3" in done.stdout

    def test_errors(self, pyiree_command, program):
        done = pyiree_command("compile", "-", code=1, input="func.func @main(")
        assert done.stderr.startswith("pyiree: error: -:1:16: expected")
        assert "unknown target CPU 'z80'" in pyiree_command("compile", program, "--target-cpu=z80", code=1).stderr
        assert "-o" in pyiree_command("compile", program, "--json", code=1).stderr
        assert "-o is given no name" in pyiree_command("compile", program, "-o", "", code=1).stderr
        assert "/nowhere/x: No such" in pyiree_command("compile", program, "-o", "/nowhere/x", code=1).stderr

    def test_an_op_that_is_not_supported(self, pyiree_command, tmp_path):
        source = tmp_path / "call.mlir"
        call = 'stablehlo.custom_call @made_up(%x) : (tensor<4xf32>) -> tensor<4xf32>'
        body = f"  %0 = {call}\n  return %0 : tensor<4xf32>\n"
        source.write_text(f"func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {{\n{body}}}\n")
        assert f"@made_up at {source}:2" in pyiree_command("compile", source, code=1).stderr

    def test_a_program_without_functions(self, pyiree_command, tmp_path):
        pyiree_command("compile", "-", "-o", tmp_path / "none.vmfb", input="module {}")
        error = pyiree_command("run", tmp_path / "none.vmfb", code=1).stderr
        assert "exports no function 'main'; it has none" in error

    def test_files_for_other_machines(self, pyiree_command, program, tmp_path):
        arguments = (tmp_path / "p.vmfb", "--input=4xf32=1", "--input=4xf32=2")
        if host_architecture() == "x86_64" and "avx512fp16" not in host_features():
            pyiree_command("compile", program, "--target-cpu=sapphirerapids", "-o", arguments[0])
            error = pyiree_command("run", *arguments, code=1).stderr
            assert "avx512fp16, which this machine does not have; compile it for this one" in error
        other = "x86-64" if host_architecture() == "aarch64" else "generic"
        pyiree_command("compile", program, f"--target-cpu={other}", "-o", arguments[0])
        error = pyiree_command("run", *arguments, code=1).stderr
        assert f"(this machine runs executables of the format {supported_format()})" in error

    def test_timing(self, pyiree_command, program, tmp_path):
        done = pyiree_command("compile", program, "--json", "--timing", "-o", tmp_path / "x.vmfb")
        phases = ["input", "flow", "stream", "hal", "vm", "vmfb"]
        assert list(json.loads(done.stdout)) == phases == [line.split()[0] for line in done.stderr.splitlines()]
        assert "x.vmfb holds no text" in pyiree_command("compile", tmp_path / "x.vmfb", code=1).stderr


class TestOpt:
    def test_passes_as_flags_and_as_a_pipeline(self, pyiree_command, program, tmp_path):
        text = pyiree_command("compile", program, "--compile-to=input").stdout
        assert pyiree_command("opt", "--cse", "-", input=text).stdout.count("util.func") >= 1
        done = pyiree_command("opt", "--no-such-pass", "-", input=text, code=1)
        assert done.stderr == "pyiree: error: there is no pass --no-such-pass, see --list-passes\n"
        assert "cse" in pyiree_command("opt", "--list-passes").stdout
        assert "cse" in {row["PASS"] for row in json.loads(pyiree_command("opt", "--list-passes", "--json").stdout)}
        assert "--list-passes" in pyiree_command("opt", "--cse", "--json", "-", code=1, input=text).stderr
        error = pyiree_command("opt", "--cse", program, code=1).stderr
        assert f"{program}:3:" in error and "--compile-to=input" in error
        assert "no option -x" in pyiree_command("opt", "-x", "-", code=1, input=text).stderr
        done = pyiree_command("opt", "--cse", "--print-ir-after=cse,nothing", "-", code=1, input=text)
        assert "there is no pass 'nothing'" in done.stderr


class TestMachine:
    def test_devices(self, pyiree_command):
        names = [row["DEVICE"] for row in json.loads(pyiree_command("devices", "--json").stdout)]
        assert {"local-task", "local-sync", "null"} <= set(names)

    def test_targets(self, pyiree_command):
        lines = pyiree_command("targets").stdout.splitlines()
        assert lines[0].split()[0] == "NAME" and lines[1].startswith("host ") and "x86-64-v3" in str(lines)


class TestCache:
    @pytest.fixture
    def filled(self, tmp_path, monkeypatch):
        from pyiree.cache import DiskCache

        monkeypatch.setenv("PYIREE_CACHE_DIR", str(tmp_path))
        disk = DiskCache(tmp_path, 10**9)
        for n in (1, 2):
            disk.put(f"{n}{n:063x}", b"program", f"f{n}", 0.5)
        return disk

    def test_commands(self, pyiree_command, filled, tmp_path):
        assert pyiree_command("cache", "path").stdout.strip() == str(tmp_path)
        text = pyiree_command("cache", "ls").stdout
        assert "f1" in text and "f2" in text and "2 programs" in text
        assert {row["name"] for row in json.loads(pyiree_command("cache", "ls", "--json").stdout)} == {"f1", "f2"}
        assert "0.5" in pyiree_command("cache", "show", "1").stdout
        assert "no entry" in pyiree_command("cache", "show", "7", code=1).stderr
        assert "2 sound programs" in pyiree_command("cache", "verify").stdout
        assert json.loads(pyiree_command("cache", "prune", "--max-size=0", "--json").stdout)["removed"]
        assert "removed 0" in pyiree_command("cache", "clear").stdout
        pyiree_command("cache", "prune", "--max-size=much", code=1)

    def test_verify_fails_on_damage(self, pyiree_command, filled):
        next(filled.folder.glob("*.vmfb")).write_bytes(b"x")
        assert "removed 1 damaged file" in pyiree_command("cache", "verify", code=1).stderr
