# SPDX-License-Identifier: Apache-2.0
"""tenon.serve as a program, by clients that others wrote: tritonclient over REST and gRPC, and plain sockets where a client is wrong."""
import importlib.util
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy
import pytest

import tenon as tn
from slow_fixtures import environment, root, tool  # noqa: F401

if not importlib.util.find_spec("kserve"):  # It cannot be imported beside tritonclient.grpc: both define the protocol's messages.
    pytest.skip("PyPI package kserve is missing", allow_module_level=True)
http = pytest.importorskip("tritonclient.http", reason="PyPI package tritonclient[http] is missing")
grpc = pytest.importorskip("tritonclient.grpc", reason="PyPI package tritonclient[grpc] is missing")


def doubled_model(shape=(-1, 3), kind="f32"):
    """y = x + x over rows."""
    x = tn.Parameter(kind, list(shape))
    x.output(0).set_names({"x"})
    y = tn.make_node("Add", [x, x], name="y")
    y.output(0).set_names({"y"})
    return tn.Model([y], [x], "doubled")


def summed_model():
    """y = the sum of the rows of x: it has no row for each."""
    x = tn.Parameter("f32", [-1, 3])
    x.output(0).set_names({"x"})
    y = tn.make_node("ReduceSum", [x, tn.Constant("i64", [1], [0])], {"keep_dims": False})
    y.output(0).set_names({"y"})
    return tn.Model([y], [x], "summed")


class Served:
    """python -m tenon.serve in a process of its own."""

    def __init__(self, environment, *arguments):
        self.process = subprocess.Popen([sys.executable, "-m", "tenon.serve", "--http-port", "0", "--grpc-port", "0", *map(str, arguments)],
                                        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.lines, self.ready = [], threading.Event()
        threading.Thread(target=self._read, daemon=True).start()
        assert self.ready.wait(120) and self.process.poll() is None, "".join(self.lines)
        found = re.search(r"(\S+) is ready: REST at http://(\S+?)/\S*, gRPC at (\S+)", "".join(self.lines))
        self.name, self.http, self.grpc = found.groups()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line)
            if "is ready" in line:
                self.ready.set()
        self.ready.set()

    def stop(self, how=signal.SIGTERM, timeout=30):
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(timeout)

    def get(self, path):
        with urllib.request.urlopen(f"http://{self.http}{path}", timeout=20) as answer:
            return answer.read().decode()

    def post(self, path, body, headers=None):
        """Status and body of the answer."""
        try:
            with urllib.request.urlopen(urllib.request.Request(f"http://{self.http}{path}", body, headers or {}), timeout=20) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def metric(self, name):
        found = re.search(rf"^{name}(?:{{[^}}]*}})? (\S+)$", self.get("/metrics"), re.M)
        return float(found.group(1)) if found else 0.0


@pytest.fixture
def serve(tmp_path, environment):
    started = []

    def start(model, *arguments):
        if isinstance(model, tn.Model):
            tn.save_model(model, tmp_path / "doubled.xml")
            model = tmp_path / "doubled.xml"
        started.append(Served(environment, model, *arguments))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.process.kill()
            each.process.wait()


def ask(client, module, array, name="doubled", **more):
    wanted = module.InferInput("x", list(array.shape), "FP32")
    wanted.set_data_from_numpy(array)
    return client.infer(name, [wanted], **more)


def test_both_protocols(serve):
    served = serve(doubled_model())
    x = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    rest, rpc = http.InferenceServerClient(served.http), grpc.InferenceServerClient(served.grpc)
    for client in (rest, rpc):
        assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("doubled")
    assert rest.get_model_metadata("doubled")["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 3]}]
    assert list(rpc.get_model_metadata("doubled").outputs[0].shape) == [-1, 3]
    assert (ask(rest, http, x).as_numpy("y") == 2 * x).all()
    assert (ask(rpc, grpc, x).as_numpy("y") == 2 * x).all()
    for binary_in in (True, False):
        for binary_out in (True, False):
            given = http.InferInput("x", [2, 3], "FP32")
            given.set_data_from_numpy(x, binary_data=binary_in)
            answer = rest.infer("doubled", [given], outputs=[http.InferRequestedOutput("y", binary_data=binary_out)], request_id="7")
            assert (answer.as_numpy("y") == 2 * x).all() and answer.get_response()["id"] == "7"
    assert ask(rpc, grpc, x[:0]).as_numpy("y").shape == (0, 3)
    assert "tenon_serve_batch_requests_count" in served.get("/metrics")
    assert served.stop() == 0


def test_binary_tensors_are_not_copied_into_the_request(serve):
    served = serve(doubled_model((-1, 1024)))
    x = numpy.ones((256, 1024), numpy.float32)
    rpc, rest = grpc.InferenceServerClient(served.grpc), http.InferenceServerClient(served.http)
    for _ in range(3):
        ask(rpc, grpc, x)
    assert served.metric("tenon_serve_copied_bytes_total") == 0
    # By REST the bytes begin behind JSON of any length: where that is a multiple of four bytes, nothing is copied.
    for pad in range(4):
        given = http.InferInput("x", [256, 1024], "FP32")
        given.set_data_from_numpy(x)
        body, length = http.InferenceServerClient.generate_request_body([given], request_id="a" * (pad + 1))
        before = served.metric("tenon_serve_copied_bytes_total")
        status, answer = served.post("/v2/models/doubled/infer", body, {"Inference-Header-Content-Length": str(length), "Content-Type": "application/octet-stream"})
        assert status == 200
        copied = served.metric("tenon_serve_copied_bytes_total") - before
        assert copied == (0 if length % 4 == 0 else x.nbytes), (length, copied)
    assert rest.is_server_live()


def test_requests_share_inferences(serve):
    served = serve(doubled_model(), "--batch", 16, "--delay-ms", 200)
    errors, answers = [], {}

    def work(i):
        try:
            with grpc.InferenceServerClient(served.grpc) as client:
                answers[i] = ask(client, grpc, numpy.full((1, 3), i, numpy.float32)).as_numpy("y")
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and all((answers[i] == 2 * i).all() for i in range(16))
    assert served.metric("tenon_serve_batch_requests_sum") == 16
    assert served.metric("tenon_serve_batch_requests_count") <= 4
    with pytest.raises(http.InferenceServerException, match="17 rows in one request; this server takes 16"):
        ask(http.InferenceServerClient(served.http), http, numpy.zeros((17, 3), numpy.float32))


def test_wrong_requests_are_told_what_is_wrong(serve):
    served = serve(doubled_model())
    rest, rpc = http.InferenceServerClient(served.http), grpc.InferenceServerClient(served.grpc)
    for client, module in ((rest, http), (rpc, grpc)):
        with pytest.raises(module.InferenceServerException, match=r"its shape is \[-1, 3\]"):
            ask(client, module, numpy.zeros((2, 4), numpy.float32))
        wrong = module.InferInput("x", [1, 3], "FP64")
        wrong.set_data_from_numpy(numpy.zeros((1, 3)))
        with pytest.raises(module.InferenceServerException, match="FP32, not FP64"):
            client.infer("doubled", [wrong])
        with pytest.raises(module.InferenceServerException, match="there is no input 'z'"):
            other = module.InferInput("z", [1, 3], "FP32")
            other.set_data_from_numpy(numpy.zeros((1, 3), numpy.float32))
            client.infer("doubled", [other])
        with pytest.raises(module.InferenceServerException, match="no output 'w'"):
            ask(client, module, numpy.zeros((1, 3), numpy.float32), outputs=[module.InferRequestedOutput("w")])
        with pytest.raises(module.InferenceServerException, match="nothing"):
            ask(client, module, numpy.zeros((1, 3), numpy.float32), name="nothing")
        with pytest.raises(module.InferenceServerException):
            client.unload_model("doubled")
        assert (ask(client, module, numpy.ones((1, 3), numpy.float32)).as_numpy("y") == 2).all()
    path, octets = "/v2/models/doubled/infer", {"Content-Type": "application/octet-stream"}
    for body, headers in ((b"", octets), (b"{", octets), (b"{}", octets), (b"[]", {"Content-Type": "application/json"}),
                          (b'{"inputs":[]}', octets), (b"x" * 9, {**octets, "Inference-Header-Content-Length": "-4"}),
                          (b"x" * 9, {**octets, "Inference-Header-Content-Length": "99"}),
                          (b'{"inputs":[{"name":"x","shape":[1,3],"datatype":"FP32","data":[1,2]}]}', {"Content-Type": "application/json"})):
        status, answer = served.post(path, body, headers)
        assert 400 <= status < 500, (body, status, answer)
        assert json.loads(answer)
    assert served.post("/v1/models/doubled:predict", b'{"instances":[[1,2,3]]}', {"Content-Type": "application/json"})[0] == 400
    assert (ask(rest, http, numpy.ones((1, 3), numpy.float32)).as_numpy("y") == 2).all()
    assert served.stop() == 0


def test_limits_of_size(serve):
    served = serve(doubled_model((-1, 1024)), "--body-bytes", 100000)
    x = numpy.zeros((64, 1024), numpy.float32)
    with pytest.raises(http.InferenceServerException, match="at most 100000 bytes"):
        ask(http.InferenceServerClient(served.http), http, x)
    with pytest.raises(grpc.InferenceServerException, match="larger than max|RESOURCE_EXHAUSTED"):
        ask(grpc.InferenceServerClient(served.grpc), grpc, x)
    host, port = served.http.rsplit(":", 1)
    with socket.create_connection((host, int(port)), 20) as chunks:  # A body whose size is not announced.
        chunks.sendall(b"POST /v2/models/doubled/infer HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(30):
            try:
                chunks.sendall(b"2000\r\n" + b"x" * 8192 + b"\r\n")
            except OSError:
                break
        assert b"413" in chunks.recv(100)
    assert ask(http.InferenceServerClient(served.http), http, x[:8]).as_numpy("y").shape == (8, 1024)


def test_limits_of_time_and_connections(serve):
    served = serve(doubled_model(), "--timeout-s", 1, "--connections", 8)
    host, port = served.http.rsplit(":", 1)
    begin = time.time()
    slow = [socket.create_connection((host, int(port)), 20) for _ in range(20)]
    for each in slow[:4]:
        each.sendall(b"POST /v2/models/doubled/infer HTTP/1.1\r\nContent-Le")
    for each in slow[4:6]:
        each.sendall(b"POST /v2/models/doubled/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
    status, answer = served.post("/v2/models/doubled/infer", b"{}")
    assert status == 503, "all connections are taken"
    time.sleep(2.5)
    for each in slow:  # Each was closed, or told what was missing.
        each.settimeout(10)
        received = b""
        while True:
            try:
                part = each.recv(4096)
            except ConnectionError:
                break
            if not part:
                break
            received += part
        assert not received or b"408" in received or b"503" in received, received
        each.close()
    assert time.time() - begin < 20
    assert served.post("/v2/models/doubled/infer", b"{}")[0] == 400, "and others are served again"


def test_it_answers_under_no_name_of_another_site(serve):
    served = serve(doubled_model())
    for path, body in (("/v2/models/doubled/infer", b"{}"), ("/metrics", None), ("/v2/health/live", None)):
        status, answer = served.post(path, body, {"Host": "evil.example"})
        assert status == 403 and b"another site" in answer, (path, status, answer)
        assert served.post(path, body, {"Origin": "http://evil.example"})[0] == 403
        assert served.post(path, body, {"Host": "localhost:1", "Origin": "http://localhost:3000"})[0] == (400 if body else 200)


def test_all_but_health_needs_the_token(serve, environment, tmp_path):
    (tmp_path / "token").write_text("a-long-secret\n")
    served = serve(doubled_model(), "--token-file", tmp_path / "token")
    x, header = numpy.ones((1, 3), numpy.float32), {"authorization": "Bearer a-long-secret"}
    for path in ("/metrics", "/v2/models/doubled", "/v2/models/doubled/ready", "/docs"):
        assert served.post(path, None)[0] == 401 and served.post(path, None, {"Authorization": "Bearer wrong"})[0] == 401, path
    assert served.post("/metrics", None, header)[0] == 200 and served.post("/v2/health/ready", None)[0] == 200
    rest, rpc = http.InferenceServerClient(served.http), grpc.InferenceServerClient(served.grpc)
    assert rest.is_server_ready() and rpc.is_server_ready()
    for client, module, says in ((rest, http, "401"), (rpc, grpc, "UNAUTHENTICATED")):
        with pytest.raises(module.InferenceServerException, match=f"token is needed|{says}"):
            ask(client, module, x)
        with pytest.raises(module.InferenceServerException, match=f"token is needed|{says}"):
            ask(client, module, x, headers={"authorization": "Bearer wrong"})
        assert (ask(client, module, x, headers=dict(header)).as_numpy("y") == 2).all()
    assert served.stop() == 0
    environment["TENON_SERVE_TOKEN"] = "of the environment is not letters"
    done = subprocess.run([sys.executable, "-m", "tenon.serve", str(tmp_path / "doubled.xml")], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "without blanks" in done.stderr


def test_it_ends_at_once_whatever_clients_do(serve):
    served = serve(doubled_model((-1, 1024)), "--connections", 40, "--grace-s", 4)
    host, port = served.http.rsplit(":", 1)

    def connect():
        return socket.create_connection((host, int(port)), 20)

    idle, heads, bodies, deaf = ([connect() for _ in range(5)] for _ in range(4))
    for each in heads:
        each.sendall(b"POST /v2/models/doubled/infer HTTP/1.1\r\nContent-Le")
    for each in bodies:
        each.sendall(b"POST /v2/models/doubled/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n{")
    time.sleep(0.5)
    begin = time.time()
    assert served.stop() == 0
    assert time.time() - begin < 3, "nothing was whole, so that nothing is finished"
    for each in bodies:
        each.settimeout(5)
        assert b"503" in each.recv(100)
    for each in (*idle, *heads, *bodies, *deaf):
        each.close()


def test_an_answer_that_is_not_read_does_not_hold_its_end(serve):
    served = serve(doubled_model((-1, 1024)), "--grace-s", 2)
    x = numpy.zeros((4096, 1024), numpy.float32)
    given = http.InferInput("x", list(x.shape), "FP32")
    given.set_data_from_numpy(x)
    body, length = http.InferenceServerClient.generate_request_body([given], outputs=[http.InferRequestedOutput("y", binary_data=True)])
    host, port = served.http.rsplit(":", 1)
    with socket.create_connection((host, int(port)), 20) as deaf:  # 16 MiB come back, more than sockets hold.
        deaf.sendall((f"POST /v2/models/doubled/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\nInference-Header-Content-Length: {length}\r\n"
                      "Content-Type: application/octet-stream\r\n\r\n").encode() + body)
        time.sleep(2)
        begin = time.time()
        assert served.stop() == 0
        assert time.time() - begin < 6


def test_what_is_in_flight_is_finished(serve, root):
    served = serve(root / "models/demo.onnx", "--requests", 1)
    x = numpy.random.default_rng(1).random((1, 3, 288, 512), numpy.float32)
    answers = []

    def work():
        with grpc.InferenceServerClient(served.grpc) as client:
            given = grpc.InferInput("image", [1, 3, 288, 512], "FP32")
            given.set_data_from_numpy(x)
            done = threading.Event()
            for _ in range(8):
                client.async_infer("demo", [given], lambda result, error: (answers.append(error or result.as_numpy("output")), done.set()))
            deadline = time.time() + 30
            while len(answers) < 8 and time.time() < deadline:
                time.sleep(0.01)

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.5)
    assert served.stop() == 0
    thread.join()
    expected = tn.compile_model(str(root / "models/demo.onnx"), "CPU")(x)[0]
    assert len(answers) == 8 and all(numpy.allclose(answer, expected, atol=1e-4) for answer in answers), answers


def test_control_c_ends_it(serve):
    assert serve(doubled_model()).stop(signal.SIGINT) == 0


def test_a_pipeline(serve, root, tool, tmp_path):
    (tmp_path / "find.json").write_text(json.dumps({"nodes": [
        {"element": "file", "name": "clip", "parameters": {"path": "none"}},
        {"element": "infer", "parameters": {"model": str(root / "models/demo.onnx")}}, {"element": "track"},
        {"element": "json", "parameters": {"path": "-"}}]}))
    served = serve(tmp_path / "find.json", "--source", "clip.path")
    subprocess.run(["ffmpeg", "-v", "error", "-i", str(root / "models/demo.mp4"), "-frames:v", "5", "-c:v", "libx264", str(tmp_path / "five.mp4")], check=True)
    for client, module in ((http.InferenceServerClient(served.http), http), (grpc.InferenceServerClient(served.grpc), grpc)):
        given = module.InferInput("media", [1], "BYTES")
        given.set_data_from_numpy(numpy.array([(tmp_path / "five.mp4").read_bytes()], object))
        lines = [json.loads(line) for line in client.infer("find", [given]).as_numpy("results")]
        assert len(lines) == 5 and all(any(each["kind"] == "detection" for each in line["metadata"]) for line in lines)
        given.set_data_from_numpy(numpy.array([b"no video"], object))
        with pytest.raises(module.InferenceServerException, match="the pipeline failed"):
            client.infer("find", [given])


def test_a_run_that_is_late_is_ended(serve, tmp_path, environment):
    slow = tmp_path / "slow_tool"
    slow.write_text(f"#!/bin/sh\necho $$ >> {tmp_path}/pids\nexec sleep 300\n")
    slow.chmod(0o755)
    (tmp_path / "find.json").write_text("{}")
    environment["TENON_TOOL"] = str(slow)
    served = serve(tmp_path / "find.json", "--source", "clip.path", "--timeout-s", 1, "--requests", 1)
    given = http.InferInput("media", [1], "BYTES")
    given.set_data_from_numpy(numpy.array([b"x"], object))
    for _ in range(2):
        with pytest.raises(http.InferenceServerException, match="no result within 1 s"):
            http.InferenceServerClient(served.http).infer("find", [given])
    assert served.metric("tenon_serve_refused_total") == 2
    time.sleep(0.3)
    pids = (tmp_path / "pids").read_text().split()
    assert len(pids) == 2 and not any(Path("/proc", pid).exists() for pid in pids)


def test_an_inference_that_is_late_leaves_its_request_to_the_next(serve, root):
    served = serve(root / "models/demo.onnx", "--requests", 1, "--timeout-s", 0.001)
    x = numpy.zeros((1, 3, 288, 512), numpy.float32)
    client = grpc.InferenceServerClient(served.grpc)
    given = grpc.InferInput("image", list(x.shape), "FP32")
    given.set_data_from_numpy(x)
    late = 0
    for _ in range(60):
        try:
            assert client.infer("demo", [given]).as_numpy("output").shape == (1, 3024, 9)
        except grpc.InferenceServerException as error:  # Nothing else, such as a request that is busy still.
            assert "DEADLINE_EXCEEDED" in str(error) and "no result within 0.001 s" in str(error)
            late += 1
    assert late > 5 and served.stop() == 0


@pytest.mark.parametrize("arguments, says", [
    (["missing.onnx"], "missing.onnx"),
    (["missing.json"], "there is no pipeline"),
    (["{model}", "--device", "TOASTER"], "TOASTER"),
    (["{model}", "--batch", "0"], "batch must be positive"),
    (["{model}", "--timeout-s", "0"], "timeout_s must be positive"),
    (["{model}", "--set", "NO_SUCH=1"], "NO_SUCH"),
    (["{model}", "--host", "203.0.113.1", "--no-token"], "cannot serve at 203.0.113.1"),
    (["{model}", "--host", "0.0.0.0"], "give a token (--token-file, TENON_SERVE_TOKEN), or say --no-token"),
    (["{summed}", "--batch", "4"], "first extent of 'y' is fixed"),
])
def test_wrong_starts(tmp_path, environment, arguments, says):
    tn.save_model(doubled_model(), tmp_path / "doubled.xml")
    tn.save_model(summed_model(), tmp_path / "summed.xml")
    done = subprocess.run([sys.executable, "-m", "tenon.serve", *[each.format(model=tmp_path / "doubled.xml", summed=tmp_path / "summed.xml") for each in arguments]],
                          env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and says in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_a_port_that_is_taken(serve, tmp_path, environment):
    served = serve(doubled_model())
    done = subprocess.run([sys.executable, "-m", "tenon.serve", str(tmp_path / "doubled.xml"), "--http-port", served.http.rsplit(":", 1)[1], "--grpc-port", "-1"],
                          env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "cannot serve at 127.0.0.1" in done.stderr and "Traceback" not in done.stderr
