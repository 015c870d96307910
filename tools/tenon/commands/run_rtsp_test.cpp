// SPDX-License-Identifier: Apache-2.0
// tenon run on streams of this machine: rtsp by GStreamer's server, with and without loss, and MPEG-TS by UDP.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <tenon/frameworks/ffmpeg/video.hpp>

#include <tenon/tools/tenon/testing/tool.hpp>

namespace tenon::tool::testing {
namespace run_rtsp_test {

using nlohmann::json;

/// The server as a process of its own; ends with this object.
class Server {
 public:
  explicit Server(const std::string& folder, const std::string& media, const std::string& option = "")
      : port_file_(folder + ".port") {
    const std::string line = "'" + from_environment("TENON_RTSP_SERVER") + "' " + option + " '( " + media + " )' >'" +
                             port_file_ + "' 2>/dev/null";
    pipe_ = ::popen(line.c_str(), "we");  // The tool must not keep its input open.
    for (int i = 0; i < 1200 && text_of(port_file_).find('\n') == std::string::npos; ++i)
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
  /// One packet in twenty is left out.
  std::string lossy() const {
    return "filesrc location=" + model("demo.mp4") +
           " ! qtdemux ! rtph264pay pt=96 ! identity drop-probability=0.05 name=pay0";
  }
  std::string by_va() const { return "va-env -- '" + from_environment("TENON_TOOL") + "' "; }
  std::string line_by_udp(const Server& server) const {
    return "'rtspsrc protocols=udp location=" + server.url() + " ! rtph264depay ! h264parse ! vah264dec'";
  }
  /// The run goes on, in place, and reports the lost packets. Which ones are lost is random: where no key picture came whole in time, the
  /// run is made again.
  void expect_losses(const std::string& arguments) const {
    Outcome done = tool(arguments);
    for (int again = 0; again < 2 && done.err.find("no picture in time") != std::string::npos; ++again)
      done = tool(arguments);
    ASSERT_EQ(done.status, 0) << done.err << done.out;
    const json report = json::parse(text_of(file("r.json")));
    EXPECT_EQ(report["frames"], 60);
    EXPECT_EQ(report["bytes_copied_per_frame"], 0);
    EXPECT_GT(report["lost_packets"], 0);
    EXPECT_NE(done.out.find("packets of the stream did not arrive"), std::string::npos) << done.out;
    EXPECT_TRUE(report["ended_by"].is_null()) << report["ended_by"];
    for (const json& hop : report["hops"]) EXPECT_EQ(hop["proof"], "proved") << hop.dump(1);
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

/// A proxy that speaks TLS to its clients, with a certificate that was made for it: PORT of the server, CERTIFICATE.
constexpr const char* kTlsProxy = R"(
import socket, ssl, sys, threading
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[2])
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
def copy(source, target):
    try:
        while part := source.recv(65536):
            target.sendall(part)
    except OSError:
        pass
    finally:
        for each in (source, target):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
def serve(plain):
    try:
        client = context.wrap_socket(plain, server_side=True)
    except OSError:
        return
    server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    threading.Thread(target=copy, args=(client, server), daemon=True).start()
    copy(server, client)
def accept():
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
threading.Thread(target=accept, daemon=True).start()
sys.stdin.read()
)";

TEST_F(RunRtsp, TlsWithCredentialsThatAreNotShown) {
  write("proxy.py", kTlsProxy);
  const std::string certificate = file("certificate.pem");
  if (std::system(("openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout '" + certificate +
                   "' -out '" + certificate + ".part' 2>/dev/null && cat '" + certificate + ".part' >>'" + certificate +
                   "' && python3 -c 'import ssl'")
                      .c_str()) != 0)
    GTEST_SKIP() << "no openssl or no Python";
  const Server server(folder.string(), demo());
  const std::string url = server.url(), port = url.substr(url.rfind(':') + 1);
  const std::string line = "python3 '" + file("proxy.py") + "' " + std::to_string(std::atoi(port.c_str())) + " '" +
                           certificate + "' >'" + file("port") + "' 2>'" + file("proxy.err") + "'";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> proxy(::popen(line.c_str(), "we"), &::pclose);
  for (int i = 0; i < 1200 && text_of(file("port")).find('\n') == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const std::string secure =
      "rtsps://admin:s3cret@127.0.0.1:" + std::to_string(std::atoi(text_of(file("port")).c_str())) + "/clip";
  write("p.json", R"({"nodes": [{"element": "file", "parameters": {"path": ")" + secure +
                      R"("}}, {"element": "json", "parameters": {"path": "out.json", "origin": true}}]})");
  const Outcome done = tool("pipeline p.json --frames 5 --metrics m.txt");
  EXPECT_EQ(done.status, 0) << done.err << text_of(file("proxy.err"));
  const std::string found = text_of(file("out.json"));
  EXPECT_EQ(std::count(found.begin(), found.end(), '\n'), 5);
  for (const std::string& text : {done.out, done.err, found, text_of(file("m.txt"))})
    EXPECT_EQ(text.find("s3cret"), std::string::npos) << text;
}

TEST_F(RunRtsp, LinesHaveTheSendersClock) {
  if (std::system("gst-inspect-1.0 --exists rtpjpegpay") != 0) GTEST_SKIP() << "no rtpjpegpay";
  const Server server(
      folder.string(),
      "videotestsrc is-live=true ! video/x-raw,format=I420,width=64,height=48,framerate=25/1 ! jpegenc ! rtpjpegpay "
      "name=pay0 pt=26");
  write("clock.json",
        R"({"nodes": [{"element": "file", "name": "gate", "parameters": {"sender_time": true, "path": ")" +
            server.url() + R"("}}, {"element": "json", "parameters": {"path": "l.jsonl", "origin": true}}]})");
  const Outcome done = tool("pipeline clock.json -q --frames 250");
  ASSERT_EQ(done.status, 0) << done.err;
  std::istringstream lines(text_of(file("l.jsonl")));
  int with_clock = 0;
  for (std::string line; std::getline(lines, line);) {
    std::int64_t unix_ns = 0, ntp_ns = 0;
    const json parsed = json::parse(line);
    for (const json& each : parsed.at("metadata"))
      if (each.at("kind") == "reference_time") (each.at("clock") == "ntp" ? ntp_ns : unix_ns) = each.at("time_ns");
    EXPECT_NE(unix_ns, 0) << line;
    if (ntp_ns == 0) continue;  // The first report of the server comes later.
    ++with_clock;
    constexpr std::int64_t kSecond = 1'000'000'000, kFrom1900 = 2'208'988'800;
    EXPECT_LT(std::abs(ntp_ns - kFrom1900 * kSecond - unix_ns), 20 * kSecond) << line;
  }
  EXPECT_GT(with_clock, 0);
}

TEST_F(RunRtsp, AServerRecordsWhatAPipelineSends) {
  if (std::system("gst-inspect-1.0 --exists rtph264depay") != 0) GTEST_SKIP() << "no rtph264depay";
  const Server server(folder.string(),
                      "rtph264depay name=depay0 ! video/x-h264,stream-format=byte-stream ! filesink sync=false "
                      "async=false buffer-mode=unbuffered location=" +
                          file("got.h264"),
                      "--record");
  write("send.json",
        R"({"nodes": [{"element": "test", "parameters": {"frames": 90, "width": 160, "height": 120, "live": true}},
                      {"element": "stream", "parameters": {"url": ")" +
            server.url() + R"("}}]})");
  const Outcome done = tool("pipeline -q send.json");
  ASSERT_EQ(done.status, 0) << done.err;
  int frames = 0;
  for (int tries = 0; tries < 300 && frames < 60; ++tries) {  // The server may be behind the sender.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    frames = 0;
    try {
      for (const Frame& frame : ffmpeg::open(file("got.h264"))) {
        EXPECT_EQ(frame.info().width_px, 160u);
        ++frames;
      }
    } catch (const Error&) {  // It is not there yet, or ends within a picture.
    }
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

TEST_F(RunRtsp, StreamsComeByUdpToo) {
  const Server server(folder.string(), demo());
  Outcome done;
  for (int i = 0; i < 3; ++i) {  // On a busy machine a socket may be full before it is read: then packets are lost.
    done = tool(with_model(server.url()) + "--transport udp --zero-copy require --max-frames 20");
    if (done.status == 0 && done.out.find("did not arrive") == std::string::npos) break;
  }
  expect_in_place(done, "h264 -> pool(memfd) -> input stage -> CPU");
  EXPECT_EQ(done.out.find("did not arrive"), std::string::npos) << done.out;
}

TEST_F(RunRtsp, LostPacketsAreSaidAndTheRunGoesOn) {
  const Server server(folder.string(), lossy());
  expect_losses(with_model(server.url()) + "--transport udp --zero-copy require --max-frames 60");
}

TEST_F(RunRtsp, LostPacketsAreSaidAndTheRunGoesOnByVa) {
  if (!std::getenv("TENON_HAS_VA_DRIVER")) GTEST_SKIP() << "this build has no software VA-API driver";
  const Server server(folder.string(), lossy());
  const std::string rest = "--zero-copy require --max-frames 60 ";
  expect_losses(by_va() + with_model(server.url()) + "--decode va --transport udp " + rest);
  if (!std::getenv("TENON_HAS_GSTREAMER")) return;
  expect_losses(by_va() + with_model(line_by_udp(server)) + rest);
}

/// Over TCP no packet is missing on the way: the server has left it out, and only the decoder can tell.
TEST_F(RunRtsp, PacketsThatTheServerLeavesOutCostPicturesOnly) {
  const Server server(folder.string(), lossy());
  const Outcome done = tool(with_model(server.url()) + "--transport tcp --zero-copy require --max-frames 60");
  ASSERT_EQ(done.status, 0) << done.err << done.out;
  const json report = json::parse(text_of(file("r.json")));
  EXPECT_EQ(report["frames"], 60);
  EXPECT_GT(report["damaged_frames"], 0);
  EXPECT_NE(done.out.find("without some of their data"), std::string::npos) << done.out;
}

TEST_F(RunRtsp, AFileAStreamAndALaunchLineAreDecodedByVaForTheNpu) {
  for (const char* needed : {"TENON_HAS_VA_DRIVER", "TENON_HAS_SOFTWARE_NPU", "TENON_HAS_GSTREAMER"})
    if (!std::getenv(needed)) GTEST_SKIP() << needed << " is not set";
  const Server server(folder.string(), demo());
  const std::string inputs = "'" + model("demo.mp4") + "' " + server.url() + " 'filesrc location=" + model("demo.mp4") +
                             " ! qtdemux ! h264parse ! vah264dec' ";
  const Outcome done = tool(by_va() + "npu-env -- '" + from_environment("TENON_TOOL") + "' " + with_model(inputs) +
                            "--decode va --device NPU --zero-copy require --max-frames 20");
  ASSERT_EQ(done.status, 0) << done.err << done.out;
  const json report = json::parse(text_of(file("r.json")));
  EXPECT_EQ(report["frames"], 60);
  EXPECT_EQ(report["bytes_copied_per_frame"], 0);
  ASSERT_EQ(report["inputs"].size(), 3u);
  for (const json& input : report["inputs"]) {
    EXPECT_EQ(input["device"], "NPU");
    EXPECT_EQ(input["frames"], 20);
    EXPECT_EQ(input["hops"][0]["to"].get<std::string>().substr(0, 6), "vaapi(") << input["hops"][0].dump(1);
    for (const json& hop : input["hops"]) EXPECT_EQ(hop["proof"], "proved") << hop.dump(1);
  }
}

TEST_F(RunRtsp, AServerThatGoesAwayEndsTheRunWithTheReportOfWhatRan) {
  Outcome done;
  for (const int seconds : {4, 8, 16}) {  // On a busy machine nothing may have run by then.
    Server server(folder.string(), demo());
    std::thread ends([&] {
      std::this_thread::sleep_for(std::chrono::seconds(seconds));
      server.stop();
    });
    done = tool(with_model(server.url()) + "--timeout 3 --no-compare");
    ends.join();
    ASSERT_LT(done.status, 128) << done.err;
    if (fs::exists(file("r.json"))) break;
  }
  ASSERT_TRUE(fs::exists(file("r.json"))) << done.err;
  const json report = json::parse(text_of(file("r.json")));
  EXPECT_GT(report["frames"], 0);
  EXPECT_LT(report["frames"], 600);
}

/// A free port of this machine. It is free again at the end of the call.
int free_udp_port() {
  const int fd = ::socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  ::close(fd);
  return ntohs(address.sin_port);
}

TEST_F(ToolTest, TransportStreamsComeByUdp) {
  if (std::system("ffmpeg -version >/dev/null 2>&1") != 0) GTEST_SKIP() << "the program ffmpeg is not installed";
  const std::string url = "udp://127.0.0.1:" + std::to_string(free_udp_port());
  const std::string sender = "trap 'kill $!' EXIT ; timeout 60 ffmpeg -v error -re -stream_loop -1 -i '" +
                             model("demo.mp4") + "' -an -c copy -f mpegts '" + url + "?pkt_size=1316' </dev/null & ";
  const Outcome done =
      tool("run '" + url + "' --model '" + model("demo.onnx") + "' --zero-copy require --max-frames 20 --report r.json",
           sender);
  ASSERT_EQ(done.status, 0) << done.err << done.out;
  const json report = json::parse(text_of(file("r.json")));
  EXPECT_EQ(report["frames"], 20);
  EXPECT_EQ(report["bytes_copied_per_frame"], 0);
  for (const json& hop : report["hops"]) EXPECT_EQ(hop["proof"], "proved") << hop.dump(1);
  EXPECT_NE(done.out.find("cannot be played twice"), std::string::npos) << done.out;
}

TEST_F(RunRtsp, WhereNobodyServesIsSaid) {
  std::string url;
  {
    const Server gone(folder.string(), demo());
    url = gone.url();
  }
  expect_one_message(tool(with_model(url)), url);
}

}  // namespace run_rtsp_test
}  // namespace tenon::tool::testing
