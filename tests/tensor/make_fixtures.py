"""Writes the committed files of tests/tensor/data with numpy and ml_dtypes. Run by hand when they should change."""

import io
import os
import sys
import zipfile

import ml_dtypes
import numpy as np

out = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")


def save(name, array, **options):
    np.save(os.path.join(out, name + ".npy"), array, **options)


def version(name, array, number):
    with open(os.path.join(out, name + ".npy"), "wb") as file:
        np.lib.format.write_array(file, array, version=number)


def halves():
    random = np.random.default_rng(1)
    bits = random.integers(0, 1 << 32, 2000, dtype=np.uint64).astype(np.uint32)
    near = (random.integers(0x33000000, 0x47800000, 2000, dtype=np.uint64)).astype(np.uint32)
    # every tie between two halves, and its two neighbours
    half = random.integers(0, 0x7BFF, 300, dtype=np.uint64).astype(np.uint16)
    low = half.view(np.float16).astype(np.float64)
    high = (half + 1).astype(np.uint16).view(np.float16).astype(np.float64)
    tie = ((low + high) / 2).astype(np.float32)
    ties = np.concatenate([tie, np.nextafter(tie, np.float32(0)), np.nextafter(tie, np.float32(1e9))])
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 65504, 65519.996, 65520, 2.0**-24, 2.0**-25, 3e-8], np.float32)
    floats = np.concatenate([bits.view(np.float32), near.view(np.float32), -near[:200].view(np.float32), ties, -ties, special])
    doubles = np.concatenate([tie.astype(np.float64) * (1 + d) for d in (0, 1e-12, -1e-12)])
    with np.errstate(all="ignore"):
        np.savez_compressed(
            os.path.join(out, "halves.npz"),
            floats=floats,
            float16=floats.astype(np.float16),
            bfloat16=floats.astype(ml_dtypes.bfloat16),
            doubles=doubles,
            doubles_float16=doubles.astype(np.float16),
        )


def main():
    os.makedirs(out, exist_ok=True)
    grid = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    save("f4", grid)
    save("f4_big", grid.astype(">f4"))
    save("f4_fortran", np.asfortranarray(grid))
    save("i2_big_fortran", np.asfortranarray(np.arange(-12, 12).reshape(2, 3, 4).astype(">i2")))
    save("c8_big", np.array([1 + 2j, -3.5 - 4j], dtype=">c8"))
    save("f2", np.array([0, 1.5, -65504, np.inf, 6e-8], dtype=np.float16))
    save("b1", np.array([[True, False], [False, True]]))
    save("empty", np.zeros((0, 3), np.int64))
    save("zero_d", np.array(7, np.int64))
    save("unicode", np.array(["", "abc", "Grüße", "日本", "🙂"]))
    save("unicode_big", np.array(["ab", "é"]).astype(">U2"))
    save("bytes", np.array([b"ab", b"", b"\xff\x00x"]))
    save("bf16", np.array([1, -2.5, 3e38], dtype=ml_dtypes.bfloat16))
    version("version2", grid, (2, 0))
    version("version3", grid, (3, 0))
    save("object", np.array([1, "a"], dtype=object), allow_pickle=True)
    save("record", np.zeros(2, dtype=[("x", "<f4"), ("y", "<i4")]))
    save("datetime", np.array(["2020-01-01"], dtype="datetime64[D]"))
    np.savez(os.path.join(out, "stored.npz"), **{"x": grid, "/conv/out 1": np.arange(5), "name": np.array(["one", "two"])})
    np.savez_compressed(os.path.join(out, "deflated.npz"), zeros=np.zeros((100, 100), np.float32), x=grid)
    # sizes and offsets in their zip64 form although they are small, as a streaming writer makes them
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        with archive.open(zipfile.ZipInfo("x.npy", (1980, 1, 1, 0, 0, 0)), "w", force_zip64=True) as member:
            np.save(member, grid)
        archive.writestr(zipfile.ZipInfo("notes.txt", (1980, 1, 1, 0, 0, 0)), "no array")
    with open(os.path.join(out, "zip64_local.npz"), "wb") as file:
        file.write(target.getvalue())
    halves()


if __name__ == "__main__":
    sys.exit(main())
