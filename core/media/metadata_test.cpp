// SPDX-License-Identifier: Apache-2.0
// Metadata of frames: types, parents, sharing by copies and maps, crops, batches, threads, JSON.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include <tenon/core/host.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/router.hpp>

namespace media_metadata_test {

using namespace tenon;
using metadata::Box;
using metadata::Classification;
using metadata::Collection;
using metadata::Detection;

Frame nv12() { return Frame::allocate({kNv12, 64, 48}); }

/// A user-defined type.
struct Weather {
  static constexpr metadata::Kind kKind{"test.weather"};
  double degrees = 0;
};

TEST(Metadata, HoldsValuesOfAnyTypeInOrder) {
  Collection known;
  const metadata::Id car = known.add(Detection{{1, 2, 3, 4}, "car", 7, 0.5f, 3});
  const metadata::Id red = known.add(Classification{"red", 1, 0.9f, "colours"}, car);
  known.add(Classification{"day", 0, 1, "light"});
  known.add(Weather{21.5});
  ASSERT_EQ(known.all<Detection>().size(), 1u);
  EXPECT_EQ(*known.all<Detection>()[0].value, (Detection{{1, 2, 3, 4}, "car", 7, 0.5f, 3}));
  ASSERT_EQ(known.all<Classification>().size(), 2u);
  ASSERT_EQ(known.of<Classification>(car).size(), 1u);
  EXPECT_EQ(known.of<Classification>(car)[0].id, red);
  EXPECT_EQ(known.of<Classification>(metadata::kFrame)[0]->label, "day");
  EXPECT_EQ(known.first<Weather>()->degrees, 21.5);
  EXPECT_EQ(known.first<metadata::Json>(), nullptr);
  EXPECT_EQ(known.size(), 4u);
}

TEST(Metadata, MergesWhatTwoCopiesLearned) {
  Collection first;
  const metadata::Id car = first.add(Detection{{1, 2, 3, 4}, "car", 7, 0.5f, -1});
  first.add(Detection{{1, 2, 3, 4}, "car", 7, 0.5f, -1});  // Twice the same.
  first.add(metadata::TensorOutput{Tensor(ElementType::kF32, {2}), "features", "m", ""}, car);
  first.add(Weather{21.5});
  const auto second = first.copy();
  first.add(Classification{"red", 1, 0.9f, "colours"}, car);
  second->replace(car, Detection{{1, 2, 3.01f, 4}, "car", 7, 0.5f, 12});
  const metadata::Id plate = second->add(Detection{{1, 1, 2, 2}, "plate", 9, 0.75f}, car);
  second->add(Classification{"B-TN 1", 0, 1, "text"}, plate);
  second->add(Classification{"day", 0, 1, "light"});

  first.merge(*second);
  first.merge(*second);  // All of it is there now.
  first.merge(first);
  ASSERT_EQ(first.all<Detection>().size(), 3u);
  EXPECT_EQ(first.all<Detection>()[0].id, car);
  EXPECT_EQ(*first.all<Detection>()[0].value, (Detection{{1, 2, 3, 4}, "car", 7, 0.5f, 12})) << "it has a track now";
  EXPECT_EQ(first.all<Detection>()[1]->track_id, -1);
  const auto found = first.all<Detection>()[2];
  EXPECT_EQ(found->label, "plate");
  EXPECT_EQ(found.parent, car);
  ASSERT_EQ(first.of<Classification>(found.id).size(), 1u);
  EXPECT_EQ(first.of<Classification>(found.id)[0]->label, "B-TN 1");
  EXPECT_EQ(first.of<Classification>(car).size(), 1u);
  EXPECT_EQ(first.of<Classification>(metadata::kFrame).size(), 1u);
  EXPECT_EQ(first.all<metadata::TensorOutput>().size(), 1u) << "the same memory";
  EXPECT_EQ(first.all<Weather>().size(), 1u) << "the same object, of a type that cannot be compared";
  EXPECT_EQ(first.size(), 8u);
  for (std::size_t i = 1; i < 3; ++i) EXPECT_LT(first.all<Detection>()[i - 1].id, first.all<Detection>()[i].id);
}

TEST(Metadata, MergesCollectionsThatHaveOtherIds) {
  Collection first, second;
  first.add(metadata::NotLookedAt{"m"});
  const metadata::Id a = first.add(Detection{{0, 0, 9, 9}, "a", 0, 0.5f});
  const metadata::Id b = second.add(Detection{{5, 5, 9, 9}, "b", 1, 0.5f});
  second.add(Classification{"of b", 0, 1, "m"}, b);
  const metadata::Id same = second.add(Detection{{0, 0, 9, 9}, "a", 0, 0.5f});
  second.add(Classification{"of a", 0, 1, "m"}, same);
  first.merge(second);
  ASSERT_EQ(first.all<Detection>().size(), 2u);
  ASSERT_EQ(first.of<Classification>(a).size(), 1u);
  EXPECT_EQ(first.of<Classification>(a)[0]->label, "of a");
  EXPECT_EQ(first.of<Classification>(first.all<Detection>()[1].id)[0]->label, "of b");
  EXPECT_EQ(second.size(), 4u) << "it is only read";
}

TEST(Metadata, KnowsWhatBelongsToWhat) {
  Collection known;
  const metadata::Id car = known.add(Detection{});
  const metadata::Id plate = known.add(Detection{}, car);
  known.add(Classification{"B-TN 1", 0, 1, "text"}, plate);
  const metadata::Id other = known.add(Detection{});
  EXPECT_THROW(known.add(Classification{}, 99), Error);
  EXPECT_TRUE(known.remove(car));
  EXPECT_FALSE(known.remove(car));
  EXPECT_FALSE(known.remove(metadata::kFrame));
  ASSERT_EQ(known.size(), 1u);
  EXPECT_EQ(known.all<Detection>()[0].id, other);
  EXPECT_TRUE(known.replace(other, Detection{{}, "new", 1, 1, -1}));
  EXPECT_FALSE(known.replace(other, Classification{})) << "another type";
  EXPECT_EQ(known.first<Detection>()->label, "new");
  known.clear();
  EXPECT_TRUE(known.empty());
}

TEST(Metadata, IsSharedByCopiesAndMaps) {
  Frame frame = nv12();
  EXPECT_EQ(metadata::find(frame), nullptr);
  metadata::of(frame).add(metadata::Source{"rtsp://door", 2, 17});
  const Frame copy = frame;
  Router router;
  router.add(host_context());
  const Frame mapped = router.map(frame, host_context());
  metadata::of(frame).add(Detection{{0, 0, 1, 1}, "cat", 0, 1, -1});
  for (const Frame& each : {copy, mapped}) {
    ASSERT_NE(metadata::find(each), nullptr);
    EXPECT_EQ(metadata::find(each)->first<metadata::Source>()->sequence, 17u);
    EXPECT_EQ(metadata::find(each)->first<Detection>()->label, "cat");
  }
}

TEST(Metadata, StaysWithEachFrameOfABatch) {
  Frame first = nv12(), second = nv12();
  metadata::of(first).add(metadata::Source{"a", 0, 1});
  metadata::of(second).add(metadata::Source{"b", 1, 1});
  Frame batch({first, second});
  metadata::of(batch).add(metadata::Json{"{}"});
  Router router;
  router.add(host_context());
  const Frame mapped = router.map(batch, host_context());
  EXPECT_EQ(metadata::find(mapped.batch()[0])->first<metadata::Source>()->uri, "a");
  EXPECT_EQ(metadata::find(mapped.batch()[1])->first<metadata::Source>()->uri, "b");
  EXPECT_NE(metadata::find(mapped)->first<metadata::Json>(), nullptr);
}

TEST(Metadata, FollowsCrops) {
  Frame frame = nv12();
  Collection& known = metadata::of(frame);
  const metadata::Id inside = known.add(Detection{{20, 20, 30, 30}, "inside", 0, 1, -1});
  known.add(Classification{"kept", 0, 1, ""}, inside);
  known.add(Detection{{10, 10, 20, 40}, "cut", 0, 1, -1});
  const metadata::Id outside = known.add(Detection{{0, 0, 8, 8}, "outside", 0, 1, -1});
  known.add(Classification{"dropped", 0, 1, ""}, outside);
  known.add(metadata::Source{"camera", 0, 5});
  known.add(Weather{1});
  frame.set_timestamp_ns(99);
  const Frame part = crop(frame, 16, 16, 32, 16);
  EXPECT_EQ(part.timestamp_ns(), 99);
  EXPECT_EQ(part.plane(0).memory(), frame.plane(0).memory()) << "copied";
  const auto found = metadata::find(part);
  ASSERT_NE(found, nullptr);
  const auto detections = found->all<Detection>();
  ASSERT_EQ(detections.size(), 2u);
  EXPECT_EQ(detections[0]->box, (Box{4, 4, 14, 14}));
  EXPECT_EQ(detections[0].id, inside);
  EXPECT_EQ(detections[1]->box, (Box{0, 0, 4, 16}));
  ASSERT_EQ(found->all<Classification>().size(), 1u);
  EXPECT_EQ(found->all<Classification>()[0]->label, "kept");
  EXPECT_EQ(found->first<metadata::Source>()->sequence, 5u);
  EXPECT_NE(found->first<Weather>(), nullptr);
  // The metadata of the whole image is unchanged, and later changes are separate.
  EXPECT_EQ(metadata::find(frame)->all<Detection>().size(), 3u);
  known.clear();
  EXPECT_EQ(found->all<Detection>().size(), 2u);
}

TEST(Metadata, MasksFollowCropsByWholeCells) {
  Frame frame = nv12();
  Tensor mask(element::u8, {4, 4});
  for (std::uint8_t i = 0; i < 16; ++i) mask.data<std::uint8_t>()[i] = i;
  metadata::of(frame).add(metadata::Segmentation{{0, 0, 64, 48}, mask, {"sky"}});
  const auto found = metadata::find(crop(frame, 20, 12, 20, 12))->first<metadata::Segmentation>();
  ASSERT_NE(found, nullptr);
  // Cells are 16 x 12: columns 1 and 2, row 1.
  EXPECT_EQ(found->mask.shape(), (Shape{1, 2}));
  EXPECT_EQ(*static_cast<const std::uint8_t*>(found->mask.data()), 5);
  EXPECT_EQ(found->box, (Box{-4, 0, 28, 12}));
}

TEST(Metadata, PointsFollowCrops) {
  Frame frame = nv12();
  Tensor where(element::f32, {2, 3});
  const float values[] = {20, 13.5f, 0.5f, 4, 40, 1};
  std::copy_n(values, 6, where.data<float>());
  metadata::of(frame).add(metadata::TensorOutput{where, "points", "pose", "keypoints"});
  metadata::of(frame).add(metadata::TensorOutput{where, "vector", "reid", "embedding"});
  const auto found = metadata::find(crop(frame, 16, 12, 32, 16))->all<metadata::TensorOutput>();
  ASSERT_EQ(found.size(), 2u);
  const float* const points = found[0]->tensor.data<float>();
  EXPECT_EQ(std::vector<float>(points, points + 6), (std::vector<float>{4, 1.5f, 0.5f, -12, 28, 1}));
  EXPECT_EQ(where.data<float>()[0], 20) << "the whole picture's";
  EXPECT_EQ(found[1]->tensor.data(), where.data()) << "numbers that are no places";
}

TEST(Metadata, FollowsCropsOfPicturesThatLieOtherwise) {
  // One pixel of the stored picture, followed by hand: its place in the upright picture is a detection, and stays one in the crop.
  for (unsigned r = 0; r < 8; ++r) {
    const auto rotation = static_cast<Rotation>(r);
    Frame frame = Frame::allocate({kGray8, 8, 6, ColourSpace::kUnknown, ColourRange::kUnknown, rotation});
    const auto upright_place = [rotation](float x, float y, float width, float height) {
      if (is_mirrored(rotation)) x = width - 1 - x;
      for (unsigned turn = 0; turn < degrees(rotation); turn += 90, std::swap(width, height)) {
        const float next = height - 1 - y;
        y = x, x = next;
      }
      return Box{x, y, x + 1, y + 1};
    };
    const Box whole = upright_place(5, 3, 8, 6);
    metadata::of(frame).add(Detection{whole, "pixel", 0, 1, -1});
    Tensor mask(element::u8, {1, 1}), points(element::f32, {1, 2});
    points.data<float>()[0] = whole.x1, points.data<float>()[1] = whole.y1;
    metadata::of(frame).add(metadata::Segmentation{whole, mask, {}});
    metadata::of(frame).add(metadata::TensorOutput{points, "points", "pose", "keypoints"});
    const Frame part = crop(frame, 4, 1, 3, 4);
    const Box wanted = upright_place(1, 2, 3, 4);
    const auto found = metadata::find(part);
    ASSERT_EQ(found->all<Detection>().size(), 1u) << to_string(rotation);
    EXPECT_EQ(found->first<Detection>()->box, wanted) << to_string(rotation);
    EXPECT_EQ(found->first<metadata::Segmentation>()->box, wanted) << to_string(rotation);
    EXPECT_EQ(found->first<metadata::TensorOutput>()->tensor.data<float>()[0], wanted.x1) << to_string(rotation);
    EXPECT_EQ(found->first<metadata::TensorOutput>()->tensor.data<float>()[1], wanted.y1) << to_string(rotation);
  }
}

TEST(Metadata, JsonLinesStateTheUprightSizeAndTheRotation) {
  const auto line = [](Rotation rotation) {
    return metadata::json_line(Frame::allocate({kGray8, 8, 6, ColourSpace::kUnknown, ColourRange::kUnknown, rotation}));
  };
  EXPECT_EQ(line(Rotation::kNone), R"({"format":"gray8","width":8,"height":6,"metadata":[]})");
  EXPECT_EQ(line(Rotation::k90), R"({"format":"gray8","width":6,"height":8,"rotation":90,"metadata":[]})");
  EXPECT_EQ(line(Rotation::kMirrored), R"({"format":"gray8","width":8,"height":6,"mirrored":true,"metadata":[]})");
  EXPECT_EQ(line(Rotation::kMirrored270),
            R"({"format":"gray8","width":6,"height":8,"rotation":270,"mirrored":true,"metadata":[]})");
}

TEST(Crop, KeepsTheColoursOfTheWholePicture) {
  const Frame whole = Frame::allocate({kNv12, 1280, 720});
  const Frame part = crop(crop(whole, 0, 0, 640, 360), 0, 0, 64, 36);
  EXPECT_EQ(part.info().colour_space, ColourSpace::kBt709) << "as 720 rows say, not 36";
  EXPECT_EQ(part.info().colour_range, ColourRange::kLimited);
  const Frame rgb = crop(Frame::allocate({kRgb24, 1280, 720}), 0, 0, 64, 36);
  EXPECT_EQ(rgb.info(), (FrameInfo{kRgb24, 64, 36})) << "RGB has no matrix";
}

TEST(Crop, SharesPlanesOfEveryFormat) {
  std::size_t count = 0;
  const PixelFormatInfo* formats = all_formats(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Frame frame = Frame::allocate({formats[i].format, 64, 48});
    const Frame part = crop(frame, 8, 4, 9, 7);
    ASSERT_EQ(part.plane_count(), frame.plane_count()) << formats[i].name;
    const std::size_t sample = size_bytes(formats[i].sample);
    for (std::size_t p = 0; p < part.plane_count(); ++p) {
      const PlaneLayout& layout = formats[i].planes[p];
      const std::size_t at = (4u >> layout.height_shift) * static_cast<std::size_t>(frame.plane(p).byte_strides()[0]) +
                             (8u >> layout.width_shift) * layout.channels * sample;
      EXPECT_EQ(part.plane(p).offset(), frame.plane(p).offset() + at) << formats[i].name << " plane " << p;
      EXPECT_EQ(part.plane(p).shape(), plane_shape({formats[i].format, 9, 7}, p)) << formats[i].name;
    }
  }
}

TEST(Crop, RefusesWhatItCannotShare) {
  const Frame frame = nv12();
  EXPECT_THROW(crop(frame, 40, 0, 32, 8), Error);
  EXPECT_THROW(crop(frame, 0, UINT32_MAX, 8, 8), Error);
  EXPECT_THROW(crop(frame, 0, 0, 0, 8), Error);
  EXPECT_THROW(crop(frame, 1, 0, 8, 8), Error) << "between chroma samples";
  EXPECT_THROW(crop({}, 0, 0, 8, 8), Error);
  EXPECT_THROW(crop(Frame(std::vector<Frame>{frame}), 0, 0, 8, 8), Error);
}

TEST(Metadata, IsWrittenAsJsonLines) {
  Frame frame = nv12();
  frame.set_timestamp_ns(40'000'000);
  EXPECT_EQ(metadata::json_line(frame),
            R"({"timestamp_ns":40000000,"format":"nv12","width":64,"height":48,"metadata":[]})");
  Collection& known = metadata::of(frame);
  const metadata::Id car = known.add(Detection{{1, 2.5f, 3, 4}, "c\"ar\n", 7, 0.1f, 3});
  known.add(metadata::TensorOutput{Tensor(element::f32, {1, 128}), "out", "reid", "embedding"}, car);
  Tensor points(element::f32, {2, 3});
  const float values[] = {1, 2.5f, 0.5f, -3, std::nanf(""), 0};
  std::copy_n(values, 6, points.data<float>());
  known.add(metadata::TensorOutput{points, "joints", "pose", "keypoints"}, car);
  known.add(metadata::AudioEvent{"bark", 2, 0.5f, 10, 20});
  known.add(metadata::Json{R"({"a":1})"});
  known.add(metadata::ReferenceTime{"ntp", 5, -1});
  known.add(Weather{});
  EXPECT_EQ(
      known.json(),
      R"([{"id":1,"kind":"detection","box":[1,2.5,3,4],"label":"c\"ar\u000a","label_id":7,"score":0.1,"track_id":3},)"
      R"({"id":2,"parent":1,"kind":"tensor","name":"out","model":"reid","format":"embedding","tensor":{"type":"f32","shape":[1,128]}},)"
      R"({"id":3,"parent":1,"kind":"tensor","name":"joints","model":"pose","format":"keypoints","tensor":{"type":"f32","shape":[2,3]},"points":[[1,2.5,0.5],[-3,null,0]]},)"
      R"({"id":4,"kind":"audio_event","label":"bark","label_id":2,"score":0.5,"begin_ns":10,"end_ns":20},)"
      R"({"id":5,"kind":"json","text":"{\"a\":1}"},)"
      R"({"id":6,"kind":"reference_time","clock":"ntp","time_ns":5}])");
  EXPECT_EQ(metadata::json_line(frame).find('\n'), std::string::npos);
  const std::string batch = metadata::json_line(Frame({frame, nv12()}));
  EXPECT_NE(batch.find(R"("frames":[{)"), std::string::npos) << batch;
}

TEST(Metadata, WritesValidUtf8AndNumbers) {
  EXPECT_EQ(metadata::json_string("caf\xc3\xa9"), "\"caf\xc3\xa9\"");
  for (const char* wrong : {"\xff", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"})
    EXPECT_NE(metadata::json_string(wrong).find("\\ufffd"), std::string::npos);
  EXPECT_EQ(metadata::json_string(std::string_view("\0", 1)), "\"\\u0000\"");
  EXPECT_NE((Detection{{}, "", 0, std::nanf(""), -1}).json().find("\"score\":null"), std::string::npos);
}

TEST(Metadata, IsUsedByManyThreads) {
  Frame frame = nv12();
  Collection& known = metadata::of(frame);
  const metadata::Id car = known.add(Detection{{0, 0, 64, 48}, "car", 0, 1, -1});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, copy = frame] {
      for (int i = 0; i < 200; ++i) {
        const metadata::Id made = known.add(Classification{"x", i, 1, ""}, car);
        EXPECT_FALSE(metadata::find(copy)->of<Classification>(car).empty());
        if (i % 50 == 0) {
          EXPECT_FALSE(metadata::find(copy)->json().empty());
        }
        if (i % 2) known.remove(made);
        metadata::find(copy)->cropped({0, 0, 10, 10});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(known.size(), 1u + 4 * 100);
}

}  // namespace media_metadata_test
