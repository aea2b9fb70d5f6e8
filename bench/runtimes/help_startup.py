"""Time of `requal --help`, and of `inspect` of a file of 1 GiB (a plan's head and a hole): help_startup.py [ROUNDS]."""
import os
import sys
import tempfile

import measuring as m

rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
requal = m.need(m.REQUAL, "requal")
m.report_machine()
with tempfile.TemporaryDirectory() as folder:
    plan = os.path.join(folder, "big.plan")
    with open(plan, "wb") as file:
        # magic, then the four version bytes at 24..27, as TensorRT writes them
        file.write(b"ftrt" + bytes(20) + bytes([10, 3, 0, 30]) + bytes(36))
        file.truncate(1 << 30)
    results = m.in_turns(rounds, help=[requal, "--help"], inspect=[requal, "inspect", plan, "--no-digest"],
                         true=["/bin/true"])
for name, series in results.items():
    print("%-8s wall: least %.1f ms, median %.1f ms" % (name, m.least_of(series, "wall_s") * 1e3,
                                                       m.median_of(series, "wall_s") * 1e3))
limits = m.Limits()
limits.at_most("requal --help, median", m.median_of(results["help"], "wall_s") * 1e3, 30, " ms")
limits.at_most("requal inspect of 1 GiB, median", m.median_of(results["inspect"], "wall_s") * 1e3, 30, " ms")
limits.end()
