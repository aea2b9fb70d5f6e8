"""What examples/parts-inspection promises of its files.    example_files.py REQUAL"""
import hashlib
import json
import os
import subprocess
import sys

root = os.environ["REQUAL_SOURCE_DIR"]
example = os.path.join(root, "examples/parts-inspection")


def sha(name):
    with open(os.path.join(example, name), "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


sizes = {os.path.relpath(os.path.join(folder, name), example): os.path.getsize(os.path.join(folder, name))
         for folder, _, names in os.walk(example) for name in names if "__pycache__" not in folder}
assert sum(sizes.values()) <= 12_000_000, sum(sizes.values())
assert sizes["parts.onnx"] <= 2_000_000 and sizes["parts-se.onnx"] <= 2_000_000

done = subprocess.run([sys.argv[1], "data", "check", f"{example}/dataset.yaml", "--json"], capture_output=True, text=True)
assert done.returncode == 0, done.stdout + done.stderr
document = json.loads(done.stdout)
parts = {part["name"]: part for part in document["parts"]}
assert document["errors"] == 0 and document["overlaps_found"] == 0, document["findings"]
assert {name: part["samples"] for name, part in parts.items()} == {"train": 6000, "validation": 300, "calibration": 64, "test": 420}
assert parts["calibration"]["within"] == "train" and parts["train"]["listed_only"] and parts["validation"]["listed_only"]
least = min(count for bands in parts["test"]["by_class_and_band"]["distance_m"].values() for count in bands.values())
assert least >= 50 and len(parts["test"]["by_class"]) >= 4, parts["test"]

for folder, checkpoint in (("golden", "plain"), ("golden-se", "se_silu")):
    facts = json.load(open(f"{example}/{folder}/golden.json"))
    for source, name in (("checkpoint", f"checkpoints/{checkpoint}.pt"), ("model", "detector.py"), ("preprocess", "preprocess.yaml"),
                         ("decoder", "decoder.yaml"), ("samples", "golden-samples.txt"), ("annotations", "data/test.json")):
        assert facts["sources"][source]["digest"] == "sha256:" + sha(name), f"{folder}: another {name}"
    for sample in json.load(open(f"{example}/{folder}/samples.json"))["samples"]:
        assert sample["digest"] == "sha256:" + sha(f"{folder}/{sample['file']}")
        assert sample["source_digest"] == "sha256:" + sha(f"data/test/{sample['source']}")
with open(f"{example}/protocol.yaml") as file:
    assert f"digest: sha256:{sha('parts.onnx')}" in file.read()
with open(f"{example}/README.md") as file:
    readme = file.read()
for name in sizes:  # the page says how each file was made
    top = name.split("/")[0]
    assert name == "README.md" or f"`{top}" in readme or f"`{name}`" in readme, f"README.md does not speak of {name}"
print(f"{len(sizes)} files, {sum(sizes.values())} bytes, at least {least} objects a class and band")
