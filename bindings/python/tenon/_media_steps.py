# SPDX-License-Identifier: Apache-2.0
"""What a worker does with a source: frames in, rows out. Knows no Ray."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections import deque
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, Optional, Protocol, Sequence

from . import __main__ as _tool


@dataclass
class Box:
    """An object in a frame: corners in pixels of the frame."""

    label: str
    score: float
    x0: float
    y0: float
    x1: float
    y1: float
    label_id: int = -1
    track_id: Optional[int] = None


@dataclass
class Row:
    """A frame of a source, or with `error` what ended the source."""

    source: str
    index: int
    timestamp_ns: Optional[int] = None
    width: int = 0
    height: int = 0
    objects: list = field(default_factory=list)
    error: Optional[str] = None

    def as_dict(self) -> dict:
        return {**vars(self), "objects": [vars(each) for each in self.objects]}


class Step(Protocol):
    """Can be pickled until start(), which a worker calls once."""

    device: str

    def start(self) -> None: ...

    def run(self, source: str) -> Iterator[Row]: ...

    def identity(self) -> Any:
        """What the results depend on, as JSON has it."""


def _file_identity(path: Any) -> list:
    try:
        status = os.stat(path)
        return [os.fspath(path), status.st_size, status.st_mtime_ns]
    except OSError:
        return [os.fspath(path)]


class PipelineStep:
    """Each source through the elements file, infer and track, by the tool: decoding, inference and tracking without Python.

    The tool compiles the model for each source, or loads it from `cache_dir`, one folder for all workers of a machine; a decoder that a damaged
    file brings down takes no worker with it. `file`: parameters of the element file; `infer`: more of the element infer.
    """

    def __init__(self, model: Any, device: str = "CPU", *, track: bool = True, frames: int = 0, cache_dir: Any = "", infer: Optional[dict] = None,
                 file: Optional[dict] = None):
        if frames < 0:
            raise ValueError(f"frames must be 0 (all) or more, not {frames}")
        self.device = device
        self._model, self._frames = os.path.abspath(model), frames
        infer = {"model": self._model, "device": device, **({"cache_dir": os.path.abspath(cache_dir)} if cache_dir else {}), **(infer or {})}
        self._nodes = [{"element": "file", "name": "source", "parameters": dict(file or {})}, {"element": "infer", "name": "infer", "parameters": infer}]
        if track:
            self._nodes.append({"element": "track"})
        self._nodes.append({"element": "json", "name": "results", "parameters": {"path": "-"}})

    def identity(self) -> Any:
        return [self._nodes, self._frames, _file_identity(self._model)]

    def start(self) -> None:
        if not _tool.tool().exists():
            raise FileNotFoundError(f"the worker has no command-line tool at {_tool.tool()}: build it, or set TENON_TOOL to it")
        if not os.path.exists(self._model):
            raise FileNotFoundError(f"the worker does not see the model {self._model}")

    def run(self, source: str) -> Iterator[Row]:
        nodes = [{**self._nodes[0], "parameters": {**self._nodes[0]["parameters"], "path": source}}, *self._nodes[1:]]
        command = [str(_tool.tool()), "pipeline", "-", "--quiet", *(["--frames", str(self._frames)] if self._frames else [])]
        with tempfile.TemporaryFile() as spec, tempfile.TemporaryFile() as said:
            spec.write(json.dumps({"nodes": nodes}).encode())
            spec.seek(0)
            process = subprocess.Popen(command, stdin=spec, stdout=subprocess.PIPE, stderr=said)
            try:
                assert process.stdout
                for index, line in enumerate(process.stdout):
                    yield row_of(source, index, json.loads(line))
                if process.wait():
                    said.seek(0)
                    words = said.read().decode(errors="replace").strip().splitlines()
                    raise RuntimeError(words[-1] if words else f"tenon pipeline ended with exit status {process.returncode}")
            finally:  # Also where the caller takes no more rows.
                if process.poll() is None:
                    process.kill()
                process.wait()
                process.stdout.close()


def row_of(source: str, index: int, line: dict) -> Row:
    """A line of the element json as a row."""
    boxes = [Box(str(each.get("label", "")), float(each.get("score", 0)), *map(float, each["box"]), label_id=int(each.get("label_id", -1)),
                 track_id=each.get("track_id")) for each in line.get("metadata", []) if each.get("kind") == "detection"]
    return Row(source, index, line.get("timestamp_ns"), line.get("width", 0), line.get("height", 0), boxes)


def frames_of(source: str) -> Iterator[tuple]:
    """Pairs of a time in nanoseconds (or None) and a picture [height, width, 3], u8, RGB: from NumPy files of [frames, height, width, 3], else by
    tenon.open(), else by PyAV where this package was built without media."""
    import tenon as tn

    if source.endswith(".npy"):
        import numpy

        pictures = numpy.load(source, mmap_mode="r")
        if pictures.ndim != 4 or pictures.shape[3] != 3 or pictures.dtype != numpy.uint8:
            raise ValueError(f"{source}: frames are u8 of shape [frames, height, width, 3], not {pictures.dtype} of {list(pictures.shape)}")
        for picture in pictures:
            yield None, picture
    elif hasattr(tn, "open"):
        with tn.open(source, format="rgb24") as video:
            for frame in video:
                yield None if frame.time is None else round(frame.time * 1e9), frame.numpy()
    else:
        yield from _frames_by_pyav(source)


def _frames_by_pyav(source: str) -> Iterator[tuple]:
    try:
        import av
    except ImportError as error:
        raise ImportError(f"{source}: pictures in Python need the PyPI package av (pip install av), or give ModelStep(open=...): {error}") from error
    with av.open(source) as container:
        for frame in container.decode(video=0):
            at = None if frame.pts is None else int(frame.pts * Fraction(frame.time_base) * 1_000_000_000)
            yield at, frame.to_ndarray(format="rgb24")


def picture_input(model: Any, mean: float = 0.0, scale: float = 1.0) -> Any:
    """The model with an input for pictures [1, height, width, 3], u8, RGB, of any size: they are brought to the size that it wants, and it gets
    (value - mean) / scale."""
    import tenon as tn

    steps = tn.preprocess.PrePostProcessor(model)
    steps.input().tensor().set_element_type(tn.Type.u8).set_layout("NHWC").set_spatial_dynamic_shape()
    steps.input().model().set_layout("NCHW")
    steps.input().preprocess().convert_element_type(tn.Type.f32).resize(tn.preprocess.ResizeAlgorithm.RESIZE_LINEAR).mean(mean).scale(scale)
    return steps.build()


class ModelStep:
    """Each source through Python: frames by `open`, one compiled model in the worker with several inferences at once, `decode` for what the
    outputs mean.

    decode(outputs, width, height) -> boxes: `outputs` are the arrays of one frame in the model's order. open(source) -> pairs of a time in
    nanoseconds and a picture (frames_of()). prepare(model) -> model: gives the model an input for pictures (picture_input()). Functions are
    pickled: define them where workers can import them, or in the program's main file.
    """

    def __init__(self, model: Any, decode: Callable[[Sequence[Any], int, int], list], device: str = "CPU", *, config: Optional[dict] = None,
                 track: bool = True, requests: int = 0, frames: int = 0, open: Callable[[str], Iterable] = frames_of,
                 prepare: Callable[[Any], Any] = picture_input):
        self.device = device
        self._model, self._config, self._decode, self._track = os.path.abspath(model), dict(config or {}), decode, track
        self._requests, self._frames, self._open, self._prepare = requests, frames, open, prepare
        self._queue: Any = None

    def identity(self) -> Any:
        functions = [f"{each.__module__}.{each.__qualname__}" for each in (self._decode, self._open, self._prepare)]
        return [self.device, self._config, self._track, self._frames, functions, _file_identity(self._model)]

    def start(self) -> None:
        import tenon as tn

        compiled = tn.compile_model(self._prepare(tn.read_model(self._model)), self.device, self._config)
        self._queue = tn.AsyncInferQueue(compiled, self._requests)

    def run(self, source: str) -> Iterator[Row]:
        """Rows in the order of the frames, whatever the order in which inferences end."""
        queue, done, waiting = self._queue, {}, deque()
        tracker = Tracker() if self._track else None
        queue.set_callback(lambda request, index: done.__setitem__(index, request.results.to_tuple()))

        def take(all_of_them: bool) -> Iterator[Row]:
            while waiting and (all_of_them or waiting[0].index in done):
                row = waiting.popleft()
                row.objects = self._decode(done.pop(row.index), row.width, row.height)
                if tracker:
                    tracker.update(row.objects)
                yield row

        try:
            for index, (at, picture) in enumerate(self._open(source)):
                if self._frames and index == self._frames:
                    break
                queue.start_async({0: picture[None]}, index, True)
                waiting.append(Row(source, index, at, picture.shape[1], picture.shape[0]))
                yield from take(False)
            queue.wait_all()
            yield from take(True)
        finally:
            try:
                queue.wait_all()
            except Exception:  # The first error was raised already.
                pass


class Tracker:
    """Gives boxes ids that they keep while they overlap from frame to frame: the best pairs of the same label first. For what is hard, take
    PipelineStep, whose tracker expects where an object goes."""

    def __init__(self, iou: float = 0.3, keep: int = 15):
        self._iou, self._keep, self._next = iou, keep, 1
        self._known: dict = {}  # Id: the last box, and the number of frames since.

    def update(self, boxes: Sequence[Box]) -> None:
        """Sets track_id of each box of the next frame."""
        pairs = sorted(((overlap(box, old), number, identity) for number, box in enumerate(boxes) for identity, (old, _) in self._known.items()
                        if box.label == old.label), reverse=True)
        taken, used = {}, set()
        for value, number, identity in pairs:
            if value >= self._iou and number not in taken and identity not in used:
                taken[number] = identity
                used.add(identity)
        for identity in list(self._known):
            old, age = self._known[identity]
            if age >= self._keep:
                del self._known[identity]
            else:
                self._known[identity] = (old, age + 1)
        for number, box in enumerate(boxes):
            if number not in taken:
                taken[number] = self._next
                self._next += 1
            box.track_id = taken[number]
            self._known[box.track_id] = (box, 0)


def overlap(a: Box, b: Box) -> float:
    """Intersection over union."""
    width, height = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
    if width <= 0 or height <= 0:
        return 0.0
    both = width * height
    return both / ((a.x1 - a.x0) * (a.y1 - a.y0) + (b.x1 - b.x0) * (b.y1 - b.y0) - both)
