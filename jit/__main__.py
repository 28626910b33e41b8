"""`python -m pyiree` is the command `pyiree`."""

from pyiree.cli.main import main

main()
