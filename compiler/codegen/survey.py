"""What one point of a dispatch touches and costs, found by evaluating it once on paper.

Enters: the dispatch graph and a function that evaluates and stores one point of the domain. Leaves: a `Survey`: every
memory access as a linear function of the domain's syms, which syms are needed as numbers, the widest element, and a
rough count of the work, from which `configure` picks loops, vectors and tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from pyiree.runtime.vmfb.lazy_dataclass import dataclass

from .dispatch import KernelContext
from .indexing import Dim, Index, Lanes, LaneScope, Sym
from .loops import ELEMENT_BITS, FLOATS, INDEX, Buffer, KernelBuilder, Value, storage_bytes


@dataclass
class Access:
    """One load or store: element sum(coefficient * sym); `opaque` syms enter in some other way (a gather)."""

    buffer: Buffer
    index: Index
    coefficients: dict[Sym, Dim]
    opaque: frozenset[Sym]
    store: bool

    @property
    def bytes(self) -> int:
        return storage_bytes(self.buffer.elem)


@dataclass
class Survey:
    accesses: list[Access] = field(default_factory=list)
    numbers: set[Sym] = field(default_factory=set)
    cuts: dict[Sym, set[int]] = field(default_factory=dict)
    """Places in the extent of a sym where another piece of a concatenation, a padding or an inserted slice begins."""
    cost: float = 0.0
    """Rough instructions a vector of one result element each."""
    element_bits: int = 8


class SurveyScope(LaneScope):
    """Binds every sym to a number that is not known and notes what is done with it."""

    def __init__(self, builder: KernelBuilder, syms: Sequence[Sym], survey: Survey):
        super().__init__(builder, 1)
        self.on_paper = True
        self._survey = survey
        self._stand_ins: dict[Value, Sym] = {}
        self._reach: dict[Value, frozenset[Sym]] = {}
        for sym in syms:
            self.add(sym)

    def add(self, sym: Sym) -> None:
        """Binds one more sym."""
        value = self.builder.stand_in(INDEX)
        self._stand_ins[value] = sym
        self.bind(sym, Lanes(value))

    def touch(self, buffer: Buffer, index: Index, store: bool) -> None:
        if buffer.space != "binding":
            return
        coefficients, opaque = {}, set()
        for term, coefficient in index.terms.items():
            if term.__class__ is Sym:
                coefficients[term] = coefficient
            else:
                opaque |= self._syms_of(term)
        self._survey.accesses.append(Access(buffer, index, coefficients, frozenset(opaque), store))

    def compared(self, index: Index, size: int) -> None:
        if len(index.terms) != 1:
            return
        ((sym, step),) = index.terms.items()
        if sym.__class__ is Sym and sym.extent.__class__ is int and step == 1:
            places = {place for place in (-index.constant, size - index.constant) if 0 < place < sym.extent}
            self._survey.cuts.setdefault(sym, set()).update(places)

    def value(self, index: Index, elem: str = "i64") -> Value:
        for term in index.terms:
            if term.__class__ is Sym:
                self._survey.numbers.add(term)
        return super().value(index, elem)

    def _syms_of(self, value: Value) -> frozenset[Sym]:
        """The syms that a value was computed from."""
        found = self._reach.get(value)
        if found is None:
            if value in self._stand_ins:
                found = frozenset((self._stand_ins[value],))
            elif value.op is None:
                found = frozenset()
            else:
                found = frozenset().union(*[self._syms_of(v) for v in value.op.operands])
            self._reach[value] = found
        return found


def survey(context: KernelContext, syms: Sequence[Sym], visit: Callable[[SurveyScope], None]) -> Survey:
    """Runs `visit` on paper: it evaluates one point of the domain and stores its results.

    The ops that this leaves in the kernel read stand-ins, nothing uses them, and `finish` drops them.
    """
    result = Survey()
    block = context.builder.current
    before = len(block.ops)
    visit(SurveyScope(context.builder, syms, result))
    _count(block.ops[before:], result)
    for access in result.accesses:
        result.cost += access.store
        result.element_bits = max(result.element_bits, _register_bits(access.buffer.elem))
    return result


def _count(ops, result: Survey) -> None:
    for op in ops:
        result.cost += op_cost(op.name)
        for value in op.results:
            # 64-bit integers count where memory holds them, not where they are positions.
            if value.type.elem != INDEX.elem or op.name in ("load", "gather"):
                result.element_bits = max(result.element_bits, _register_bits(value.type.elem))
        if op.body is not None:
            _count(op.body.ops, result)


def _register_bits(elem: str) -> int:
    """Bits that a lane takes while it is computed: small floats compute in f32."""
    if elem in FLOATS and elem != "f64":
        return 32
    return max(8, ELEMENT_BITS[elem])


def op_cost(name: str) -> float:
    return _COSTS.get(name, 16.0 if name.startswith("math.") else 1.0)


_COSTS = {
    "const": 0.0, "const_vector": 0.0, "splat": 0.0, "arith.divf": 4.0, "math.sqrt": 5.0, "math.rsqrt": 9.0,
    "math.absf": 1.0, "math.ceil": 1.0, "math.floor": 1.0, "math.copysign": 2.0, "math.roundeven": 1.0,
    "math.trunc": 1.0,
    "math.pow": 60.0, "math.powf": 60.0, "math.sin": 25.0, "math.cos": 25.0, "math.erf": 30.0,
    "arith.divsi": 20.0, "arith.divui": 20.0, "arith.remsi": 20.0, "arith.remui": 20.0, "arith.remf": 100.0,
}  # fmt: skip
