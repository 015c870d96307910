# SPDX-License-Identifier: Apache-2.0
"""The blocks ```py of README.md and docs/guide, which need packages that only these tests have. What a block uses and does not declare is given
here, by its page; a page whose block has nothing here fails."""
import re
import subprocess
import sys
from pathlib import Path

import pytest

from slow_fixtures import environment, root, tool  # noqa: F401

BLOCK = re.compile(r"^```py$\n(.*?)^```$", re.M | re.S)
GSTREAMER = '''
import sys
sys.path.append({gi!r})
import gi
gi.require_version("Gst", "1.0")
from gi.repository import Gst
Gst.init(None)
pipeline = Gst.parse_launch("videotestsrc num-buffers=1 ! video/x-raw,format=RGB,width=64,height=48 ! appsink name=sink")
appsink = pipeline.get_by_name("sink")
pipeline.set_state(Gst.State.PLAYING)
'''
BEFORE = {
    "python_video.md": GSTREAMER,
    "more_than_one_machine.md": "import ray\nray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=200 << 20)\n",
}
AFTER = {
    "python_video.md": 'assert (frame.width, frame.height, frame.format) == (64, 48, "rgb")\nassert tensor_of(sample.get_buffer()).size == 64 * 48 * 3\npipeline.set_state(Gst.State.NULL)\n',
    "more_than_one_machine.md": "assert report.frames > 0 and not report.failed and len(report.sources) == 1, report\n",
}


def blocks():
    """(page, code) of each page of the tree that these tests lie in."""
    root = next((each for each in Path(__file__).resolve().parents if (each / "docs/guide").exists()), None)
    pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))] if root else []
    return [(page.name, "".join(found)) for page in pages if (found := BLOCK.findall(page.read_text()))]


def test_pages_with_such_blocks_are_known(root):
    assert sorted(page for page, _ in blocks()) == sorted(BEFORE)


@pytest.fixture
def gi(tmp_path):
    """A folder with the system's PyGObject and nothing else of it."""
    system = Path("/usr/lib/python3/dist-packages/gi")
    if not list(system.glob(f"_gi.cpython-{sys.version_info[0]}{sys.version_info[1]}-*.so")):
        pytest.skip("no PyGObject for this Python: the system package python3-gi")
    folder = tmp_path / "gi"
    folder.mkdir()
    (folder / "gi").symlink_to(system)
    return str(folder)


@pytest.mark.parametrize("page, code", blocks(), ids=[page for page, _ in blocks()])
def test_a_guides_block_runs(page, code, root, tool, gi, environment, tmp_path):
    if page == "more_than_one_machine.md":
        pytest.importorskip("ray.data", reason="PyPI package ray[data] is missing")
        (tmp_path / "videos").mkdir()
        (tmp_path / "videos/clip.mp4").symlink_to(root / "models/demo.mp4")
        (tmp_path / "models").symlink_to(root / "models")
    script = tmp_path / "block.py"
    script.write_text(BEFORE[page].format(gi=gi) + code + AFTER[page])
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, timeout=300,
                          env={**environment, "TENON_TOOL": str(tool), "RAY_USAGE_STATS_ENABLED": "0"})
    assert done.returncode == 0, done.stdout + done.stderr
