#!/usr/bin/env python3
"""Whole qualifications with a runtime whose wrongness is written in a file: what each fault must do to verdict, record and store.

Usage: qualify_test.py --program build/debug/bin/requal --runners build/debug/tests/runners [-k PART]
"""

import argparse
import hashlib
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

import numpy as np
import onnx
from onnx import TensorProto, helper

SOURCE = pathlib.Path(os.environ.get("REQUAL_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(SOURCE / "tests" / "cli"))
from check_schemas import contract_problems, problems  # noqa: E402

ARGS = None


class Case:
    """A folder with a model that ONNX and the scripted runner both know, its protocol and a store."""

    def __init__(self, folder, wrongness=(), gates=None, latency_ms=0, outputs=("y",), candidate="", inputs=None, axis=1):
        self.folder = pathlib.Path(folder)
        self.store = self.folder / "store"
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [axis, 4])
        y = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [axis, 4]) for name in outputs]
        nodes = [helper.make_node("Relu", ["x"], [name]) for name in outputs]
        graph = helper.make_graph(nodes, "small", [x], y)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        self.model = self.folder / "model.onnx"
        onnx.save(model, self.model)
        script = {
            "scripted": 1,
            "inputs": [{"name": "x", "shape": [1, 4]}],
            "outputs": [{"name": name, "from": "relu"} for name in outputs],
            "layers": [{"name": "double", "op": "affine", "factor": 2.0}, {"name": "relu", "op": "relu"}],
            "latency_ms": latency_ms,
            "wrongness": list(wrongness),
        }
        (self.folder / "model.onnx.scripted.json").write_text(json.dumps(script))
        self.digest = "sha256:" + hashlib.sha256(self.model.read_bytes()).hexdigest()
        self.gates = gates or (
            "  - {id: parity, kind: parity, atol: 1e-5, rtol: 1e-4, rule: sum}\n"
            "  - {id: finite, kind: finite}\n"
            "  - {id: again, kind: repeatability, runs: 3}\n"
            "  - {id: p50, kind: latency, percentile: p50, limit_ms: 1000, runs: 50, warmup: 2}\n"
        )
        self.protocol = self.folder / "protocol.yaml"
        self.protocol.write_text(
            f"schema: protocol/1\nname: small\ntitle: A scripted model\n"
            f"model:\n  file: model.onnx\n  digest: {self.digest}\n  shapes:\n    x: 1x4\n"
            f"reference:\n  toolchain: scripted\n"
            f"candidate:\n  toolchain: scripted\n{candidate}"
            f"inputs:\n{inputs or '  random: {count: 3, seed: 1, ranges: {x: [0.5, 1]}}'}\n"
            f"gates:\n{self.gates}"
        )

    def command(self, *options, verb="qualify"):
        return [ARGS.program, verb, *map(str, options), "--store", str(self.store)]

    def environment(self):
        return dict(os.environ, REQUAL_RUNNERS=str(ARGS.runners), TMPDIR=str(self.folder))

    def run(self, *options, verb="qualify", protocol=None):
        first = protocol if protocol is not None else self.protocol
        return subprocess.run(self.command(first, *options, verb=verb), env=self.environment(), capture_output=True, text=True,
                              timeout=300)

    def qualify(self, status):
        """Runs with --json, checks exit status and documents, returns (document, record, folder of the run)."""
        result = self.run("--json")
        assert result.returncode == status, (result.returncode, result.stdout, result.stderr)
        document, found = contract_problems(result.stdout)
        found += problems(document, "qualify-1", SOURCE / "schemas")
        folder = self.store / "runs" / document["run"]
        record, more = contract_problems((folder / "record.json").read_text())
        found += more + problems(record, "run-1", SOURCE / "schemas")
        assert not found, found
        assert record["verdict"] == document["verdict"] == {0: "pass", 1: "fail", 6: "undecidable"}[status]
        assert pathlib.Path(document["report"]).read_text().startswith("<!DOCTYPE html>")
        for file in record["files"]:
            content = (folder / file["name"]).read_bytes()
            assert "sha256:" + hashlib.sha256(content).hexdigest() == file["digest"], file
            assert len(content) == file["size_bytes"], file
        self.nothing_left()
        return document, record, folder

    def verdicts(self, status):
        document, record, _ = self.qualify(status)
        return {gate["id"]: gate["verdict"] for gate in document["gates"]}, record

    def runs(self):
        folder = self.store / "runs"
        return sorted(folder.iterdir()) if folder.is_dir() else []

    def nothing_left(self):
        tmp = self.store / "tmp"
        assert not tmp.is_dir() or not list(tmp.iterdir()), list(tmp.iterdir())

    def refused(self, status, *says, **kwargs):
        """Ends with `status` and one line that says each of `says`; the store holds no run."""
        result = self.run(**kwargs)
        assert result.returncode == status, (result.returncode, result.stdout, result.stderr)
        lines = [line for line in result.stderr.splitlines() if line.startswith("requal: ")]
        assert len(lines) == 1, result.stderr
        for part in says:
            assert part in lines[0], (part, lines[0])
        assert "Traceback" not in result.stderr and "terminate" not in result.stderr
        self.nothing_left()
        return lines[0]


TESTS = []


def test(function):
    TESTS.append(function)
    return function


@test
def a_clean_engine_passes(folder):
    case = Case(folder)
    document, record, run = case.qualify(0)
    assert [gate["id"] for gate in document["gates"]] == ["engine", "parity", "finite", "again", "p50"]
    assert all(gate["verdict"] == "pass" for gate in document["gates"]), document["gates"]
    assert record["model"]["digest"] == case.digest
    assert len(record["samples"]) == 3 and all(sample["outputs_digest"] for sample in record["samples"])
    assert record["latency"]["samples"] == 50
    durations = np.load(run / "latency_ns.npy")
    assert durations.shape == (50,) and durations.dtype == np.int64
    histogram = record["latency"]["histogram"]
    assert sum(histogram["counts"]) + histogram["above"] == 50
    output = record["outputs"][0]
    assert output["exact"] + sum(bin["count"] for bin in output["histogram"]) == output["elements"] == 12
    assert record["not_shown"]
    # the report verb makes the same bytes from the record alone
    other = case.folder / "other.html"
    result = case.run("--out", other, "--json", verb="report", protocol=document["run"])
    assert result.returncode == 0, result.stderr
    said, found = contract_problems(result.stdout)
    assert not found + problems(said, "report-1", SOURCE / "schemas"), said
    manifest, found = contract_problems((run / "small.engine.manifest.json").read_text())
    assert not found + problems(manifest, "engine-manifest-1", SOURCE / "schemas"), manifest
    assert other.read_bytes() == (run / "report.html").read_bytes()
    # for people
    result = case.run()
    assert result.returncode == 0 and "verdict: pass" in result.stdout and "report: " in result.stdout, result.stdout
    assert len(case.runs()) == 2


@test
def drift_fails_parity_and_nothing_else(folder):
    case = Case(folder, [{"kind": "drift", "in": "engine", "layer": "relu", "relative": 0.01}])
    verdicts, record = case.verdicts(1)
    assert verdicts == {"engine": "pass", "parity": "fail", "finite": "pass", "again": "pass", "p50": "pass"}, verdicts
    assert record["outputs"][0]["outside"] == 12


@test
def drift_below_tolerance_passes(folder):
    case = Case(folder, [{"kind": "drift", "in": "engine", "layer": "relu", "relative": 1e-6}])
    verdicts, record = case.verdicts(0)
    assert verdicts["parity"] == "pass"
    assert record["outputs"][0]["max_abs"] > 0


@test
def nan_fails(folder):
    case = Case(folder, [{"kind": "not_finite", "in": "engine", "element": 1}])
    verdicts, record = case.verdicts(1)
    assert verdicts["finite"] == "fail" and verdicts["parity"] == "fail", verdicts
    assert record["outputs"][0]["nan"] == 3


@test
def infinity_fails(folder):
    case = Case(folder, [{"kind": "not_finite", "in": "engine", "element": 0, "value": "inf"}])
    verdicts, _ = case.verdicts(1)
    assert verdicts["finite"] == "fail" and verdicts["parity"] == "fail", verdicts


@test
def nan_of_the_reference_is_no_verdict_on_the_engine(folder):
    case = Case(folder, [{"kind": "not_finite", "in": "both", "element": 1}])
    verdicts, _ = case.verdicts(1)
    assert verdicts["finite"] == "fail" and verdicts["parity"] == "undecidable", verdicts


@test
def an_engine_that_is_not_repeatable_fails(folder):
    case = Case(folder, [{"kind": "nondeterministic", "in": "engine", "relative": 1e-6}])
    verdicts, record = case.verdicts(1)
    assert verdicts["again"] == "fail" and verdicts["parity"] == "pass", verdicts
    value = next(gate for gate in record["gates"] if gate["id"] == "again")["value"]
    assert value["differing_runs"] > 0 and "sample" in value["first_difference"], value


@test
def an_engine_that_is_slow_fails(folder):
    case = Case(folder, gates="  - {id: parity, kind: parity, atol: 1, rtol: 0, rule: sum}\n"
                              "  - {id: p50, kind: latency, percentile: p50, limit_ms: 1, runs: 20, warmup: 0}\n", latency_ms=5)
    verdicts, _ = case.verdicts(1)
    assert verdicts == {"engine": "pass", "parity": "pass", "p50": "fail"}, verdicts


@test
def a_limit_inside_the_interval_is_undecidable(folder):
    # every second run takes 40 ms more: half of the runs lie on each side of the limit
    case = Case(folder, [{"kind": "second_mode", "in": "engine", "every": 2, "extra_ms": 40}],
                gates="  - {id: parity, kind: parity, atol: 1, rtol: 0, rule: sum}\n"
                      "  - {id: p50, kind: latency, percentile: p50, limit_ms: 20, runs: 20, warmup: 0}\n")
    verdicts, _ = case.verdicts(6)
    assert verdicts == {"engine": "pass", "parity": "pass", "p50": "undecidable"}, verdicts


@test
def an_engine_that_does_not_build_fails(folder):
    case = Case(folder, [{"kind": "build_failure", "message": "no kernel for Relu"}])
    verdicts, record = case.verdicts(1)
    assert verdicts == {"engine": "fail", "parity": "undecidable", "finite": "undecidable", "again": "undecidable",
                        "p50": "undecidable"}, verdicts
    assert "no kernel for Relu" in record["gates"][0]["reason"], record["gates"][0]
    assert record["engine_manifest"] is None


@test
def an_engine_that_crashes_fails(folder):
    case = Case(folder, [{"kind": "crash", "in": "engine", "at_run": 2}])
    verdicts, record = case.verdicts(1)
    assert verdicts["engine"] == "fail" and verdicts["parity"] == "undecidable", verdicts
    assert [step["state"] for step in record["steps"]] == ["done", "done", "done", "failed", "skipped", "skipped"]


@test
def a_crash_after_parity_keeps_what_was_measured(folder):
    # 3 samples x 3 runs pass, the 12th run of the timing loop dies
    case = Case(folder, [{"kind": "crash", "in": "engine", "at_run": 12}])
    verdicts, _ = case.verdicts(1)
    assert verdicts == {"engine": "fail", "parity": "pass", "finite": "pass", "again": "pass", "p50": "undecidable"}, verdicts


@test
def a_reference_that_crashes_leaves_parity_open(folder):
    case = Case(folder, [{"kind": "crash", "in": "model", "at_run": 2}])
    verdicts, record = case.verdicts(6)
    assert verdicts == {"engine": "pass", "parity": "undecidable", "finite": "undecidable", "again": "pass", "p50": "pass"}, verdicts
    assert "reference" in next(gate for gate in record["gates"] if gate["id"] == "parity")["reason"]


@test
def one_gate_for_each_output(folder):
    wrong = [{"kind": "not_finite", "in": "engine", "output": "b", "element": 0}]
    gates = ("  - {id: rest, kind: parity, atol: 1e-5, rtol: 0, rule: sum}\n"
             "  - {id: only-b, kind: parity, output: b, atol: 1e-5, rtol: 0, rule: sum}\n")
    verdicts, record = Case(folder, wrong, gates=gates, outputs=("a", "b")).verdicts(1)
    assert verdicts == {"engine": "pass", "rest": "pass", "only-b": "fail"}, verdicts


@test
def an_output_that_no_gate_judges_is_refused(folder):
    gates = "  - {id: only-b, kind: parity, output: b, atol: 1e-5, rtol: 0, rule: sum}\n"
    Case(folder, gates=gates, outputs=("a", "b")).refused(2, "'a'", "gate")


@test
def a_gate_for_an_unknown_output_is_refused(folder):
    gates = ("  - {id: rest, kind: parity, atol: 1e-5, rtol: 0, rule: sum}\n"
             "  - {id: other, kind: parity, output: z, atol: 1e-5, rtol: 0, rule: sum}\n")
    Case(folder, gates=gates).refused(2, "'z'", "output")


@test
def inputs_from_a_file_are_held_to_their_digest(folder):
    inputs = pathlib.Path(folder) / "inputs.npz"
    np.savez(inputs, x=np.ones((2, 1, 4), np.float32))
    digest = hashlib.sha256(inputs.read_bytes()).hexdigest()
    case = Case(folder, inputs=f"  file: inputs.npz\n  digest: sha256:{digest}")
    _, record, _ = case.qualify(0)
    assert record["inputs"]["digest"] == "sha256:" + digest and record["inputs"]["samples"] == 2
    np.savez(inputs, x=np.zeros((2, 1, 4), np.float32))
    case.refused(2, "inputs.npz", "digest")


@test
def another_model_is_refused(folder):
    case = Case(folder)
    case.protocol.write_text(case.protocol.read_text().replace(case.digest, "sha256:" + "0" * 64))
    case.refused(2, "model.onnx", case.digest)
    assert not case.runs()


@test
def a_missing_model_is_refused_and_can_be_named(folder):
    case = Case(folder)
    elsewhere = pathlib.Path(folder) / "elsewhere.onnx"
    shutil.move(case.model, elsewhere)
    shutil.move(case.folder / "model.onnx.scripted.json", case.folder / "elsewhere.onnx.scripted.json")
    case.refused(2, "model.onnx", "--model")
    result = case.run("--model", elsewhere)
    assert result.returncode == 0, result.stderr


@test
def an_open_axis_is_refused(folder):
    case = Case(folder, axis="n")
    case.protocol.write_text(case.protocol.read_text().replace("  shapes:\n    x: 1x4\n", ""))
    case.refused(2, "'x'", "model.shapes")


@test
def a_shape_for_an_unknown_input_is_refused(folder):
    case = Case(folder)
    case.protocol.write_text(case.protocol.read_text().replace("    x: 1x4\n", "    x: 1x4\n    w: 1x4\n"))
    case.refused(2, "w")


@test
def a_missing_toolchain_is_status_3(folder):
    case = Case(folder)
    case.protocol.write_text(case.protocol.read_text().replace("candidate:\n  toolchain: scripted", "candidate:\n  toolchain: nowhere:cpu"))
    case.refused(3, "nowhere")
    assert not case.runs()


@test
def an_unknown_option_is_bad_input(folder):
    case = Case(folder)
    case.protocol.write_text(case.protocol.read_text().replace("reference:\n  toolchain: scripted\n",
                                                               "reference:\n  toolchain: scripted\n  options: {colour: red}\n"))
    case.refused(2, "colour")
    assert not case.runs()


@test
def a_broken_protocol_names_file_and_line(folder):
    case = Case(folder)
    case.protocol.write_text(case.protocol.read_text().replace("title:", "titel:"))
    line = case.refused(2, "titel")
    assert f"{case.protocol}:3" in line, line
    result = case.run("--json")
    document = json.loads(result.stdout)
    assert document["schema"] == "error/1" and document["kind"] == "input" and document["where"].endswith("protocol.yaml:3"), document


@test
def a_store_that_cannot_be_written_is_status_4(folder):
    case = Case(folder)
    case.store.write_text("a file")
    result = case.run()
    assert result.returncode == 4, (result.returncode, result.stderr)


@test
def a_file_that_cannot_be_written_whole_is_status_4(folder):
    """As on a full disk: each size makes another file the first that does not fit."""
    case = Case(folder)

    def limit(size):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    _, _, run = case.qualify(0)
    sizes = sorted({file.stat().st_size for file in run.iterdir()})
    assert len(sizes) > 3, sizes
    for size in sizes:
        result = subprocess.run(case.command(case.protocol), env=case.environment(), capture_output=True, text=True, timeout=300,
                                preexec_fn=lambda size=size: limit(size - 1))
        assert result.returncode == 4, (size, result.returncode, result.stdout, result.stderr)
        assert len(result.stderr.splitlines()) == 1, result.stderr
        assert case.runs() == [run]
        case.nothing_left()


@test
def events_tell_each_gate(folder):
    case = Case(folder)
    events = case.folder / "events.jsonl"
    with events.open("w") as stream:
        os.set_inheritable(stream.fileno(), True)
        result = subprocess.run(case.command(case.protocol, "--events", stream.fileno()), env=case.environment(), capture_output=True,
                                text=True, pass_fds=[stream.fileno()], timeout=300)
    assert result.returncode == 0, result.stderr
    lines = [json.loads(line) for line in events.read_text().splitlines()]
    assert [line["id"] for line in lines if line["event"] == "gate"] == ["parity", "finite", "again", "p50", "engine"], lines
    assert [line["step"] for line in lines if line["event"] == "step"] == ["model", "inputs", "build", "parity", "repeatability",
                                                                          "latency"], lines


@test
def of_two_at_once_one_works_and_the_others_wait_for_its_result(folder):
    case = Case(folder, latency_ms=20)
    running = [subprocess.Popen(case.command(case.protocol, "--json"), env=case.environment(), stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True) for _ in range(3)]
    documents = [json.loads(process.communicate(timeout=300)[0]) for process in running]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert len({document["run"] for document in documents}) == len(case.runs()) == 1
    assert documents[0]["gates"] == documents[1]["gates"] == documents[2]["gates"]
    case.nothing_left()
    # a call after its end is a new run
    case.qualify(0)
    assert len(case.runs()) == 2


@test
def without_waiting_the_second_caller_reports(folder):
    case = Case(folder, latency_ms=50)
    first = subprocess.Popen(case.command(case.protocol), env=case.environment(), stdout=subprocess.PIPE, text=True)
    first.stdout.readline()
    second = case.run("--no-wait")
    assert second.returncode == 6 and "another process is at this qualify" in second.stderr, (second.returncode, second.stderr)
    first.communicate(timeout=300)
    assert first.returncode == 0
    assert len(case.runs()) == 1


@test
def kill_9_at_random_moments_changes_nothing_in_the_end(folder):
    """CI_FULL=1: 200 kills. After each the store is clean, and the call repeated ends with the same verdict and outputs."""
    full = os.environ.get("CI_FULL", "0") not in ("", "0")
    case = Case(folder, latency_ms=2)
    begin = time.monotonic()
    _, wanted, _ = case.qualify(0)
    whole = time.monotonic() - begin
    generator = random.Random(7)
    killed = 0
    for _ in range(200 if full else 8):
        before = len(case.runs())
        process = subprocess.Popen(case.command(case.protocol), env=case.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(timeout=generator.uniform(0, whole))
        except subprocess.TimeoutExpired:
            killed += 1
            process.kill()
            process.wait()
        check = case.run(verb="store", protocol="check")
        assert check.returncode == 0, check.stdout + check.stderr
        _, record, _ = case.qualify(0)
        assert record["verdict"] == wanted["verdict"]
        assert record["samples"] == wanted["samples"]
        digest = {file["role"]: file["digest"] for file in record["files"]}
        assert digest["engine"] == next(file["digest"] for file in wanted["files"] if file["role"] == "engine")
        listed = json.loads(case.run("--json", verb="run", protocol="list").stdout)
        assert len(listed["runs"]) == len(case.runs()) <= before + 2 and not listed["unfinished"], listed
        assert len({run["run"] for run in listed["runs"]}) == len(listed["runs"])
    # a put that was killed between blob and record leaves a blob that no record names: gc takes it, and all that is named stays
    runs = len(case.runs())
    collected = case.run(verb="store", protocol="gc")
    assert collected.returncode == 0, collected.stdout + collected.stderr
    check = case.run(verb="store", protocol="check")
    assert check.returncode == 0 and "note" not in check.stdout, check.stdout
    assert len(case.runs()) == runs
    print(f"  {killed} were killed in the middle")


@test
def a_full_disk_does_not_keep_a_verdict_from_being_written(folder):
    """The disk of the store is full to the last page when the run begins: it ends, passed or failed, from what is held back."""
    if os.geteuid() != 0:
        print("  skipped: needs root to mount a small tmpfs")
        return
    wrong = [{"kind": "drift", "in": "engine", "layer": "relu", "relative": 0.01}]
    for name, wrongness, status in (("passed", [], 0), ("failed", wrong, 1)):
        pathlib.Path(folder, name).mkdir()
        case = Case(pathlib.Path(folder, name), wrongness)
        mount = case.folder / "disk"
        mount.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(mount)], capture_output=True, text=True)
        if done.returncode != 0:
            print("  skipped: cannot mount a tmpfs here: " + done.stderr.strip())
            return
        try:
            case.store = mount / "s"
            put = case.run(case.protocol, verb="store", protocol="put")
            assert put.returncode == 0, put.stderr
            filler = mount / "filler"

            def fill():
                with filler.open("ab", buffering=0) as stream:
                    try:
                        while True:
                            stream.write(b"x" * 4096)
                    except OSError:
                        pass

            fill()
            more = case.run(case.model, verb="store", protocol="put")
            assert more.returncode == 4, "the disk is not full"
            _, record, _ = case.qualify(status)
            assert record["verdict"] == ("pass" if status == 0 else "fail")
            check = case.run(verb="store", protocol="check")
            assert check.returncode == 0, check.stdout
            # with nothing held back it ends with one line, and goes on once there is room
            fill()
            os.truncate(case.store / "reserve", 0)
            fill()
            result = case.run("--json")
            assert result.returncode == 4 and len(result.stderr.splitlines()) >= 1, (result.returncode, result.stderr)
            check = case.run(verb="store", protocol="check")
            assert check.returncode == 0, check.stdout
            filler.unlink()
            case.qualify(status)
            check = case.run(verb="store", protocol="check")
            assert check.returncode == 0, check.stdout
        finally:
            subprocess.run(["umount", "-l", str(mount)], check=False)


def steps_of(record):
    return {step["name"]: step.get("reused", False) for step in record["steps"]}


def killed_after_parity(case):
    process = subprocess.Popen(case.command(case.protocol), env=case.environment(), stdout=subprocess.PIPE, text=True)
    while "again" not in process.stdout.readline():
        assert process.poll() is None
    wait_for(lambda: "step-finished" in ledger_of(case) and ledger_of(case).count('"step-started"') == 4)
    process.kill()
    process.wait()
    assert not case.runs()


def ledger_of(case):
    return "".join(path.read_text() for path in (case.store / "ledger").glob("*.jsonl"))


LONG = ("  - {id: parity, kind: parity, atol: 1e-5, rtol: 1e-4, rule: sum}\n"
        "  - {id: again, kind: repeatability, runs: 3}\n"
        "  - {id: p50, kind: latency, percentile: p50, limit_ms: 1000, runs: 100, warmup: 0}\n")


@test
def a_killed_run_goes_on_where_it_was(folder):
    case = Case(folder, latency_ms=20, gates=LONG)
    killed_after_parity(case)
    listed = json.loads(case.run("--json", verb="run", protocol="list").stdout)
    assert listed["runs"] == [] and listed["unfinished"][0]["steps_finished"] == 3, listed
    document, record, _ = case.qualify(0)
    assert document["run"] == listed["unfinished"][0]["run"]
    assert steps_of(record) == {"model": False, "inputs": False, "build": True, "parity": True, "repeatability": True, "latency": False}
    assert len(case.runs()) == 1
    clean = case.run(verb="store", protocol="check")
    assert clean.returncode == 0, clean.stdout + clean.stderr


@test
def a_changed_input_restarts_what_depends_on_it_and_nothing_else(folder):
    case = Case(folder, latency_ms=20, gates=LONG)
    killed_after_parity(case)
    # the repeatability gate changes: engine and parity do not depend on it
    case.protocol.write_text(case.protocol.read_text().replace("runs: 3}", "runs: 4}").replace("runs: 100", "runs: 20"))
    _, record, _ = case.qualify(0)
    assert steps_of(record) == {"model": False, "inputs": False, "build": True, "parity": True, "repeatability": False, "latency": False}
    assert '"continues"' in ledger_of(case) and '"abandoned"' in ledger_of(case)


@test
def the_folder_of_a_run_comes_back_from_its_blobs(folder):
    case = Case(folder)
    document, _, run = case.qualify(0)
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    shutil.rmtree(run)
    (case.store / "requal.db").unlink()
    result = case.run(verb="store", protocol="rebuild")
    assert result.returncode == 0 and "1 folders" in result.stdout, result.stdout + result.stderr
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before
    shutil.rmtree(run)
    assert case.run(verb="report", protocol=document["run"]).returncode == 0
    assert (run / "report.html").read_bytes() == before["report.html"]


@test
def runs_are_listed_shown_and_compared(folder):
    case = Case(folder)
    first, _, _ = case.qualify(0)
    (case.folder / "model.onnx.scripted.json").write_text((case.folder / "model.onnx.scripted.json").read_text().replace(
        '"wrongness": []', '"wrongness": [{"kind": "drift", "in": "engine", "layer": "relu", "relative": 0.01}]'))
    second, _, _ = case.qualify(1)

    def said(*options, status=0):
        result = case.run("--json", *options[1:], verb="run", protocol=options[0])
        assert result.returncode == status, (result.returncode, result.stderr)
        document, found = contract_problems(result.stdout)
        found += problems(document, document["schema"].replace("/", "-"), SOURCE / "schemas")
        assert not found, found
        return document

    assert [run["run"] for run in said("list")["runs"]] == [first["run"], second["run"]]
    assert [run["run"] for run in said("list", "--verdict", "fail")["runs"]] == [second["run"]]
    assert [run["run"] for run in said("list", "--last", "1")["runs"]] == [second["run"]]
    assert [run["run"] for run in said("list", "--protocol", "other")["runs"]] == []
    assert [run["run"] for run in said("list", "--since", "2100-01-01")["runs"]] == []
    assert said("show", first["run"])["run"] == first["run"]
    compared = said("compare", first["run"], second["run"])
    assert "verdict" in compared["differences"] and "model" not in compared["differences"], compared["differences"]
    for columns in (40, 60, 80, 200):
        for options in (["list"], ["compare", first["run"], second["run"]], ["show", second["run"]]):
            result = subprocess.run([ARGS.program, "run", *options, "--store", str(case.store)], capture_output=True, text=True,
                                    env=dict(case.environment(), COLUMNS=str(columns)))
            assert result.returncode == 0, result.stderr
            lines = result.stdout.splitlines()
            if options[0] != "show":
                assert max(map(len, lines)) <= columns, (columns, max(lines, key=len))
    assert case.run("--last", "-1", verb="run", protocol="list").returncode == 2
    assert case.run(verb="run", protocol="compare").returncode == 0
    assert case.run(first["run"], verb="run", protocol="compare").returncode == 2


@test
def a_folder_of_runs_without_ledger_is_upgraded(folder):
    case = Case(folder)
    document, _, run = case.qualify(0)
    old = case.folder / "old"
    (old / "runs").mkdir(parents=True)
    shutil.copytree(run, old / "runs" / run.name)
    case.store = old
    result = case.run()
    assert result.returncode == 4 and "store upgrade" in result.stderr, (result.returncode, result.stderr)
    result = case.run("--json", verb="store", protocol="upgrade")
    assert result.returncode == 0 and json.loads(result.stdout)["runs"] == 1, result.stdout + result.stderr
    listed = json.loads(case.run("--json", verb="run", protocol="list").stdout)
    assert [entry["run"] for entry in listed["runs"]] == [document["run"]]
    assert case.run(verb="store", protocol="check").returncode == 0
    case.qualify(0)


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.01)


@test
def kill_9_leaves_nothing_half_written(folder):
    case = Case(folder, latency_ms=20)
    tmp = case.store / "tmp"
    for moment in ("start", "built", "late"):
        process = subprocess.Popen(case.command(case.protocol), env=case.environment(), stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True)
        if moment == "start":
            wait_for(lambda: tmp.is_dir() and any(tmp.iterdir()))
        elif moment == "built":
            wait_for(lambda: tmp.is_dir() and list(tmp.glob("run-*/*.engine")))
        else:
            process.stdout.readline()
        assert process.poll() is None
        process.kill()
        process.wait()
        assert not case.runs()
    # the next run removes what was left, and ends well
    case.qualify(0)
    assert len(case.runs()) == 1


@test
def an_interrupted_run_is_status_5_and_leaves_nothing(folder):
    for number in (signal.SIGINT, signal.SIGTERM):
        place = pathlib.Path(folder) / number.name
        place.mkdir()
        case = Case(place, latency_ms=50, gates="  - {id: parity, kind: parity, atol: 1, rtol: 0, rule: sum}\n"
                                                "  - {id: p50, kind: latency, percentile: p50, limit_ms: 1, runs: 5000, warmup: 0}\n")
        process = subprocess.Popen(case.command(case.protocol), env=case.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
        assert "parity" in process.stdout.readline()
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 5, (process.returncode, errors)
        assert not case.runs()
        case.nothing_left()


@test
def hostile_names_do_not_reach_terminal_or_report(folder):
    evil = "y<script>alert(1)</script>\x1b[31m"
    case = Case(folder, outputs=(evil,))
    result = case.run()
    assert result.returncode in (0, 2), (result.returncode, result.stderr)  # the checker may refuse such a name
    assert "\x1b" not in result.stdout + result.stderr
    for run in case.runs():
        html = (run / "report.html").read_text()
        assert "<script" not in html and "\x1b" not in html


@test
def a_report_of_something_else_is_refused(folder):
    case = Case(folder)
    place = case.folder / "other"
    place.mkdir()
    (place / "record.json").write_text('{"schema": "compare/1"}\n')
    for name in (place, "20261130T181136Z-00000000", case.folder):
        result = case.run(verb="report", protocol=name)
        assert result.returncode == 2, (name, result.stdout, result.stderr)
    assert not (place / "report.html").exists()


def main():
    global ARGS
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--runners", required=True)
    parser.add_argument("-k", default="")
    ARGS = parser.parse_args()
    failed = []
    for function in TESTS:
        if ARGS.k not in function.__name__:
            continue
        with tempfile.TemporaryDirectory(prefix="requal-qualify-") as folder:
            begin = time.monotonic()
            try:
                function(folder)
                print(f"ok      {function.__name__} ({time.monotonic() - begin:.1f} s)", flush=True)
            except Exception:
                traceback.print_exc()
                failed.append(function.__name__)
                print(f"FAILED  {function.__name__}", flush=True)
    print(f"{len(TESTS)} tests, {len(failed)} failed: {' '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
