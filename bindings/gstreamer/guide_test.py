#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs each line of a guide, as its reader would: guide_test.py GUIDE MODELS. Lines are those of ```sh blocks; a block with
<!-- needs ELEMENT --> above it is run where there is such an element. clip.mp4 and detector.onnx are those of MODELS."""
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"(?:<!-- needs (\w+) -->\n)?^```sh\n(.*?)^```$", re.M | re.S)
SECONDS = 90
# A second of the clip: enough for each line.
SHORTEN = "gst-launch-1.0 filesrc location={} ! qtdemux ! h264parse ! identity eos-after=16 ! h264parse ! mp4mux ! filesink location=clip.mp4"


def has(element):
    return subprocess.run(["gst-inspect-1.0", "--exists", "--atleast-version=0.0.0", element], capture_output=True).returncode == 0


def main() -> int:
    guide, models = (pathlib.Path(each).resolve() for each in sys.argv[1:])
    if not shutil.which("gst-launch-1.0") or not (has("avdec_h264") or has("openh264dec")):
        print("no gst-launch-1.0, or no decoder of H.264")
        return 77
    wrong = ran = 0
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "detector.onnx").symlink_to(models / "demo.onnx")
        subprocess.run(shlex.split(SHORTEN.format(models / "demo.mp4")), cwd=folder, capture_output=True, check=True, timeout=SECONDS)
        for needed, block in BLOCK.findall(guide.read_text()):
            if needed and not has(needed):
                print(f"not run, without {needed}: {block.strip()}")
                continue
            for line in block.strip().splitlines():
                words = shlex.split(line)
                if words[0] not in ("gst-launch-1.0", "gst-inspect-1.0"):
                    raise SystemExit(f"{guide.name}: what is {words[0]}?")
                done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=SECONDS)
                ran += 1
                if done.returncode != 0 or re.search(r"ERROR|CRITICAL|WARNING", done.stderr):
                    wrong += 1
                    print(f"{line}\n{done.stderr}")
    print(f"{ran} lines, {wrong} wrong")
    return wrong != 0 or ran == 0


if __name__ == "__main__":
    sys.exit(main())
