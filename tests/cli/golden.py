#!/usr/bin/env python3
"""Runs one golden-text file: commands with the exit status and the output that they must have.

The form of the files is described in golden/README.md. Usage: golden.py FILE --program requal [--schemas DIR] [--update]
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

PLACEHOLDERS = {
    "any": r"[^\n]*?",
    "number": r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?",
    "path": r"(?:/[^\s:;']+)",
    "digest": r"sha256:[0-9a-f]{64}",
    "version": r"\d+\.\d+\.\d+(?:\+g[0-9a-f]+(?:\.modified)?)?",
}
MORE_LINES = "{{more}}"


class Case:
    def __init__(self, number, command, is_setup):
        self.number = number
        self.command = command
        self.is_setup = is_setup
        self.status = 0
        self.stdout = []
        self.stderr = []
        self.any_stdout = False
        self.any_stderr = False
        self.schema = None
        self.values = []


def read_cases(path):
    cases = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if line.startswith("$$ "):
            cases.append(Case(number, line[3:], True))
        elif line.startswith("$ "):
            cases.append(Case(number, line[2:], False))
        elif not line.strip() or line.startswith("#"):
            continue
        elif not cases:
            sys.exit(f"{path}:{number}: text before the first command")
        elif line == ">" or line.startswith("> "):
            cases[-1].stdout.append(line[2:])
        elif line == "!" or line.startswith("! "):
            cases[-1].stderr.append(line[2:])
        elif match := re.fullmatch(r"exit (\d+)", line):
            cases[-1].status = int(match[1])
        elif line == "stdout any":
            cases[-1].any_stdout = True
        elif line == "stderr any":
            cases[-1].any_stderr = True
        elif match := re.fullmatch(r"json-schema: (\S+)", line):
            cases[-1].schema = match[1]
        elif match := re.fullmatch(r"json: (\S+) = (.+)", line):
            cases[-1].values.append((match[1], json.loads(match[2])))
        else:
            sys.exit(f"{path}:{number}: unknown line {line!r}; see golden/README.md")
    return cases


def pattern_of(lines):
    pattern = ""
    for line in lines:
        if line == MORE_LINES:
            pattern += r"(?:[^\n]*\n)*?"
            continue
        for part in re.split(r"(\{\{[a-z]+\}\})", line):
            name = part[2:-2] if part.startswith("{{") and part.endswith("}}") else None
            if name is not None and name not in PLACEHOLDERS:
                sys.exit(f"unknown placeholder {part}; known: {', '.join(PLACEHOLDERS)}, more")
            pattern += PLACEHOLDERS[name] if name else re.escape(part)
        pattern += "\n"
    return re.compile(pattern)


def value_at(document, path):
    value = document
    for part in path.split("."):
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value


def shown(text):
    return "".join(f"    {line}\n" for line in text.split("\n")) if text else "    (nothing)\n"


def check_text(name, expected, actual, failures):
    if actual and not actual.endswith("\n"):
        actual += "\n"
    if not pattern_of(expected).fullmatch(actual):
        wanted = "\n".join(expected)
        failures.append(f"{name} is\n{shown(actual.rstrip(chr(10)))}  expected\n{shown(wanted)}")


def check_json(case, text, schemas, failures):
    try:
        document = json.loads(text)
    except ValueError as error:
        failures.append(f"stdout is no JSON document: {error}")
        return
    if case.schema:
        import check_schemas

        failures += check_schemas.problems(document, case.schema, schemas)
    for path, wanted in case.values:
        try:
            found = value_at(document, path)
        except (KeyError, IndexError, ValueError, TypeError):
            failures.append(f"the document has no {path}")
            continue
        if found != wanted or type(found) is not type(wanted):
            failures.append(f"{path} is {json.dumps(found)}, expected {json.dumps(wanted)}")


def run_case(case, folder, environment, schemas, timeout):
    result = subprocess.run(
        ["bash", "-c", case.command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
        capture_output=True, timeout=timeout, check=False)
    stdout = result.stdout.decode("utf-8", "backslashreplace")
    stderr = result.stderr.decode("utf-8", "backslashreplace")
    failures = []
    if result.returncode != case.status:
        failures.append(f"exit status is {result.returncode}, expected {case.status}")
    if case.is_setup:
        if failures:
            failures.append(f"stderr is\n{shown(stderr)}")
        return failures, stdout, stderr
    wants_json = case.schema or case.values
    if wants_json:
        check_json(case, stdout, schemas, failures)
    if not case.any_stdout and (case.stdout or not wants_json):
        check_text("stdout", case.stdout, stdout, failures)
    if not case.any_stderr:
        check_text("stderr", case.stderr, stderr, failures)
    return failures, stdout, stderr


def update_file(path, cases, results):
    """Writes what was printed over the expected lines of failed cases that use no placeholder."""
    lines = path.read_text(encoding="utf-8").split("\n")
    ends = [case.number - 1 for case in cases[1:]] + [len(lines)]
    for case, end, (failures, stdout, stderr) in reversed(list(zip(cases, ends, results))):
        if not failures or case.is_setup or any("{{" in text for text in case.stdout + case.stderr):
            continue
        kept = [line for line in lines[case.number:end] if not re.match(r"[>!]( |$)", line)]
        while kept and not kept[-1].strip():
            kept.pop()
        new = [] if case.any_stdout or case.schema else ["> " + line if line else ">" for line in stdout.split("\n")[:-1]]
        new += [] if case.any_stderr else ["! " + line if line else "!" for line in stderr.split("\n")[:-1]]
        lines[case.number:end] = kept + new + [""]
    path.write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--schemas", type=pathlib.Path)
    parser.add_argument("--timeout", type=float, default=300)
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    source = pathlib.Path(__file__).resolve().parents[2]
    schemas = arguments.schemas or source / "schemas"

    cases = read_cases(arguments.file)
    results = []
    with tempfile.TemporaryDirectory(prefix="requal-golden-") as folder:
        program = arguments.program.resolve()
        environment = {
            "PATH": f"{program.parent}:{os.environ.get('PATH', '/usr/bin:/bin')}",
            "HOME": folder, "TMPDIR": folder, "LC_ALL": "C.UTF-8", "TERM": "dumb",
            "SOURCE": str(source), "BUILD": str(program.parent.parent),
            "PYTHON": shlex.quote(sys.executable),
        }
        for name in ("REQUAL_RUNNERS", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "REQUAL_DEPS"):
            if name in os.environ:
                environment[name] = os.environ[name]
        work = os.path.join(folder, "work")
        os.mkdir(work)
        for case in cases:
            results.append(run_case(case, work, environment, schemas, arguments.timeout))
    failed = 0
    for case, (failures, _, _) in zip(cases, results):
        if failures:
            failed += 1
            print(f"{arguments.file.name}:{case.number}: $ {case.command}")
            for failure in failures:
                print(f"  {failure}")
    if failed and arguments.update:
        update_file(arguments.file, cases, results)
        print(f"{arguments.file} is written again; read the difference before you commit it")
    print(f"{arguments.file.name}: {len(cases) - failed} of {len(cases)} as expected")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
