// SPDX-License-Identifier: Apache-2.0
// The commands query, compile and convert, the profile and the trace: what they show of a model and of a run.
#include <algorithm>
#include <set>
#include <sstream>

#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>
#include <tenon/runtime/device/device_registry.hpp>
#include <tenon/runtime/testing/reference_device.hpp>

#include <tenon/tools/tenon/commands/commands.hpp>
#include <tenon/tools/tenon/show/models/graph_dot.hpp>
#include <tenon/tools/tenon/show/models/profile.hpp>
#include <tenon/tools/tenon/show/text/histogram.hpp>
#include <tenon/tools/tenon/testing/tool.hpp>

namespace tenon::tool::testing {
namespace seeing_test {

using nlohmann::json;
using Seeing = ToolTest;

TEST_F(Seeing, QuerySaysWhatRunsAndWhyNot) {
  const Outcome done = tool("query '" + model("demo.onnx") + "' -d CPU --json");
  ASSERT_EQ(done.status, 0) << done.err;
  const json all = json::parse(done.out);
  EXPECT_EQ(all.at("whole_model"), true);
  EXPECT_EQ(all.at("not_supported"), 0);
  ASSERT_GT(all.at("nodes").size(), 10u);
  for (const json& node : all.at("nodes")) {
    EXPECT_EQ(node.at("supported"), true) << node.dump();
    EXPECT_EQ(node.at("device"), "CPU");
  }
  std::size_t counted = 0;
  for (const json& type : all.at("types")) counted += type.at("supported").get<std::size_t>();
  EXPECT_EQ(counted, all.at("nodes").size());
  const Outcome text = tool("query '" + model("demo.onnx") + "' --all");
  EXPECT_NE(text.out.find("Convolution"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("CPU runs all"), std::string::npos) << text.out;
  EXPECT_EQ(tool("query '" + model("demo.onnx") + "'").out.find("why not"), std::string::npos) << "nothing is left out";
}

TEST_F(Seeing, QueryNamesTheNodeThatADeviceLacksAndWhy) {
  // The test device has a kernel for everything but Tanh.
  tenon::register_device(tenon::testing::reference_module());
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 4});
  const auto relu = make_node("Relu", 1, {x}, {}, "fine");
  const auto tanh = make_node("Tanh", 1, {relu}, {}, "lacking");
  serialize(Model(OutputVector{tanh}, ParameterVector{x}, "m"), folder / "m.xml");
  const std::string path = file("m.xml");
  const char* arguments[] = {"tenon", "query", path.c_str(), "-d", "REFERENCE", "--json"};
  ::testing::internal::CaptureStdout();
  ASSERT_EQ(tool::main(6, arguments), 0);
  const json all = json::parse(::testing::internal::GetCapturedStdout());
  EXPECT_EQ(all.at("whole_model"), false);
  EXPECT_EQ(all.at("not_supported"), 1);
  EXPECT_NE(all.at("device_says").get<std::string>().find("lacking"), std::string::npos) << all.dump(1);
  for (const json& node : all.at("nodes")) {
    EXPECT_EQ(node.at("supported"), node.at("name") != "lacking") << node.dump();
    if (node.at("name") == "lacking") {
      EXPECT_NE(node.at("reason").get<std::string>().find("REFERENCE has no kernel for Tanh"), std::string::npos);
    }
  }
  ::testing::internal::CaptureStdout();
  ASSERT_EQ(tool::main(5, arguments), 0);
  const std::string text = ::testing::internal::GetCapturedStdout();
  EXPECT_NE(text.find("lacking"), std::string::npos) << text;
  EXPECT_EQ(text.find("fine"), std::string::npos) << "only what is left out\n" << text;
  EXPECT_NE(text.find("REFERENCE runs 3 of 4 nodes"), std::string::npos) << text;
}

TEST_F(Seeing, PicturesReachModelsOfOpenExtentsAndWithoutABatch) {
  // Exporters leave batch, height and width open ("dynamic"), or the batch out; the proof of the way into the model has them, too.
  for (const PartialShape& input : {PartialShape{-1, 3, -1, -1}, PartialShape{1, 3, -1, -1}, PartialShape{3, 8, 16},
                                    PartialShape{3, -1, -1}, PartialShape{-1, -1, -1, 3}, PartialShape{1, 3, 8, 16}}) {
    const auto x = std::make_shared<op::v0::Parameter>(element::f32, input);
    const auto relu = make_node("Relu", 1, {x}, {}, "out");
    serialize(Model(OutputVector{relu}, ParameterVector{x}, "m"), folder / "m.xml");
    const Outcome done =
        tool("run '" + model("demo.mp4") + "' -m m.xml --fact input_size=8,16 --fact scale_values=255 " +
             "--max-frames 2 --no-compare --quiet --report r.json");
    ASSERT_EQ(done.status, 0) << input.to_string() << done.err;
    const json report = json::parse(text_of(file("r.json")));
    EXPECT_EQ(report["hops"].back()["proof"], "proved") << input.to_string() << report["hops"].back().dump(1);
  }
}

TEST_F(Seeing, QuerySaysWhatIsKnownAndFromWhere) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 3, 4, 4});
  const auto rows = op::v0::Constant::create(element::f32, Shape{1, 300, 6}, {0.0f});
  serialize(Model(OutputVector{rows}, ParameterVector{x}, "m"), folder / "m.xml");
  json known = json::parse(tool("query m.xml --json").out).at("known");
  EXPECT_EQ(known.at("facts").size(), 0u) << known.dump();
  const json fitting = known.at("fitting_decoders");
  EXPECT_NE(std::find(fitting.begin(), fitting.end(), "YOLOv10"), fitting.end()) << fitting.dump();
  EXPECT_NE(tool("query m.xml").out.find("does not say what its outputs mean; they fit"), std::string::npos);
  write("metadata.yaml", "task: detect\nstride: 32\nnames: {0: a cat, 1: dog}\n");
  write("m.json",
        R"({"json_schema_version": "2.0.0", "output_postproc": [{"converter": "yolo_v10", "labels": ["dog"]}]})");
  known = json::parse(tool("query m.xml --json --fact scale_values=2").out).at("known");
  EXPECT_EQ(known.at("labels"), json({"dog"}));
  EXPECT_EQ(known.at("decoder"), "YOLOv10");
  ASSERT_FALSE(known.at("remarks").empty());
  EXPECT_NE(known.at("remarks").dump().find("labels is 1 names"), std::string::npos) << known.dump(1);
  for (const json& fact : known.at("facts")) {
    const std::string source = fact.at("source");
    EXPECT_EQ(source == "option", fact.at("key") == "scale_values") << fact.dump();
    EXPECT_TRUE(source == "option" || source.ends_with("m.json")) << "a model-proc describes the model as a whole\n"
                                                                  << fact.dump();
  }
  known = json::parse(tool("query m.xml --json --side-file metadata.yaml").out).at("known");
  EXPECT_EQ(known.at("labels"), json({"a cat", "dog"}));
  EXPECT_EQ(known.at("decoder"), "YOLOv8");
  const Outcome text = tool("query m.xml --side-file metadata.yaml");
  EXPECT_NE(text.out.find("Ultralytics' predictor"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("note: model_type is YOLO in"), std::string::npos) << text.out;
  expect_one_message(tool("query m.xml --fact scale=2"), "scale_values");
  expect_one_message(tool("query m.xml --fact scale_values"), "KEY=VALUE");
  expect_one_message(tool("query m.xml --side-file m.xml"), "side file");
}

TEST_F(Seeing, QueryRefusesWithOneMessage) {
  expect_one_message(tool("query none.onnx"), "none.onnx");
  expect_one_message(tool("query '" + model("demo.onnx") + "' -d TPU"), "CPU");
  expect_one_message(tool("query '" + model("demo.onnx") + "' --shape 1,2"), "--shape");
  expect_one_message(tool("query '" + model("demo.onnx") + "' --set NUM_STREAMS"), "KEY=VALUE");
  write("unknown.onnx", proto::onnx_model("NoSuchOperation", {1, 4}));
  expect_one_message(tool("query unknown.onnx"), "NoSuchOperation");
}

TEST_F(Seeing, CompileListsPassesAndDrawsGraphs) {
  const Outcome done = tool("compile '" + model("demo.onnx") + "' --dump-graph graphs --json");
  ASSERT_EQ(done.status, 0) << done.err;
  const json all = json::parse(done.out);
  const json& passes = all.at("passes");
  ASSERT_GT(passes.size(), 2u) << done.out;
  EXPECT_EQ(passes[0].at("pass"), "input");
  std::set<std::string> written;
  for (const auto& entry : fs::directory_iterator(folder / "graphs")) written.insert(entry.path().filename().string());
  std::size_t changed = 0;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    const json& pass = passes[i];
    const std::string dot = pass.at("dot");
    EXPECT_EQ(!dot.empty(), i == 0 || pass.at("pass") == "input" || pass.at("changed") == true) << pass.dump();
    if (dot.empty()) continue;
    ++changed;
    EXPECT_TRUE(written.count(fs::path(dot).filename().string())) << dot;
    const std::string text = text_of(folder / dot);
    EXPECT_EQ(text.rfind("digraph", 0), 0u);
    if (can_draw()) {
      EXPECT_NE(text_of(folder / pass.at("svg").get<std::string>()).find("<svg"), std::string::npos) << pass.dump();
    }
  }
  EXPECT_GT(changed, 1u) << "the demo's model has something to fold";
  // The executed steps are listed, too.
  EXPECT_EQ(written.size(), can_draw() ? 2 * changed + 2 : changed + 1);
  const json& runtime = all.at("runtime");
  const std::string dot = runtime.at("dot");
  EXPECT_EQ(dot.substr(dot.size() - 12), "_runtime.dot");
  const std::string drawn = text_of(folder / dot);
  std::size_t convolutions = 0;
  for (const json& step : runtime.at("steps")) {
    const std::string name = step.at("name"), type = step.at("type"), kernel = step.at("kernel");
    EXPECT_NE(drawn.find("\\n" + name + "\\n"), std::string::npos) << step.dump();
    if (type != "Convolution") continue;
    ++convolutions;
    EXPECT_NE(drawn.find("Convolution\\n" + name + "\\n" + kernel + "\\n"), std::string::npos) << step.dump();
    EXPECT_GT(step.at("bytes_written"), 0);
    EXPECT_GT(step.at("weight_bytes"), 0);
    EXPECT_GT(step.at("multiply_adds"), 1000);
    EXPECT_FALSE(step.at("inputs").empty());
  }
  EXPECT_GT(convolutions, 30u);
  EXPECT_EQ(drawn.find("gold") != std::string::npos,
            std::any_of(runtime.at("steps").begin(), runtime.at("steps").end(),
                        [](const json& step) { return step.at("type") == "Reorder"; }));
  const Outcome text = tool("compile '" + model("demo.onnx") + "'");
  EXPECT_NE(text.out.find("fold_constants"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("CPU executes"), std::string::npos) << text.out;
  EXPECT_EQ(left_behind(), (std::vector<std::string>{"graphs"})) << "nothing is written unasked";
}

TEST_F(Seeing, CompileSaysWhyItDoesNotKnowWhatIsExecuted) {
  ASSERT_EQ(tool("convert '" + model("demo.onnx") + "' demo.xml").status, 0);
  const Outcome done = tool("compile demo.xml --shape '[?,3,288,512]' --dump-graph graphs");
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_NE(done.out.find("the steps that CPU executes are not known"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("infer once"), std::string::npos) << done.out;
  for (const auto& entry : fs::directory_iterator(folder / "graphs"))
    EXPECT_EQ(entry.path().string().find("runtime"), std::string::npos) << entry;
  const json all = json::parse(tool("compile demo.xml --shape '[?,3,288,512]' --json").out);
  EXPECT_NE(all.at("runtime").at("unknown").get<std::string>().find("infer once"), std::string::npos);
}

/// A dot that cannot draw, for example because it lacks its plugins, counts as absent.
TEST_F(Seeing, ADotThatCannotDrawCountsAsNone) {
  write("bin/dot", "#!/bin/sh\nexit 1\n");
  fs::permissions(folder / "bin/dot", fs::perms::owner_all);
  const Outcome done =
      tool("compile '" + model("demo.onnx") + "' --dump-graph graphs", "PATH='" + file("bin") + "':$PATH");
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_NE((done.out + done.err).find("dot is not installed, or cannot write SVG"), std::string::npos)
      << done.out << done.err;
  for (const auto& entry : fs::directory_iterator(folder / "graphs"))
    EXPECT_EQ(entry.path().extension(), ".dot") << entry;
}

TEST_F(Seeing, CompileSaysWhyNoBlobIsWritten) {
  const Outcome done = tool("compile '" + model("demo.onnx") + "' -o blob");
  // A device without a blob format says so and leaves nothing; one with a format writes a file.
  if (done.status == 0) {
    EXPECT_GT(fs::file_size(folder / "blob"), 1000u);
  } else {
    expect_one_message(done, "export");
    EXPECT_TRUE(left_behind().empty());
  }
  expect_one_message(tool("compile '" + model("demo.onnx") + "' -o none/blob"), "none");
  write("taken", "a file");
  expect_one_message(tool("compile '" + model("demo.onnx") + "' --dump-graph taken"), "--dump-graph");
}

TEST_F(Seeing, ConvertWritesWhatRunsAlike) {
  const Outcome done = tool("convert '" + model("demo.onnx") + "' demo.xml --json");
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(left_behind(), (std::vector<std::string>{"demo.bin", "demo.xml"}));
  const double full = json::parse(done.out).at("bin_bytes");
  EXPECT_EQ(tool("bench -m demo.xml --seconds 0.2 --json").status, 0);
  const Outcome half = tool("convert '" + model("demo.onnx") + "' half.xml --compress-to-fp16 --json");
  ASSERT_EQ(half.status, 0) << half.err;
  const json compressed = json::parse(half.out);
  EXPECT_LT(compressed.at("bin_bytes").get<double>(), 0.55 * full);
  EXPECT_GT(compressed.at("compressed").at("constants"), 5);
  EXPECT_LE(compressed.at("compressed").at("largest_relative_error").get<double>(), 1.0 / 2048);
  // The rounded model finds the same objects.
  const std::string truth =
      " --ground-truth '" + model("demo.json") + "' --max-frames 60 --no-compare -q --report r.json";
  ASSERT_EQ(tool("run '" + model("demo.mp4") + "' -m half.xml" + truth).status, 0);
  const double rounded = json::parse(text_of(file("r.json"))).at("map50");
  ASSERT_EQ(run_demo(truth.substr(1)).status, 0);
  EXPECT_NEAR(json::parse(text_of(file("r.json"))).at("map50").get<double>(), rounded, 0.01);
}

TEST_F(Seeing, ConvertReshapes) {
  write("relu.onnx", proto::onnx_model("Relu", {1, 4}));
  const Outcome done = tool("convert relu.onnx wide.xml --shape 'x[2..8,4]' --json");
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(json::parse(done.out).at("inputs"), "x f32 [2..8,4]");
  EXPECT_EQ(tool("convert wide.xml narrow.xml --shape '[3,4]'").status, 0);
  EXPECT_NE(tool("query narrow.xml --all").out.find("[3,4]"), std::string::npos);
}

TEST_F(Seeing, ConvertRefusesWithOneMessage) {
  write("relu.onnx", proto::onnx_model("Relu", {1, 4}));
  expect_one_message(tool("convert relu.onnx out.onnx"), ".xml");
  expect_one_message(tool("convert none.onnx out.xml"), "none.onnx");
  expect_one_message(tool("convert relu.onnx none/out.xml"), "none");
  expect_one_message(tool("convert relu.onnx out.xml --shape 'nope[1,4]'"), "nope");
  ASSERT_EQ(tool("convert relu.onnx out.xml").status, 0);
  expect_one_message(tool("convert out.xml out.xml"), "one file");
  EXPECT_EQ(left_behind(), (std::vector<std::string>{"out.bin", "out.xml", "relu.onnx"}));
}

TEST_F(Seeing, BenchProfilesEachOperation) {
  const Outcome done =
      tool("bench -m '" + model("demo.onnx") + "' --hint latency --seconds 0.3 --profile --trace t.json --json");
  ASSERT_EQ(done.status, 0) << done.err;
  const json all = json::parse(done.out), profile = all.at("profile");
  EXPECT_GT(profile.at("inferences"), 5);
  ASSERT_GT(profile.at("nodes").size(), 5u);
  double sum = 0, types = 0, before = 1e300;
  bool convolution = false;
  for (const json& node : profile.at("nodes")) {
    const double us = node.at("us");
    EXPECT_LE(us, before) << "slowest first";
    before = us;
    sum += us;
    convolution = convolution || node.at("type") == "Convolution";
  }
  for (const json& type : profile.at("operations")) types += type.at("us").get<double>();
  EXPECT_TRUE(convolution);
  EXPECT_NEAR(sum, profile.at("sum_us").get<double>(), 1e-3 * sum);
  EXPECT_NEAR(types, sum, 1e-3 * sum);
  // Nodes together take about as long as an inference, so both figures are real.
  const double p50_us = 1000 * all.at("latency_ms").at("p50").get<double>();
  EXPECT_GT(sum, 0.2 * p50_us);
  EXPECT_LT(sum, 5 * p50_us);
  std::size_t counted = 0;
  for (const json& band : all.at("histogram")) counted += band.at("count").get<std::size_t>();
  EXPECT_EQ(counted, all.at("inferences").get<std::size_t>());
  EXPECT_GE(all.at("latency_ms").at("p99.9"), all.at("latency_ms").at("p99"));

  // The trace: nodes lie within their inference, on its thread.
  const json events = json::parse(text_of(file("t.json"))).at("traceEvents");
  std::size_t inferences = 0, nodes = 0, outside = 0;
  for (const json& event : events) inferences += event.at("name") == "inference";
  for (const json& event : events) {
    if (event.at("name") == "inference") continue;
    ++nodes;
    bool within = false;
    for (const json& other : events) {
      if (other.at("name") != "inference" || other.at("tid") != event.at("tid")) continue;
      const double begin = event.at("ts"), end = begin + event.at("dur").get<double>();
      const double other_begin = other.at("ts"), other_end = other_begin + other.at("dur").get<double>();
      within = within || (begin >= other_begin - 50 && end <= other_end + 50);
    }
    outside += !within;
  }
  EXPECT_GE(inferences, 10u);
  EXPECT_GE(nodes, 5 * inferences);
  EXPECT_LE(outside, nodes / 20);
  const Outcome text = tool("bench -m '" + model("demo.onnx") + "' --seconds 0.2 --profile");
  EXPECT_NE(text.out.find("share"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("<- median"), std::string::npos) << text.out;
}

TEST_F(Seeing, BenchSaysHowNearTheGpusKernelsComeToTheRoof) {
  if (tool("devices").out.find("GPU") == std::string::npos) GTEST_SKIP() << "no OpenCL device";
  const auto line = [](const char* of) {
    return "bench -m '" + model(of) + "' -d GPU --hint latency --seconds 0.3 --profile";
  };
  const Outcome done = tool(line("demo.onnx") + " --json");
  ASSERT_EQ(done.status, 0) << done.err;
  const json profile = json::parse(done.out).at("profile"), roof = profile.at("roof");
  EXPECT_EQ(roof.at("device"), "GPU.0");
  const double bandwidth = roof.at("bytes_per_second"), f32 = roof.at("operations_per_second").at("f32");
  EXPECT_GT(bandwidth, 1e8);
  EXPECT_GT(f32, 1e9);
  double multiply_adds = 0, least = 0;
  for (const json& node : profile.at("nodes")) {
    EXPECT_FALSE(node.at("nodes").empty() && node.at("type") != "Result") << node.dump();
    const double us = node.at("us"), bytes = node.at("bytes"), operations = 2 * node.at("multiply_adds").get<double>();
    const double least_us = 1e6 * std::max(bytes / bandwidth, operations / f32);
    EXPECT_NEAR(node.at("gigabytes_per_second").get<double>(), bytes / us / 1e3, 1e-3 * bytes / us);
    EXPECT_NEAR(node.at("gigaflops_per_second").get<double>(), operations / us / 1e3, 1e-3 * operations / us);
    EXPECT_NEAR(node.at("share_of_roof").get<double>(), least_us / us, 1e-3 * least_us / us);
    multiply_adds += operations / 2;
    least += least_us;
    if (node.at("kernel") == "convolution") {
      EXPECT_EQ(node.at("type"), "Convolution") << "a kernel is called after the node that it was written for";
    }
  }
  EXPECT_GT(multiply_adds, 1e8);
  const json all = profile.at("all");
  EXPECT_NEAR(all.at("multiply_adds").get<double>(), multiply_adds, 1e-6 * multiply_adds);
  EXPECT_NEAR(all.at("share_of_roof").get<double>() * all.at("us").get<double>(), least, 1e-3 * least);
  const Outcome text = tool(line("colour.xml"));  // Whose kernels are few: 20 inferences of the other take 3 s.
  for (const char* part : {"GB/s", "GFLOP/s", "roof of GPU.0, measured here", "convolution"})
    EXPECT_NE(text.out.find(part), std::string::npos) << part << "\n" << text.out;
  // A device that measures no roof says so, and all other figures are there.
  const Outcome cpu = tool("bench -m '" + model("demo.onnx") + "' --seconds 0.2 --profile");
  EXPECT_NE(cpu.out.find("GFLOP/s"), std::string::npos) << cpu.out;
  EXPECT_NE(cpu.out.find("no share of a roof: CPU does not measure"), std::string::npos) << cpu.out;
}

TEST_F(Seeing, BenchRefusesWithOneMessage) {
  write("relu.onnx", proto::onnx_model("Relu", {1, 4}));
  expect_one_message(tool("bench -m relu.onnx --shape '[?,4]'"), "--shape");
  expect_one_message(tool("bench -m relu.onnx --trace none/t.json"), "none");
  expect_one_message(tool("bench -m relu.onnx --set NO_SUCH=1"), "NO_SUCH");
  EXPECT_EQ(tool("bench -m relu.onnx --seconds 0.1 --shape '[3,4]' --set NUM_STREAMS=1").status, 0);
}

TEST_F(Seeing, RunTracesDecodingAndNodes) {
  ASSERT_EQ(run_demo("--max-frames 5 --no-compare -q --trace t.json").status, 0);
  std::set<std::string> categories;
  const json trace = json::parse(text_of(file("t.json")));
  for (const json& event : trace.at("traceEvents")) categories.insert(event.at("cat"));
  for (const char* category : {"decode", "infer", "request", "Convolution"})
    EXPECT_TRUE(categories.count(category)) << category;
}

TEST(Histogram, CountsEveryValueOnce) {
  EXPECT_TRUE(histogram({}).empty());
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) values.push_back(1 + i * 0.001);
  values.push_back(100);
  const auto bands = histogram(values);
  std::size_t count = 0;
  for (std::size_t i = 0; i < bands.size(); ++i) {
    count += bands[i].count;
    if (i) {
      EXPECT_DOUBLE_EQ(bands[i].from, bands[i - 1].to);
    }
  }
  EXPECT_EQ(count, values.size());
  EXPECT_EQ(bands.back().to, 100);
  EXPECT_EQ(quantile(values, 0), 1);
  EXPECT_EQ(quantile(values, 1), 100);
  EXPECT_NE(histogram_text({2, 2, 2}, "ms").find("100.0%"), std::string::npos) << "values that are all the same";
}

TEST(ProfileSums, AreMeansOverInferences) {
  ProfilingInfo slow, fast, gone;
  slow.status = fast.status = ProfilingInfo::Status::EXECUTED;
  gone.status = ProfilingInfo::Status::OPTIMIZED_OUT;
  slow.node_name = "slow", slow.node_type = "MatMul", slow.exec_type = "gemm";
  fast.node_name = "fast", fast.node_type = "Add";
  slow.real_time = std::chrono::microseconds(30);
  fast.real_time = std::chrono::microseconds(10);
  Profile profile;
  profile.add({fast, slow, gone});
  slow.real_time = std::chrono::microseconds(50);
  profile.add({fast, slow, gone});
  EXPECT_EQ(profile.sum_us(), 50);
  ASSERT_EQ(profile.nodes().size(), 2u);
  EXPECT_EQ(profile.nodes()[0].name, "slow");
  EXPECT_EQ(profile.to_json().at("nodes")[0].at("us"), 40);
  EXPECT_EQ(profile.optimised_out(), 1u);
  EXPECT_NE(profile.to_text(1, 0).find("... and 1 more"), std::string::npos);
}

TEST(ProfileSums, FitATerminal) {
  ProfilingInfo info;
  info.status = ProfilingInfo::Status::EXECUTED;
  info.node_name = "/model.22/cv2.0/cv2.0.0/a_rather_long_name/conv/Conv";
  info.node_type = "GroupConvolutionBackpropData";
  info.exec_type = "matrix_convolution";
  info.real_time = std::chrono::microseconds(1234567);
  Profile profile;
  profile.add({info});
  const std::string text = profile.to_text(20, 80);
  std::istringstream lines(text.substr(0, text.find("\n\n")));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_NE(text.find("_name/conv/Conv"), std::string::npos) << "the end of a name tells more\n" << text;
  EXPECT_NE(profile.to_text(20, 0).find(info.node_name), std::string::npos);
}

TEST(RoofOfADevice, IsMemoryOrArithmetic) {
  Roof roof{.device = "GPU.0"};
  roof.bytes_per_second = 1e12;
  roof.operations_per_second = {{"f32", 1e13}, {"f16", 1e14}};
  EXPECT_DOUBLE_EQ(roof.least_us(1e6, 1e6, "f32"), 1) << "memory";
  EXPECT_DOUBLE_EQ(roof.least_us(1e6, 1e8, "f32"), 10) << "arithmetic";
  EXPECT_DOUBLE_EQ(roof.least_us(1e6, 1e9, "f16"), 10);
  EXPECT_DOUBLE_EQ(roof.least_us(1e6, 1e8, "i8"), 10) << "no rate of its own: f32's";
  roof.unknown = "not measured";
  EXPECT_EQ(roof.least_us(1e6, 1e8, "f32"), 0);
  EXPECT_NE(roof.to_text().find("not measured"), std::string::npos);
}

}  // namespace seeing_test
}  // namespace tenon::tool::testing
