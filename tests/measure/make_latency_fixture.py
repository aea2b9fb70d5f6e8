#!/usr/bin/env python3
"""Writes data/latency_intervals.csv: ranks of percentiles and of their distribution-free 95 % intervals, by scipy.

Not run by the tests (scipy is not among their packages): `pip install scipy`, then make_latency_fixture.py > data/latency_intervals.csv
Made with scipy 1.17.1. Columns: samples, q, rank of the percentile (nearest rank), lower rank, upper rank; 0 where the samples
cannot bear the bound.
"""
import math
from fractions import Fraction

import numpy as np
from scipy.stats import binom

print("# samples,q,rank,lower,upper by scipy.stats.binom; see make_latency_fixture.py")
for n in (1, 2, 3, 5, 10, 20, 30, 59, 60, 99, 100, 101, 200, 299, 300, 368, 369, 500, 1000, 4999, 10000, 100000):
    for text in ("0.5", "0.9", "0.99"):
        q = float(text)
        rank = math.ceil(n * Fraction(text))
        cdf = binom.cdf(np.arange(0, n + 1), n, q)
        # largest l with P(B <= l - 1) <= 0.025; smallest u with P(B <= u - 1) >= 0.975
        low = int((cdf <= 0.025).sum())
        high = int(np.argmax(cdf >= 0.975)) + 1
        print(f"{n},{text},{rank},{low},{high if high <= n else 0}")
