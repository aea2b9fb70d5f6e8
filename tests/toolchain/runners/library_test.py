"""The ONNX Runtime runner opens its library by name: what it says when there is none, or another one."""
import glob
import os
import subprocess
import sys

runner = sys.argv[1]


def capabilities(library=None):
    environment = dict(os.environ)
    environment.pop("REQUAL_ONNXRUNTIME", None)
    if library is not None:
        environment["REQUAL_ONNXRUNTIME"] = library
    return subprocess.run([runner, "--capabilities"], env=environment, capture_output=True, text=True, timeout=120)


def expect(condition, result):
    if not condition:
        sys.exit("status %d\nstdout: %s\nstderr: %s" % (result.returncode, result.stdout[:500], result.stderr[:500]))


found = capabilities()
expect(found.returncode == 0 and '"works": true' in found.stdout, found)
# not there, no library at all, a library of something else: missing (3), one line that names it
with open("/proc/self/maps") as file:
    other = next(line.split()[-1] for line in file if "libc.so" in line or "/libc-" in line)
for library in ("/no/such/libonnxruntime.so.1", os.path.abspath(__file__), other):
    result = capabilities(library)
    expect(result.returncode == 3, result)
    expect(result.stdout == "" and result.stderr.count("\n") == 1 and library in result.stderr, result)
# the whole path of the right one
real = glob.glob(os.path.join(os.environ["REQUAL_DEPS"], "onnxruntime-*", "lib", "libonnxruntime.so.1"))
if real:
    named = capabilities(real[0])
    expect(named.returncode == 0 and '"works": true' in named.stdout, named)
