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
