// SPDX-License-Identifier: Apache-2.0
// tenon run on the demo: its reports, its files and its errors.
#include <tenon/frameworks/ffmpeg/video.hpp>

#include <tenon/tools/tenon/testing/tool.hpp>

namespace tenon::tool::testing {
namespace run_test {

using nlohmann::json;
using RunCommand = ToolTest;

void expect_fixed_keys(const json& report) {
  for (const char* key : {"device", "frames", "fps", "bytes_copied_per_frame", "bytes_converted_per_frame",
                          "host_waits_per_frame", "hops", "map50"}) {
    EXPECT_TRUE(report.contains(key)) << key;
  }
  for (const json& hop : report.at("hops")) {
    for (const char* key : {"edge", "from", "to", "maps", "view_hits", "bytes", "waits", "proof"})
      EXPECT_TRUE(hop.contains(key)) << key;
  }
}

TEST_F(RunCommand, DemoUnderRequireCopiesNothingProvesItsHopsAndFindsTheObjects) {
  constexpr int kFrames = 150;  // Each is decoded, inferred and encoded, and once more with a copy.
  const Outcome done =
      run_demo("--device CPU --zero-copy require --save out.mp4 --snapshot out.png --report r.json --max-frames " +
               std::to_string(kFrames) + " --ground-truth '" + model("demo.json") + "'");
  ASSERT_EQ(done.status, 0) << done.err << done.out;
  EXPECT_EQ(left_behind(), (std::vector<std::string>{"out.mp4", "out.png", "r.json"}));
  const json report = json::parse(text_of(file("r.json")));
  expect_fixed_keys(report);
  EXPECT_EQ(report["device"], "CPU");
  EXPECT_EQ(report["frames"], kFrames);
  EXPECT_GT(report["fps"].get<double>(), 0);
  EXPECT_EQ(report["bytes_copied_per_frame"], 0);
  EXPECT_EQ(report["bytes_converted_per_frame"], 1280 * 720 * 3 / 2);
  EXPECT_EQ(report["bytes_converted_to_per_frame"], 288 * 512 * 3 * 4);
  // models/evaluate.py gives 0.9916 for these frames, and 0.9535 for the whole clip.
  EXPECT_NEAR(report["map50"].get<double>(), 0.9916, 0.01);
  ASSERT_EQ(report["hops"].size(), 3u);
  for (const json& hop : report["hops"]) {
    EXPECT_EQ(hop["proof"], "proved") << hop.dump(1);
    EXPECT_EQ(hop["bytes"], 0) << hop.dump(1);
    EXPECT_EQ(hop["maps"], kFrames) << hop.dump(1);
    EXPECT_GT(hop["view_hits"], kFrames * 5 / 6) << hop.dump(1);
  }
  // One hop forced to copy: the ledger books one picture's size.
  EXPECT_EQ(report["forced_copy"]["bytes_copied_per_frame"], 1280 * 720 * 3 / 2);
  EXPECT_GT(report["forced_copy"]["slower"].get<double>(), 0.5);
  EXPECT_NE(done.out.find("h264 -> pool(memfd) -> input stage -> CPU"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("copied 0 B/frame"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("converted 1.4 MB -> 1.8 MB"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("proved 3/3 hops"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("second hop forced to copy"), std::string::npos) << done.out;
  // The saved picture's copy is booked separately, and not hidden.
  EXPECT_EQ(report["saved_bytes_copied_per_frame"], 1280 * 720 * 3 / 2);
  EXPECT_NE(done.out.find("apart from that"), std::string::npos) << done.out;
  EXPECT_EQ(text_of(file("out.png")).substr(1, 3), "PNG");
  // The saved video has the same number of pictures.
  EXPECT_EQ(ffmpeg::open(file("out.mp4")).frame_count(), static_cast<std::uint64_t>(kFrames));
}

TEST_F(RunCommand, WithoutGroundTruthThereIsNoMeasure) {
  const Outcome done = run_demo("--max-frames 12 --no-compare --quiet --report r.json --requests 3");
  ASSERT_EQ(done.status, 0) << done.err;
  const json report = json::parse(text_of(file("r.json")));
  expect_fixed_keys(report);
  EXPECT_EQ(report["frames"], 12);
  EXPECT_EQ(report["requests"], 3);
  EXPECT_TRUE(report["map50"].is_null());
  EXPECT_TRUE(report["forced_copy"].is_null());
}

TEST_F(RunCommand, SettingsReachTheDevice) {
  const auto requests = [&](const std::string& streams) {
    const Outcome done = run_demo("--max-frames 4 --no-compare --quiet --report r.json --set NUM_STREAMS=" + streams);
    EXPECT_EQ(done.status, 0) << done.err;
    return json::parse(text_of(file("r.json")))["requests"].get<int>();
  };
  EXPECT_LT(requests("1"), requests("3"));
}

TEST_F(RunCommand, ConfidenceAndIouOverrideTheModel) {
  const auto detections = [&](const std::string& options) {
    const Outcome done = run_demo("--max-frames 10 --no-compare --quiet --report r.json " + options);
    EXPECT_EQ(done.status, 0) << done.err;
    return json::parse(text_of(file("r.json")))["detections"].get<int>();
  };
  const int usual = detections("");
  EXPECT_GT(usual, 10);
  EXPECT_LT(detections("--confidence 0.95"), usual);
  EXPECT_GT(detections("--iou 0.99"), usual);
}

TEST_F(RunCommand, AModelThatKeepsStateSeesEveryFrameInOneRequest) {
  const std::string rest =
      "--max-frames 60 --no-compare --quiet --zero-copy require --report r.json -m '" + model("motion.xml") + "'";
  const std::string video = "run '" + model("demo.mp4") + "' ";
  const Outcome done = tool(video + rest);
  ASSERT_EQ(done.status, 0) << done.err;
  const json report = json::parse(text_of(file("r.json")));
  EXPECT_EQ(report["requests"], 1);
  EXPECT_GT(report["detections"].get<int>(), 100);
  for (const json& hop : report["hops"]) EXPECT_EQ(hop["proof"], "proved") << hop.dump(1);
  expect_one_message(tool(video + rest + " --requests 2"), "keeps state");
}

TEST_F(RunCommand, TheSoftwareNpuStandsInAndReadsTheDecodersBuffer) {
  for (const char* name : {"demo.onnx", "motion.xml"}) {
    const Outcome done = tool("run '" + model("demo.mp4") + "' -m '" + model(name) +
                              "' --device NPU --max-frames 40 --quiet --zero-copy require --report r.json");
    if (!std::getenv("TENON_HAS_SOFTWARE_NPU")) GTEST_SKIP() << "the software NPU was not built";
    EXPECT_NE(done.err.find("stands in"), std::string::npos) << done.err;
    ASSERT_EQ(done.status, 0) << done.err;
    const json report = json::parse(text_of(file("r.json")));
    EXPECT_EQ(report["device"], "NPU");
    EXPECT_EQ(report["bytes_copied_per_frame"], 0);
    EXPECT_GT(report["detections"].get<int>(), 40) << name;
    for (const json& hop : report["hops"]) EXPECT_EQ(hop["proof"], "proved") << name << hop.dump(1);
    EXPECT_NE(done.out.find("software NPU"), std::string::npos) << done.out;
  }
}

TEST_F(RunCommand, AKernelOfTheGpuDeviceReadsTheDecodersBuffer) {
  if (tool("devices").out.find("GPU") == std::string::npos) GTEST_SKIP() << "no OpenCL platform";
  const Outcome done = tool("run '" + model("demo.mp4") + "' -m '" + model("demo.onnx") +
                            "' --device GPU --max-frames 4 --no-compare --quiet --zero-copy require --report r.json");
  ASSERT_EQ(done.status, 0) << done.err;
  const json report = json::parse(text_of(file("r.json")));
  EXPECT_EQ(report["bytes_copied_per_frame"], 0);
  EXPECT_GT(report["detections"].get<int>(), 4);
  for (const json& hop : report["hops"]) {
    const bool by_pocl = done.out.find("Portable Computing Language") != std::string::npos;
    EXPECT_TRUE(hop["proof"] == "proved" || (!by_pocl && hop["proof"] == "claimed")) << hop.dump(1);
  }
}

TEST_F(RunCommand, InterruptedEndsCleanlyWithTheReportOfWhatRan) {
  Outcome done;
  // On a busy machine the first frame takes its time; before it there is nothing to report.
  for (const char* seconds : {"1.5", "3", "6", "12"}) {
    done = run_demo("--save out.mp4 --report r.json", "timeout --preserve-status -s INT " + std::string(seconds));
    ASSERT_EQ(done.status, 130) << done.err << done.out;
    if (std::filesystem::exists(file("r.json"))) break;
  }
  EXPECT_NE(done.out.find("(interrupted)"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("for out.mp4"), std::string::npos) << "what was finished is said\n" << done.out;
  const json report = json::parse(text_of(file("r.json")));
  expect_fixed_keys(report);
  EXPECT_EQ(report["interrupted"], true);
  EXPECT_GT(report["frames"].get<int>(), 0);
  EXPECT_LT(report["frames"].get<int>(), 600);
  EXPECT_EQ(left_behind(), (std::vector<std::string>{"out.mp4", "r.json"}));
}

/// Mean absolute difference of two clips' pictures, by FFmpeg's own decoder.
double difference(const std::string& a, const std::string& b, std::size_t least) {
  const auto first = tenon_test::decode_by_ffmpeg(a), second = tenon_test::decode_by_ffmpeg(b);
  EXPECT_GE(std::min(first.size(), second.size()), least);
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < std::min(first.size(), second.size()); ++i) {
    if (first[i].size() != second[i].size()) return 1e9;
    for (std::size_t k = 0; k < first[i].size(); k += 7) sum += std::abs(first[i][k] - second[i][k]), ++count;
  }
  return sum / count;
}

TEST_F(RunCommand, PhonesVideosAreTurnedUprightForTheModelThePictureAndTheFile) {
  const auto ffmpeg = [&](const std::string& arguments) {
    return std::system(("cd '" + folder.string() + "' && ffmpeg -v error -y " + arguments + " </dev/null").c_str());
  };
  if (std::system("ffmpeg -version >/dev/null 2>&1") != 0) GTEST_SKIP() << "the program ffmpeg is not installed";
  constexpr std::size_t kFrames = 8;  // Each is encoded and decoded a dozen times.
  const std::string demo = "-i '" + model("demo.mp4") + "' -frames:v " + std::to_string(kFrames) +
                           " -an -c:v libx264 -crf 10 -preset veryfast ";
  ASSERT_EQ(ffmpeg(demo + "upright.mp4"), 0);
  const std::string rest = " -m '" + model("demo.onnx") +
                           "' --zero-copy require --no-compare --quiet --ground-truth '" + model("demo.json") + "' ";
  const Outcome plain = tool("run upright.mp4" + rest + "--report upright.json --save upright_out.mp4");
  ASSERT_EQ(plain.status, 0) << plain.err;
  const json wanted = json::parse(text_of(file("upright.json")));
  ASSERT_GT(wanted["map50"].get<double>(), 0.8);
  // How the same scene is stored if the camera was held that way.
  const std::pair<int, const char*> stored[] = {
      {90, "transpose=cclock"}, {180, "transpose=clock,transpose=clock"}, {270, "transpose=clock"}};
  for (const auto& [clockwise, filter] : stored) {
    SCOPED_TRACE(clockwise);
    const std::string name = "turned" + std::to_string(clockwise);
    ASSERT_EQ(ffmpeg(demo + "-vf " + filter + " lying.mp4"), 0);
    tenon_test::remux_turned(file("lying.mp4"), file(name + ".mp4"), clockwise);
    // FFmpeg rotates it as this test expects: otherwise the test would be wrong, and the tool with it.
    ASSERT_EQ(ffmpeg("-i " + name + ".mp4 -c:v libx264 -crf 10 shown.mp4"), 0);
    ASSERT_LT(difference(file("shown.mp4"), file("upright.mp4"), kFrames), 2) << "the clip of the test";
    const Outcome done =
        tool("run " + name + ".mp4" + rest + "--report r.json --snapshot shot.png --save " + name + "_out.mp4");
    ASSERT_EQ(done.status, 0) << done.err;
    const json report = json::parse(text_of(file("r.json")));
    EXPECT_EQ(report["rotation"], clockwise);
    EXPECT_EQ(report["bytes_copied_per_frame"], 0);
    EXPECT_EQ(report["bytes_converted_per_frame"], 1280 * 720 * 3 / 2);
    for (const json& hop : report["hops"]) EXPECT_EQ(hop["proof"], "proved") << hop.dump(1);
    EXPECT_EQ(report["frames"], kFrames);
    // The boxes are at the same places as in the upright clip, by the ground truth.
    EXPECT_NEAR(report["map50"].get<double>(), wanted["map50"].get<double>(), 0.02);
    EXPECT_NEAR(report["map50_95"].get<double>(), wanted["map50_95"].get<double>(), 0.03);
    EXPECT_NEAR(report["detections"].get<double>(), wanted["detections"].get<double>(),
                0.05 * wanted["detections"].get<double>());
    // The saved video is upright, with the boxes at the same places.
    ffmpeg::Video saved = ffmpeg::open(file(name + "_out.mp4"));
    EXPECT_EQ(saved.info().rotation, Rotation::kNone);
    EXPECT_EQ(saved.info().width_px, 1280u);
    EXPECT_EQ(saved.info().height_px, 720u);
    EXPECT_LT(difference(file(name + "_out.mp4"), file("upright_out.mp4"), kFrames), 2.5);
    EXPECT_NE(done.out.find("turned by " + std::to_string(clockwise)), std::string::npos) << done.out;
    // PNG: width and height, big-endian, after its header.
    EXPECT_EQ(text_of(file("shot.png")).substr(16, 8), std::string("\0\0\5\0\0\0\2\xd0", 8));
  }
}

TEST_F(RunCommand, ReadsAndDrawsMasksAndPointsToo) {
  write_clip("clip.mp4", 64, 64, 4);
  write("relu.onnx", proto::onnx_model("Relu", {1, 3, 64, 64}));
  for (const char* type : {"Segmentation", "Heatmaps"}) {
    for (const char* limit : {"--frames", "--max-frames"}) {
      const Outcome done = tool(std::string("run clip.mp4 -m relu.onnx --model-type ") + type +
                                " --save out.mp4 --report r.json --quiet --no-compare " + limit + " 3");
      ASSERT_EQ(done.status, 0) << type << done.err;
      EXPECT_EQ(json::parse(text_of(file("r.json")))["frames"], 3) << type;
      EXPECT_EQ(ffmpeg::open(file("out.mp4")).frame_count(), 3u) << type;
    }
  }
}

TEST_F(RunCommand, SaysThatTopKLeftOutObjects) {
  const Outcome done = run_demo("--quiet --no-compare --max-frames 3 --top-k 1 --report r.json");
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(json::parse(text_of(file("r.json")))["frames_cut_by_top_k"], 3);
  EXPECT_NE(done.out.find("3 pictures have more than 1 results"), std::string::npos) << done.out;
}

TEST_F(RunCommand, ATurnedPictureOfHalvedColumnsIsSavedToo) {
  write_clip("lying.mkv", 320, 176, 6, "ffv1", AV_PIX_FMT_YUV422P);
  tenon_test::remux_turned(file("lying.mkv"), file("turned.mov"), 90);
  const Outcome done =
      tool("run turned.mov -m '" + model("demo.onnx") + "' --save out.mp4 --report r.json --quiet --no-compare");
  ASSERT_EQ(done.status, 0) << done.err;
  ffmpeg::Video saved = ffmpeg::open(file("out.mp4"));
  EXPECT_EQ(saved.info().width_px, 176u);
  EXPECT_EQ(saved.info().height_px, 320u);
  EXPECT_EQ(saved.frame_count(), 6u);
  const json report = json::parse(text_of(file("r.json")));
  EXPECT_EQ(report["bytes_copied_per_frame"], 0);
  EXPECT_EQ(report["saved_bytes_converted_per_frame"], 320 * 176 * 2) << "4:2:2 turned by a quarter is no 4:2:2";
}

TEST_F(RunCommand, AStreamThatChangesSizeIsPlannedAgainAndTheReportSaysSo) {
  write_clip("a.h264", 320, 240, 6);
  write_clip("b.h264", 640, 360, 6);
  write("both.h264", text_of(file("a.h264")) + text_of(file("b.h264")));
  const Outcome done =
      tool("run both.h264 -m '" + model("demo.onnx") + "' --save out.mp4 --report r.json --quiet --no-compare");
  ASSERT_EQ(done.status, 0) << done.err;
  const json report = json::parse(text_of(file("r.json")));
  EXPECT_EQ(report["frames"], 12);
  EXPECT_EQ(report["size_changes"], 1);
  EXPECT_EQ(report["replans"], 1);
  EXPECT_EQ(report["bytes_copied_per_frame"], 0);
  EXPECT_NE(done.out.find("changed its size"), std::string::npos) << done.out;
}

TEST_F(RunCommand, AWayThatMustCopyBooksItAndIsNotCalledProved) {
  // FFmpeg's raw video decoder only writes into memory of its own: its pictures are copied into the pool.
  write_clip("raw.mkv", 320, 240, 12, "rawvideo");
  const Outcome done = tool("run raw.mkv -m '" + model("demo.onnx") + "' --report r.json --quiet --no-compare");
  ASSERT_EQ(done.status, 0) << done.err;
  const json report = json::parse(text_of(file("r.json")));
  EXPECT_EQ(report["bytes_copied_per_frame"], 320 * 240 * 3 / 2);
  EXPECT_EQ(report["hops"][0]["bytes"], 12 * 320 * 240 * 3 / 2);
  EXPECT_EQ(report["hops"][0]["proof"], "copies");
  EXPECT_NE(done.out.find("proved 2/3 hops"), std::string::npos) << done.out;
  // Even under require nothing is copied: the pictures are read where the decoder put them.
  const Outcome strict =
      tool("run raw.mkv -m '" + model("demo.onnx") + "' --zero-copy require --report s.json --quiet --no-compare");
  ASSERT_EQ(strict.status, 0) << strict.err;
  EXPECT_EQ(json::parse(text_of(file("s.json")))["bytes_copied_per_frame"], 0);
}

TEST_F(RunCommand, RequireRefusesAWayThatMustConvertAndSaysWhy) {
  write_clip("ten.mkv", 320, 240, 3, "ffv1", AV_PIX_FMT_YUV422P9LE);  // A format of FFmpeg alone.
  const std::string rest = " -m '" + model("demo.onnx") + "' --save out.mp4 --report r.json --quiet --no-compare";
  expect_one_message(tool("run ten.mkv --zero-copy require" + rest), "zero copy is required");
  EXPECT_EQ(left_behind(), std::vector<std::string>{"ten.mkv"});
  EXPECT_EQ(tool("run ten.mkv --zero-copy prefer" + rest).status, 0);
  const json report = json::parse(text_of(file("r.json")));
  EXPECT_GT(report["hops"][0]["bytes_converted"].get<int>(), 0);
}

TEST_F(RunCommand, PicturesOfOddSizeAreSavedToo) {
  write_clip("odd.mkv", 321, 241, 4, "ffv1");
  const Outcome done =
      tool("run odd.mkv -m '" + model("demo.onnx") + "' --save out.mp4 --snapshot out.png --quiet --no-compare");
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(left_behind(), (std::vector<std::string>{"odd.mkv", "out.mp4", "out.png"}));
}

TEST_F(RunCommand, TraceIsChromeJson) {
  const Outcome done = run_demo("--max-frames 10 --no-compare --quiet --trace t.json");
  ASSERT_EQ(done.status, 0) << done.err;
  const json trace = json::parse(text_of(file("t.json")));
  const json& events = trace.is_array() ? trace : trace.at("traceEvents");
  EXPECT_GT(events.size(), 20u);
}

TEST_F(RunCommand, TruncatedFileIsAnErrorAndLeavesNothingHalfWritten) {
  const std::string whole = text_of(model("demo.mp4"));
  write("cut.mp4", whole.substr(0, whole.size() / 12));
  expect_one_message(tool("run cut.mp4 -m '" + model("demo.onnx") + "' --save out.mp4 --report r.json --quiet"),
                     "cut.mp4");
  EXPECT_EQ(left_behind(), std::vector<std::string>{"cut.mp4"});
}

TEST_F(RunCommand, AStalledStreamIsGivenUpAndWhatRanIsKept) {
  write_clip("a.ts", 320, 240, 40);
  Outcome done;
  for (const char* const seconds : {"2", "12"}) {  // On a busy machine nothing may have come by then.
    done = tool("run pipe.ts -m '" + model("demo.onnx") + "' --report r.json --quiet --no-compare --timeout " + seconds,
                "rm -f pipe.ts && mkfifo pipe.ts && "
                "{ (cat a.ts; while kill -0 $$ 2>/dev/null; do sleep 1; done) > pipe.ts & } ;");
    if (fs::exists(file("r.json"))) break;
  }
  expect_one_message(done, "pipe.ts");
  const json report = json::parse(text_of(file("r.json")));
  EXPECT_GT(report["frames"].get<int>(), 0);
  EXPECT_FALSE(report["ended_by"].is_null());
}

struct BadInput {
  const char* name;
  std::string arguments;  ///< {m} and {v}: the demo's model and video.
  std::string message;
};

class RunRefuses : public ToolTest, public ::testing::WithParamInterface<BadInput> {};

TEST_P(RunRefuses, WithOneMessageAndNothingWritten) {
  write("text.mp4", "this is no video\n");
  write("empty.mp4", "");
  write("garbage.onnx", std::string(1000, '\x5a'));
  write("unknown.onnx", proto::onnx_model("NoSuchOperation", {1, 3, 64, 64}));
  write("vector.onnx", proto::onnx_model("Relu", {1, 10}));
  write("truth.json",
        R"({"video": {"width": 1, "height": 1, "fps": 30, "frames": 1}, "labels": ["circle"], "frames": []})");
  fs::create_directory(folder / "folder");
  const auto before = left_behind();
  std::string arguments = GetParam().arguments;
  for (const auto& [key, value] : {std::pair<std::string, std::string>{"{m}", "'" + model("demo.onnx") + "'"},
                                   {"{v}", "'" + model("demo.mp4") + "'"}}) {
    for (auto at = arguments.find(key); at != arguments.npos; at = arguments.find(key))
      arguments.replace(at, key.size(), value);
  }
  expect_one_message(tool("run " + arguments), GetParam().message);
  EXPECT_EQ(left_behind(), before);
}

INSTANTIATE_TEST_SUITE_P(
    BadInput, RunRefuses,
    ::testing::Values(BadInput{"MissingVideo", "none.mp4 -m {m} --save o.mp4 --report r.json", "none.mp4"},
                      BadInput{"FolderAsVideo", "folder -m {m}", "folder"},
                      BadInput{"TextAsVideo", "text.mp4 -m {m} --report r.json", "text.mp4"},
                      BadInput{"EmptyVideo", "empty.mp4 -m {m}", "empty.mp4"},
                      BadInput{"MissingCamera", "/dev/video97 -m {m}", "/dev/video97"},
                      BadInput{"DeadStream", "http://127.0.0.1:9/x.ts -m {m}", "127.0.0.1"},
                      BadInput{"MissingModel", "{v} -m none.onnx", "none.onnx"},
                      BadInput{"CorruptModel", "{v} -m garbage.onnx --save o.mp4", "garbage.onnx"},
                      BadInput{"UnknownOperation", "{v} -m unknown.onnx", "NoSuchOperation"},
                      BadInput{"InputThatNoFrameFeeds", "{v} -m vector.onnx --save o.mp4 --report r.json", "x"},
                      BadInput{"UnknownDevice", "{v} -m {m} -d TPU --save o.mp4", "CPU"},
                      BadInput{"NoFolderForVideo", "{v} -m {m} --save none/o.mp4", "none"},
                      BadInput{"NoFolderForReport", "{v} -m {m} --report none/r.json", "none"},
                      BadInput{"FolderAsReport", "{v} -m {m} --report folder", "folder"},
                      BadInput{"NoContainer", "{v} -m {m} --save o.xyz", "o.xyz"},
                      BadInput{"NoSuchPolicy", "{v} -m {m} --zero-copy never", "never"},
                      BadInput{"TruthOfAnotherVideo", "{v} -m {m} --ground-truth truth.json", "truth.json"},
                      BadInput{"MissingTruth", "{v} -m {m} --ground-truth none.json", "none.json"},
                      BadInput{"NoSuchModelType", "{v} -m {m} --model-type Oracle", "Oracle"},
                      BadInput{"NoSuchSetting", "{v} -m {m} --set NO_SUCH=1", "NO_SUCH"},
                      BadInput{"SettingWithoutValue", "{v} -m {m} --set NUM_STREAMS", "KEY=VALUE"},
                      BadInput{"NoModel", "{v}", "--model"}, BadInput{"NoInput", "-m {m}", "input"},
                      BadInput{"MisspeltOption", "{v} -m {m} --sav o.mp4", "--sav"}),
    [](const auto& info) { return info.param.name; });

}  // namespace run_test
}  // namespace tenon::tool::testing
