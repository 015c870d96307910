// SPDX-License-Identifier: Apache-2.0
// tenon run on rtsp streams of a server on this machine (GStreamer's), by FFmpeg and by GStreamer.
#include <chrono>
#include <cstdio>
#include <thread>

#include <tenon/frameworks/ffmpeg/video.hpp>

#include <tenon/tools/tenon/testing/tool.hpp>

namespace tenon::tool::testing {
namespace {

using nlohmann::json;

/// The server as a process of its own; ends with this object.
class Server {
 public:
  explicit Server(const std::string& folder, const std::string& media, const std::string& option = "")
      : port_file_(folder + ".port") {
    const std::string line = "'" + from_environment("TENON_RTSP_SERVER") + "' " + option + " '( " + media + " )' >'" +
                             port_file_ + "' 2>/dev/null";
    pipe_ = ::popen(line.c_str(), "we");  // The tool must not keep its input open.
    for (int i = 0; i < 200 && text_of(port_file_).find('\n') == std::string::npos; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    port_ = std::atoi(text_of(port_file_).c_str());
    EXPECT_GT(port_, 0) << "the server does not start";
  }
  ~Server() {
    stop();
    fs::remove(port_file_);
  }
  void stop() {
    if (pipe_) ::pclose(pipe_);
    pipe_ = nullptr;
  }
  std::string url() const { return "rtsp://127.0.0.1:" + std::to_string(port_) + "/clip"; }

 private:
  std::string port_file_;
  std::FILE* pipe_ = nullptr;
  int port_ = 0;
};

class RunRtsp : public ToolTest {
 protected:
  void SetUp() override {
    ToolTest::SetUp();
    if (!std::getenv("TENON_RTSP_SERVER")) GTEST_SKIP() << "no server: libgstrtspserver-1.0-dev was missing at build";
    if (std::system("gst-inspect-1.0 --exists rtph264pay") != 0)
      GTEST_SKIP() << "no rtph264pay: gstreamer1.0-plugins-good is not installed";
  }
  std::string demo() const {
    return "filesrc location=" + model("demo.mp4") + " ! qtdemux ! rtph264pay name=pay0 pt=96";
  }
  std::string with_model(const std::string& inputs) const {
    return "run " + inputs + " --model '" + model("demo.onnx") + "' --report r.json ";
  }
  void expect_in_place(const Outcome& done, const std::string& way) const {
    ASSERT_EQ(done.status, 0) << done.err << done.out;
    EXPECT_NE(done.out.find(way), std::string::npos) << done.out;
    const json report = json::parse(text_of(file("r.json")));
    EXPECT_EQ(report["frames"], 20);
    EXPECT_EQ(report["bytes_copied_per_frame"], 0);
    for (const json& hop : report["hops"]) EXPECT_EQ(hop["proof"], "proved") << hop.dump(1);
  }
};

TEST_F(RunRtsp, StreamsAreDecodedWhereTheModelReads) {
  const Server server(folder.string(), demo());
  expect_in_place(tool(with_model(server.url()) + "--zero-copy require --max-frames 20"),
                  "h264 -> pool(memfd) -> input stage -> CPU");
}

TEST_F(RunRtsp, AServerRecordsWhatAPipelineSends) {
  if (std::system("gst-inspect-1.0 --exists rtph264depay") != 0) GTEST_SKIP() << "no rtph264depay";
  const Server server(folder.string(),
                      "rtph264depay name=depay0 ! video/x-h264,stream-format=byte-stream ! filesink sync=false "
                      "async=false location=" +
                          file("got.h264"),
                      "--record");
  write("send.json",
        R"({"nodes": [{"element": "test", "parameters": {"frames": 90, "width": 160, "height": 120, "live": true}},
                      {"element": "stream", "parameters": {"url": ")" +
            server.url() + R"("}}]})");
  const Outcome done = tool("pipeline -q send.json");
  ASSERT_EQ(done.status, 0) << done.err;
  int frames = 0;
  for (const Frame& frame : ffmpeg::open(file("got.h264"))) {
    EXPECT_EQ(frame.info().width_px, 160u);
    ++frames;
  }
  EXPECT_GE(frames, 60) << "of 90, of which a server may miss those before it listened and the last";
}

TEST_F(RunRtsp, StreamsAreDecodedByVa) {
  if (!std::getenv("TENON_HAS_VA_DRIVER")) GTEST_SKIP() << "this build has no software VA-API driver";
  const Server server(folder.string(), demo());
  const std::string self = "va-env -- '" + from_environment("TENON_TOOL") + "' ";
  expect_in_place(tool(self + with_model(server.url()) + "--decode va --zero-copy require --max-frames 20"),
                  "h264 -> vaapi(");
  if (!std::getenv("TENON_HAS_GSTREAMER")) return;
  const std::string line =
      "'rtspsrc protocols=tcp location=" + server.url() + " ! rtph264depay ! h264parse ! vah264dec'";
  expect_in_place(tool(self + with_model(line) + "--zero-copy require --max-frames 20"), "h264 -> vaapi(");
}

TEST_F(RunRtsp, AServerThatGoesAwayEndsTheRunWithTheReportOfWhatRan) {
  Server server(folder.string(), demo());
  std::thread ends([&] {
    std::this_thread::sleep_for(std::chrono::seconds(4));
    server.stop();
  });
  const Outcome done = tool(with_model(server.url()) + "--timeout 3 --no-compare");
  ends.join();
  ASSERT_LT(done.status, 128) << done.err;
  ASSERT_TRUE(fs::exists(file("r.json"))) << done.err;
  const json report = json::parse(text_of(file("r.json")));
  EXPECT_GT(report["frames"], 0);
  EXPECT_LT(report["frames"], 600);
}

TEST_F(RunRtsp, WhereNobodyServesIsSaid) {
  std::string url;
  {
    const Server gone(folder.string(), demo());
    url = gone.url();
  }
  expect_one_message(tool(with_model(url)), url);
}

}  // namespace
}  // namespace tenon::tool::testing
