# SPDX-License-Identifier: Apache-2.0
"""Ray Data over files and streams: decode, infer, track, with one compiled model in each worker, and results in Parquet.

    import tenon.ray as tr

    step = tr.PipelineStep(model="detector.onnx", device="CPU", track=True)
    report = tr.to_parquet(["videos/"], "results/", step, workers=2)     # a file for each source; what is there already is kept
    frames = tr.map_media(["videos/"], step, workers=2)                  # or a Ray dataset with a row for each frame

Needs the PyPI package ray[data] (pip install 'ray[data]>=2.60'). A worker that is killed is started again and its source begins anew, so that nothing is
lost and nothing comes twice. docs/guide/more_than_one_machine.md says when to take it.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterable, Iterator, Optional, Sequence, Union

from ._media_steps import Box, ModelStep, PipelineStep, Row, Step, frames_of, picture_input

__all__ = ["Box", "ModelStep", "PipelineStep", "Report", "Row", "Step", "frames_of", "map_media", "picture_input",
           "resources_for", "schema", "sources_of", "to_parquet"]

SUFFIXES = (".mp4", ".mkv", ".mov", ".avi", ".webm", ".ts", ".m4v", ".mpg", ".jpg", ".jpeg", ".png", ".npy")


def _ray() -> Any:
    try:
        import pyarrow
        import ray
        import ray.data
    except ImportError as error:
        raise ImportError(f"tenon.ray needs the PyPI package ray[data] (pip install 'ray[data]>=2.60'): {error}") from error
    return ray, pyarrow


def schema() -> Any:
    """Columns of the results: a row for each frame, with a list of objects; or a row with `error` where a source failed."""
    import pyarrow as pa

    box = pa.struct([("label", pa.string()), ("label_id", pa.int32()), ("score", pa.float32()), ("x0", pa.float32()), ("y0", pa.float32()),
                     ("x1", pa.float32()), ("y1", pa.float32()), ("track_id", pa.int64())])
    return pa.schema([("source", pa.string()), ("index", pa.int64()), ("timestamp_ns", pa.int64()), ("width", pa.int32()),
                      ("height", pa.int32()), ("objects", pa.list_(box)), ("error", pa.string())])


def resources_for(device: str, cpus: float = 1.0) -> dict:
    """What a worker asks of Ray: processors, and what its device needs. GPU asks for one of Ray's GPUs, NPU for one of a resource of that
    name, with which the machine's `ray start --resources '{"NPU": 1}'` offers it; of lists such as AUTO:GPU,CPU the first device counts."""
    if not cpus > 0:
        raise ValueError(f"cpus must be positive, not {cpus}")
    first = device.split(":", 1)[-1].split(",", 1)[0] if ":" in device else device
    kind = first.split(".", 1)[0].split("(", 1)[0].upper()
    wanted: dict = {"num_cpus": cpus}
    if kind in ("GPU", "CUDA"):
        wanted["num_gpus"] = 1
    elif kind not in ("CPU", "AUTO", ""):
        wanted["resources"] = {kind: 1}
    return wanted


def sources_of(paths: Union[str, os.PathLike, Iterable]) -> list:
    """Files of folders and patterns, in the order of their names; URLs, devices and launch lines stay as they are."""
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    found: list = []
    for each in map(os.fspath, paths):
        if "://" in each or each.startswith(("/dev/", "gst:", "ipc:")):
            found.append(each)
        elif os.path.isdir(each):
            inside = sorted(str(path) for path in Path(each).iterdir() if path.suffix.lower() in SUFFIXES)
            if not inside:
                raise FileNotFoundError(f"the folder {each} has no media ({', '.join(SUFFIXES)})")
            found += map(os.path.abspath, inside)
        elif glob.has_magic(each) and not os.path.exists(each):
            matching = sorted(glob.glob(each))
            if not matching:
                raise FileNotFoundError(f"nothing matches {each}")
            found += map(os.path.abspath, matching)
        elif "%" not in each and not os.path.lexists(each):  # Pictures by number: the source knows their pattern.
            raise FileNotFoundError(f"there is no file or folder {each}")
        else:
            found.append(os.path.abspath(each))
    if len(set(found)) != len(found):
        twice = next(each for each in found if found.count(each) > 1)
        raise ValueError(f"the source {twice} is given twice")
    return found


def is_live(source: str) -> bool:
    """Whether a source cannot be read again from its beginning: a camera, a launch line, another process, a network stream."""
    return source.startswith(("/dev/", "gst:", "ipc:")) or source.split("://", 1)[0] in ("rtsp", "rtsps", "rtp", "udp", "srt", "rtmp") and "://" in source


def file_of(source: str) -> str:
    """The name of a source's results: readable, and another one for each source."""
    stem = "".join(c if c.isalnum() or c in "-_" else "_" for c in Path(source.split("?", 1)[0]).stem)[:60]
    return f"{stem or 'source'}-{hashlib.sha256(source.encode()).hexdigest()[:12]}.parquet"


def state_of(source: str, step: Step) -> str:
    """What results depend on. Where it has changed, they are made again."""
    try:
        status = os.stat(source)
        file = [status.st_size, status.st_mtime_ns]
    except OSError:
        file = []
    return json.dumps({"source": source, "file": file, "step": step.identity()}, sort_keys=True)


def _columns(pa: Any, rows: Sequence[Row]) -> Any:
    return pa.Table.from_pylist([row.as_dict() for row in rows], schema=schema())


def _blocks(step: Step, source: str, rows_per_block: int, errors: str) -> Iterator[list]:
    """Rows of one source in lists. Their division depends on nothing but the source, so that a second run gives the same lists."""
    block: list = []
    try:
        for row in step.run(source):
            block.append(row)
            if len(block) == rows_per_block:
                yield block
                block = []
    except Exception as error:
        if errors == "raise":
            raise RuntimeError(f"{source}: {type(error).__name__}: {error}") from error
        block.append(Row(source, -1, error=f"{type(error).__name__}: {error}"))
    if block:
        yield block


class _Mapper:
    """A worker: sources become frames."""

    def __init__(self, step: Step, rows_per_block: int, errors: str):
        self._step, self._rows, self._errors = step, rows_per_block, errors
        step.start()

    def __call__(self, batch: dict) -> Iterator[Any]:
        import pyarrow as pa

        for source in batch["source"]:
            for block in _blocks(self._step, str(source), self._rows, self._errors):
                yield _columns(pa, block)


class _Writer:
    """A worker: sources become files. A file appears when it is complete, under its name, by one rename."""

    def __init__(self, step: Step, folder: str, rows_per_block: int, rows_per_file: int):
        self._step, self._folder, self._rows, self._most, self._started = step, Path(folder), rows_per_block, rows_per_file, False

    def __call__(self, batch: dict) -> Iterator[dict]:
        for source in map(str, batch["source"]):
            begin = time.perf_counter()
            frames, objects, error, kept = self._write(source)
            yield {"source": [source], "file": [file_of(source)], "frames": [frames], "objects": [objects], "error": [error],
                   "kept": [kept], "seconds": [time.perf_counter() - begin], "worker": [os.getpid()]}

    def _write(self, source: str) -> tuple:
        path, state = self._folder / file_of(source), state_of(source, self._step)
        done = None if is_live(source) else _done(path, state)
        if done:
            return *done, "", True
        frames = objects = 0
        try:
            if not self._started:
                self._step.start()
                self._started = True
            blocks = _blocks(self._step, source, self._rows, "raise")
            if not is_live(source):
                return *self._file(path, state, blocks), "", False
            # A stream has no beginning to go back to: its files are numbered, and a worker that is started again goes on behind the last.
            number = 1 + max([int(each.stem.rsplit("-", 1)[1]) for each in self._folder.glob(f"{path.stem}-*.parquet")], default=0)
            for block in blocks:
                more = self._file(path.with_name(f"{path.stem}-{number:06d}.parquet"), state, _limited(block, blocks, self._most))
                frames, objects, number = frames + more[0], objects + more[1], number + 1
        except Exception as error:
            return frames, objects, str(error), False
        return frames, objects, "", False

    def _file(self, path: Path, state: str, blocks: Iterable[list]) -> tuple:
        """Numbers of frames and objects in the file that it wrote."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        frames = objects = 0
        handle, part = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=self._folder)
        os.close(handle)
        try:
            writer = pq.ParquetWriter(part, schema())
            try:
                for block in blocks:
                    frames += len(block)
                    objects += sum(len(row.objects) for row in block)
                    writer.write_table(_columns(pa, block))
                writer.add_key_value_metadata({"tenon.state": state, "tenon.frames": str(frames), "tenon.objects": str(objects)})
            finally:
                writer.close()
            os.chmod(part, 0o644)
            os.replace(part, path)
        except BaseException:
            os.unlink(part)
            raise
        return frames, objects


def _limited(first: list, more: Iterator[list], rows: int) -> Iterator[list]:
    """`first` and what comes behind it, until there are so many rows."""
    count = len(first)
    yield first
    while count < rows and (block := next(more, None)) is not None:
        count += len(block)
        yield block


def _done(path: Path, state: str) -> Optional[tuple]:
    """Numbers of frames and objects in a complete file of this state."""
    import pyarrow.parquet as pq

    try:
        found = pq.read_metadata(path).metadata or {}
    except (OSError, ValueError):  # None, or not one of ours.
        return None
    if found.get(b"tenon.state") != state.encode():
        return None
    return int(found[b"tenon.frames"]), int(found[b"tenon.objects"])


@dataclass
class Report:
    """What to_parquet() did."""

    sources: list = field(default_factory=list)  #: A dict for each source: source, file, frames, objects, error, kept, seconds, worker.
    seconds: float = 0.0

    @property
    def frames(self) -> int:
        return sum(each["frames"] for each in self.sources)

    @property
    def failed(self) -> dict:
        """Reasons by source."""
        return {each["source"]: each["error"] for each in self.sources if each["error"]}

    def __str__(self) -> str:
        kept = sum(each["kept"] for each in self.sources)
        lines = [f"{len(self.sources)} sources, {self.frames} frames in {self.seconds:.1f} s; {kept} were there already, {len(self.failed)} failed"]
        return "\n".join(lines + [f"  {source}: {reason}" for source, reason in self.failed.items()])


def _mapped(sources: Sequence[str], worker: type, arguments: dict, device: str, workers: int, cpus: float) -> Any:
    if workers < 1:
        raise ValueError(f"workers must be at least 1, not {workers}")
    ray, _ = _ray()
    wanted = resources_for(device, cpus)
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False)
    have = ray.cluster_resources()
    for name, amount in (("CPU", wanted["num_cpus"]), ("GPU", wanted.get("num_gpus", 0)), *wanted.get("resources", {}).items()):
        if amount * workers > have.get(name, 0):
            raise ValueError(f"{workers} workers on {device} need {amount * workers:g} of Ray's resource {name}, and the cluster has {have.get(name, 0):g}: "
                             f"take fewer workers, cpus= less than {cpus:g}, or start machines that offer it")
    # A block for each source: whichever worker is free takes the next one. Ray starts workers that were killed again, however often.
    dataset = ray.data.from_items([{"source": each} for each in sources], override_num_blocks=len(sources))
    return dataset.map_batches(
        worker, fn_constructor_kwargs=arguments, batch_size=1, batch_format="numpy",
        compute=ray.data.ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=1),
        num_cpus=wanted["num_cpus"], **({"num_gpus": wanted["num_gpus"]} if "num_gpus" in wanted else {}),
        **({"resources": wanted["resources"]} if "resources" in wanted else {}))


def map_media(paths: Any, step: Step, *, workers: int = 1, cpus: float = 1.0, rows_per_block: int = 256, errors: str = "raise") -> Any:
    """A Ray dataset with a row for each frame of all sources (columns: schema()).

    workers: processes, each with a model of its own. errors: "raise", or "row": a source that fails ends with a row that has `error`.
    A worker that is killed begins its source again; Ray takes each block once. Live streams cannot be begun again: write them by to_parquet().
    """
    if errors not in ("raise", "row"):
        raise ValueError(f'errors must be "raise" or "row", not {errors!r}')
    if rows_per_block < 1:
        raise ValueError(f"rows_per_block must be at least 1, not {rows_per_block}")
    return _mapped(sources_of(paths), _Mapper, {"step": step, "rows_per_block": rows_per_block, "errors": errors}, step.device, workers, cpus)


def to_parquet(paths: Any, folder: Union[str, os.PathLike], step: Step, *, workers: int = 1, cpus: float = 1.0, rows_per_block: int = 256,
               rows_per_file: int = 10000) -> Report:
    """Writes a Parquet file for each source into a folder that all machines see.

    A file appears when it is complete, so each frame of a source is there once or not at all, whatever is killed, this program included: called
    again, it goes on with what is missing, and makes again what was made from another file or by another step. A source that fails is in the
    report, and the others go on. A live stream gets a file for each `rows_per_file` frames; what a killed worker had not written is lost,
    because the stream does not show it again.
    """
    for name, value in (("rows_per_block", rows_per_block), ("rows_per_file", rows_per_file)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, not {value}")
    sources = sources_of(paths)
    folder = Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    names = {Path(file_of(each)).stem for each in sources}
    for part in folder.glob(".*.part"):  # Left by workers that were killed. Two runs at once into one folder would be a mistake anyway.
        if any(part.name.startswith(f".{name}") for name in names):
            part.unlink(missing_ok=True)
    begin = time.perf_counter()
    _ray()
    rows: dict = {}
    for source in sources:
        done = None if is_live(source) else _done(folder / file_of(source), state_of(source, step))
        if done:
            rows[source] = {"source": source, "file": file_of(source), "frames": done[0], "objects": done[1], "error": "", "kept": True, "seconds": 0.0,
                            "worker": 0}
    missing = [each for each in sources if each not in rows]
    if missing:
        arguments = {"step": step, "folder": str(folder), "rows_per_block": rows_per_block, "rows_per_file": rows_per_file}
        dataset = _mapped(missing, _Writer, arguments, step.device, workers, cpus)
        rows.update((row["source"], row) for row in dataset.take_all())
    return Report([rows[each] for each in sources], time.perf_counter() - begin)
