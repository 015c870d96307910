#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds and follows the shapes in each video of a folder by Ray's workers; a Parquet file for each video."""
import argparse
import sys
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

import tenon.ray as tr
from shapes import boxes_of, prepare

MODEL = Path(__file__).resolve().parents[2] / "models/demo.onnx"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="videos: a folder, a pattern, or one file")
    parser.add_argument("results", help="folder for the results")
    parser.add_argument("--model", default=str(MODEL))
    parser.add_argument("--device", default="CPU")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--python", action="store_true", help="frames and outputs through Python, with one model in each worker")
    given = parser.parse_args()
    if given.python:
        step = tr.ModelStep(given.model, boxes_of, given.device, prepare=prepare, config={"INFERENCE_NUM_THREADS": 1})
    else:
        step = tr.PipelineStep(given.model, given.device, infer={"properties": "INFERENCE_NUM_THREADS=1"}, file={"threads": 1})
    report = tr.to_parquet(given.folder, given.results, step, workers=given.workers)
    print(report)
    for row in report.sources:
        if not row["error"]:
            objects = pc.list_flatten(pq.read_table(Path(given.results) / row["file"], columns=["objects"])["objects"])
            labels = {each["values"]: each["counts"] for each in pc.value_counts(pc.struct_field(objects, "label")).to_pylist()}
            print(f"{Path(row['source']).name}: {row['frames']} frames, {labels}")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
