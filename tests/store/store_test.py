#!/usr/bin/env python3
"""The store from outside: processes killed at any moment, disks that fail or are full, bytes that changed, and hostile neighbours.

Usage: store_test.py --program build/debug/bin/requal --fault build/debug/tests/libstore_fault.so [-k PART]

CI_FULL=1: 200 random kills a verb, every call and every byte; without it a part of them.
"""

import argparse
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback

SOURCE = pathlib.Path(os.environ.get("REQUAL_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(SOURCE / "tests" / "cli"))
from check_schemas import contract_problems, problems  # noqa: E402

FULL = os.environ.get("CI_FULL", "0") not in ("", "0")
ARGS = None
SEED = int(os.environ.get("REQUAL_TEST_SEED", "4"))


class Skipped(Exception):
    pass


def run(store, *words, fault=None, check=None, stdin=None, **kwargs):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("REQUAL_FAULT")}
    environment.pop("REQUAL_STORE_LOWER", None)
    environment.update(kwargs.pop("env", {}))
    if fault is not None:
        environment.update(fault, LD_PRELOAD=str(ARGS.fault))
    result = subprocess.run([ARGS.program, *map(str, words), "--store", str(store)], env=environment, capture_output=True, stdin=stdin or subprocess.DEVNULL,
                            timeout=300, **kwargs)
    result.stdout = result.stdout.decode("utf-8", "surrogateescape")
    result.stderr = result.stderr.decode("utf-8", "surrogateescape")
    if check is not None:
        assert result.returncode == check, (words, result.returncode, result.stdout, result.stderr)
    assert "terminate called" not in result.stderr and "Sanitizer" not in result.stderr, result.stderr
    return result


def said(store, *words, status=0, **kwargs):
    result = run(store, *words, "--json", check=status, **kwargs)
    document, found = contract_problems(result.stdout)
    found += problems(document, document["schema"].replace("/", "-"), SOURCE / "schemas")
    assert not found, found
    return document


def clean(store):
    result = run(store, "store", "check")
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def digests(store):
    return {blob["digest"][7:] for blob in said(store, "store", "list", "--blobs")["blobs"]}


def files_with_bytes(folder, count, seed=1, size=300):
    generator = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for index in range(count):
        path = folder / f"f{index:04}"
        path.write_bytes(generator.randbytes(size + index))
        paths.append(path)
    return paths


def sha(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def small_store(folder, name="store"):
    """A store with all that a store has: blobs, names, history, two ledgers, a gc, a run."""
    store, other = folder / name, folder / f"{name}-other"
    paths = files_with_bytes(folder / f"{name}-in", 4)
    run(store, "store", "put", paths[0], "--name", "first", "--kind", "model", "--tag", "t", check=0)
    run(store, "store", "put", paths[1], "--name", "first", check=0)
    run(store, "store", "put", paths[2], check=0)
    run(other, "store", "put", paths[3], "--name", "elsewhere", check=0)
    run(store, "ledger", "merge", other, check=0)
    old = folder / f"{name}-run"
    record = {"schema": "run/1", "requal": "0.1.0", "run": "20261130T181136Z-1a2b3c4d", "verdict": "pass", "files": [], "gates": [], "outputs": [],
              "samples": [], "steps": []}
    view = store / "runs" / record["run"]
    view.mkdir()
    (view / "record.json").write_text(json.dumps(record))
    (view / "report.html").write_text("<!DOCTYPE html>\n")
    run(store, "store", "upgrade", check=0)
    run(store, "store", "gc", "--keep", "names", check=0)
    clean(store)
    assert not old.exists()
    return store


def all_files(store):
    return sorted(path for path in store.rglob("*") if path.is_file() and not path.is_symlink())


TESTS = []


def test(function):
    TESTS.append(function)
    return function


# --- what is kept -------------------------------------------------------------------------------------------------------------


@test
def put_get_list_and_history(folder):
    store = folder / "s"
    one, two = files_with_bytes(folder / "in", 2)
    said(store, "store", "put", one, "--name", "model", "--kind", "model", "--tag", "a", "--tag", "b")
    document = said(store, "store", "put", two, "--name", "model")
    assert document["items"][0]["fresh"] is True
    assert said(store, "store", "put", two, "--name", "model")["fresh"] == 0
    assert [entry["digest"][7:] for entry in said(store, "store", "list")["references"]] == [sha(two)]
    history = said(store, "store", "list", "--history")["references"]
    assert [(entry["digest"][7:], entry["current"]) for entry in history] == [(sha(one), False), (sha(two), True)]
    assert history[0]["tags"] == ["a", "b"] and history[0]["kind"] == "model"
    for name, path in (("model", two), (sha(one), one), ("sha256:" + sha(one), one), (sha(one)[:10], one)):
        said(store, "store", "get", name, "--out", folder / "out")
        assert (folder / "out").read_bytes() == path.read_bytes()
    result = subprocess.run([ARGS.program, "store", "get", "model", "--store", str(store)], capture_output=True, check=True)
    assert result.stdout == two.read_bytes()
    with one.open("rb") as stream:
        assert sha(one) in run(store, "store", "put", "-", stdin=stream, check=0).stdout
    records = said(store, "ledger", "show")["records"]
    assert [record["seq"] for record in records] == list(range(len(records)))
    said(store, "ledger", "list")
    clean(store)


@test
def rebuild_gives_the_same_index(folder):
    store = small_store(folder)
    before = said(store, "store", "list", "--history"), digests(store), said(store, "run", "list")
    (store / "requal.db").unlink()
    shutil.rmtree(store / "runs")
    (store / "runs").mkdir()
    said(store, "store", "rebuild")
    assert before == (said(store, "store", "list", "--history"), digests(store), said(store, "run", "list"))
    clean(store)
    assert (store / "runs" / "20261130T181136Z-1a2b3c4d" / "report.html").read_text().startswith("<!DOCTYPE")


@test
def gc_keeps_what_policy_baselines_and_deviations_need(folder):
    store = folder / "s"
    paths = files_with_bytes(folder / "in", 8)
    name = {index: sha(path) for index, path in enumerate(paths)}
    run(store, "store", "put", *paths[:4], check=0)
    baseline = folder / "baseline.json"
    baseline.write_text(json.dumps({"schema": "baseline/1", "engine": "sha256:" + name[0], "deep": [{"list": "sha256:" + name[1]}]}))
    run(store, "store", "put", baseline, "--name", "base", "--kind", "baseline", check=0)
    deviation = folder / "deviation.json"
    deviation.write_text(json.dumps({"evidence": "sha256:" + name[2]}))
    run(store, "store", "put", deviation, "--name", "dev", "--kind", "deviation", "--tag", "open", check=0)
    run(store, "store", "put", paths[4], "--name", "plain", check=0)
    run(store, "store", "put", paths[5], "--name", "tagged", "--tag", "keep", check=0)
    dry = said(store, "store", "gc", "--keep", "baselines", "--keep", "tag:keep", "--dry-run")
    assert {blob["digest"][7:] for blob in dry["removed"]} == {name[3], name[4]}
    assert name[3] in digests(store)
    assert said(store, "store", "gc", "--keep", "baselines", "--keep", "tag:keep")["removed"] == dry["removed"]
    assert digests(store) == {name[0], name[1], name[2], name[5], sha(baseline), sha(deviation)}
    removed = [record for record in said(store, "ledger", "show", "--type", "gc")["records"]]
    assert {item["digest"][7:] for record in removed for item in record["body"]["removed"]} == {name[3], name[4]}
    assert run(store, "store", "get", "plain").returncode == 2
    # a closed deviation and a forgotten baseline need nothing any more
    run(store, "store", "put", deviation, "--name", "dev", "--kind", "deviation", "--tag", "closed", check=0)
    run(store, "store", "forget", "base", check=0)
    run(store, "store", "gc", "--keep", "days:0", check=0)
    assert digests(store) == set()
    clean(store)
    run(store, "store", "put", paths[4], check=0)
    assert digests(store) == {name[4]}
    for word in ("runs:-1", "days:x", "everything", "tag:"):
        run(store, "store", "gc", "--keep", word, check=2)
    clean(store)


@test
def a_quota_keeps_its_reserve(folder):
    store = folder / "s"
    big, small = folder / "big", folder / "small"
    big.write_bytes(random.Random(1).randbytes(700_000))
    small.write_bytes(random.Random(2).randbytes(250_000))
    said(store, "store", "quota", "--max-bytes", "1MB", "--reserve-bytes", "200KB")
    run(store, "store", "put", big, check=0)
    result = run(store, "store", "put", small, check=4)
    assert "limit" in result.stderr and len(result.stderr.splitlines()) == 1, result.stderr
    assert not list((store / "tmp").iterdir())
    assert said(store, "store", "quota")["used_bytes"] == 700_000
    run(store, "store", "forget", "nothing", check=2)
    run(store, "store", "quota", "--max-bytes", "1MB", "--reserve-bytes", "1MB", check=2)
    clean(store)


@test
def a_store_below_is_read_through(folder):
    lower, upper = folder / "lower", folder / "upper"
    one, two = files_with_bytes(folder / "in", 2)
    run(lower, "store", "put", one, "--name", "shared", check=0)
    run(upper, "store", "put", two, "--name", "own", check=0)
    before = {path: path.read_bytes() for path in all_files(lower)}
    env = {"REQUAL_STORE_LOWER": str(lower)}
    assert run(upper, "store", "get", "shared", "--out", folder / "out", env=env).returncode == 0
    assert (folder / "out").read_bytes() == one.read_bytes()
    assert {entry["name"] for entry in said(upper, "store", "list", env=env)["references"]} == {"own", "shared"}
    run(upper, "store", "put", one, "--name", "shared", env=env, check=0)
    assert [entry["name"] for entry in said(upper, "store", "list", env=env)["references"]].count("shared") == 1
    assert before == {path: path.read_bytes() for path in all_files(lower)}
    run(upper, "store", "get", "shared", env={"REQUAL_STORE_LOWER": str(folder / "nowhere")}, check=2)


@test
def ledgers_merge_without_renumbering(folder):
    stores = [folder / name for name in "abc"]
    paths = files_with_bytes(folder / "in", 6)
    for index, store in enumerate(stores):
        run(store, "store", "put", *paths[2 * index:2 * index + 2], check=0)
        run(store, "store", "put", paths[2 * index], "--name", f"n{index}", check=0)
    lines = {store: next((store / "ledger").glob("*.jsonl")).read_bytes() for store in stores}
    for store in stores[1:]:
        said(stores[0], "ledger", "merge", store)
    for store in stores[1:]:
        name = next((store / "ledger").glob("*.jsonl")).name
        assert (stores[0] / "ledger" / name).read_bytes() == lines[store]
    assert {entry["name"] for entry in said(stores[0], "store", "list")["references"]} == {"n0", "n1", "n2"}
    assert digests(stores[0]) == {sha(path) for path in paths}
    clean(stores[0])
    # again, and after the other went on
    assert [ledger["added"] for ledger in said(stores[0], "ledger", "merge", stores[1])["ledgers"]] == [0]
    run(stores[1], "store", "put", paths[0], "--name", "later", check=0)
    assert [ledger["added"] for ledger in said(stores[0], "ledger", "merge", stores[1])["ledgers"]] == [1]
    clean(stores[0])
    # exported text is a ledger, too
    run(stores[2], "ledger", "export", "--out", folder / "c.jsonl", check=0)
    assert (folder / "c.jsonl").read_bytes() == lines[stores[2]]
    assert said(stores[1], "ledger", "merge", folder / "c.jsonl")["ledgers"][0]["added"] > 0
    clean(stores[1])
    # two copies of one store that went different ways
    shutil.copytree(stores[2], folder / "copy")
    run(stores[2], "store", "put", paths[0], check=0)
    run(folder / "copy", "store", "put", paths[1], check=0)
    result = run(stores[2], "ledger", "merge", folder / "copy", check=2)
    assert "another way" in result.stderr, result.stderr
    # a merged ledger that is cut afterwards is found by the checkpoint, whatever its head says
    name = next((stores[1] / "ledger").glob("*.jsonl")).name.split(".")[0]
    cut = b"".join(lines[stores[1]].splitlines(keepends=True)[:-1])
    (stores[0] / "ledger" / f"{name}.jsonl").write_bytes(cut)
    (stores[0] / "ledger" / f"{name}.head").unlink()
    (stores[0] / "requal.db").unlink()
    (stores[0] / "requal.db.seal").unlink()
    result = run(stores[0], "store", "check", check=4)
    assert f"ledger/{name}.jsonl" in result.stdout, result.stdout


@test
def a_checkpoint_kept_elsewhere_shows_a_ledger_that_was_cut_back(folder):
    store = folder / "s"
    paths = files_with_bytes(folder / "in", 3)
    run(store, "store", "put", paths[0], check=0)
    old = folder / "old"
    shutil.copytree(store, old)
    run(store, "store", "put", paths[1], check=0)
    said(store, "ledger", "checkpoint", "--out", folder / "cp.json")
    run(store, "store", "put", paths[2], check=0)
    run(store, "store", "check", "--checkpoint", folder / "cp.json", check=0)
    # the whole store put back to an earlier, consistent state
    run(old, "store", "check", check=0)
    result = run(old, "store", "check", "--checkpoint", folder / "cp.json", check=4)
    assert "checkpoint" in result.stdout
    (folder / "bad.json").write_text('{"schema": "ledger-checkpoint/1", "ledger": 3}\n')
    run(store, "store", "check", "--checkpoint", folder / "bad.json", check=2)


# --- damage -------------------------------------------------------------------------------------------------------------------


@test
def every_byte_that_flips_is_found_and_named(folder):
    store = small_store(folder)
    generator = random.Random(SEED)
    seen = 0
    inodes = {}
    for path in all_files(store):
        inodes.setdefault(path.stat().st_ino, []).append(path.relative_to(store))
    for path in all_files(store):
        content = path.read_bytes()
        positions = range(len(content))
        limit = 1 << 20 if FULL else 8
        if path.name == "reserve":  # a MiB of zeros, all read by one loop
            limit = 256 if FULL else 8
        if len(content) > limit:
            positions = sorted(set(generator.sample(range(len(content)), limit)) | {0, len(content) - 1})
        names = {str(name) for name in inodes[path.stat().st_ino]}
        for position in positions:
            os.chmod(path, 0o644)
            with path.open("r+b") as stream:
                stream.seek(position)
                stream.write(bytes([content[position] ^ (1 << generator.randrange(8))]))
            result = run(store, "store", "check")
            assert result.returncode == 4, (path, position, result.stdout, result.stderr)
            first = next((line for line in result.stdout.splitlines() if line.startswith("first damage: ")), result.stdout)
            assert any(f"first damage: {name}: " in first for name in names), (path, position, result.stdout)
            seen += 1
            with path.open("r+b") as stream:
                stream.seek(position)
                stream.write(content[position:position + 1])
    clean(store)
    print(f"  {seen} flips, all found and named")


@test
def records_removed_reordered_or_changed_are_found(folder):
    store = small_store(folder)
    path = max((store / "ledger").glob("*.jsonl"), key=lambda ledger: ledger.stat().st_size)
    content = path.read_bytes()
    lines = content.splitlines(keepends=True)

    def spoiled(new, says):
        path.write_bytes(b"".join(new))
        result = run(store, "store", "check", check=4)
        assert f"first damage: ledger/{path.name}" in result.stdout and says in result.stdout, result.stdout
        before = {file: file.read_bytes() for file in all_files(store)}
        put = run(store, "store", "put", SOURCE / "VERSION")
        if len(b"".join(new)) < len(content):
            assert put.returncode == 4, (put.stdout, put.stderr)  # nothing is appended to a ledger that was cut
            assert {file: file.read_bytes() for file in all_files(store)} == before
        path.write_bytes(content)

    spoiled(lines[:-1], "removed")
    spoiled(lines[:2] + lines[3:], "missing")
    spoiled(lines[1:], "missing")
    spoiled(lines[:-1] + [lines[-1][:-1]], "cut off")
    spoiled([], "removed")
    for index in range(len(lines)):
        path.write_bytes(b"".join(lines[:index] + [lines[index].replace(b'"wall":"2', b'"wall":"3', 1)] + lines[index + 1:]))
        assert f"first damage: ledger/{path.name}" in run(store, "store", "check", check=4).stdout
    path.write_bytes(b"".join(lines[:1] + [lines[2], lines[1]] + lines[3:]))
    assert f"first damage: ledger/{path.name}" in run(store, "store", "check", check=4).stdout
    path.write_bytes(content)
    clean(store)


@test
def what_a_killed_writer_left_behind_the_head_is_no_damage(folder):
    store = folder / "s"
    paths = files_with_bytes(folder / "in", 3)
    run(store, "store", "put", paths[0], check=0)
    path = next((store / "ledger").glob("*.jsonl"))
    for torn in (b'{"body":{"items":[', b"\0" * 700, b'{"body":{},"prev":"00","seq":99,"time":{},"type":"put"}\n', b"\n", b"\xff\xfe\n"):
        with path.open("ab") as stream:
            stream.write(torn)
        assert "note: " in clean(store)
        run(store, "store", "list", check=0)
        run(store, "store", "put", paths[1], "--name", f"n{len(torn)}", check=0)
        clean(store)
    assert len(list((store / "ledger").glob("*.torn-*"))) == 5
    # a whole record that its writer could not note in the head counts
    head = next((store / "ledger").glob("*.head"))
    before = head.read_bytes()
    seal, database = (store / "requal.db.seal").read_bytes(), (store / "requal.db").read_bytes()
    run(store, "store", "put", paths[2], "--name", "last", check=0)
    head.write_bytes(before)
    (store / "requal.db").write_bytes(database)
    (store / "requal.db.seal").write_bytes(seal)
    clean(store)
    assert "last" in run(store, "store", "list", check=0).stdout
    clean(store)


@test
def a_missing_or_foreign_blob_is_named(folder):
    store = folder / "s"
    one, two = files_with_bytes(folder / "in", 2)
    run(store, "store", "put", one, "--name", "one", check=0)
    run(store, "store", "put", two, check=0)
    place = store / "blobs" / "sha256" / sha(one)[:2] / sha(one)
    place.chmod(0o644)
    place.write_bytes(two.read_bytes())
    assert f"first damage: {place.relative_to(store)}" in run(store, "store", "check", check=4).stdout
    result = run(store, "store", "get", "one", "--out", folder / "out", check=4)
    assert "digest" in result.stderr and not (folder / "out").exists()
    assert run(store, "store", "get", "one", check=4).stdout == ""
    place.unlink()
    assert "missing: 'one'" in run(store, "store", "check", check=4).stdout
    run(store, "store", "put", one, check=0)
    clean(store)
    record = said(store, "ledger", "show", "--type", "repair")["records"][-1]["body"]["blobs"]
    assert [(blob["digest"][7:], blob["found"]) for blob in record] == [(sha(one), None)]


@test
def a_damaged_blob_is_repaired_by_putting_it_again(folder):
    store = small_store(folder)
    large = folder / "large"
    large.write_bytes(random.Random(8).randbytes(2_500_000))
    one = folder / "store-in" / "f0001"  # named 'first'
    run(store, "store", "put", large, "--name", "large", check=0)
    for path in (one, large):
        place = store / "blobs" / "sha256" / sha(path)[:2] / sha(path)
        for spoiled in (b"x" * path.stat().st_size, b"short", b""):
            place.chmod(0o644)
            place.write_bytes(spoiled)
            run(store, "store", "check", check=4)
            document = said(store, "store", "put", path)
            assert document["repaired"] == 1 and document["fresh"] == 0 and document["items"][0]["repaired"] is True, document
            assert place.read_bytes() == path.read_bytes()
            clean(store)
            found = said(store, "ledger", "show", "--type", "repair")["records"][-1]["body"]["blobs"]
            assert found == [{"digest": "sha256:" + sha(path), "found": "sha256:" + hashlib.sha256(spoiled).hexdigest(),
                              "size_bytes": path.stat().st_size}], found
        assert said(store, "store", "put", path)["repaired"] == 0
    # the folder of a run shows the same file: it is made again
    run_folder = next((store / "runs").iterdir())
    report = run_folder / "report.html"
    content = report.read_bytes()
    report.chmod(0o644)
    report.write_bytes(b"<" * len(content))
    run(store, "store", "check", check=4)
    (folder / "again").write_bytes(content)
    assert said(store, "store", "put", folder / "again")["repaired"] == 1
    assert report.read_bytes() == content
    clean(store)
    run(store, "store", "rebuild", check=0)
    clean(store)


@test
def links_planted_in_the_store_are_refused(folder):
    outside = folder / "outside"
    outside.mkdir()
    (outside / "precious").write_text("precious")
    one = files_with_bytes(folder / "in", 1)[0]
    for place in ("blobs", "blobs/sha256", "ledger", "tmp", "runs"):
        store = folder / place.replace("/", "-")
        run(store, "store", "put", SOURCE / "VERSION", check=0)
        shutil.move(store / place, folder / ("moved-" + place.replace("/", "-")))
        (store / place).symlink_to(outside)
        run(store, "store", "put", one, check=4)
        assert run(store, "store", "check").returncode == 4
    for place in ("lock", "lock-blobs", "requal.db", "format"):
        store = folder / ("f" + place)
        run(store, "store", "put", SOURCE / "VERSION", check=0)
        shutil.copy(store / place, outside / place)
        (store / place).unlink()
        (store / place).symlink_to(outside / place)
        run(store, "store", "put", one, check=4)
        assert run(store, "store", "check").returncode == 4
    store = folder / "blob"
    run(store, "store", "put", SOURCE / "VERSION", check=0)
    (store / "blobs" / "sha256" / sha(one)[:2]).symlink_to(outside)
    run(store, "store", "put", one, check=4)
    (store / "blobs" / "sha256" / sha(one)[:2]).unlink()
    (store / "blobs" / "sha256" / sha(one)[:2]).mkdir(exist_ok=True)
    (store / "blobs" / "sha256" / sha(one)[:2] / sha(one)).symlink_to(outside / "precious")
    run(store, "store", "put", one, check=4)
    assert "link" in run(store, "store", "check", check=4).stdout
    assert (outside / "precious").read_text() == "precious"
    assert sorted(path.name for path in outside.iterdir()) == ["format", "lock", "lock-blobs", "precious", "requal.db"]


@test
def a_database_of_something_else_is_left_alone(folder):
    store = folder / "s"
    run(store, "store", "put", SOURCE / "VERSION", check=0)
    (store / "requal.db").unlink()
    database = sqlite3.connect(store / "requal.db")
    database.execute("CREATE TABLE bookmarks(url TEXT)")
    database.commit()
    database.close()
    before = (store / "requal.db").read_bytes()
    for words in (["put", SOURCE / "LICENSE"], ["list"], ["rebuild"], ["gc"]):
        result = run(store, "store", *words, check=4)
        assert "belongs to something else" in result.stderr, result.stderr
    assert run(store, "store", "check").returncode == 4
    assert (store / "requal.db").read_bytes() == before
    (store / "requal.db").write_bytes(b"no database at all" * 100)
    run(store, "store", "list", check=4)
    run(store, "store", "rebuild", check=0)
    clean(store)


@test
def a_store_of_a_newer_form_is_read_and_not_written(folder):
    store = folder / "s"
    run(store, "store", "put", SOURCE / "VERSION", "--name", "v", check=0)
    document = json.loads((store / "format").read_text())

    def write(**members):
        new = {key: value for key, value in {**document, **members}.items() if key != "check"}
        compact = json.dumps(new, sort_keys=True, separators=(",", ":"))
        new["check"] = "sha256:" + hashlib.sha256(compact.encode()).hexdigest()
        (store / "format").write_text(json.dumps(new, sort_keys=True, separators=(",", ":")) + "\n")

    write(version=2)
    before = {path: path.read_bytes() for path in all_files(store)}
    assert "v " in run(store, "store", "list", check=0).stdout
    run(store, "store", "get", "v", "--out", folder / "out", check=0)
    result = run(store, "store", "put", SOURCE / "LICENSE", check=4)
    assert "form 2" in result.stderr, result.stderr
    for words in (["gc"], ["rebuild"], ["upgrade"], ["forget", "v"]):
        run(store, "store", *words, check=4)
    assert before == {path: path.read_bytes() for path in all_files(store)}
    write(version=3, readable_by=3)
    run(store, "store", "list", check=4)
    (store / "format").write_text("{}\n")
    assert "format" in run(store, "store", "list", check=4).stderr


@test
def bad_names_change_nothing(folder):
    store = folder / "s"
    one = files_with_bytes(folder / "in", 1)[0]
    bad = ["", "..", ".", "a/b", "/etc/passwd", "a\\b", "a\nb", "a\x1b[31m", "\x7f", b"\xff\xfe".decode("utf-8", "surrogateescape"), "-x", ".hidden",
           "x" * 201, "sha256:abc", "deadbeef00", "\u202eabc", " x", "x "]
    for name in bad:
        result = run(store, "store", "put", one, f"--name={name}")
        assert result.returncode == 2, (name, result.returncode, result.stderr)
        assert "\x1b" not in result.stderr
    for words in (["--tag", "a b"], ["--tag", "\x1b"], ["--kind", "A"], ["--kind", "../x"]):
        run(store, "store", "put", one, *words, check=2)
    run(store, "store", "put", folder, check=2)
    run(store, "store", "put", folder / "nothing", check=2)
    run(store, "store", "put", "/dev/null", check=2)
    os.mkfifo(folder / "fifo")
    run(store, "store", "put", folder / "fifo", check=2)
    assert not store.exists()
    run(store, "store", "list", check=2)
    run(store, "store", "put", one, "--name", "Größe 320×320", check=0)
    for name in ("../x", "", "ffffffff", "zz", "\x1b"):
        run(store, "store", "get", name, check=2)
    clean(store)


@test
def hostile_json_lines_are_refused(folder):
    store, other = folder / "s", folder / "o"
    run(store, "store", "put", SOURCE / "VERSION", check=0)
    run(other, "store", "put", SOURCE / "LICENSE", "--name", "other", check=0)
    good = next((other / "ledger").glob("*.jsonl")).read_bytes()
    lines = good.splitlines(keepends=True)
    name = next((other / "ledger").glob("*.jsonl")).name[:16]

    def chained(bodies):
        text, previous = b"", "0" * 64
        for seq, (kind, body) in enumerate(bodies):
            line = json.dumps({"body": body, "prev": previous, "seq": seq, "time": {"wall": "2026"}, "type": kind}, sort_keys=True,
                              separators=(",", ":")).encode()
            previous = hashlib.sha256(line).hexdigest()
            text += line + b"\n"
        return text

    start = ("ledger-started", {"ledger": "00112233aabbccdd"})
    hostile = [b"", b"\n", b"{}\n", b"[]\n", b"null\n", good[:-1], good[:100], good + b"x", good + b"\n", b"\xff\n", lines[1], lines[0] + lines[0],
               lines[0].replace(b"ledger-started", b"../../x-started"), b"[" * 100_000, b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"\n", b"x" * 20_000_000,
               lines[0].replace(name.encode(), b"../../../etc/pas"), lines[0].replace(b'"seq":0', b'"seq":-1'), lines[0].replace(b'"seq":0', b'"seq":1e0'),
               lines[0].replace(b'"seq":0', b'"seq":0,"seq":0'), chained([("put", {})]), chained([("ledger-started", {"ledger": "../../../../x"})]),
               chained([("ledger-started", {"ledger": 5})]), chained([start, ("BAD TYPE", {})])]
    before = {path: path.read_bytes() for path in all_files(store)}
    for index, text in enumerate(hostile):
        (folder / "in.jsonl").write_bytes(text)
        result = run(store, "ledger", "merge", folder / "in.jsonl")
        assert result.returncode == 2, (index, text[:80], result.returncode, result.stderr)
        assert len(result.stderr.splitlines()) == 1 and "\x1b" not in result.stderr
    run(store, "ledger", "merge", "/dev/zero", check=2)
    assert before == {path: path.read_bytes() for path in all_files(store)}
    # a whole chain whose bodies mean nothing, or mean harm, is taken in as records and gives nothing else
    nasty = [start, ("put", {"items": [{"digest": "sha256:" + "0" * 64, "size_bytes": -5, "kind": "blob", "name": "../../x"}]}), ("put", {"items": 7}),
             ("gc", {"removed": [{"digest": "sha256:" + sha(SOURCE / "VERSION"), "size_bytes": 1}]}), ("settings", {"max_bytes": 1}),
             ("forget", {"name": 3}), ("work-started", {"work": "x"}), ("future-type", {"anything": [1, {"b": None}]}), ("checkpoint", {"ledger": "x"})]
    (folder / "in.jsonl").write_bytes(chained(nasty))
    run(store, "ledger", "merge", folder / "in.jsonl", check=0)
    assert digests(store) == {sha(SOURCE / "VERSION")}
    assert said(store, "store", "quota")["max_bytes"] == 0
    clean(store)
    run(store, "store", "rebuild", check=0)
    clean(store)


# --- processes ----------------------------------------------------------------------------------------------------------------


def killed_at(store, delay, *words, env=None):
    process = subprocess.Popen([ARGS.program, *map(str, words), "--store", str(store)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env=dict(os.environ, **(env or {})))
    try:
        process.wait(timeout=delay)
        return False
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return True


@test
def kill_9_at_random_moments_of_put(folder):
    store = folder / "s"
    paths = files_with_bytes(folder / "in", 60, size=20_000)
    begin = time.monotonic()
    run(folder / "timing", "store", "put", *paths, check=0)
    whole = time.monotonic() - begin
    generator = random.Random(SEED)
    rounds = 200 if FULL else 12
    killed = 0
    for index in range(rounds):
        if index % 10 == 0 and store.exists():
            shutil.rmtree(store)
        new = files_with_bytes(folder / "new", 20, seed=1000 + index, size=5_000)
        killed += killed_at(store, generator.uniform(0, whole * 1.1), "store", "put", *paths, *new)
        if (store / "format").exists():
            clean(store)
        # called again, it ends with the same digests; nothing is lost or doubled
        document = said(store, "store", "put", *paths, *new)
        assert [item["digest"][7:] for item in document["items"]] == [sha(path) for path in paths + new]
        assert {sha(path) for path in paths + new} <= digests(store)
        clean(store)
        named = [item["digest"] for record in said(store, "ledger", "show", "--type", "put")["records"] for item in record["body"]["items"]]
        assert len(named) == len(set(named)), "a blob is recorded twice"
        assert not list((store / "tmp").iterdir())
    print(f"  {killed} of {rounds} were killed in the middle")
    assert killed >= 1


@test
def kill_9_at_random_moments_of_gc(folder):
    keep = files_with_bytes(folder / "keep", 3)
    rounds = 200 if FULL else 8
    whole, killed = 0.05, 0
    generator = random.Random(SEED + 1)
    for index in range(rounds):
        store = folder / f"s{index}"
        drop = files_with_bytes(folder / "drop", 60, seed=100 + index)
        for number, path in enumerate(keep):
            run(store, "store", "put", path, "--name", f"k{number}", check=0)
        run(store, "store", "put", *drop, check=0)
        killed += killed_at(store, generator.uniform(0, whole), "store", "gc")
        clean(store)
        begin = time.monotonic()
        run(store, "store", "gc", check=0)
        whole = max(whole, time.monotonic() - begin)
        assert digests(store) == {sha(path) for path in keep}
        assert len(list((store / "blobs").rglob("?" * 64))) == 3
        assert "note" not in clean(store)
        removed = [item["digest"] for record in said(store, "ledger", "show", "--type", "gc")["records"] for item in record["body"]["removed"]]
        assert len(removed) == len(set(removed)) == 60
        shutil.rmtree(store)
    print(f"  {killed} of {rounds} were killed in the middle")


@test
def many_processes_at_once(folder):
    store = folder / "s"
    shared = files_with_bytes(folder / "shared", 20)
    own = [files_with_bytes(folder / f"own{index}", 15, seed=50 + index) for index in range(6)]
    running = []
    for index, paths in enumerate(own):
        for path in (paths[:5], paths[5:10] + shared, paths[10:]):
            running.append(subprocess.Popen([ARGS.program, "store", "put", *map(str, path), "--store", str(store)], stdout=subprocess.DEVNULL))
        running.append(subprocess.Popen([ARGS.program, "store", "put", str(shared[index]), "--name", "common", "--store", str(store)],
                                        stdout=subprocess.DEVNULL))
    for process in running:
        assert process.wait(timeout=200) == 0
    assert digests(store) == {sha(path) for path in shared + sum(own, [])}
    assert len([entry for entry in said(store, "store", "list")["references"] if entry["name"] == "common"]) == 1
    assert "note" not in clean(store)


@test
def a_writer_killed_while_it_holds_the_lock_stops_nobody(folder):
    store = folder / "s"
    one, two = files_with_bytes(folder / "in", 2)
    run(store, "store", "put", one, check=0)
    count = int(count_calls(folder, store, "put", two))
    middle = {"REQUAL_FAULT_AT": str(count // 2), "REQUAL_FAULT_ERROR": "0"}
    run(store, "store", "put", files_with_bytes(folder / "in2", 1, seed=9)[0], fault=middle, check=-9)
    begin = time.monotonic()
    run(store, "store", "put", two, check=0)
    assert time.monotonic() - begin < 30
    clean(store)
    # one that lives is waited for
    import fcntl
    with (store / "lock").open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        process = subprocess.Popen([ARGS.program, "store", "put", str(SOURCE / "VERSION"), "--store", str(store)], stdout=subprocess.DEVNULL)
        time.sleep(0.5)
        assert process.poll() is None
        run(store, "store", "list", check=0)  # readers do not wait
    assert process.wait(timeout=60) == 0
    clean(store)


# --- disks --------------------------------------------------------------------------------------------------------------------


def count_calls(folder, store, *words):
    log = folder / "calls"
    copy = folder / "counted"
    shutil.rmtree(copy, ignore_errors=True)
    if store.exists():
        shutil.copytree(store, copy)
    run(copy, "store", *words, fault={"REQUAL_FAULT_AT": "0", "REQUAL_FAULT_LOG": str(log)}, check=0)
    shutil.rmtree(copy)
    return log.read_text().split()[0]


def for_each_call(folder, prepare, words, finish, error, sticky=False, reads=False, step=1):
    """`prepare()` gives a fresh store; the verb fails at each of its calls in turn."""
    store = prepare()
    fault = {"REQUAL_FAULT_ERROR": str(error), "REQUAL_FAULT_STICKY": "1" if sticky else "0", "REQUAL_FAULT_READS": "1" if reads else "0"}
    log = folder / "calls"
    run(store, "store", *words, fault=dict(fault, REQUAL_FAULT_AT="0", REQUAL_FAULT_LOG=str(log)), check=0)
    count = int(log.read_text().split()[0])
    shutil.rmtree(store)
    failed = 0
    for at in range(1, count + 1, step):
        store = prepare()
        result = run(store, "store", *words, fault=dict(fault, REQUAL_FAULT_AT=str(at)))
        if error == 0:
            assert result.returncode == -9, (at, result.returncode)
        else:
            assert result.returncode in (0, 4, 2 if reads else 4), (at, result.returncode, result.stdout, result.stderr)
            if result.returncode != 0:
                failed += 1
                assert len(result.stderr.splitlines()) == 1, (at, result.stderr)
        if (store / "format").exists():
            checked = run(store, "store", "check")
            assert checked.returncode == 0, (at, checked.stdout, checked.stderr)
        finish(store)
        shutil.rmtree(store)
    return count, failed


def fresh_store(folder, files):
    def prepare():
        store = folder / "s"
        shutil.rmtree(store, ignore_errors=True)
        run(store, "store", "put", files[0], "--name", "first", check=0)
        return store
    return prepare


@test
def an_error_at_every_call_of_put_leaves_a_good_store(folder):
    files = files_with_bytes(folder / "in", 3)
    big = folder / "in" / "big"
    big.write_bytes(random.Random(3).randbytes(2_500_000))

    def finish(store):
        run(store, "store", "put", *files, big, check=0)
        assert digests(store) == {sha(path) for path in [*files, big]}
        clean(store)

    step = 1 if FULL else 13
    for error in (5, 28, 0):  # EIO, ENOSPC, killed
        count, failed = for_each_call(folder, fresh_store(folder, files), ["put", files[1], files[2], big], finish, error, step=step)
        print(f"  errno {error}: {count} calls, {failed} failed")
    count, failed = for_each_call(folder, fresh_store(folder, files), ["put", files[1], files[2], big], finish, 28, sticky=True, step=step + 2)
    print(f"  full from the n-th call on: {count} calls, {failed} failed")


@test
def an_error_at_every_call_of_a_new_store_leaves_nothing_bad(folder):
    files = files_with_bytes(folder / "in", 2)

    def prepare():
        shutil.rmtree(folder / "s", ignore_errors=True)
        return folder / "s"

    def finish(store):
        run(store, "store", "put", *files, check=0)
        clean(store)

    for error in (5, 0):
        for_each_call(folder, prepare, ["put", files[0]], finish, error, step=1 if FULL else 12)


@test
def an_error_at_every_call_of_gc_and_rebuild_leaves_a_good_store(folder):
    files = files_with_bytes(folder / "in", 5)

    def prepare():
        store = fresh_store(folder, files)()
        run(store, "store", "put", *files[1:], check=0)
        return store

    def finish(store):
        run(store, "store", "gc", check=0)
        assert digests(store) == {sha(files[0])}
        clean(store)

    for error in (5, 0):
        for_each_call(folder, prepare, ["gc"], finish, error, step=1 if FULL else 16)
        for_each_call(folder, prepare, ["rebuild"], finish, error, step=1 if FULL else 22)


@test
def an_error_at_every_read_is_said(folder):
    files = files_with_bytes(folder / "in", 2)

    def finish(store):
        clean(store)

    step = 1 if FULL else 15
    for words in (["put", files[1]], ["list"], ["get", "first", "--out", str(folder / "out")]):
        for_each_call(folder, fresh_store(folder, files), words, finish, 5, reads=True, step=step)


@test
def a_full_disk_loses_nothing(folder):
    if os.geteuid() != 0:
        raise Skipped("needs root to mount a small tmpfs")
    mount = folder / "disk"
    mount.mkdir()
    files = files_with_bytes(folder / "in", 30, size=60_000)
    sizes = range(300, 1500, 100 if FULL else 400)
    for size in sizes:
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", str(mount)], capture_output=True, text=True)
        if done.returncode != 0:
            raise Skipped("cannot mount a tmpfs here: " + done.stderr.strip())
        try:
            store = mount / "s"
            good = []
            for path in files:
                result = run(store, "store", "put", path)
                if result.returncode != 0:
                    assert result.returncode == 4 and len(result.stderr.splitlines()) == 1, (result.returncode, result.stderr)
                    break
                good.append(path)
            else:
                raise AssertionError("it never filled")
            if (store / "format").exists():
                clean(store)
                assert {sha(path) for path in good} <= digests(store)
                for path in good[:3]:
                    run(store, "store", "get", sha(path), "--out", folder / "out", check=0)
                subprocess.run(["mount", "-o", "remount,size=20m", str(mount)], check=True)
                run(store, "store", "put", *files, check=0)
                clean(store)
        finally:
            subprocess.run(["umount", "-l", str(mount)], check=False)


class SmallDisk:
    """A tmpfs of some MiB, which can be filled up to a few pages."""

    def __init__(self, folder, size_kib=4096):
        if os.geteuid() != 0:
            raise Skipped("needs root to mount a small tmpfs")
        self.mount = folder / "disk"
        self.mount.mkdir(exist_ok=True)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_kib}k", "tmpfs", str(self.mount)], capture_output=True, text=True)
        if done.returncode != 0:
            raise Skipped("cannot mount a tmpfs here: " + done.stderr.strip())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", str(self.mount)], check=False)

    def fill(self, but_pages=0):
        """Fills it, but for so many pages of 4 KiB."""
        filler = self.mount / "filler"
        with filler.open("ab", buffering=0) as stream:
            try:
                while True:
                    stream.write(b"x" * 4096)
            except OSError:
                pass
        os.truncate(filler, max(0, (filler.stat().st_size // 4096 - but_pages) * 4096))

    def free(self):
        (self.mount / "filler").unlink(missing_ok=True)


@test
def a_full_disk_at_every_kind_of_write(folder):
    files = files_with_bytes(folder / "in", 6, size=9_000)
    other = folder / "other"
    run(other, "store", "put", *files[3:5], check=0)
    run(other, "store", "put", files[5], "--name", "elsewhere", check=0)
    old = small_store(folder, "old")

    def made(store):
        run(store, "store", "put", *files[:3], check=0)
        run(store, "store", "put", files[0], "--name", "first", check=0)

    def form_0(store):
        (store / "runs").mkdir(parents=True)
        shutil.copytree(next((old / "runs").iterdir()), store / "runs" / "20261130T181136Z-1a2b3c4d")

    # every verb that writes into a store: (what must be there before, words)
    writes = {
        "put": (made, ["store", "put", files[4]]),
        "put-named": (made, ["store", "put", files[1], "--name", "second"]),
        "gc": (made, ["store", "gc"]),
        "rebuild": (made, ["store", "rebuild"]),
        "forget": (made, ["store", "forget", "first"]),
        "quota": (made, ["store", "quota", "--max-bytes", "5MB"]),
        "merge": (made, ["ledger", "merge", str(other)]),
        "upgrade": (form_0, ["store", "upgrade"]),
        "checkpoint": (made, ["ledger", "checkpoint", "--out", str(folder / "disk" / "cp.json")]),
        "export": (made, ["ledger", "export", "--out", str(folder / "disk" / "l.jsonl")]),
        "get": (made, ["store", "get", "first", "--out", str(folder / "disk" / "got")]),
    }
    must_work = {"gc", "rebuild", "forget", "quota"}  # they write from what is held back
    ended = {}
    for name, (prepare, words) in writes.items():
        for pages in range(0, 24) if FULL else (0, 9):
            with SmallDisk(folder) as disk:
                store = disk.mount / "s"
                prepare(store)
                disk.fill(but_pages=pages)
                result = run(store, *words)
                assert result.returncode in (0, 4), (name, pages, result.returncode, result.stderr)
                assert result.returncode == 0 or len(result.stderr.splitlines()) == 1, (name, pages, result.stderr)
                if name in must_work:
                    assert result.returncode == 0, (name, pages, result.stderr)
                ended.setdefault(name, []).append(result.returncode)
                assert not list(disk.mount.glob(".requal-*")), "a half-written file stayed"
                if name == "gc":  # what it freed is there for the next one
                    disk.fill()
                    assert run(store, "store", "put", SOURCE / "LICENSE").returncode == 4
                if (store / "format").exists():
                    clean(store)
                disk.free()
                assert run(store, *words).returncode in ((0, 2) if name == "forget" else (0,)), name
                run(store, "store", "put", *files, check=0)
                assert (store / "reserve").stat().st_blocks * 512 >= 1 << 20
                clean(store)
    print("  " + ", ".join(f"{name}: {codes.count(4)} of {len(codes)} refused" for name, codes in ended.items()))


@test
def what_is_held_back_is_really_held(folder):
    with SmallDisk(folder, 12 * 1024) as disk:
        store = disk.mount / "s"
        one, two = files_with_bytes(folder / "in", 2, size=50_000)
        run(store, "store", "put", one, check=0)
        assert (store / "reserve").stat().st_blocks * 512 == 1 << 20
        said(store, "store", "quota", "--reserve-bytes", "3MB", "--max-bytes", "8MB")
        assert (store / "reserve").stat().st_blocks * 512 >= 3_000_000
        disk.fill()
        result = run(store, "store", "put", two, check=4)
        assert len(result.stderr.splitlines()) == 1
        # a process that was killed while it used the reserve left it empty: the next put takes it back before anything else
        os.truncate(store / "reserve", 0)
        disk.fill()
        result = run(store, "store", "put", two, check=4)
        assert "full but for what results need" in result.stderr, result.stderr
        disk.free()
        run(store, "store", "put", two, check=0)
        assert (store / "reserve").stat().st_blocks * 512 >= 3_000_000
        # a reserve that holds something is no reserve
        with (store / "reserve").open("r+b") as stream:
            stream.seek(1234)
            stream.write(b"x")
        assert "first damage: reserve: " in run(store, "store", "check", check=4).stdout
        # more than the disk has
        run(store, "store", "quota", "--reserve-bytes", "100MB", "--max-bytes", "1GB", check=4)


@test
def a_read_only_store_is_read(folder):
    if os.geteuid() != 0:
        raise Skipped("needs root to mount read-only")
    store, mount = small_store(folder), folder / "ro"
    mount.mkdir()
    done = subprocess.run(["mount", "--bind", str(store), str(mount)], capture_output=True, text=True)
    if done.returncode != 0:
        raise Skipped("cannot bind-mount here: " + done.stderr.strip())
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", str(mount)], check=True)
        assert said(mount, "store", "list") == said(store, "store", "list")
        run(mount, "store", "get", "first", "--out", folder / "out", check=0)
        clean(mount)
        said(mount, "run", "list")
        said(mount, "ledger", "show")
        for words in (["put", SOURCE / "VERSION"], ["gc"], ["rebuild"], ["forget", "first"], ["upgrade"]):
            result = run(mount, "store", *words)
            assert result.returncode == 4 and len(result.stderr.splitlines()) == 1, (words, result.returncode, result.stderr)
        # without its index it is read from the ledgers
        listed = said(store, "store", "list")
        (store / "requal.db").rename(folder / "away.db")
        assert said(mount, "store", "list") == listed
        (folder / "away.db").rename(store / "requal.db")
    finally:
        subprocess.run(["umount", "-l", str(mount)], check=False)
    clean(store)


def main():
    global ARGS
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--fault", required=True)
    parser.add_argument("-k", default="")
    ARGS = parser.parse_args()
    failed, skipped = [], []
    for function in TESTS:
        if ARGS.k not in function.__name__:
            continue
        with tempfile.TemporaryDirectory(prefix="requal-store-") as folder:
            begin = time.monotonic()
            try:
                function(pathlib.Path(folder))
                print(f"ok      {function.__name__} ({time.monotonic() - begin:.1f} s)", flush=True)
            except Skipped as why:
                skipped.append(function.__name__)
                print(f"SKIPPED {function.__name__}: {why}", flush=True)
            except Exception:
                traceback.print_exc()
                failed.append(function.__name__)
                print(f"FAILED  {function.__name__}", flush=True)
    print(f"{len(TESTS)} tests, {len(failed)} failed: {' '.join(failed)}; {len(skipped)} skipped: {' '.join(skipped)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
