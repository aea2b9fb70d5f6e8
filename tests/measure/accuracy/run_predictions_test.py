"""`requal evaluate` on runnables: the example's detector on some of its pictures, interrupted and gone on with.

run_predictions_test.py REQUAL
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper
from PIL import Image

SOURCE = pathlib.Path(os.environ.get("REQUAL_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[3]))
EXAMPLE = SOURCE / "examples/parts-inspection"
PICTURES = 60


def command(program, folder, *more, decoder=EXAMPLE / "decoder.yaml"):
    return [program, "evaluate", "--task", "detection", "--annotations", folder / "some.json", "--images", EXAMPLE / "data/test",
            "--candidate", f"{EXAMPLE}/parts.onnx@onnxruntime:cpu", "--preprocess", EXAMPLE / "preprocess.yaml", "--decoder", decoder,
            "--bootstrap", "20", "--json", "--no-progress", *more]


def run(*arguments, status=0, **options):
    done = subprocess.run(command(*arguments, **options), capture_output=True, text=True, check=False)
    assert done.returncode == status, (done.returncode, done.stderr)
    return json.loads(done.stdout)


def interrupted(program, folder, save):
    """True when a run was stopped with some pictures done."""
    with subprocess.Popen(command(program, folder, "--save", save), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        partial = save / "candidate.partial"
        while process.poll() is None:
            if partial.exists() and partial.read_bytes().count(b"\n") > 3:
                process.send_signal(signal.SIGINT)
                break
            time.sleep(0.002)
        process.communicate()
        return process.returncode == 5 and partial.exists()


def other_tasks(program, folder):
    """A classifier, a segmenter and an anomaly detector that read colours off 8 x 8 pictures: what they must say is known."""
    rng = np.random.default_rng(1)
    small = np.zeros((3, 3), np.float32)
    small[0, 0] = small[1, 1] = small[2, 2] = 1

    def model(name, nodes, shape):
        graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / f"{name}.onnx")

    # scores: mean of each channel; labels: the brightest channel of a cell; anomaly: the mean of the channels
    model("class", [helper.make_node("ReduceMean", ["x"], ["y"], axes=[2, 3], keepdims=0)], [1, 3])
    model("label", [helper.make_node("Identity", ["x"], ["y"])], [1, 3, 8, 8])
    model("heat", [helper.make_node("ReduceMean", ["x"], ["y"], axes=[1], keepdims=1)], [1, 1, 8, 8])
    (folder / "preprocess.yaml").write_text("schema: preprocess/1\ninput: x\ndecode: {colour: rgb, exif: apply}\n"
                                            "resize: {mode: stretch, width: 8, height: 8, interpolation: nearest}\n"
                                            "values: {divide: 255}\nlayout: NCHW\ntype: float32\n")
    pictures = folder / "pictures"
    pictures.mkdir()
    names, classes, labels, masks = [], [], {}, {}
    for i in range(12):
        cells = rng.integers(0, 3, (8, 8))
        pixels = np.zeros((8, 8, 3), np.uint8)
        pixels[np.arange(8)[:, None], np.arange(8)[None], cells] = 200
        pixels[:, :, i % 3] += 40  # the class
        pixels = pixels.repeat(4, 0).repeat(2, 1)  # 16 x 32
        Image.fromarray(pixels).save(pictures / f"p{i}.png")
        names.append(f"p{i}.png")
        classes.append("rgb"[i % 3])
        labels[f"p{i}"] = cells.repeat(4, 0).repeat(2, 1).astype(np.uint8)
        masks[f"masks/p{i}"] = (labels[f"p{i}"] == i % 3).astype(np.uint8) * (i % 2)
    (pictures / "labels.csv").write_text("file,class\n" + "".join(f"{n},{c}\n" for n, c in zip(names, classes)))
    np.savez(folder / "labels.npz", **labels)
    np.savez(folder / "masks.npz", **masks)

    def evaluate(task, annotations, name, decoder, *more, status=0, save=None):
        (folder / f"{task}.yaml").write_text("schema: decoder/1\n" + decoder)
        images = [] if task == "classification" else ["--images", pictures]
        done = subprocess.run([program, "evaluate", "--task", task, "--annotations", annotations, *images, "--candidate",
                               f"{folder}/{name}.onnx@onnxruntime:cpu", "--preprocess", folder / "preprocess.yaml", "--decoder",
                               folder / f"{task}.yaml", "--bootstrap", "20", "--json", "--no-progress", "--save", save or folder / task, *more],
                              capture_output=True, text=True, check=False)
        assert done.returncode == status, (done.returncode, done.stderr)
        return json.loads(done.stdout)

    (folder / "dataset.yaml").write_text("schema: dataset/1\ntask: classification\nclasses: [r, g, b]\nparts:\n"
                                         "  test: {annotations: pictures/labels.csv, images: pictures}\n")
    document = evaluate("classification", folder / "dataset.yaml", "class", "kind: classification\nclasses: [b, g, r]\n", status=2)
    assert "class 'b' has category id 0, which is 'r'" in document["message"], document
    document = evaluate("classification", folder / "dataset.yaml", "class", "kind: label-map\n", status=2)
    assert "does not decode classes, and the task is classification" in document["message"], document
    document = evaluate("classification", folder / "dataset.yaml", "class", "kind: classification\nclasses: [r, g, b]\n", "--part", "test",
                        "--slice", "class")
    expected = []
    for i, name in enumerate(names):
        expected.append("rgb"[int(np.asarray(Image.open(pictures / name), np.float64).mean((0, 1)).argmax())] == classes[i])
    assert abs(document["overall"]["metrics"]["top1"]["value"] - np.mean(expected)) < 1e-12
    assert (folder / "classification/candidate.csv").read_text().startswith("sample,")

    document = evaluate("segmentation", folder / "labels.npz", "label", "kind: label-map\n")
    assert document["overall"]["metrics"]["miou"]["value"] == 1, document["overall"]
    assert np.load(folder / "segmentation/candidate.npz")["p3"].shape == (32, 16)
    document = evaluate("anomaly", folder / "masks.npz", "heat", "kind: anomaly-map\n")
    assert document["candidate"]["ran"]["samples"] == 12 and "pixel_auroc" in document["overall"]["metrics"]
    heat = np.load(folder / "anomaly/candidate.npz")["maps/p3"]
    pixels = np.asarray(Image.open(pictures / "p3.png"), np.float32)
    assert np.allclose(heat, pixels.mean(2) / 255, atol=1e-6)

    # gone on with where it was; another decoder may not
    (folder / "anomaly/candidate.npz").unlink()
    evaluate("anomaly", folder / "masks.npz", "label", "kind: anomaly-map\n", status=2)  # three channels are no heat
    assert (folder / "anomaly/candidate.partial").is_dir()
    error = evaluate("anomaly", folder / "masks.npz", "heat", "kind: anomaly-map\n", status=2)
    assert "begun by another runnable" in error["message"], error
    # a decoder of another task, a picture that is not there, a name that leaves the folder
    error = evaluate("anomaly", folder / "masks.npz", "heat", "kind: label-map\n", save=folder / "fresh", status=2)
    assert "does not decode maps of anomalies" in error["message"], error
    for name, says in (("gone", "is not there"), ("../p1", "")):
        np.savez(folder / "strange.npz", **{name: labels["p1"]})
        error = evaluate("segmentation", folder / "strange.npz", "label", "kind: label-map\n", save=folder / "fresh", status=2)
        assert says in error["message"], error


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as temp:
        folder = pathlib.Path(temp)
        whole = json.loads((EXAMPLE / "data/test.json").read_text())
        images = whole["images"][:PICTURES]
        ids = {image["id"] for image in images}
        some = {"images": images, "categories": whole["categories"],
                "annotations": [a for a in whole["annotations"] if a["image_id"] in ids]}
        (folder / "some.json").write_text(json.dumps(some))

        plain = run(program, folder, "--save", folder / "plain")
        assert plain["overall"]["metrics"]["ap50"]["value"] > 0.9, "the example's detector finds its parts"
        assert plain["candidate"]["ran"]["samples"] == PICTURES and plain["candidate"]["ran"]["resumed_samples"] == 0
        assert not (folder / "plain/candidate.partial").exists()

        # the predictions it kept, judged as a file, give the same numbers
        done = subprocess.run([program, "evaluate", "--task", "detection", "--annotations", folder / "some.json", "--predictions",
                               folder / "plain/candidate.json", "--bootstrap", "20", "--json"], capture_output=True, text=True, check=True)
        assert json.loads(done.stdout)["overall"] == plain["overall"]

        for attempt in range(10):
            save = folder / f"cut{attempt}"
            if interrupted(program, folder, save):
                break
        else:
            sys.exit("no run could be interrupted in time")
        # a torn last line, as a crash leaves it
        with open(save / "candidate.partial", "ab") as file:
            file.write(b'{"id": 1, "bo')
        # another decoder may not go on with it
        other = folder / "decoder.yaml"
        other.write_text((EXAMPLE / "decoder.yaml").read_text().replace("threshold: 0.01", "threshold: 0.02"))
        error = run(program, folder, "--save", save, status=2, decoder=other)
        assert "begun by another runnable, spec or labelled set" in error["message"], error
        again = run(program, folder, "--save", save)
        assert 3 <= again["candidate"]["ran"]["resumed_samples"] < PICTURES, again["candidate"]["ran"]
        assert (save / "candidate.json").read_bytes() == (folder / "plain/candidate.json").read_bytes()
        assert again["overall"] == plain["overall"]

        # class lists that differ
        other.write_text((EXAMPLE / "decoder.yaml").read_text().replace("bolt, washer", "washer, bolt"))
        error = run(program, folder, status=2, decoder=other)
        assert "class 'washer' has category id 1, which is 'bolt'" in error["message"], error
        (folder / "others").mkdir()
        other_tasks(program, folder / "others")
        print(f"{PICTURES} pictures, {again['candidate']['ran']['resumed_samples']} of them from before the interruption")


if __name__ == "__main__":
    main()
