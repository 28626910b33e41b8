"""Mutable arrays (`jax.new_ref`) of a call: the program reads them as arguments and gives their new values as results.

What enters: the references among a call's leaves and those that the function closes over, and the program's results.
What leaves: the references' values for the program to read, and the function's own results; the other results become
the values of the references.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pyiree.array import numpy_reader
from pyiree.errors import MutableArrayError
from pyiree.jax_internals import Ref, set_ref_value


class MutableArrays:
    """Those of one program as called with certain leaves: the arguments `kept` of it, then `closed` ones.

    `written` has for each result of the program the number of the argument whose new value it is, or None;
    `dtypes` are those of the arguments.
    """

    def __init__(
        self,
        leaves: Sequence[Any],
        kept: Sequence[int],
        closed: Sequence[Ref],
        dtypes: Sequence[np.dtype],
        written: Sequence[int | None],
    ):
        self._kept, self._closed, self._written = kept, list(closed), written
        self._among_leaves = [n for n, leaf in enumerate(leaves) if type(leaf) is Ref]
        self._read_closed = [numpy_reader(ref, dtype) for ref, dtype in zip(closed, dtypes[len(kept) :])]

    def closed_values(self, leaves: Sequence[Any]) -> list[np.ndarray]:
        """The values of those that the function closes over; an error if one of all can be reached in two ways."""
        refs = [leaves[n] for n in self._among_leaves] + self._closed
        if len({id(ref) for ref in refs}) < len(refs):
            raise MutableArrayError(
                "a mutable array can't be two arguments of a call, nor an argument of a function that closes over it"
            )
        return [read(ref) for read, ref in zip(self._read_closed, self._closed)]

    def write(self, leaves: Sequence[Any], results: Sequence[Any]) -> list[Any]:
        """Hands the new values to the references; gives the function's own results."""
        own = []
        for number, result in zip(self._written, results):
            if number is None:
                own.append(result)
            elif number < len(self._kept):
                set_ref_value(leaves[self._kept[number]], result)
            else:
                set_ref_value(self._closed[number - len(self._kept)], result)
        return own
