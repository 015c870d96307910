# SPDX-License-Identifier: Apache-2.0
"""Buffers of PyGObject's GStreamer as frames and tensors, over their own memory:

    from tenon.gstreamer import frame_of
    sample = appsink.emit("pull-sample")
    frame = frame_of(sample.get_buffer(), sample.get_caps())

A buffer stays mapped, and alive, as long as anything lies over it. It is mapped for reading: what one element writes, others must not see."""

from __future__ import annotations

import ctypes
import weakref
from typing import Any, Optional

from . import _native


class _MapInfo(ctypes.Structure):
    """GstMapInfo. PyGObject's own copies the bytes."""

    _fields_ = [("memory", ctypes.c_void_p), ("flags", ctypes.c_int), ("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("maxsize", ctypes.c_size_t),
                ("user_data", ctypes.c_void_p * 4), ("reserved", ctypes.c_void_p * 4)]


_READ = 1
_NAMES = {"Y42B": "yuv422p", "Y444": "yuv444p"}  # Other formats have Tenon's names.
_library: Optional[ctypes.CDLL] = None


def _gst() -> ctypes.CDLL:
    global _library
    if _library is None:
        library = ctypes.CDLL("libgstreamer-1.0.so.0")
        library.gst_mini_object_ref.argtypes = library.gst_mini_object_unref.argtypes = [ctypes.c_void_p]
        library.gst_mini_object_ref.restype = ctypes.c_void_p
        library.gst_buffer_map.argtypes = [ctypes.c_void_p, ctypes.POINTER(_MapInfo), ctypes.c_int]
        library.gst_buffer_unmap.argtypes = [ctypes.c_void_p, ctypes.POINTER(_MapInfo)]
        _library = library
    return _library


def _pointer(buffer: Any) -> int:
    """The GstBuffer of PyGObject's: the first member of a boxed value, after what every Python object has."""
    import gi

    gi.require_version("Gst", "1.0")
    from gi.repository import Gst

    if not isinstance(buffer, Gst.Buffer):
        raise TypeError(f"a Gst.Buffer is wanted, not {buffer!r}")
    pointer = ctypes.c_void_p.from_address(id(buffer) + object.__basicsize__).value
    if not pointer:
        raise ValueError("the Gst.Buffer is empty")
    return pointer


def _unmap(pointer: int, info: _MapInfo) -> None:
    _gst().gst_buffer_unmap(pointer, ctypes.byref(info))
    _gst().gst_mini_object_unref(pointer)


def _bytes_of(buffer: Any) -> Any:
    """A read-only NumPy array over all bytes of a buffer, which keeps it mapped."""
    import numpy

    pointer, info = _pointer(buffer), _MapInfo()
    _gst().gst_mini_object_ref(pointer)
    if not _gst().gst_buffer_map(pointer, ctypes.byref(info), _READ):
        _gst().gst_mini_object_unref(pointer)
        raise BufferError("this Gst.Buffer cannot be mapped for reading: its memory is a device's; convert it, e.g. by vapostproc or gldownload")
    held = (ctypes.c_uint8 * info.size).from_address(info.data or 0)
    weakref.finalize(held, _unmap, pointer, info)
    array = numpy.frombuffer(held, numpy.uint8)
    array.flags.writeable = False
    return array


def tensor_of(buffer: Any) -> _native.Tensor:
    """The bytes of a Gst.Buffer as a tensor [size] of u8, read-only and in place. A buffer of several memories is joined by GStreamer, which
    copies."""
    return _native.Tensor(_bytes_of(buffer), True)


def frame_of(buffer: Any, caps: Any) -> _native.Frame:
    """A Gst.Buffer with the video/x-raw caps that it came with as a frame over its memory, with its layout (GstVideoMeta) and time.
    @errors ValueError: no caps of raw video, or a format that Tenon has not; BufferError: memory that cannot be mapped."""
    import gi
    import numpy

    gi.require_version("GstVideo", "1.0")
    from gi.repository import Gst, GstVideo

    if not isinstance(caps, Gst.Caps):
        raise TypeError(f"the Gst.Caps of the buffer are wanted, not {caps!r}")
    if not caps.is_fixed() or caps.get_size() != 1 or caps.get_structure(0).get_name() != "video/x-raw":
        raise ValueError(f"a frame has caps of raw video, not {caps.to_string()}")
    info = GstVideo.VideoInfo.new_from_caps(caps)
    whole, about = _bytes_of(buffer), info.finfo
    meta = GstVideo.buffer_get_video_meta(buffer)
    offsets, strides = (meta.offset, meta.stride) if meta else (info.offset, info.stride)
    planes = []
    for plane in range(about.n_planes):
        component = next(each for each in range(about.n_components) if about.plane[each] == plane)
        if about.depth[component] != 8:
            raise ValueError(f"{about.name} has components of {about.depth[component]} bits, and frames from GStreamer's buffers have 8")
        height, width = -(-info.height // (1 << about.h_sub[component])), -(-info.width // (1 << about.w_sub[component]))
        channels = about.pixel_stride[component]
        shape = (height, width) if channels == 1 else (height, width, channels)
        steps = (strides[plane], 1) if channels == 1 else (strides[plane], channels, 1)
        last = offsets[plane] + (height - 1) * strides[plane] + width * channels
        if last > whole.size:
            raise ValueError(f"the buffer has {whole.size} bytes, and plane {plane} of {caps.to_string()} ends at {last}")
        planes.append(numpy.lib.stride_tricks.as_strided(whole[offsets[plane]:], shape, steps, writeable=False))
    time = buffer.pts if buffer.pts != Gst.CLOCK_TIME_NONE else None
    return _native._frame_of_planes(_NAMES.get(about.name, about.name.lower()), info.width, info.height, planes, time)
