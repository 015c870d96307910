# SPDX-License-Identifier: Apache-2.0
"""Videos as iterators of frames, and pipelines."""

from __future__ import annotations

import io
import json
import numbers
import os
import re
import weakref
from typing import Any, AsyncIterator, Iterator, Optional, Union

from . import _native, errors
from ._calls import table

Path = Union[str, "os.PathLike[str]"]

def progress_bar(text: str) -> Any:
    """A bar of tqdm for frames, in notebooks too."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise ImportError("progress=True shows a bar of tqdm, which is not installed: pip install tqdm") from None
    return tqdm(desc=text, unit=" frames")


def advance(bar: Any, stats: list[dict]) -> None:
    """Moves a bar to where the sources are."""
    sources = [each for each in stats if not each["frames_in"]]
    bar.total = sum(each["expected"] for each in sources) or None
    bar.n = sum(each["frames_out"] for each in sources)
    bar.refresh()


_running: "weakref.WeakSet[_native._Running]" = weakref.WeakSet()


def drop_all() -> None:
    """Pipelines end before the interpreter does: their threads may be in Python."""
    for running in list(_running):
        running.drop()
    _native._join_dropped()


async def coming(running: _native._Running, stops: bool = False) -> AsyncIterator[_native.Frame]:
    """The frames of a pipeline for coroutines. Their wait has a thread of its own: the loop's own are few, and all would wait for cameras
    that are late. A task that is cancelled in the wait stops the pipeline, since the frame that comes next would be lost. stops: the end of
    the loop does, too."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    loop = asyncio.get_running_loop()
    waiting = ThreadPoolExecutor(2, "tenon-frames")  # One for frames, one for the end, which the elements may keep waiting.
    try:
        while (taken := await loop.run_in_executor(waiting, running.next)) is not None:
            yield taken[1]
    except asyncio.CancelledError:
        stops = True
        raise
    finally:
        try:
            if stops:
                await loop.run_in_executor(waiting, running.stop)
        finally:
            waiting.shutdown(wait=False)


class Pipeline:
    """Elements that are connected: `Pipeline().add("file", path="clip.mp4").add("infer", model="m.onnx").add("json", path="out.jsonl").run()`.

    Elements are named (see tenon.elements()), classes that derive from Source, Transform or Sink, or functions of a frame. Each gets frames
    from the one before it, or from those that `after` names. A pipeline whose last element gives frames is iterated over them. Once it is over
    it can run again, from the beginning.

    Pipeline("file.json") and Pipeline({...}) take what docs/guide/pipelines.md describes.

    on_error: "stop" (the default), "end" (other streams go on) or "restart": `restarts` times, after `restart_delay` seconds. patience: seconds
    that a source may take to open, and to give a frame (10). frames: most of each stream. They precede those of the file or dict.
    """

    def __init__(self, spec: Union[None, Path, dict, list] = None, *, on_error: Optional[str] = None, restarts: Optional[int] = None,
                 restart_delay: Optional[float] = None, patience: Optional[float] = None, frames: Optional[int] = None):
        given = {"on_error": on_error, "restarts": restarts, "restart_delay": restart_delay, "patience": patience, "frames": frames}
        self._settings: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        self._nodes: list[dict] = []
        self._running: Optional[_native._Running] = None
        if isinstance(spec, dict):
            self._take(spec)
        elif isinstance(spec, list):
            self._take({"nodes": spec})
        elif spec is not None:
            errors.check_file(spec)
            with io.open(os.fspath(spec), encoding="utf-8") as file:
                try:
                    self._take(json.load(file))
                except (json.JSONDecodeError, UnicodeDecodeError) as error:
                    raise errors.InvalidArgument(f"{os.fspath(spec)!r} is no pipeline file: {error}") from None

    def _take(self, spec: Any) -> None:
        if not isinstance(spec, dict):
            raise errors.InvalidArgument(f"a pipeline is an object with \"nodes\", not {spec!r}")
        for key, value in spec.items():
            if key == "nodes":
                if not isinstance(value, (list, tuple)):
                    raise TypeError(f"\"nodes\" of a pipeline is a list of dicts with \"element\", not {value!r}")
                for node in value:
                    if not isinstance(node, dict) or "element" not in node:
                        raise ValueError(f"a node is a dict with \"element\", not {node!r}")
                    node = dict(node)
                    if isinstance(node.get("from"), str):
                        node["from"] = [node["from"]]
                    self._nodes.append(node)
            elif key in ("restart_delay_ms", "patience_ms"):
                if not isinstance(value, numbers.Real):
                    raise TypeError(f"{key} of a pipeline is a number of milliseconds, not {value!r}")
                self._settings.setdefault(key[:-3], value / 1000)
            elif key in ("on_error", "restarts", "restart_delay", "patience", "frames"):
                self._settings.setdefault(key, value)
            elif key != "$schema":
                raise errors.InvalidArgument(f"a pipeline has no setting {key!r}; there are nodes, on_error, restarts, restart_delay, patience and frames")

    def add(self, element: Any, /, *, id: Optional[str] = None, after: Union[None, str, list] = None, queue: Optional[dict] = None, **parameters: Any) -> "Pipeline":
        """Adds an element and returns the pipeline. `id` names the node; queue={"size": 4, "when_full": "drop_oldest"} gives it a thread.
        A parameter that is a word of Python's has a trailing underscore."""
        if self._running is not None and not self._running.over:
            raise errors.FailedPrecondition("the pipeline runs already: elements are added before, or after its end")
        if after is not None and not isinstance(after, (str, list, tuple)):
            raise TypeError(f"after is the name of a node, or a list of them, not {after!r}")
        for name, value in parameters.items():
            if value is None:
                raise TypeError(f"the parameter {name} of {element!r} is None: leave it out to get its default")
        node: dict = {"element": element, "parameters": {name.rstrip("_"): value for name, value in parameters.items()}}
        if id is not None:
            node["name"] = id
        if after is not None:
            node["from"] = [after] if isinstance(after, str) else list(after)
        if queue is not None:
            node["queue"] = queue
        self._nodes.append(node)
        return self

    def _start(self, ahead: int, model: Any = None) -> _native._Running:
        """The run that goes on; a new one where there is none yet, or the last is over."""
        running = self._running
        if running is None or running.over:
            running = self._running = _native._run_pipeline(self._nodes, self._settings, ahead, model)
            _running.add(running)
        elif running.gives_frames != (ahead > 0):
            raise errors.FailedPrecondition(
                "the pipeline's frames are taken by an iteration: end it, or stop() the pipeline, before it runs otherwise" if running.gives_frames
                else "the pipeline runs by itself: wait() for its end, or stop() it, before an iteration takes its frames")
        return running

    def start(self) -> "Pipeline":
        """Starts all threads and returns."""
        self._start(0).start()
        return self

    def wait(self, seconds: Optional[float] = None) -> bool:
        """Waits for the end; False after so many seconds. Throws the first failure. Ctrl-C stops the pipeline. Starts one that never was."""
        return (self._running or self._start(0)).wait(seconds)

    def run(self, *, progress: bool = False) -> "Pipeline":
        """Runs to the end, again if it has run before. Throws the first failure. progress: shows a bar, where tqdm is installed."""
        self._start(0)
        if not progress:
            self.wait()
            return self
        with progress_bar(repr(self)[1:-1]) as bar:
            is_over = False
            while not is_over:
                try:
                    is_over = self.wait(0.2)
                finally:
                    advance(bar, self.stats)
        return self

    def stop(self) -> None:
        """Stops sources and finishes the frames in flight."""
        if self._running is not None:
            self._running.stop()

    def frames(self, ahead: int = 4, model: Optional[_native.CompiledModel] = None) -> Iterator[_native.Frame]:
        """The frames that leave the last element. `ahead`: how many may wait; `model`: sources allocate memory that it reads in place."""
        running = self._start(ahead, model)
        try:
            while (taken := running.next()) is not None:
                yield taken[1]
        finally:
            running.stop()

    def __iter__(self) -> Iterator[_native.Frame]:
        return self.frames()

    def __aiter__(self) -> AsyncIterator[_native.Frame]:
        return coming(self._start(4), stops=True)

    def __enter__(self) -> "Pipeline":
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()

    @property
    def stats(self) -> list[dict]:
        """Frames, seconds of work, bytes copied and latencies (p50, p90, p99 in seconds) of each node so far."""
        return self._running.stats() if self._running is not None else []

    @property
    def failures(self) -> list[dict]:
        """What went wrong so far: stream, node, message, and whether the stream was restarted."""
        return self._running.failures() if self._running is not None else []

    def __repr__(self) -> str:
        return "<Pipeline: " + " -> ".join(str(getattr(node["element"], "__name__", node["element"])) for node in self._nodes) + ">"

    def _repr_html_(self) -> str:
        rows = [[s["name"], s["element"], s["frames_in"], s["frames_out"], f"{s['busy']:.3f} s", s["copied"], f"{1000 * s['p50']:.1f} ms"] for s in self.stats]
        return table(["node", "element", "in", "out", "busy", "bytes copied", "latency"], rows)


def name_of(uri: Union[Path, int]) -> str:
    """The text of a path; a number is that of a camera, as OpenCV has it."""
    if isinstance(uri, int) and not isinstance(uri, bool) and uri >= 0:
        return f"/dev/video{uri}"
    if not isinstance(uri, (str, bytes, os.PathLike)):
        raise TypeError(f"what is opened is a path, a URL or the number of a camera, not {uri!r}; several sources are a tenon.Pipeline with a \"file\" for each")
    return os.fsdecode(uri)


def source_of(uri: Union[Path, int]) -> dict:
    """The source element for a path, a URL, a camera (or its number), a GStreamer launch line ("gst: ...") or the socket of another process
    ("ipc:SOCKET"), or a PipeWire video node ("pipewire:NODE"). @errors MissingFile."""
    text = name_of(uri)
    if text.startswith("ipc:") and not os.path.exists(text):
        return {"element": "ipc", "parameters": {"socket": text[4:]}}
    if text.startswith("pipewire:") and not os.path.exists(text):
        return {"element": "pipewire", "parameters": {"node": text[9:]}}
    if text.startswith("gst:"):
        return {"element": "gst_source", "parameters": {"line": text[4:].strip()}}
    if text.startswith("/dev/video"):
        return {"element": "camera", "parameters": {"device": text}}
    if not re.search(r"^\w+:|[%*?\[]", text):  # Neither a URL nor a pattern.
        errors.check_file(text)
    return {"element": "file", "parameters": {"path": text}}


class Video:
    """The frames of a video, camera or stream, decoded by another thread into memory that all readers share: `for frame in tn.open(...)`.

    Frames may be kept as long as wanted. Leaving a `with` block, or dropping the object, closes the source."""

    def __init__(self, uri: Union[Path, int], *, format: Optional[str] = None, width: int = 0, height: int = 0, model: Optional[_native.CompiledModel] = None,
                 ahead: int = 4, quality: str = "fast", upright: Optional[bool] = None, progress: bool = False, patience: Optional[float] = None,
                 **options: Any):
        if not hasattr(ahead, "__index__"):  # NumPy's numbers have it, too.
            raise TypeError(f"ahead is a number of frames, not {ahead!r}")
        if ahead < 1:
            raise ValueError(f"ahead is the number of frames that are decoded before they are wanted: at least 1, not {ahead}")
        if quality not in ("fast", "exact"):
            raise ValueError(f"quality is \"fast\" or \"exact\", not {quality!r}")
        node = source_of(uri)
        node["parameters"].update(options)
        self._pipeline = Pipeline([node], patience=patience)
        if upright is not None and not isinstance(upright, bool):
            raise TypeError(f"upright is True, False or None, not {upright!r}")
        if format or width or height or upright:
            # A fast conversion keeps up with the decoder; an exact one needs all processors to. Frames may be kept.
            wanted: dict = {"width": width, "height": height, "quality": quality, "threads": int(quality == "fast"), "limit": 1 << 20,
                            "upright": upright is not False}
            if format is not None and not isinstance(format, str):
                raise TypeError(f"format is the name of a pixel format, as \"rgb24\", not {format!r}")
            if format:
                wanted["format"] = _native._format_name(format)
            self._pipeline.add("convert", **wanted)
        self._uri = name_of(uri)
        self._bar = progress_bar(self._uri) if progress else None
        self._running = self._pipeline._start(ahead, model)

    def __iter__(self) -> Iterator[_native.Frame]:
        return self if self._bar is None else self._with_bar()

    def _with_bar(self) -> Iterator[_native.Frame]:
        with self._bar as bar:
            for frame in iter(self.__next__, None):
                bar.total = bar.total or self.frame_count
                yield frame
                bar.update()

    def __next__(self) -> _native.Frame:
        taken = self._running.next()
        if taken is None:
            raise StopIteration
        return taken[1]

    def __aiter__(self) -> AsyncIterator[_native.Frame]:
        return coming(self._running)

    def close(self) -> None:
        """Stops reading."""
        self._running.stop()

    def __enter__(self) -> "Video":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _info(self) -> tuple[int, int, float, bool]:
        return self._running.info() or (0, 0, 0.0, False)

    @property
    def width(self) -> int:
        """Pixels of the frames that come first; waits until the source is open."""
        return self._info()[0]

    @property
    def height(self) -> int:
        """As width."""
        return self._info()[1]

    @property
    def fps(self) -> float:
        """Frames per second; 0 where that is not known."""
        return self._info()[2]

    @property
    def live(self) -> bool:
        """Whether frames come at their own pace."""
        return self._info()[3]

    @property
    def frame_count(self) -> Optional[int]:
        """Frames in the whole video; None where that is not known."""
        self._info()
        return self.stats[0]["expected"] or None

    @property
    def stats(self) -> list[dict]:
        """As Pipeline.stats."""
        return self._pipeline.stats

    def __repr__(self) -> str:
        return f"<Video: {self._uri}>"


def open(uri: Union[Path, int], *, format: Optional[str] = None, width: int = 0, height: int = 0, model: Optional[_native.CompiledModel] = None,
         ahead: int = 4, quality: str = "fast", upright: Optional[bool] = None, progress: bool = False, patience: Optional[float] = None,
         **options: Any) -> Video:
    """Opens "clip.mp4", "rtsp://...", "/dev/video0" (or 0), a folder of pictures, "gst: a launch line", "ipc:SOCKET" of a process
    that serves frames (tenon serve-frames), or "pipewire:NODE", as an iterator of Frames.

    format, width, height: convert frames, by threads beside this one ("rgb24" for frame.numpy()). quality: "fast" gives RGB within 2
    levels of the rounded value, each pixel with the chroma of its block; "exact" rounds and interpolates chroma, in twenty times the
    time. model: decode into memory that a compiled model reads in place. ahead: how many frames are decoded ahead. progress: iteration
    shows a bar, where tqdm is installed. patience: seconds that a source may take to open, and to give a frame (10), before DeadlineExceeded,
    which is a TimeoutError. Options are the source element's (tenon.elements()): loop, realtime, threads, transport...

    upright: what becomes of pictures that are stored sideways, as phones do. None: frames that are converted are stored upright, as
    OpenCV gives them; frames as decoded lie as the file has them (frame.rotation), and nothing is copied. True: all frames are upright.
    False: none is, as in PyAV. width, height, Video.width and Video.height are those of the frames that come. Boxes of objects always
    refer to the upright picture.
    """
    return Video(uri, format=format, width=width, height=height, model=model, ahead=ahead, quality=quality, upright=upright, progress=progress,
                 patience=patience, **options)
