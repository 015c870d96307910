// SPDX-License-Identifier: Apache-2.0
// Compares the figures with pycocotools' and TrackEval's over the files of metrics_oracle.py, and with figures by hand; readers on bad files.
#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <tenon/core/error.hpp>
#include <tenon/vision/coco_metrics.hpp>
#include <tenon/vision/found_lines.hpp>
#include <tenon/vision/labelled_pictures.hpp>
#include <tenon/vision/mot_files.hpp>
#include <tenon/vision/tracking_metrics.hpp>

namespace metrics_test {

using namespace tenon;
using nlohmann::json;
using vision::CocoFigures;
using vision::CocoMeter;
using vision::TrackingCounts;
namespace fs = std::filesystem;

/// The folders of cases whose names begin with `kind`.
std::vector<fs::path> cases(const std::string& kind) {
  const char* const folder = std::getenv("TENON_METRICS_CASES");
  if (!folder)
    throw std::runtime_error("set TENON_METRICS_CASES to the folder that vision/metrics/metrics_oracle.py wrote");
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().filename().string().rfind(kind, 0) == 0) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

vision::CocoResult evaluate(const vision::LabelledPictures& truth, const vision::FoundInPictures& found,
                            CocoMeter::Of of) {
  CocoMeter meter(of);
  for (std::size_t i = 0; i < truth.pictures.size(); ++i) meter.add(truth.pictures[i].objects, found.pictures[i]);
  return meter.result();
}

/// pycocotools says -1 where there is nothing to find.
double value(const std::optional<double>& figure) { return figure.value_or(-1); }

void expect_coco(const vision::CocoResult& result, const vision::LabelledPictures& truth, const json& expected) {
  const CocoFigures& all = result.all;
  const double stats[] = {value(all.ap),        value(all.ap50),     value(all.ap75),      value(all.ap_small),
                          value(all.ap_medium), value(all.ap_large), value(all.ar1),       value(all.ar10),
                          value(all.ar100),     value(all.ar_small), value(all.ar_medium), value(all.ar_large)};
  for (std::size_t i = 0; i < std::size(stats); ++i)
    EXPECT_NEAR(stats[i], expected["stats"][i].get<double>(), 1e-12) << "figure " << i;
  for (std::size_t i = 0; i < truth.labels.size(); ++i) {
    const json& label = expected["labels"][truth.labels[i]];
    const auto own = std::find_if(result.labels.begin(), result.labels.end(),
                                  [&](const vision::CocoLabel& one) { return one.label_id == static_cast<int>(i); });
    if (own == result.labels.end() || own->objects == 0) {
      EXPECT_EQ(label["ap"], -1) << truth.labels[i];
      continue;
    }
    EXPECT_NEAR(value(own->figures.ap), label["ap"].get<double>(), 1e-12) << truth.labels[i];
    EXPECT_NEAR(value(own->figures.ap50), label["ap50"].get<double>(), 1e-12) << truth.labels[i];
    EXPECT_NEAR(value(own->figures.ar100), label["ar100"].get<double>(), 1e-12) << truth.labels[i];
    EXPECT_NEAR(own->recall50, label["recall50"].get<double>(), 1e-12) << truth.labels[i];
    for (std::size_t k = 0; k < 11; ++k)
      EXPECT_NEAR(own->precision50[10 * k], label["precision50"][k].get<double>(), 1e-12);
  }
}

TEST(MetricsCases, OfBoxesAndMasksAreThoseOfPycocotools) {
  const auto folders = cases("coco-");
  ASSERT_FALSE(folders.empty());
  for (const fs::path& folder : folders) {
    SCOPED_TRACE(folder.string());
    const json expected = json::parse(std::ifstream(folder / "expected.json"));
    const std::string file = (folder / "truth.json").string();
    const auto truth = vision::parse_coco_truth(vision::read_text_file(file), file);
    EXPECT_TRUE(truth.has_masks);
    // Pixel by pixel: by the areas of all masks, in the order of the file.
    const json annotations = json::parse(std::ifstream(file))["annotations"];
    std::vector<std::size_t> next(truth.pictures.size());
    for (std::size_t i = 0; i < annotations.size(); ++i) {
      const auto picture = std::find_if(truth.pictures.begin(), truth.pictures.end(),
                                        [&](const auto& one) { return one.id == annotations[i]["image_id"]; });
      const auto& object = picture->objects[next[static_cast<std::size_t>(picture - truth.pictures.begin())]++];
      EXPECT_EQ(object.mask.area(), expected["mask_areas"][i].get<std::uint64_t>()) << "annotation " << i;
    }
    const auto boxes = vision::parse_coco_found(vision::read_text_file((folder / "boxes.json").string()), truth);
    EXPECT_FALSE(boxes.has_masks);
    expect_coco(evaluate(truth, boxes, CocoMeter::Of::kBoxes), truth, expected["boxes"]);
    const auto masks = vision::parse_coco_found(vision::read_text_file((folder / "masks.json").string()), truth);
    EXPECT_TRUE(masks.has_masks);
    expect_coco(evaluate(truth, masks, CocoMeter::Of::kMasks), truth, expected["masks"]);
  }
}

void expect_tracking(const TrackingCounts& counts, const json& expected) {
  const std::pair<const char*, double> figures[] = {{"HOTA", counts.hota()},
                                                    {"DetA", counts.det_a()},
                                                    {"AssA", counts.ass_a()},
                                                    {"LocA", counts.loc_a()},
                                                    {"DetRe", counts.det_recall()},
                                                    {"DetPr", counts.det_precision()},
                                                    {"AssRe", counts.ass_recall()},
                                                    {"AssPr", counts.ass_precision()},
                                                    {"MOTA", counts.mota()},
                                                    {"MOTP", counts.motp()},
                                                    {"IDSW", static_cast<double>(counts.switches)},
                                                    {"Frag", static_cast<double>(counts.fragments)},
                                                    {"MT", static_cast<double>(counts.mostly_tracked)},
                                                    {"PT", static_cast<double>(counts.partly_tracked)},
                                                    {"ML", static_cast<double>(counts.mostly_lost)},
                                                    {"CLR_TP", static_cast<double>(counts.clear_pairs)},
                                                    {"CLR_FN", static_cast<double>(counts.missed())},
                                                    {"CLR_FP", static_cast<double>(counts.wrong())},
                                                    {"IDF1", counts.idf1()},
                                                    {"IDR", counts.id_recall()},
                                                    {"IDP", counts.id_precision()},
                                                    {"IDTP", static_cast<double>(counts.identity_pairs)}};
  for (const auto& [name, own] : figures) EXPECT_NEAR(own, expected[name].get<double>(), 1e-9) << name;
}

TEST(MetricsCases, OfTracksAreThoseOfTrackEval) {
  const auto folders = cases("mot");
  ASSERT_FALSE(folders.empty());
  for (const fs::path& folder : folders) {
    const json expected = json::parse(std::ifstream(folder / "expected.json"))["sequences"];
    TrackingCounts all;
    for (const auto& [name, figures] : expected.items()) {
      if (name == "COMBINED_SEQ") continue;
      SCOPED_TRACE((folder / name).string());
      const auto truth = vision::parse_mot(vision::read_text_file((folder / name / "gt/gt.txt").string()), name);
      const auto found = vision::parse_mot(vision::read_text_file((folder / "found" / (name + ".txt")).string()), name);
      vision::TrackingMeter meter;
      vision::add_tracks(meter, truth, found);
      const TrackingCounts counts = meter.result();
      expect_tracking(counts, figures);
      all += counts;
    }
    SCOPED_TRACE((folder / "all").string());
    expect_tracking(all, expected["COMBINED_SEQ"]);
  }
}

constexpr vision::CocoBox kA{0, 0, 100, 100}, kB{200, 0, 100, 100};

vision::CocoTruth object(const vision::CocoBox& box) { return {0, box, box.width * box.height, false, false, {}}; }
vision::CocoFound found(const vision::CocoBox& box, double score) {
  return {0, box, score, box.width * box.height, {}};
}

TEST(CocoMeter, NeitherDemandsNorPunishesTheIgnored) {
  CocoMeter meter(CocoMeter::Of::kBoxes);
  vision::CocoTruth ignored = object(kB);
  ignored.is_ignored = true;
  meter.add(std::vector{object(kA), ignored}, std::vector{found(kB, 0.9), found(kA, 0.8)});
  meter.add({}, {});
  const auto result = meter.result();
  EXPECT_DOUBLE_EQ(*result.all.ap, 1);
  EXPECT_EQ(result.objects, 1u);
  EXPECT_EQ(result.pictures, 2u);
  // One ignored object takes one detection; a crowd takes any number.
  CocoMeter twice(CocoMeter::Of::kBoxes), crowd(CocoMeter::Of::kBoxes);
  const std::vector all{found(kB, 0.9), found(kB, 0.85), found(kA, 0.8)};
  twice.add(std::vector{object(kA), ignored}, all);
  EXPECT_DOUBLE_EQ(*twice.result().all.ap, 0.5);
  ignored.is_ignored = false;
  ignored.is_crowd = true;
  crowd.add(std::vector{object(kA), ignored}, all);
  EXPECT_DOUBLE_EQ(*crowd.result().all.ap, 1);
}

TEST(CocoMeter, SaysNothingWhereThereIsNothingToFind) {
  CocoMeter meter(CocoMeter::Of::kBoxes);
  meter.add({}, std::vector{found(kA, 0.9), found(kA, NAN)});
  const auto result = meter.result();
  EXPECT_FALSE(result.all.ap.has_value());
  ASSERT_EQ(result.labels.size(), 1u);
  EXPECT_EQ(result.labels[0].detections, 1u);
  EXPECT_TRUE(result.labels[0].precision50.empty());
  EXPECT_TRUE(CocoMeter(CocoMeter::Of::kMasks).result().labels.empty());
}

TEST(CocoMeter, TellsTheScoreOfTheBestF1) {
  CocoMeter meter(CocoMeter::Of::kBoxes);
  meter.add(std::vector{object(kA), object(kB)},
            std::vector{found(kA, 0.9), found(kB, 0.4), found({400, 0, 9, 9}, 0.3)});
  EXPECT_DOUBLE_EQ(meter.result().labels[0].best_score, 0.4);
  EXPECT_DOUBLE_EQ(meter.result().labels[0].best_f1, 1);
}

TEST(CocoMeter, RefusesObjectsWithoutMasks) {
  CocoMeter meter(CocoMeter::Of::kMasks);
  EXPECT_THROW(meter.add(std::vector{object(kA)}, {}), Error);
  vision::CocoTruth small = object(kA), large = object(kA);
  small.mask = vision::MaskRuns(2, 2, {0, 4});
  large.mask = vision::MaskRuns(2, 3, {6});
  EXPECT_THROW(meter.add(std::vector{small, large}, {}), Error);
}

TEST(TrackingMeter, CountsByHand) {
  // One object over four pictures, found in three of them under two ids; one that is nothing.
  vision::TrackingMeter meter;
  const auto at = [](std::int64_t id, double x) { return vision::TrackedBox{id, {x, 0, 10, 10}}; };
  meter.add(std::vector{at(5, 0)}, std::vector{at(1, 0)});
  meter.add(std::vector{at(5, 1)}, std::vector{at(1, 1)});
  meter.add(std::vector{at(5, 2)}, {});
  meter.add(std::vector{at(5, 3)}, std::vector{at(1'000'000'007, 3), at(3, 50)});
  const TrackingCounts counts = meter.result();
  EXPECT_EQ(counts.pictures, 4u);
  EXPECT_EQ(counts.clear_pairs, 3u);
  EXPECT_EQ(counts.switches, 1u);
  EXPECT_EQ(counts.missed(), 1u);
  EXPECT_EQ(counts.wrong(), 1u);
  EXPECT_DOUBLE_EQ(counts.mota(), (3 - 1 - 1) / 4.0);
  EXPECT_DOUBLE_EQ(counts.motp(), 1);
  EXPECT_DOUBLE_EQ(counts.idf1(), 2 * 2 / (4.0 + 4.0));
  EXPECT_NEAR(counts.det_a(), 3 / 5.0, 1e-12);
  // Both pairs of ids: 2 of 4 pictures, and 1 of 4.
  EXPECT_NEAR(counts.ass_a(), (2 * 2 / 4.0 + 1 * 1 / 4.0) / 3, 1e-12);
  EXPECT_NEAR(counts.hota(), std::sqrt(0.6 * 1.25 / 3), 1e-12);
  EXPECT_EQ(vision::TrackingMeter().result().hota(), 0);
  EXPECT_THROW(meter.add(std::vector{at(1, 0), at(1, 5)}, {}), Error);
}

TEST(Overlaps, OfBoxesBeyondNumbersAreNone) {
  const vision::CocoBox large{0, 0, 1e200, 1e200}, small{0, 0, 1e-200, 1e-200};
  EXPECT_EQ(vision::overlap_of(large, large), 0);
  vision::TrackingMeter
      tracks;  // An overlap that is no number is never assigned, and the search for a place does not end.
  for (int picture = 0; picture < 2; ++picture)
    tracks.add(std::vector{vision::TrackedBox{1, large}}, std::vector{vision::TrackedBox{2, large}});
  EXPECT_EQ(tracks.result().clear_pairs, 0u);
  for (const vision::CocoBox& box : {large, small}) {
    vision::CocoTruth truth;
    truth.box = box;
    vision::CocoFound found;
    found.box = box;
    found.score = 0.5;
    CocoMeter meter(CocoMeter::Of::kBoxes);
    meter.add(std::vector{truth}, std::vector{found});
    EXPECT_EQ(meter.result().all.ap50.value_or(-1), 0);
  }
}

TEST(TrackingMeter, RefusesMoreIdsThanATableHolds) {
  vision::TrackingMeter meter;
  for (std::int64_t id = 0; id < 10001; ++id) {
    const std::vector one{vision::TrackedBox{id, {0, 0, 2, 2}}};
    meter.add(one, one);
  }
  EXPECT_THROW(meter.result(), Error);
}

/// The message of what `body` throws.
template <typename Body>
std::string message(Body body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(CocoFiles, SayWhereTheyAreWrong) {
  const std::string head =
      R"({"images":[{"id":1,"width":20,"height":10}],"categories":[{"id":3,"name":"a"}],"annotations":)";
  const auto has = [&](const std::string& text, const std::string& part) {
    const std::string what = message([&] { vision::parse_coco_truth(text, "t.json"); });
    EXPECT_NE(what.find("t.json: "), std::string::npos) << what;
    EXPECT_NE(what.find(part), std::string::npos) << what;
  };
  const auto one = [&](const std::string& rest) { return head + R"([{"image_id":1,"category_id":3)" + rest + "}]}"; };
  has("", "line 1, column 1");
  has("[]", "the document must be an object");
  has(head + R"([{"image_id":2,"category_id":3,"bbox":[1,2,3,4]}]})",
      "annotations[0].image_id must be the id of one of \"images\", found 2");
  has(head + R"([{"image_id":1,"category_id":4,"bbox":[1,2,3,4]}]})", "annotations[0].category_id");
  has(one(""), "\"bbox\" or \"segmentation\"");
  has(one(R"(,"bbox":[1,2,3])"), "annotations[0].bbox must be [x, y, width, height]");
  has(one(R"(,"bbox":[1,2,-3,4])"), "annotations[0].bbox");
  has(one(R"(,"bbox":[1,2,"x",4])"), "annotations[0].bbox[2]");
  has(one(R"(,"bbox":[1,2,3,4],"iscrowd":2)"), "annotations[0].iscrowd");
  has(one(R"(,"segmentation":[[1,2,3,4]])"), "annotations[0].segmentation must be a mask (expected a polygon");
  has(one(R"(,"segmentation":{"size":[10,21],"counts":[210]})"), "[10, 20]");
  has(one(R"(,"segmentation":{"size":[10,20],"counts":[3]})"), "found 3");
  has(one(R"(,"segmentation":{"size":[10,20],"counts":"~"})"), "character");
  has(one(R"(,"segmentation":{"size":[10,20],"counts":"o"})"), "ends within a number");
  has(R"({"images":[{"id":1,"width":2,"height":2},{"id":1,"width":2,"height":2}],"categories":[],"annotations":[]})",
      "images[1].id");
  has(R"({"images":[{"id":1,"width":1e9,"height":2}],"categories":[],"annotations":[]})", "images[0].width");
  const auto truth = vision::parse_coco_truth(one(R"(,"segmentation":{"size":[10,20],"counts":[23,5,172]})"));
  EXPECT_EQ(truth.pictures[0].objects[0].box.x, 2);
  EXPECT_EQ(truth.pictures[0].objects[0].box.y, 3);
  EXPECT_EQ(truth.pictures[0].objects[0].box.height, 5);
  const auto lies = [&](const std::string& text, const std::string& part) {
    const std::string what = message([&] { vision::parse_coco_found(text, truth, "r.json"); });
    EXPECT_NE(what.find(part), std::string::npos) << what;
  };
  lies("{}", "r.json: the document must be a list");
  lies(R"([{"image_id":9,"category_id":3,"bbox":[1,2,3,4],"score":1}])",
       "[0].image_id must be the id of a picture of the ground truth");
  lies(R"([{"image_id":1,"category_id":3,"bbox":[1,2,3,4]}])", "\"score\"");
  lies(R"([{"image_id":1,"category_id":3,"score":1}])", "\"bbox\" or \"segmentation\"");
  EXPECT_EQ(
      vision::parse_coco_found(R"([{"image_id":1,"category_id":8,"bbox":[1,2,3,4],"score":1}])", truth).other_labels,
      1u);
}

TEST(MotFiles, SayFileAndLine) {
  const auto has = [](const std::string& text, const std::string& part, std::size_t most = 0) {
    const std::string what = message([&] { vision::parse_mot(text, "gt.txt", most); });
    EXPECT_NE(what.find(part), std::string::npos) << what;
  };
  has("1,1,0,0,5,5\n2,1,0,0,5\n", "gt.txt:2: expected");
  has("1,1,0,0,5,5\n\n2,1,0,x,5,5\n", "gt.txt:3: column 4 must be a number, found \"x\"");
  has("1,1,0,nan,5,5", "gt.txt:1: column 4");
  has("0,1,0,0,5,5", "gt.txt:1: column 1, the frame, must be a whole number from 1 on, found 0");
  has("1,-1,0,0,5,5", "column 2, the id");
  has("1,1.5,0,0,5,5", "column 2, the id");
  has("1,1,0,0,-5,5", "width and height");
  has("3,1,0,0,5,5\n4,1,0,0,5,5", "gt.txt:2: the frame 4 is beyond the last one, 3", 3);
  has("1e15,1,0,0,5,5", "beyond the last one");
  has("1,1,0,0,5,5\n1,2,0,0,5,5\n1,1,9,9,5,5", "gt.txt:3: the id 1 is in frame 1 already (gt.txt:1)");
  const auto tracks = vision::parse_mot(" 2 7 1.5 2 3 4 1 1 0.5\r\n1,8,1,2,3,4 , 0 ,3\n", "gt.txt");
  ASSERT_EQ(tracks.frames.size(), 2u);
  EXPECT_EQ(tracks.frames[1].at(0).tracked.box.x, 1.5);
  EXPECT_EQ(tracks.frames[0].at(0).class_id, 3);
  EXPECT_TRUE(tracks.has_classes);
  EXPECT_TRUE(vision::parse_mot("", "gt.txt").frames.empty());
}

TEST(YoloFiles, AreReadAndSayFileAndLine) {
  const fs::path folder = fs::temp_directory_path() / ("tenon_yolo_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const auto write = [&](const std::string& name, const std::string& text) { std::ofstream(folder / name) << text; };
  const vision::PictureSizes sizes{{"a", {100, 50}}, {"b", {100, 50}}};
  write("a.txt", "1 0.5 0.5 0.2 0.4\n0 0.1 0.1 0.3 0.1 0.3 0.9 0.1 0.9\n");
  const auto truth = vision::read_yolo_truth(folder.string(), sizes, {"cat", "dog"});
  ASSERT_EQ(truth.pictures.size(), 2u);
  EXPECT_TRUE(truth.pictures[1].objects.empty());
  EXPECT_NEAR(truth.pictures[0].objects[0].box.x, 40, 1e-9);
  EXPECT_NEAR(truth.pictures[0].objects[0].box.height, 20, 1e-9);
  EXPECT_EQ(truth.pictures[0].objects[1].mask.area(), 800u);
  const auto has = [&](const std::string& text, const std::string& part) {
    write("b.txt", text);
    const std::string what = message([&] { vision::read_yolo_truth(folder.string(), sizes, {"cat", "dog"}); });
    EXPECT_NE(what.find(part), std::string::npos) << what;
  };
  has("0 0.5 0.5 0.1 0.1\n2 0.5 0.5 0.1 0.1\n", "b.txt:2: the class 2 has no label");
  has("0 0.5 0.5 0.1\n", "b.txt:1: expected");
  has("0 0.5 0.5 -0.1 1\n", "b.txt:1: width and height");
  has("-1 0.5 0.5 0.1 1\n", "b.txt:1: column 1, the class");
  has("a 0.5 0.5 0.1 1\n", "b.txt:1: column 1 must be a number");
  write("b.txt", "0 0.5 0.5 0.1 0.1 0.75\n5 0.5 0.5 0.1 0.1 0.5\n");
  write("a.txt", "");
  const auto results = vision::read_yolo_found(folder.string(), truth);
  EXPECT_EQ(results.pictures[1].at(0).score, 0.75);
  EXPECT_EQ(results.other_labels, 1u);
  write("c.txt", "");
  EXPECT_NE(
      message([&] { vision::read_yolo_found(folder.string(), truth); }).find("c.txt: the ground truth has no picture"),
      std::string::npos);
  EXPECT_NE(message([&] { vision::read_yolo_truth(folder.string(), sizes, {}); }).find("there is no picture \"c\""),
            std::string::npos);
  fs::remove_all(folder);
  EXPECT_THROW(vision::read_yolo_truth(folder.string(), sizes, {}), Error);
}

TEST(FoundLines, AreReadByStream) {
  const auto frames = vision::parse_found_lines(
      "{\"stream\":0,\"metadata\":[{\"kind\":\"detection\",\"box\":[1,2,3,4],\"score\":0.5,\"label\":\"a\",\"track_"
      "id\":9}]}\n"
      "{\"stream\":1,\"metadata\":[]}\n{\"stream\":0,\"metadata\":[{\"kind\":\"text\"}]}\n",
      "r.jsonl");
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].at(0).track_id, 9);
  EXPECT_TRUE(frames[1].empty());
  EXPECT_NE(message([] {
              vision::parse_found_lines("{\"metadata\":[]}\n{\"metadata\":3}\n", "r.jsonl");
            }).find("r.jsonl:2: metadata must be a list"),
            std::string::npos);
}

}  // namespace metrics_test
