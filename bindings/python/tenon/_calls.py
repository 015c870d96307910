# SPDX-License-Identifier: Apache-2.0
"""What the native classes have in Python: calls of compiled models, callbacks, asyncio, ledgers as scopes, and pictures of objects."""

from __future__ import annotations

import html
from contextlib import contextmanager
from typing import Any, Iterator, Optional, Union

from . import _native
from ._results import OVDict
from .errors import Error


def idle_requests(self: _native.CompiledModel) -> list:
    """The requests that calls of the model use, but those that a call of another thread uses now. One thread's calls use the last."""
    try:
        return self._idle_requests
    except AttributeError:
        return self.__dict__.setdefault("_idle_requests", [])


def call(self: _native.CompiledModel, inputs: Any = None, share_inputs: bool = True, share_outputs: bool = False, *, decode_strings: bool = True) -> OVDict:
    """Runs one inference over a request that the model keeps; see InferRequest.infer(). Arrays are used where they lie. Any thread may call:
    those that call at once have a request each."""
    requests = idle_requests(self)
    try:
        request = requests.pop()
    except IndexError:
        request = self.create_infer_request()
    try:
        return request.infer(inputs, share_inputs, share_outputs)
    finally:
        requests.append(request)


def infer_new_request(self: _native.CompiledModel, inputs: Any = None) -> OVDict:
    """Runs one inference over a request of its own."""
    return self.create_infer_request().infer(inputs)


async def infer_async(self: _native.InferRequest, inputs: Any = None, share_inputs: bool = False) -> OVDict:
    """Runs one inference while other coroutines run. A cancelled task cancels the inference, and ends when it has ended. @errors Busy."""
    import asyncio  # A third of the package's time to import, which only coroutines need.

    loop = asyncio.get_running_loop()
    done = loop.create_future()

    def finish() -> None:
        if not done.done():
            done.set_result(None)

    def tell() -> None:
        try:
            loop.call_soon_threadsafe(finish)
        except RuntimeError:  # The loop was closed meanwhile.
            pass

    self._start_waited(inputs, share_inputs, tell)
    try:
        await asyncio.shield(done)
    except asyncio.CancelledError:
        self.cancel()
        await done  # Only then is the request free for another inference.
        try:
            self.wait()
        except Error:  # It says that it was cancelled.
            pass
        raise
    self.wait()
    return self.results


class LedgerScope:
    """What was booked between the beginning and the end of a `with` block."""

    def __init__(self, ledger: _native.Ledger):
        self._ledger = ledger
        self._before = {entry["name"]: entry for entry in ledger.snapshot()}
        self._after: Optional[dict] = None

    def _entries(self) -> dict:
        return self._after if self._after is not None else {entry["name"]: entry for entry in self._ledger.snapshot()}

    def _close(self) -> None:
        self._after = self._entries()

    def snapshot(self) -> list[dict]:
        """Entries that are not zero: bytes copied, converted and transferred, numbers of maps and waits, by edge."""
        entries = []
        for name, after in self._entries().items():
            before = self._before.get(name, {})
            entry = {key: value - before.get(key, 0) for key, value in after.items() if key != "name"}
            if any(entry.values()):
                entries.append({"name": name, **entry})
        return entries

    def total(self) -> dict:
        """Sums over all edges."""
        totals: dict = {}
        for entry in self.snapshot():
            for key, value in entry.items():
                if key != "name":
                    totals[key] = totals.get(key, 0) + value
        return totals

    @property
    def copied(self) -> int:
        """Bytes that were moved or laid out anew."""
        return self.total().get("copied", 0)

    @property
    def converted(self) -> int:
        """Bytes that were read to compute other values: colour, size, type."""
        return self.total().get("converted", 0)

    def __str__(self) -> str:
        rows = [f"{entry['name']:<32} {entry['maps']:>8} maps {entry['copied']:>12} copied {entry['converted']:>12} converted" for entry in self.snapshot()]
        return "\n".join(rows) if rows else "nothing was copied, converted or mapped"

    def __repr__(self) -> str:
        return f"<LedgerScope: {self.copied} bytes copied, {self.converted} converted>"

    def _repr_html_(self) -> str:
        return ledger_html(self)


@contextmanager
def ledger(of: Union[None, _native.Ledger, _native.InferRequest, _native.Core] = None) -> Iterator[LedgerScope]:
    """Counts what the block copies: `with tn.ledger() as l: ...; print(l.copied)`. `of`: a request, a core, or the whole process."""
    if of is not None and not isinstance(of, (_native.Ledger, _native.InferRequest, _native.Core)):
        raise TypeError(f"a ledger is that of an InferRequest, a Core or the process (None), not of {of!r}")
    source = of if isinstance(of, _native.Ledger) else _native.Ledger.process() if of is None else of.ledger
    scope = LedgerScope(source)
    try:
        yield scope
    finally:
        scope._close()


def table(head: list, rows: list) -> str:
    """An HTML table, for notebooks."""
    def cells(kind: str, row: list) -> str:
        return "".join(f"<{kind}>{html.escape(str(cell))}</{kind}>" for cell in row)

    return "<table><tr>" + cells("th", head) + "</tr>" + "".join("<tr>" + cells("td", row) + "</tr>" for row in rows) + "</table>"


def ledger_html(of: Union[_native.Ledger, LedgerScope]) -> str:
    """What each edge copied, converted and waited for, as a table."""
    keys = ["maps", "copied", "converted", "transferred", "waits"]
    return table(["edge", *keys], [[entry["name"], *(entry[key] for key in keys)] for entry in of.snapshot()])


def model_html(model: Union[_native.Model, _native.CompiledModel]) -> str:
    """Inputs and outputs as a table."""
    rows = [[kind, ", ".join(sorted(port.names)), port.element_type, port.partial_shape]
            for kind, ports in (("input", model.inputs), ("output", model.outputs)) for port in ports]
    return table(["", "names", "type", "shape"], rows)


def install() -> None:
    """Gives the native classes the functions above."""
    _native.CompiledModel.__call__ = call
    _native.CompiledModel.infer_new_request = infer_new_request
    _native.CompiledModel._repr_html_ = model_html
    _native.Model._repr_html_ = model_html
    _native.Ledger._repr_html_ = ledger_html
    _native.InferRequest.infer_async = infer_async
