# SPDX-License-Identifier: Apache-2.0
"""Paired ratios, and their text in tables."""
import math
import statistics


def ratio(theirs, ours):
    """How many times faster ours is: the median over rounds of pairs measured at the same time, and the quartiles."""
    each = sorted(t / o for t, o in zip(theirs, ours))
    low, middle, high = statistics.quantiles(each, n=4) if len(each) > 1 else each * 3
    return {"median": middle, "low": low, "high": high}


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(v) for v in values))


def shown(value, aim=None):
    """'0.97 (0.95 to 0.99)', with 'missed' if it falls short of the aim."""
    text = f"{value['median']:.2f} ({value['low']:.2f} to {value['high']:.2f})"
    return text if aim is None or value["median"] >= aim else text + ", missed"


def bytes_shown(count):
    for unit, size in (("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count:.0f} B"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]
