# SPDX-License-Identifier: Apache-2.0
"""Scripts as OpenVINO's users write them: each runs with `openvino` and with `tenon.openvino`, and must print the same."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

JUDGES = sorted((Path(__file__).resolve().parent / "judges").glob("*.py"))
SECONDS = 120


def printed(path, source):
    """What the script prints; a script that fails shows its traceback."""
    path.write_text(source)
    done = subprocess.run([sys.executable, "-X", "faulthandler", str(path)], capture_output=True, text=True, timeout=SECONDS, env=dict(os.environ))
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout.splitlines()


@pytest.mark.parametrize("judge", JUDGES, ids=lambda path: path.stem)
def test_prints_the_same(judge, tmp_path):
    pytest.importorskip("openvino", reason="OpenVINO's wheel is not installed: there is nothing to compare with")
    source = judge.read_text()
    own, count = re.subn(r"^(import|from) openvino\b", r"\1 tenon.openvino", source, flags=re.M)
    assert count > 0
    # Under a name of its own: the judges' folder has a properties.py, which is no module of theirs.
    theirs, ours = printed(tmp_path / f"their_{judge.name}", source), printed(tmp_path / f"our_{judge.name}", own)
    different = [f"line {i + 1}:\n  openvino: {left}\n  tenon:    {right}" for i, (left, right) in enumerate(zip(theirs, ours)) if left != right]
    assert not different and len(theirs) == len(ours), "\n".join(different[:20]) + f"\n{len(theirs)} and {len(ours)} lines"
