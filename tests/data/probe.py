"""Starts data_probe and gives it jobs."""
import subprocess


class Probe:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, *words):
        """(True, text) or (False, error text)."""
        self.process.stdin.write("\t".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"data_probe ended while doing {words}: status {self.process.wait()}")
        status, _, text = line.rstrip("\n").partition("\t")
        return status == "ok", text
