"""Structured control flow for `emit.Function`: the context managers behind `for_`, `while_` and `if_`.

Each writes its blocks and phis around the body that the `with` statement emits. A loop is written in
rotated form
(test at the bottom), which is what the code generator wants without any middle-end pass.
"""

from __future__ import annotations

from .values import Value


class _Carried:
    """What loops share: values that each iteration receives (`carried`) and hands on (`yield_`)."""

    __slots__ = ("_initial", "_yielded", "carried", "fn", "results")

    def __init__(self, fn, initial):
        self.fn = fn
        self._initial = list(initial)
        self._yielded = None
        self.carried: list[Value] = []
        self.results: list[Value] = []

    def yield_(self, *values: Value) -> None:
        """The carried values of the next iteration, in order."""
        self._yielded = values

    def _check_yield(self, what: str) -> tuple[Value, ...]:
        values = self._yielded or ()
        if [v.ty for v in values] != [v.ty for v in self._initial]:
            raise TypeError(
                f"{what} in @{self.fn.name} carries ({', '.join(v.ty for v in self._initial)}) "
                f"but yields ({', '.join(v.ty for v in values)})"
            )
        return values


class For(_Carried):
    """`for index in range(start, stop, step)`, signed. See `emit.Function.for_`."""

    __slots__ = (
        "_exit",
        "_first_phi",
        "_guarded",
        "_head",
        "_metadata",
        "_preheader",
        "_straight",
        "index",
        "name",
        "start",
        "step",
        "stop",
    )

    def __init__(self, fn, start, stop, step, initial, name, metadata):
        super().__init__(fn, initial)
        self.start, self.stop, self.step, self.name = start, stop, step, name
        self._metadata = metadata

    def __enter__(self) -> For:
        fn, start, stop = self.fn, self.start, self.stop
        known = start.const is not None and stop.const is not None
        self._straight = (
            known and self.step.const is not None and start.const < stop.const <= start.const + self.step.const
        )
        if self._straight:  # exactly one iteration: no loop is needed
            self.index, self.carried = start, self._initial
            return self
        self._guarded = not (known and start.const < stop.const)
        self._head, self._exit = fn.new_label(self.name + ".body"), fn.new_label(self.name + ".end")
        self._preheader = fn.label
        if self._guarded:
            fn.cond_br(fn.icmp("slt", start, stop), self._head, self._exit)
        else:
            fn.br(self._head)
        fn.block(self._head)
        self._first_phi = len(fn.lines)
        self.index = fn.placeholder(start.ty, self.name)
        self.carried = [fn.placeholder(v.ty, self.name + ".carry") for v in self._initial]
        return self

    def __exit__(self, kind, error, trace) -> None:
        if kind is not None:
            return
        fn = self.fn
        values = self._check_yield(f"loop {self.name}")
        if self._straight:
            self.results = list(values)
            return
        following = fn.add(self.index, self.step, "nsw")
        again = fn.icmp("slt", following, self.stop)
        latch = fn.label
        fn.cond_br(again, self._head, self._exit, self._metadata)
        at = self._first_phi
        pre = self._preheader
        for phi, first, last in zip([self.index, *self.carried], [self.start, *self._initial], [following, *values]):
            fn.lines[at] = f"  {phi.ref} = phi {phi.ty} [ {first.ref}, %{pre} ], [ {last.ref}, %{latch} ]"
            at += 1
        fn.block(self._exit)
        if self._guarded:
            self.results = [fn.phi([(a, pre), (b, latch)]) for a, b in zip(self._initial, values)]
        else:
            self.results = list(values)


class While(_Carried):
    """Runs its body while `condition` holds. See `emit.Function.while_`."""

    __slots__ = ("_exit", "_first_phi", "_head", "_metadata", "_preheader", "name")

    def __init__(self, fn, initial, name, metadata):
        super().__init__(fn, initial)
        self.name = name
        self._metadata = metadata
        self._exit = None

    def __enter__(self) -> While:
        fn = self.fn
        self._head = fn.new_label(self.name + ".head")
        self._preheader = fn.label
        fn.br(self._head)
        fn.block(self._head)
        self._first_phi = len(fn.lines)
        self.carried = [fn.placeholder(v.ty, self.name + ".carry") for v in self._initial]
        return self

    def condition(self, holds: Value) -> None:
        """Ends the test part: what follows in the `with` statement is the body."""
        fn = self.fn
        body, self._exit = fn.new_label(self.name + ".body"), fn.new_label(self.name + ".end")
        fn.cond_br(holds, body, self._exit)
        fn.block(body)

    def __exit__(self, kind, error, trace) -> None:
        if kind is not None:
            return
        fn = self.fn
        if self._exit is None:
            raise ValueError(f"while loop {self.name} in @{fn.name} has no condition")
        values = self._check_yield(f"while loop {self.name}")
        latch = fn.label
        fn.br(self._head, self._metadata)
        for k, (phi, first, last) in enumerate(zip(self.carried, self._initial, values)):
            fn.lines[self._first_phi + k] = (
                f"  {phi.ref} = phi {phi.ty} [ {first.ref}, %{self._preheader} ], [ {last.ref}, %{latch} ]"
            )
        fn.block(self._exit)
        self.results = self.carried


class If:
    """Runs its body when the condition holds. See `emit.Function.if_`."""

    __slots__ = ("_condition", "_join", "_metadata", "fn", "name")

    def __init__(self, fn, condition, name, metadata):
        self.fn, self._condition, self.name, self._metadata = fn, condition, name, metadata

    def __enter__(self) -> If:
        fn = self.fn
        then, self._join = fn.new_label(self.name + ".then"), fn.new_label(self.name + ".end")
        fn.cond_br(self._condition, then, self._join, self._metadata)
        fn.block(then)
        return self

    def __exit__(self, kind, error, trace) -> None:
        if kind is not None:
            return
        if self.fn.is_open:
            self.fn.br(self._join)
        self.fn.block(self._join)
