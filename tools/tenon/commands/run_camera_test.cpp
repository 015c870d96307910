// SPDX-License-Identifier: Apache-2.0
// tenon run on the kernel's virtual cameras (vivid). The VM has such cameras; elsewhere the tests skip.
#include <tenon/tools/tenon/testing/tool.hpp>

#ifdef TENON_HAS_CAMERAS
#include <chrono>
#include <thread>

#include <tenon/frameworks/v4l2/testing/vivid.hpp>

namespace tenon::tool::testing {
namespace run_camera_test {

using nlohmann::json;

class RunCamera : public ToolTest {
 protected:
  void SetUp() override {
    ToolTest::SetUp();
    cameras = v4l2::test::vivid_paths();
    if (!cameras.empty()) return;
    ASSERT_EQ(std::getenv("TENON_EXPECT_VIVID"), nullptr) << "no device of the driver vivid";
    GTEST_SKIP() << "no device of the driver vivid: modprobe vivid, or ./dev test-vm";
  }
  Outcome run(const std::string& camera, const std::string& arguments) const {
    return tool("run " + camera + " --size 320x180 --fps 30 --timeout 60 --quiet --report r.json " + arguments);
  }
  /// Expects that no byte was copied from the camera to `device`, by the ledger and by proof.
  void expect_in_place(const std::string& camera, const std::string& device, const std::string& arguments,
                       const std::string& way) const {
    const Outcome done = run(camera, "--device " + device + " --zero-copy require " + arguments);
    ASSERT_EQ(done.status, 0) << done.err << done.out;
    EXPECT_NE(done.out.find(way), std::string::npos) << done.out;
    EXPECT_NE(done.out.find("copied 0 B/frame"), std::string::npos) << done.out;
    const json report = json::parse(text_of(file("r.json")));
    EXPECT_EQ(report["bytes_copied_per_frame"], 0);
    ASSERT_EQ(report["hops"].size(), 3u);
    for (const json& hop : report["hops"]) EXPECT_EQ(hop["proof"], "proved") << hop.dump(1);
    EXPECT_TRUE(report["forced_copy"].is_null()) << "a camera cannot be played twice";
  }

  std::vector<std::string> cameras;
};

TEST_F(RunCamera, TheCpuReadsWhereTheDriverWrote) {
  expect_in_place(cameras[0], "CPU", "--format nv12 --max-frames 8 -m '" + model("motion.xml") + "'",
                  "NV12 -> v4l2(mmap) -> input stage -> CPU");
}

TEST_F(RunCamera, TheNpuReadsWhereTheDriverWrote) {
  if (!std::getenv("TENON_HAS_SOFTWARE_NPU")) GTEST_SKIP() << "the software NPU was not built";
  expect_in_place(cameras[0], "NPU", "--format nv12 --max-frames 8 -m '" + model("motion.xml") + "'",
                  " -> input stage -> NPU");
}

TEST_F(RunCamera, PicturesOfSeveralBuffersAreReadInPlace) {
  expect_in_place(cameras[1], "CPU", "--format i444 --max-frames 4 -m '" + model("motion.xml") + "'",
                  "YM24 -> v4l2(mmap) -> input stage -> CPU");
}

TEST_F(RunCamera, AnUnpluggedCameraEndsTheRunWithTheReportOfWhatRan) {
  const v4l2::Device camera(cameras[0]);
  std::thread unplug([&] {
    // Buffers exist from the moment when the tool reads the camera: until then its format may be set.
    const auto give_up = Clock::now() + std::chrono::seconds(60);
    v4l2_format format = camera.format(camera.capture_type());
    while (v4l2::native::ioctl(camera.fd().get(), VIDIOC_S_FMT, &format) != EBUSY && Clock::now() < give_up) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      format = camera.format(camera.capture_type());
    }
    std::this_thread::sleep_for(std::chrono::seconds(3));
    camera.set("disconnect", 1);
  });
  const Outcome done = run(cameras[0], "--format nv12 -m '" + model("motion.xml") + "'");
  unplug.join();
  expect_one_message(done, "unplugged");
  const json report = json::parse(text_of(file("r.json")));
  EXPECT_GT(report["frames"].get<int>(), 0);
  EXPECT_EQ(report["bytes_copied_per_frame"], 0);
  EXPECT_NE(report["ended_by"].get<std::string>().find("unplugged"), std::string::npos);
}

TEST_F(RunCamera, WhatItCannotGiveIsRefused) {
  write("relu.onnx", proto::onnx_model("Relu", {1, 3, 64, 64}));
  expect_one_message(tool("run " + cameras[0] + " --size 33x44 -m relu.onnx"), "nearest");
  expect_one_message(run(cameras[0], "--requests 40 -m relu.onnx"), "at most 32 buffers");
}

TEST_F(ToolTest, ACamerasSettingsAreRefusedForAFile) {
  const std::string rest = "run '" + model("demo.mp4") + "' -m '" + model("demo.onnx") + "' ";
  expect_one_message(tool(rest + "--size 640x360"), "are for cameras");
  expect_one_message(tool(rest + "--format nv12"), "are for cameras");
  expect_one_message(tool(rest + "--size 640"), "1280x720");
  expect_one_message(tool(rest + "--format pink"), "nv12");
}

}  // namespace run_camera_test
}  // namespace tenon::tool::testing
#endif
