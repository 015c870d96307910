# SPDX-License-Identifier: Apache-2.0
"""Exceptions of Tenon, one for each code of its C API. Each is also the built-in exception that Python's users expect."""

from __future__ import annotations

import errno
import os
from typing import Any


class Error(RuntimeError):
    """Base of all: `code` is the number in the C API, `native_api` and `native_code` name the foreign call that failed, if one did."""

    code: int = 2
    native_api: str = ""
    native_code: int = 0


class Cancelled(Error):
    """An inference was cancelled before it was over."""

    code = 1


class InvalidArgument(Error, ValueError):
    """A value does not fit: a shape, an element type, a property."""

    code = 3


class DeadlineExceeded(Error, TimeoutError):
    """A wait came to its deadline."""

    code = 4


class NotFound(Error, LookupError):
    """No file, device, port or property of this name; the message lists those that exist."""

    code = 5


def _missing_file(kind: type, args: tuple, known: dict) -> Any:
    made = kind(*args)
    for name, value in known.items():
        setattr(made, name, value)
    return made


class MissingFile(NotFound, FileNotFoundError):
    """No file at this path."""

    def __reduce__(self) -> Any:
        known = {name: getattr(self, name) for name in ("errno", "strerror", "filename") if getattr(self, name) is not None}
        return _missing_file, (type(self), self.args, {**self.__dict__, **known})


class AlreadyExists(Error):
    """The name is taken."""

    code = 6


class PermissionDenied(Error, PermissionError):
    """Read-only memory, or a file that may not be read or written."""

    code = 7


class ResourceExhausted(Error, MemoryError):
    """Memory, descriptors or a limit of the process are used up."""

    code = 8


class FailedPrecondition(Error):
    """The object is not in the state that the call needs."""

    code = 9


class Busy(FailedPrecondition):
    """The request is running: wait for it, or take another."""


class Aborted(Error):
    """Another party ended the operation."""

    code = 10


class OutOfRange(Error, IndexError):
    """An index or a region beyond the end."""

    code = 11


class Unimplemented(Error, NotImplementedError):
    """This device, format or operation is not supported; the message names what is."""

    code = 12


class Internal(Error):
    """A fault of Tenon's: please report it."""

    code = 13


class Unavailable(Error):
    """A device, library or service that does not work here; the message says why."""

    code = 14


class DataLoss(Error):
    """A damaged file or stream."""

    code = 15


BY_CODE: dict[int, type[Error]] = {
    kind.code: kind
    for kind in (
        Error,
        Cancelled,
        InvalidArgument,
        DeadlineExceeded,
        NotFound,
        AlreadyExists,
        PermissionDenied,
        ResourceExhausted,
        FailedPrecondition,
        Aborted,
        OutOfRange,
        Unimplemented,
        Internal,
        Unavailable,
        DataLoss,
    )
}


def check_file(path: Any) -> None:
    """Refuses the path of a file that there is not; takes a model's text and all that is no path. @errors MissingFile."""
    if isinstance(path, (str, os.PathLike)) and not os.fspath(path).startswith("<?xml") and not os.path.lexists(path):
        missing = MissingFile()
        missing.errno, missing.strerror, missing.filename = errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path)
        raise missing
