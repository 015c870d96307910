# SPDX-License-Identifier: Apache-2.0
"""Bodies and tensors of the Open Inference Protocol, without a server; wrong ones above all."""
import json
import random
import struct

import numpy
import pytest

import tenon as tn
from tenon._open_inference import Port, array_from, by_name, datatype_of, split_body


def body_of(arrays, more=None):
    """A request with binary data, as clients write it."""
    inputs = [{"name": name, "datatype": "FP32", "shape": list(array.shape), "parameters": {"binary_data_size": array.nbytes}} for name, array in arrays.items()]
    head = json.dumps({"inputs": inputs, **(more or {})}).encode()
    return head + b"".join(array.tobytes() for array in arrays.values()), len(head)


def test_binary_data_stay_where_they_are():
    x, y = numpy.arange(6, dtype=numpy.float32).reshape(2, 3), numpy.ones((1, 4), numpy.float32)
    body, length = body_of({"x": x, "y": y})
    head, parts = split_body(body, length)
    assert [each["name"] for each in head["inputs"]] == ["x", "y"]
    begin = numpy.frombuffer(body, numpy.uint8).__array_interface__["data"][0]
    for array, part, offset in ((x, parts[0], length), (y, parts[1], length + x.nbytes)):
        found = array_from("a", "FP32", list(array.shape), raw=part)
        assert (found == array).all() and found.__array_interface__["data"][0] == begin + offset
        assert not found.flags.writeable


def test_json_alone():
    head, parts = split_body(b'{"inputs": [{"name": "x", "data": [1, 2]}]}', None)
    assert parts == [None] and head["inputs"][0]["data"] == [1, 2]


@pytest.mark.parametrize("body, length, says", [
    (b"", None, "not JSON"),
    (b"{", None, "not JSON"),
    (b"[1]", None, 'no list "inputs"'),
    (b'{"inputs": 3}', None, 'no list "inputs"'),
    (b'{"inputs": [3]}', None, '"name"'),
    (b'{"inputs": [{"name": 3}]}', None, '"name"'),
    (b'{"inputs": []}', 100, "100 bytes"),
    (b'{"inputs": []}', -1, "-1 bytes"),
    (b'{"inputs": []}xxx', 14, "3 bytes are left behind"),
    (b'{"inputs": [{"name": "x", "parameters": {"binary_data_size": 9}}]}abc', 66, "3 bytes are left in the body"),
    (b'{"inputs": [{"name": "x", "parameters": {"binary_data_size": -1}}]}', 67, "binary_data_size is -1"),
    (b'{"inputs": [{"name": "x", "parameters": {"binary_data_size": true}}]}', 69, "binary_data_size is True"),
    (b'{"inputs": [{"name": "x", "parameters": {"binary_data_size": "4"}}]}', 68, "binary_data_size is '4'"),
    (b"[" * 100000, None, "not JSON"),
    (b"\xff\xfe", None, "not JSON"),
])
def test_wrong_bodies(body, length, says):
    with pytest.raises(ValueError, match=says):
        split_body(body, length)


@pytest.mark.parametrize("datatype, shape, data, raw, says", [
    ("FP31", [1], [1], None, "FP31"),
    (None, [1], [1], None, "None"),
    (["FP32"], [1], [1], None, "not supported"),
    ("FP32", [2], [1], None, "1 values for shape"),
    ("FP32", [-1], [1], None, "numbers from 0 on"),
    ("FP32", "3", [1], None, "numbers from 0 on"),
    ("FP32", [True], [1], None, "numbers from 0 on"),
    ("FP32", [1.0], [1], None, "numbers from 0 on"),
    ("FP32", [2, 2], [[1, 2], [3]], None, "input 'x'"),
    ("FP32", [1], ["one"], None, "input 'x'"),
    ("FP32", [1], None, None, "no data"),
    ("INT8", [1], [300], None, "no INT8"),
    ("INT32", [1], [1.5], None, "no INT32"),
    ("UINT8", [1], [-1], None, "no UINT8"),
    ("FP32", [1], None, b"abc", "3 bytes for shape"),
    ("FP32", [1 << 62, 1 << 62], None, b"abcd", "4 bytes for shape"),
    ("BYTES", [1], None, b"\x05\0\0\0ab", "5 bytes is announced"),
    ("BYTES", [1], None, b"\x05\0", "left behind its strings"),
    ("BYTES", [2], None, b"\x01\0\0\0a", "1 strings for shape"),
    ("BYTES", [1], [3], None, "strings are wanted"),
    ("BYTES", [1], 3, None, "input 'x'"),
])
def test_wrong_tensors(datatype, shape, data, raw, says):
    with pytest.raises(ValueError, match=says):
        array_from("x", datatype, shape, data, raw)


def test_right_tensors():
    assert array_from("x", "FP32", [2, 2], [[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert array_from("x", "FP32", [2, 2], [1, 2, 3, 4]).tolist() == [[1, 2], [3, 4]]
    assert array_from("x", "UINT8", [2], [0, 255]).dtype == numpy.uint8
    assert array_from("x", "BOOL", [2], [True, False]).dtype == bool
    assert array_from("x", "FP32", [0, 3], []).shape == (0, 3)
    assert array_from("x", "BYTES", [2], ["a", "é"]).tolist() == [b"a", "é".encode()]
    assert array_from("x", "BYTES", [1, 2], raw=struct.pack("<I1sI0s", 1, b"a", 0, b"")).tolist() == [[b"a", b""]]


def test_random_bodies_are_right_or_refused():
    x = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    good, length = body_of({"x": x})
    chance = random.Random(7)
    for _ in range(3000):
        body = bytearray(good)
        for _ in range(chance.randrange(1, 6)):
            body[chance.randrange(length)] = chance.randrange(256)
        try:
            head, parts = split_body(bytes(body[:chance.randrange(len(body) + 1)]), chance.choice([length, None, length - 3]))
            for each, raw in zip(head["inputs"], parts):
                array_from(each["name"], each.get("datatype"), each.get("shape"), each.get("data"), raw)
        except ValueError:
            pass


def test_ports():
    ports = [Port("a", "FP32", [-1, 3]), Port("b", "INT64", [1])]
    a, b = numpy.zeros((5, 3), numpy.float32), numpy.zeros(1, numpy.int64)
    found = by_name(ports, [("b", "INT64", b), ("a", "FP32", a)])
    assert found["a"] is a and found["b"] is b
    for given, says in (([("a", "FP32", a)], "'b' is missing"), ([("c", "FP32", a)], "no input 'c'; there are: a, b"),
                        ([("a", "FP32", a), ("a", "FP32", a)], "given twice"), ([("a", "FP64", a)], "FP32, not FP64"),
                        ([("a", "FP32", a[:, :2])], r"\[-1, 3\]"), ([("a", "FP32", a[0])], r"\[-1, 3\]")):
        with pytest.raises(ValueError, match=says):
            by_name(ports, given)
    assert datatype_of(tn.Type.f32) == "FP32" and datatype_of(tn.Type.boolean) == "BOOL" and datatype_of(tn.Type.string) == "BYTES"
    with pytest.raises(ValueError, match="bf16"):
        datatype_of(tn.Type.bf16)
