"""numpy writes arrays, npz_echo reads and writes them, numpy reads them back: they must be equal.

numpy_interop.py NPZ_ECHO
"""

import os
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

echo = sys.argv[1]
arrays = {}
random = np.random.default_rng(7)
for code in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "c8", "c16", "b1"):
    for order in "<>":
        for layout in "CF":
            for shape in ((), (5,), (3, 4), (2, 3, 4, 5), (0, 2), (1, 1, 1)):
                values = random.integers(0, 2 if code == "b1" else 100, shape)
                if code[0] in "fc":
                    values = values / 7
                name = f"{code}{'be' if order == '>' else ''}{layout}/{'x'.join(map(str, shape))}"
                arrays[name] = np.array(values).astype(order + code).copy(order=layout)
arrays["strided"] = np.arange(60).reshape(3, 4, 5)[::2, ::-1, 1:3]
arrays["text"] = np.array([["", "a\0b"], ["Größe", "日本語🙂"]])
arrays["text big"] = arrays["text"].astype(">U9")
arrays["text F"] = np.asfortranarray(arrays["text"])
arrays["bytes"] = np.array([b"", b"\xff\xfe", b"abc"])
arrays["no text"] = np.zeros((0,), "U3")
arrays["zero width"] = np.zeros((2,), "U0")
arrays["Ä/name with spaces"] = np.arange(3)


def check(path):
    with np.load(path, allow_pickle=False) as back:
        assert list(back.files) == list(arrays), "names or their order changed"
        for name, array in arrays.items():
            got = back[name]
            if array.dtype.kind in "US":
                assert got.dtype.kind == array.dtype.kind, (name, got.dtype)
            else:
                assert got.dtype == array.dtype.newbyteorder("<"), (name, got.dtype)
            assert got.shape == array.shape, (name, got.shape)
            assert got.flags.c_contiguous
            assert got.tobytes() == array.astype(got.dtype).tobytes("C"), name
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


with tempfile.TemporaryDirectory() as folder:
    for save in (np.savez, np.savez_compressed):
        source = os.path.join(folder, "in.npz")
        save(source, **arrays)
        for more in ([], ["0"], ["1000"]):
            target = os.path.join(folder, "out.npz")
            subprocess.run([echo, source, target, *more], check=True)
            check(target)
    # written to a pipe: sizes stand after each member (data descriptors)
    piped = os.path.join(folder, "piped.npz")
    with open(piped, "wb") as out:
        read_end, write_end = os.pipe()
        copier = subprocess.Popen(["cat"], stdin=read_end, stdout=out)
        os.close(read_end)
        with os.fdopen(write_end, "wb") as stream:
            np.savez(stream, **arrays)
        copier.wait()
    subprocess.run([echo, piped, target], check=True)
    check(target)
print(len(arrays), "arrays equal")
