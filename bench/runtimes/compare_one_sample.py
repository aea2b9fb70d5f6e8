"""`requal compare`, ONNX Runtime against itself, one sample, beside `polygraphy run --onnxrt --onnxrt`.

Run with the Python of the bench group (scripts/setup bench): PYTHON compare_one_sample.py [ROUNDS]
The fastest run of each is compared: both do the same work in every round, and what else the machine does only adds.
"""
import os
import sys

import measuring as m

rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
model = m.detector()
polygraphy = m.need(os.path.join(os.path.dirname(sys.executable), "polygraphy"), "(scripts/setup bench)")
requal = [m.need(m.REQUAL, "requal"), "compare", model + "@onnxruntime:cpu", model + "@onnxruntime:cpu", "--random", "1",
          "--shape", "x:" + m.SHAPE, "--no-progress"]
peer = [polygraphy, "run", model, "--onnxrt", "--onnxrt", "--input-shapes", "x:[%s]" % m.SHAPE.replace("x", ",")]

m.report_machine()
results = m.in_turns(rounds, polygraphy=peer, requal=requal, parallel=requal + ["--parallel"])
for name, series in results.items():
    print("%-12s wall: least %.3f s, median %.3f s; processor time: least %.3f s, median %.3f s" % (
        name, m.least_of(series, "wall_s"), m.median_of(series, "wall_s"), m.least_of(series, "cpu_s"),
        m.median_of(series, "cpu_s")))
for name, command in (("polygraphy", peer), ("requal", requal), ("parallel", requal + ["--parallel"])):
    watched = m.run(command, watch_memory=True, interval_s=0.002)
    print("%-12s peak memory of the process tree: %.1f MB (shared pages once: %.1f MB)" % (
        name, watched.peak_resident / 1e6, watched.peak_proportional / 1e6))

limits = m.Limits()
base = m.least_of(results["polygraphy"], "wall_s")
limits.at_most("requal compare / polygraphy, wall", m.least_of(results["requal"], "wall_s") / base, 0.5)
limits.at_most("requal compare --parallel / polygraphy, wall", m.least_of(results["parallel"], "wall_s") / base, 0.35)
limits.end()
