// SPDX-License-Identifier: Apache-2.0
// The element "infer" in real pipelines: the demo's detector on the CPU device and the software NPU, several streams, batches,
// objects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <mutex>
#include <thread>

#include <tenon/core/carried_formats.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/elements/inference/shared_model.hpp>
#include <tenon/elements/inference/testing/inference.hpp>
#include <tenon/frameworks/cpu/pool.hpp>
#include <tenon/runtime/properties.hpp>
#include <tenon/tests/support/error_of.hpp>
#include <tenon/vision/results.hpp>

namespace tenon::elements {
namespace infer_test {

using ::testing::HasSubstr;
using namespace std::chrono_literals;
using namespace inference_test;

TEST_F(Inference, FindsWhatARequestFindsAndCopiesNothing) {
  const auto stats = run({{{"clip"}, infer({{"zero_copy", "require"}}), {"keep"}}});
  expect_same(arrived[0], by_hand(12), 0.01f);
  EXPECT_EQ(of(stats, "infer").moved.copied, 0u);
  EXPECT_EQ(of(stats, "infer").moved.converted, 12u * 1280 * 720 * 3 / 2);
  EXPECT_EQ(of(stats, "infer").frames_out, 12u);
}

TEST_F(Inference, OfStreamsOfDifferentSizesKeepsTheirOrder) {
  const auto stats = run({{{"clip", "wide", {{"frames", "10"}}},
                           {"clip", "small", {{"part", "640x400+100+80"}, {"frames", "14"}}},
                           infer({{"requests", "3"}}, {"wide", "small"}),
                           {"keep"}}});
  expect_same(arrived[0], by_hand(10), 0.01f);
  expect_same(arrived[1], by_hand(14, "640x400+100+80"), 0.01f);
  EXPECT_EQ(of(stats, "infer").moved.copied, 0u);
}

TEST_F(Inference, JoinsFramesOfSeveralStreamsInBatchesWithoutACopy) {
  const auto stats = run({{{"clip", "wide", {{"frames", "9"}}},
                           {"clip", "small", {{"part", "640x400+100+80"}, {"frames", "6"}}},
                           infer({{"batch", "4"}, {"requests", "2"}, {"zero_copy", "require"}}, {"wide", "small"}),
                           {"keep"}}});
  expect_same(arrived[0], by_hand(9), 0.5f);
  expect_same(arrived[1], by_hand(6, "640x400+100+80"), 0.5f);
  EXPECT_EQ(of(stats, "infer").moved.copied, 0u);
}

TEST_F(Inference, EndsAStreamWithWhatIsLeftOfItAndOpensItAgain) {
  const auto element = make({{"batch", "4"}, {"max_delay_ms", "100000"}});
  Collected out;
  ffmpeg::Video video = open_clip();
  for (const std::size_t round : {1u, 2u}) {
    element->open(0, {video.info(), 30, false});
    element->process({0, *video.read()}, out);
    EXPECT_EQ(out.items.size(), round - 1);
    element->end(0, out);
    EXPECT_EQ(out.items.size(), round);
  }
}

TEST_F(Inference, GivesFramesBackWhenTheirResultsAreThere) {
  const auto element = make({{"requests", "2"}});
  Collected out;
  FrameInfo info;
  info.format = kNv12;
  info.width_px = 640, info.height_px = 360;
  cpu::FramePool pool(info, {}, 4);
  element->open(0, {info, 30, false});
  for (int i = 0; i < 4; ++i) element->process({0, pool.acquire()}, out);
  element->end(0, out);
  ASSERT_EQ(out.items.size(), 4u);
  EXPECT_EQ(pool.pool().idle(), 0u);
  out.items.clear();
  EXPECT_EQ(pool.pool().idle(), 4u) << "a request that waits for its next turn holds a frame";
}

TEST_F(Inference, LeavesOutObjectsWhosePlaceIsNoNumber) {
  const TemporaryFolder folder;
  const auto element = make({{"model", mean_model(folder)}, {"on", "objects"}});
  Collected out;
  FrameInfo info;
  info.format = kNv12;
  info.width_px = 64, info.height_px = 48;
  Frame frame = Frame::allocate(info);
  const float none = std::numeric_limits<float>::quiet_NaN();
  for (const metadata::Box& box : {metadata::Box{0, 0, none, 40}, metadata::Box{none, none, none, none}})
    metadata::of(frame).add(metadata::Detection{box, "a", 0, 0.9f, -1});
  element->open(0, {info, 30, false});
  element->process({0, frame}, out);
  element->end(0, out);
  ASSERT_EQ(out.items.size(), 1u);
  EXPECT_TRUE(metadata::find(out.items[0].frame)->all<metadata::TensorOutput>().empty());
}

class Cascades : public Inference, public ::testing::WithParamInterface<const char*> {};

TEST_P(Cascades, ReadObjectsWhereTheyLieInTheFrame) {
  const TemporaryFolder folder;
  const std::string path = mean_model(folder);
  const auto stats =
      run({{{"clip", "wide", {{"frames", "5"}}},
            {"clip", "small", {{"part", "640x400+100+80"}, {"frames", "5"}}},
            {"marking", "", {}, {"wide", "small"}},
            infer({{"model", path}, {"on", "objects"}, {"labels", "a"}, {"min_size", "4"}, {"batch", GetParam()}}),
            {"keep"}}});
  EXPECT_EQ(of(stats, "infer").moved.copied, 0u);
  Core core;
  InferRequest request = core.compile_model(path, "CPU").create_infer_request();
  for (std::uint32_t stream = 0; stream < 2; ++stream) {
    ASSERT_EQ(arrived[stream].size(), 5u);
    for (const Frame& frame : arrived[stream]) {
      const auto known = metadata::find(frame);
      const auto tensors = known->all<metadata::TensorOutput>();
      ASSERT_EQ(tensors.size(), 1u) << "one object of label a is large enough";
      const auto objects = known->all<metadata::Detection>();
      EXPECT_EQ(tensors[0].parent, objects[0].id);
      EXPECT_EQ(tensors[0]->model, "mean");
      // The same pixels, cut out by whole samples of chroma.
      const metadata::Box box = objects[0]->box;
      const auto x1 = static_cast<std::uint32_t>(box.x1), y1 = 8u;
      const auto x2 = static_cast<std::uint32_t>(std::ceil(box.x2));
      request.set_frame(crop(frame, x1 / 2 * 2, y1, x2 - x1 / 2 * 2, 77 - y1));
      request.infer();
      const float* wanted = request.get_output_tensor().data<float>();
      const float* found = tensors[0]->tensor.data<float>();
      for (int c = 0; c < 3; ++c) EXPECT_NEAR(found[c], wanted[c], 4) << c;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Batches, Cascades, ::testing::Values("1", "3"));

TEST_F(Inference, ASecondModelSeesTheObjectsThatTheFirstFound) {
  const TemporaryFolder folder;
  PipelineSpec spec{{{"clip"},
                     infer({}),
                     {"track"},
                     {"infer",
                      "colour",
                      {{"model", mean_model(folder)}, {"on", "objects"}, {"labels", "circle,star"}, {"batch", "4"}}},
                     {"keep"}}};
  const auto stats = run(spec);
  EXPECT_EQ(stats[3].moved.copied, 0u);
  ASSERT_EQ(arrived[0].size(), 12u);
  std::size_t colours = 0;
  for (const Frame& frame : arrived[0]) {
    const auto known = metadata::find(frame);
    for (const auto& object : known->all<metadata::Detection>()) {
      const bool is_wanted = object->label == "circle" || object->label == "star";
      EXPECT_EQ(known->of<metadata::TensorOutput>(object.id).size(), is_wanted ? 1u : 0u);
      EXPECT_TRUE(object->track_id >= 1 || object->score < 0.5f) << "only weak objects are without an id";
      colours += is_wanted;
    }
  }
  EXPECT_GT(colours, 12u);
}

TEST_F(Inference, AModelThatKeepsStateHasARequestForEachStream) {
  run({{{"clip", "wide", {{"frames", "20"}}},
        {"clip", "late", {{"frames", "12"}}},
        infer({{"model", model_file("motion.xml")}}, {"wide", "late"}),
        {"keep"}}});
  const auto wanted = by_hand(20, "", "motion.xml");
  expect_same(arrived[0], wanted, 0.01f);
  expect_same(arrived[1], {wanted.begin(), wanted.begin() + 12}, 0.01f);
}

TEST_F(Inference, WithoutDecodingGivesTensorsThatStay) {
  run({{{"clip"}, infer({{"decode", "none"}}), {"keep"}}});
  ASSERT_EQ(arrived[0].size(), 12u);
  const auto graph = Core().read_model(model_file("demo.onnx"));
  const auto wanted = by_hand(12);
  for (std::size_t i = 0; i < 12; ++i) {
    const auto tensors = metadata::find(arrived[0][i])->all<metadata::TensorOutput>();
    ASSERT_EQ(tensors.size(), 1u);
    const auto found = vision::detections(tensors[0]->tensor, vision::decode_options(*graph, arrived[0][i].info()));
    EXPECT_EQ(found.size(), wanted[i].size()) << i;
  }
}

TEST_F(Inference, OfEveryThirdFrameLetsTheOthersPass) {
  run({{{"clip"}, infer({{"interval", "3"}}), {"keep"}}});
  ASSERT_EQ(arrived[0].size(), 12u);
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(vision::detections(arrived[0][i]).empty(), i % 3 != 0) << i;
    const auto known = metadata::find(arrived[0][i]);
    EXPECT_EQ(known && known->first<metadata::NotLookedAt>(), i % 3 != 0) << i;
  }
}

/// A detector with suppression inside that says nothing of itself: one row, whose score is the largest value of the input.
std::shared_ptr<Model> one_row() {
  const auto image = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 3, 64, 64});
  image->output(0).set_names({"images"});
  const auto real = [](const Shape& shape, const std::vector<float>& values) {
    return op::v0::Constant::create(element::f32, shape, values);
  };
  const auto axes = op::v0::Constant::create(element::i64, Shape{3}, {1, 2, 3});
  const auto most = std::make_shared<op::v1::ReduceMax>(image->output(0), axes->output(0), false);
  const auto extents = op::v0::Constant::create(element::i64, Shape{3}, {1, 1, 1});
  const auto score = std::make_shared<op::v1::Reshape>(most->output(0), extents->output(0), false);
  const auto box = real(Shape{1, 1, 4}, {0, 16, 64, 48}), label = real(Shape{1, 1, 1}, {1});
  const auto rows =
      std::make_shared<op::v0::Concat>(OutputVector{box->output(0), score->output(0), label->output(0)}, 2);
  return std::make_shared<Model>(OutputVector{rows->output(0)}, ParameterVector{image}, "yolo");
}

/// Its export as Ultralytics' 8.3 writes it for OpenVINO.
std::string ultralytics_export(const TemporaryFolder& folder) {
  const auto made = one_row();
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"model_type", "YOLO"},
                                                        {"reverse_input_channels", "YES"},
                                                        {"pad_value", "114"},
                                                        {"scale_values", "255"},
                                                        {"iou_threshold", "0.7"},
                                                        {"resize_type", "fit_to_window_letterbox"}})
    made->set_rt_info(value, {"model_info", key});
  std::string path = (folder.path() / "yolo.xml").string();
  serialize(*made, path);
  std::ofstream(folder.path() / "metadata.yaml")
      << "author: Ultralytics\nstride: 32\ntask: detect\nimgsz:\n- 64\n- 64\nnames:\n  0: person\n  1: traffic light\n"
         "args:\n  nms: true\n";
  return path;
}

/// Runs `element` on a white frame of 128x64 and expects what the detector finds in it. @return The frame.
template <typename ElementPointer>
Frame expect_white_found(const ElementPointer& element, PixelFormat format, bool opens = true) {
  Frame white = Frame::allocate({format, 128, 64});
  for (std::size_t y = 0; y < 64; ++y)
    std::memset(static_cast<std::uint8_t*>(white.plane(0).data()) + y * white.plane(0).byte_strides()[0], 255,
                plane_extent(white.info(), 0).row_bytes);
  Collected out;
  if (opens) element->open(0, {white.info(), 30, false});
  element->process({0, white}, out);
  element->end(0, out);
  EXPECT_EQ(out.items.size(), 1u);
  const auto found = vision::detections(out.items.at(0).frame);
  EXPECT_EQ(found.size(), 1u) << to_string(format);
  if (found.empty()) return out.items[0].frame;
  EXPECT_EQ(found[0].label, "traffic light");
  EXPECT_NEAR(found[0].score, 1, 1e-3) << "white is 1, not 255";
  EXPECT_NEAR(found[0].box.x2, 128, 0.01);
  EXPECT_NEAR(found[0].box.y1, 0, 0.01) << "the letterbox begins at row 16";
  EXPECT_NEAR(found[0].box.y2, 64, 0.01);
  return out.items[0].frame;
}

TEST_F(Inference, OfUltralyticsExportsNeedsNoOptions) {
  const TemporaryFolder folder;
  for (const PixelFormat format : {kGray8, kGray16, kRgb24})
    expect_white_found(make({{"model", ultralytics_export(folder)}}), format);
}

/// A model of pictures of any size, whose output is its input.
std::string same_size_model(const TemporaryFolder& folder, const std::string& layout) {
  const bool is_planar = layout == "NCHW";
  const auto x = std::make_shared<op::v0::Parameter>(
      element::f32, is_planar ? PartialShape{1, 3, 32, 32} : PartialShape{1, 32, 32, 3});
  x->set_friendly_name("x");
  Model made(OutputVector{std::make_shared<op::v0::Relu>(x)->output(0)}, ParameterVector{x}, "same");
  made.set_rt_info(layout, {"model_info", "layout"});
  std::string path = (folder.path() / ("same_" + layout + ".xml")).string();
  serialize(made, path);
  return path;
}

TEST_F(Inference, GivesAModelTheSizeOfTheFrames) {
  const TemporaryFolder folder;
  const auto shape_after = [&](std::map<std::string, std::string> given, FrameInfo info) {
    const auto element = make(std::move(given));
    StreamInfo unknown;
    unknown.frame.format = info.format;
    element->wanted(unknown);  // A source that has not said yet how large its frames are.
    element->open(0, {info, 30, false});
    Collected out;
    element->process({0, Frame::allocate(info)}, out);
    element->end(0, out);
    return metadata::find(out.items.at(0).frame)->first<metadata::TensorOutput>()->tensor.shape();
  };
  FrameInfo turned{kRgb24, 64, 48};
  turned.rotation = Rotation::k90;
  for (const char* batch : {"1", "2"}) {
    const std::string planar = same_size_model(folder, "NCHW"), packed = same_size_model(folder, "NHWC");
    const auto of = [&](const std::string& model, const char* shape) {
      return std::map<std::string, std::string>{
          {"model", model}, {"decode", "none"}, {"shape", shape}, {"batch", batch}};
    };
    EXPECT_EQ(shape_after(of(planar, "frame"), {kRgb24, 64, 48}), (Shape{1, 3, 48, 64}));
    EXPECT_EQ(shape_after(of(packed, "frame"), {kRgb24, 64, 48}), (Shape{1, 48, 64, 3}));
    EXPECT_EQ(shape_after(of(planar, "frame"), turned), (Shape{1, 3, 64, 48})) << "models see pictures upright";
    EXPECT_EQ(shape_after(of(packed, "80x40"), {kRgb24, 64, 48}), (Shape{1, 40, 80, 3}));
    EXPECT_EQ(shape_after(of(planar, "[1,3,40,80]"), {kRgb24, 64, 48}), (Shape{1, 3, 40, 80}));
  }
  const auto error = [&](const char* shape) {
    const auto element = make({{"model", same_size_model(folder, "NCHW")}, {"shape", shape}});
    return error_of([&] { element->open(0, StreamInfo{}); });
  };
  EXPECT_THAT(error("frame").what(), HasSubstr("shape=frame, and the source does not say"));
  EXPECT_THAT(error("64x").what(), HasSubstr("\"64x\" is neither WIDTHxHEIGHT"));
}

TEST_F(Inference, TakesByHandWhatAModelDoesNotSay) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "bare.xml").string(), file = (folder.path() / "about.yaml").string();
  serialize(*one_row(), path);
  expect_white_found(make({{"model", path},
                           {"decode", "YOLOv10"},
                           {"scale", "255"},
                           {"mean", "0,0,0"},
                           {"resize", "fit_to_window_letterbox"},
                           {"color_space", "BGR"},
                           {"facts", "pad_value=114;interpolation=linear"},
                           {"model_labels", "person,traffic light"}}),
                     kRgb24);
  std::ofstream(file) << "stride: 32\ntask: detect\nnames: {0: person, 1: traffic light}\nargs: {nms: true}\n";
  expect_white_found(make({{"model", path}, {"side_file", file}}), kRgb24);
  EXPECT_THAT(error_of([&] {
                make({{"model", path}, {"mean", "x"}});
              }).what(),
              HasSubstr("mean: mean_values is \"x\""));
  EXPECT_THAT(error_of([&] {
                make({{"model", path}, {"pad_value", "114 256 0"}});
              }).what(),
              HasSubstr("pad_value: pad_value is \"114 256 0\"; it must be from 0 to 255"));
  EXPECT_THAT(error_of([&] { make({{"model", path}, {"facts", "mean=1"}}); }).what(), HasSubstr("there are layout"));
  const auto damaged = make({{"model", path}, {"side_file", path}});
  EXPECT_THAT(error_of([&] {
                damaged->open(0, {FrameInfo{kRgb24, 128, 64}, 30, false});
              }).what(),
              HasSubstr("side file"));
}

TEST_F(Inference, SaysOnceWhatSourcesContradict) {
  const TemporaryFolder folder;
  const auto element = make({{"model", ultralytics_export(folder)}});
  std::ofstream(folder.path() / "yolo.xml.modelinfo")
      << "[modelinfo]\nversion=1.0\n[images]\ndir=input\nranges=0.0,255.0\n";
  const auto remarks = [](const Frame& frame) { return metadata::find(frame)->all<vision::ModelRemark>(); };
  const auto said = remarks(expect_white_found(element, kRgb24));
  ASSERT_EQ(said.size(), 1u);
  EXPECT_THAT(said[0]->text,
              testing::AllOf(HasSubstr("scale_values is 255 in model_info and 1 in"), HasSubstr("model_info counts")));
  EXPECT_TRUE(remarks(expect_white_found(element, kRgb24, false)).empty());
}

TEST_F(Inference, AFrameThatTheModelCannotReadFailsItsStreamOnly) {
  register_element({"odd", "Frames of a format that no input stage reads", Role::kSource},
                   [](const Parameters&, const Environment&) -> AnyElement {
                     class Odd final : public Source {
                       StreamInfo open(Deadline) override { return {}; }
                       std::optional<Frame> read(Deadline) override {
                         FrameInfo info;
                         info.format = kRgb565;
                         info.width_px = info.height_px = 64;
                         return Frame::allocate(info);
                       }
                     };
                     return std::make_unique<Odd>();
                   });
  PipelineSpec spec{{{"clip"}, {"odd"}, infer({}, {"clip", "odd"}), {"keep"}}};
  spec.on_error = OnError::kEnd;
  Pipeline pipeline(spec);
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(Clock::now() + 100s));
  ASSERT_EQ(pipeline.failures().size(), 1u);
  EXPECT_EQ(pipeline.failures()[0].stream, 1u);
  EXPECT_EQ(pipeline.failures()[0].node, "infer");
  expect_same(arrived[0], by_hand(12), 0.01f);
}

TEST_F(Inference, StopsInTheMiddle) {
  Pipeline pipeline({{{"clip", "", {{"frames", "100000"}}}, infer({}), {"keep"}}});
  pipeline.start();
  for (int i = 0; i < 600 && pipeline.stats()[1].frames_out < 3; ++i) std::this_thread::sleep_for(100ms);
  const auto begin = Clock::now();
  pipeline.stop(begin + 20s);
  EXPECT_LT(Clock::now() - begin, 20s);
  const std::lock_guard lock(mutex);
  EXPECT_GE(arrived[0].size(), 3u);
}

TEST_F(Inference, RefusesWhatItCannotDoByName) {
  const auto message = [](const Texts& parameters) {
    return std::string(error_of([&] {
                         const auto element = make(parameters);
                         FrameInfo info;
                         info.format = kNv12;
                         info.width_px = 640, info.height_px = 480;
                         element->open(0, {info, 30, false});
                       }).what());
  };
  EXPECT_THAT(message({{"model", "/none.onnx"}}), HasSubstr("element 'it' (infer): there is no model \"/none.onnx\""));
  EXPECT_THAT(message({{"device", "TPU"}}), HasSubstr("TPU"));
  EXPECT_THAT(message({{"decode", "YOLO77"}}), HasSubstr("YOLOX"));
  EXPECT_THAT(message({{"properties", "NUM_STREAMS"}}), HasSubstr("is not KEY=VALUE"));
  EXPECT_THAT(message({{"labels_file", "/none.txt"}}), HasSubstr("/none.txt"));
  EXPECT_THAT(message({{"model", model_file("motion.xml")}, {"requests", "4"}}), HasSubstr("keeps state"));
  EXPECT_THAT(message({{"model", model_file("motion.xml")}, {"batch", "2"}}), HasSubstr("keeps state"));
  EXPECT_THAT(message({{"modle", "x"}}), HasSubstr("did you mean 'model'"));
}

TEST_F(Inference, OnTheNpuReadsTheDecodersBufferInPlace) {
  if (!std::getenv("ZE_ENABLE_ALT_DRIVERS")) GTEST_SKIP() << "the software NPU was not built";
  const auto stats = run({{{"clip"}, infer({{"device", "NPU"}, {"zero_copy", "require"}}), {"keep"}}});
  EXPECT_EQ(of(stats, "infer").moved.copied, 0u);
  expect_same(arrived[0], by_hand(12), 1.0f);
}

TEST_F(Inference, OnTheNpuBatchesAreWrittenIntoItsMemory) {
  if (!std::getenv("ZE_ENABLE_ALT_DRIVERS")) GTEST_SKIP() << "the software NPU was not built";
  const auto stats = run({{{"clip", "one", {{"frames", "4"}}},
                           {"clip", "two", {{"frames", "4"}, {"part", "640x400+100+80"}}},
                           infer({{"device", "NPU"}, {"batch", "2"}, {"zero_copy", "require"}}, {"one", "two"}),
                           {"keep"}}});
  EXPECT_EQ(of(stats, "infer").moved.copied, 0u);
  expect_same(arrived[0], by_hand(4), 1.0f);
  expect_same(arrived[1], by_hand(4, "640x400+100+80"), 1.0f);
}

TEST_F(Inference, FollowsAStreamWhoseFramesChangeTheirSize) {
  const std::string part = "640x400+100+80";
  const auto whole = by_hand(8), small = by_hand(8, part);
  for (const char* batch : {"1", "2"}) {
    const auto element = make({{"batch", batch}});
    Collected out;
    ffmpeg::Video video = open_clip();
    element->open(0, {video.info(), 30, false});
    for (int i = 0; i < 8; ++i) element->process({0, part_of(*video.read(), i % 4 < 2 ? "" : part)}, out);
    element->end(0, out);
    ASSERT_EQ(out.items.size(), 8u);
    for (std::size_t i = 0; i < 8; ++i)
      EXPECT_EQ(vision::detections(out.items[i].frame).size(), (i % 4 < 2 ? whole : small)[i].size()) << i;
  }
}

TEST(SharedModels, OfEqualSettingsAreOne) {
  inference::ModelSettings settings;
  settings.model = model_file("demo.onnx");
  settings.device = "CPU";
  settings.zero_copy = "prefer";
  const auto one = inference::share_model(settings, std::nullopt, nullptr),
             two = inference::share_model(settings, std::nullopt, nullptr);
  EXPECT_EQ(one, two);
  settings.properties = "NUM_STREAMS=1";
  const auto other = inference::share_model(settings, std::nullopt, nullptr);
  EXPECT_NE(one, other);
  EXPECT_EQ(one->core, other->core);
}

}  // namespace infer_test
}  // namespace tenon::elements
