#!/usr/bin/env python3
"""Snapshots of made roots: what they say, that they are stable, what moves between pairs, and roots that are hostile."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "tests" / "cli"), str(SOURCE / "tests" / "machine")]
import check_schemas  # noqa: E402
import make_root  # noqa: E402

ENGINE = "/opt/line/detector.plan"
failures = []


def expect(condition, message):
    if not condition:
        failures.append(message)
        print(f"FAILED: {message}")


class Tool:
    def __init__(self, requal, folder):
        self.requal, self.folder = requal, folder

    def run(self, *words, status=0):
        result = subprocess.run([self.requal, *map(str, words)], capture_output=True, check=False, timeout=120, stdin=subprocess.DEVNULL,
                                cwd=self.folder)
        expect(result.returncode == status, f"{words}: exit status {result.returncode}, not {status}: {result.stderr.decode()}")
        return result

    def json(self, *words, status=0):
        text = self.run(*words, "--json", status=status).stdout.decode()
        document, found = check_schemas.contract_problems(text)
        found += check_schemas.problems(document, document["schema"].replace("/", "-"), SOURCE / "schemas")
        expect(not found, f"{words}: {found}")
        return document

    def snapshot(self, name, kind, changes=(), *options):
        make_root.make(self.folder / name, kind, changes)
        document = self.json("snapshot", "--sysroot", name, "--engine", ENGINE, *options)
        (self.folder / f"{name}.json").write_text(json.dumps(document))
        return document


def check_kinds(tool):
    for kind, facts in make_root.KINDS.items():
        found = tool.snapshot(kind, kind)
        jetson = facts["l4t"] is not None
        expect(found["device"].get("model") == (facts["model"] if jetson else "NVIDIA A100-SXM4-80GB" if kind == "server" else None),
               f"{kind}: device {found['device']}")
        expect(found["os"]["release"] == facts["ubuntu"], f"{kind}: {found['os']}")
        expect(found["os"]["architecture"] == ("aarch64" if jetson else "x86_64"), f"{kind}: {found['os']}")
        if jetson:
            expect((found["l4t"]["release"], found["l4t"]["revision"]) == facts["l4t"] and found["l4t"]["form"] == "known", f"{kind}: {found['l4t']}")
            expect(found["power"]["nvpmodel"]["mode_name"] == facts["mode"], f"{kind}: {found['power']}")
            expect(found["cameras"][0]["firmware"] == "0118" and found["cameras"][0]["driver"] == "uvcvideo", f"{kind}: {found['cameras']}")
            expect(len(found["kernel"]["outside_modules"]) == 1, f"{kind}: {found['kernel']}")
        if kind in ("r32", "r35"):
            expect(found["l4t"]["checksums"] == {"listed": 1, "right": 1, "unread": [], "wrong": []}, f"{kind}: {found['l4t']}")
        runtime = [item for item in found["libraries"] if item["soname"] and item["soname"].startswith("libnvinfer.so")]
        expect([item["version"] for item in runtime] == [f"{facts['tensorrt']}.{facts['build']}"], f"{kind}: {runtime}")
        expect(found["disagreements"] == [], f"{kind}: {found['disagreements']}")
        expect(found["container"]["inside"] == (kind == "container"), f"{kind}: {found['container']}")
        states = {item["name"]: item["abbreviation"] for item in found["packages"]}
        expect(states["nvidia-old-tool"] == "rc", f"{kind}: {states}")
        expect(not jetson or states["nvidia-l4t-kernel"] == "hi", f"{kind}: {states}")
        again = tool.json("snapshot", "--sysroot", kind, "--engine", ENGINE, "--trust-mtime", f"{kind}.json")
        expect(again["state_digest"] == found["state_digest"], f"{kind}: the state digest is not stable")
        expect(again["scope"]["trusted_digests"] == len(found["libraries"]), f"{kind}: {again['scope']}")
        copy = tool.snapshot(f"{kind}-again", kind)
        expect(copy["state_digest"] == found["state_digest"], f"{kind}: an equal root has another state digest")
        tool.run("diff", f"{kind}.json", f"{kind}-again.json")


# the pairs of before and after: what must be among the classes, and what may be
PAIRS = {
    "point-release": ({"l4t-point-release", "kernel"}, {"firmware"}),
    "kernel": ({"kernel"}, set()),
    "tensorrt": ({"runtime-version", "disagreement"}, {"engine-changed"}),
    "reflash": ({"engine-restored"}, set()),
    "rebuilt": ({"engine-rebuilt"}, set()),
    "hold-removed": ({"hold-lost"}, {"package-state"}),
    "source-enabled": ({"source-enabled"}, set()),
    "camera-firmware": ({"camera"}, set()),
    "other-unit": ({"other-unit"}, set()),
    "library-replaced": ({"library-replaced"}, set()),
    "power-mode": ({"power-mode"}, set()),
    "jetpack-major": ({"jetpack-major", "runtime-version", "kernel", "os"}, {"firmware", "other-model", "power-mode", "package-state"}),
}


def check_pairs(tool):
    for change, (must, may) in PAIRS.items():
        kind = "r35" if change == "jetpack-major" else "r36"
        tool.snapshot(f"after-{change}", kind, [change])
        diff = tool.json("diff", f"{kind}.json", f"after-{change}.json", status=1)
        classes = {item["class"] for item in diff["differences"]}
        expect(must <= classes <= must | may, f"{change}: classes {classes}")
        expect(diff["verdict"] == "fail" and diff["untracked"], f"{change}: {diff['verdict']}, {diff['untracked']}")
    tool.snapshot("after-driver", "server", ["driver"])
    diff = tool.json("diff", "server.json", "after-driver.json", status=1)
    expect({item["class"] for item in diff["differences"]} == {"driver"}, f"driver: {diff['differences']}")
    # what moved, in words: only libnvinfer, and Python still says the old version
    diff = json.loads(tool.run("diff", "r36.json", "after-tensorrt.json", "--json", status=1).stdout)
    said = [item["after"] for item in diff["differences"] if item["class"] == "disagreement"]
    expect(said == ["Python package tensorrt says 10.3.0, the library is 10.7.0.23"], f"tensorrt: {said}")


def check_altered(tool):
    document = json.loads((tool.folder / "r36.json").read_text())
    document["l4t"]["revision"] = "4.4"
    (tool.folder / "altered.json").write_text(json.dumps(document))
    result = tool.run("diff", "r36.json", "altered.json", status=4)
    expect(b"altered.json" in result.stderr and b"altered" in result.stderr, f"altered: {result.stderr}")
    document = json.loads((tool.folder / "r36.json").read_text())
    document["taken"]["wall"] = "2001-01-01T00:00:00.000000Z"
    (tool.folder / "earlier.json").write_text(json.dumps(document))
    notes = tool.json("diff", "r36.json", "earlier.json")["notes"]
    expect(any("clock was moved back" in note for note in notes), f"clock: {notes}")
    for name, text in (("empty.json", ""), ("list.json", "[]"), ("other.json", '{"schema": "guard/1"}'), ("old.json", '{"schema": "snapshot/7"}')):
        (tool.folder / name).write_text(text)
        tool.run("diff", "r36.json", name, status=2)
    unread = json.loads((tool.folder / "r36.json").read_text())
    tool.run("snapshot", "--sysroot", "nowhere", status=2)
    tool.run("snapshot", "--sysroot", "r36", "--engine", "/none.plan", status=2)
    return unread


def check_hostile(tool):
    root = tool.folder / "hostile"
    make_root.make(root, "r36")
    libraries = root / "usr/lib/aarch64-linux-gnu"
    secret = tool.folder / "libcudnn.so.99.9.9"
    secret.write_bytes(b"outside")
    (libraries / "libcudnn.so.77").symlink_to(secret)  # leads outside: there is nothing under that name inside
    (libraries / "libcublas.so.1").symlink_to("libcublas.so.2")
    (libraries / "libcublas.so.2").symlink_to("libcublas.so.1")
    os.mkfifo(libraries / "libcufft.so.11")
    (libraries / "libcurand.so.10.1.2").write_bytes(b"no ELF file")
    (libraries / "libQnnHtp.so").write_bytes(b"")
    os.truncate(libraries / "libQnnHtp.so", 1 << 41)
    (pathlib.Path(os.fsdecode(os.fsencode(libraries) + b"/libonnxruntime\xff.so.1.2"))).write_bytes(b"x")
    (libraries / "nvidia").symlink_to("..")
    (root / "etc/nv_tegra_release").write_bytes(b"\x00\xff JetPack of tomorrow\n")
    (root / "var/lib/dpkg/status").write_bytes(b"Package: nvidia-l4t-core\nStatus: install ok installed\nVersion: 36.4.3\n\nPackage: x\nSta")
    (root / "var/lib/nvpmodel/status").write_text("mode of another form")
    (root / "etc/nvpmodel.conf").unlink()
    os.mkfifo(root / "etc/nvpmodel.conf")
    (root / "usr/lib/python3/dist-packages/tensorrt-10.3.0.dist-info/METADATA").write_text("")
    found = tool.json("snapshot", "--sysroot", "hostile")
    unknown = {item["what"]: item["reason"] for item in found["unknown"]}
    place = "/usr/lib/aarch64-linux-gnu"
    for what, reason in ((f"libraries[{place}/libcublas.so.1]", "circle"), (f"libraries[{place}/libcufft.so.11]", "FIFO"),
                         (f"libraries[{place}/libQnnHtp.so].digest", "larger"), (f"libraries[{place}/libcudnn.so.77]", "leads nowhere"),
                         (f"libraries[{place}/libcurand.so.10.1.2].soname", "no ELF"), ("l4t.release", "form"),
                         ("packages.damaged", "line 5"), ("power.nvpmodel", "FIFO")):
        expect(reason in unknown.get(what, ""), f"hostile: {what} is {unknown.get(what)}")
    paths = [item["path"] for item in found["libraries"]]
    expect(f"{place}/libonnxruntime\\xff.so.1.2" in paths, f"hostile: {paths}")
    expect(not any("99.9.9" in path for path in paths), f"hostile: read outside the root: {paths}")
    expect("nvpmodel" not in found.get("power", {}), "hostile: what is unknown has a value")
    (tool.folder / "hostile.json").write_text(json.dumps(found))
    diff = tool.json("diff", "r36.json", "hostile.json", status=1)
    classes = {item["path"]: item["class"] for item in diff["differences"]}
    expect(classes.get("power.nvpmodel") == "unknown", f"hostile: {classes}")


def check_this_computer(tool):
    first = tool.json("snapshot")
    (tool.folder / "here.json").write_text(json.dumps(first))
    second = tool.json("snapshot", "--idle", "--jobs", "1")
    expect(first["state_digest"] == second["state_digest"], "this computer: two snapshots differ")
    result = tool.run("snapshot", "-o", "written.json")
    expect((tool.folder / "written.json").is_file() and b"state sha256:" in result.stdout, "-o")
    with subprocess.Popen(["sleep", "60"], env={**os.environ, "LD_BIND_NOW": "1", "SECRET": "x"}) as process:
        application = tool.json("snapshot", "--pid", process.pid)["application"]
        process.kill()
    expect(application["environment"].get("LD_BIND_NOW") == "1" and "SECRET" not in application["environment"], f"pid: {application['environment']}")
    expect(any("libc" in item["path"] and item["digest"] for item in application["libraries"]), "pid: libc is not among the libraries")
    tool.run("snapshot", "--pid", process.pid, status=2)
    tool.run("snapshot", "--unit", "no-such-unit", status=2)
    tool.run("snapshot", "--container", "0123456789abcdef", status=2)
    tool.run("snapshot", "--pid", "1", "--unit", "x", status=2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--requal", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        tool = Tool(arguments.requal.resolve(), pathlib.Path(name))
        check_kinds(tool)
        check_pairs(tool)
        check_altered(tool)
        check_hostile(tool)
        check_this_computer(tool)
    print("failed" if failures else "snapshots say what the roots hold")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
