# SPDX-License-Identifier: Apache-2.0
"""Inferences of many callers over few requests: a queue with limits, and batches. Knows no protocol and no server."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from typing import Any, Callable, Mapping, Optional, Protocol, Sequence

Arrays = Mapping[str, Any]


class Executor(Protocol):
    """Runs one inference at a time."""

    async def run(self, inputs: Arrays) -> dict: ...


class QueueFull(RuntimeError):
    """So many callers wait already as the limit allows."""


class Late(TimeoutError):
    """The caller's time was over before its result was there."""


class Closed(RuntimeError):
    """The queue takes nothing more, because its server stops."""


class _Job:
    __slots__ = ("inputs", "rows", "kind", "result", "arrived", "batch", "task")

    def __init__(self, inputs: Arrays, rows: int, arrived: float, result: asyncio.Future):
        self.inputs, self.rows, self.arrived, self.result = inputs, rows, arrived, result
        self.batch: list = []
        self.task: Optional[asyncio.Task] = None
        # Only jobs whose arrays fit one behind the other share a batch.
        self.kind = tuple((name, array.shape[1:], str(array.dtype)) for name, array in inputs.items()) if rows else None


class Batcher:
    """Gives jobs to executors in the order of their arrival, several as one where `max_rows` > 1.

    A batch starts when it has `max_rows` rows, or when its first job has waited for `delay_s`, as soon as an executor is free; jobs that come
    while all are busy still join. A job alone is passed on as it is: its arrays are not copied. Where a batch fails, each of its jobs runs
    alone, so that an error reaches only the caller that caused it. Where all callers of a batch have left, the executor is cancelled.

    All methods belong to the event loop's thread.
    """

    def __init__(self, executors: Sequence[Executor], *, max_rows: int = 1, delay_s: float = 0.002, max_waiting: int = 256,
                 timeout_s: float = 30.0, observe: Optional[Callable[[int, int], None]] = None):
        if not executors:
            raise ValueError("a queue needs at least one executor")
        for name, value, least in (("max_rows", max_rows, 1), ("max_waiting", max_waiting, 1)):
            if value < least:
                raise ValueError(f"{name} must be at least {least}, not {value}")
        if not (math.isfinite(delay_s) and delay_s >= 0):
            raise ValueError(f"delay_s must be a number of seconds from 0 on, not {delay_s}")
        if not (math.isfinite(timeout_s) and timeout_s > 0):
            raise ValueError(f"timeout_s must be a positive number of seconds, not {timeout_s}")
        self._free: asyncio.LifoQueue = asyncio.LifoQueue()
        for executor in executors:
            self._free.put_nowait(executor)
        self._max_rows, self._delay_s, self._max_waiting, self._timeout_s = max_rows, delay_s, max_waiting, timeout_s
        self._observe = observe
        self._waiting: deque[_Job] = deque()
        self._changed = asyncio.Event()
        self._running: set[asyncio.Task] = set()
        self._scheduler: Optional[asyncio.Task] = None
        self._closed = False

    @property
    def waiting(self) -> int:
        """Jobs that no executor has begun."""
        return len(self._waiting)

    async def infer(self, inputs: Arrays, rows: int = 0) -> dict:
        """Results of one job. `rows`: the first extent of all inputs and outputs; 0: the job cannot share a batch.

        Errors: QueueFull, Late, Closed, and what the executor raises. A cancelled caller leaves the queue.
        """
        if self._closed:
            raise Closed("the server stops")
        if len(self._waiting) >= self._max_waiting:
            raise QueueFull(f"{self._max_waiting} requests wait already")
        loop = asyncio.get_running_loop()
        job = _Job(inputs, rows if self._max_rows > 1 else 0, loop.time(), loop.create_future())
        self._waiting.append(job)
        self._changed.set()
        if self._scheduler is None:
            self._scheduler = loop.create_task(self._schedule())
        try:
            return await asyncio.wait_for(job.result, self._timeout_s)
        except asyncio.TimeoutError:
            if not job.result.cancelled():
                raise  # The executor's own.
            raise Late(f"no result within {self._timeout_s:g} s") from None
        finally:
            if job in self._waiting:
                self._waiting.remove(job)
            elif job.task and all(each.result.done() for each in job.batch):
                job.task.cancel()  # No caller waits for it any more.

    async def close(self, grace_s: float = 30.0) -> None:
        """Takes nothing more, and returns when what was taken is done; after `grace_s` the rest is cancelled."""
        self._closed = True
        deadline = asyncio.get_running_loop().time() + grace_s
        while (self._waiting or self._running) and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.005)
        for task in [*self._running, *([self._scheduler] if self._scheduler else [])]:
            task.cancel()
        for job in self._waiting:
            if not job.result.done():
                job.result.set_exception(Closed("the server stops"))
        await asyncio.gather(*self._running, return_exceptions=True)

    def _ready_rows(self, kind: Any) -> int:
        return sum(job.rows for job in self._waiting if job.kind == kind)

    async def _schedule(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            while not self._waiting:
                self._changed.clear()
                await self._changed.wait()
            first = self._waiting[0]
            while first.rows and self._waiting and self._waiting[0] is first and self._ready_rows(first.kind) < self._max_rows:
                left = first.arrived + self._delay_s - loop.time()
                if left <= 0:
                    break
                self._changed.clear()
                try:
                    await asyncio.wait_for(self._changed.wait(), left)
                except asyncio.TimeoutError:
                    break
            executor = await self._free.get()
            batch = self._take()
            if not batch:  # Its callers have left.
                self._free.put_nowait(executor)
                continue
            task = loop.create_task(self._run(executor, batch))
            for job in batch:
                job.batch, job.task = batch, task
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    def _take(self) -> list:
        """The first job and those behind it that fit into its batch."""
        batch: list = []
        rows = 0
        for job in list(self._waiting):
            if job.result.done():
                self._waiting.remove(job)
                continue
            fits = not batch or (job.rows and job.kind == batch[0].kind and rows + job.rows <= self._max_rows)
            if not fits:
                continue
            batch.append(job)
            rows += job.rows
            self._waiting.remove(job)
            if not job.rows or rows >= self._max_rows:
                break
        return batch

    async def _run(self, executor: Executor, batch: list) -> None:
        try:
            if self._observe:
                self._observe(len(batch), sum(job.rows for job in batch))
            if len(batch) > 1 and await self._run_together(executor, batch):
                return
            for job in batch:
                if job.result.done():
                    continue
                try:
                    outputs = await executor.run(job.inputs)
                except Exception as error:
                    if not job.result.done():
                        job.result.set_exception(error)
                else:
                    if not job.result.done():
                        job.result.set_result(outputs)
        finally:
            for job in batch:
                if not job.result.done():
                    job.result.set_exception(Closed("the server stops"))
            self._free.put_nowait(executor)

    async def _run_together(self, executor: Executor, batch: list) -> bool:
        import numpy

        joined = {name: numpy.concatenate([job.inputs[name] for job in batch]) for name in batch[0].inputs}
        try:
            outputs = await executor.run(joined)
        except Exception:
            return False
        rows = sum(job.rows for job in batch)
        if any(array.ndim == 0 or array.shape[0] != rows for array in outputs.values()):
            return False  # An output that has no rows of its own cannot be divided.
        begin = 0
        for job in batch:
            if not job.result.done():
                job.result.set_result({name: array[begin:begin + job.rows] for name, array in outputs.items()})
            begin += job.rows
        return True
