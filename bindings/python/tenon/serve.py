# SPDX-License-Identifier: Apache-2.0
"""A KServe model server around a model or a pipeline: the Open Inference Protocol (version 2) by REST and gRPC, metrics and health.

    python -m tenon.serve detector.onnx --device CPU --http-port 8080 --grpc-port 8081

Needs the PyPI package kserve (pip install 'kserve>=0.21,<0.22'). Requests of several clients share an inference where the model's first extent is free
(--batch); binary tensors are read where the protocol's bytes lie. docs/guide/more_than_one_machine.md says when to take it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Optional, Sequence

import numpy

import tenon as tn

from . import __main__ as _tool
from ._open_inference import Port, datatype_of


@dataclass
class Limits:
    """What a server takes on. Every limit has an answer that names it."""

    batch: int = 1  #: Rows in one inference, from any of the clients; 1: each request runs alone.
    delay_s: float = 0.002  #: How long a batch that is not full waits for more.
    waiting: int = 256  #: Requests that may wait for an inference; further ones are refused (503, RESOURCE_EXHAUSTED).
    timeout_s: float = 30.0  #: From the first byte of a request to its result (504, DEADLINE_EXCEEDED).
    body_bytes: int = 64 << 20  #: Size of a request (413, RESOURCE_EXHAUSTED).
    connections: int = 256  #: Connections by REST (503), calls at once by gRPC (RESOURCE_EXHAUSTED).
    grace_s: float = 20.0  #: How long requests in flight may take after SIGTERM.

    def __post_init__(self) -> None:
        for name in ("batch", "waiting", "timeout_s", "body_bytes", "connections", "grace_s"):
            if not getattr(self, name) > 0:
                raise ValueError(f"the limit {name} must be positive, not {getattr(self, name)}")


class _Request:
    """One InferRequest. Arrays are used where they lie."""

    def __init__(self, request: tn.InferRequest, outputs: Sequence[str], copied: Callable[[int], None]):
        self._request, self._outputs, self._copied = request, outputs, copied

    async def run(self, inputs: Any) -> dict:
        with tn.ledger(self._request) as moved:
            results = await self._request.infer_async({name: _tensor(array) for name, array in inputs.items()})
        self._copied(moved.copied)
        return dict(zip(self._outputs, results.to_tuple()))


def _tensor(array: numpy.ndarray) -> tn.Tensor:
    if array.dtype != object:
        return tn.Tensor(array, shared_memory=True)
    text = numpy.array([each.decode("utf-8") for each in array.reshape(-1)])
    return tn.Tensor(text.reshape(array.shape))


def _ports(ports: Sequence[Any]) -> list:
    made = []
    for index, port in enumerate(ports):
        names = sorted(port.names)
        shape = port.partial_shape
        if shape.rank.is_dynamic:
            raise ValueError(f"port {names or index}: a rank that may change is not served: reshape() the model first")
        extents = [-1 if extent.is_dynamic else extent.get_length() for extent in shape]
        made.append(Port(names[0] if names else f"port{index}", datatype_of(port.element_type), extents))
    return made


class CompiledRunner:
    """Serves a model of Tenon's runtime: a path, a Model or a CompiledModel."""

    platform = "tenon"

    def __init__(self, model: Any, device: str = "CPU", config: Optional[dict] = None, batch: int = 1, requests: int = 0):
        if not isinstance(model, tn.CompiledModel):
            model = self._compiled(model, device, config, batch)
        self.inputs, self.outputs = _ports(model.inputs), _ports(model.outputs)
        free = [port.shape and port.shape[0] == -1 for port in self.inputs + self.outputs]
        self.has_rows = bool(free) and all(free)
        if batch > 1 and not self.has_rows:
            fixed = next(port for port, is_free in zip(self.inputs + self.outputs, free) if not is_free)
            raise ValueError(f"batch={batch}: the first extent of {fixed.name!r} is fixed ({fixed.shape}), so requests cannot share an inference: "
                             "export the model with a free batch, or serve it with batch=1")
        self._model = model
        self._count = requests or max(1, int(model.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS")))

    @staticmethod
    def _compiled(model: Any, device: str, config: Optional[dict], batch: int) -> tn.CompiledModel:
        if not isinstance(model, tn.Model):
            model = tn.read_model(model)
        if batch > 1:
            shapes = {}
            for port in model.inputs:
                if port.partial_shape.rank.is_dynamic or len(port.partial_shape) == 0:
                    raise ValueError(f"batch={batch}: input {sorted(port.names)} has no first extent")
                shapes[port] = [(1, batch), *list(port.partial_shape)[1:]]
            model.reshape(shapes)
        return tn.compile_model(model, device, config)

    def executors(self, copied: Callable[[int], None]) -> list:
        names = [port.name for port in self.outputs]
        return [_Request(self._model.create_infer_request(), names, copied) for _ in range(self._count)]


class _Process:
    """One run of the tool at a time."""

    def __init__(self, file: str, source: str):
        self._file, self._source = file, source

    async def run(self, inputs: Any) -> dict:
        with tempfile.TemporaryDirectory(prefix="tenon-serve-") as folder:
            media = Path(folder) / "media"
            media.write_bytes(inputs["media"].reshape(-1)[0])
            process = await asyncio.create_subprocess_exec(
                str(_tool.tool()), "pipeline", self._file, "--set", f"{self._source}={media}", "--quiet",
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
            try:
                out, err = await process.communicate()
            finally:
                if process.returncode is None:  # The caller's time is over, or the server stops.
                    process.kill()
                    await process.wait()
        if process.returncode:
            lines = err.decode(errors="replace").strip().splitlines()
            raise ValueError(f"the pipeline failed with exit status {process.returncode}: {lines[-1] if lines else 'it said nothing'}")
        lines = [line for line in out.split(b"\n") if line]
        results = numpy.empty(len(lines), object)
        results[:] = lines
        return {"results": results}


class PipelineRunner:
    """Serves a pipeline file by runs of `tenon pipeline`: the input "media" is an encoded picture or video, the output "results" a line of
    JSON for each frame. The pipeline has a source with a path (`source`: NODE.PARAMETER) and the sink json with the path "-"."""

    platform = "tenon_pipeline"
    has_rows = False

    def __init__(self, file: Any, source: str, processes: int = 0):
        if not _tool.tool().exists():
            raise FileNotFoundError(f"a pipeline needs the tool, and there is none at {_tool.tool()}: build it, or set TENON_TOOL to it")
        if "." not in source:
            raise ValueError(f"the source of a pipeline is given as NODE.PARAMETER, not {source!r}")
        if not Path(file).is_file():
            raise FileNotFoundError(f"there is no pipeline {file}")
        self.inputs, self.outputs = [Port("media", "BYTES", [1])], [Port("results", "BYTES", [-1])]
        self._file, self._source, self._count = os.fspath(file), source, processes or os.cpu_count() or 1

    def executors(self, copied: Callable[[int], None]) -> list:
        return [_Process(self._file, self._source) for _ in range(self._count)]


def _import_kserve() -> Any:
    # kserve parses the program's arguments while it is imported, and ends the program where it takes ours for its own.
    arguments, sys.argv = sys.argv, sys.argv[:1]
    try:
        import kserve
        import kserve.model_server
    except ImportError as error:
        raise ImportError(f"tenon.serve needs the PyPI package kserve (pip install 'kserve>=0.21,<0.22'): {error}") from error
    finally:
        sys.argv = arguments
    return kserve


class Server:
    """Serves one model. run() serves until SIGTERM or Ctrl-C; in a program with an event loop, await serve() and call stop().

    `token`: what requests must bring, as `Authorization: Bearer TOKEN` (metadata of that name by gRPC); all but health needs it, metrics too.
    `without_token`: lets others in at an address that they reach, where what stands before the server asks; else ValueError.
    """

    def __init__(self, runner: Any, name: str = "model", *, host: str = "127.0.0.1", http_port: int = 8080, grpc_port: Optional[int] = 8081,
                 limits: Optional[Limits] = None, token: Optional[str] = None, without_token: bool = False):
        from ._guard import Guard, is_local

        if token is not None and (not token or not token.isascii() or any(each.isspace() or not each.isprintable() for each in token)):
            raise ValueError("a token is letters, digits and signs of ASCII, without blanks")
        if token is None and not without_token and not is_local(host):
            raise ValueError(f"at {host} other machines reach the server: give a token (--token-file, TENON_SERVE_TOKEN), or say --no-token where "
                             "what stands before it decides")
        from . import _kserve

        self.limits = limits or Limits()
        if self.limits.batch > 1 and not runner.has_rows:
            raise ValueError(f"batch={self.limits.batch}: requests to {name!r} cannot share an inference")
        self._host, self._http_port, self._grpc_port = host, http_port, grpc_port
        self._parts, self._guard = _kserve, Guard(host, token)
        self.model = _kserve.ServedModel(name, runner, self.limits)
        self._stop: Optional[asyncio.Event] = None
        self.http_address = self.grpc_address = ""  #: Known once ready.

    async def serve(self, ready: Optional[Callable[["Server"], None]] = None) -> None:
        """Serves until stop(): then refuses what is new, finishes what is in flight within Limits.grace_s and returns."""
        loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        rest, grpc = self._parts.Rest(self.model, self._host, self._http_port, self.limits, self._guard), None
        serving = asyncio.create_task(rest.serve())
        try:
            self.http_address = await rest.address(serving)
            if self._grpc_port is not None:
                grpc = self._parts.Grpc(self.model, self._host, self._grpc_port, self.limits, self._guard)
                self.grpc_address = await grpc.start()
            if ready:
                ready(self)
            stopping = asyncio.create_task(self._stop.wait())
            await asyncio.wait([stopping, serving], return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
        finally:
            end = loop.time() + self.limits.grace_s  # One for all, so that slow clients of both protocols do not add up.
            self.model.stop()
            rest.stop()
            if grpc:
                await grpc.stop(max(0.0, end - loop.time()))
            await self.model.close(max(0.0, end - loop.time()))
            await asyncio.wait([serving], timeout=max(0.0, end - loop.time()))
            if not serving.done():
                rest.give_up()
            await serving

    def stop(self) -> None:
        """Ends serve(). To be called in the event loop's thread."""
        if self._stop:
            self._stop.set()

    def run(self) -> None:
        """Serves until SIGTERM or Ctrl-C."""
        async def main() -> None:
            loop = asyncio.get_running_loop()
            for each in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(each, self.stop)
            await self.serve(lambda self: print(
                f"tenon.serve: {self.model.name} is ready: REST at http://{self.http_address}/v2/models/{self.model.name}"
                + (f", gRPC at {self.grpc_address}" if self.grpc_address else ""), flush=True))

        asyncio.run(main())


def runner_for(model: str, device: str = "CPU", config: Optional[dict] = None, *, batch: int = 1, requests: int = 0,
               source: Optional[str] = None) -> Any:
    """A runner for a file: a pipeline (.json), or a model."""
    if str(model).endswith((".json", ".jsonc")):
        return PipelineRunner(model, source or "source.path", requests)
    if source:
        raise ValueError("a source is for pipelines; this is a model")
    return CompiledRunner(model, device, config, batch, requests)


def _arguments() -> argparse.ArgumentParser:
    default = Limits()
    parser = argparse.ArgumentParser(prog="python -m tenon.serve", description=__doc__.split("\n", 1)[0],
                                     formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("model", help="ONNX, the .xml of an OpenVINO IR, or a pipeline file (.json)")
    parser.add_argument("--device", default="CPU", help="device that runs the model")
    parser.add_argument("--name", help="name in the protocol; else the file's")
    parser.add_argument("--host", default="127.0.0.1", help="address to serve at; 0.0.0.0: all networks of this machine")
    parser.add_argument("--token-file", metavar="FILE", help="the first line is the token that requests must bring; else that of TENON_SERVE_TOKEN, if it is set")
    parser.add_argument("--no-token", action="store_true", help="lets others in at an address that they reach: what stands before the server asks")
    parser.add_argument("--http-port", type=int, default=8080, help="port of REST, metrics and health; 0: a free one")
    parser.add_argument("--grpc-port", type=int, default=8081, help="port of gRPC; 0: a free one; -1: none")
    parser.add_argument("--batch", type=int, default=default.batch, help="rows in one inference, from any of the clients")
    parser.add_argument("--delay-ms", type=float, default=default.delay_s * 1e3, help="how long a batch that is not full waits for more")
    parser.add_argument("--requests", type=int, default=0, help="inferences (or runs of a pipeline) at once; 0: as the device wants")
    parser.add_argument("--waiting", type=int, default=default.waiting, help="requests that may wait; further ones are refused")
    parser.add_argument("--timeout-s", type=float, default=default.timeout_s, help="time for a request")
    parser.add_argument("--body-bytes", type=int, default=default.body_bytes, help="size of a request")
    parser.add_argument("--connections", type=int, default=default.connections, help="connections (REST) and calls (gRPC) at once")
    parser.add_argument("--grace-s", type=float, default=default.grace_s, help="time for requests in flight after SIGTERM")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a property of the device; may be given several times")
    parser.add_argument("--source", help="for a pipeline: NODE.PARAMETER that takes the path of the medium")
    return parser


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """The command `python -m tenon.serve`."""
    parser = _arguments()
    given = parser.parse_args(arguments)
    config = {}
    for each in given.set:
        key, equals, value = each.partition("=")
        if not equals or not key:
            parser.error(f"--set {each}: KEY=VALUE is wanted")
        config[key] = value
    # kserve's own use of FastAPI, once for each process that serves.
    warnings.filterwarnings("ignore", message="ORJSONResponse is deprecated")
    try:
        _import_kserve()
        limits = Limits(given.batch, given.delay_ms / 1e3, given.waiting, given.timeout_s, given.body_bytes, given.connections, given.grace_s)
        runner = runner_for(given.model, given.device, config, batch=given.batch, requests=given.requests, source=given.source)
        token = os.environ.get("TENON_SERVE_TOKEN")
        if given.token_file:
            token = Path(given.token_file).read_text(encoding="utf-8").partition("\n")[0].strip()
        server = Server(runner, given.name or Path(given.model).stem, host=given.host, http_port=given.http_port,
                        grpc_port=None if given.grpc_port < 0 else given.grpc_port, limits=limits, token=token,
                        without_token=given.no_token)
        server.run()
    except (tn.Error, ImportError, OSError, ValueError) as error:
        print(f"tenon.serve: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
