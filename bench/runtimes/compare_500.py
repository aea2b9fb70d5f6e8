"""`requal compare` over 500 samples beside two bare ONNX Runtime sessions, one after the other.

compare_500.py [ROUNDS [SAMPLES]]. Memory: the sum over Requal's process tree at any moment against the bare program, which
holds one side at a time; and that it does not grow with the number of samples.
"""
import json
import sys

import measuring as m

rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
samples = int(sys.argv[2]) if len(sys.argv) > 2 else 500
model = m.detector()


def requal(count):
    return [m.need(m.REQUAL, "requal"), "compare", model + "@onnxruntime:cpu", model + "@onnxruntime:cpu", "--random",
            str(count), "--shape", "x:" + m.SHAPE, "--no-progress"]


bare = [m.need(m.os.path.join(m.BUILD, "benchmarks", "bench_bare_sessions"), "benchmarks"), model, str(samples), m.SHAPE]
m.report_machine()
results = m.in_turns(rounds, bare=bare, requal=requal(samples))
for name, series in results.items():
    print("%-8s wall: least %.2f s, median %.2f s; processor time: least %.2f s" % (
        name, m.least_of(series, "wall_s"), m.median_of(series, "wall_s"), m.least_of(series, "cpu_s")))
bare_peak = max(json.loads(result.output)["peak_bytes"] for result in results["bare"])
few = m.run(requal(20), watch_memory=True, interval_s=0.005)
many = m.run(requal(samples), watch_memory=True, interval_s=0.02)
print("bare     peak memory %.1f MB" % (bare_peak / 1e6))
print("requal   peak memory of the process tree %.1f MB (shared pages once: %.1f MB); with 20 samples %.1f MB" % (
    many.peak_resident / 1e6, many.peak_proportional / 1e6, few.peak_resident / 1e6))

limits = m.Limits()
limits.at_most("requal compare / two bare sessions, wall",
               m.least_of(results["requal"], "wall_s") / m.least_of(results["bare"], "wall_s"), 1.15)
limits.at_most("requal's peak memory above the bare side's", (many.peak_resident - bare_peak) / 2**20, 64, " MiB")
limits.at_most("growth from 20 samples to %d" % samples, (many.peak_resident - few.peak_resident) / 2**20, 8, " MiB")
limits.end()
