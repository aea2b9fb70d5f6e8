"""Pictures, specs and data sets that are damaged, hostile or odd: each is refused in words, or does what its rule says; nothing
crashes.    odd_data.py DATA_PROBE REQUAL"""
import io
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy as np
from PIL import Image

from probe import Probe

probe, requal = Probe(sys.argv[1]), sys.argv[2]
folder = tempfile.mkdtemp(prefix="requal-odd-")
rng = np.random.default_rng(3)
out = os.path.join(folder, "out.npy")
base = Image.fromarray(rng.integers(0, 256, (40, 60, 3), dtype=np.uint8))


def path_of(name, data=None):
    path = os.path.join(folder, name)
    if data is not None:
        with open(path, "wb") as file:
            file.write(data)
    return path


def encoded(image, **options):
    buffer = io.BytesIO()
    image.save(buffer, **options)
    return buffer.getvalue()


def refused(words, *job):
    good, text = probe(*job)
    assert not good and text.startswith("input\t") and words in text, (job, text)


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def bomb(width, height):
    ihdr = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", ihdr) + chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b"")


def pictures():
    jpeg, png = encoded(base, format="JPEG"), encoded(base, format="PNG")
    for name, data, words in [
        ("empty.jpg", b"", "empty"),
        ("text.jpg", b"this is no picture at all", "no picture"),
        ("cut.jpg", jpeg[:len(jpeg) // 2], "damaged"),
        ("head.jpg", jpeg[:30], ""),
        ("corrupt.jpg", jpeg[:400] + bytes(rng.integers(0, 255, 300, dtype=np.uint8)) + jpeg[700:], "damaged"),
        ("cut.png", png[:len(png) // 2], "damaged"),
        ("corrupt.png", png[:60] + b"\xff" * 40 + png[100:], "damaged"),
        ("crc.png", png[:20] + b"\x01" + png[21:], ""),
        ("bomb.png", bomb(60000, 60000), "more than the limit"),
        ("wide.png", bomb(0x7fffffff, 0x7fffffff), ""),
        ("bomb.jpg", jpeg.replace(struct.pack(">HH", 40, 60), struct.pack(">HH", 65000, 65000)), "more than the limit"),
        ("cmyk.jpg", encoded(base.convert("CMYK"), format="JPEG"), "CMYK"),
        ("moving.gif", encoded(base, format="GIF", save_all=True, append_images=[base]), "GIF"),
        ("moving.png", encoded(base, format="PNG", save_all=True, append_images=[base.transpose(0)]), "animated"),
        ("picture.webp", encoded(base, format="WEBP"), "WebP"),
        ("picture.bmp", encoded(base, format="BMP"), "BMP"),
        ("picture.tif", encoded(base, format="TIFF"), "TIFF"),
    ]:
        refused(words, "pixels", path_of(name, data), out)
    refused("", "pixels", path_of("missing.jpg"), out)
    refused("", "pixels", folder, out)
    # every prefix of a file is refused, none crashes
    for size in range(0, len(jpeg) - 2, 37):
        refused("", "pixels", path_of("prefix.jpg", jpeg[:size]), out)
    for size in range(0, len(png) - 12, 211):
        refused("", "pixels", path_of("prefix.png", png[:size]), out)
    levels = rng.integers(0, 65536, (9, 8), dtype=np.uint16)
    deep = path_of("deep.png", encoded(Image.fromarray(levels), format="PNG"))
    refused("16 bits", "pixels", deep, out)
    spec = path_of("deep.yaml", b"schema: preprocess/1\ndecode: {sixteen_bit: high-byte}\n")
    good, text = probe("preprocess", spec, deep, out)
    assert good and np.array_equal(np.load(out)[0], np.stack([levels >> 8] * 3)), text
    turned = Image.Exif()
    turned[0x0112] = 6
    turned = path_of("turned.jpg", encoded(base, format="JPEG", exif=turned))
    for rule, shape in (("apply", (1, 3, 60, 40)), ("ignore", (1, 3, 40, 60)), ("refuse", None)):
        spec = path_of("exif.yaml", f"schema: preprocess/1\ndecode: {{exif: {rule}}}\n".encode())
        if shape is None:
            refused("EXIF", "preprocess", spec, turned, out)
            continue
        good, text = probe("preprocess", spec, turned, out)
        assert good and np.load(out).shape == shape, (rule, text)
    alpha = path_of("alpha.png", encoded(base.convert("RGBA"), format="PNG"))
    refused("alpha", "preprocess", path_of("alpha.yaml", b"schema: preprocess/1\ndecode: {alpha: refuse}\n"), alpha, out)


def specs():
    picture = path_of("fine.png", encoded(base, format="PNG"))
    for text, words in [
        ("schema: preprocess/2", "not a preprocessing spec"),
        ("resize: {mode: none}", "schema"),
        ("schema: preprocess/1\nresize: {mode: letterbox, width: 10}", "height"),
        ("schema: preprocess/1\nresize: {mode: letterbox, width: 0, height: 9}", "between 1 and"),
        ("schema: preprocess/1\nresize: {mode: stretch, width: 9, height: 9, pad: {value: 1}}", "only mode 'letterbox'"),
        ("schema: preprocess/1\nresize: {mode: none, width: 9}", "has no width"),
        ("schema: preprocess/1\nresize: {mode: zoom}", "known: none"),
        ("schema: preprocess/1\nresize: {mode: centre-crop, width: 90, height: 90, short_side: 80}", "smaller than the crop"),
        ("schema: preprocess/1\nresize: {mode: letterbox, width: 9, height: 9, pad: {value: 256}}", "between 0 and 255"),
        ("schema: preprocess/1\nresize: {mode: letterbox, width: 9, height: 9, pad: {value: [1, 2]}}", "2 values for 3"),
        ("schema: preprocess/1\nvalues: {divide: 0}", "other than 0"),
        ("schema: preprocess/1\nvalues: {std: [1, 2]}", "2 values for 3"),
        ("schema: preprocess/1\nvalues: {std: 1e60}", "finite"),
        ("schema: preprocess/1\ntype: uint8\nvalues: {divide: 255}", "as they are"),
        ("schema: preprocess/1\ntype: int64", "not known"),
        ("schema: preprocess/1\nlayout: CHW", "not known"),
        ("schema: preprocess/1\nlayuot: NCHW", "layuot"),
        ("schema: preprocess/1\nrange: [0, 1]", "outside of the range"),
        ("schema: preprocess/1\nrange: [1, 0]", "LOW below HIGH"),
    ]:
        refused(words, "preprocess", path_of("spec.yaml", text.encode() + b"\n"), picture, out)
    thin = path_of("thin.npy")
    np.save(thin, np.zeros((1, 60000, 3), np.uint8))
    refused("sides differ too much", "preprocess",
            path_of("spec.yaml", b"schema: preprocess/1\nresize: {mode: short-side, short_side: 640}\n"), thin, out)


def check(document_or_path, *options, status):
    path = document_or_path
    if not isinstance(path, str):
        path = path_of("set.json", json.dumps(document_or_path).encode())
    done = subprocess.run([requal, "data", "check", path, "--json", *options], capture_output=True, text=True, cwd=folder)
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    return json.loads(done.stdout)


def data_sets():
    images = path_of("images")
    os.makedirs(images, exist_ok=True)
    smooth = Image.fromarray(np.add.outer(np.arange(120), np.arange(160)).astype(np.uint8) // 2 + rng.integers(0, 99, (12, 16), dtype=np.uint8).repeat(10, 0).repeat(10, 1))
    smooth.convert("RGB").save(os.path.join(images, "a.png"))
    for name in ("b.png", "c.png"):
        Image.fromarray(rng.integers(0, 256, (120, 160, 3), dtype=np.uint8)).save(os.path.join(images, name))

    def fresh():
        return {"categories": [{"id": 1, "name": "bolt"}, {"id": 2, "name": "nut"}],
                "images": [{"id": i + 1, "file_name": f"{n}.png", "width": 160, "height": 120, "tags": ["dim"]}
                           for i, n in enumerate("abc")],
                "annotations": [{"id": i + 1, "image_id": i + 1, "category_id": 1 + i % 2, "bbox": [5, 6, 40 + i, 30], "area": 900,
                                 "distance_m": 0.5} for i in range(3)]}

    fine = check(fresh(), "--images", images, status=0)
    assert fine["verdict"] == "pass" and fine["parts"][0]["by_class"] == {"bolt": 2, "nut": 1}, fine
    assert fine["parts"][0]["samples_by_tag"] == {"dim": 3} and fine["parts"][0]["by_size"] == {"small": 3}

    def odd(kind, change, status=1, **expected):
        document = fresh()
        change(document)
        result = check(document, "--images", images, status=status)
        assert kind in result["finding_counts"], (kind, result["finding_counts"])
        for key, value in expected.items():
            assert result[key] == value, (kind, key, result[key])
        return result

    def set_box(box):
        return lambda d: d["annotations"][0].update(bbox=box)

    odd("missing-file", lambda d: d["images"][0].update(file_name="nothing.png"))
    odd("duplicate-id", lambda d: d["images"][1].update(id=1))
    odd("duplicate-id", lambda d: d["annotations"][1].update(id=1), errors=1)
    odd("duplicate-id", lambda d: d["categories"][1].update(id=1))
    odd("duplicate-name", lambda d: d["images"][1].update(file_name="a.png"))
    odd("annotation-without-picture", lambda d: d["annotations"][0].update(image_id=77), errors=1)
    odd("unknown-category", lambda d: d["annotations"][0].update(category_id=9), errors=1)
    odd("box-outside", set_box([200, 6, 40, 30]), errors=1)
    odd("box-over-edge", set_box([140, 6, 40, 30]), status=0, errors=0, warnings=1)
    odd("box-no-area", set_box([5, 6, 0, 30]), errors=1)
    odd("box-no-area", set_box([5, 6, -4, 30]), errors=1)
    odd("wrong-type", set_box([5, 6, 7]), errors=1)
    odd("wrong-type", set_box("5 6 7 8"), errors=1)
    odd("wrong-type", lambda d: d["annotations"].append(7), errors=1)
    odd("wrong-type", lambda d: d["images"][0].update(width="wide"))
    odd("leaves-folder", lambda d: d["images"][0].update(file_name="../fine.png"))
    odd("leaves-folder", lambda d: d["images"][0].update(file_name="/etc/passwd"))
    odd("size-differs", lambda d: d["images"][0].update(width=161), errors=1)
    odd("digest-differs", lambda d: d["images"][0].update(sha256="0" * 64), errors=1)
    with open(os.path.join(images, "broken.png"), "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\nno")
    odd("not-decodable", lambda d: d["images"][0].update(file_name="broken.png"), errors=1)
    hostile = odd("missing-file", lambda d: d["images"][0].update(file_name="\x1b[31m<b>.png"))
    assert hostile["errors"] == 1

    for text, words in [("[]", "no COCO"), ("{", ""), ('{"images": []}', "categories"), ('{"a": 1, "a": 2}', "")]:
        done = subprocess.run([requal, "data", "check", path_of("bad.json", text.encode())], capture_output=True, text=True)
        assert done.returncode == 2 and words in done.stderr and done.stdout == "", (text, done.stderr)
    parts(images, fresh())


def bounded_memory():
    """Ten times the pictures take no more memory: one a thread is held."""
    import resource

    # freed memory that AddressSanitizer holds back is not the program's
    os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1:thread_local_quarantine_size_kb=64"
    peaks = []
    for count in (12, 120):
        many = path_of(f"many{count}")
        os.makedirs(os.path.join(many, "grey"))
        for i in range(count):
            Image.new("RGB", (900, 900), (i, 2 * i % 256, 9)).save(os.path.join(many, "grey", f"{i}.png"), compress_level=1)
        check(many, "--near", "-1", "--jobs", "2", status=0)
        peaks.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
    # all of them would be 290 MB
    assert peaks[1] - peaks[0] < 16 * 1024, peaks


def parts(images, document):
    """Parts by list files; the same file and the same look in two parts."""
    import hashlib

    set_folder = path_of("set")
    os.makedirs(set_folder, exist_ok=True)
    shutil.copytree(images, os.path.join(set_folder, "images"), dirs_exist_ok=True)
    pictures_folder = os.path.join(set_folder, "images")
    Image.open(os.path.join(pictures_folder, "a.png")).save(os.path.join(pictures_folder, "again.jpg"), quality=70)
    shutil.copy(os.path.join(pictures_folder, "b.png"), os.path.join(pictures_folder, "copy.png"))
    for number, name in enumerate(("again.jpg", "copy.png")):
        document["images"].append({"id": 10 + number, "file_name": name, "width": 160, "height": 120})
    with open(os.path.join(set_folder, "labels.json"), "w") as file:
        json.dump(document, file)

    def write_list(name, files, change=lambda text: text):
        text = "".join(f"{hashlib.sha256(open(os.path.join(pictures_folder, f), 'rb').read()).hexdigest()}  {f}\n" for f in files)
        with open(os.path.join(set_folder, name), "w") as file:
            file.write(change(text))

    with open(os.path.join(set_folder, "dataset.yaml"), "w") as file:
        file.write("schema: dataset/1\nparts:\n"
                   "  train: {annotations: labels.json, images: images, list: train.txt}\n"
                   "  test: {annotations: labels.json, images: images, list: test.txt}\n"
                   "attributes:\n  distance_m: [0.4, 0.8]\n")
    spec = os.path.join(set_folder, "dataset.yaml")
    write_list("train.txt", ["a.png", "b.png"])
    write_list("test.txt", ["c.png"])
    result = check(spec, status=0)
    assert [p["samples"] for p in result["parts"]] == [2, 1] and result["overlaps"] == []
    assert result["parts"][0]["by_class_and_band"]["distance_m"] == {"bolt": {"0.4-0.8": 1}, "nut": {"0.4-0.8": 1}}
    write_list("test.txt", ["c.png", "b.png"])
    assert "parts-overlap" in check(spec, status=1)["finding_counts"]
    write_list("test.txt", ["c.png", "copy.png"])  # another name, the same bytes
    assert check(spec, status=1)["overlaps"][0]["how"] == "digest"
    write_list("test.txt", ["c.png", "again.jpg"])  # encoded again
    alike = check(spec, status=0)
    assert "parts-look-alike" in alike["finding_counts"] and alike["overlaps"][0]["how"] == "look", alike
    assert check(spec, "--near", "-1", status=0)["overlaps"] == []
    listed_parts(set_folder, write_list)
    write_list("test.txt", ["c.png"], lambda text: "0" * 64 + text[64:])
    assert "digest-differs" in check(spec, status=1)["finding_counts"]
    write_list("test.txt", ["c.png"], lambda text: text.replace("c.png", "d.png"))
    assert "listed-without-labels" in check(spec, status=1)["finding_counts"]
    for change in (lambda text: text + text, lambda text: "no list", lambda text: ""):
        write_list("test.txt", ["c.png"], change)
        done = subprocess.run([requal, "data", "check", spec], capture_output=True, text=True)
        assert done.returncode == 2 and "test.txt" in done.stderr, done.stderr
    for text, words in [("schema: dataset/1\nparts: {t: {annotations: ../x.json, images: .}}", "stay in its folder"),
                        ("schema: dataset/1\nparts: {}", "no part"),
                        ("schema: dataset/1\ntask: guess\nparts: {}", "known: detection"),
                        ("schema: dataset/1\nparts: {t: {images: .}}", "annotations"),
                        ("schema: dataset/1\nparts: {t: {annotations: a.json, images: .}}\nattributes: {d: [2, 1]}", "ascending")]:
        bad = path_of("bad.yaml", text.encode() + b"\n")
        done = subprocess.run([requal, "data", "check", bad], capture_output=True, text=True)
        assert done.returncode == 2 and words in done.stderr, (text, done.stderr)
    classification(set_folder, pictures_folder)


def listed_parts(set_folder, write_list):
    """A part of which only a list of digests is here keeps other parts apart from it, and a part inside of it is all from it."""
    spec = os.path.join(set_folder, "listed.yaml")

    def write_spec(within):
        with open(spec, "w") as file:
            file.write("schema: dataset/1\nparts:\n  train: {list: elsewhere.txt}\n"
                       f"  calibration: {{annotations: labels.json, images: images, list: calibration.txt{within}}}\n"
                       "  test: {annotations: labels.json, images: images, list: test.txt}\n")

    write_spec(", within: train")
    write_list("calibration.txt", ["a.png"])
    write_list("test.txt", ["c.png"])
    other_names = lambda text: text.replace("a.png", "drawn-1.png").replace("b.png", "drawn-2.png").replace("c.png", "drawn-3.png")
    write_list("elsewhere.txt", ["a.png", "b.png"], other_names)
    for options in ((), ("--labels-only",)):
        fine = check(spec, *options, status=0)
        assert fine["overlaps"] == [] and fine["errors"] == 0, fine
        train, calibration, _ = fine["parts"]
        assert train["listed_only"] and train["samples"] == 2 and calibration["within"] == "train" and not calibration["listed_only"]
    write_list("elsewhere.txt", ["a.png", "c.png"], other_names)  # a test picture, under another name, was trained on
    for options in ((), ("--labels-only",)):
        result = check(spec, *options, status=1)
        assert result["finding_counts"] == {"parts-overlap": 1, **({"empty-class": 2} if "empty-class" in result["finding_counts"] else {})}
        assert result["overlaps"][0]["first"] == {"part": "train", "path": "drawn-3.png"}, result["overlaps"]
    write_list("elsewhere.txt", ["b.png"], other_names)
    assert check(spec, status=1)["finding_counts"]["not-within"] == 1
    write_list("elsewhere.txt", ["a.png", "b.png"], other_names)
    write_spec("")  # nobody said that calibration is some of train
    assert check(spec, status=1)["finding_counts"]["parts-overlap"] == 1
    for within in ("calibration", "nothing"):
        write_spec(f", within: {within}")
        done = subprocess.run([requal, "data", "check", spec], capture_output=True, text=True)
        assert done.returncode == 2 and "is no other part" in done.stderr, done.stderr


def classification(set_folder, pictures_folder):
    classes = os.path.join(set_folder, "classes")
    for name, picture in (("good", "b.png"), ("bad", "c.png")):
        os.makedirs(os.path.join(classes, name), exist_ok=True)
        shutil.copy(os.path.join(pictures_folder, picture), os.path.join(classes, name))
    result = check(classes, status=0)
    assert result["parts"][0]["by_class"] == {"bad": 1, "good": 1}, result
    csv = path_of("set.csv", b"file,class,tags,distance_m\nb.png,good,dim noisy,0.5\nc.png,bad,,1.5\n")
    result = check(csv, "--images", pictures_folder, status=0)
    assert result["parts"][0]["samples_by_tag"] == {"dim": 1, "noisy": 1}
    csv = path_of("set.csv", b"file,class\nb.png,good\nb.png,bad\n../b.png,good\nc.png\n")
    kinds = check(csv, "--images", pictures_folder, status=1)["finding_counts"]
    assert {"duplicate-name", "leaves-folder", "wrong-type"} <= set(kinds), kinds
    npz = path_of("set.npz")
    np.savez(npz, labels=np.array([0, 1, 1]), x=np.zeros((3, 4), np.float32))
    assert check(npz, status=0)["parts"][0]["by_class"] == {"0": 1, "1": 2}
    np.savez(npz, labels=np.array([0.5]))
    assert subprocess.run([requal, "data", "check", npz], capture_output=True).returncode == 2


pictures()
specs()
data_sets()
bounded_memory()
shutil.rmtree(folder)
print("every odd picture, spec and data set was refused or reported in words")
