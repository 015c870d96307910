# SPDX-License-Identifier: Apache-2.0
"""tenon.serve over kserve: its data plane with binary tensors that stay where they lie, and its servers with limits."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from concurrent import futures
from typing import Any, Optional

import numpy

from .serve import _import_kserve

kserve = _import_kserve()

import grpc  # noqa: E402
from grpc import StatusCode  # noqa: E402
from grpc_interceptor.exceptions import GrpcException  # noqa: E402
from kserve.errors import InvalidInput  # noqa: E402
from kserve.model_repository import ModelRepository  # noqa: E402
from kserve.protocol.dataplane import DataPlane  # noqa: E402
from kserve.protocol.grpc import grpc_predict_v2_pb2_grpc  # noqa: E402
from kserve.protocol.grpc.interceptors import ExceptionToStatusInterceptor  # noqa: E402
from kserve.protocol.grpc.servicer import InferenceServicer  # noqa: E402
from kserve.protocol.infer_type import InferInput, InferOutput, InferRequest, InferResponse, RequestedOutput  # noqa: E402
from kserve.protocol.model_repository_extension import ModelRepositoryExtension  # noqa: E402
from kserve.protocol.rest.server import RESTServer  # noqa: E402
from prometheus_client import Counter, Gauge, Histogram  # noqa: E402
from starlette.responses import JSONResponse  # noqa: E402
from uvicorn.protocols.http.auto import AutoHTTPProtocol  # noqa: E402

from . import errors  # noqa: E402
from ._guard import Guard  # noqa: E402
from ._batching import Batcher, Closed, Late, QueueFull  # noqa: E402
from ._open_inference import array_from, by_name, split_body  # noqa: E402

_BATCH_ROWS = Histogram("tenon_serve_batch_requests", "Requests in one inference", ["model"], buckets=(1, 2, 4, 8, 16, 32, 64, 128))
_WAITING = Gauge("tenon_serve_waiting", "Requests that wait for an inference", ["model"])
_REFUSED = Counter("tenon_serve_refused", "Requests refused or given up, by reason", ["model", "reason"])
_COPIED = Counter("tenon_serve_copied_bytes", "Bytes that the inferences copied, as the ledger booked them", ["model"])
_HTTP_STATUS = {StatusCode.RESOURCE_EXHAUSTED: 503, StatusCode.DEADLINE_EXCEEDED: 504, StatusCode.UNAVAILABLE: 503}


class ServedModel(kserve.Model):
    """A runner as a model of kserve."""

    def __init__(self, name: str, runner: Any, limits: Any):
        super().__init__(name)
        self._runner, self._limits = runner, limits
        copied = _COPIED.labels(name)
        executors = runner.executors(lambda count: copied.inc(count) if count else None)
        self._batcher = Batcher(executors, max_rows=limits.batch, delay_s=limits.delay_s, max_waiting=limits.waiting,
                                timeout_s=limits.timeout_s, observe=lambda jobs, _: _BATCH_ROWS.labels(name).observe(jobs))
        _WAITING.labels(name).set_function(lambda: self._batcher.waiting)
        self.ready = True

    def load(self) -> bool:
        """kserve calls it for a model that is not ready; one that stops must not become ready again."""
        return self.ready

    def get_input_types(self) -> list:
        return [port.described() for port in self._runner.inputs]

    def get_output_types(self) -> list:
        return [port.described() for port in self._runner.outputs]

    async def close(self, grace_s: float) -> None:
        await self._batcher.close(grace_s)

    def _arrays(self, request: InferRequest) -> dict:
        given = []
        for each in request.inputs:
            raw = each._raw_data
            given.append((each.name, each.datatype, array_from(each.name, each.datatype, list(each.shape), None if raw is not None else each.data, raw)))
        return by_name(self._runner.inputs, given)

    async def predict(self, payload: Any, headers: Optional[dict] = None, response_headers: Optional[dict] = None) -> InferResponse:
        if not isinstance(payload, InferRequest):
            raise InvalidInput("only version 2 of the protocol is served: POST /v2/models/NAME/infer")
        known = {port.name for port in self._runner.outputs}
        for each in payload.request_outputs or []:
            if each.name not in known:
                raise InvalidInput(f"there is no output {each.name!r}; there are: {', '.join(sorted(known))}")
        try:
            arrays = self._arrays(payload)
            rows = next(iter(arrays.values())).shape[0] if self._limits.batch > 1 else 0
            if rows and any(array.shape[0] != rows for array in arrays.values()):
                raise ValueError("the first extents of the inputs differ")
            if rows > self._limits.batch:
                raise ValueError(f"{rows} rows in one request; this server takes {self._limits.batch} at most")
            results = await self._batcher.infer(arrays, rows)
        except QueueFull as error:
            raise self._refused("full", StatusCode.RESOURCE_EXHAUSTED, error) from error
        except Late as error:
            raise self._refused("late", StatusCode.DEADLINE_EXCEEDED, error) from error
        except Closed as error:
            raise self._refused("stopping", StatusCode.UNAVAILABLE, error) from error
        except errors.DeadlineExceeded as error:
            raise self._refused("late", StatusCode.DEADLINE_EXCEEDED, error) from error
        except (ValueError, UnicodeDecodeError) as error:  # Tenon's InvalidArgument is one, too.
            raise InvalidInput(str(error)) from error
        wanted = {each.name for each in payload.request_outputs} if payload.request_outputs else known
        binary = bool(payload.use_binary_outputs) if payload.from_grpc else None
        outputs = [self._output(port, results[port.name], binary) for port in self._runner.outputs if port.name in wanted]
        return InferResponse(response_id=payload.id, model_name=self.name, infer_outputs=outputs, from_grpc=payload.from_grpc,
                             use_binary_outputs=payload.use_binary_outputs, requested_outputs=payload.request_outputs)

    def _refused(self, reason: str, status: StatusCode, error: Exception) -> GrpcException:
        _REFUSED.labels(self.name, reason).inc()
        return GrpcException(details=f"{self.name}: {error}", status_code=status)

    @staticmethod
    def _output(port: Any, array: numpy.ndarray, binary: Optional[bool]) -> InferOutput:
        """`binary`: for gRPC, which wants the data in its own form; by REST each output may ask for another."""
        made = InferOutput(port.name, list(array.shape), port.datatype, numpy.ascontiguousarray(array))
        if binary is not None:
            made.set_data_from_numpy(made.data, binary_data=binary)
        return made


class _DataPlane(DataPlane):
    """kserve's turns binary tensors into lists of Python numbers; here they stay in the body that came."""

    async def ready(self) -> bool:
        models = self.model_registry.get_models()
        return bool(models) and all([await model.healthy() for model in models.values()])

    def decode_inference_request(self, body: Any, headers: dict, model_name: str) -> InferRequest:
        if not isinstance(body, bytes):
            return super().decode_inference_request(body, headers, model_name)
        length = headers.get("inference-header-content-length")
        try:
            if length is not None and not length.isdecimal():
                raise ValueError(f"Inference-Header-Content-Length is no number: {length!r}")
            head, parts = split_body(body, None if length is None else int(length))
            inputs = []
            for each, raw in zip(head["inputs"], parts):
                datatype = each.get("datatype")
                if not isinstance(datatype, str):
                    raise ValueError(f"input {each['name']!r} has no datatype")
                made = InferInput(each["name"], each.get("shape"), datatype, each.get("data"), each.get("parameters"))
                made._raw_data = raw
                inputs.append(made)
            outputs = [RequestedOutput(each["name"], each.get("parameters")) for each in head.get("outputs") or []]
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise InvalidInput(str(error)) from error
        return InferRequest(model_name, inputs, request_id=head.get("id"), parameters=head.get("parameters"),
                            request_outputs=outputs or None)


class _Repository(ModelRepositoryExtension):
    """Clients cannot take the model away."""

    async def load(self, model_name: str) -> None:
        raise InvalidInput("this server serves one model, which is loaded")

    async def unload(self, model_name: str) -> None:
        raise InvalidInput("this server serves one model, which stays until the server ends")


def _parts_of(model: ServedModel) -> tuple:
    registry = ModelRepository()
    registry.update(model)
    plane = _DataPlane(model_registry=registry)
    return plane, _Repository(model_registry=registry)


class _Guarded:
    """REST requests that may not come in, and their answers."""

    def __init__(self, app: Any, guard: Guard):
        self._app, self._guard = app, guard

    async def __call__(self, scope: dict, receive: Any, send: Any) -> None:
        refusal = self._guard.refusal(scope["path"], scope["headers"]) if scope["type"] == "http" else None
        if refusal is None:
            return await self._app(scope, receive, send)
        headers = {"connection": "close", **({"www-authenticate": "Bearer"} if refusal[0] == 401 else {})}
        await JSONResponse({"error": refusal[1]}, refusal[0], headers=headers)(scope, receive, send)


class _Ends:
    """The waits for bodies of requests, which end when the server does."""

    def __init__(self) -> None:
        self._is_set, self._waits = False, set()

    def set(self) -> None:
        self._is_set = True
        for each in list(self._waits):
            each.cancel()

    async def next_of(self, receive: Any) -> Optional[dict]:
        """What receive() gives; None: the server ends."""
        if self._is_set:
            return None
        waiting = asyncio.ensure_future(receive())
        self._waits.add(waiting)
        try:
            return await waiting
        except asyncio.CancelledError:
            if self._is_set and waiting.cancelled():
                return None
            waiting.cancel()
            raise
        finally:
            self._waits.discard(waiting)


class _Limited:
    """REST requests that are too large, too slow or not whole when the server ends get an answer that says so."""

    def __init__(self, app: Any, limits: Any, ends: _Ends):
        self._app, self._limits, self._ends = app, limits, ends

    async def __call__(self, scope: dict, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        most, read, begun = self._limits.body_bytes, 0, False
        announced = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
        if announced.isdigit() and int(announced) > most:
            return await self._answer(413, f"a request has at most {most} bytes here, not {int(announced)}", scope, receive, send)

        too_large = ended = is_whole = False

        async def counted() -> dict:
            nonlocal read, too_large, ended, is_whole
            message = await receive() if is_whole else await self._ends.next_of(receive)
            ended = message is None
            if ended:
                return {"type": "http.disconnect"}
            read += len(message.get("body", b""))
            is_whole = is_whole or (message["type"] == "http.request" and not message.get("more_body"))
            if read <= most:
                return message
            too_large = True
            return {"type": "http.disconnect"}

        async def noted(message: dict) -> None:
            nonlocal begun
            if not too_large and not ended:  # Else what the application says of a body without an end is not sent.
                begun = True
                await send(message)

        try:
            # The batcher's own limit comes first where an inference is late; this one ends bodies that do not come.
            await asyncio.wait_for(self._app(scope, counted, noted), self._limits.timeout_s + 1)
        except asyncio.TimeoutError:
            if not begun:
                await self._answer(408, f"the request did not come within {self._limits.timeout_s:g} s", scope, receive, send)
        except Exception:
            if not too_large and not ended:
                raise
        if too_large and not begun:
            await self._answer(413, f"a request has at most {most} bytes here", scope, receive, send)
        elif ended and not begun:
            await self._answer(503, "the server ends, and the request was not whole", scope, receive, send)

    @staticmethod
    async def _answer(status: int, text: str, scope: dict, receive: Any, send: Any) -> None:
        await JSONResponse({"error": text}, status, headers={"connection": "close"})(scope, receive, send)


def _protocol(timeout_s: float) -> type:
    class Protocol(AutoHTTPProtocol):
        """Closes connections on which no whole head of a request comes in time."""

        _timer: Any = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self._is_idle():
                self._watch()

        def connection_lost(self, error: Any) -> None:
            if self._timer:
                self._timer.cancel()
            super().connection_lost(error)

        def _is_idle(self) -> bool:
            return self.cycle is None or self.cycle.response_complete

        def _watch(self) -> None:
            if self._timer is None:
                self._timer = self.loop.call_later(timeout_s, self._look)

        def _look(self) -> None:
            self._timer = None
            if self._is_idle():
                self.transport.close()

    return Protocol


async def _refusal(_: Any, error: GrpcException) -> JSONResponse:
    return JSONResponse({"error": error.details}, _HTTP_STATUS.get(error.status_code, 500))


class Rest:
    """kserve's REST server at one address."""

    def __init__(self, model: ServedModel, host: str, port: int, limits: Any, guard: Guard):
        from kserve.model_server import app

        plane, repository = _parts_of(model)
        self._server = RESTServer("kserve.model_server:app", plane, repository, port, grace_period=max(1, round(limits.grace_s)))
        config = self._server.config
        config.host, config.limit_concurrency, config.http = host, limits.connections, _protocol(limits.timeout_s)
        config.access_log, config.log_level = False, "warning"
        self._uvicorn = self._server._server
        self._uvicorn.capture_signals = contextlib.nullcontext  # The program's own handlers stay.
        self._socket = config_socket(host, port)
        self._ends = _Ends()
        app.add_middleware(_Limited, limits=limits, ends=self._ends)
        app.add_middleware(_Guarded, guard=guard)  # The outermost: what may not come in is not read.
        app.add_exception_handler(GrpcException, _refusal)

    async def serve(self) -> None:
        self._server.create_application()
        try:
            await self._uvicorn.serve(sockets=[self._socket])
        finally:
            self._socket.close()

    async def address(self, serving: asyncio.Task) -> str:
        """Waits until it serves."""
        while not self._uvicorn.started:
            if serving.done():
                serving.result()
                raise OSError("the REST server did not start")
            await asyncio.sleep(0.01)
        host, port = self._socket.getsockname()[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def stop(self) -> None:
        """Takes no new requests, and gives up those that have not come whole."""
        self._uvicorn.should_exit = True
        self._ends.set()

    def give_up(self) -> None:
        """Ends what is still in flight."""
        self._uvicorn.force_exit = True
        for each in list(self._uvicorn.server_state.connections):
            each.transport.abort()


def config_socket(host: str, port: int) -> socket.socket:
    """A socket that is bound. Errors: OSError that names the address."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        bound = socket.socket(family, kind, protocol)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind(address)
        except OSError:
            bound.close()
            raise
    except (OSError, OverflowError) as error:
        raise OSError(f"cannot serve at {host}:{port}: {error}") from error
    return bound


class _GuardedCalls(grpc.aio.ServerInterceptor):
    """Calls without the token end before they are read. Browsers make none, so names of hosts tell nothing here."""

    _OPEN = ("/inference.GRPCInferenceService/ServerLive", "/inference.GRPCInferenceService/ServerReady")

    def __init__(self, guard: Guard):
        self._guard = guard

    async def intercept_service(self, continuation: Any, details: Any) -> Any:
        given = next((value for key, value in details.invocation_metadata if key == "authorization"), "")
        if details.method in self._OPEN or self._guard.is_let_in(given.encode() if isinstance(given, str) else given):
            return await continuation(details)

        async def refuse(_: Any, context: Any) -> None:
            await context.abort(StatusCode.UNAUTHENTICATED, "a token is needed: the metadata authorization: Bearer TOKEN")

        return grpc.unary_unary_rpc_method_handler(refuse)


class Grpc:
    """kserve's gRPC service at one address."""

    def __init__(self, model: ServedModel, host: str, port: int, limits: Any, guard: Guard):
        plane, repository = _parts_of(model)
        self._server = grpc.aio.server(
            futures.ThreadPoolExecutor(max_workers=1), interceptors=(_GuardedCalls(guard), ExceptionToStatusInterceptor()), maximum_concurrent_rpcs=limits.connections,
            options=[("grpc.max_receive_message_length", limits.body_bytes), ("grpc.max_send_message_length", -1), ("grpc.so_reuseport", 0),
                     ("grpc.max_concurrent_streams", limits.connections), ("grpc.max_connection_idle_ms", max(60_000, round(limits.timeout_s * 10e3)))])
        grpc_predict_v2_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(InferenceServicer(plane, repository), self._server)
        self._host = f"[{host}]" if ":" in host else host
        try:
            self._port = self._server.add_insecure_port(f"{self._host}:{port}")
        except RuntimeError as error:
            raise OSError(f"cannot serve gRPC at {host}:{port}: {error}") from error

    async def start(self) -> str:
        await self._server.start()
        return f"{self._host}:{self._port}"

    async def stop(self, grace_s: float) -> None:
        await self._server.stop(grace_s)
