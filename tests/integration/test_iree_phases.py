"""IREE's compiler takes what we print after every phase, and finishes it to modules with our numbers.

What its `iree-compile` gets from the hal and vm phases has our kernels, so the numbers are the same to the last bit.
Its own code generator makes the kernels of the earlier phases; of flow and stream it takes dispatches of one root.
"""

import numpy as np
import pytest

PHASES = ("input", "flow", "stream", "hal", "vm")
#: Programs whose dispatches IREE's code generator takes.
SINGLE_ROOT = ("elementwise", "layer", "constant", "branch", "while_loop")
#: After the stream phase the loop is a kernel that calls kernels, of which it knows none.
BY_PHASE = {"flow": SINGLE_ROOT, "stream": SINGLE_ROOT[:-1]}


#: Programs of each kind: element-wise, products, reductions, constants, loops, branches, integers.
FEW = (*SINGLE_ROOT, "softmax", "several", "small_loop", "integers")


@pytest.fixture(scope="module", params=["few", pytest.param("all", marks=pytest.mark.slow)])
def chosen(request, programs):
    """The programs of this run."""
    return {name: programs[name] for name in (FEW if request.param == "few" else programs)}


def test_every_text_is_read_and_verified(chosen, iree_tool):
    texts = [program.text(phase) for program in chosen.values() for phase in PHASES]
    assert len(texts) >= 5 * 8
    done = iree_tool("iree-opt", "--split-input-file", "-", input="\n// -----\n".join(texts))
    assert done.stdout.count("// -----") == len(texts) - 1


@pytest.fixture(scope="module")
def finished(chosen, iree_jobs):
    """The results of every program from every phase that IREE can go on from, all made in one process."""
    keys = [(name, phase) for name in chosen for phase in ("input", "hal", "vm")]
    keys += [(name, phase) for phase, names in BY_PHASE.items() for name in names]
    jobs = [(chosen[name].text(phase), phase, chosen[name].arguments, ("local-sync",)) for name, phase in keys]
    return {key: result for key, (result, _) in zip(keys, iree_jobs(jobs))}


def _check(finished, chosen, phase, names, compare):
    for name in names:
        result = finished[name, phase]
        assert isinstance(result, dict), f"{name} from {phase}: {result}"
        ours = chosen[name].ours()
        for found, want in zip(result["local-sync"], ours, strict=True):
            assert found.shape == want.shape, (name, phase)
            compare(found, want, err_msg=f"{name} from {phase}")


@pytest.mark.parametrize("phase", ["hal", "vm"])
def test_our_kernels_give_our_numbers(finished, chosen, phase):
    _check(finished, chosen, phase, chosen, np.testing.assert_array_equal)


def _close(found, want, err_msg):
    np.testing.assert_allclose(found, want, rtol=2e-5, atol=1e-5, err_msg=err_msg)


def test_from_input_their_kernels_give_our_numbers(finished, chosen):
    _check(finished, chosen, "input", chosen, _close)


@pytest.mark.parametrize("phase", BY_PHASE)
def test_from_later_phases_their_kernels_give_our_numbers(finished, chosen, phase):
    assert len(BY_PHASE[phase]) >= 4
    _check(finished, chosen, phase, BY_PHASE[phase], _close)


def test_our_numbers_are_right(chosen):
    for name, program in chosen.items():
        for found, want in zip(program.ours(), program.expected(), strict=True):
            np.testing.assert_allclose(found, want, rtol=2e-5, atol=1e-5, err_msg=name)


def test_the_command_line_tool_finishes_a_text(programs, iree_tool, tmp_path):
    source, output = tmp_path / "layer.hal.mlir", tmp_path / "layer.vmfb"
    source.write_text(programs["layer"].text("hal"))
    iree_tool("iree-compile", "--compile-from=hal", source, "-o", output)
    assert output.stat().st_size > 1000
