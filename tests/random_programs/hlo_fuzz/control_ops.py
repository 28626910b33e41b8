"""Loops, branches and mapped functions of random programs, with ops of all kinds inside."""

import dataclasses

from . import element_types as et
from . import reducer_bodies
from .element_types import tensor
from .elementwise_ops import EXACT_BINARY, EXACT_UNARY
from .program import Op, Scope, Value
from .shape_ops import numbers

FORMS = ("text", "plain", "moved")


def _lines(scope, form, needed):
    """The ops of a region that its results need."""
    kept, needed = [], set(needed)
    for op in reversed(scope.ops):
        if needed.intersection(op.results):
            kept.append(getattr(op, form))
            needed.update(op.operands)
    return list(reversed(kept)), needed


def _region(scope, arguments, results):
    """A region's text, with errors added too, and the outer values that it reads."""
    given = ", ".join(f"{v.name}: {v.type}" for v in arguments)
    head = f"^bb0({given}):\n    " if arguments else ""
    tail = f"stablehlo.return {', '.join(v.name for v in results)} : {', '.join(v.type for v in results)}"
    texts = []
    for form in FORMS:
        lines, needed = _lines(scope, form, [v.name for v in results])
        texts.append("{\n  " + head + "\n    ".join([*lines, tail]) + "\n  }")
    outer = {v.name: v for v in scope.parent.all_values()}
    return texts, [outer[n] for n in needed if n in outer]


def _add(s, name, operands, wanted, regions, captured, exact, attributes=""):
    """An op with regions; results of some types."""
    pack = s.fresh()
    results = [Value(f"{pack}#{i}", e, shape, exact) for i, (e, shape) in enumerate(wanted)]
    head = f'{pack}:{len(results)} = "stablehlo.{name}"({", ".join(o.name for o in operands)}) ('
    tail = f"){attributes} : ({', '.join(o.type for o in operands)}) -> ({', '.join(r.type for r in results)})"
    texts = [head + ", ".join(r[k] for r in regions) + tail for k in range(len(FORMS))]
    used = tuple(v.name for v in [*operands, *captured])
    s.ops.append(Op(*texts, used, tuple(r.name for r in results)))
    s.values.extend(results)


def branches(s, grow):
    """An if or a case whose branches read values from outside."""
    c = s.choices
    wanted = []
    for _ in range(c.integer(1, 2)):
        v = s.any()
        wanted.append((v.element, v.shape))
    two = c.chance(50)
    selector = s.of("i1" if two else "i32", ())
    regions, captured, exact = [], [], selector.exact
    for _ in range(2 if two else c.integer(1, 3)):
        inner = Scope(c, s.names, s)
        for _ in range(c.integer(0, 3)):
            grow(inner)
        results = [inner.of(e, shape) for e, shape in wanted]
        texts, outer = _region(inner, [], results)
        regions.append(texts)
        captured += outer
        exact &= all(r.exact for r in results)
    _add(s, "if" if two else "case", [selector], wanted, regions, captured, exact)


def loop(s, grow):
    """A while that counts up to a few rounds, with values carried around."""
    c = s.choices
    carried = [s.any() for _ in range(c.integer(1, 3))]
    counter = s.scalar("i32", 0)
    limit = s.scalar("i32", c.integer(0, 4))
    given = [counter, *carried]
    inside = [dataclasses.replace(v, name=s.fresh()) for v in given]
    test = f"{{\n  ^bb0({', '.join(f'{v.name}: {v.type}' for v in inside)}):\n"
    flag = s.fresh()
    test += f"    {flag} = stablehlo.compare LT, {inside[0].name}, {limit.name}, SIGNED : "
    test += f"({counter.type}, {counter.type}) -> tensor<i1>\n    stablehlo.return {flag} : tensor<i1>\n  }}"
    inner = Scope(c, s.names, s)
    inner.values.extend(inside)
    for _ in range(c.integer(1, 4)):
        grow(inner)
    one = inner.scalar("i32", 1)
    step = inner.emit("add", [inside[0], one], "i32", ())
    results = [step, *[inner.of(v.element, v.shape) for v in carried]]
    texts, outer = _region(inner, inside, results)
    exact = all(v.exact for v in [*given, *results])  # what one round makes the next one reads
    _add(s, "while", given, [(v.element, v.shape) for v in given], [[test] * len(FORMS), texts], [*outer, limit], exact)


def mapped(s, grow):
    """A `map` by one or two exact ops."""
    c = s.choices
    x = s.any((*et.INTEGERS, *et.FLOATS))
    y = s.of(x.element, x.shape)
    binary = c.pick([n for n in EXACT_BINARY if x.element in EXACT_BINARY[n]])
    unary = c.pick([n for n in EXACT_UNARY if x.element in EXACT_UNARY[n]])
    kind = tensor((), x.element)
    lines = [
        f'%a = "stablehlo.{binary}"(%l0, %r0) : ({kind}, {kind}) -> {kind}',
        f'%x = "stablehlo.{unary}"(%a) : ({kind}) -> {kind}',
    ]
    region = reducer_bodies.region((x.element,), lines, ["%x"])
    s.emit("map", [x, y], x.element, x.shape, f" {{dimensions = {numbers(range(len(x.shape)))}}}", region=region)


OPS = {branches: 3, loop: 3, mapped: 1}
