"""What the benchmarks share: where things are, a process tree's wall time, processor time and peak memory, limits."""
import glob
import os
import resource
import statistics
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("REQUAL_BUILD_DIR", os.path.join(ROOT, "build", "release"))
DEPS = os.environ.get("REQUAL_DEPS") or os.path.join(
    os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "requal", "deps")
REQUAL = os.path.join(BUILD, "bin", "requal")
SHAPE = "1x3x320x320"


def detector():
    found = glob.glob(os.path.join(DEPS, "models", "rapidocr-*", "ch_PP-OCRv4_det_infer.onnx"))
    if not found:
        sys.exit("the PP-OCRv4 detector is not in %s: run scripts/setup" % DEPS)
    return found[0]


def need(path, target):
    if not os.path.exists(path):
        sys.exit("%s is not built: ninja -C %s %s" % (path, BUILD, target))
    return path


def tree(root):
    """Process ids of `root` and all that descend from it."""
    children = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % entry) as file:
                parent = int(file.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(entry))
    found, waiting = [], [root]
    while waiting:
        process = waiting.pop()
        found.append(process)
        waiting.extend(children.get(process, []))
    return found


def memory_bytes(processes):
    """(resident memory summed, the same with shared pages counted once)"""
    resident = proportional = 0
    for process in processes:
        try:
            with open("/proc/%d/smaps_rollup" % process) as file:
                for line in file:
                    if line.startswith("Rss:"):
                        resident += int(line.split()[1]) * 1024
                    elif line.startswith("Pss:"):
                        proportional += int(line.split()[1]) * 1024
        except OSError:
            pass
    return resident, proportional


class Result:
    def __init__(self, wall_s, cpu_s, peak_resident, peak_proportional, status, output):
        self.wall_s = wall_s
        self.cpu_s = cpu_s
        self.peak_resident = peak_resident
        self.peak_proportional = peak_proportional
        self.status = status
        self.output = output


def run(command, watch_memory=False, interval_s=0.01, accept=(0,)):
    """Runs to the end. Memory is sampled in runs of their own, because sampling takes a part of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    peaks = [0, 0]
    if watch_memory:
        def sample():
            while process.poll() is None:
                for index, value in enumerate(memory_bytes(tree(process.pid))):
                    peaks[index] = max(peaks[index], value)
                time.sleep(interval_s)
        thread = threading.Thread(target=sample)
        thread.start()
    output = process.communicate()[0]
    wall = time.monotonic() - start
    if watch_memory:
        thread.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode not in accept:
        sys.exit("%s\nended with status %d:\n%s" % (" ".join(command), process.returncode, output[-2000:]))
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Result(wall, cpu, peaks[0], peaks[1], process.returncode, output)


def in_turns(rounds, **commands):
    """Runs each command once a round, in turns, after one round that is not counted. {name: [Result]}"""
    results = {name: [] for name in commands}
    for round_number in range(rounds + 1):
        for name, command in commands.items():
            result = run(command)
            if round_number > 0:
                results[name].append(result)
    return results


def median_of(results, what):
    return statistics.median(getattr(result, what) for result in results)


def least_of(results, what):
    return min(getattr(result, what) for result in results)


def report_machine():
    with open("/proc/loadavg") as file:
        load = file.read().split()[0]
    print("%d cores, load before the start %s" % (os.cpu_count(), load))


class Limits:
    """Prints each number beside its limit; the process ends with 1 when one is not kept."""

    def __init__(self):
        self.broken = 0

    def at_most(self, what, value, limit, unit=""):
        kept = value <= limit
        self.broken += not kept
        print("%-58s %10.3f%s  (at most %.3f%s)  %s" % (what, value, unit, limit, unit, "ok" if kept else "NOT KEPT"))

    def end(self):
        sys.exit(1 if self.broken else 0)
