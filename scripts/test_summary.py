#!/usr/bin/env python3
"""Counts the tests of one or more ctest runs, case by case, and ends with 'N passed, N failed, N skipped'.

scripts/test_summary.py BUILD_FOLDER...

Each folder's reports/ holds ctest.xml (ctest --output-junit), one XML file for each GoogleTest program, and for scripts that want
their cases counted NAME.txt with lines `passed CASE`, `failed CASE`, `skipped CASE: why` (the path is in REQUAL_REPORT).
"""
import pathlib
import sys
import xml.etree.ElementTree as ET


def gtest_cases(path):
    """[(name, state, reason)] out of a GoogleTest report, None when there is none"""
    try:
        tree = ET.parse(path).getroot()
    except (OSError, ET.ParseError):
        return None
    cases = []
    for case in tree.iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        skipped = case.find("skipped")
        if case.find("failure") is not None:
            cases.append((name, "failed", ""))
        elif skipped is not None or case.get("result") == "skipped":
            text = (skipped.get("message") or skipped.text or "") if skipped is not None else ""
            # the first line may be FILE:LINE
            lines = [line for line in text.strip().splitlines() if line.strip()]
            cases.append((name, "skipped", lines[-1] if lines else ""))
        elif case.get("status") != "notrun":
            cases.append((name, "passed", ""))
        elif case.get("result") == "suppressed" and case.get("name", "").startswith("DISABLED_"):
            cases.append((name, "skipped", "disabled"))
    return cases


def script_cases(path):
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return None
    cases = []
    for line in lines:
        state, _, rest = line.partition(" ")
        if state in ("passed", "failed", "skipped"):
            name, _, reason = rest.partition(": ")
            cases.append((name, state, reason))
    return cases or None


def run_cases(build):
    reports = build / "reports"
    try:
        tree = ET.parse(reports / "ctest.xml").getroot()
    except (OSError, ET.ParseError):
        return [("ctest", "failed", f"{reports}/ctest.xml is missing: the tests did not run")]
    cases = []
    for test in tree.iter("testcase"):
        name, status = test.get("name"), test.get("status")
        if status == "disabled":
            cases.append((name, "skipped", "disabled"))
            continue
        if status == "notrun":
            output = (test.findtext("system-out") or "").strip().splitlines()
            skipped = test.find("skipped")
            reason = output[-1] if output else ""
            if skipped is not None and "SKIP_RETURN_CODE" in (skipped.get("message") or ""):
                cases.append((name, "skipped", reason))
            else:
                # its program is not there: that is no skip
                cases.append((name, "failed", (skipped.get("message") if skipped is not None else "") or "not run"))
            continue
        inner = gtest_cases(reports / f"{name}.xml") or script_cases(reports / f"{name}.txt")
        ran_well = status == "run" and test.find("failure") is None
        if inner is None:
            cases.append((name, "passed" if ran_well else "failed", ""))
            continue
        cases += [(f"{name}: {case}", state, reason) for case, state, reason in inner]
        if not ran_well and not any(state == "failed" for _, state, _ in inner):
            cases.append((name, "failed", "the program failed although no case did (crash, sanitizer or time limit)"))
    return cases or [("ctest", "failed", "no test ran")]


def main():
    cases = [case for build in sys.argv[1:] for case in run_cases(pathlib.Path(build))]
    for wanted in ("skipped", "failed"):
        for name, state, reason in cases:
            if state == wanted:
                print(f"{wanted}: {name}" + (f": {reason}" if reason else ""))
    count = {state: sum(1 for case in cases if case[1] == state) for state in ("passed", "failed", "skipped")}
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return 1 if count["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
