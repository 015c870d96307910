# SPDX-License-Identifier: Apache-2.0
"""Frames over arrays."""
import numpy
import pytest

import tenon as tn

pytestmark = pytest.mark.skipif("elements ffmpeg" in tn.absent(), reason="FFmpeg's elements do not work here")


def test_frames_over_arrays():
    array = numpy.arange(48 * 64 * 3, dtype=numpy.uint8).reshape(48, 64, 3)
    frame = tn.Frame(array, time=1.5)
    assert (frame.width, frame.height, frame.format, frame.time) == (64, 48, "rgb", 1.5)
    assert frame.numpy().__array_interface__["data"][0] == array.__array_interface__["data"][0]
    assert tn.Frame(array, "bgr24").to("rgb").numpy()[0, 0].tolist() == array[0, 0, ::-1].tolist()
    assert frame.to("rgb24") .numpy().__array_interface__["data"][0] == array.__array_interface__["data"][0]
    nv12 = frame.to("nv12")
    assert [plane.shape for plane in nv12.planes] == [(48, 64), (24, 32, 2)]
    with pytest.raises(ValueError, match="planes"):
        nv12.numpy()
    small = frame.to("gray", width=32, height=24)
    assert small.numpy().shape == (24, 32) and small.time == 1.5
    part = frame.crop(8, 4, 16, 10)
    assert (numpy.asarray(part) == array[4:14, 8:24]).all()
    # Boxes of objects may reach beyond the picture on each side.
    for area in ((60, 0, 16, 16), (-4, 0, 16, 16), (0, -4, 16, 16), (0, 0, -16, 16), (0, 40, 16, 16), (1 << 40, 0, 16, 16)):
        for upright in (False, True):
            with pytest.raises(IndexError, match=f"{area[2]}x{area[3]} at {area[0]},{area[1]} px leaves the .*picture of 64x48 px"):
                frame.crop(*area, upright=upright)
    for wrong in (-1, 1 << 40):
        with pytest.raises(ValueError, match=f"numbers of pixels.*not {wrong}"):
            frame.to("rgb", width=wrong)
        with pytest.raises(LookupError, match=f"no object {wrong}"):
            frame.remove(wrong)
    assert tn.Frame(numpy.zeros((4, 6), numpy.uint8)).format == "gray8"
    with pytest.raises(ValueError, match='did you mean "rgb"'):
        frame.to("rgbz")
    for wrong in (numpy.zeros((4, 4, 5), numpy.uint8), numpy.zeros((4, 4, 3), numpy.float32), numpy.zeros(4, numpy.uint8)):
        with pytest.raises(ValueError, match="uint8"):
            tn.Frame(wrong)


def test_times_are_numbers_of_seconds():
    frame = tn.Frame(numpy.zeros((4, 6), numpy.uint8), time=-1.5)
    assert frame.time == -1.5
    for wrong in (float("nan"), float("inf"), -1e300):
        with pytest.raises(ValueError, match="time of a frame"):
            frame.time = wrong
        with pytest.raises(ValueError, match="time of a frame"):
            tn.Frame(numpy.zeros((4, 6), numpy.uint8), time=wrong)
    frame.time = None
    assert frame.time is None


def test_planes_in_one_array():
    """As OpenCV and PyAV keep pictures of 4:2:0."""
    picture = numpy.arange(48 * 64 * 3, dtype=numpy.uint8).reshape(48, 64, 3)
    for name in ("nv12", "i420"):
        planes = [plane.data for plane in tn.Frame(picture).to(name).planes]
        array = numpy.concatenate([plane.reshape(-1) for plane in planes]).reshape(72, 64)
        frame = tn.Frame(array, format=name, time=2)
        assert (frame.width, frame.height, frame.format, frame.time) == (64, 48, name, 2)
        assert all((plane.data == wanted).all() for plane, wanted in zip(frame.planes, planes, strict=True))
        assert all(numpy.shares_memory(plane.data, array) for plane in frame.planes)
        assert (frame.to("rgb").numpy() == tn.Frame(picture).to(name).to("rgb").numpy()).all()
    for wrong in (numpy.zeros((70, 64), numpy.uint8), numpy.zeros((72, 64, 3), numpy.uint8), numpy.zeros((72, 128), numpy.uint8)[:, :64], numpy.zeros((72, 63), numpy.uint8)):
        with pytest.raises(ValueError, match="nv12 has 2 planes"):
            tn.Frame(wrong, format="nv12")


def test_pixels_that_lie_apart_are_refused_with_the_remedy():
    picture = numpy.zeros((48, 64, 4), numpy.uint8)
    for strided in (picture[:, ::2], picture[..., :3], picture.transpose(1, 0, 2), picture[..., 0]):
        with pytest.raises(BufferError, match="ascontiguousarray"):
            tn.Frame(strided)
    assert tn.Frame(picture[:, :32]).width == 32, "rows may lie apart"
