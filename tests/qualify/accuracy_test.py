#!/usr/bin/env python3
"""Accuracy gates of protocols, end to end: labelled pictures, preprocessing, decoder, both sides on ONNX Runtime, to verdict and record.

Usage: accuracy_test.py --program build/debug/bin/requal [-k PART]
"""
import argparse
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(os.environ.get("REQUAL_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
EXAMPLE = SOURCE / "examples" / "parts-inspection"
sys.path.insert(0, str(SOURCE / "tests" / "cli"))
from check_schemas import contract_problems, problems  # noqa: E402

PROGRAM = None
PICTURES = 48
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def digest(path):
    return "sha256:" + hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


class Case:
    """A folder with 48 pictures of the example's test part, and a protocol on them."""

    GATES = """
  - {id: overall, kind: accuracy, metric: ap50_95, max_drop: 0.02, reference: reference, part: test, set_by: tests, decides_on: bound, min_count: 100}
  - {id: bands, kind: accuracy, slice: {by: distance_m, value: "*"}, metric: ap50, max_drop: 0.03, reference: reference, part: test,
     set_by: tests, decides_on: bound, min_count: 20}
  - {id: flips, kind: accuracy, max_lost_share: 0.05, reference: reference, part: test, set_by: tests, decides_on: bound, min_count: 100}
  - {id: defects, kind: accuracy, no_collapse: {classes: [scratch, dent], min_ap: 0.3, min_retention: 0.9, min_count: 10},
     reference: reference, part: test, set_by: tests, decides_on: bound}
"""

    def __init__(self, folder, gates=GATES, samples=PICTURES, used_for="[]", threshold="score_threshold: 0.5",
                 decoder=lambda text: text, data=None):
        self.folder = folder
        self.store = folder / "store"
        for name in ("parts.onnx", "preprocess.yaml"):
            shutil.copy(EXAMPLE / name, folder / name)
        (folder / "decoder.yaml").write_text(decoder((EXAMPLE / "decoder.yaml").read_text()))
        labels = json.loads((EXAMPLE / "data/test.json").read_text())
        labels["images"] = labels["images"][:PICTURES]
        kept = {image["id"] for image in labels["images"]}
        labels["annotations"] = [a for a in labels["annotations"] if a["image_id"] in kept]
        (folder / "test.json").write_text(json.dumps(labels))
        (folder / "pictures").mkdir()
        for image in labels["images"]:
            shutil.copy(EXAMPLE / "data/test" / image["file_name"], folder / "pictures" / image["file_name"])
        (folder / "inputs").mkdir()
        shutil.copy(EXAMPLE / "golden/inputs/test-0000.npz", folder / "inputs/test-0000.npz")
        (folder / "dataset.yaml").write_text("schema: dataset/1\ntask: detection\nparts:\n  test: {annotations: test.json, images: pictures}\n")
        self.data = data if data is not None else f"""data:
  dataset: dataset.yaml
  preprocess: {{file: preprocess.yaml, digest: "{digest(folder / 'preprocess.yaml')}"}}
  decoder: {{file: decoder.yaml, digest: "{digest(folder / 'decoder.yaml')}"}}
  parts:
    - {{name: test, samples: {samples}, used_for: {used_for}, labels: "{digest(folder / 'test.json')}"}}
  slices: [class, {{distance_m: [0.4, 0.8, 1.3, 2.0]}}, tags]
  {threshold}
  intervals: {{resamples: 200, seed: 1, confidence: 0.95}}
"""
        self.gates = gates
        self.write()

    def write(self):
        (self.folder / "protocol.yaml").write_text(
            f"schema: protocol/1\nname: parts\nmodel:\n  file: parts.onnx\n  digest: {digest(self.folder / 'parts.onnx')}\n"
            "reference: {toolchain: \"onnxruntime:cpu\"}\ncandidate: {toolchain: \"onnxruntime:cpu\"}\n"
            f"inputs: {{file: inputs}}\n{self.data}gates:\n"
            f"  - {{id: parity, kind: parity, atol: 0.1, rtol: 1e-3, rule: sum}}{self.gates}")

    def command(self):
        return [PROGRAM, "qualify", str(self.folder / "protocol.yaml"), "--store", str(self.store), "--json"]

    def qualify(self, status):
        done = subprocess.run(self.command(), capture_output=True, text=True, timeout=300)
        assert done.returncode == status, (done.returncode, done.stdout[:3000], done.stderr[-3000:])
        document, found = contract_problems(done.stdout)
        found += problems(document, "qualify-1", SOURCE / "schemas")
        record, more = contract_problems(pathlib.Path(document["record"]).read_text())
        found += more + problems(record, "run-1", SOURCE / "schemas")
        assert not found, found
        return document, record

    def refused(self, *says, status=2):
        done = subprocess.run(self.command(), capture_output=True, text=True, timeout=300)
        assert done.returncode == status, (done.returncode, done.stdout[:2000], done.stderr[-2000:])
        for part in says:
            assert part in done.stderr + done.stdout, (part, done.stderr, done.stdout)
        assert not (self.store / "runs").is_dir() or not list((self.store / "runs").iterdir())


@test
def quality_is_measured_and_recorded(folder):
    case = Case(folder)
    document, record = case.qualify(0)
    verdicts = {gate["id"]: gate["verdict"] for gate in document["gates"]}
    assert verdicts == {"engine": "pass", "parity": "pass", "overall": "pass", "bands": "pass", "flips": "pass",
                        "defects": "pass"}, (verdicts, document["gates"])
    assert [step["name"] for step in record["steps"]] == ["model", "inputs", "data", "build", "parity", "repeatability", "latency",
                                                          "accuracy"]
    (part,) = record["accuracy"]
    assert (part["part"], part["samples"], part["labels"]) == ("test", PICTURES, digest(folder / "test.json"))
    assert part["overall"]["metrics"]["ap50"]["candidate"] > 0.9
    assert {(s["by"], s["value"]) for s in part["slices"]} >= {("class", "bolt"), ("distance_m", "0.4..0.8"), ("tag", "dim")}
    bands = next(gate for gate in record["gates"] if gate["id"] == "bands")
    assert [d["slice"] for d in bands["value"]["decisions"]] == [f"distance_m {b}" for b in ("0.4..0.8", "0.8..1.3", "1.3..2")]
    # the numbers are those of `evaluate` on the predictions that the run kept
    names = [f["name"] for f in record["files"] if f["role"] == "predictions"]
    assert names == ["predictions-test-reference.json", "predictions-test-candidate.json"]
    run = pathlib.Path(document["record"]).parent
    done = subprocess.run([PROGRAM, "evaluate", "--task", "detection", "--annotations", folder / "test.json", "--reference-predictions",
                           run / names[0], "--predictions", run / names[1], "--bootstrap", "200", "--seed", "1", "--json"],
                          capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["overall"] == part["overall"]
    report = pathlib.Path(document["report"]).read_text()
    assert "<h2 id=\"accuracy\">Task quality</h2>" in report and "distance_m 0.4..0.8" in report
    assert "Task quality was not measured" not in report


@test
def gates_fail_and_stay_undecided(folder):
    gates = """
  - {id: too-high, kind: accuracy, metric: ap50_95, min_value: 0.99, reference: reference, part: test, set_by: tests, decides_on: point, min_count: 100}
  - {id: too-few, kind: accuracy, metric: ap50_95, max_drop: 0.02, reference: reference, part: test, set_by: tests, decides_on: bound,
     min_count: 100000}
  - {id: preset, kind: accuracy, preset: agrijetsonbench, reference: reference, part: test, min_count: 100,
     no_collapse: {classes: [bolt], min_ap: 0.3, min_retention: 0.8, min_count: 10}}
"""
    document, _ = Case(folder, gates).qualify(1)
    verdicts = {gate["id"]: (gate["verdict"], gate["reason"]) for gate in document["gates"]}
    assert verdicts["too-high"][0] == "fail" and "decided on the point" in verdicts["too-high"][1], verdicts
    assert verdicts["too-few"][0] == "undecidable" and "100000 are the least" in verdicts["too-few"][1], verdicts
    assert verdicts["preset"][0] == "pass" and "4 decisions" in verdicts["preset"][1], verdicts


@test
def a_killed_run_goes_on(folder):
    case = Case(folder)
    for attempt in range(8):
        with subprocess.Popen(case.command(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True) as process:
            # in the midst of the accuracy step: its predictions are written in the run's folder
            limit = time.monotonic() + 120
            while process.poll() is None and time.monotonic() < limit:
                if list(case.store.glob("tmp/**/predictions-test-*")):
                    break
                time.sleep(0.005)
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                break
        shutil.rmtree(case.store)
    else:
        sys.exit("no run could be killed in time")
    document, record = case.qualify(0)
    reused = {step["name"] for step in record["steps"] if step.get("reused")}
    assert {"build", "parity"} <= reused and "accuracy" not in reused, reused
    assert not list((case.store / "tmp").iterdir())


@test
def what_cannot_decide_is_refused_before_anything_runs(folder):
    def case(name, *says, **changes):
        place = folder / name
        place.mkdir()
        made = Case(place, **{key: value for key, value in changes.items() if key != "after"})
        if "after" in changes:
            changes["after"](made)
        made.refused(*says)

    one = ("\n  - {id: drop, kind: accuracy, metric: ap50_95, max_drop: %s, reference: %s, part: %s, set_by: tests, "
           "decides_on: bound, min_count: 100}\n")
    case("never", "can never pass", "'drop'", gates=one % (0, "reference", "test"))
    case("used", "used for checkpoint-selection", used_for="[checkpoint-selection]")
    case("calibration", "used for calibration", used_for="[calibration]")
    case("subset", "has 48 samples here, the protocol says 49", samples=49)
    case("part", "part 'other', which the file does not describe", gates=one % (0.02, "reference", "other"))
    case("side", "'baseline' is no side of a protocol", gates=one % (0.02, "baseline", "test"))
    case("threshold", "add score_threshold", threshold="")
    case("no-data", "the protocol names no data", data="")
    case("no-gate", "no gate decides on it", gates="\n")
    case("slice", "there is no slice distance_m '9..10'",
         gates="\n  - {id: far, kind: accuracy, slice: {by: distance_m, value: 9..10}, metric: ap50, max_drop: 0.1, reference: reference, "
               "part: test, set_by: tests, decides_on: bound, min_count: 10}\n")
    case("classes", "which is 'bolt'", decoder=lambda text: text.replace("bolt, washer", "washer, bolt"))
    for name, file, word in (("labels", "test.json", "label file's digest"), ("spec", "preprocess.yaml", "preprocessing spec's digest"),
                             ("decoder", "decoder.yaml", "decoder spec's digest")):
        case("moved-" + name, word,
             after=lambda made, file=file: (made.folder / file).write_text((made.folder / file).read_text() + "\n"))
    case("gone", "missing.jpg", after=lambda made: break_picture(made))


def break_picture(made):
    """The label file names a picture that is not there; its digest is the protocol's."""
    old = digest(made.folder / "test.json")
    labels = json.loads((made.folder / "test.json").read_text())
    labels["images"][3]["file_name"] = "missing.jpg"
    labels["images"][3].pop("sha256", None)
    (made.folder / "test.json").write_text(json.dumps(labels))
    made.data = made.data.replace(old, digest(made.folder / "test.json"))
    made.write()


def main():
    global PROGRAM
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("-k", default="")
    arguments = parser.parse_args()
    PROGRAM = arguments.program
    for function in TESTS:
        if arguments.k in function.__name__:
            begin = time.monotonic()
            with tempfile.TemporaryDirectory() as temp:
                function(pathlib.Path(temp))
            print(f"{function.__name__}: ok, {time.monotonic() - begin:.1f} s")


if __name__ == "__main__":
    main()
