#!/usr/bin/env python3
"""Fails when a tracked file uses a word that docs/retired-words.txt retires, or names a place that others do not have.

scripts/check_words.py [ROOT]
"""
import fnmatch
import pathlib
import re
import subprocess
import sys

SUFFIXES = {".md", ".txt", ".h", ".cc", ".c", ".in", ".py", ".sh", ".cmake", ".yaml", ".yml", ".json", ""}
# licences are the words of others; the list itself has to name what it retires
SKIPPED = ("LICENSE", "docs/retired-words.txt", "scripts/requirements/*", "tests/*/golden/*", "tests/*/corpus/*")


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    rules = []
    for number, line in enumerate((root / "docs/retired-words.txt").read_text().splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            parts = [part.strip() for part in line.rsplit(" | ", line.count(" | "))]
            if len(parts) not in (2, 3):
                sys.exit(f"docs/retired-words.txt:{number}: PATTERN | say instead | exempt paths")
            rules.append((re.compile(parts[0], re.IGNORECASE), parts[1], parts[2].split() if len(parts) == 3 else []))
    names = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], check=True, capture_output=True).stdout
    wrong = looked_at = 0
    for name in names.decode().split("\0"):
        path = root / name
        if not name or path.suffix not in SUFFIXES or any(fnmatch.fnmatch(name, s) for s in SKIPPED):
            continue
        try:
            text = path.read_text()
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue
        looked_at += 1
        for number, line in enumerate(text.splitlines(), 1):
            if "word-ok" in line:
                continue
            for pattern, instead, exempt in rules:
                if (match := pattern.search(line)) and not any(fnmatch.fnmatch(name, e) for e in exempt):
                    print(f"{name}:{number}: \"{match[0]}\": say {instead}")
                    wrong += 1
    print(f"words: {looked_at} files looked at, {wrong} retired words")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
