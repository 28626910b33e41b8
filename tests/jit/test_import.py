"""What an import costs: `import pyiree` is nothing, and the runtime needs neither jax nor the compiler."""

import pyiree
import pytest

HEAVY = ("jax", "jaxlib", "numba", "llvmlite", "numpy", "ml_dtypes", "rich", "scipy")


def test_import_pyiree_imports_nothing_heavy(python_child):
    code = f"import sys, pyiree; print([n for n in {HEAVY} if n in sys.modules], len(sys.modules))"
    found, _, _ = python_child(code).stdout.partition("] ")
    assert found == "["


def test_the_cache_and_the_settings_need_no_jax(python_child):
    code = "import sys, pyiree; pyiree.cache.ls(); pyiree.config.log; assert 'jax' not in sys.modules"
    python_child(code)


def test_jit_loads_neither_the_compiler_nor_numba(python_child):
    code = (
        "import sys, pyiree; pyiree.jit;"
        "print([n for n in ('pyiree.compiler.pipeline', 'numba', 'argparse', 'rich') if n in sys.modules])"
    )
    assert python_child(code).stdout.strip() == "[]"


@pytest.mark.parametrize("name", pyiree.__all__)
def test_every_public_name_is_there(name):
    assert getattr(pyiree, name) is getattr(pyiree, name)


def test_unknown_names():
    with pytest.raises(AttributeError, match="no attribute 'jitt'"):
        pyiree.jitt  # noqa: B018
    assert "jit" in dir(pyiree) and isinstance(pyiree.__version__, str)
