"""An npz with labels through `requal infer`: its rows, by name, and class scores in COCO results JSON.    labelled_arrays.py REQUAL"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

folder = tempfile.mkdtemp(prefix="requal-arrays-")
rng = np.random.default_rng(5)
weights = rng.standard_normal((12, 3)).astype(np.float32)
graph = helper.make_graph(
    [helper.make_node("Flatten", ["x"], ["flat"], name="flatten"), helper.make_node("MatMul", ["flat", "w"], ["logits"], name="matmul")],
    "classifier", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 2, 2])],
    [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 3])], [numpy_helper.from_array(weights, "w")])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), f"{folder}/model.onnx")
x = rng.random((5, 3, 2, 2), np.float32)
labels = np.array([0, 2, 1, 1, 0])
names = np.array(["east", "west", "north", "south", "up"])
with open(f"{folder}/decoder.yaml", "w") as file:
    file.write("schema: decoder/1\nkind: classification\nclasses: [a, b, c]\nactivation: softmax\ntop: 3\nthreshold: 0\n")
with open(f"{folder}/dataset.yaml", "w") as file:
    file.write("schema: dataset/1\ntask: classification\nclasses: [a, b, c]\nparts:\n  test: {annotations: set.npz}\n")


def infer(*options, status=0, words=""):
    done = subprocess.run([sys.argv[1], "infer", "model.onnx", "--json", *options], capture_output=True, text=True, cwd=folder)
    assert done.returncode == status and words in done.stdout + done.stderr, (done.returncode, done.stdout, done.stderr)
    return json.loads(done.stdout)


def scores_of(rows):
    logits = rows.reshape(len(rows), -1) @ weights
    e = np.exp(logits - logits.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


np.savez(f"{folder}/set.npz", labels=labels, names=names, x=x)
for inputs in (("--inputs", "set.npz"), ("--inputs", "dataset.yaml", "--part", "test"), ("--inputs", "dataset.yaml")):
    document = infer(*inputs, "--decode", "decoder.yaml", "--predictions", "found.json", "--save", "outputs", "--force")
    assert document["inputs"]["kind"] == "labelled-npz" and document["samples"] == 5, document["inputs"]
    saved = json.load(open(f"{folder}/outputs/samples.json"))["samples"]
    assert [s["name"] for s in saved] == list(names), saved
    found = json.load(open(f"{folder}/found.json"))
    assert document["predictions"]["count"] == len(found) == 15
    got = np.zeros((5, 3))
    for row in found:
        assert set(row) == {"image_id", "category_id", "score"}, row
        got[row["image_id"] - 1, row["category_id"]] = row["score"]
    assert np.allclose(got, scores_of(x), atol=1e-6), np.abs(got - scores_of(x)).max()

# rows without the axis of the batch in the array; a stack with it
np.savez(f"{folder}/stacked.npz", labels=labels, x=x[:, None])
assert infer("--inputs", "stacked.npz")["samples"] == 5

infer("--inputs", "set.npz", "--part", "other", status=2, words="no part 'other'")
infer("--inputs", "set.npz", "--decode", "decoder.yaml", status=2, words="go nowhere")
infer("--inputs", "set.npz", "--draw", "drawn", "--decode", "decoder.yaml", status=2, words="is for pictures")
with open(f"{folder}/boxes.yaml", "w") as file:
    file.write("schema: decoder/1\nkind: yolov8\nclasses: [a, b, c]\n")
infer("--inputs", "set.npz", "--decode", "boxes.yaml", "--predictions", "none.json", status=2, words="boxes, which lie in a picture")
for arrays, words in [({"x": x[:4]}, "where there are 5 labels"), ({"x": x.astype(np.float64)}, "float64 where"),
                      ({"x": x[:, :2]}, "where the model wants"), ({"y": x}, "is no input of the model"), ({}, "no array for the model's input")]:
    np.savez(f"{folder}/bad.npz", labels=labels, **arrays)
    infer("--inputs", "bad.npz", status=2, words=words)
np.savez(f"{folder}/bad.npz", labels=labels, names=np.array(["a", "b", "c", "d", "a"]), x=x)
infer("--inputs", "bad.npz", status=2, words="given twice")
np.savez(f"{folder}/set.npz", labels=np.array([0, 1, 2, 3, 0]), x=x)
infer("--inputs", "dataset.yaml", status=2, words="label 3 is no class")
assert not os.path.exists(f"{folder}/none.json")
shutil.rmtree(folder)
print("the rows of a labelled npz gave numpy's scores")
