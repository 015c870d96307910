#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A decoder process and two inference processes, each of which is killed in turn (SIGKILL): the others go on, and what was killed comes
back. kill_each.py TENON MODELS runs it, in a temporary folder, with MODELS/demo.mp4 and MODELS/demo.onnx."""
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


def goes_on(*inferences):
    """Waits until each process has written results for ten more frames."""
    wanted = [inference.lines() + 10 for inference in inferences]
    end = time.monotonic() + PATIENCE_S
    while any(inference.lines() < lines for inference, lines in zip(inferences, wanted)):
        for inference in inferences:
            if inference.process.poll() is not None:
                raise SystemExit(f"{inference.name} has ended: {pathlib.Path(inference.name + '.err').read_text()}")
        if time.monotonic() > end:
            raise SystemExit("no results: " + ", ".join(f"{one.name} {one.lines()}" for one in inferences))
        time.sleep(0.05)


def main(tenon, models):
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.symlink(models / "demo.onnx", "demo.onnx")
        description = pathlib.Path(__file__).resolve().parent / "inference.json"
        decoder = Process("decoder", tenon, "serve-frames", models / "demo.mp4", "--loop", "--realtime", "--when-slow", "skip",
                          "--socket", "frames.sock", "--subscribers", "0")
        first = Process("first", tenon, "pipeline", "-q", description)
        second = Process("second", tenon, "pipeline", "-q", description)
        processes = [decoder, first, second]
        try:
            goes_on(first, second)
            first.kill()
            goes_on(second)
            first.start()
            goes_on(first, second)
            second.kill()
            goes_on(first)
            second.start()
            goes_on(first, second)
            decoder.kill()
            time.sleep(0.5)  # Both notice, and try again.
            decoder.start()
            goes_on(first, second)
            if decoder.process.poll() is not None:
                raise SystemExit("the decoder has ended: " + pathlib.Path("decoder.err").read_text())
            run = subprocess.run([tenon, "run", "ipc:frames.sock", "--model", "demo.onnx", "--device", "CPU", "--max-frames", "20"],
                                 capture_output=True, text=True, timeout=PATIENCE_S)
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
        if pathlib.Path("frames.sock").exists():
            raise SystemExit("the decoder leaves its socket behind")
        copied = decoder.out.read_text()
        if " 0 bytes copied" not in copied:
            raise SystemExit("the decoder's frames are copied: " + copied)
        print(f"each was killed, and all went on: {first.lines()} and {second.lines()} results; {copied.strip()}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve())
