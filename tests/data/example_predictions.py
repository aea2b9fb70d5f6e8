"""examples/parts-inspection through `requal infer`: the PyTorch checkpoint's golden detections, and pictures drawn.
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
golden = json.load(open(f"{example}/golden/detections.json"))
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


def infer(*options, status=0):
    command = [sys.argv[1], "infer", f"{example}/parts.onnx", "--inputs", f"{folder}/part.json", "--images", f"{example}/data/test",
               "--preprocess", f"{example}/preprocess.yaml", "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    return json.loads(done.stdout)


document = infer("--decode", f"{example}/decoder.yaml", "--predictions", f"{folder}/found.json", "--draw", f"{folder}/drawn",
                 "--save", f"{folder}/outputs")
found = json.load(open(f"{folder}/found.json"))
assert document["predictions"]["count"] == len(found) and document["inputs"]["kind"] == "pictures"
with open(f"{folder}/found.json", "rb") as file:
    assert document["predictions"]["digest"] == "sha256:" + hashlib.sha256(file.read()).hexdigest()

# the same preprocessed bytes as the PyTorch pipeline had
saved = {s["name"]: s for s in json.load(open(f"{folder}/outputs/samples.json"))["samples"]}
for sample in listed:
    assert saved[sample["name"]]["inputs_digest"] == sample["inputs_digest"], f"{sample['name']}: other input bytes than the golden"
    golden_head = np.load(f"{example}/golden/{sample['file']}")["output0"]
    head = np.load(f"{folder}/outputs/{saved[sample['name']]['file']}")["output0"]
    assert np.allclose(head, golden_head, rtol=1e-3, atol=2e-2), (sample["name"], np.abs(head - golden_head).max())
# the same detections, but for scores beside the threshold
strong = lambda rows: sorted((r["image_id"], r["category_id"], *r["bbox"], r["score"]) for r in rows if r["score"] > 0.05)
ours, theirs = strong(found), strong(golden)
assert len(ours) == len(theirs) > 20, (len(ours), len(theirs))
for a, b in zip(ours, theirs):
    assert a[:2] == b[:2] and np.allclose(a[2:6], b[2:6], atol=0.05) and abs(a[6] - b[6]) < 1e-3, (a, b)
drawn = sorted(os.listdir(f"{folder}/drawn"))
assert drawn == sorted(name + ".png" for name in wanted)
first = np.asarray(Image.open(f"{folder}/drawn/{drawn[0]}"))
original = np.asarray(Image.open(f"{example}/data/test/{drawn[0][:-4]}"))
assert first.shape == original.shape and 50 < (first != original).any(-1).sum() < first.shape[0] * first.shape[1] / 2


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
shutil.rmtree(folder)
print(f"{len(ours)} detections are the checkpoint's")
