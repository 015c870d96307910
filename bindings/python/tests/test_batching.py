# SPDX-License-Identifier: Apache-2.0
"""The queue behind tenon.serve, without a server: batches, limits, errors, its end."""
import asyncio

import numpy
import pytest

from tenon._batching import Batcher, Closed, Late, QueueFull


class Doubles:
    """Answers with twice its input, and keeps what it was given."""

    def __init__(self, seconds=0.0, wait_for=None):
        self.seen, self.seconds, self.wait_for = [], seconds, wait_for

    async def run(self, inputs):
        self.seen.append(inputs["x"])
        if self.wait_for:
            await self.wait_for.wait()
        await asyncio.sleep(self.seconds)
        if (inputs["x"] < 0).any():
            raise ValueError("negative")
        return {"y": inputs["x"] * 2}


def row(value, width=3):
    return {"x": numpy.full((1, width), value, numpy.float32)}


async def served(queue, job):
    """The result of a job in a queue whose time is short: on a busy machine it may be over for one that waits for nothing."""
    for _ in range(20):
        try:
            return await queue.infer(job)
        except Late:
            pass
    return pytest.fail("each was late")


def test_one_job_is_passed_on_as_it_is():
    async def main():
        doubles = Doubles()
        queue = Batcher([doubles], max_rows=4, delay_s=0)
        job = row(3)
        assert (await queue.infer(job, 1))["y"].tolist() == [[6, 6, 6]]
        assert doubles.seen[0] is job["x"]
        await queue.close()

    asyncio.run(main())


def test_jobs_share_a_batch_in_their_order():
    async def main():
        doubles, sizes = Doubles(), []
        queue = Batcher([doubles], max_rows=4, delay_s=60, observe=lambda jobs, rows: sizes.append((jobs, rows)))
        results = await asyncio.gather(*[queue.infer(row(i), 1) for i in range(8)])
        assert [int(result["y"][0, 0]) for result in results] == [0, 2, 4, 6, 8, 10, 12, 14]
        assert sizes == [(4, 4), (4, 4)] and all(len(seen) == 4 for seen in doubles.seen)
        await queue.close()

    asyncio.run(main())


def test_a_batch_that_is_not_full_starts_after_its_delay():
    async def main():
        doubles = Doubles()
        queue = Batcher([doubles], max_rows=64, delay_s=0.05)
        begin = asyncio.get_running_loop().time()
        await asyncio.gather(*[queue.infer(row(i), 1) for i in range(3)])
        assert 0.04 < asyncio.get_running_loop().time() - begin < 60
        assert [len(seen) for seen in doubles.seen] == [3]
        await queue.close()

    asyncio.run(main())


def test_jobs_that_come_while_all_are_busy_join():
    async def main():
        gate = asyncio.Event()
        doubles = Doubles(wait_for=gate)
        queue = Batcher([doubles], max_rows=8, delay_s=0)
        first = asyncio.create_task(queue.infer(row(0), 1))
        await asyncio.sleep(0.02)
        others = [asyncio.create_task(queue.infer(row(i), 1)) for i in range(1, 6)]
        await asyncio.sleep(0.02)
        gate.set()
        await asyncio.gather(first, *others)
        assert [len(seen) for seen in doubles.seen] == [1, 5]
        await queue.close()

    asyncio.run(main())


def test_rows_of_different_widths_and_sizes():
    async def main():
        doubles = Doubles()
        queue = Batcher([doubles], max_rows=4, delay_s=0.01)
        jobs = [row(1, 3), row(2, 5), {"x": numpy.full((3, 3), 3, numpy.float32)}, {"x": numpy.full((2, 3), 4, numpy.float32)}]
        results = await asyncio.gather(*[queue.infer(job, job["x"].shape[0]) for job in jobs])
        assert [result["y"].shape for result in results] == [(1, 3), (1, 5), (3, 3), (2, 3)]
        assert [float(result["y"].min()) for result in results] == [2, 4, 6, 8]
        assert sorted(len(seen) for seen in doubles.seen) == [1, 2, 4]
        await queue.close()

    asyncio.run(main())


def test_an_error_reaches_only_the_job_that_caused_it():
    async def main():
        queue = Batcher([Doubles()], max_rows=4, delay_s=0.05)
        results = await asyncio.gather(*[queue.infer(row(value), 1) for value in (1, -1, 2)], return_exceptions=True)
        assert results[0]["y"][0, 0] == 2 and results[2]["y"][0, 0] == 4
        assert isinstance(results[1], ValueError) and "negative" in str(results[1])
        await queue.close()

    asyncio.run(main())


def test_outputs_without_rows_are_not_divided():
    class Sums:
        async def run(self, inputs):
            return {"sum": inputs["x"].sum(keepdims=True)[0]}

    async def main():
        queue = Batcher([Sums()], max_rows=4, delay_s=0.05)
        results = await asyncio.gather(*[queue.infer(row(value), 1) for value in (1, 2)])
        assert [float(result["sum"][0]) for result in results] == [3, 6]
        await queue.close()

    asyncio.run(main())


def test_limits_of_number_and_time():
    async def main():
        gate = asyncio.Event()
        for timeout_s in (0.2, 2, 20):  # On a busy machine the time of the first may be over before the last comes.
            queue = Batcher([Doubles(wait_for=gate)], max_waiting=2, timeout_s=timeout_s)
            begin = asyncio.get_running_loop().time()
            jobs = [asyncio.create_task(queue.infer(row(0)))]
            await asyncio.sleep(0.02)
            jobs += [asyncio.create_task(queue.infer(row(0))) for _ in range(2)]
            await asyncio.sleep(0.02)
            try:
                await queue.infer(row(0))
            except (QueueFull, Late) as error:
                refusal = error
            in_time = asyncio.get_running_loop().time() - begin < timeout_s
            for result in await asyncio.gather(*jobs, return_exceptions=True):
                assert isinstance(result, Late) and f"{timeout_s} s" in str(result)
            if in_time:
                break
            await queue.close()
        assert isinstance(refusal, QueueFull) and "2 requests wait" in str(refusal)
        assert queue.waiting == 0
        gate.set()
        assert (await served(queue, row(4)))["y"][0, 0] == 8
        await queue.close()

    asyncio.run(main())


def test_a_caller_that_leaves_is_not_served():
    async def main():
        gate = asyncio.Event()
        doubles = Doubles(wait_for=gate)
        queue = Batcher([doubles])
        first, left = asyncio.create_task(queue.infer(row(1))), None
        await asyncio.sleep(0.02)
        left = asyncio.create_task(queue.infer(row(2)))
        await asyncio.sleep(0.02)
        left.cancel()
        gate.set()
        await first
        assert (await queue.infer(row(3)))["y"][0, 0] == 6
        assert len(doubles.seen) == 2
        await queue.close()

    asyncio.run(main())


def test_an_executor_without_callers_is_cancelled():
    async def main():
        class Sleeps(Doubles):
            ended = 0

            async def run(self, inputs):
                try:
                    await asyncio.sleep(inputs["x"][0, 0])
                finally:
                    self.ended += 1
                return {"y": inputs["x"]}

        sleeps = Sleeps()
        queue = Batcher([sleeps], timeout_s=0.1)
        with pytest.raises(Late):
            await queue.infer(row(100))
        assert (await served(queue, row(0)))["y"][0, 0] == 0 and sleeps.ended >= 2
        await queue.close()

    asyncio.run(main())


def test_closing_finishes_what_was_taken():
    async def main():
        queue = Batcher([Doubles(0.05)])
        jobs = [asyncio.create_task(queue.infer(row(i))) for i in range(3)]
        await asyncio.sleep(0)
        await queue.close(grace_s=5)
        assert [result["y"][0, 0] for result in await asyncio.gather(*jobs)] == [0, 2, 4]
        with pytest.raises(Closed):
            await queue.infer(row(0))

    asyncio.run(main())


def test_closing_does_not_wait_for_ever():
    async def main():
        queue = Batcher([Doubles(wait_for=asyncio.Event())], timeout_s=100)
        jobs = [asyncio.create_task(queue.infer(row(i))) for i in range(2)]
        await asyncio.sleep(0.02)
        await queue.close(grace_s=0.1)
        for result in await asyncio.gather(*jobs, return_exceptions=True):
            assert isinstance(result, Closed)

    asyncio.run(main())


@pytest.mark.parametrize("wrong", [{"max_rows": 0}, {"max_waiting": 0}, {"timeout_s": 0}, {"timeout_s": float("nan")}, {"delay_s": -1}, {"delay_s": float("inf")}])
def test_wrong_limits(wrong):
    async def main():
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Batcher([Doubles()], **wrong)
        with pytest.raises(ValueError):
            Batcher([])

    asyncio.run(main())
