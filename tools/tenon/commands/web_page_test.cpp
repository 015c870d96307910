// SPDX-License-Identifier: Apache-2.0
// tenon pipeline --web: the page of a pipeline that runs, what changes it, and clients that do not behave.
#include <gmock/gmock.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <tenon/core/fd.hpp>
#include <tenon/core/policy.hpp>

#include <tenon/tools/tenon/testing/tool.hpp>

namespace tenon::tool::testing {
namespace web_page_test {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

/// A pipeline that runs, until stop(), while the test talks to its server.
class WebPage : public ToolTest {
 protected:
  void SetUp() override {
    ToolTest::SetUp();
    write("p.json", R"({"nodes": [{"element": "test", "name": "camera", "parameters": {"frames": 20}},
                                  {"element": "identity"}, {"element": "null", "name": "end"}]})");
  }
  ~WebPage() override { stop(); }
  struct Close {
    void operator()(std::FILE* stream) const { ::pclose(stream); }
  };
  /// @param limits  Shell commands before the tool's.
  void start(const std::string& arguments, const std::string& limits = "") {
    const std::string line = "cd '" + folder.string() + "' && " + limits + "echo $$ && exec '" +
                             from_environment("TENON_TOOL") +
                             "' pipeline p.json --set camera.live=true --set camera.frames=0 -q " + arguments +
                             " 2>&1 >report.json </dev/null";
    process_.reset(::popen(line.c_str(), "r"));
    char number[32] = "", address[256] = "";
    if (!std::fgets(number, sizeof number, process_.get()) || !std::fgets(address, sizeof address, process_.get()))
      FAIL() << "it says nothing";
    id_ = static_cast<pid_t>(std::stol(number));
    url_ = address;
    url_.pop_back();
    port_ = std::stoi(url_.substr(url_.rfind(':') + 1));
    token_ = url_.substr(url_.find('?') + 1);
  }
  /// As by Ctrl-C; returns when the process has ended.
  void stop() {
    if (id_ > 0) ::kill(id_, SIGINT);
    id_ = 0;
    process_.reset();
  }

  UniqueFd connected() const {
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return socket;
  }
  /// The whole answer, headers and all.
  std::string get(const std::string& path, const std::string& host = "localhost") const {
    return answer_to("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n");
  }
  /// The answer to a request that may change something.
  std::string request(const std::string& method, const std::string& path, const std::string& body) const {
    return answer_to(method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
                     std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  std::string answer_to(const std::string& text) const {
    std::string answer;
    // A request that does not come in three seconds, as on a busy machine, has no answer.
    for (int i = 0; i < 5 && answer.empty(); ++i) {
      const UniqueFd socket = connected();
      for (std::size_t sent = 0; sent < text.size();) {
        const ssize_t size = ::send(socket.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
        if (size <= 0) break;  // It was answered before all was read.
        sent += static_cast<std::size_t>(size);
      }
      char part[4096];
      for (ssize_t size = 0; (size = ::recv(socket.get(), part, sizeof part, 0)) > 0;)
        answer.append(part, static_cast<std::size_t>(size));
    }
    return answer;
  }
  /// The page as it is when its scripts have run for a while.
  std::string seen_by_browser(const std::string& url) const {
    const std::string dom = file("dom.html");
    const std::string browser = "timeout 100 chromium --headless --no-sandbox --disable-gpu --user-data-dir='" +
                                file("browser") + "' --virtual-time-budget=4000 --dump-dom '" + url + "' >'" + dom +
                                "' 2>/dev/null";
    EXPECT_EQ(std::system(browser.c_str()), 0);
    return text_of(dom);
  }
  /// The state when the last node has got that many frames, which a busy machine may take its time for.
  json state_at(int frames) const {
    const auto end = Clock::now() + std::chrono::seconds(100);
    for (;;) {
      const json state = json::parse(body_of(get("/state.json?" + token_)));
      if (state.at("nodes").at(2).at("frames_in") >= frames || Clock::now() > end) return state;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  static std::string body_of(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }

  std::string url_, token_;
  int port_ = 0;
  pid_t id_ = 0;

 private:
  std::unique_ptr<std::FILE, Close> process_;
};

TEST_F(WebPage, SourcesAreAddedAndRemovedByHttp) {
  write(
      "p.json",
      R"({"more_sources": 2, "nodes": [{"element": "test", "name": "camera"}, {"element": "identity"}, {"element": "null", "name": "end"}]})");
  start("--web 0 --json");
  const auto sources = [&] { return json::parse(body_of(get("/sources.json?" + token_))); };
  const std::string second = R"({"element": "test", "name": "second", "parameters": {"live": true}, "like": "camera"})";
  EXPECT_THAT(request("POST", "/sources", second), HasSubstr("403 Forbidden")) << "without the token";
  EXPECT_THAT(request("POST", "/sources?token=wrong", second), HasSubstr("403 Forbidden"));
  const auto end = Clock::now() + std::chrono::seconds(60);
  // The page is there before the pipeline has started.
  const auto has_begun = [&] {
    const json all = sources();
    return !all.empty() && all[0].at("frames") >= 1;
  };
  while (!has_begun() && Clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const std::string added = request("POST", "/sources?" + token_, second);
  EXPECT_THAT(added, HasSubstr("201 Created"));
  EXPECT_EQ(json::parse(body_of(added)).at("stream"), 1);
  EXPECT_THAT(request("POST", "/sources?" + token_, second), HasSubstr("409 Conflict"));
  EXPECT_THAT(request("POST", "/sources?" + token_, "{nonsense"), HasSubstr("400 Bad Request"));
  EXPECT_THAT(request("POST", "/sources?" + token_, std::string(70000, ' ')), HasSubstr("413"));
  EXPECT_THAT(request("PUT", "/sources?" + token_, second), HasSubstr("405"));
  while (sources().at(1).at("frames") < 3 && Clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(sources().at(1).at("state"), "running");
  // A camera that is not there: its failure names no password, and the others go on.
  const std::string absent =
      R"({"element": "file", "name": "a b", "parameters": {"path": "rtsp://admin:s3cret@127.0.0.1:1/x"}})";
  EXPECT_THAT(request("POST", "/sources?" + token_, absent), HasSubstr("201 Created"));
  while (sources().at(2).at("state") != "failed" && Clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(sources().at(2).at("state"), "failed");
  const auto tells_failure = [&] { return get("/state.json?" + token_).find("***@127.0.0.1") != std::string::npos; };
  while (!tells_failure() && Clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(tells_failure());
  for (const char* page : {"/sources.json?", "/state.json?", "/metrics?", "/?"})
    EXPECT_THAT(get(page + token_), Not(HasSubstr("s3cret"))) << page;
  EXPECT_THAT(request("DELETE", "/sources/a%20b?" + token_, ""), HasSubstr("200 OK"));
  EXPECT_THAT(request("DELETE", "/sources/second?" + token_, ""), HasSubstr("{\"ended\":true}"));
  EXPECT_THAT(request("DELETE", "/sources/second?" + token_, ""), HasSubstr("404"));
  EXPECT_EQ(sources().size(), 1u);
  stop();
  EXPECT_THAT(text_of(file("report.json")), Not(HasSubstr("s3cret")));
}

TEST_F(WebPage, SourcesFollowTheFile) {
  const auto nodes = [](const std::string& sources, const std::string& names, const char* end = "end") {
    return R"({"nodes": [)" + sources + R"(, {"element": "identity", "from": [)" + names +
           R"(]}, {"element": "null", "name": ")" + end + "\"}]}";
  };
  const auto camera = [](const std::string& name) {
    return R"({"element": "test", "name": ")" + name + R"(", "parameters": {"live": true}})";
  };
  write("p.json", nodes(camera("camera"), R"("camera")"));
  start("--web 0 --json --follow");
  const auto names = [&] {
    std::vector<std::string> all;
    for (const json& one : json::parse(body_of(get("/sources.json?" + token_)))) all.push_back(one.at("name"));
    return all;
  };
  const auto become = [&](const std::vector<std::string>& wanted) {
    for (const auto end = Clock::now() + std::chrono::seconds(60); names() != wanted && Clock::now() < end;)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return names() == wanted;
  };
  EXPECT_TRUE(become({"camera"}));
  write("p.json", nodes(camera("camera") + "," + camera("gate"), R"("camera", "gate")"));
  EXPECT_TRUE(become({"camera", "gate"}));
  write("p.json", "{ half of a fi");
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_TRUE(become({"camera", "gate"})) << "a file that cannot be read changes nothing";
  write("p.json", nodes(camera("gate"), R"("gate")"));
  EXPECT_TRUE(become({"gate"}));
}

TEST_F(WebPage, ShowsTheStateAndPicturesWithTheToken) {
  start("--web 0 --json");
  EXPECT_THAT(url_, ::testing::StartsWith("http://127.0.0.1:"));
  EXPECT_THAT(get("/"), HasSubstr("403 Forbidden"));
  EXPECT_THAT(get("/state.json?token=wrong"), HasSubstr("403 Forbidden"));
  EXPECT_THAT(get("/?" + token_), HasSubstr("<title>tenon pipeline</title>"));
  EXPECT_THAT(get("/nowhere?" + token_), HasSubstr("404"));
  const json state = state_at(4);
  ASSERT_EQ(state.at("nodes").size(), 3u);
  EXPECT_GT(state.at("nodes").at(2).at("frames_in"), 3);
  EXPECT_EQ(body_of(get("/pictures.json?" + token_)), "[0]");
  EXPECT_THAT(body_of(get("/picture/0.jpg?" + token_)), ::testing::StartsWith("\xff\xd8"));
  EXPECT_THAT(get("/picture/7.jpg?" + token_), HasSubstr("no picture of this stream yet"));
  EXPECT_THAT(get("/metrics?" + token_), HasSubstr("tenon_element_frames_in_total{node=\"end\""));
}

TEST_F(WebPage, AnswersNoNameOfAnotherSite) {
  start("--web 0");
  const std::string page = "/?" + token_, port = ":" + std::to_string(port_);
  for (const char* own : {"localhost", "LOCALHOST", "127.0.0.1", "[::1]", "10.1.2.3"})
    EXPECT_THAT(get(page, own + port), HasSubstr("200 OK")) << own;
  EXPECT_THAT(get(page, ""), HasSubstr("200 OK"));
  for (const char* foreign : {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "[evil]"})
    EXPECT_THAT(get(page, foreign + port), HasSubstr("403 Forbidden")) << foreign;
}

TEST_F(WebPage, SlowClientsDoNotSlowThePipeline) {
  start("--web 0 --json");
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 30; ++i) silent.push_back(connected());
  for (int i = 0; i < 15; ++i) {
    const std::string request = "GET /?" + token_ + " HTTP/1.1\r\n";
    ::send(silent[static_cast<std::size_t>(i)].get(), request.data(), request.size(), MSG_NOSIGNAL);
  }
  EXPECT_GE(state_at(45).at("nodes").at(2).at("frames_in"), 45);
  stop();
  const json report = json::parse(text_of(folder / "report.json"));
  EXPECT_GE(report.at("nodes").at(2).at("frames_in"), 45);
}

TEST_F(WebPage, SlowSendersHoldNeitherThePageNorItsEnd) {
  start("--web 0 --json");
  std::vector<UniqueFd> slow;
  for (int i = 0; i < 40; ++i) slow.push_back(connected());
  std::atomic<bool> sends{true};
  std::thread sender([&] {
    while (sends) {
      for (const UniqueFd& one : slow) ::send(one.get(), "G", 1, MSG_NOSIGNAL);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  });
  const auto begin = Clock::now();
  EXPECT_THAT(get("/metrics?" + token_), HasSubstr("200 OK"));
  // Each is dropped when its time is over, though it goes on sending.
  char byte = 0;
  const timeval limit{60, 0};
  ::setsockopt(slow[0].get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  EXPECT_LE(::recv(slow[0].get(), &byte, 1, 0), 0);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(55));
  for (UniqueFd& one : slow) one = connected();
  const auto end = Clock::now();
  stop();
  EXPECT_LT(Clock::now() - end, std::chrono::seconds(30));
  sends = false;
  sender.join();
}

TEST_F(WebPage, ClientsTakeFewDescriptors) {
  start("--web 0", "ulimit -n 100 && ");
  std::vector<UniqueFd> clients;
  for (int i = 0; i < 300; ++i) clients.push_back(connected());
  EXPECT_THAT(get("/metrics?" + token_), HasSubstr("200 OK"));
  const fs::directory_iterator descriptors("/proc/" + std::to_string(id_) + "/fd");
  EXPECT_LT(std::distance(begin(descriptors), end(descriptors)), 60);
}

TEST_F(WebPage, MetricsNeedTheToken) {
  ::setenv("TENON_WEB_TOKEN", "mine", 1);
  start("--metrics 0");
  ::unsetenv("TENON_WEB_TOKEN");
  EXPECT_EQ(token_, "token=mine");
  EXPECT_THAT(get("/metrics?" + token_), HasSubstr("tenon_pipeline_seconds"));
  EXPECT_THAT(get("/metrics"), HasSubstr("403 Forbidden"));
  EXPECT_THAT(get("/metrics?" + token_, "evil.example"), HasSubstr("403 Forbidden"));
}

TEST_F(WebPage, APortThatIsTakenIsNamed) {
  start("--metrics 0");
  expect_one_message(tool("pipeline p.json --web " + std::to_string(port_)), "choose another, or 0 for any free port");
}

TEST_F(WebPage, ABrowserShowsIt) {
  if (std::system("command -v chromium >/dev/null") != 0) GTEST_SKIP() << "no chromium";
  start("--web 0 --json");
  state_at(4);  // A browser's time goes on while a busy machine gives none to the pipeline.
  const std::string page = seen_by_browser(url_);
  EXPECT_THAT(page, HasSubstr(">camera</text>"));
  EXPECT_THAT(page, HasSubstr(" fps</text>"));
  EXPECT_THAT(page, HasSubstr("<td>identity</td>"));
  EXPECT_THAT(page, HasSubstr("src=\"picture/0.jpg?token="));
  EXPECT_THAT(page, HasSubstr(">running<"));
}

TEST_F(WebPage, ABrowserShowsTheReport) {
  if (std::system("command -v chromium >/dev/null") != 0) GTEST_SKIP() << "no chromium";
  ASSERT_EQ(tool("pipeline p.json -q --report-html r.html").status, 0);
  const std::string page = seen_by_browser("file://" + file("r.html"));
  EXPECT_THAT(page, HasSubstr(">camera</text>"));
  EXPECT_THAT(page, HasSubstr("<td>identity</td>"));
  EXPECT_THAT(page, HasSubstr("src=\"data:image/jpeg;base64,/9j/"));
  EXPECT_THAT(page, HasSubstr(">ended<"));
}

}  // namespace web_page_test
}  // namespace tenon::tool::testing
