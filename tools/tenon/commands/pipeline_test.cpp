// SPDX-License-Identifier: Apache-2.0
// tenon elements and tenon pipeline, as a user calls them.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>

#include <tenon/elements/pipeline_schema.hpp>
#include <tenon/elements/registry.hpp>

#include <tenon/tools/tenon/testing/running.hpp>

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
    const Outcome refused = here("pipeline q.json -q " + options);
    SCOPED_TRACE(nodes.dump() + " " + options);
    expect_one_message(refused, "which is read");
    for (const auto& [path, bytes] : before) EXPECT_EQ(text_of(path) == bytes, true) << path << " was written over";
  };
  const auto node = [](const char* element, json parameters) {
    return json{{"element", element}, {"parameters", std::move(parameters)}};
  };
  const json end = {{"element", "null"}};
  // Every parameter that names a file to write, by the descriptions of the elements that need no other one.
  const std::vector<elements::Description> known = elements::known_elements();
  std::vector<std::pair<const elements::Description*, std::string>> writers;
  for (const elements::Description& element : known) {
    for (const elements::Parameter& parameter : element.parameters) {
      if (!std::holds_alternative<std::string>(parameter.default_value)) continue;
      try {
        const auto files = elements::element_files(element, {{parameter.name, "clips/clip.mp4"}}, {"x", nullptr, {0}});
        if (std::ranges::count(files.written, "clips/clip.mp4") != 0) writers.emplace_back(&element, parameter.name);
      } catch (const Error&) {  // Not a path, or others are needed.
      }
    }
  }
  EXPECT_GE(writers.size(), 3u);
  for (const Input& each : inputs) {
    const json source = node("file", {{"path", each.path}});
    for (const auto& [element, parameter] : writers) {
      json nodes = {source, node(element->name.c_str(), {{parameter, each.target}})};
      if (element->role != elements::Role::kSink) nodes.push_back(end);
      run(nodes, "");
    }
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

TEST_F(PipelineCommand, ResultsOnStandardOutputAreAlone) {
  const std::string begin =
      R"({"nodes": [{"element": "test", "parameters": {"frames": 3, "width": 64, "height": 48}}, )";
  for (const char* const end :
       {R"({"element": "json"}]})", R"({"element": "json", "parameters": {"path": "-"}}]})",
        R"({"element": "publish"}, {"element": "null"}]})",
        R"({"element": "publish", "parameters": {"path": "l.jsonl", "options": "path=-"}}, {"element": "null"}]})"}) {
    write("lines.json", begin + end);
    for (const char* const options : {"", "-q", "--json"}) {
      const Outcome done = tool(std::string("pipeline lines.json ") + options);
      ASSERT_EQ(done.status, 0) << done.err;
      std::istringstream lines(done.out);
      int count = 0;
      for (std::string line; std::getline(lines, line); ++count) EXPECT_TRUE(json::accept(line)) << end << ": " << line;
      EXPECT_EQ(count, 3) << end << options;
      EXPECT_THAT(done.err, HasSubstr("frames")) << "the report";
    }
  }
  // Lines in a file leave standard output to the report.
  write("lines.json", begin + R"({"element": "publish", "parameters": {"path": "l.jsonl"}}, {"element": "null"}]})");
  EXPECT_THAT(tool("pipeline lines.json").out, HasSubstr("copied/frame"));
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

TEST_F(PipelineCommand, SourcesComeFromAPlaylistAndAFolder) {
  fs::create_directories(folder / "clips");
  write_clip("first.mp4", 64, 48, 3);
  write_clip("clips/a.mp4", 64, 48, 5);
  write_clip("clips/b.mp4", 64, 48, 7);
  write("clips/c.mp4.part", "not yet");
  write("list.m3u", "#EXTM3U\n#EXTINF:-1, gate\nclips/a.mp4\n\nclips/b.mp4\nclips/absent.mp4\n");
  write("f.json", R"({"nodes": [{"element": "file", "name": "one", "parameters": {"path": "first.mp4"}},
                                {"element": "json", "name": "end", "parameters": {"path": "lines.jsonl"}}]})");
  constexpr int kFrames = 3 + 5 + 7;
  // It waits for more sources until it is stopped.
  const auto follow = [&](const std::string& from, const auto& is_enough) {
    Running tool(folder, "pipeline f.json --json --sources " + from + " >out 2>err </dev/null");
    EXPECT_TRUE(becomes(is_enough)) << from << text_of(file("err"));
    EXPECT_TRUE(tool.signalled(SIGINT, std::chrono::seconds(60))) << from;
    return text_of(file("err"));
  };
  for (const char* from : {"list.m3u", "clips"}) {
    const std::string told = follow(from, [&] {
      const std::string lines = text_of(file("lines.jsonl"));
      return std::count(lines.begin(), lines.end(), '\n') >= kFrames &&
             (from != std::string("list.m3u") || text_of(file("err")).find("absent.mp4") != std::string::npos);
    });
    EXPECT_EQ(json::parse(text_of(file("out"))).at("nodes").at(1).at("frames_in"), kFrames) << from << told;
    fs::remove(file("lines.jsonl"));
    if (std::string(from) == "list.m3u") {
      EXPECT_THAT(told, HasSubstr("added the source 'gate'"));
      EXPECT_THAT(told, HasSubstr("absent.mp4"));
    }
  }
  follow("no.m3u",
         [&] { return text_of(file("err")).find("the playlist \"no.m3u\" cannot be read") != std::string::npos; });
}

/// A file of the same name as one that runs, one that grows, and one that comes before it in a list: what runs goes on.
TEST_F(PipelineCommand, SourcesThatRunGoOnWhenOthersCome) {
  fs::create_directories(folder / "clips");
  write_clip("clips/b.mp4", 64, 48, 5);
  write_clip("b.avi", 64, 48, 5);
  write_clip("c.mp4", 64, 48, 5);
  write("list.m3u", "clips/b.mp4\n");
  write(
      "f.json",
      R"({"nodes": [{"element": "file", "name": "one", "parameters": {"path": "c.mp4", "loop": true, "realtime": true}}, {"element": "null", "name": "end"}]})");
  const auto list = [&](const std::string& text) {  // At once, as editors write.
    write("list.new", text);
    fs::rename(folder / "list.new", folder / "list.m3u");
  };
  for (const bool is_folder : {false, true}) {
    fs::remove(file("err"));
    Running tool(folder, std::string("pipeline f.json --json --sources ") + (is_folder ? "clips" : "list.m3u") +
                             " >out 2>err </dev/null");
    const auto added = [&](const std::string& name) {
      return becomes([&] { return text_of(file("err")).find("added the source '" + name + "'") != std::string::npos; });
    };
    ASSERT_TRUE(added("b")) << text_of(file("err"));
    if (is_folder) fs::copy_file(file("b.avi"), folder / "clips/b.avi");
    if (!is_folder) list("b.avi\nclips/b.mp4\n");
    EXPECT_TRUE(added("b-2")) << text_of(file("err"));
    if (is_folder) std::ofstream(file("clips/b.avi"), std::ios::app) << "more";
    if (is_folder) fs::copy_file(file("c.mp4"), folder / "clips/c.mp4");
    if (!is_folder) list("c.mp4\nb.avi\nclips/b.mp4\n");
    EXPECT_TRUE(added("c")) << text_of(file("err"));
    EXPECT_TRUE(tool.signalled(SIGINT, std::chrono::seconds(60)));
    EXPECT_THAT(text_of(file("err")), Not(HasSubstr("removed the source")));
  }
}

TEST_F(PipelineCommand, ALackOfRoomForSourcesIsToldOnce) {
  write_clip("a.mp4", 64, 48, 3);
  write("list.m3u", "a.mp4\na.mp4\na.mp4\n");
  write(
      "f.json",
      R"({"more_sources": 1, "nodes": [{"element": "file", "name": "one", "parameters": {"path": "a.mp4", "loop": true, "realtime": true}}, {"element": "null", "name": "end"}]})");
  const std::string text = "sources were added already";
  std::string told;
  std::size_t first = std::string::npos;
  for (const char* const seconds : {"4", "20"}) {  // On a busy machine nothing may be told by then.
    told = tool(std::string("pipeline f.json --json --duration ") + seconds + " --sources list.m3u").err;
    if ((first = told.find(text)) != std::string::npos) break;
  }
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

}  // namespace commands_pipeline_test
}  // namespace tenon::tool::testing
