"""The examples' way to import what a plain installation of pyiree has not."""

import contextlib
import sys


@contextlib.contextmanager
def libraries_of_the_extra():
    """Imports inside of it end the example with one line where a library is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        sys.exit(f"{sys.argv[0]} needs {error.name}, which comes with the extra: pip install -e '.[examples]'")
