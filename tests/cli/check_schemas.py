#!/usr/bin/env python3
"""Checks JSON documents against schemas/NAME-MAJOR.json, and the bytes against the document contract.

Usage: check_schemas.py [--schemas DIR] [--name compare-1] FILE...   ('-' is standard input)
Without --name the document's own `schema` key names the schema.
"""

import argparse
import json
import pathlib
import re
import sys


def problems(document, name, schemas):
    """Every way in which `document` breaks the schema `name`, as lines; empty when there is none."""
    import jsonschema

    path = pathlib.Path(schemas) / f"{name}.json"
    if not path.is_file():
        return [f"there is no schema {path}"]
    schema = json.loads(path.read_text(encoding="utf-8"))
    validator = jsonschema.validators.validator_for(schema)
    validator.check_schema(schema)
    found = []
    for error in sorted(validator(schema).iter_errors(document), key=lambda item: list(map(str, item.path))):
        where = "/".join(map(str, error.path)) or "the document"
        found.append(f"{where}: {error.message[:300]}")
    return found


def contract_problems(text):
    """Deterministic form: sorted keys, two-space indentation, LF, final LF, no duplicate keys."""
    found = []

    def no_duplicates(pairs):
        keys = [key for key, _ in pairs]
        if keys != sorted(keys, key=lambda key: key.encode()):
            found.append(f"keys are not sorted: {keys[:5]}")
        if len(set(keys)) != len(keys):
            found.append(f"duplicate keys: {keys[:5]}")
        return dict(pairs)

    document = json.loads(text, object_pairs_hook=no_duplicates)
    if not text.endswith("\n") or "\r" in text:
        found.append("lines do not end in LF")
    return document, found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--schemas", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2] / "schemas")
    parser.add_argument("--name")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    bad = 0
    for file in arguments.files:
        text = sys.stdin.read() if file == "-" else pathlib.Path(file).read_text(encoding="utf-8")
        document, found = contract_problems(text)
        name = arguments.name or re.sub("/", "-", str(document.get("schema", "")))
        for problem in found + problems(document, name, arguments.schemas):
            bad += 1
            print(f"{file}: {problem}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
