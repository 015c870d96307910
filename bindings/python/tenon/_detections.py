# SPDX-License-Identifier: Apache-2.0
"""Objects that models found in a frame, as objects and as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterator, Optional

from . import _native
from ._calls import table


@dataclass(frozen=True)
class Detection:
    """One object: its box (x1, y1, x2, y2) in pixels of the upright picture; track_id is -1 where it is not tracked."""

    id: int
    box: tuple[float, float, float, float]
    label: str
    label_id: int
    score: float
    track_id: int


def _drawn(mask: dict, width: int, height: int) -> Any:
    """bool [height, width]: the pixels whose centres lie in cells of a mask that are not 0."""
    import numpy

    cells, (x1, y1, x2, y2) = numpy.asarray(mask["mask"].data), mask["box"]
    picture = numpy.zeros((height, width), bool)
    if cells.size and numpy.isfinite(mask["box"]).all() and x2 > x1 and y2 > y1:
        columns = ((numpy.arange(width) + 0.5 - x1) * (cells.shape[1] / (x2 - x1))).astype("int64", casting="unsafe")
        rows = ((numpy.arange(height) + 0.5 - y1) * (cells.shape[0] / (y2 - y1))).astype("int64", casting="unsafe")
        across = numpy.flatnonzero((numpy.arange(width) + 0.5 >= x1) & (columns < cells.shape[1]))
        down = numpy.flatnonzero((numpy.arange(height) + 0.5 >= y1) & (rows < cells.shape[0]))
        picture[down[:, None], across] = cells[rows[down][:, None], columns[across]] != 0
    return picture


class Detections:
    """The objects of a frame: a sequence, and arrays over all of them. The arrays are made at each access, and belong to the caller."""

    def __init__(self, objects: list[Detection], masks: Optional[dict[int, dict]] = None, size: tuple[int, int] = (0, 0)):
        """masks: those of Frame.masks by the id of their object. size: width and height of the upright picture, in pixels."""
        self._objects = objects
        self._masks = masks or {}
        self._size = size

    def __len__(self) -> int:
        return len(self._objects)

    def __getitem__(self, index: int) -> Detection:
        return self._objects[index]

    def __iter__(self) -> Iterator[Detection]:
        return iter(self._objects)

    def _array(self, values: list, dtype: str, *shape: int) -> Any:
        import numpy

        return numpy.array(values, dtype).reshape(len(self._objects), *shape)

    @property
    def xyxy(self) -> Any:
        """float32 [n, 4]."""
        return self._array([each.box for each in self._objects], "float32", 4)

    @property
    def scores(self) -> Any:
        """float32 [n]."""
        return self._array([each.score for each in self._objects], "float32")

    @property
    def label_ids(self) -> Any:
        """int64 [n]."""
        return self._array([each.label_id for each in self._objects], "int64")

    @property
    def track_ids(self) -> Any:
        """int64 [n], -1 where an object is not tracked."""
        return self._array([each.track_id for each in self._objects], "int64")

    @property
    def labels(self) -> list[str]:
        """A label for each object."""
        return [each.label for each in self._objects]

    @property
    def masks(self) -> Any:
        """bool [n, height, width] over the upright picture: where each object is, nowhere for one without a mask. None where no object has
        one. A byte for each object and pixel; Frame.masks has the model's own cells."""
        import numpy

        if not any(each.id in self._masks for each in self._objects):
            return None
        width, height = self._size
        empty = numpy.zeros((height, width), bool)
        return numpy.stack([_drawn(self._masks[each.id], width, height) if each.id in self._masks else empty for each in self._objects])

    def to_supervision(self) -> Any:
        """supervision.Detections of the same objects: boxes, scores, classes, masks where a model gave some, tracks where all objects are
        tracked, and labels in data["class_name"]. @errors ImportError: the package supervision is not installed."""
        import numpy

        try:
            import supervision
        except ImportError:
            raise ImportError("to_supervision() makes objects of the package supervision, which is not installed: pip install supervision") from None
        if not self._objects:
            return supervision.Detections.empty()
        tracked = bool((self.track_ids >= 0).all())
        return supervision.Detections(
            xyxy=self.xyxy, mask=self.masks, confidence=self.scores, class_id=self.label_ids, tracker_id=self.track_ids if tracked else None,
            data={"class_name": numpy.array(self.labels)},
        )

    def __repr__(self) -> str:
        return f"<Detections: {', '.join(f'{each.label} {each.score:.2f}' for each in self._objects)}>"

    def _repr_html_(self) -> str:
        return table(["id", "label", "score", "box", "track"],
                     [[e.id, e.label, f"{e.score:.2f}", tuple(round(x, 1) for x in e.box), e.track_id] for e in self._objects])


def of_frame(frame: _native.Frame) -> Detections:
    """The objects that models found in this frame."""
    objects = [Detection(**each) for each in frame._detections]
    masks = {each["parent"]: each for each in frame.masks if each["parent"]} if objects else {}
    turned = frame.rotation % 180 != 0
    return Detections(objects, masks, (frame.height, frame.width) if turned else (frame.width, frame.height))


def png_of(picture: Any) -> bytes:
    """A PNG of an array [height, width, 3] of uint8."""
    import struct
    import zlib

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width, _ = picture.shape
    rows = b"".join(b"\0" + row.tobytes() for row in picture)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"")


def frame_html(frame: _native.Frame) -> str:
    """The picture, for notebooks, at most 640 pixels wide."""
    import base64
    import html

    upright_width = frame.width if frame.rotation % 180 == 0 else frame.height
    small = frame.to("rgb", width=min(upright_width, 640))
    return f'<img src="data:image/png;base64,{base64.b64encode(png_of(small.numpy())).decode()}"/><br/>' + html.escape(repr(frame))


def add_json(self: _native.Frame, value: Any) -> None:
    """Adds a value that json.dumps() takes (a dict, a list, a number...), or the text of one: JSON lines have it as the `text` of an entry
    of the kind json. @errors ValueError: a text that is no JSON."""
    import json

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON")

    if isinstance(value, str):
        json.loads(value, parse_constant=refuse)
    self._add_json(value if isinstance(value, str) else json.dumps(value, allow_nan=False))


def install() -> None:
    """Gives Frame its detections, its picture, and values of Python's as JSON."""
    if not hasattr(_native.Frame, "_add_json"):
        _native.Frame._add_json, _native.Frame.add_json = _native.Frame.add_json, add_json
    _native.Frame.detections = property(of_frame, doc=of_frame.__doc__)
    _native.Frame._repr_html_ = frame_html
