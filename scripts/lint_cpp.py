#!/usr/bin/env python3
"""Runs clang-tidy over our source files, those that changed since it last found nothing in them.

scripts/lint_cpp.py [--build build/release] [--jobs N] [--tests] [FILE...]      without --tests, those of src/ only

A file is looked at again when its preprocessed text, its flags, .clang-tidy or clang-tidy itself changed; the digests of clean files
are kept beside the dependencies.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# GCC's names for warnings that clang does not have
EXTRA = ["--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-sign-conversion", "--extra-arg=-Wno-unused-command-line-argument"]


def cache_folder():
    deps = os.environ.get("REQUAL_DEPS")
    if not deps:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        deps = os.path.join(base, "requal", "deps")
    folder = pathlib.Path(deps).parent / "lint"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def key_of(entry, common):
    """A digest of everything that clang-tidy would see, None when the file does not even preprocess."""
    arguments = entry.get("arguments") or shlex.split(entry["command"])
    start = next(i for i, a in enumerate(arguments)
                 if pathlib.Path(a).name.startswith(("c++", "g++", "clang++", "cc", "gcc", "clang"))
                 and "ccache" not in a and "=" not in a)
    flags = [a for a in arguments[start + 1:] if a != "-c"]
    if "-o" in flags:
        del flags[flags.index("-o"):flags.index("-o") + 2]
    result = subprocess.run([arguments[start], "-E", *flags], cwd=entry["directory"], capture_output=True)
    if result.returncode:
        return None
    text = result.stdout.replace(str(ROOT).encode(), b"")
    # comments decide too: NOLINT
    source = pathlib.Path(entry["directory"], entry["file"]).read_bytes()
    return hashlib.sha256(common + "\0".join(flags).replace(str(ROOT), "").encode() + source + text).hexdigest()


def lint(entry, build, common, cache):
    key = key_of(entry, common)
    if key and (cache / key).exists():
        return True, ""
    result = subprocess.run(["clang-tidy", "-quiet", "-p", str(build), *EXTRA, entry["file"]],
                            cwd=entry["directory"], capture_output=True, text=True)
    if result.returncode == 0:
        if key:
            (cache / key).touch()
        return False, ""
    return False, result.stdout or result.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/release", type=pathlib.Path)
    parser.add_argument("--jobs", default=os.cpu_count(), type=int)
    parser.add_argument("--tests", action="store_true", help="the tests and benchmarks too")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    if not shutil.which("clang-tidy"):
        sys.exit("clang-tidy is not installed; run scripts/setup lint")
    build = (ROOT / options.build).resolve()
    chosen = {str((pathlib.Path.cwd() / name).resolve()) for name in options.files}
    entries = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        folders = ("src", "tests", "bench", "cmake") if options.tests or chosen else ("src",)
        ours = any(path.is_relative_to(ROOT / folder) for folder in folders)
        if ours and not path.is_relative_to(build) and path.suffix == ".cc" and (not chosen or str(path) in chosen):
            entries[path] = entry
    common = hashlib.sha256()
    common.update((ROOT / ".clang-tidy").read_bytes())
    common.update(subprocess.run(["clang-tidy", "--version"], capture_output=True).stdout)
    common = common.digest()
    cache = cache_folder()
    failed = known = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for was_known, text in pool.map(lambda e: lint(e, build, common, cache), entries.values()):
            known += was_known
            if text:
                failed += 1
                print(text.replace(str(ROOT) + "/", ""), flush=True)
    print(f"clang-tidy: {len(entries)} files ({known} unchanged since they were clean), {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
