"""tools/requal-golden without torch: a stand-in module gives it what it asks of torch, so that everything besides torch itself is
tested: specs, lists, preprocessing (with OpenCV, and by its own rule without), decoding, what is written, what is refused."""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image

root = os.environ["REQUAL_SOURCE_DIR"]
example = os.path.join(root, "examples/parts-inspection")
folder = tempfile.mkdtemp(prefix="requal-golden-")
os.makedirs(os.path.join(folder, "torch"))
with open(os.path.join(folder, "torch/__init__.py"), "w") as file:
    file.write('''
import types, numpy
__version__ = "stand-in"
backends = types.SimpleNamespace(cuda=types.SimpleNamespace(matmul=types.SimpleNamespace()), cudnn=types.SimpleNamespace())  # word-ok
set_num_threads = use_deterministic_algorithms = lambda value: None
class no_grad:
    def __enter__(self): pass
    def __exit__(self, *rest): pass
class Tensor:
    def __init__(self, array): self.array = array
    def to(self, device): return self
    detach = cpu = lambda self: self
    def numpy(self): return self.array
from_numpy = Tensor
''')
with open(os.path.join(folder, "model.py"), "w") as file:
    file.write('''
import numpy, torch
class Model:
    training = False
    def to(self, device): return self
    def __call__(self, x):
        head = numpy.zeros((1, 9, 50), numpy.float32)
        head[0, :4] = numpy.array([[160], [160], [40], [20]])
        head[0, 4, 0] = x.array.mean()
        head[0, 6, 7] = 0.75
        return torch.Tensor(head)
class Training(Model):
    training = True
def load(path): return Model()
def training(path): return Training()
def pipeline(path): return numpy.full((1, 3, 8, 8), 0.25, numpy.float32)
''')
with open(os.path.join(folder, "weights.pt"), "wb") as file:
    file.write(b"weights")


def golden(*options, out="out", samples="golden-samples.txt", function="load", status=0, words="", preprocess=True, hide=()):
    shutil.rmtree(os.path.join(folder, out), ignore_errors=True)
    environment = dict(os.environ, PYTHONPATH=folder)
    start = ["-c", "import sys, runpy; [sys.modules.__setitem__(n, None) for n in %r]; sys.argv = sys.argv[1:]; "
             "runpy.run_path(sys.argv[0], run_name='__main__')" % (hide,)]
    command = [sys.executable, *start, os.path.join(root, "tools/requal-golden"), "--model", f"{folder}/model.py:{function}",
               "--checkpoint", f"{folder}/weights.pt", "--samples",
               samples if os.path.isabs(samples) else os.path.join(example, samples), "--root", f"{example}/data/test",
               "--out", os.path.join(folder, out), *options]
    if preprocess:
        command += ["--preprocess", f"{example}/preprocess.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == status and words in done.stderr + done.stdout, (done.returncode, done.stdout, done.stderr)
    return os.path.join(folder, out)


def sha(path):
    with open(path, "rb") as file:
        return "sha256:" + hashlib.sha256(file.read()).hexdigest()


decode = ["--decode", f"{example}/decoder.yaml", "--annotations", f"{example}/data/test.json", "--output-names", "output0"]
out = golden(*decode)
facts = json.load(open(f"{out}/golden.json"))
samples = json.load(open(f"{out}/samples.json"))["samples"]
names = [line.split("  ")[1].strip() for line in open(f"{example}/golden-samples.txt")]
assert [s["source"] for s in samples] == names and facts["samples"] == len(names)
assert facts["sources"]["checkpoint"]["digest"] == sha(f"{folder}/weights.pt") and facts["versions"]["torch"] == "stand-in"
assert facts["sources"]["preprocess"]["digest"] == sha(f"{example}/preprocess.yaml")
for sample in samples:
    assert sample["digest"] == sha(f"{out}/{sample['file']}")
    tensor = np.load(f"{out}/inputs/{sample['file']}")["images"]
    assert tensor.shape == (1, 3, 320, 320) and tensor.dtype == np.float32 and tensor.max() <= 1
    picture = Image.open(f"{example}/data/test/{sample['source']}")
    assert abs(tensor[0, :, 40:280].mean() - np.asarray(picture).mean() / 255) < 0.01
    assert np.allclose(tensor[0, :, :40], 114 / 255)
rows = json.load(open(f"{out}/detections.json"))
# anchor 7, class index 2, centre (160, 160): half way, 20 high and 40 wide in the input, 25 and 50 in the picture
assert any(r["category_id"] == 3 and np.allclose(r["bbox"], [175, 137.5, 50, 25]) and r["score"] == 0.75 for r in rows), rows[:2]
again = golden(*decode, out="again")
for name in sorted(os.listdir(out)):
    if os.path.isfile(f"{out}/{name}"):
        assert sha(f"{out}/{name}") == sha(f"{again}/{name}"), f"{name}: a second run gives other bytes"
plain = golden(*decode, out="plain", hide=("cv2",))
for sample in samples:  # its own linear rule is OpenCV's
    assert np.array_equal(np.load(f"{plain}/inputs/{sample['file']}")["images"], np.load(f"{out}/inputs/{sample['file']}")["images"])
assert "OpenCV's fixed-point rule" in json.load(open(f"{plain}/golden.json"))["versions"]["resized_by"]
own = golden("--pipeline", f"{folder}/model.py:pipeline", preprocess=False, out="own")
assert np.load(f"{own}/inputs/{samples[0]['file']}")["images"].shape == (1, 3, 8, 8)
assert not os.path.exists(f"{golden('--no-inputs', out='bare')}/inputs")

golden(function="training", status=2, words="training mode")
golden(function="nothing", status=2, words="no function")
golden(hide=("cv2", "PIL"), status=2, words="neither Pillow nor OpenCV")
for text, words in [("0" * 64 + "  test-0000.jpg\n", "digest differs"), ("0" * 64 + "  ../test.json\n", "leaves the folder"),
                    ("0" * 64 + "  nothing.jpg\n", "does not exist"), ("what\n", "is not 'SHA256  NAME'"), ("", "lists nothing")]:
    with open(f"{folder}/list.txt", "w") as file:
        file.write(text)
    golden(samples=f"{folder}/list.txt", status=2, words=words)
shutil.rmtree(folder)
print("golden outputs written, equal twice, and equal without OpenCV")
