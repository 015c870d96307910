#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A decoder process, two inference processes, and a viewer of what the second of them finds. Each is killed in turn (SIGKILL): the others go
on, and what was killed comes back. kill_each.py TENON MODELS runs it, in a temporary folder, with MODELS/demo.mp4 and MODELS/demo.onnx."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

PATIENCE_S = 90


class Process:
    """A command of the tool, whose output goes to a file."""

    def __init__(self, name, *arguments):
        self.name, self.arguments, self.out = name, arguments, pathlib.Path(f"{name}.out")
        self.start()

    def start(self):
        with self.out.open("ab") as out, open(f"{self.name}.err", "ab") as err:
            self.process = subprocess.Popen(self.arguments, stdout=out, stderr=err, stdin=subprocess.DEVNULL)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def lines(self):
        return self.out.read_bytes().count(b"\n")

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()
            raise SystemExit(f"{self.name} does not end")


def goes_on(*readers):
    """Waits until each process has written results for ten more frames."""
    wanted = [reader.lines() + 10 for reader in readers]
    end = time.monotonic() + PATIENCE_S
    while any(reader.lines() < lines for reader, lines in zip(readers, wanted)):
        for reader in readers:
            if reader.process.poll() is not None:
                raise SystemExit(f"{reader.name} has ended: {pathlib.Path(reader.name + '.err').read_text()}")
        if time.monotonic() > end:
            raise SystemExit("no results: " + ", ".join(f"{one.name} {one.lines()}" for one in readers))
        time.sleep(0.05)


def main(tenon, models):
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.symlink(models / "demo.onnx", "demo.onnx")
        here = pathlib.Path(__file__).resolve().parent
        decoder = Process("decoder", tenon, "serve-frames", models / "demo.mp4", "--loop", "--realtime", "--when-slow", "skip",
                          "--socket", "frames.sock", "--subscribers", "0")
        first = Process("first", tenon, "pipeline", "-q", here / "inference.json")
        second = Process("second", tenon, "pipeline", "-q", here / "serving.json")
        viewer = Process("viewer", tenon, "pipeline", "-q", here / "viewer.json")
        processes = [decoder, first, second, viewer]
        try:
            goes_on(first, viewer)
            first.kill()
            goes_on(viewer)
            first.start()
            goes_on(first, viewer)
            second.kill()  # The viewer waits for it.
            goes_on(first)
            second.start()
            goes_on(first, viewer)
            viewer.kill()
            goes_on(first)
            viewer.start()
            goes_on(first, viewer)
            decoder.kill()
            time.sleep(0.5)  # Both notice, and try again.
            decoder.start()
            goes_on(first, viewer)
            if decoder.process.poll() is not None:
                raise SystemExit("the decoder has ended: " + pathlib.Path("decoder.err").read_text())
            for _ in range(3):  # On a busy machine a reader may hold a frame for longer than the two seconds that it may.
                run = subprocess.run([tenon, "run", "ipc:frames.sock", "--model", "demo.onnx", "--device", "CPU", "--max-frames", "20"],
                                     capture_output=True, text=True, timeout=PATIENCE_S)
                if run.returncode == 0:
                    break
            if run.returncode or "another process" not in run.stdout or "copied 0 B/frame" not in run.stdout:
                raise SystemExit("tenon run does not read the frames in place: " + run.stdout + run.stderr)
            again = subprocess.run([tenon, "serve-frames", models / "demo.mp4", "--socket", "frames.sock"], capture_output=True, text=True,
                                   timeout=PATIENCE_S)
            if again.returncode == 0 or "the socket of another process" not in again.stderr:
                raise SystemExit("a second decoder takes the socket: " + again.stderr)
        finally:
            for process in processes:
                if process.process.poll() is None:
                    process.stop()
        for socket in ("frames.sock", "found.sock"):
            if pathlib.Path(socket).exists():
                raise SystemExit(f"{socket} is left behind")
        if b'"kind":"detection"' not in viewer.out.read_bytes():
            raise SystemExit("the viewer does not see what the inference process found: " + viewer.out.read_text()[-2000:])
        copied = decoder.out.read_text()
        if " 0 bytes copied" not in copied:
            raise SystemExit("the decoder's frames are copied: " + copied)
        print(f"each was killed, and all went on: {first.lines()} and {viewer.lines()} results; {copied.strip()}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve())
