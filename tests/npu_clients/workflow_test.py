# SPDX-License-Identifier: Apache-2.0
"""examples/npu_ci/workflow.yml, step by step, as a CI service would run it."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import yaml
except ImportError:
    yaml = None

ROOT = pathlib.Path(__file__).resolve().parents[2]


@unittest.skipIf(yaml is None, "PyYAML is not installed")
class Workflow(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "examples").symlink_to(ROOT / "examples")
        text = (ROOT / "examples/npu_ci/workflow.yml").read_text()
        self.job = yaml.safe_load(text)["jobs"]["without-an-npu"]

    def environment(self, step):
        environment = {name: text for name, text in os.environ.items() if not name.startswith(("TENON_NPU", "ZE_"))}
        environment.update({name: str(value) for name, value in {**self.job["env"], **step.get("env", {})}.items()})
        # The build and the Python of this test in the place of those of the service.
        environment["TENON"] = os.environ["TENON_TOOL"]
        environment["CLIENT"] = self.job["env"]["CLIENT"].replace("python3", sys.executable)
        return environment

    def run_step(self, step):
        return subprocess.run(["bash", "-e", "-o", "pipefail", "-c", step["run"]], cwd=self.folder, env=self.environment(step),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)

    def test_every_step_passes(self):
        steps = [step for step in self.job["steps"] if "run" in step]
        self.assertEqual(steps[0]["run"], "./dev build", "the build is that of this test")
        self.assertGreaterEqual(len(steps), 7)
        for step in steps[1:]:
            with self.subTest(step=step["name"]):
                done = self.run_step(step)
                self.assertEqual(done.returncode, 0, done.stdout)
        artifacts = self.job["steps"][-1]["with"]["path"].split()
        for name in artifacts:
            self.assertGreater((self.folder / name).stat().st_size, 0, name)
        events = json.loads((self.folder / "hang.json").read_text())
        events = events["traceEvents"] if isinstance(events, dict) else events
        self.assertTrue(any("zeCommandQueueExecuteCommandLists" in event.get("name", "") for event in events))
        self.assertIn("DEVICE_LOST", (self.folder / "lost.txt").read_text())

    def test_a_step_fails_where_the_program_does(self):
        step = {"run": "$TENON npu-env --fail 'execution:1+=ERROR_DEVICE_LOST' -- $CLIENT"}
        self.assertNotEqual(self.run_step(step).returncode, 0)


if __name__ == "__main__":
    unittest.main()
