# SPDX-License-Identifier: Apache-2.0
"""Failures on purpose and the trace of calls, seen by OpenVINO's plugin: what docs/guide/npu_without_an_npu.md promises."""
import fcntl
import json
import os
import tempfile

import client

INFER = """
    model = client.relu_model()
    compiled = core.compile_model(model, "NPU")
    request = compiled.create_infer_request()
    answer = []
    for value in (1, 2, 3):
        try:
            request.infer([np.full((1, 16), value, np.float32)])
            answer.append(float(request.get_output_tensor(0).data[0, 5]))
        except Exception as error:
            answer.append(str(error))
"""


class InstrumentTest(client.NpuTest):
    def trace(self, name, environment=None):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, name)
            answer = self.in_fresh_process(INFER, {"TENON_NPU_TRACE": path} | (environment or {}))
            with open(path, encoding="utf-8") as file:
                return answer, file.read()

    def test_the_trace_is_what_the_plugin_does(self):
        answer, text = self.trace("calls.json")
        self.assertEqual(answer, [1, 2, 3])
        events = json.loads(text)
        calls = [event for event in events if event.get("cat") == "call"]
        names = {event["name"] for event in calls}
        self.assertTrue(names >= {"zeContextCreate", "zeCommandQueueExecuteCommandLists", "pfnAppendGraphExecute", "zeMemAllocHost"}, names)
        self.assertTrue(names & {"pfnCreate2", "pfnCreate3"}, names)
        self.assertEqual({event["ph"] for event in events}, {"X", "M"})
        runs = [event for event in events if event.get("cat") == "command" and event["name"] == "graph"]
        self.assertEqual(len(runs), 3)
        submissions = [event for event in calls if event["name"] == "zeCommandQueueExecuteCommandLists"]
        lists = [event for event in events if event.get("cat") == "execution"]
        self.assertEqual(len(lists), len(submissions))
        for submission, execution in zip(submissions, lists):
            self.assertIn(execution["name"], submission["args"]["arguments"])
            self.assertGreaterEqual(execution["ts"] + execution["dur"], submission["ts"])
            self.assertEqual(execution["args"]["result"], "ZE_RESULT_SUCCESS")
        lanes = {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
        self.assertEqual({event["tid"] for event in lists}, set(lanes))

    def test_lines_say_the_same(self):
        _, text = self.trace("calls.txt")
        self.assertRegex(text, r"thread \d+: zeCommandQueueExecuteCommandLists\(queue#\d+, 1, 0x[0-9a-f]+, .*\) -> list#\d+ = ZE_RESULT_SUCCESS")
        self.assertEqual(len([line for line in text.splitlines() if ": graph() = ZE_RESULT_SUCCESS" in line]), 3)

    def test_an_inference_fails_on_purpose_and_the_next_does_not(self):
        _, text = self.trace("calls.json")
        executions = [event for event in json.loads(text) if event.get("cat") in ("execution", "command")]
        # Finds the second inference's list: the plugin creates some of its own before.
        number, graphs = 0, []
        for event in sorted(executions, key=lambda each: (each["ts"], each["cat"] == "command")):
            number += event["cat"] == "execution"
            if event["name"] == "graph":
                graphs.append(number)
        answer = self.in_fresh_process(INFER, {"TENON_NPU_FAIL": f"execution:{graphs[1]}=ZE_RESULT_ERROR_DEVICE_LOST"})
        self.assertEqual(answer[0], 1)
        self.assertIn("DEVICE_LOST", str(answer[1]))

    def test_a_compilation_fails_on_purpose(self):
        words = self.in_fresh_process(INFER, {"TENON_NPU_FAIL": "pfnCreate*=ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY"}, expect_failure=True)
        self.assertIn("ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY", words)

    def test_a_file_is_one_process_own(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "calls.json")
            with open(path, "w", encoding="utf-8") as held:
                fcntl.flock(held, fcntl.LOCK_EX)
                self.assertEqual(self.in_fresh_process(INFER, {"TENON_NPU_TRACE": path}), [1, 2, 3])
            self.assertIn("another process is tracing into it", self.output)
            self.assertEqual(os.path.getsize(path), 0)
            os.remove(path)
            self.in_fresh_process(INFER, {"TENON_NPU_TRACE": os.path.join(folder, "%p.json")})
            name, = os.listdir(folder)
            self.assertRegex(name, r"^\d+\.json$")
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                self.assertGreater(len(json.load(file)), 20)

    def test_a_hang_ends_with_a_reset(self):
        # The device hangs when the program asks for it, by the socket, and is reset after 300 ms.
        code = """
    import socket, time
    def say(command):
        with socket.socket(socket.AF_UNIX) as to:
            to.connect(os.environ["TENON_NPU_CONTROL"].replace("%p", str(os.getpid())))
            to.sendall((command + "\\n").encode())
            return to.makefile().readline().strip()
    compiled = core.compile_model(client.relu_model(), "NPU")
    request = compiled.create_infer_request()
    request.infer([np.full((1, 16), 1, np.float32)])
    answer = [say("fail execution:1=hang")]
    begin = time.monotonic()
    try:
        request.infer([np.full((1, 16), 2, np.float32)])
    except Exception as error:
        answer.append("DEVICE_LOST" in str(error))
    answer.append(time.monotonic() - begin)
    answer.append(say("status"))
    fresh = core.compile_model(client.relu_model(), "NPU").create_infer_request()
    fresh.infer([np.full((1, 16), 3, np.float32)])
    answer.append(float(fresh.get_output_tensor(0).data[0, 5]))
"""
        with tempfile.TemporaryDirectory() as folder:
            answer = self.in_fresh_process("    import os" + code, {"TENON_NPU_CONTROL": os.path.join(folder, "%p"), "TENON_NPU_RESET_MS": "300"})
        self.assertEqual(answer[:2], ["ok", True])
        self.assertGreaterEqual(answer[2], 0.28)
        self.assertLess(answer[2], 30)
        self.assertIn("ok: works, 1 resets", answer[3])
        self.assertEqual(answer[4], 3)

    def test_a_compiler_refuses_operations(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "refused")
            with open(path, "w", encoding="utf-8") as file:
                file.write("Relu  # as an old compiler\n")
            words = self.in_fresh_process(INFER, {"TENON_NPU_REFUSE": path}, expect_failure=True)
            self.assertIn("on purpose: TENON_NPU_REFUSE", words)

    def test_the_driver_is_as_old_as_it_says(self):
        code = "    answer = str(core.get_property('NPU', 'NPU_DRIVER_VERSION'))"
        self.assertEqual(self.in_fresh_process(code, {"TENON_NPU_DRIVER_VERSION": "1688"}), "1688")
        self.assertNotEqual(self.in_fresh_process(code), "1688")

    def test_numbers_of_hardware_overflow(self):
        code = """
    x = client.ops.parameter([1, 2], np.float32)
    squares = client.ops.multiply(x, x)
    model = client.ov.Model([client.ops.multiply(squares, np.float32(0.001))], [x])
    answer = [float(value) for value in core.compile_model(model, "NPU")([np.array([[300, 100]], np.float32)])[0][0]]
"""
        exact = self.in_fresh_process(code)
        self.assertAlmostEqual(exact[0], 90, places=3)
        rounded = self.in_fresh_process(code, {"TENON_NPU_NUMERICS": "f16"})
        self.assertEqual(rounded[0], float("inf"))
        self.assertAlmostEqual(rounded[1], 10, delta=0.01)
