# SPDX-License-Identifier: Apache-2.0
"""Steps that Ray's workers import by name."""
import os
import time
from pathlib import Path

import tenon.ray as tr


class SlowStep:
    """Gives `frames` frames for each source, slowly, and tells in a folder which process is in the middle of which source."""

    device = "CPU"

    def __init__(self, folder, frames=40, seconds=0.01):
        self._folder, self._frames, self._seconds = str(folder), frames, seconds

    def identity(self):
        return ["slow", self._frames]

    def start(self):
        Path(self._folder, f"started-{os.getpid()}").touch()

    def run(self, source):
        if "broken" in source:
            raise ValueError("it is damaged")
        for index in range(self._frames):
            if index == self._frames // 2:
                Path(self._folder, f"middle-{Path(source).stem}-{os.getpid()}").touch()
            time.sleep(self._seconds)
            yield tr.Row(source, index, index * 1000, 4, 3, [tr.Box("a", 0.5, 0, 0, 1, 1)] * (index % 3))
