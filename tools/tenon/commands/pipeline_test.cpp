// SPDX-License-Identifier: Apache-2.0
// tenon elements and tenon pipeline, as a user calls them.
#include <gmock/gmock.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <thread>

#include <tenon/core/fd.hpp>
#include <tenon/core/policy.hpp>

#include <tenon/elements/pipeline_schema.hpp>
#include <tenon/elements/registry.hpp>

#include <tenon/tools/tenon/testing/tool.hpp>

namespace tenon::tool::testing {
namespace commands_pipeline_test {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class PipelineCommand : public ToolTest {
 protected:
  void SetUp() override {
    ToolTest::SetUp();
    write("p.json", R"({"nodes": [{"element": "test", "name": "camera", "parameters": {"frames": 20}},
                                  {"element": "identity", "queue": {"size": 2}}, {"element": "null", "name": "end"}]})");
  }
};

TEST_F(PipelineCommand, ElementsAreListedAndDocumented) {
  const Outcome all = tool("elements --json");
  ASSERT_EQ(all.status, 0) << all.err;
  bool found = false;
  const json list = json::parse(all.out);
  for (const json& element : list.at("elements")) found = found || element.at("name") == "identity";
  EXPECT_TRUE(found) << all.out;
  const json one = json::parse(tool("elements test --json").out);
  EXPECT_EQ(one.at("role"), "source");
  EXPECT_EQ(one.at("parameters").at(1), (json{{"name", "width"},
                                              {"about", "Width in pixels"},
                                              {"type", "integer"},
                                              {"default", 640},
                                              {"least", 2},
                                              {"most", 16384}}));
  const Outcome text = tool("elements test");
  EXPECT_THAT(text.out, HasSubstr("2 to 16384"));
  EXPECT_THAT(tool("elements").out, HasSubstr("Takes all frames and keeps none"));
  expect_one_message(tool("elements tset"), "did you mean 'test'?");
}

TEST_F(PipelineCommand, ModulesThatAreAbsentAreNamedWithTheReason) {
  write("modules/libtenon_elements_broken.so", "no library");
  const std::string path = "TENON_ELEMENT_PATH='" + file("modules") + "'";
  EXPECT_THAT(tool("elements", path).out, HasSubstr("absent: the elements of 'broken': "));
  EXPECT_EQ(json::parse(tool("elements --json", path).out).at("absent").at(0).at("module"), "broken");
}

TEST_F(PipelineCommand, TheSchemaThatTheBuildWritesIsTheTools) {
  const std::string published = text_of(from_environment("TENON_PIPELINE_SCHEMA"));
  EXPECT_EQ(published, tool("elements --schema").out);
  const json definitions = json::parse(published).at("$defs");
  const json list = json::parse(tool("elements --json").out);
  EXPECT_EQ(definitions.size(), list.at("elements").size());
  for (const json& element : list.at("elements"))
    EXPECT_TRUE(definitions.contains(element.at("name").get<std::string>())) << element.at("name");
}

/// Nothing that a pipeline reads may be lost, by whatever name an element or an option writes it.
TEST_F(PipelineCommand, WritesOverNothingThatItReads) {
  for (const char* name : {"clips", "pictures"}) fs::create_directories(folder / name);
  write_clip("clips/clip.mp4", 64, 48, 3);
  write_clip("clips/other.mp4", 64, 48, 3);
  for (const char* name : {"pictures/p1.png", "pictures/p2.png"}) write_clip(name, 32, 32, 1, "png", AV_PIX_FMT_RGB24);
  write("list.ffconcat", "ffconcat version 1.0\nfile 'clips/clip.mp4'\n");
  fs::copy_file(model("demo.onnx"), file("m.onnx"));
  fs::copy_file(model("colour.xml"), file("c.xml"));
  fs::copy_file(model("colour.bin"), file("c.bin"));
  write("labels.txt", "a\nb\n");
  fs::create_symlink(file("clips/clip.mp4"), folder / "link.mp4");
  fs::create_directory_symlink(file("clips"), folder / "elsewhere");
  fs::create_hard_link(file("clips/clip.mp4"), folder / "hard.mp4");

  std::map<std::string, std::string> before;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) before[entry.path().string()] = text_of(entry.path());

  struct Input {
    const char *path, *target;  ///< What the source reads, and a file of that.
  };
  const Input inputs[] = {{"clips/clip.mp4", "clips/clip.mp4"},
                          {"file:clips/clip.mp4", "clips/clip.mp4"},
                          {"link.mp4", "clips/clip.mp4"},
                          {"hard.mp4", "clips/clip.mp4"},
                          {"clips/clip.mp4", "link.mp4"},
                          {"clips/clip.mp4", "hard.mp4"},
                          {"clips/clip.mp4", "elsewhere/clip.mp4"},
                          {"clips/*.mp4", "clips/other.mp4"},
                          {"pictures", "pictures/p2.png"},
                          {"pictures/p%d.png", "pictures/p1.png"},
                          {"concat:clips/clip.mp4|clips/other.mp4", "clips/other.mp4"},
                          {"list.ffconcat", "clips/clip.mp4"},
                          {"clips/clip.mp4", "./clips/../clips/clip.mp4"}};
  const auto run = [&](json nodes, const std::string& options) {
    write("q.json", json{{"nodes", nodes}}.dump());
    before[file("q.json")] = text_of(file("q.json"));
    const Outcome refused = tool("pipeline q.json -q " + options);
    SCOPED_TRACE(nodes.dump() + " " + options);
    expect_one_message(refused, "which is read");
    for (const auto& [path, bytes] : before) EXPECT_EQ(text_of(path) == bytes, true) << path << " was written over";
  };
  const auto node = [](const char* element, json parameters) {
    return json{{"element", element}, {"parameters", std::move(parameters)}};
  };
  const json end = {{"element", "null"}};
  for (const Input& each : inputs) {
    const json source = node("file", {{"path", each.path}});
    run({source, node("json", {{"path", each.target}})}, "");
    run({source, node("publish", {{"path", each.target}}), end}, "");
    run({source, node("write", {{"path", each.target}})}, "");
  }
  const json source = node("file", {{"path", "clips/clip.mp4"}});
  run({source, node("json", {{"path", "clips/clip.mp4"}, {"append", true}})}, "");
  run({source, node("publish", {{"options", "path=clips/clip.mp4"}}), end}, "");
  run({node("file", {{"path", "pictures"}}), node("write", {{"path", "pictures/p%d.png"}})}, "");
  run({node("sound", {{"path", "clips/clip.mp4"}}), node("json", {{"path", "clips/clip.mp4"}})}, "");
  for (const char* option : {"--trace", "--report-html", "--metrics"})
    run({source, end}, std::string(option) + " elsewhere/clip.mp4");
  const json infer = node("infer", {{"model", "m.onnx"}, {"labels_file", "labels.txt"}});
  const json named = node("infer", {{"model", "c.xml"}});
  for (const char* target : {"m.onnx", "labels.txt", "q.json"}) {
    run({source, infer, node("json", {{"path", target}})}, "");
    run({source, infer, node("publish", {{"path", target}}), end}, "");
    for (const char* option : {"--trace", "--report-html", "--metrics"})
      run({source, infer, end}, std::string(option) + " " + target);
  }
  for (const char* target : {"c.xml", "c.bin"}) run({source, named, node("json", {{"path", target}})}, "");
}

TEST_F(PipelineCommand, TwoElementsDoNotWriteOneFile) {
  const auto with = [&](const std::string& parameters) {
    write("two.json", R"({"nodes": [{"element": "test", "name": "a", "parameters": {"frames": 2}},
        {"element": "json", "name": "x", "from": "a", "parameters": {)" +
                          parameters + R"(}},
        {"element": "json", "name": "y", "from": "a", "parameters": {)" +
                          parameters + "}}]}");
    return tool("pipeline two.json -q");
  };
  expect_one_message(with(R"("path": "out.jsonl")"), "are one file");
  EXPECT_EQ(with(R"("path": "out.jsonl", "append": true)").status, 0);
  EXPECT_EQ(with(R"("path": "/dev/null")").status, 0);
}

TEST_F(PipelineCommand, ElementsWithFilesSayWhichTheyAre) {
  for (const auto& element : elements::known_elements()) {
    for (const auto& parameter : element.parameters) {
      const bool names_a_file =
          parameter.name == "path" || parameter.name == "model" || parameter.name.ends_with("_file");
      EXPECT_TRUE(element.files || !names_a_file) << element.name << ", " << parameter.name;
    }
  }
}

TEST_F(PipelineCommand, RunsAndReports) {
  const Outcome done = tool("pipeline p.json --json --set camera.width=64 --set camera.frames=30");
  ASSERT_EQ(done.status, 0) << done.err;
  const json report = json::parse(done.out);
  EXPECT_EQ(report.at("streams"), 1);
  ASSERT_EQ(report.at("nodes").size(), 3u);
  EXPECT_EQ(report.at("nodes").at(0).at("to"), json::array({"identity"}));
  EXPECT_EQ(report.at("nodes").at(1).at("queue_size"), 2);
  EXPECT_EQ(report.at("nodes").at(2).at("frames_in"), 30);
  EXPECT_GT(report.at("nodes").at(2).at("latency_ms").at("p99"), 0.0);
  const Outcome text = tool("pipeline p.json --frames 7");
  ASSERT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("end       7"));
  EXPECT_THAT(text.out, HasSubstr("copied/frame"));
  EXPECT_THAT(left_behind(), ::testing::ElementsAre("p.json"));
}

TEST_F(PipelineCommand, WithoutATerminalTheViewIsPlainLines) {
  const Outcome done = tool("pipeline p.json --set camera.live=true --set camera.frames=0 --duration 2.5");
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("end "));
  EXPECT_THAT(done.out, HasSubstr(", queue 0/2)"));
  EXPECT_THAT(done.out, Not(HasSubstr("\x1b")));
}

TEST_F(PipelineCommand, ChecksWithoutRunning) {
  const Outcome plan = tool("pipeline p.json --check --json");
  ASSERT_EQ(plan.status, 0) << plan.err;
  EXPECT_EQ(json::parse(plan.out).at("nodes").at(1).at("own_thread"), true);
  EXPECT_THAT(tool("pipeline p.json --dot").out, HasSubstr("\"camera\" -> \"identity\""));
  expect_one_message(tool("pipeline p.json --check --set camera.widht=3"), "did you mean 'width'?");
}

TEST_F(PipelineCommand, ErrorsNameTheElementAndTheRemedy) {
  EXPECT_EQ(tool("pipeline p.json --set camera.width=1").status, 65);
  expect_one_message(tool("pipeline p.json --set camera.width=1"), "element 'camera' (test): parameter 'width' is '1'");
  expect_one_message(tool("pipeline p.json --set camra.width=8"), "did you mean 'camera'?");
  expect_one_message(tool("pipeline p.json --set width=8"), "NODE.PARAMETER=VALUE");
  EXPECT_EQ(tool("pipeline nothing.json").status, 66);
  write("bad.json", R"({"nodes": [{"elment": "test"}]})");
  expect_one_message(tool("pipeline bad.json"),
                     "bad.json: pipeline file: /nodes/0/elment: is not known; did you mean 'element'?");
  expect_one_message(tool("pipeline -"), "-: pipeline file: ");  // Standard input, which is empty.
  write("large.json", std::string(std::size_t{17} << 20, ' '));
  expect_one_message(tool("pipeline large.json"), "a pipeline file of more than 16 MiB is not read");
  write("open.json", R"({"nodes": [{"element": "test"}]})");
  expect_one_message(tool("pipeline open.json"), "end with a sink, for example 'null'");
}

TEST_F(PipelineCommand, WhatDoesNotFitIsAMistakeOfTheCaller) {
  write(
      "crop.json",
      R"({"nodes": [{"element": "test", "parameters": {"frames": 3}}, {"element": "convert", "parameters": {"crop_x": 5000}},
                      {"element": "null"}]})");
  const Outcome crop = tool("pipeline -q crop.json");
  expect_one_message(crop, "does not lie in a picture of 640x480");
  EXPECT_EQ(crop.status, 65);
  write("record.json", R"({"nodes": [{"element": "test", "parameters": {"frames": 3}},
                                     {"element": "record", "parameters": {"path": "{number}.mkv"}}]})");
  const Outcome record = tool("pipeline -q record.json");
  expect_one_message(record, "keep_s=10");
  EXPECT_EQ(record.status, 65);
}

TEST_F(PipelineCommand, AFailureIsThatOfTheElementThatRefuses) {
  write("refused.json",
        R"({"nodes": [{"element": "test", "name": "camera", "parameters": {"frames": 3}}, {"element": "identity"},
                           {"element": "infer", "name": "detector", "parameters": {"device": "TPU", "model": ")" +
            model("demo.onnx") + R"("}}, {"element": "null"}]})");
  const Outcome done = tool("pipeline -q refused.json");
  expect_one_message(done, "tenon: 'detector', stream 0: element 'detector' (infer): ");
  EXPECT_THAT(done.err, HasSubstr("TPU"));
  EXPECT_THAT(done.err, Not(HasSubstr("'camera'")));
}

TEST_F(PipelineCommand, WritesATraceAndMetrics) {
  const Outcome done = tool("pipeline p.json -q --trace t.json --metrics m.txt");
  ASSERT_EQ(done.status, 0) << done.err;
  std::size_t spans = 0;
  const json trace = json::parse(text_of(folder / "t.json"));
  for (const json& event : trace.at("traceEvents"))
    spans += event.contains("name") && event.at("name") == "camera" ? 1 : 0;
  EXPECT_GE(spans, 20u);
  const std::string metrics = text_of(folder / "m.txt");
  EXPECT_THAT(metrics, HasSubstr("tenon_element_frames_in_total{node=\"end\",element=\"null\"} 20\n"));
  EXPECT_THAT(metrics, HasSubstr("tenon_element_latency_seconds{node=\"end\",element=\"null\",quantile=\"0.99\"} "));
  expect_one_message(tool("pipeline p.json --metrics p.json"), "--metrics");
}

TEST_F(PipelineCommand, WhatAStopDropsIsAnError) {
  write_clip("a.mp4", 64, 48, 5);
  write(
      "slow.json",
      R"({"nodes": [{"element": "file", "parameters": {"path": "a.mp4", "loop": true, "realtime": true}}, {"element": "throttle", "parameters": {"fps": 0.05, "how": "wait"}}, {"element": "write", "parameters": {"path": "o.mp4"}}]})");
  const Outcome done = tool("pipeline slow.json -q --duration 1");
  EXPECT_NE(done.status, 0);
  EXPECT_THAT(done.err, HasSubstr("did not end within 10 s of the stop"));
  EXPECT_TRUE(fs::exists(file("o.mp4"))) << "the first frame was written";
}

TEST_F(PipelineCommand, TheExamplesRun) {
  for (const auto& entry : fs::directory_iterator(from_environment("TENON_SOURCE_DIR") + "/examples/pipelines")) {
    const std::string path = "'" + entry.path().string() + "'";
    EXPECT_EQ(tool("pipeline --check " + path).status, 0) << path;
    const Outcome done = tool("pipeline -q --frames 20 " + path);
    EXPECT_EQ(done.status, 0) << path << ": " << done.err;
  }
  EXPECT_THAT(text_of(folder / "results.jsonl"), HasSubstr("\"kind\":\"tensor\""));
  const Outcome tensors =
      tool("pipeline -q '" + from_environment("TENON_SOURCE_DIR") + "/examples/pipelines/tensors.json'");
  EXPECT_EQ(std::count(tensors.out.begin(), tensors.out.end(), '\n'), 10) << "only results go to standard output";
  EXPECT_THAT(tensors.err, HasSubstr("copied/frame"));
}

TEST_F(PipelineCommand, TheReportIsAPageOfOneFile) {
  const Outcome done = tool("pipeline p.json -q --report-html r.html");
  ASSERT_EQ(done.status, 0) << done.err;
  const std::string page = text_of(folder / "r.html");
  EXPECT_THAT(page, HasSubstr("const report = {state: {"));
  EXPECT_THAT(page, HasSubstr("\"0\":\"data:image/jpeg;base64,/9j/"));
  EXPECT_THAT(page, HasSubstr("\"frames_in\": 20"));
  EXPECT_THAT(page, Not(HasSubstr("tenon.preview"))) << "the tool's own sink is not the user's";
  for (const char* const outside : {"src=\"http", "href=\"http", "url(http", "@import"})
    EXPECT_THAT(page, Not(HasSubstr(outside)));
}

/// A pipeline that runs, until stop(), while the test talks to its server.
class WebPage : public PipelineCommand {
 protected:
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
    const UniqueFd socket = connected();
    const std::string request = "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n";
    EXPECT_EQ(::send(socket.get(), request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
    std::string answer;
    char part[4096];
    for (ssize_t size = 0; (size = ::recv(socket.get(), part, sizeof part, 0)) > 0;)
      answer.append(part, static_cast<std::size_t>(size));
    return answer;
  }
  /// The answer to a request that may change something.
  std::string request(const std::string& method, const std::string& path, const std::string& body) const {
    const UniqueFd socket = connected();
    const std::string text = method + " " + path +
                             " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) +
                             "\r\n\r\n" + body;
    for (std::size_t sent = 0; sent < text.size();) {
      const ssize_t size = ::send(socket.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (size <= 0) break;  // It was answered before all was read.
      sent += static_cast<std::size_t>(size);
    }
    std::string answer;
    char part[4096];
    for (ssize_t size = 0; (size = ::recv(socket.get(), part, sizeof part, 0)) > 0;)
      answer.append(part, static_cast<std::size_t>(size));
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

TEST_F(PipelineCommand, SourcesComeFromAPlaylistAndAFolder) {
  fs::create_directories(folder / "clips");
  write_clip("first.mp4", 64, 48, 3);
  write_clip("clips/a.mp4", 64, 48, 5);
  write_clip("clips/b.mp4", 64, 48, 7);
  write("clips/c.mp4.part", "not yet");
  write("list.m3u", "#EXTM3U\n#EXTINF:-1, gate\nclips/a.mp4\n\nclips/b.mp4\nclips/absent.mp4\n");
  write(
      "f.json",
      R"({"nodes": [{"element": "file", "name": "one", "parameters": {"path": "first.mp4"}}, {"element": "null", "name": "end"}]})");
  for (const char* from : {"list.m3u", "clips"}) {
    const Outcome done = tool(std::string("pipeline f.json --json --duration 5 --sources ") + from);
    const json report = json::parse(done.out);
    EXPECT_EQ(report.at("nodes").at(1).at("frames_in"), 3 + 5 + 7) << from << done.err;
    if (std::string(from) == "list.m3u") {
      EXPECT_THAT(done.err, HasSubstr("added the source 'gate'"));
      EXPECT_THAT(done.err, HasSubstr("absent.mp4"));
    }
  }
  EXPECT_THAT(tool("pipeline f.json --duration 3 -q --sources no.m3u").err,
              HasSubstr("the playlist \"no.m3u\" cannot be read"));
}

TEST_F(PipelineCommand, ALackOfRoomForSourcesIsToldOnce) {
  write_clip("a.mp4", 64, 48, 3);
  write("list.m3u", "a.mp4\na.mp4\na.mp4\n");
  write(
      "f.json",
      R"({"more_sources": 1, "nodes": [{"element": "file", "name": "one", "parameters": {"path": "a.mp4", "loop": true, "realtime": true}}, {"element": "null", "name": "end"}]})");
  const std::string told = tool("pipeline f.json --json --duration 4 --sources list.m3u").err;
  const std::string text = "sources were added already";
  const std::size_t first = told.find(text);
  ASSERT_NE(first, std::string::npos) << told;
  EXPECT_EQ(told.find(text, first + 1), std::string::npos) << told;
}

TEST_F(PipelineCommand, ShowsNoCredentials) {
  write(
      "secret.json",
      R"({"on_error": "end", "nodes": [{"element": "file", "name": "gate", "parameters": {"path": "rtsps://admin:s3cret@127.0.0.1:1/x"}},
      {"element": "null"}]})");
  for (const char* options : {"--check", "--check --json", "--dot", "", "--json -q", "--metrics m.txt"}) {
    const Outcome done = tool(std::string("pipeline secret.json ") + options);
    EXPECT_THAT(done.out + done.err, Not(HasSubstr("s3cret"))) << options;
  }
  EXPECT_THAT(tool("pipeline secret.json --dot").out, HasSubstr("rtsps://***@127.0.0.1:1/x"));
  EXPECT_THAT(text_of(file("m.txt")), Not(HasSubstr("s3cret")));
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

}  // namespace commands_pipeline_test
}  // namespace tenon::tool::testing
