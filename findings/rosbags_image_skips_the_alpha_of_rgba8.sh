#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# rosbags-image 0.10.4 (pictures of ROS bags without ROS), message_to_cvimage: asked for rgba8, an rgb8 message comes back with three channels and
# no alpha, without an error, and so is bgr8 as bgra8; rgb8 as bgra8 and bgr8 as rgba8 have four. OpenCV's number of the conversion is 0 there,
# and 0 is taken for "nothing to do". From 8 to 16 bits the pictures are arrays of float64, not uint16, and -1 of 8SC1 becomes 16842495 in mono16.
# From 16 to 8 bits, values are cut, so that 65534 is 254.
# Guess before the run: an encoding names the channels and the type of what comes back.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check rosbags-image==0.10.4 rosbags==0.11.9 opencv-python-headless==5.0.0.93 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
from rosbags.image import message_to_cvimage
from rosbags.typesys import Stores, get_typestore

store = get_typestore(Stores.ROS2_HUMBLE)
Image, Header, Time = (store.types[name] for name in ("sensor_msgs/msg/Image", "std_msgs/msg/Header", "builtin_interfaces/msg/Time"))

def convert(pixels, encoding, wanted):
    height, width = pixels.shape[:2]
    return message_to_cvimage(Image(Header(Time(0, 0), ""), height, width, encoding, 0, pixels.strides[0], pixels.view(np.uint8).reshape(-1)), wanted)

rng = np.random.default_rng(0)
colour = rng.integers(0, 256, (4, 6, 3)).astype(np.uint8)
for source, wanted, channels in (("rgb8", "rgba8", 3), ("bgr8", "bgra8", 3), ("rgb8", "bgra8", 4), ("bgr8", "rgba8", 4), ("mono8", "rgba8", 4)):
    found = convert(colour if source != "mono8" else colour[..., 0].copy(), source, wanted)
    print(f"{source} as {wanted}: {found.shape}")
    assert found.shape == (4, 6, channels)
for source, wanted in (("mono8", "mono16"), ("rgb8", "rgb16"), ("bgr8", "rgb16")):
    found = convert(colour if source != "mono8" else colour[..., 0].copy(), source, wanted)
    print(f"{source} as {wanted}: {found.dtype}, greatest number {found.max()}")
    assert found.dtype == np.float64
signed = convert(np.full((2, 2), -1, np.int8), "8SC1", "mono16")
print("-1 of 8SC1 as mono16:", signed[0, 0], signed.dtype)
assert signed[0, 0] == 65535 * 257
narrow = convert(np.array([[65534, 65535, 128, 386]], np.uint16), "mono16", "mono8")
print("65534, 65535, 128, 386 of mono16 as mono8:", narrow.tolist())
assert narrow.tolist() == [[254, 255, 0, 1]] and narrow.dtype == np.uint8
PYTHON
