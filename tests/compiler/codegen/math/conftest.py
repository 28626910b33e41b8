"""Fixtures of the math tests: kernels of one op, sample points, wider references, errors in ulp."""

import ctypes
import inspect

import numpy as np
import pytest

INF, NAN = np.inf, np.nan
LD = np.longdouble
# Where a function changes its method, or leaves a range: points around these are always sampled.
EDGES = [
    0.34657359, 0.41421356, 0.46, 0.47, 0.5, 0.5464, 0.55, 0.70710678, 1.0, 1.04, 1.41421356, 2.0,
    2.41421356, 4.0, 6.0, 9.1, 10.06, 17.33, 18.0, 20.0, 26.5, 27.3, 37.43, 88.722839, 89.415985, 87.33654,
    103.972, 127.99, 128.0, 126.0, 149.0, 150.0, 709.782712893384, 710.475860073944, 708.396418532264,
    745.133, 1022.0, 1024.0, 1074.0, 1075.0, 8192.0, 3.0e4, 1.6e6, 2.0**23, 2.0**24, 2.0**28, 2.0**31,
    2.0**52, 2.0**53,
]  # fmt: skip


def _samples(dtype, count, seed=0):
    """Points of one type, about 18 `count` of them: every exponent, linear ranges, and where functions are
    hard."""
    rng = np.random.default_rng(seed)
    info = np.finfo(dtype)
    integer = np.int32 if dtype == np.float32 else np.int64
    bounds = np.iinfo(integer)
    sign = rng.choice([-1.0, 1.0], count)
    near_one = 1 + np.exp2(rng.uniform(-info.nmant - 1, -1, count)) * sign
    edges = np.array(EDGES, dtype).view(integer)
    around = (rng.choice(edges, count) + rng.integers(-200, 200, count)).astype(integer).view(dtype)
    parts = [
        rng.integers(bounds.min, bounds.max, count, dtype=integer, endpoint=True).view(dtype),
        np.exp2(rng.uniform(-14, 10, count)) * sign,
        *[rng.uniform(-size, size, count) for size in (0.6, 1.0, 2.0, 10.0, 30.0, 100.0, 750.0, 1e5, 2e6)],
        near_one,
        -near_one,
        rng.integers(-(2**20), 2**20, count) * (np.pi / 4),
        rng.integers(-200, 200, count) * (np.pi / 4),
        rng.integers(-3000, 3000, count) * (np.log(2) / 2),
        rng.integers(-50, 50, count) / 2,
        around * sign.astype(dtype),
        rng.integers(1, 2 ** (info.nmant // 2), count).astype(integer).view(dtype) * sign,
    ]
    specials = [0.0, -0.0, INF, -INF, NAN, 1, -1, info.tiny, -info.tiny, info.max, -info.max]
    specials += [info.smallest_subnormal, -info.smallest_subnormal, info.eps, 2, -2, 0.5, -0.5]
    with np.errstate(over="ignore"):
        return np.concatenate([np.asarray(p).astype(dtype) for p in [*parts, specials]])


@pytest.fixture(scope="session")
def samples():
    return _samples


def _pairs(dtype, count, seed=0):
    """Pairs for two-argument functions: all sorts, all special pairs, and powers of every size."""
    rng = np.random.default_rng(seed)
    x, y = rng.permutation(_samples(dtype, count, seed)), rng.permutation(_samples(dtype, count, seed + 1))
    info = np.finfo(dtype)
    special = [0.0, 1, 0.5, 2, 3, 2.5, 1e10, 2.0**24 - 1, 2.0**24, 2.0**53 - 1, INF, info.tiny, info.max]
    special += [info.smallest_subnormal, 1 + info.eps, 1 - info.epsneg]
    special = np.array([*special, *[-s for s in special], NAN], dtype)
    a, b = (v.ravel() for v in np.meshgrid(special, special))
    span, limit = (88, 160) if dtype == np.float32 else (709, 1085)
    base = np.exp(rng.uniform(-span, span, count)).astype(dtype)
    powers = rng.uniform(-limit, limit, count) / np.log2(base.astype(LD))
    more = [
        (base, powers),
        (rng.uniform(0.5, 2, count), rng.uniform(-100, 100, count)),
        (rng.uniform(0, 50, count), rng.uniform(-8, 8, count)),
        (rng.uniform(-10, 10, count), rng.integers(-20, 20, count)),
        (1 + rng.uniform(-1e-5, 1e-5, count), rng.uniform(-1e7, 1e7, count)),
        (rng.integers(0, 2**20, count) * float(info.smallest_subnormal), rng.uniform(-1.2, 1.2, count)),
    ]
    xs, ys = zip(*more)
    return np.concatenate([x, a, *[v.astype(dtype) for v in xs]]), np.concatenate(
        [y, b, *[v.astype(dtype) for v in ys]]
    )


@pytest.fixture(scope="session")
def pairs():
    return _pairs


def _by_mpmath(name):
    def evaluate(x):
        import mpmath

        out = np.empty(len(x), LD)
        with mpmath.workprec(120):
            for k, value in enumerate(x):
                if np.isnan(value) or (value == 0 and name == "erf"):
                    out[k] = value  # mpmath knows no -0
                    continue
                # Beyond 40 both have reached their limits; mpmath gives up on the largest arguments.
                exact = getattr(mpmath, name)(mpmath.mpf(float(np.clip(value, -40, 40))))
                high = float(exact)
                out[k] = LD(high) + LD(float(exact - high))
        return out

    return evaluate


REFERENCES = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan,
    "atan2": np.arctan2, "atanh": np.arctanh, "cbrt": np.cbrt, "cos": np.cos, "cosh": np.cosh, "exp": np.exp,
    "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log10": np.log10, "log1p": np.log1p, "log2": np.log2,
    "powf": np.power, "rsqrt": lambda x: 1 / np.sqrt(x), "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt,
    "tan": np.tan, "tanh": np.tanh,
}  # fmt: skip


def _reference(name, *args):
    """The function in a wider type: f64 for f32, x86's long double for f64 (mpmath for what numpy lacks)."""
    single = args[0].dtype == np.float32
    with np.errstate(all="ignore"):
        if name in ("erf", "erfc"):
            if single:
                import scipy.special

                return getattr(scipy.special, name)(args[0].astype(np.float64))
            return _by_mpmath(name)(args[0])
        wide = np.float64 if single and name != "powf" else LD
        return REFERENCES[name](*[a.astype(wide) for a in args])


@pytest.fixture(scope="session")
def reference():
    if np.finfo(LD).nmant < 63:
        pytest.skip("the references need x86's 80-bit long double")
    return _reference


def _ulp_errors(got, want):
    """Errors in units in the last place of the true value (the spacing of subnormals at least), infinite
    where a number stands for an infinity or NaN or the other way round, or a zero has the wrong sign."""
    dtype = got.dtype
    with np.errstate(all="ignore"):
        rounded = want.astype(dtype)
        unit = np.spacing(np.maximum(np.abs(rounded), np.finfo(dtype).tiny)).astype(want.dtype)
        error = np.abs(got.astype(want.dtype) - want) / unit
        # Up to half an ulp beyond the largest number still rounds to it.
        finite = np.isfinite(got) & np.isfinite(rounded)
        same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
        zeros = (got == 0) & (want == 0)
        wrong_sign = zeros & (np.signbit(got) != np.signbit(want))
    return np.where(wrong_sign, INF, np.where(finite, error, np.where(same, 0.0, INF))).astype(np.float64)


@pytest.fixture(scope="session")
def ulp_errors():
    return _ulp_errors


@pytest.fixture(scope="session")
def math_text():
    """A function that gives the IR of `kernel(x0, …, out, n)` applying one op to n elements, n a multiple of
    the lanes."""
    from pyiree.compiler.codegen.llvm.emit import Module
    from pyiree.compiler.codegen.llvm.values import I1, elem, vec
    from pyiree.compiler.codegen.math import emit_math

    def build(op, types, target, lanes):
        module = Module(target)
        args = [(f"x{k}", "ptr") for k in range(len(types))]
        fn = module.function("kernel", [*args, ("out", "ptr"), ("n", "i64")], linkage="")
        with fn.for_(0, fn.args["n"], lanes) as loop:
            values = [
                fn.load(vec(lanes, ty), fn.gep(fn.args[f"x{k}"], loop.index, ty))
                for k, ty in enumerate(types)
            ]
            result = emit_math(fn, op, values, target)
            if elem(result.ty) == I1:
                result = fn.zext(result, "i8")
            fn.store(result, fn.gep(fn.args["out"], loop.index, elem(result.ty)))
        fn.ret()
        return module.text()

    return build


@pytest.fixture(scope="session")
def math_kernel(math_text, run_ir):
    """A function (op, target, *arrays, lanes=None, out=None) that applies an op by a kernel made for it."""
    types = {"float32": "float", "float64": "double", "bool": "i8"}
    made = {}

    def apply(op, target, *arrays, lanes=None, out=None):
        names = tuple(types.get(a.dtype.name, f"i{a.dtype.itemsize * 8}") for a in arrays)
        lanes = lanes or target.lanes(arrays[0].dtype.itemsize * 8)
        key = (op, target.cpu, names, lanes)
        if key not in made:
            library = run_ir([math_text(op, names, target, lanes)], ["kernel"], target)
            made[key] = library.kernel
            made[key].restype = None
        count = len(arrays[0])
        padding = -count % lanes
        inputs = [np.ascontiguousarray(np.concatenate([a, np.resize(a[-1:], padding)])) for a in arrays]
        result = np.zeros(count + padding, out or arrays[0].dtype)
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in (*inputs, result)]
        made[key](*pointers, ctypes.c_int64(count + padding))
        return result[:count]

    return apply


@pytest.fixture(scope="session")
def operand_counts():
    """Operands of each float op, from its emitter's signature."""
    from pyiree.compiler.codegen.math import FLOAT_OPS

    return {name: len(inspect.signature(emitter).parameters) - 1 for name, emitter in FLOAT_OPS.items()}
