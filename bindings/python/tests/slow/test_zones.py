# SPDX-License-Identifier: Apache-2.0
"""The numbers of vision/tracking/zones_test.cpp are those of the package supervision."""

import pathlib
import re
import subprocess
import sys

import pytest

VISION = pathlib.Path(__file__).resolve().parents[4] / "vision/tracking"


def test_zones_count_as_supervision_does():
    pytest.importorskip("supervision")
    printed = subprocess.run([sys.executable, VISION / "zones_oracle.py"], check=True, capture_output=True, text=True).stdout
    source = (VISION / "zones_test.cpp").read_text().split("CountsAsSupervisionDoes")[1]
    inside = re.search(r"EXPECT_EQ\(inside, .*?\{(.*?)\}", source).group(1)
    lines = re.search(r"wanted\[\]\[2\] = \{(.*?)\};", source, re.S).group(1)
    assert re.findall(r"\d+", inside + " " + lines) == re.findall(r"\d+", printed)
