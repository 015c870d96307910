# SPDX-License-Identifier: Apache-2.0
"""Whether two programs compute the same: compares each output, and each channel of an output, by its own scale."""
import pathlib
import tempfile

import numpy


def outputs_of(worker):
    """The outputs of one inference, by cpu_worker.cpp's protocol."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "outputs.bin"
        shapes = [tuple(int(n) for n in word.split("x")) for word in worker.ask(f"dump {path}").split()[1:]]
        values = numpy.fromfile(path, numpy.float32).astype(numpy.float64)
    ends = numpy.cumsum([numpy.prod(shape, dtype=int) for shape in shapes])
    return [part.reshape(shape) for part, shape in zip(numpy.split(values, ends[:-1]), shapes)]


def channels_of(values):
    """One row for each channel: axis 1 of images and of rows of boxes, where coordinates lie beside scores."""
    return numpy.moveaxis(values, 1, 0).reshape(values.shape[1], -1) if values.ndim >= 3 else values.reshape(1, -1)


def nearness(ours, theirs):
    """The least cosine of an output, and the largest difference relative to the largest value of its own channel.

    A channel that is small beside its output (1e-3) is compared with that share: its rounding is the output's.
    """
    if [a.shape for a in ours] != [b.shape for b in theirs]:
        return {"cosine": 0.0, "relative": float("inf")}
    cosine, relative = 1.0, 0.0
    for a, b in zip(ours, theirs):
        if not a.size:
            continue
        if not (numpy.isfinite(a).all() and numpy.isfinite(b).all()):
            return {"cosine": 0.0, "relative": float("inf")}
        norm = float(numpy.linalg.norm(a) * numpy.linalg.norm(b))
        cosine = min(cosine, float((a * b).sum()) / norm if norm else float(not a.any() and not b.any()))
        a, b = channels_of(a), channels_of(b)
        scale = numpy.maximum(abs(b).max(axis=1), 1e-3 * abs(b).max())
        difference = abs(a - b).max(axis=1)
        relative = max(relative, float(numpy.divide(difference, scale, out=numpy.where(difference > 0, numpy.inf, 0.0), where=scale > 0).max()))
    return {"cosine": cosine, "relative": relative}


def check(what, name, ours, theirs, cosine, relative):
    """@raises SystemExit: they differ by more than that."""
    found = nearness(ours, theirs)
    if not (found["cosine"] >= cosine and found["relative"] <= relative):
        raise SystemExit(f"{what}: {name} gives other outputs: cosine {found['cosine']:.6f}, at least {cosine} wanted; "
                         f"largest difference {found['relative']:.1e} of its channel, at most {relative} wanted")
