#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The pictures of docs/guide/elements.md, from the demo's clip: element_images.sh [BUILD FOLDER]
set -eu
cd "$(dirname "$0")/.."
tenon=${1:-build/release}/bin/tenon
out=$(mktemp -d)
trap 'rm -r "$out"' EXIT

# run NODES: that pipeline, for eight seconds.
run() {
  printf '{"nodes": [%s, {"element": "write", "parameters": {"path": "%s/%%04d.jpg"}}]}' "$1" "$out" >"$out/pipeline.json"
  "$tenon" pipeline "$out/pipeline.json" --max-frames 240 >"$out/log" 2>&1 || { cat "$out/log"; exit 1; }
}

# found NAME: nodes that give the demo's clip with tracked objects.
found() {
  printf '{"element": "file", "name": "clip-%s", "parameters": {"path": "models/demo.mp4"}},
    {"element": "infer", "name": "infer-%s", "parameters": {"model": "models/demo.onnx"}}, {"element": "track", "name": "%s"}' "$1" "$1" "$1"
}

# keep NAME: the last picture, as docs/images/NAME.jpg.
keep() {
  local last
  last=$(printf '%s\n' "$out"/*.jpg | tail -1)
  cp "$last" "docs/images/$1.jpg"
  rm "$out"/*.jpg
}

run "$(found objects),
  {\"element\": \"analytics\", \"parameters\": {
    \"zones\": [{\"name\": \"left\", \"points\": [[60,120],[520,160],[560,600],[100,640]]},
              {\"name\": \"right\", \"points\": [[700,90],[1200,90],[1240,420],[760,380]], \"crowd\": 2}],
    \"lines\": [{\"name\": \"gate\", \"points\": [[640,40],[640,700]], \"anchor\": \"centre\"}]}},
  {\"element\": \"draw\", \"parameters\": {\"scores\": false}}, {\"element\": \"convert\", \"parameters\": {\"width\": 800}}"
keep analytics
run "$(found a), {\"element\": \"blur\", \"name\": \"smooth\"},
  $(found b), {\"element\": \"blur\", \"name\": \"squares\", \"parameters\": {\"how\": \"pixelate\", \"shape\": \"ellipse\"}},
  {\"element\": \"mosaic\", \"from\": [\"smooth\", \"squares\"],
   \"parameters\": {\"width\": 1000, \"height\": 282, \"columns\": 2, \"titles\": false}}"
keep blur
