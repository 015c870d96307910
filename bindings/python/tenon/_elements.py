# SPDX-License-Identifier: Apache-2.0
"""Elements of pipelines written in Python: classes with typed parameters, or functions of a frame."""

from __future__ import annotations

import inspect
import typing
from typing import Any, Callable, Iterable, Iterator, Optional, Union

from . import _native

Frames = Union[None, bool, _native.Frame, Iterable[_native.Frame]]


class _Element:
    """A class attribute with a type and a default is a parameter of the element: `strength: int = 3`.

    `shared = True`: one object serves all streams of a node; otherwise each stream has its own."""

    shared = False
    name = ""


class _Reader(_Element):
    def open(self, info: dict[str, Any]) -> None:
        """Called before the first frame, with what is known of the stream: width, height, format, fps, live."""


class Source(_Element):
    """Gives frames: override frames(), and open() to say what they are."""

    _role = "source"

    def open(self) -> Optional[dict[str, Any]]:
        """What is known of the stream: a dict of width, height, format, fps, live; or None."""

    def frames(self) -> Iterator[Any]:
        """Yields Frames, or arrays of uint8 [height, width, 3]. Called again where a pipeline restarts the stream."""
        raise NotImplementedError(f"{type(self).__name__}.frames()")


class Transform(_Reader):
    """Changes frames: override process()."""

    _role = "transform"

    def process(self, frame: _native.Frame) -> Frames:
        """None or True: the frame goes on (with what was added to its metadata). False: it does not. An array takes the place of the picture,
        with the frame's time and metadata; boxes are scaled to its size. A Frame takes the frame's place as it is. A list gives those that go on,
        so an empty one drops the frame."""
        raise NotImplementedError(f"{type(self).__name__}.process()")

    def end(self) -> Frames:
        """The stream has ended: frames that are still to come."""
        return None


class Sink(_Reader):
    """Takes frames: override write()."""

    _role = "sink"

    def write(self, frame: _native.Frame) -> None:
        """One frame. It may be kept, with its memory."""
        raise NotImplementedError(f"{type(self).__name__}.write()")

    def finish(self) -> None:
        """All streams have ended."""


class _Function(Transform):
    """A function of a frame as an element."""

    shared = True

    def __init__(self, function: Callable[[_native.Frame], Frames]):
        self._function = function

    def process(self, frame: _native.Frame) -> Frames:
        return self._function(frame)


def _parameters(kind: type) -> list[tuple]:
    parameters = []
    for base in reversed(kind.__mro__):
        if base in (_Element, _Reader, Source, Transform, Sink, object):
            continue
        comments = inspect.getdoc(base) or ""
        for name, hint in typing.get_type_hints(base).items():
            if name.startswith("_") or name in ("shared", "name") or not hasattr(base, name):
                continue
            default = getattr(base, name)
            choices = [str(choice) for choice in typing.get_args(hint)] if typing.get_origin(hint) is typing.Literal else []
            about = next((line.split(":", 1)[1].strip() for line in comments.splitlines() if line.strip().startswith(name + ":")), "")
            parameters.append((name, about, default, choices))
    return parameters


def describe(element: Any) -> dict:
    """What the native module asks of an element's class, object or function. @errors TypeError"""
    if not isinstance(element, (_Element, type)) and callable(element):
        about = (inspect.getdoc(element) or "A function of Python's").splitlines()[0].rstrip(".")
        return {"element": _Function(element), "name": getattr(element, "__name__", "function"), "about": about, "shared": True, "parameters": []}
    kind = element if isinstance(element, type) else type(element)
    if not issubclass(kind, (Source, Transform, Sink)):
        raise TypeError(f"an element derives from tenon.Source, tenon.Transform or tenon.Sink, or is a function of a frame; {element!r} is none")
    about = (inspect.getdoc(kind) or kind.__name__).splitlines()[0].rstrip(".")
    # An object serves all streams: there is no second one.
    shared = kind.shared or not isinstance(element, type)
    return {"element": element, "name": kind.name or kind.__name__, "about": about, "shared": shared, "parameters": _parameters(kind)}


def register_element(element: type) -> type:
    """Makes an element known by its name to pipelines from files. May decorate its class."""
    _native._register_element(element)
    return element
