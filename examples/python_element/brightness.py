# SPDX-License-Identifier: Apache-2.0
"""Elements of pipelines: brightness as metadata, dark pictures dropped, a source of moving bars, a sink that counts."""
from collections.abc import Iterator

import numpy as np

import tenon as tn


class Brightness(tn.Transform):
    """Adds the mean brightness of each picture to its metadata, and drops pictures that are too dark.

    least: mean of the luma, 0 to 255; darker pictures are dropped"""

    least: float = 0.0

    def open(self, info: dict[str, object]) -> None:
        self.seen = 0

    def process(self, frame: tn.Frame) -> list[tn.Frame]:
        # The first plane of NV12, I420 and grey is the luma; the array lies over the decoder's memory.
        luma = float(np.asarray(frame.planes[0]).mean())
        frame.add_json({"brightness": round(luma, 1), "number": self.seen})
        self.seen += 1
        return [frame] if luma >= self.least else []


class Bars(tn.Source):
    """Pictures of a bright bar that moves from left to right.

    count: how many; width: of the picture, in pixels"""

    count: int = 25
    width: int = 160

    def open(self) -> dict[str, object]:
        return {"width": self.width, "height": 120, "format": "rgb", "fps": 25.0}

    def frames(self) -> Iterator[tn.Frame]:
        for number in range(self.count):
            picture = np.zeros((120, self.width, 3), np.uint8)
            left = number * (self.width - 16) // max(self.count - 1, 1)
            picture[:, left:left + 16] = 255
            yield tn.Frame(picture, time=number / 25)


class Count(tn.Sink):
    """Prints how many pictures came, and how bright they were.

    path: file for the line; empty: standard output"""

    path: str = ""

    def open(self, info: dict[str, object]) -> None:
        self.means: list[float] = []

    def write(self, frame: tn.Frame) -> None:
        self.means.append(float(np.asarray(frame.planes[0]).mean()))

    def finish(self) -> None:
        line = f"{len(self.means)} pictures, brightness {np.mean(self.means):.1f}"
        if self.path:
            with open(self.path, "w", encoding="utf-8") as file:
                print(line, file=file)
        else:
            print(line, flush=True)
