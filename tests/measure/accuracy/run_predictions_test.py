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
        print(f"{PICTURES} pictures, {again['candidate']['ran']['resumed_samples']} of them from before the interruption")


if __name__ == "__main__":
    main()
