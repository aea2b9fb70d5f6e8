#!/usr/bin/env python3
"""Runs the commands that the documentation shows, and follows its links.

    run_documented_commands.py commands --program build/debug/bin/requal [FILE...]
    run_documented_commands.py links

In README.md, docs/ and examples/ a fenced block that begins with ```console holds lines `$ COMMAND`; other lines are output and are not
compared. Commands of one page run one after the other in bash, in a folder that holds a copy of examples/ with the detector in place.
A block ```console exit=1 says which status its commands end with (default 0). Commands that build or test the checkout itself
(scripts/...) are known and left out; anything else that is not known is an error, so that no command goes unchecked.
"""

import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

SOURCE = pathlib.Path(os.environ.get("REQUAL_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
RUN = {"requal", "cp", "ls", "cat", "export"}
LINKED = {"examples/ocr-detector/get-model"}  # done beforehand: the copy has no scripts/
LEFT_OUT = ("scripts/", "git ", "cmake ", "ninja ", "sudo ", "apt-get ", ".ci/", "polygraphy ", "trtexec ", "source ", "ssh ")
MODEL = "ch_PP-OCRv4_det_infer.onnx"


def pages():
    found = [SOURCE / "README.md"]
    for folder in ("docs", "examples"):
        found += sorted((SOURCE / folder).rglob("*.md"))
    return [page for page in found if page.is_file()]


def blocks(page):
    """(line number, status, command) of every command of the page."""
    fence = None
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        mark = re.match(r"^(\s*)(```+|~~~+)(.*)$", line)
        if mark:
            if fence is None:
                fence = (mark.group(2), mark.group(3).split())
            elif mark.group(2).startswith(fence[0]) and not mark.group(3).strip():
                fence = None
            continue
        if fence is None or not fence[1] or fence[1][0] != "console":
            continue
        status = 0
        for word in fence[1][1:]:
            match = re.fullmatch(r"exit=(\d+)", word)
            if not match:
                raise SystemExit(f"{page}:{number}: unknown word '{word}' after ```console")
            status = int(match.group(1))
        text = line.strip()
        if text.startswith("$ "):
            yield number, status, text[2:]


def find_model(deps):
    found = sorted(pathlib.Path(deps).glob(f"models/rapidocr-*/{MODEL}"))
    return found[-1] if found else None


def run_commands(arguments):
    program = pathlib.Path(arguments.program).resolve()
    deps = os.environ.get("REQUAL_DEPS", os.path.expanduser("~/.cache/requal/deps"))
    model = find_model(deps)
    if model is None:
        print("the detector is not on this machine (scripts/setup build)")
        return 77
    failed = ran = 0
    for page in map(pathlib.Path, arguments.files) if arguments.files else pages():
        commands = list(blocks(page))
        if not commands:
            continue
        with tempfile.TemporaryDirectory(prefix="requal-docs-") as folder:
            shutil.copytree(SOURCE / "examples", pathlib.Path(folder) / "examples", ignore=shutil.ignore_patterns("models"))
            models = pathlib.Path(folder) / "examples" / "ocr-detector" / "models"
            models.mkdir()
            shutil.copy(model, models / MODEL)
            environment = dict(os.environ, PATH=f"{program.parent}:{os.environ['PATH']}", NO_COLOR="1")
            environment.pop("REQUAL_STORE", None)
            for number, status, command in commands:
                where = f"{page.resolve().relative_to(SOURCE)}:{number}"
                first = shlex.split(command)[0]
                if first in LINKED or command.startswith(LEFT_OUT):
                    continue
                if first not in RUN:
                    print(f"{where}: '{first}' is neither run nor known: {command}")
                    failed += 1
                    continue
                result = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                        capture_output=True, text=True, timeout=600)
                ran += 1
                if result.returncode != status:
                    failed += 1
                    print(f"{where}: exit status {result.returncode}, documented {status}: {command}")
                    print("\n".join("    " + line for line in (result.stdout + result.stderr).splitlines()[-12:]))
                else:
                    print(f"{where}: ok", flush=True)
    print(f"{ran} commands run, {failed} failed")
    return 1 if failed or not ran else 0


def slug(heading):
    text = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip().lower())
    return re.sub(r" ", "-", re.sub(r"[^\w\- ]", "", text))


def anchors(page):
    return {slug(match.group(1)) for match in re.finditer(r"^#{1,6} +(.+?) *#*$", page.read_text(encoding="utf-8"), re.M)}


def check_links(_):
    failed = followed = 0
    for page in pages():
        text = page.read_text(encoding="utf-8")
        # what stands in code is no link
        text = re.sub(r"```.*?```", lambda match: "\n" * match.group(0).count("\n"), text, flags=re.S)
        text = re.sub(r"`[^`\n]*`", "", text)
        for match in re.finditer(r"\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)", text):
            target = match.group(1)
            if re.match(r"^[a-z][a-z0-9+.-]*:", target):
                continue
            number = text.count("\n", 0, match.start()) + 1
            path, _, anchor = target.partition("#")
            other = (page.parent / urllib.parse.unquote(path)).resolve() if path else page
            followed += 1
            if not other.is_relative_to(SOURCE.resolve()) or not other.exists():
                failed += 1
                print(f"{page.relative_to(SOURCE)}:{number}: no such file: {target}")
            elif anchor and other.suffix == ".md" and anchor not in anchors(other):
                failed += 1
                print(f"{page.relative_to(SOURCE)}:{number}: no such heading: {target}")
    print(f"{followed} links followed, {failed} broken")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["commands", "links"])
    parser.add_argument("--program")
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    return run_commands(arguments) if arguments.what == "commands" else check_links(arguments)


if __name__ == "__main__":
    sys.exit(main())
