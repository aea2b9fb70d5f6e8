#!/usr/bin/env python3
"""requal-station: needs no newer glibc than 2.27 and no other library, and says what `requal` says, on both architectures."""

import argparse
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests" / "machine"))
import make_root  # noqa: E402

DATA = SOURCE / "tests" / "artifact" / "data"
OLDEST_GLIBC = (2, 27)
SYSTEM_LIBRARIES = re.compile(r"(libc|libm|libpthread|libdl|librt)\.so\.\d|ld-linux.*")
failures = []


def expect(condition, message):
    if not condition:
        failures.append(message)
        print(f"FAILED: {message}")


def run(command, **options):
    return subprocess.run(command, capture_output=True, check=False, timeout=120, stdin=subprocess.DEVNULL, **options)


def check_needs(program):
    versions = run(["readelf", "-V", "-W", program]).stdout.decode()
    needed = {tuple(map(int, text.split("."))) for text in re.findall(r"GLIBC_([0-9.]+)", versions)}
    expect(needed, f"{program.name} names no glibc version at all: is it the right file?")
    expect(all(version <= OLDEST_GLIBC for version in needed), f"{program.name} needs glibc {max(needed, default=())}")
    expect("GLIBCXX" not in versions, f"{program.name} needs the station's libstdc++")
    dynamic = run(["readelf", "-d", "-W", program]).stdout.decode()
    for library in re.findall(r"NEEDED.*\[(.*)\]", dynamic):
        expect(SYSTEM_LIBRARIES.fullmatch(library), f"{program.name} needs {library}")


def emulator_for(architecture):
    """The command before the program; None when this machine can run it neither itself nor emulated."""
    if platform.machine() == architecture:
        return []
    emulator = shutil.which(f"qemu-{architecture}-static") or shutil.which(f"qemu-{architecture}")
    sysroot = pathlib.Path(f"/usr/{architecture}-linux-gnu")
    if emulator is None or not (sysroot / "lib").is_dir():
        return None
    return [emulator, "-L", str(sysroot)]


def without_answers(text):
    """requal asks other programs where there are some (trtexec, a runner); the station program starts none and says so by an empty list."""
    return re.sub(rb'(?m)^  "asked": \[$.*?^  \],$', b'  "asked": [],', text, flags=re.DOTALL)


def compare(requal, station, folder):
    """The same words give the same bytes and status."""
    for words in (
        ["inspect", str(DATA / "tiny.onnx"), "--json"],
        ["inspect", str(DATA / "tiny.onnx")],
        ["inspect", str(DATA / "external.onnx"), "--json", "--no-digest"],
        ["inspect", str(DATA / "tiny.blob"), "--json"],
        ["inspect", str(DATA / "two.npz"), "--json"],
        ["inspect", "plan", "--json"],
        ["inspect", "big", "--json"],
        ["inspect", "cut", "--json"],
        ["inspect", "empty", "--json"],
        ["inspect", "fifo", "--json"],
        ["inspect", "absent", "--json"],
        *(["inspect", str(file), "--json"] for file in sorted(DATA.iterdir()) if file.name not in ("tiny.onnx", "tiny.blob", "two.npz")),
    ):
        ours = run([requal, *words], cwd=folder)
        theirs = run([*station, *words], cwd=folder)
        what = f"{' '.join(map(str, station))} {' '.join(words)}"
        expect(theirs.returncode == ours.returncode, f"{what}: exit status {theirs.returncode}, requal's is {ours.returncode}")
        expect(theirs.stdout == without_answers(ours.stdout), f"{what}: prints\n{theirs.stdout.decode()}\nrequal prints\n{ours.stdout.decode()}")
        errors = theirs.stderr.replace(b"requal-station:", b"requal:")
        expect(errors == ours.stderr, f"{what}: says {errors}, requal says {ours.stderr}")
    compare_states(requal, station, folder)
    version = run([*station, "--version"]).stdout.decode()
    wanted = (SOURCE / "VERSION").read_text().strip()
    expect(version.startswith(f"requal-station {wanted}"), f"--version prints {version!r}")
    for words in ([], ["inspect"], ["inspct", "x"], ["inspect", "a", "b"], ["inspect", "--jsn", "a"]):
        result = run([*station, *words], cwd=folder)
        expect(result.returncode == 2 and result.stderr.count(b"\n") == 1 and not result.stdout,
               f"{words}: exit status {result.returncode}, says {result.stderr}")
    with open("/dev/full", "wb") as full:
        result = subprocess.run([*station, "--version"], stdout=full, stderr=subprocess.PIPE, check=False)
        expect(result.returncode == 4, f"a full disk ends with exit status {result.returncode}")


def state_of(document):
    """A snapshot without what belongs to the moment."""
    return {key: value for key, value in document.items() if key not in ("taken", "scope")}


def compare_states(requal, station, folder):
    """A snapshot of a root, and differences, are those of `requal`: the emulated program sees the same machine."""
    what = " ".join(map(str, station))
    for kind in ("r35", "r36", "server"):
        words = ["snapshot", "--sysroot", kind, "--engine", "/opt/line/detector.plan"]
        ours, theirs = run([requal, *words, "--json"], cwd=folder), run([*station, *words, "--json"], cwd=folder)
        expect(theirs.returncode == 0, f"{what} {words}: exit status {theirs.returncode}, says {theirs.stderr}")
        if theirs.returncode == 0:
            expect(state_of(json.loads(theirs.stdout)) == state_of(json.loads(ours.stdout)),
                   f"{what} {words}: prints\n{theirs.stdout.decode()}\nrequal prints\n{ours.stdout.decode()}")
        expect(run([*station, *words, "-o", f"{kind}.json"], cwd=folder).returncode == 0, f"{what} {words} -o")
    for words in (["diff", "r35.json", "r36.json"], ["diff", "r35.json", "r36.json", "--json"], ["diff", "r35.json", "r35.json"],
                  ["diff", "r35.json", "absent.json"], ["diff", "r35.json", "plan"]):
        ours, theirs = run([requal, *words], cwd=folder), run([*station, *words], cwd=folder)
        expect((theirs.returncode, theirs.stdout) == (ours.returncode, ours.stdout),
               f"{what} {words}: {theirs.returncode}, {theirs.stdout.decode()}\nrequal: {ours.returncode}, {ours.stdout.decode()}")
    for words in (["snapshot", "x"], ["snapshot", "--sysrot", "x"], ["snapshot", "--sysroot"], ["diff", "a"], ["snapshot", "--sysroot", "nowhere"]):
        result = run([*station, *words], cwd=folder)
        expect(result.returncode == 2 and result.stderr.count(b"\n") == 1, f"{words}: exit status {result.returncode}, says {result.stderr}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--requal", type=pathlib.Path, required=True)
    parser.add_argument("--station", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    skipped = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "plan").write_bytes(b"vtrt" + bytes(20) + bytes([1, 7, 1, 0x74]) + bytes(100))
        (folder / "big").write_bytes(bytes(range(256)) * 20000)  # several blocks of the hash
        (folder / "cut").write_bytes((DATA / "tiny.onnx").read_bytes()[:90])
        (folder / "empty").touch()
        os.mkfifo(folder / "fifo")
        for kind in ("r35", "r36", "server"):
            make_root.make(folder / kind, kind)
        for architecture in ("x86_64", "aarch64"):
            program = arguments.station.resolve() / f"requal-station-{architecture}"
            check_needs(program)
            emulator = emulator_for(architecture)
            if emulator is None:
                skipped.append(architecture)
            else:
                compare(arguments.requal.resolve(), [*emulator, program], folder)
    if failures:
        return 1
    if skipped:
        print(f"not run here (qemu-user-static or its sysroot is missing): {', '.join(skipped)}")
        return 77
    print("both programs say what requal says")
    return 0


if __name__ == "__main__":
    sys.exit(main())
