#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests that start, are cancelled at any moment, fail and go on, for soak.py: cancelled_requests.py MODEL DEVICE...

It writes its counts as a line of JSON each half a second: done, cancelled, failed, compiled (by device). A line on standard input ends it, "rest"
and "go" let go of all requests and begin again. A result that is wrong, or an error that no one asked for, ends it with 1.
"""
import collections
import json
import random
import sys
import threading
import time

import numpy
import tenon as tn

REQUESTS = 4


class Work:
    """One device's model and requests."""

    def __init__(self, core, model, device, counts):
        self.core, self.model, self.device, self.counts = core, model, device, counts
        self.requests, self.chance, self.expected = [], random.Random(device), None
        self.begin()

    def count(self, what):
        self.counts[f"{self.device} {what}"] += 1

    def begin(self):
        try:
            compiled = self.core.compile_model(self.model, self.device)
            self.requests = [compiled.create_infer_request() for _ in range(REQUESTS)]
            self.count("compiled")
            port = compiled.inputs[0]
            self.input = numpy.full([each for each in port.shape], 7, numpy.uint8 if "u8" in str(port.element_type) else numpy.float32)
        except tn.Error:
            self.requests = []
            self.count("not compiled")

    def step(self):
        """Starts all, cancels some after a moment, waits for all."""
        if not self.requests:
            time.sleep(0.05)
            self.begin()
            return
        broken, started = False, []
        for each in self.requests:
            try:
                each.set_input_tensor(tn.Tensor(self.input))
                each.start_async()
                started.append(each)
            except tn.Error:
                broken = True
        for each in started:
            if self.chance.random() < 0.4:
                time.sleep(self.chance.random() * 0.002)
                each.cancel()
        for each in started:
            try:
                each.wait()
            except tn.errors.Cancelled:
                self.count("cancelled")
            except tn.Error:
                self.count("failed")
                broken = True
            else:
                self.check(numpy.array(each.get_output_tensor(0).data))
        if broken:  # What a lost device left is let go, and made anew.
            self.begin()

    def check(self, values):
        self.count("done")
        if self.expected is None:
            self.expected = values
        elif not numpy.allclose(values, self.expected, atol=1e-2):
            print(json.dumps({"wrong": f"{self.device}: {values.reshape(-1)[:4]} in place of {self.expected.reshape(-1)[:4]}"}), flush=True)
            sys.exit(1)


def main():
    model, devices = sys.argv[1], sys.argv[2:]
    core, counts, commands = tn.Core(), collections.Counter(), []

    def listen():
        for line in iter(sys.stdin.readline, ""):
            commands.append(line)
        commands.append("end\n")

    threading.Thread(target=listen, daemon=True).start()
    works, next_line, rests = [Work(core, model, each, counts) for each in devices], 0.0, False
    while "end\n" not in commands:
        while commands and commands[0] in ("rest\n", "go\n"):
            rests = commands.pop(0) == "rest\n"
            if rests:
                for each in works:
                    each.requests = []
        if rests:
            time.sleep(0.05)
        else:
            for each in works:
                each.step()
        if time.monotonic() >= next_line:
            next_line = time.monotonic() + 0.5
            print(json.dumps(counts), flush=True)
    print(json.dumps(counts), flush=True)


if __name__ == "__main__":
    main()
