#!/usr/bin/env python3
"""Fails when a file of src/ includes what docs/architecture/rooms.txt does not allow.

scripts/check_includes.py [ROOT]
"""
import fnmatch
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def read_table(path):
    """Returns ({room: set of rooms it may include}, {header prefix: (once, places)})."""
    named, exact, headers = {}, {}, {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.split("#", 1)[0].strip()
        if not line:
            continue
        if match := re.fullmatch(r"header (\S+): *(once )?(.+)", line):
            headers[match[1]] = (bool(match[2]), match[3].split())
        elif match := re.fullmatch(r"([a-z/]+) *(:|=) *([a-z ]*)", line):
            (named if match[2] == ":" else exact)[match[1]] = match[3].split()
        else:
            sys.exit(f"{path}:{number}: not understood: {line}")
    allowed = {}

    def all_of(room, via):
        if room in via:
            sys.exit(f"{path}: rooms include each other: {' -> '.join([*via, room])}")
        if room not in named:
            sys.exit(f"{path}: {via[-1] if via else room} names {room}, which is no room")
        if room not in allowed:
            allowed[room] = {room}.union(*(all_of(other, [*via, room]) for other in named[room]))
        return allowed[room]

    for room in named:
        all_of(room, [])
    for room, others in exact.items():
        if unknown := set(others) - set(named):
            sys.exit(f"{path}: {room} names {unknown.pop()}, which is no room")
        allowed[room] = set(others)
    return allowed, headers


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    allowed, headers = read_table(root / "docs/architecture/rooms.txt")
    rooms = {room for room in allowed if "/" not in room}
    wrong, users = [], {prefix: [] for prefix in headers}
    files = sorted(p for p in (root / "src").rglob("*") if p.suffix in (".h", ".cc", ".c", ".in"))
    for path in files:
        place = path.relative_to(root / "src").as_posix()
        # the longest entry that this file's folder lies in
        owner = max((r for r in allowed if place.startswith(r + "/")), key=len, default=None)
        if owner is None:
            wrong.append(f"src/{place}: lies in no room of docs/architecture/rooms.txt")
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            name = match[2]
            first = name.split("/")[0]
            if match[1] == '"' and first in rooms and "/" in name and first not in allowed[owner]:
                wrong.append(f"src/{place}:{number}: {owner} may not include {first} ({name}); "
                             f"it may include: {' '.join(sorted(allowed[owner] - {owner})) or 'no other room'}")
            # a header beside the file may be named by its bare name (the programs below toolchain/runners/ do)
            beside = "/" not in name and (path.parent / name).exists()
            if match[1] == '"' and not beside and (first not in rooms or "/" not in name):
                wrong.append(f"src/{place}:{number}: our own headers are named from src/ on: \"{name}\"")
            for prefix, (once, places) in headers.items():
                if match[1] == "<" and name.startswith(prefix):
                    users[prefix].append(place)
                    if not any(fnmatch.fnmatch(place, pattern) for pattern in places):
                        wrong.append(f"src/{place}:{number}: <{name}> is for {' '.join(places)} only")
    for prefix, (once, places) in headers.items():
        if once and len(set(users[prefix])) > 1:
            wrong.append(f"<{prefix}> is included in {len(set(users[prefix]))} files, one is allowed: "
                         + " ".join("src/" + p for p in sorted(set(users[prefix]))))
    for line in wrong:
        print(line)
    print(f"includes: {len(files)} files looked at, {len(wrong)} not allowed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
