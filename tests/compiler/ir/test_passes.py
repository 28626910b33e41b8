"""Pipelines: parsing, nesting, options, dumps, printing, timing, verification and reproducers."""

import io

import pytest
from pyiree.compiler.ir.attributes import UnitAttr
from pyiree.compiler.ir.diagnostics import CompileError, PassError, VerifyError
from pyiree.compiler.ir.instrumentation import read_reproducer
from pyiree.compiler.ir.parser import parse_module
from pyiree.compiler.ir.passes import (
    PassContext,
    PassManager,
    lookup_pass,
    parse_pipeline,
    pass_names,
    register_pass,
    run_passes,
)

LOG = []


@register_pass("iree-test-log", on="t.func")
def log(op, context):
    """Writes down the functions it sees."""
    LOG.append(f"log {op.sym_name}")


@register_pass("test-options", on="builtin.module")
class Options:
    """Has options of each kind."""

    factor: int = 4
    names: list[str] = ()
    fast: bool = False
    label: str = ""

    def run(self, op, context):
        LOG.append((self.factor, list(self.names), self.fast, self.label))


@register_pass("test-break", on="t.func")
def break_it(op, context):
    """Leaves IR that does not verify."""
    op.body.entry.last_op.erase()


@register_pass("test-fail")
def fail(op, context):
    """Fails after changing the IR."""
    op.attributes["half_done"] = UnitAttr()
    raise CompileError("no good", op.location)


@register_pass("test-count", on=None)
def count(op, context):
    """Asks for an analysis."""
    LOG.append(context.analysis(Count, op).number)
    LOG.append(context.analysis(Count, op).number)


class Count:
    """How many ops there are; counts how often it is computed."""

    made = 0

    def __init__(self, op):
        Count.made += 1
        self.number = sum(1 for _ in op.walk())


@pytest.fixture
def module():
    LOG.clear()
    return parse_module("t.func @f() -> () { return }\nt.func @g() -> () { return }", "f.mlir")


def test_pipeline_text():
    text = 'builtin.module(t.func(cse,iree-test-log),test-options{factor=8 label="a b"},canonicalize)'
    assert str(parse_pipeline(text)) == text
    assert str(parse_pipeline(" cse , dce ")) == "builtin.module(cse,dce)"
    assert str(parse_pipeline("t.func(cse)")) == "t.func(cse)"
    for bad in ("builtin.module(cse", "cse)", "cse{a=1"):
        with pytest.raises(PassError):
            parse_pipeline(bad)


def test_passes_run_on_their_ops(module):
    run_passes(module, "iree-test-log,test-options{factor=8 names=x,y fast}")
    run_passes(module, "builtin.module(t.func(iree-test-log))")
    assert LOG == ["log f", "log g", (8, ["x", "y"], True, ""), "log f", "log g"]


def test_wrong_names_and_options(module):
    with pytest.raises(PassError, match="there is no pass 'nothing'"):
        run_passes(module, "nothing")
    with pytest.raises(PassError, match=r"has no option 'facto' \(it has factor, names, fast, label\)"):
        run_passes(module, "test-options{facto=1}")
    with pytest.raises(PassError, match="option 'factor' is int, given 'x'"):
        run_passes(module, "test-options{factor=x}")
    assert {"canonicalize", "cse", "dce", "symbol-dce", "iree-test-log"} <= set(pass_names())
    assert lookup_pass("iree-test-log").summary == "Writes down the functions it sees."


def test_dumps_are_numbered(module, tmp_path):
    context = PassContext(dump_dir=tmp_path)
    run_passes(module, "iree-test-log,cse", context)
    run_passes(module, "dce", context)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["01-test-log.mlir", "02-cse.mlir", "03-dce.mlir"]
    assert (tmp_path / "02-cse.mlir").read_text() == str(module)


def test_dump_by_environment(module, tmp_path, monkeypatch):
    monkeypatch.setenv("PYIREE_DUMP", str(tmp_path / "new"))
    run_passes(module, "cse")
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["01-cse.mlir"]


def test_printing_and_timing(module):
    out = io.StringIO()
    context = PassContext(print_ir_before=["cse"], print_ir_after=True, timing=True, print_to=out)
    with context.instrumentation.phase("stream"):
        run_passes(module, "cse,t.func(dce)", context)
    lines = [line for line in out.getvalue().splitlines() if line.startswith("// -----//")]
    assert lines == [f"// -----// IR {when} //----- //" for when in ("before cse", "after cse", "after dce")]
    rows = [line[27:] for line in context.timing_report().splitlines()]
    assert rows == ["pass", "stream", "  builtin.module", "    cse", "    t.func", "      dce", "total"]
    assert context.timing_report() in out.getvalue()


def test_verification_after_each_pass(module):
    run_passes(module.clone(), "test-break")
    with pytest.raises(VerifyError, match=r"a block of 't\.func' is empty") as error:
        run_passes(module, "test-break", PassContext(verify_each=True))
    assert "in pass 'test-break'" in error.value.__notes__


def test_reproducer(module, tmp_path):
    path = tmp_path / "crash.mlir"
    before = str(module)
    with pytest.raises(CompileError, match="no good"):
        run_passes(module, "t.func(cse),test-fail,t.func(dce,cse),cse", PassContext(crash_reproducer=path))
    text = path.read_text()
    assert read_reproducer(text) == "builtin.module(test-fail,t.func(dce,cse),cse)"
    again = parse_module(text)
    assert str(again) == before and "half_done" not in text
    with pytest.raises(CompileError, match="no good"):
        PassManager.parse(read_reproducer(text)).run(again)
    assert read_reproducer(before) is None


def test_analyses_live_until_the_next_pass(module):
    Count.made = 0
    run_passes(module, "test-count,test-count")
    assert LOG == [5, 5, 5, 5] and Count.made == 2
