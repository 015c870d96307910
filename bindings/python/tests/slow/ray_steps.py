# SPDX-License-Identifier: Apache-2.0
"""Steps that Ray's workers import by name, and the start of a cluster on this machine."""
import os
import time
from pathlib import Path

import ray

import tenon.ray as tr


def start(processors, store_bytes):
    """A cluster of this machine. Ray itself gives up a node that takes more than 30 s to start, which a busy machine does: then again."""
    for attempt in range(5):
        try:
            ray.init(num_cpus=processors, include_dashboard=False, log_to_driver=False, object_store_memory=store_bytes)
            return
        except Exception:  # pylint: disable=broad-except
            ray.shutdown()
            if attempt == 4:
                raise


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
