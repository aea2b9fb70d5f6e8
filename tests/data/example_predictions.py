"""examples/parts-inspection through `requal infer`: the golden detections of both PyTorch checkpoints, pictures drawn, and mAP50 on the test
part (its first 60 pictures; all 420 with CI_FULL=1).
example_predictions.py REQUAL"""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image

example = os.path.join(os.environ["REQUAL_SOURCE_DIR"], "examples/parts-inspection")
folder = tempfile.mkdtemp(prefix="requal-example-")
listed = json.load(open(f"{example}/golden/samples.json"))["samples"]

# a data set of the golden samples only
with open(f"{example}/data/test.json") as file:
    labels = json.load(file)
wanted = [sample["source"] for sample in listed]
labels["images"] = [image for image in labels["images"] if image["file_name"] in wanted]
ids = {image["id"] for image in labels["images"]}
labels["annotations"] = [a for a in labels["annotations"] if a["image_id"] in ids]
with open(f"{folder}/part.json", "w") as file:
    json.dump(labels, file)


def infer(*options, model="parts.onnx", inputs=("part.json", "data/test"), status=0):
    command = [sys.argv[1], "infer", f"{example}/{model}", "--inputs", f"{folder}/{inputs[0]}", "--images", f"{example}/{inputs[1]}",
               "--preprocess", f"{example}/preprocess.yaml", "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    return json.loads(done.stdout)


def strong(rows):
    """But for scores beside the threshold."""
    return sorted((r["image_id"], r["category_id"], *r["bbox"], r["score"]) for r in rows if r["score"] > 0.05)


for model, golden in (("parts.onnx", "golden"), ("parts-se.onnx", "golden-se")):
    outputs = f"{folder}/outputs-{golden}"
    document = infer("--decode", f"{example}/decoder.yaml", "--predictions", f"{folder}/found.json", "--draw", f"{folder}/drawn",
                     "--save", outputs, model=model)
    with open(f"{folder}/found.json", "rb") as file:
        text = file.read()
    found = json.loads(text)
    assert document["predictions"]["digest"] == "sha256:" + hashlib.sha256(text).hexdigest()
    assert document["predictions"]["count"] == len(found) and document["inputs"]["kind"] == "pictures"
    # the same preprocessed bytes as the PyTorch pipeline had
    saved = {s["name"]: s for s in json.load(open(f"{outputs}/samples.json"))["samples"]}
    for sample in json.load(open(f"{example}/{golden}/samples.json"))["samples"]:
        name = sample["name"]
        assert saved[name]["inputs_digest"] == sample["inputs_digest"], f"{name}: other input bytes than the golden"
        golden_head = np.load(f"{example}/{golden}/{sample['file']}")["output0"]
        head = np.load(f"{outputs}/{saved[name]['file']}")["output0"]
        assert np.allclose(head, golden_head, rtol=1e-3, atol=2e-2), (name, np.abs(head - golden_head).max())
    ours, theirs = strong(found), strong(json.load(open(f"{example}/{golden}/detections.json")))
    assert len(ours) == len(theirs) > 10, (len(ours), len(theirs))
    for a, b in zip(ours, theirs):
        assert a[:2] == b[:2] and np.allclose(a[2:6], b[2:6], atol=0.05) and abs(a[6] - b[6]) < 1e-3, (a, b)
    print(f"{model}: {len(ours)} detections are the checkpoint's")
drawn = sorted(os.listdir(f"{folder}/drawn"))
assert drawn == sorted(name + ".png" for name in wanted)
first = np.asarray(Image.open(f"{folder}/drawn/{drawn[0]}"))
original = np.asarray(Image.open(f"{example}/data/test/{drawn[0][:-4]}"))
assert first.shape == original.shape and 50 < (first != original).any(-1).sum() < first.shape[0] * first.shape[1] / 2

# task quality of both variants
with open(f"{example}/data/test.json") as file:
    labels = json.load(file)
labels["images"] = labels["images"][:420 if os.environ.get("CI_FULL") else 60]
ids = {image["id"] for image in labels["images"]}
labels["annotations"] = [a for a in labels["annotations"] if a["image_id"] in ids]
with open(f"{folder}/some.json", "w") as file:
    json.dump(labels, file)
for model in ("parts.onnx", "parts-se.onnx"):
    infer("--decode", f"{example}/decoder.yaml", "--predictions", f"{folder}/found.json", model=model, inputs=("some.json", "data/test"))
    done = subprocess.run([sys.argv[1], "evaluate", "--task", "detection", "--annotations", f"{folder}/some.json", "--predictions",
                           f"{folder}/found.json", "--bootstrap", "0", "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    overall = json.loads(done.stdout)["overall"]["metrics"]
    print(f"{model}: mAP50 {overall['ap50']['value']:.3f}, mAP50-95 {overall['ap50_95']['value']:.3f} on {len(ids)} pictures")
    assert overall["ap50"]["value"] >= 0.85, overall["ap50"]


def refused(words, spec, *options, status=2):
    with open(f"{folder}/spec.yaml", "w") as file:
        file.write("schema: preprocess/1\n" + spec)
    done = subprocess.run([sys.argv[1], "infer", f"{example}/parts.onnx", "--inputs", f"{example}/data/test/test-0000.jpg",
                           "--preprocess", f"{folder}/spec.yaml", *options], capture_output=True, text=True)
    assert done.returncode == status and words in done.stderr and not os.path.exists(f"{folder}/none.json"), (done.returncode, done.stderr)


letterbox = "resize: {mode: letterbox, width: 320, height: 320}\n"
refused("wants float32", letterbox + "type: uint8\n")
refused("is 1x3x320x320", letterbox + "layout: NHWC\n")
refused("is 1x3x320x320", "resize: {mode: letterbox, width: 640, height: 640}\n")
refused("is 1x3x320x320", letterbox + "decode: {colour: grey}\n")
refused("no input 'picture'", letterbox + "input: picture\n")
with open(f"{folder}/decoder.yaml", "w") as file:
    file.write("schema: decoder/1\nkind: yolov8\ncategory_ids: [1, 2]\n")
refused("has 5 classes", letterbox, "--decode", f"{folder}/decoder.yaml", "--predictions", f"{folder}/none.json")
refused("goes nowhere".replace("goes", "go"), letterbox, "--decode", f"{folder}/decoder.yaml")
# a picture that is cut off, and one that is not there: named, and no results are left behind
os.makedirs(f"{folder}/bad")
for name in ("test-0000.jpg", "test-0001.jpg"):
    with open(f"{example}/data/test/{name}", "rb") as file:
        data = file.read()
    with open(f"{folder}/bad/{name}", "wb") as file:
        file.write(data if name == "test-0000.jpg" else data[:5000])
with open(f"{folder}/bad/labels.json", "w") as file:
    json.dump({"images": [{"id": 1, "file_name": "nothing.jpg", "width": 400, "height": 300}], "annotations": [],
               "categories": [{"id": 1, "name": "bolt"}]}, file)
for inputs, words in ((f"{folder}/bad", "test-0001.jpg: the JPEG is damaged"), (f"{folder}/bad/labels.json", "nothing.jpg: cannot open"),
                      (f"{example}/dataset.yaml", "its parts: train, validation, calibration, test"),
                      (f"{example}/dataset.yaml --part train", "is a list of digests; its pictures are elsewhere")):
    done = subprocess.run([sys.argv[1], "infer", f"{example}/parts.onnx", "--inputs", *inputs.split(" "), "--preprocess",
                           f"{example}/preprocess.yaml", "--decode", f"{example}/decoder.yaml", "--predictions", f"{folder}/none.json"],
                          capture_output=True, text=True)
    assert done.returncode == 2 and words in done.stderr and not os.path.exists(f"{folder}/none.json"), done.stderr
shutil.rmtree(folder)
print("contradicting specs were refused")
