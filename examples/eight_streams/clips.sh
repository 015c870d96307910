#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clips.sh [FOLDER [SECONDS]]: creates the files that pipeline.json names in a work folder: eight clips of four seconds, of different
# sizes and rates, cut from the demo's, and links to the models.
set -euo pipefail
models="$(cd "$(dirname "$0")/../../models" && pwd)"
mkdir -p "${1:-.}" && cd "${1:-.}"
ln -sf "$models"/demo.onnx "$models"/colour.xml "$models"/colour.bin .
# Number, start in the demo's clip (seconds), size, frames per second.
while read -r number begin size rate; do
  ffmpeg -nostdin -v error -y -ss "$begin" -i "$models/demo.mp4" -t "${2:-4}" -vf "scale=${size/x/:},fps=$rate" -an \
    -c:v libx264 -preset veryfast -crf 20 "clip$number.mp4"
done <<'CLIPS'
1 0 1280x720 30
2 2 640x360 15
3 4 960x540 25
4 6 854x480 10
5 8 1120x630 12
6 10 720x404 24
7 12 640x480 20
8 15 1024x576 30
CLIPS
