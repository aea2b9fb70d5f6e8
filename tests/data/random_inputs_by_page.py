#!/usr/bin/env python3
"""Random inputs made a second time by what docs/formats/random-inputs.md says, and compared bit for bit.

random_inputs_by_page.py PATH-OF-random_inputs_dump
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

U64 = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def mix(z):
    z &= U64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & U64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & U64
    return z ^ (z >> 31)


def fnv(name):
    h = 0xCBF29CE484222325
    for b in name.encode():
        h = ((h ^ b) * 0x100000001B3) & U64
    return h


def words(seed, name, sample, count):
    state = mix(mix(mix(seed + GOLDEN) ^ fnv(name)) + (sample + 1) * GOLDEN)
    return [mix(state + (i + 1) * GOLDEN) for i in range(count)]


def below(value, high, kind):
    return np.nextafter(kind(high), kind(-np.inf)) if value >= high else value


def expected(name, seed, sample, count):
    ranged = name.endswith("_range")
    kind = name.removesuffix("_range")
    w = words(seed, name, sample, count)
    if kind.startswith(("float", "bfloat")):
        low, high = (-2.5, 7.25) if ranged else (0.0, 1.0)
        values = [low + (v >> 11) * 2.0**-53 * (high - low) for v in w]
        if kind == "float64":
            return np.array([below(v, high, np.float64) for v in values], np.float64)
        single = np.array(values, np.float64).astype(np.float32)
        if kind == "float32":
            return np.array([below(v, high, np.float32) for v in single], np.float32)
        if kind == "float16":
            return np.array([below(v, high, np.float16) for v in single.astype(np.float16)], np.float16)
        bits = single.view(np.uint32).astype(np.uint64)
        bits = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
        back = (bits.astype(np.uint32) << 16).view(np.float32)
        bits[back >= high] -= 1  # positive: one step down
        return bits
    if kind == "string":
        return np.array([str((v * 10) >> 64) for v in w])
    low, high = (0, 1) if kind == "bool" else (3, 100) if ranged else (0, 9)
    return np.array([low + ((v * (high - low + 1)) >> 64) for v in w], np.dtype(kind))


def main():
    compared = 0
    for seed in (0, 1, 20261130, U64):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.argv[1], folder, str(seed), "3"], check=True)
            for sample in range(3):
                arrays = np.load(pathlib.Path(folder) / f"{sample}.npz")
                assert len(arrays.files) == 26, arrays.files
                for name in arrays.files:
                    got = arrays[name]
                    assert got.shape == (3, 341), (name, got.shape)
                    got = got.ravel()
                    if got.dtype.kind == "V":
                        got = got.view(np.uint16)
                    want = expected(name, seed, sample, got.size)
                    if not np.array_equal(got, want):
                        at = int(np.flatnonzero(got != want)[0])
                        sys.exit(f"seed {seed}, sample {sample}, {name}: element {at} is {got[at]!r}, by the page {want[at]!r}")
                    compared += got.size
    print(f"{compared} elements equal")


main()
