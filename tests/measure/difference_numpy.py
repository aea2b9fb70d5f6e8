#!/usr/bin/env python3
"""Differences of tensors against numpy: every number of many arrays, ordinary and nasty.

difference_numpy.py PATH-OF-difference_check
"""
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

CHECK = sys.argv[1]
NAN, INF = float("nan"), float("inf")


def bfloat16(values):
    """Float32 values cut to bfloat16, as npz keeps them (two raw bytes), and the values that are left."""
    bits = (np.asarray(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return bits.view("V2"), (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def cases():
    rng = np.random.default_rng(20261130)
    # name -> (candidate a, reference b, their values as float64 or exact Python integers)
    result = {}

    def add(name, a, b, values=None):
        a, b = np.asarray(a), np.asarray(b)
        result[name] = (a, b) + (values if values is not None else (a, b))

    for size in (1, 3, 4, 5, 1023, 1024, 1025, 10007):
        b = rng.normal(size=size).astype(np.float32)
        add(f"normal{size}", b + rng.normal(scale=1e-5, size=size).astype(np.float32), b)
    b = rng.normal(size=(7, 33)).astype(np.float32)
    add("same", b, b)
    add("rows", b + rng.normal(scale=0.5, size=b.shape).astype(np.float32), b)
    tie = np.array([[1, 1, 0], [0, 2, 2], [3, 3, 3]], np.float32)
    add("ties", tie, tie[:, ::-1].copy())
    add("one_sided_zero", np.zeros(100, np.float32), rng.normal(size=100).astype(np.float32))
    add("zero_reference", rng.normal(size=100).astype(np.float32), np.zeros(100, np.float32))
    add("all_zero", np.zeros((2, 5), np.float32), np.zeros((2, 5), np.float32))
    add("signed_zero", np.array([0.0, -0.0], np.float32), np.array([-0.0, 0.0], np.float32))
    nasty = np.array([NAN, INF, -INF, 0.0, -0.0, 1e-45, -1e-45, 1.17549435e-38, 3.4028235e38, -3.4028235e38, 1.0, 1e-20], np.float32)
    left, right = np.meshgrid(nasty, nasty)
    add("nasty32", left.astype(np.float32), right.astype(np.float32))
    nasty64 = np.array([NAN, INF, -INF, 0.0, 5e-324, 2.2250738585072014e-308, 1.0, 1e100, -1e100], np.float64)
    left, right = np.meshgrid(nasty64, nasty64)
    add("nasty64", left, right)
    spread = rng.normal(size=3000) * 10.0 ** rng.integers(-30, 30, 3000)
    add("decades", (spread * (1 + rng.normal(scale=1e-3, size=3000))).astype(np.float64), spread.astype(np.float64))
    sparse = rng.normal(size=(50, 100)).astype(np.float32)
    other = sparse + rng.normal(scale=1e-4, size=sparse.shape).astype(np.float32)
    other[rng.random(other.shape) < 0.01] = NAN
    other[rng.random(other.shape) < 0.01] = INF
    sparse[rng.random(sparse.shape) < 0.01] = NAN
    sparse[rng.random(sparse.shape) < 0.01] = -INF
    add("sprinkled", other, sparse)
    h = rng.normal(size=999).astype(np.float16)
    add("half", h + np.float16(0.01), h)
    add("half_nasty", np.array([NAN, INF, 65504, 6e-8, 0], np.float16), np.array([NAN, -INF, -65504, 0, 6e-8], np.float16))
    add("half_against_float", h, h.astype(np.float32) + np.float32(1e-4))
    a_bits, a_values = bfloat16(rng.normal(size=500))
    b_bits, b_values = bfloat16(rng.normal(size=500))
    add("bfloat16", a_bits, b_bits, (a_values, b_values))
    for kind in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64):
        info = np.iinfo(kind)
        a = np.concatenate([rng.integers(info.min, info.max, 200, dtype=kind, endpoint=True), np.array([info.min, info.max, 0, 1], kind)])
        b = np.concatenate([rng.integers(info.min, info.max, 200, dtype=kind, endpoint=True), np.array([info.max, info.max, 1, 1], kind)])
        add(f"whole_{info.dtype}", a, b)
    big = np.array([2**53, 2**53 + 1, 2**62 + 1, -(2**63), 2**63 - 1], np.int64)
    add("past_2_53", big, np.array([2**53 + 1, 2**53 + 1, 2**62, -(2**63) + 1, 2**63 - 1], np.int64))
    add("int64_against_uint64", np.array([-1, 5, 2**63 - 1], np.int64), np.array([2**64 - 1, 5, 2**63], np.uint64))
    add("bool", rng.random(300) < 0.5, rng.random(300) < 0.5)
    add("empty", np.zeros((0, 4), np.float32), np.zeros((0, 4), np.float32))
    add("scalar", np.float32(1.5), np.float32(1.25))
    add("text", np.array(["a", "bb", "", "ü"]), np.array(["a", "b", "", "ü"]))
    return result


def expected(a, b, values_a, values_b, atol, rtol, rule):
    """The same numbers by numpy in float64; whole numbers are subtracted as Python integers."""
    want = {"elements": int(a.size)}
    if a.dtype.kind in "US":
        distance = (a != b).astype(np.float64).ravel()
        want.update(outside=int(distance.sum()), exact=int((a == b).sum()), max_abs=float(distance.max(initial=0)),
                    mean_abs=float(distance.mean()))
        return want
    if a.dtype.kind in "iub":
        exact_a = [int(v) for v in a.ravel()]
        exact_b = [int(v) for v in b.ravel()]
        d = np.array([abs(x - y) for x, y in zip(exact_a, exact_b)], np.float64)
        fa, fb = np.array(exact_a, np.float64), np.array(exact_b, np.float64)
    else:
        fa, fb = np.asarray(values_a, np.float64).ravel(), np.asarray(values_b, np.float64).ravel()
        with np.errstate(all="ignore"):
            d = np.abs(fa - fb)
    finite = np.isfinite(fa) & np.isfinite(fb)
    with np.errstate(all="ignore"):
        inside = d <= atol + rtol * np.abs(fb) if rule == "sum" else (d <= atol) | (d <= rtol * np.abs(fb))
        inside[~finite] = ((fa == fb) | (np.isnan(fa) & np.isnan(fb)))[~finite]
    if rule == "sum" and a.dtype.kind == "f":
        with np.errstate(all="ignore"):
            assert (np.isclose(fa, fb, rtol=rtol, atol=atol, equal_nan=True) == inside).all(), "this test's own rule"
    x, y, e = fa[finite], fb[finite], d[finite]
    want.update(outside=int((~inside).sum()), nan=int(np.isnan(fa).sum()), inf=int(np.isinf(fa).sum()),
                reference_nan=int(np.isnan(fb).sum()), reference_inf=int(np.isinf(fb).sum()),
                nonfinite_pairs=int((~finite).sum()),
                exact=int((e == 0).sum() + inside[~finite].sum()))
    with np.errstate(all="ignore"):
        relative = e / np.abs(y)
        relative[y == 0] = 0
        want.update(max_abs=float(e.max(initial=0)), max_rel=float(relative.max(initial=0)),
                    mean_abs=float(np.sum(e) / e.size) if e.size else 0.0, rmse=float(np.sqrt(np.sum(e * e) / e.size)) if e.size else 0.0)
        scale = math.sqrt(float(np.sum(x * x))) * math.sqrt(float(np.sum(y * y)))
        want["cosine"] = float(np.sum(x * y)) / scale if scale > 0 else NAN
        if rule == "sum":
            need_atol = e - rtol * np.abs(y)
            need_rtol = np.where(e > atol, (e - atol) / np.abs(y), 0)
        else:
            need_atol = np.where(e <= rtol * np.abs(y), 0, e)
            need_rtol = np.where(e > atol, e / np.abs(y), 0)
        want.update(needed_atol=float(max(need_atol.max(initial=0), 0)), needed_rtol=float(need_rtol.max(initial=0)))
        nonzero = e[e > 0]
        decade = np.floor(np.log10(nonzero)).astype(int)
        # log10 rounds: the border decides
        decade[nonzero < np.array([float(f"1e{k}") for k in decade])] -= 1
        decade[nonzero >= np.array([float(f"1e{k + 1}") if k < 300 else INF for k in decade])] += 1
        counts = np.bincount(np.clip(decade + 20, 0, 39), minlength=40)
        want["histogram"] = [{"count": int(c), "from": float(f"1e{i - 20}")} for i, c in enumerate(counts) if c]
    if a.dtype.kind == "f" and a.ndim >= 2 and a.shape[-1] >= 2 and a.size:
        rows_a, rows_b = fa.reshape(-1, a.shape[-1]), fb.reshape(-1, a.shape[-1])
        first = lambda row: 0 if np.isnan(row).all() else int(np.nanargmax(row))  # noqa: E731
        want["argmax_disagreements"] = sum(first(p) != first(q) for p, q in zip(rows_a, rows_b))
        want["argmax_rows"] = len(rows_a)
    if (~inside & ~finite).any():
        want["worst"] = int(np.argmax(~inside & ~finite))
    elif e.size and e.max() > 0:
        want["worst"] = int(np.flatnonzero(finite)[np.argmax(e)])
    return want


def same(key, got, want):
    if isinstance(want, float):
        if got is None:
            return not math.isfinite(want)
        return got == want or math.isclose(got, want, rel_tol=1e-12, abs_tol=1e-15 if key == "cosine" else 0)
    return got == want


def main():
    wrong = checked = 0
    for atol, rtol, rule in ((0, 0, "sum"), (1e-5, 1e-5, "sum"), (1e-3, 0, "either"), (1e-6, 1e-3, "either"), (0.5, 0.1, "sum")):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "pairs.npz"
            arrays = {}
            for name, (a, b, *_rest) in cases().items():
                arrays[name + ".a"], arrays[name + ".b"] = a, b
            np.savez(path, **arrays)
            run = subprocess.run([CHECK, path, repr(atol), repr(rtol), rule], capture_output=True, text=True)
            if run.returncode != 0:
                sys.exit(f"difference_check: exit {run.returncode}: {run.stderr}")
            got = json.loads(run.stdout)
        for name, (a, b, values_a, values_b) in cases().items():
            want = expected(a, b, values_a, values_b, atol, rtol, rule)
            entry = got[name]
            worst = want.pop("worst", None)
            if worst is not None and a.ndim:
                index = [int(i) for i in np.unravel_index(worst, a.shape)]
                if entry.get("worst", {}).get("index") != index:
                    wrong += 1
                    print(f"{name} ({rule} {atol} {rtol}): worst at {entry.get('worst')}, numpy says {index}")
            for key, value in want.items():
                checked += 1
                if not same(key, entry.get(key), value):
                    wrong += 1
                    print(f"{name} ({rule} {atol} {rtol}): {key} is {entry.get(key)!r}, numpy says {value!r}")
            verdict = "undecidable" if not a.size else "fail" if want["outside"] or want.get("nonfinite_pairs") else "pass"
            if entry["verdict"] != verdict:
                wrong += 1
                print(f"{name}: verdict {entry['verdict']}, expected {verdict}")
    print(f"{checked} numbers, {wrong} wrong")
    sys.exit(1 if wrong else 0)


main()
