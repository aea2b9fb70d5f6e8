#!/usr/bin/env python3
"""Compiles each header of src/ alone, with the flags of a built preset, and prints the ten that take longest.

Fails when one does not compile by itself or takes more than 2 seconds of processor time.

scripts/check_headers.py [--build build/release] [--limit 2.0]
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def commands_by_folder(build):
    """One compile command (without its file and output) for each folder that has sources."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        arguments = entry.get("arguments") or shlex.split(entry["command"])
        source = pathlib.Path(entry["directory"], entry["file"])
        if source.suffix != ".cc" or ROOT / "src" not in source.parents:
            continue
        # neither the launcher in front (cmake -E env ... ccache) nor what names this one file
        compiler = next(i for i, a in enumerate(arguments)
                        if pathlib.Path(a).name.startswith(("c++", "g++", "clang++")) and not a.startswith("-"))
        kept, skip = [], False
        for argument in arguments[compiler:]:
            if skip:
                skip = False
            elif argument in ("-o", "-MF", "-MT", "-MQ"):
                skip = True
            elif argument not in ("-c", "-MD", "-MMD") and argument != entry["file"]:
                kept.append(argument)
        found.setdefault(source.parent, (kept, entry["directory"]))
    return found


def measure(header, command, directory):
    """(seconds of processor time, error text)"""
    with tempfile.NamedTemporaryFile(suffix=".o") as out, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen([*command, "-x", "c++", "-c", "-o", out.name, "-include", str(header), os.devnull],
                                   cwd=directory, stdout=errors, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        return usage.ru_utime + usage.ru_stime, errors.read().decode() if process.returncode else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/release", type=pathlib.Path)
    parser.add_argument("--limit", default=2.0, type=float)
    options = parser.parse_args()
    commands = commands_by_folder((ROOT / options.build).resolve())
    if not commands:
        sys.exit(f"{options.build}/compile_commands.json names no source of src/")
    work, left_out = [], []
    for header in sorted((ROOT / "src").rglob("*.h")):
        # the flags of its own folder, else of the nearest one around it, else of one below it
        folder = next((f for f in header.parents if f in commands), None)
        runner = next((f for f in header.parents if f.parent.name == "runners"), None)
        if runner and folder and runner not in (folder, *folder.parents):
            folder = None  # a runner that is left out here: its runtime's headers are not known
        if folder is None:
            folder = next((f for f in sorted(commands) if header.parent in f.parents), None)
        if folder is None:
            left_out.append(header)
        else:
            work.append((header, *commands[folder]))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda item: (*measure(*item), item[0].relative_to(ROOT)), work))
    # a busy machine makes everything slower: what is over the limit is measured again, alone, and the quickest counts
    commands_of = {item[0].relative_to(ROOT): item for item in work}
    for index, (seconds, error, header) in enumerate(results):
        for _ in range(2):
            if seconds > options.limit and not error:
                seconds = min(seconds, measure(*commands_of[header])[0])
        results[index] = (seconds, error, header)
    failed = 0
    for seconds, error, header in results:
        if error:
            failed += 1
            print(f"{header}: does not compile by itself:\n{error}")
        elif seconds > options.limit:
            failed += 1
            print(f"{header}: {seconds:.2f} s to compile, {options.limit:g} s are allowed")
    print("the ten headers that take longest to compile:")
    for seconds, _, header in sorted(results, reverse=True)[:10]:
        print(f"  {seconds:5.2f} s  {header}")
    for header in left_out:
        print(f"  not built here: {header.relative_to(ROOT)}")
    print(f"headers: {len(results)} compiled, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
