"""`docs/settings.md` lists the settings and the variables of the environment: all of them, and no others."""

import ast
import pathlib
import re

import pytest
from pyiree import config

ROOT = pathlib.Path(__file__).resolve().parents[2]
SETTINGS = ROOT / "docs" / "settings.md"


def rows():
    """The cells of each row of each table."""
    tables = re.findall(r"^\|---.*\n((?:\|.*\n)+)", SETTINGS.read_text(), re.MULTILINE)
    return [[[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()] for table in tables]


def variables_read():
    """Every whole string of the sources that is the name of a variable of ours."""
    found = set()
    for folder in ("jit", "compiler", "runtime"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text()
            for node in ast.walk(ast.parse(text)) if "PYIREE_" in text else ():
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found |= {node.value} if re.fullmatch(r"PYIREE_[A-Z_]+[A-Z]", node.value) else set()
    return found


def test_settings_are_listed_as_they_are():
    settings, _ = rows()
    expected = [
        [f"`{name}`", f"`{config.variable(name)}`", setting.meaning] for name, setting in config.SETTINGS.items()
    ]
    assert [[name, variable, meaning] for name, variable, _, meaning in settings] == expected


@pytest.mark.parametrize("row", rows()[0], ids=lambda row: row[0].strip("`"))
def test_defaults_are_listed_as_they_are(row):
    setting, shown = config.SETTINGS[row[0].strip("`")], row[2].strip("`")
    assert (setting.parse(shown) == setting.default) if shown else setting.default in (None, ())


def test_variables_are_listed_as_they_are():
    settings, others = rows()
    listed = [row[1].strip("`") for row in settings] + [row[0].strip("`") for row in others]
    assert set(listed) == variables_read() | {config.variable(name) for name in config.SETTINGS}
    assert len(listed) == len(set(listed))
