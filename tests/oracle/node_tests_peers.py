#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many of ONNX's node tests OpenVINO and ONNX Runtime pass, by the same rule as ours.

usage: node_tests_peers.py FOLDER [--ours PATH_OF_backend_tests] [--list]
A run that kills its process counts as failed: each peer works in a process of its own, which is restarted after that.
"""
import argparse
import multiprocessing
import subprocess
import sys
from pathlib import Path

import numpy as np

RTOL, ATOL = 1e-3, 1e-5
SECONDS = 60


def read_values(folder, prefix):
    import onnx
    from onnx import numpy_helper

    values = []
    while (path := folder / f"{prefix}_{len(values)}.pb").exists():
        proto = onnx.TensorProto()
        proto.ParseFromString(path.read_bytes())
        if proto.data_type == 0:
            raise ValueError("no tensor")
        values.append(numpy_helper.to_array(proto))
    return values


def run_onnxruntime(path, inputs):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    return session.run(None, dict(zip(names, inputs)))


def run_openvino(path, inputs):
    import openvino

    core = openvino.Core()
    compiled = core.compile_model(core.read_model(str(path)), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return list(compiled(dict(enumerate(inputs[: len(compiled.inputs)]))).to_tuple())


def agrees(actual, expected):
    if len(actual) != len(expected):
        return False
    for a, e in zip(actual, expected):
        a, e = np.asarray(a), np.asarray(e)
        if a.shape != e.shape or a.dtype != e.dtype:
            return False
        if np.issubdtype(e.dtype, np.number) and not np.issubdtype(e.dtype, np.integer):
            if not np.allclose(a, e, RTOL, ATOL, equal_nan=True):
                return False
        elif not np.array_equal(a, e):
            return False
    return True


def passes(run, folder):
    sets = sorted(folder.glob("test_data_set_*"))
    for data in sets:
        if not agrees(run(folder / "model.onnx", read_values(data, "input")), read_values(data, "output")):
            return False
    return bool(sets)


def work(judge, tasks, results):
    run = {"onnxruntime": run_onnxruntime, "openvino": run_openvino}[judge]
    while (folder := tasks.get()) is not None:
        try:
            results.put(passes(run, Path(folder)))
        except Exception:  # Any exception of a peer means that it does not pass the test.
            results.put(False)


def count(judge, folders, listed):
    context = multiprocessing.get_context("spawn")
    worker, passed = None, 0
    for folder in folders:
        if worker is None:
            tasks, results = context.Queue(), context.Queue()
            worker = context.Process(target=work, args=(judge, tasks, results), daemon=True)
            worker.start()
        tasks.put(str(folder))
        good, waited = False, 0
        while waited < SECONDS * 5:
            try:
                good = results.get(timeout=0.2)
                break
            except Exception:
                waited += 1
                if not worker.is_alive():
                    waited = SECONDS * 5
        else:
            worker.kill()
            worker.join()
            worker = None
        passed += good
        if listed:
            print(f"{judge}\t{folder.name}\t{'passed' if good else 'FAILED'}", flush=True)
    if worker is not None:
        tasks.put(None)
        worker.join()
    return passed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ours", type=Path, help="the program backend_tests: its counts are printed too")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    folders = sorted(p for p in options.folder.iterdir() if (p / "model.onnx").exists())
    print(f"{len(folders)} node tests, rtol {RTOL}, atol {ATOL}")
    for judge in ("openvino", "onnxruntime"):
        module = __import__(judge)
        print(f"{judge} {module.__version__}: {count(judge, folders, options.list)} passed", flush=True)
    if options.ours:
        for arguments, name in (([], "Tenon, reference"), (["--device", "CPU"], "Tenon, CPU")):
            made = subprocess.run([options.ours, *arguments, options.folder], capture_output=True, text=True)
            print(f"{name}: {made.stdout.strip().replace(chr(10), '; ')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
