"""p50 of `bench` beside a bare loop over the same model, in turns: bench_p50.py [BLOCKS [RUNS]].

SHARED=1 says that other work runs on the machine: the limit is 3 % then, else 1 %.
"""
import os
import re
import sys

import measuring as m

program = m.need(os.path.join(m.BUILD, "benchmarks", "bench_p50"), "benchmarks")
os.environ["REQUAL_RUNNERS"] = os.path.join(m.BUILD, "libexec", "requal")
m.report_machine()
result = m.run([program, m.detector(), m.SHAPE] + sys.argv[1:])
print(result.output, end="")
ratio = float(re.search(r"median of the blocks' ratios ([0-9.]+)", result.output).group(1))
limits = m.Limits()
limits.at_most("requal's p50 / the bare loop's, away from 1", abs(ratio - 1), 0.03 if os.environ.get("SHARED") else 0.01)
limits.end()
