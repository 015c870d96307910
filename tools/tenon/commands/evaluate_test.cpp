// SPDX-License-Identifier: Apache-2.0
// tenon evaluate on files of every form, with a model on pictures and on a video, and on bad input.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <tenon/tools/tenon/testing/tool.hpp>

namespace tenon::tool::testing {
namespace evaluate_test {

using nlohmann::json;
using Evaluate = ToolTest;

std::string cases(const std::string& name) {
  return from_environment("TENON_SOURCE_DIR") + "/vision/metrics/cases/" + name;
}
json parsed(const std::string& path) { return json::parse(text_of(path)); }

TEST_F(Evaluate, FiguresOfCocoFilesAreThoseOfPycocotools) {
  const std::string folder = cases("coco-0/");
  const json expected = parsed(folder + "expected.json");
  const Outcome boxes =
      tool("evaluate '" + folder + "truth.json' '" + folder + "boxes.json' --json --report page.html");
  ASSERT_EQ(boxes.status, 0) << boxes.err;
  const json told = json::parse(boxes.out);
  const char* const names[] = {"ap",  "ap50", "ap75",  "ap_small", "ap_medium", "ap_large",
                               "ar1", "ar10", "ar100", "ar_small", "ar_medium", "ar_large"};
  for (std::size_t i = 0; i < std::size(names); ++i)
    EXPECT_NEAR(told["boxes"].at(names[i]).get<double>(), expected["boxes"]["stats"][i].get<double>(), 1e-12)
        << names[i];
  EXPECT_FALSE(told.contains("masks"));
  const std::string page = text_of(file("page.html"));
  EXPECT_NE(page.find("<polyline"), std::string::npos);
  EXPECT_NE(page.find("Precision over recall, Boxes"), std::string::npos);
  EXPECT_EQ(page.find("nan"), std::string::npos);
  const Outcome masks = tool("evaluate '" + folder + "truth.json' '" + folder + "masks.json' --json");
  ASSERT_EQ(masks.status, 0) << masks.err;
  EXPECT_NEAR(json::parse(masks.out)["masks"]["ap"].get<double>(), expected["masks"]["stats"][0].get<double>(), 1e-12);
  const Outcome table = tool("evaluate '" + folder + "truth.json' '" + folder + "boxes.json'");
  EXPECT_NE(table.out.find("AP (overlap 0.50 to 0.95)"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("person"), std::string::npos) << table.out;
}

TEST_F(Evaluate, FiguresOfSequencesAreThoseOfTrackEval) {
  const json expected = parsed(cases("mot17-0/expected.json"))["sequences"];
  const Outcome all =
      tool("evaluate '" + cases("mot17-0") + "' '" + cases("mot17-0/found") + "' --json --report page.html");
  ASSERT_EQ(all.status, 0) << all.err;
  const json told = json::parse(all.out);
  EXPECT_EQ(told["sequences"].size(), 3u);
  EXPECT_NEAR(told["tracking"]["hota"].get<double>(), expected["COMBINED_SEQ"]["HOTA"].get<double>(), 1e-9);
  EXPECT_NEAR(told["sequences"]["MOT17-01"]["idf1"].get<double>(), expected["MOT17-01"]["IDF1"].get<double>(), 1e-9);
  EXPECT_NE(text_of(file("page.html")).find("HOTA over the overlap"), std::string::npos);
  // One sequence by its folder, and by its file, which does not say how many frames there are.
  const Outcome one =
      tool("evaluate '" + cases("mot17-0/MOT17-00") + "' '" + cases("mot17-0/found/MOT17-00.txt") + "' --json");
  ASSERT_EQ(one.status, 0) << one.err;
  EXPECT_EQ(json::parse(one.out)["sequences"]["MOT17-00"], told["sequences"]["MOT17-00"]);
  const Outcome bare = tool("evaluate '" + cases("mot17-0/MOT17-00/gt/gt.txt") + "' '" +
                            cases("mot17-0/found/MOT17-00.txt") + "' --json");
  ASSERT_EQ(bare.status, 0) << bare.err;
  EXPECT_EQ(json::parse(bare.out)["tracking"]["mota"], told["sequences"]["MOT17-00"]["mota"]);
}

TEST_F(Evaluate, YoloFilesAreRead) {
  write("truth/a.txt", "0 0.5 0.5 0.25 0.25\n1 0.2 0.2 0.1 0.1\n");
  write("truth/b.txt", "");
  write("truth/classes.txt", "cat\ndog\n");
  write("found/a.txt", "0 0.5 0.5 0.25 0.25 0.9\n");
  const Outcome done = tool("evaluate truth found --size 640x480 --json");
  ASSERT_EQ(done.status, 0) << done.err;
  const json told = json::parse(done.out);
  EXPECT_EQ(told["boxes"]["pictures"], 2);
  EXPECT_DOUBLE_EQ(told["boxes"]["labels"][0]["ap"].get<double>(), 1);
  EXPECT_EQ(told["boxes"]["labels"][1]["label"], "dog");
  EXPECT_DOUBLE_EQ(told["boxes"]["labels"][1]["recall50"].get<double>(), 0);
  expect_one_message(tool("evaluate truth found"), "--pictures FOLDER, or --size");
  write("found/a.txt", "0 0.5 0.5 0.25 0.25 0.9\n0 0.5 0.5 0.25 0.25\n");
  expect_one_message(tool("evaluate truth found --size 640x480"), "found/a.txt:2: expected");
}

TEST_F(Evaluate, AModelOnAVideoIsJudgedAndFollowed) {
  json truth = parsed(model("demo.json"));
  truth["video"]["frames"] = 60;
  std::erase_if(truth["frames"].get_ref<json::array_t&>(), [](const json& frame) { return frame["index"] >= 60; });
  write("truth.json", truth.dump());
  const Outcome done = tool("evaluate truth.json -m '" + model("demo.onnx") + "' --input '" + model("demo.mp4") +
                            "' --json --save-results found.json");
  ASSERT_EQ(done.status, 0) << done.err;
  const json told = json::parse(done.out);
  EXPECT_EQ(told["boxes"]["pictures"], 60);
  EXPECT_GT(told["boxes"]["ap50"].get<double>(), 0.9);
  EXPECT_GT(parsed(file("found.json")).size(), 200u);
  ASSERT_TRUE(told.contains("tracking")) << "demo.json has ids";
  EXPECT_GT(told["tracking"]["hota"].get<double>(), 0.7);
  EXPECT_EQ(told["notes"], json::array());
}

TEST_F(Evaluate, AModelOnPicturesIsJudged) {
  write("shots.json", R"({"nodes":[{"element":"file","parameters":{"path":")" + model("demo.mp4") +
                          R"("}},{"element":"write","parameters":{"path":"shots/%04d.png"}}]})");
  fs::create_directories(file("shots"));
  ASSERT_EQ(tool("pipeline shots.json --frames 4 -q").status, 0);
  json truth{{"images", json::array()}, {"categories", json::array()}, {"annotations", json::array()}};
  const json demo = parsed(model("demo.json"));
  for (std::size_t i = 0; i < demo["labels"].size(); ++i)
    truth["categories"].push_back({{"id", 10 + i}, {"name", demo["labels"][i]}});
  std::vector<std::string> shots;
  for (const auto& entry : fs::directory_iterator(file("shots"))) shots.push_back(entry.path().filename().string());
  std::sort(shots.begin(), shots.end());
  ASSERT_EQ(shots.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    truth["images"].push_back({{"id", 7 * i}, {"width", 1280}, {"height", 720}, {"file_name", shots[i]}});
    for (const json& frame : demo["frames"]) {
      if (frame["index"] != i) continue;
      for (const json& object : frame["objects"]) {
        const json& box = object["box"];
        const auto at =
            std::find(demo["labels"].begin(), demo["labels"].end(), object["label"]) - demo["labels"].begin();
        const double x = box[0], y = box[1];
        truth["annotations"].push_back({{"image_id", 7 * i},
                                        {"category_id", 10 + at},
                                        {"bbox", {x, y, box[2].get<double>() - x, box[3].get<double>() - y}}});
      }
    }
  }
  write("truth.json", truth.dump());
  const std::string rest = " -m '" + model("demo.onnx") + "' --pictures shots --json";
  const Outcome done = tool("evaluate truth.json" + rest + " --save-results found.json");
  ASSERT_EQ(done.status, 0) << done.err;
  const json told = json::parse(done.out);
  EXPECT_GT(told["boxes"]["ap50"].get<double>(), 0.8);
  // What was saved says the same.
  const Outcome again = tool("evaluate truth.json found.json --json");
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_NEAR(json::parse(again.out)["boxes"]["ap"].get<double>(), told["boxes"]["ap"].get<double>(), 1e-9);
  truth["categories"][0]["name"] = "unicorn";
  write("truth.json", truth.dump());
  expect_one_message(tool("evaluate truth.json" + rest), "\"unicorn\"");
  EXPECT_EQ(tool("evaluate truth.json --by-order" + rest).status, 0);
  truth["images"][1]["width"] = 1000;
  write("truth.json", truth.dump());
  expect_one_message(tool("evaluate truth.json --by-order" + rest),
                     "picture 1 (" + shots[1] + ") has 1280x720 pixels, the ground truth says 1000x720");
  fs::remove(file("shots/" + shots[2]));
  truth["images"][1]["width"] = 1280;
  write("truth.json", truth.dump());
  expect_one_message(tool("evaluate truth.json --by-order" + rest), shots[2]);
}

TEST_F(Evaluate, LinesOfAPipelineAreTracks) {
  write("gt.txt", "1,1,0,0,10,10\n2,1,1,0,10,10\n3,1,2,0,10,10\n");
  const auto line = [](int x, const char* label, int id) {
    return "{\"stream\":0,\"metadata\":[{\"kind\":\"detection\",\"box\":[" + std::to_string(x) + ",0," +
           std::to_string(x + 10) + ",10],\"label\":\"" + label +
           "\",\"score\":0.9,\"track_id\":" + std::to_string(id) + "}]}\n";
  };
  write("found.jsonl", line(0, "person", 4) + line(1, "person", 9) + line(2, "car", 9));
  const Outcome done = tool("evaluate gt.txt found.jsonl --label person --json");
  ASSERT_EQ(done.status, 0) << done.err;
  const json told = json::parse(done.out)["tracking"];
  EXPECT_EQ(told["id_switches"], 1);
  EXPECT_EQ(told["missed"], 1);
  EXPECT_EQ(told["wrong"], 0);
}

TEST_F(Evaluate, SaysWhatIsWrong) {
  write("gt.txt", "1,1,0,0,10,10\n");
  write("twice.txt", "1,3,0,0,10,10\n1,3,5,0,10,10\n");
  write("far.txt", "1,3,0,0,10,10\n9,3,0,0,10,10\n");
  expect_one_message(tool("evaluate gt.txt twice.txt"), "twice.txt:2: the id 3 is in frame 1 already");
  expect_one_message(tool("evaluate gt.txt far.txt"), "far.txt:2: the frame 9 is beyond the last one, 1");
  expect_one_message(tool("evaluate gt.txt"), "give either RESULTS");
  expect_one_message(tool("evaluate gt.txt -m x.onnx twice.txt"), "give either RESULTS");
  expect_one_message(tool("evaluate missing.json r.json"), "missing.json");
  for (const char* number : {"nan", "1e-999", "1.5"})
    expect_one_message(tool(std::string("evaluate gt.txt -m x.onnx --confidence ") + number), "is no number of");
  write("none.json", R"({"images":[],"categories":[{"id":1,"name":"cat"}],"annotations":[]})");
  write("cat.jsonl", R"({"metadata":[{"kind":"detection","box":[0,0,9,9],"label":"cat","score":0.9}]})");
  const Outcome nothing = tool("evaluate none.json cat.jsonl");
  EXPECT_EQ(nothing.status, 0) << nothing.err;
  EXPECT_NE(nothing.out.find("has 1 frames, the ground truth 0"), std::string::npos) << nothing.out;
  write("bad.json", "{\"annotations\": [\n1, 2,,]}");
  expect_one_message(tool("evaluate bad.json gt.txt"), "line 2");
  expect_one_message(tool("evaluate '" + cases("mot17-0") + "' gt.txt"), "3 sequences: give the folder");
  expect_one_message(tool("evaluate '" + cases("mot17-0") + "' ."), "MOT17-00.txt\" is missing");
  expect_one_message(tool("evaluate gt.txt twice.txt --report gt.txt"), "gt.txt");
  EXPECT_EQ(text_of(file("gt.txt")), "1,1,0,0,10,10\n");
  EXPECT_EQ(left_behind(),
            (std::vector<std::string>{"bad.json", "cat.jsonl", "far.txt", "gt.txt", "none.json", "twice.txt"}));
}

}  // namespace evaluate_test
}  // namespace tenon::tool::testing
