// SPDX-License-Identifier: Apache-2.0
// Frames into models: the input stage as the first operation, planes bound where they lie, re-plans counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include <tenon/core/host.hpp>
#include <tenon/graph/input_stage/input_stage.hpp>
#include <tenon/runtime/runtime.hpp>
#include <tenon/runtime/testing/reference_device.hpp>

namespace tenon::testing {
namespace frames_test {

using ::testing::HasSubstr;

/// The picture as the model sees it: y = relu(x), x [1,3,4,8] f32.
std::shared_ptr<Model> picture_model() { return relu_model(PartialShape{1, 3, 4, 8}); }

Frame grey_frame(PixelFormat format, std::uint32_t width, std::uint32_t height, std::uint8_t luma) {
  Frame frame = Frame::allocate(FrameInfo{format, width, height, ColourSpace::kUnknown, ColourRange::kFull});
  for (std::size_t i = 0; i < frame.plane_count(); ++i) {
    const Tensor& plane = frame.plane(i);
    const std::size_t rows = plane.shape()[0];
    for (std::size_t row = 0; row < rows; ++row) {
      auto* at = static_cast<std::uint8_t*>(plane.data()) + static_cast<std::ptrdiff_t>(row) * plane.byte_strides()[0];
      std::memset(at, i == 0 || format == kRgb24 ? luma : 128, plane.size_bytes() / rows);
    }
  }
  return frame;
}

float first_value(InferRequest& request) { return request.get_output_tensor().data<float>()[0]; }

class Frames : public ::testing::Test {
 protected:
  CompiledModel compile(const AnyMap& more = {}) {
    AnyMap properties = more;
    properties.insert(takes_strides(true));
    return core.compile_model(picture_model(), "REFERENCE", properties);
  }
  Core core;
};

TEST_F(Frames, AreTakenByModelsInARemoteContext) {
  const RemoteContext context = core.create_context("REFERENCE", AnyMap{{"HANDLE", 7}});
  auto compiled = core.compile_model(picture_model(), context, takes_strides(true));
  auto request = compiled.create_infer_request();
  request.set_frame("x", grey_frame(kNv12, 16, 8, 77));
  request.infer();
  EXPECT_NEAR(first_value(request), 77, 1);
}

TEST_F(Frames, AreReadInPlaceAndConverted) {
  auto request = compile({zero_copy(ZeroCopy::kRequire)}).create_infer_request();
  Frame frame = grey_frame(kNv12, 16, 8, 77);
  request.set_frame("x", frame);
  request.infer();
  EXPECT_NEAR(first_value(request), 77, 1);
  EXPECT_EQ(request.ledger().total().copied, 0u);
  EXPECT_EQ(request.ledger().total().converted, frame.size_bytes());
  // The planes are read in place: the next inference sees a new picture in the same memory.
  static_cast<std::uint8_t*>(frame.plane(0).data())[0] = 200;
  std::memset(frame.plane(0).data(), 200, 16);
  request.infer();
  EXPECT_GT(first_value(request), 100);
}

TEST_F(Frames, OfEveryCommonFormatGiveTheSameGrey) {
  auto request = compile().create_infer_request();
  for (const PixelFormat format : {kNv12, kI420, kRgb24}) {
    request.set_frame(grey_frame(format, 16, 8, 90));
    request.infer();
    EXPECT_NEAR(first_value(request), 90, 1);
  }
}

TEST_F(Frames, CancelFromAnotherThreadMeetsNewPlans) {
  // Every frame of a new size adds a plan to the request while the other thread asks for the plan to cancel: a case
  // for the thread sanitizer.
  std::atomic<bool> stop{false};
  auto request = compile().create_infer_request();
  request.set_frame("x", grey_frame(kNv12, 8, 8, 50));
  request.infer();
  std::thread other([&] {
    while (!stop) request.cancel();
  });
  for (std::uint32_t i = 0; i < 60; ++i) {
    request.set_frame("x", grey_frame(kNv12, 8 + 2 * i, 8, 50));
    try {
      request.infer();
      EXPECT_NEAR(first_value(request), 50, 1);
    } catch (const Cancelled&) {
    }
  }
  stop = true;
  other.join();
  request.infer();
  EXPECT_NEAR(first_value(request), 50, 1);
}

TEST_F(Frames, NewSizeReplansOnceAndIsCounted) {
  auto model = compile();
  auto request = model.create_infer_request();
  const int before = ReferenceDevice::compilations;
  for (int round = 0; round < 3; ++round) {
    for (const std::uint32_t width : {16u, 32u}) {
      request.set_frame(grey_frame(kNv12, width, 8, 50));
      request.infer();
      EXPECT_NEAR(first_value(request), 50, 1);
    }
  }
  EXPECT_EQ(ReferenceDevice::compilations - before, 2);
  std::uint64_t replans = 0;
  for (const LedgerEntry& entry : core.ledger().snapshot()) {
    if (entry.name == "input stage re-plan") replans = entry.maps;
  }
  EXPECT_EQ(replans, 2u);
  // Another request of the model uses the same plans.
  auto other = model.create_infer_request();
  other.set_frame(grey_frame(kNv12, 32, 8, 50));
  EXPECT_EQ(ReferenceDevice::compilations - before, 2);
}

/// The same bytes mean other colours in each colour space: the green of each, from the definitions of the matrices.
TEST_F(Frames, NewColourSpaceIsAPlanOfItsOwn) {
  auto model = compile();
  auto request = model.create_infer_request();
  const int before = ReferenceDevice::compilations;
  for (int round = 0; round < 2; ++round) {
    for (const ColourSpace space : {ColourSpace::kBt601, ColourSpace::kBt709}) {
      Frame frame = Frame::allocate(FrameInfo{kNv12, 16, 8, space, ColourRange::kLimited});
      std::memset(frame.plane(0).data(), 128, frame.plane(0).size_bytes());
      auto* chroma = static_cast<std::uint8_t*>(frame.plane(1).data());
      for (std::size_t i = 0; i < frame.plane(1).size_bytes(); ++i) chroma[i] = i % 2 ? 180 : 100;
      request.set_frame(frame);
      request.infer();
      const double luma = 255.0 / 219 * (128 - 16), u = 255.0 / 224 * (100 - 128), v = 255.0 / 224 * (180 - 128);
      const double green =
          space == ColourSpace::kBt601 ? luma - 0.344136 * u - 0.714136 * v : luma - 0.187324 * u - 0.468124 * v;
      EXPECT_NEAR(request.get_output_tensor().data<float>()[4 * 8], green, 1.5);
    }
  }
  EXPECT_EQ(ReferenceDevice::compilations - before, 2);
}

TEST_F(Frames, OptionCompilesAhead) {
  const int before = ReferenceDevice::compilations;
  const Frame frame = grey_frame(kI420, 16, 8, 10);
  auto model = compile({input_frames(frame.info())});
  EXPECT_EQ(ReferenceDevice::compilations - before, 1);
  auto request = model.create_infer_request();
  EXPECT_THAT([&] { request.infer(); }, ::testing::ThrowsMessage<Error>(HasSubstr("set_frame")));
  request.set_frame(frame);
  request.infer();
  EXPECT_EQ(ReferenceDevice::compilations - before, 1) << "the option's plan is the one that runs";
  EXPECT_EQ(model.input().get_shape(), (Shape{1, 3, 4, 8})) << "ports stay those of the model";
}

TEST_F(Frames, AndTensorsTakeTurns) {
  auto request = compile().create_infer_request();
  request.set_frame(grey_frame(kNv12, 16, 8, 60));
  request.infer();
  EXPECT_THROW(request.get_input_tensor(), Error);
  Tensor x(element::f32, {1, 3, 4, 8});
  std::fill_n(x.data<float>(), x.element_count(), 5.f);
  request.set_input_tensor(x);
  request.infer();
  EXPECT_EQ(first_value(request), 5);
  request.set_frame(grey_frame(kNv12, 16, 8, 60));
  request.infer();
  EXPECT_NEAR(first_value(request), 60, 1);
}

TEST_F(Frames, UsersOutputStaysBoundThroughAReplan) {
  auto request = compile().create_infer_request();
  Tensor y(element::f32, {1, 3, 4, 8});
  request.set_output_tensor(y);
  request.set_frame(grey_frame(kNv12, 16, 8, 60));
  request.infer();
  EXPECT_NEAR(y.data<float>()[0], 60, 1);
}

TEST_F(Frames, FeedInputsWithoutABatch) {
  for (const PartialShape& input : {PartialShape{3, 4, 8}, PartialShape{4, 8, 3}, PartialShape{3, -1, -1}}) {
    auto request = core.compile_model(relu_model(input), "REFERENCE", takes_strides(true)).create_infer_request();
    request.set_frame(grey_frame(kNv12, 8, 4, 77));
    request.infer();
    EXPECT_EQ(request.get_output_tensor().get_shape(), input.is_static() ? input.to_shape() : (Shape{3, 4, 8}));
    EXPECT_NEAR(first_value(request), 77, 1);
  }
}

TEST_F(Frames, FixWhatIsOpenInTheModelsOutputs) {
  // The batch, and then all extents of the picture.
  for (const PartialShape& open : {PartialShape{-1, 3, 4, 8}, PartialShape{-1, 3, -1, -1}}) {
    auto request = core.compile_model(relu_model(open), "REFERENCE", takes_strides(true)).create_infer_request();
    for (const std::uint32_t width : {16u, 32u, 16u}) {
      request.set_frame(grey_frame(kNv12, width, 8, 77));
      request.infer();
      const Shape wanted = open[2].is_static() ? Shape{1, 3, 4, 8} : Shape{1, 3, 8, width};
      ASSERT_EQ(request.get_output_tensor().get_shape(), wanted);
      EXPECT_NEAR(first_value(request), 77, 1);
    }
    Tensor own(element::f32, Shape{1, 3, 8, 16});
    request.set_output_tensor(own);
    request.set_frame(grey_frame(kNv12, 16, 8, 99));
    request.infer();
    EXPECT_NEAR(own.data<float>()[0], 99, 1);
    // A tensor has the shape that it has.
    const Shape two{2, 3, 4, 8};
    request.set_input_tensor(Tensor(element::f32, two));
    request.set_output_tensor(Tensor(element::f32, two));
    request.infer();
    EXPECT_EQ(request.get_output_tensor().get_shape(), two);
  }
}

TEST_F(Frames, KeepTheDecodersBufferUntilTheNextOne) {
  auto request = compile().create_infer_request();
  int released = 0;
  const FrameInfo info{kNv12, 16, 8};
  std::vector<std::uint8_t> memory(Frame::size_bytes_for(info, {}), 128);
  request.set_frame(
      Frame::over(info, HostMemory::borrow(memory.data(), memory.size(), false, [&] { ++released; }), {}));
  request.start_async();
  request.wait();
  EXPECT_EQ(released, 0);
  request.set_frame(grey_frame(kNv12, 16, 8, 1));
  EXPECT_EQ(released, 1);
}

TEST_F(Frames, ThatNoInputTakesAreRefusedAndChangeNothing) {
  auto request = core.compile_model(relu_model(), "REFERENCE").create_infer_request();
  EXPECT_THAT([&] { request.set_frame(grey_frame(kNv12, 16, 8, 1)); },
              ::testing::ThrowsMessage<Error>(HasSubstr("cannot take frames")));
  EXPECT_THROW(request.set_frame(Frame()), Error);
  EXPECT_THROW(request.set_frame("y", grey_frame(kNv12, 16, 8, 1)), Error);
  EXPECT_NO_THROW(request.infer());
  // A device that only reads packed memory, under require: the rows of the frame are padded.
  auto strict = core.compile_model(picture_model(), "REFERENCE", zero_copy(ZeroCopy::kRequire)).create_infer_request();
  EXPECT_THAT([&] { strict.set_frame(grey_frame(kNv12, 16, 8, 1)); },
              ::testing::ThrowsMessage<Error>(HasSubstr("require")));
  auto lenient = core.compile_model(picture_model(), "REFERENCE").create_infer_request();
  lenient.set_frame(grey_frame(kNv12, 16, 8, 33));
  lenient.infer();
  EXPECT_NEAR(first_value(lenient), 33, 1);
  EXPECT_GT(lenient.ledger().total().copied, 0u);
}

TEST_F(Frames, AreTurnedUprightWithoutACopy) {
  // A picture of 16x8 as a phone stores it: rotated, with the rotation as metadata.
  Frame upright = grey_frame(kNv12, 16, 8, 0);
  const auto luma = [](const Frame& frame, std::size_t x, std::size_t y) -> std::uint8_t& {
    return static_cast<std::uint8_t*>(
        frame.plane(0).data())[static_cast<std::size_t>(frame.plane(0).byte_strides()[0]) * y + x];
  };
  for (std::size_t y = 0; y < 8; ++y)
    for (std::size_t x = 0; x < 16; ++x) luma(upright, x, y) = static_cast<std::uint8_t>(10 + 7 * x + 13 * y);
  const auto compiled = compile({zero_copy(ZeroCopy::kRequire)});
  const auto outputs = [&](InferRequest& request, const Frame& frame) {
    request.set_frame("x", frame);
    request.infer();
    const Tensor output = request.get_output_tensor();
    return std::vector<float>(output.data<float>(), output.data<float>() + output.element_count());
  };
  auto model = compiled;
  auto request = model.create_infer_request();
  const auto wanted = outputs(request, upright);
  for (const Rotation rotation :
       {Rotation::k90, Rotation::k180, Rotation::k270, Rotation::kMirrored, Rotation::kMirrored270, Rotation::kNone}) {
    const bool quarter = is_quarter_turn(rotation);
    Frame stored = grey_frame(kNv12, quarter ? 8 : 16, quarter ? 16 : 8, 0);
    FrameInfo info = stored.info();
    info.rotation = rotation;
    const std::size_t w = info.width_px, h = info.height_px;
    for (std::size_t y = 0; y < h; ++y)
      for (std::size_t x = 0; x < w; ++x)
        luma(stored, x, y) = rotation == Rotation::k90            ? luma(upright, h - 1 - y, x)
                             : rotation == Rotation::k180         ? luma(upright, w - 1 - x, h - 1 - y)
                             : rotation == Rotation::k270         ? luma(upright, y, w - 1 - x)
                             : rotation == Rotation::kMirrored    ? luma(upright, w - 1 - x, y)
                             : rotation == Rotation::kMirrored270 ? luma(upright, y, x)
                                                                  : luma(upright, x, y);
    const Frame frame(info, std::vector<Tensor>(stored.planes().begin(), stored.planes().end()));
    const std::uint64_t converted = request.ledger().total().converted;
    const auto found = outputs(request, frame);
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], wanted[i], 1e-3) << degrees(rotation);
    EXPECT_EQ(request.ledger().total().copied, 0u);
    EXPECT_EQ(request.ledger().total().converted - converted, frame.size_bytes());
    const FrameGeometry there = model.frame_geometry(info), plain = model.frame_geometry(upright.info());
    EXPECT_EQ(there.crop, plain.crop) << "results are in the upright picture";
    EXPECT_EQ(there.placed, plain.placed);
  }
}

TEST_F(Frames, TheRefusalOfAPlaneNamesTheRemedyOfWhoHasIt) {
  class Helpful final : public ContextImpl {
   public:
    std::string_view name() const override { return "helpful"; }
    MemoryKind kind() const override { return MemoryKind("helpful"); }
    std::string_view remedy() const override { return "let the decoder write elsewhere"; }
  };
  struct HelpfulMemory final : Memory {
    HelpfulMemory(Context context, Ref<Memory> bytes)
        : Memory(context, context->kind(), {bytes->size_bytes(), bytes->host(), false, FdKind::kNone, 0, {}}),
          bytes(std::move(bytes)) {}
    Ref<Memory> bytes;
  };
  const Frame host = grey_frame(kNv12, 16, 8, 1);
  const Ref<Memory> memory = make_ref<HelpfulMemory>(Context(make_ref<Helpful>()), host.plane(0).memory());
  std::vector<Tensor> planes;
  for (const Tensor& plane : host.planes()) planes.emplace_back(plane.info(), memory, plane.offset());
  auto strict = core.compile_model(picture_model(), "REFERENCE", zero_copy(ZeroCopy::kRequire)).create_infer_request();
  EXPECT_THAT([&] { strict.set_frame(Frame(host.info(), std::move(planes))); },
              ::testing::ThrowsMessage<Error>(HasSubstr("let the decoder write elsewhere")));
}

TEST_F(Frames, AModelSaysWhatMemoryItReadsInPlace) {
  const Requirements wanted = compile().requirements();
  EXPECT_TRUE(wanted.host_access);
  EXPECT_EQ(wanted.fd, FdKind::kNone);
  EXPECT_EQ(wanted.pitch_alignment, 64u);
  EXPECT_EQ(compile().memory_context(), host_context());
}

TEST_F(Frames, GeometryLeadsBackToThePicture) {
  auto model = compile();
  const FrameGeometry geometry = model.frame_geometry(FrameInfo{kNv12, 16, 8});
  const FrameGeometry expected = make_spec(options_from(*picture_model(), FrameInfo{kNv12, 16, 8})).geometry;
  EXPECT_EQ(std::memcmp(&geometry, &expected, sizeof geometry), 0);
}

}  // namespace frames_test
}  // namespace tenon::testing
