#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns the benchmarks' JSON (out/bench) into a table of ratios (docs/benchmarks.md), each against the floor measured in the same run."""
import datetime
import json
import pathlib
import sys

import matrix
import tables

# The subject, our benchmark, its floor in the same binary, and the target ratio (None: no target stated).
ROWS = [
    ("wrap a CPU tensor / make_shared of an equal struct", "Wrap/cpu/224x224_rgb", "Wrap/floor/make_shared", 2),
    ("repeated map of a pooled buffer / a bare header", "Map/cpu->null.block/224x224_rgb_repeat", "Map/floor/bare_header", 3),
    ("AVFrame to frame / av_frame_ref", "Wrap/ffmpeg->tenon/1080p_i420/pooled:0", "Wrap/floor/av_frame_ref", 3),
    ("AVFrame from our pool to frame / av_frame_ref", "Wrap/ffmpeg->tenon/1080p_i420/pooled:1", "Wrap/floor/av_frame_ref", 3),
    ("cached route among 20 contexts / hash look-up by description", "Route/cached/20_contexts",
     "Route/floor/unordered_map_by_description", 5),
    ("cached route among 20 contexts / hash look-up by integer", "Route/cached/20_contexts", "Route/floor/unordered_map", 5),
    ("CPU tensor to cv::Mat that keeps it / a bare header", "Map/cpu->cv::Mat/kept/pooled:1", "Map/floor/cv::Mat_header", 3),
    ("the same through the router, repeated", "Map/cpu->opencv.mat->cv::Mat/router_and_kept", "Map/floor/cv::Mat_header", 3),
    ("repeated map CPU to cl_mem / a look-up and clRetainMemObject", "Map/cpu->opencl.buffer/1080p_nv12_repeat",
     "Map/floor/find_retain_release_without_lock", 2),
    ("first map CPU to cl_mem / clCreateBuffer(USE_HOST_PTR)", "Map/cpu->opencl.buffer/1080p_nv12_first", "Map/floor/create_release", 1.5),
    ("repeated map CPU to Level Zero memory / a look-up that holds the import", "Map/cpu->level_zero.usm/1080p_nv12_repeat",
     "Map/floor/find_and_hold", None),
    ("first map CPU to Level Zero memory / zeMemAllocHost that imports the pages", "Map/cpu->level_zero.usm/1080p_nv12_first",
     "Map/floor/import_free", 1.5),
    ("CPU tensor to ov::Tensor / a bare ov::Tensor", "Map/cpu->ov::Tensor/224x224_rgb", "Map/floor/bare_ov_tensor", 1.4),
    ("the same through the router, repeated", "Map/cpu->openvino->ov::Tensor/224x224_rgb_repeat", "Map/floor/bare_ov_tensor", 1.4),
    ("input stage, I420 1280x720 to 512x288 f32 / OpenCV's three calls", "Tenon/i420_one_thread/0", "OpenCv/0", None),
]
ABSOLUTE = [("cold plan over 20 contexts, 19 hops", "Route/cold/20_contexts_19_hops", "at most 100 us"),
            ("infer(), the runtime's own share (an in-process device of 16 floats)", "Infer_relu16", ""),
            ("set_tensor by name", "SetTensor_by_name", ""),
            ("set_tensor of a known buffer on the GPU device", "SetTensor", "at most 200 ns"),
            ("start_async of a model of 60 kernels on the GPU device (PoCL)", "Start/tried/60", "at most 60 us")]
# Rows of the pipelines' table: the subject, the benchmark, the counter, its format, and the target.
PIPELINES = [
    ("hand-over by a queue from thread to thread, 4 places as pipelines have", "queue_between_threads/4/real_time", "real_time", "{:.0f} ns", "at most 500 ns", 1),
    ("the same, 64 places", "queue_between_threads/64/real_time", "real_time", "{:.0f} ns", "at most 500 ns", 1),
    ("an element that does nothing, called one by another", "identities/10/real_time", "ns_per_element", "{:.0f} ns", "at most 1 us", 1e9),
    ("64 sources of nothing that meet in one sink", "streams/64/real_time", "frames_per_second", "{:,.0f} frames/s", "at least 50,000 frames/s", 1),
    ("four H.264 streams of 1080p decoded into a sink", "pipeline/4/real_time", "frames_per_second", "{:.1f} frames/s", "", 1),
    ("the same by a program with four threads", "threads_by_hand/4/real_time", "frames_per_second", "{:.1f} frames/s", "", 1),
]
# Rows of GStreamer's table: the subject, our benchmark, its floor, the largest permitted difference (ns; None: no target stated),
# and the cost of the same operation in DL Streamer's interop (ns and allocations, measured on such a machine on 2026-11-21; None:
# it has no such call).
GSTREAMER = [
    ("GstBuffer to CPU frame, NV12 / gst_video_frame_map", "Wrap/gstreamer->cpu/1080p_nv12", "Wrap/floor/gst_video_frame_map/1080p_nv12", 150, (1894, 50)),
    ("GstBuffer to CPU frame, BGR / gst_video_frame_map", "Wrap/gstreamer->cpu/1080p_bgr", "Wrap/floor/gst_video_frame_map/1080p_bgr", 150, (1061, 29)),
    ("GstBuffer to frame of any context, NV12 / gst_video_frame_map", "Wrap/gstreamer->tenon/1080p_nv12", "Wrap/floor/gst_video_frame_map/1080p_nv12", None, None),
    ("GstBuffer to cv::Mat, BGR / gst_video_frame_map and a header", "Wrap/gstreamer->opencv.mat/1080p_bgr",
     "Wrap/floor/gst_video_frame_map_and_cv::Mat/1080p_bgr", 200, (1613, 39)),
]
# Caps, as ROWS; and those that were seen before, which cost no parsing.
CAPS = ("caps to FrameInfo / gst_video_info_from_caps", "Caps/video_caps", "Caps/floor/gst_video_info_from_caps", 1.2)
CACHED_CAPS = ("caps that were seen before / gst_video_info_from_caps", "Caps/cached", "Caps/floor/gst_video_info_from_caps", 1)
# Rows of the table of other processes: the subject, the benchmark, and the aim in us (None: no target stated). Real time, since two processes
# take part.
PROCESSES = [
    ("over a link, as a pool's frames go", "Ipc/link/1080p_nv12/real_time", 15),
    ("the same with a fence each way: the frame is still written when it goes, and still read when it comes back",
     "Ipc/link/1080p_nv12/fences/real_time", None),
    ("by a publisher, whose thread takes it back, from and to a pool", "Ipc/publisher/1080p_nv12/real_time", None),
    ("floor: two packets of these sizes, without frames", "Ipc/floor/two_packets/real_time", None),
    ("through a pipe, and a byte back", "Ipc/pipe_with_copies/1080p_nv12/real_time", None),
]
TO_NS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def median_runs(folder: pathlib.Path, pattern: str):
    """The median of each benchmark by its name, and on what machine."""
    found, machine = {}, ""
    for path in sorted(folder.glob(pattern)):
        data = json.loads(path.read_text())
        machine = f"{matrix.machine()}, load {data['context']['load_avg'][0]:.1f}"
        found |= {run["run_name"]: run for run in data["benchmarks"] if run.get("aggregate_name") == "median"}
    return found, machine


def in_ns(run) -> float:
    return run["cpu_time"] * TO_NS[run["time_unit"]]


def medians(folder: pathlib.Path):
    found, machine = median_runs(folder, "*.json")
    return {name: in_ns(run) for name, run in found.items()}, machine


def in_units(ns: float) -> str:
    return f"{ns:.1f} ns" if ns < 1e3 else f"{ns / 1e3:.1f} us"


def table(found, machine) -> str:
    lines = [f"Medians of CPU time, {datetime.date.today()}, {machine}; `./dev bench` makes this table.", "",
             "| what / floor | ours | floor | ratio | aim |", "|---|---|---|---|---|"]
    for title, ours, floor, aim in ROWS:
        if ours in found and floor in found:
            ratio = found[ours] / found[floor]
            verdict = "" if aim is None else f"{aim}x" + ("" if ratio <= aim else ", missed")
            lines.append(f"| {title} | {in_units(found[ours])} | {in_units(found[floor])} | {ratio:.2f}x | {verdict} |")
    for title, name, aim in ABSOLUTE:
        if name in found:
            lines.append(f"| {title} | {in_units(found[name])} | | | {aim} |")
    return "\n".join(lines)


def pipelines(folder: pathlib.Path) -> str:
    """The table of pipelines; empty if one of its rows was not measured."""
    found, machine = median_runs(folder, "elements*_bench.json")
    if not all(name in found for _, name, *_ in PIPELINES):
        return ""
    lines = [f"Medians, {datetime.date.today()}, {machine}; `./dev bench elements` makes this table.", "", "| what | figure | aim |", "|---|---|---|"]
    for title, name, counter, form, aim, scale in PIPELINES:
        run = found[name]
        value = run["real_time"] * TO_NS[run["time_unit"]] if counter == "real_time" else run[counter] * scale
        lines.append(f"| {title} | {form.format(value)} | {aim} |")
    ratio = found["pipeline/4/real_time"]["frames_per_second"] / found["threads_by_hand/4/real_time"]["frames_per_second"]
    lines.append(f"| the pipeline beside that program | {ratio:.2f}x | at least 1.0x |")
    lines.append(f"| bytes that the pipeline copied | {found['pipeline/4/real_time']['copied_bytes']:.0f} | 0 |")
    return "\n".join(lines)


def missed(value: float, aim: float) -> str:
    return "" if value <= aim else ", missed"


def gstreamer(folder: pathlib.Path) -> str:
    """The table of GStreamer's buffers and caps; empty if one of its rows was not measured."""
    found, machine = median_runs(folder, "*gst*_bench.json")
    names = {name for _, ours, floor, *_ in (*GSTREAMER, CAPS, CACHED_CAPS) for name in (ours, floor)}
    if not names <= found.keys():
        return ""
    lines = [f"Medians of CPU time, {datetime.date.today()}, {machine}; `./dev bench gst` makes this table.", "",
             "| what / floor | ours | floor | ours over the floor | aim | allocations | DL Streamer's, measured 2026-11-21 |", "|---|---|---|---|---|---|---|"]
    for title, ours, floor, aim, theirs in GSTREAMER:
        over = in_ns(found[ours]) - in_ns(found[floor])
        verdict = "" if aim is None else f"{aim} ns" + missed(over, aim)
        other = f"{theirs[0]} ns, {theirs[1]} allocations" if theirs else ""
        lines.append(f"| {title} | {in_units(in_ns(found[ours]))} | {in_units(in_ns(found[floor]))} | {in_units(over)} | {verdict} "
                     f"| {found[ours]['allocations']:.2f} | {other} |")
    for title, ours, floor, aim in (CAPS, CACHED_CAPS):
        ratio = in_ns(found[ours]) / in_ns(found[floor])
        lines.append(f"| {title} | {in_units(in_ns(found[ours]))} | {in_units(in_ns(found[floor]))} | {ratio:.2f}x | {aim}x{missed(ratio, aim)} "
                     f"| {found[ours]['allocations']:.2f} | |")
    return "\n".join(lines)


def processes(folder: pathlib.Path) -> str:
    """The table of frames that go to another process; empty if one of its rows was not measured."""
    found, machine = median_runs(folder, "ipc_bench.json")
    if not all(name in found for _, name, _ in PROCESSES):
        return ""
    lines = [f"Medians, {datetime.date.today()}, {machine}; `./dev bench ipc` makes this table.", "",
             "| a 1080p frame to another process and back | time | aim | copied | allocations |", "|---|---|---|---|---|"]
    for title, name, aim in PROCESSES:
        run = found[name]
        us = run["real_time"] * TO_NS[run["time_unit"]] / 1e3
        verdict = "" if aim is None else f"at most {aim} us{missed(us, aim)}"
        copied = f"{run['copied_bytes']:,.0f} B" if "copied_bytes" in run else ""
        lines.append(f"| {title} | {us:.1f} us | {verdict} | {copied} | {format(run['allocs'], '.2f') if 'allocs' in run else ''} |")
    return "\n".join(lines)


def main() -> int:
    if of_processes := processes(pathlib.Path("out/bench")):
        print(of_processes)
        tables.write("processes", of_processes)
    if of_gstreamer := gstreamer(pathlib.Path("out/bench")):
        print(of_gstreamer)
        tables.write("gstreamer", of_gstreamer)
    if of_pipelines := pipelines(pathlib.Path("out/bench")):
        print(of_pipelines)
        tables.write("pipelines", of_pipelines)
    found, machine = medians(pathlib.Path("out/bench"))
    if not found:
        print("figures: no JSON in out/bench; run ./dev bench first")
        return 1
    if any(ours in found for _, ours, *_ in ROWS):  # Else only a part was measured.
        print(table(found, machine))
        tables.write("figures", table(found, machine))
    return 0


if __name__ == "__main__":
    sys.exit(main())
