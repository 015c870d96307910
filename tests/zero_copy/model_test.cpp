// SPDX-License-Identifier: Apache-2.0
// From the decoder to the model's first kernel without a copy, on the CPU device, by witnesses independent of the
// ledger.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include <tenon/core/router.hpp>
#include <tenon/graph/input_stage/input_stage.hpp>
#include <tenon/runtime/runtime.hpp>

#include <tenon/tests/zero_copy/decoded.hpp>
#include <tenon/tests/zero_copy/detour.hpp>
#include <tenon/tests/zero_copy/witness.hpp>

namespace zero_copy_model_test {

using tenon::Frame;
using tenon::Tensor;
using zero_copy::av_frame_of;
using zero_copy::CopyWatch;
using zero_copy::PageTrap;
namespace ff = tenon::ffmpeg;

/// y = x, the input of the model's first layer.
std::shared_ptr<tenon::Model> picture_model(std::size_t height, std::size_t width) {
  using namespace tenon;
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape(Shape{1, 3, height, width}));
  x->output(0).set_names({"x"});
  auto y = std::make_shared<op::v0::Relu>(x->output(0));
  y->output(0).set_names({"y"});
  return std::make_shared<Model>(ResultVector{std::make_shared<op::v0::Result>(y->output(0))}, ParameterVector{x},
                                 "picture");
}

/// The expected input of the model, computed by the scalar definition from a copy of the planes.
std::vector<float> expected_picture(const tenon::Model& model, const Frame& frame) {
  const tenon::InputStageSpec spec = tenon::make_spec(tenon::options_from(model, frame.info()));
  std::vector<Tensor> copies(frame.plane_count());
  std::vector<tenon::PlaneView> views;
  for (std::size_t p = 0; p < frame.plane_count(); ++p) {
    frame.plane(p).copy_to(copies[p]);
    views.push_back({copies[p].data(), copies[p].byte_strides()[0]});
  }
  std::vector<float> picture(tenon::element_count(spec.target_shape()));
  tenon::run_input_stage_reference(spec, views, picture.data());
  return picture;
}

std::string clip_of(const tenon_test::Folder& folder) { return zero_copy::make_clip(folder, 40, 20); }

std::string model_file(const char* name) {
  const char* folder = std::getenv("TENON_MODELS");
  if (!folder) throw std::runtime_error("TENON_MODELS is not set; run this test by ctest");
  return std::string(folder) + "/" + name;
}

struct Source {
  const char* name;
  bool demo;  ///< models/demo.mp4 and the demo's detector, else a generated clip and a model that shows its input.
  std::size_t frames;  ///< How many of its frames to use when not all are needed.
};

class ZeroCopyModel : public testing::TestWithParam<Source> {
 protected:
  void SetUp() override { clip = GetParam().demo ? model_file("demo.mp4") : clip_of(folder); }

  tenon::InferRequest request(const tenon::FrameInfo& info, tenon::ZeroCopy policy = tenon::ZeroCopy::kRequire) {
    const auto model =
        GetParam().demo ? core.read_model(model_file("demo.onnx")) : picture_model(info.height_px, info.width_px);
    return core.compile_model(model, "CPU", tenon::zero_copy(policy), tenon::input_frames(info)).create_infer_request();
  }
  /// One thread, so that no decoder works on its pictures while their pages are locked; whole pages.
  ff::Video trapped_video() {
    ff::Options options;
    options.threads = 1;
    options.policy = tenon::ZeroCopy::kRequire;
    ff::Video video = ff::open(clip, options);
    tenon::Requirements wanted;
    wanted.fd = tenon::FdKind::kMemfd;
    video.use_pool(wanted);
    return video;
  }

  /// The device must compute where the caller reads.
  static void watch_results(CopyWatch& watch, tenon::InferRequest& infer) {
    for (const auto& output : infer.get_compiled_model().outputs()) {
      const Tensor result = infer.get_tensor(output);
      watch.watch(result.data(), result.size_bytes());
    }
  }

  tenon_test::Folder folder;
  std::string clip;
  tenon::Core core;
};

TEST_P(ZeroCopyModel, TheFirstKernelReadsTheDecodersBufferAndNobodyElseDoes) {
  CopyWatch watch;
  ff::Video video = trapped_video();
  tenon::InferRequest infer = request(video.info());
  PageTrap trap;
  std::size_t frames = 0;
  std::set<const void*> watched;
  watch_results(watch, infer);
  for (const Frame& frame : video) {  // All frames: a buffer may be reused, a plan changed.
    ++frames;
    const AVFrame& av = av_frame_of(frame);
    ASSERT_EQ(av.buf[1], nullptr) << "pool pictures lie in one buffer";
    const tenon::Memory& memory = *frame.plane(0).memory();
    ASSERT_EQ(memory.host(), av.buf[0]->data);
    if (watched.insert(memory.host()).second) watch.watch(memory.host(), memory.size_bytes());
    // From here to the end of the inference, every access to the picture is noted.
    trap.arm(memory.host(), memory.size_bytes());
    infer.set_frame(0, frame);
    EXPECT_EQ(trap.touches().size(), 0u) << "set_frame reads nothing";
    infer.infer();
    const std::vector<PageTrap::Touch> touches = trap.touches();
    trap.release();

    std::map<std::string, std::size_t> readers;
    std::set<std::uintptr_t> read;
    for (const PageTrap::Touch& touch : touches) {
      ++readers[PageTrap::module_of(touch.code)];
      read.insert(touch.page);
      EXPECT_FALSE(touch.write);
      EXPECT_GE(touch.page, reinterpret_cast<std::uintptr_t>(av.buf[0]->data));
      EXPECT_LT(touch.page, reinterpret_cast<std::uintptr_t>(av.buf[0]->data + av.buf[0]->size));
    }
    EXPECT_THAT(readers, testing::ElementsAre(testing::Pair("libtenon_device_cpu.so", testing::Gt(0u))))
        << "frame " << frames;
    // The whole picture was read where the decoder put it: every page that holds rows of a plane.
    std::set<std::uintptr_t> holding;
    for (const Tensor& plane : frame.planes()) {
      const auto begin = reinterpret_cast<std::uintptr_t>(plane.data());
      for (std::uintptr_t at = begin & ~(PageTrap::page() - 1); at < begin + *tenon::checked_extent_bytes(plane.info());
           at += PageTrap::page())
        holding.insert(at);
    }
    std::size_t missing = 0;
    for (std::uintptr_t page : holding) missing += read.count(page) == 0;
    EXPECT_LE(missing, holding.size() / 50)
        << "of " << holding.size() << " pages; a down-scaling kernel may skip a few rows";
  }
  EXPECT_EQ(frames, video.frame_count());
  EXPECT_EQ(watch.large_copies(), 0u) << "by " << watch.last_caller();
  EXPECT_LT(watch.bytes(), 4096u) << "rows add up to a copy, by " << watch.last_caller();
  EXPECT_EQ(watch.large_copies_into(), 0u) << "made elsewhere, by " << watch.last_caller_into();
  EXPECT_LT(watch.bytes_into(), 4096u) << "made elsewhere, by " << watch.last_caller_into();
}

TEST_P(ZeroCopyModel, NoFunctionCopiesFrameMemoryWhileThreadsDecode) {
  CopyWatch watch;
  ff::Options options;
  options.policy = tenon::ZeroCopy::kRequire;
  ff::Video video = ff::open(clip, options);
  video.use_pool();
  tenon::InferRequest infer = request(video.info());
  std::set<const void*> watched;
  std::size_t frames = 0;
  watch_results(watch, infer);
  for (const Frame& frame : video) {
    if (frames++ == GetParam().frames) break;
    const tenon::Memory& memory = *frame.plane(0).memory();
    if (watched.insert(memory.host()).second) watch.watch(memory.host(), memory.size_bytes());
    infer.set_frame(0, frame);
    infer.infer();
  }
  EXPECT_EQ(watch.large_copies(), 0u) << "by " << watch.last_caller();
  EXPECT_LT(watch.bytes(), 4096u) << "rows add up to a copy, by " << watch.last_caller();
  EXPECT_EQ(watch.large_copies_into(), 0u) << "made elsewhere, by " << watch.last_caller_into();
  EXPECT_LT(watch.bytes_into(), 4096u) << "made elsewhere, by " << watch.last_caller_into();
  EXPECT_EQ(core.ledger().total().copied, 0u);
  EXPECT_GT(core.ledger().total().converted, 0u) << "the ledger does look";
}

TEST_P(ZeroCopyModel, OneInsertedCopyIsSeenByAllWitnesses) {
  CopyWatch watch;
  ff::Video video = trapped_video();
  tenon::InferRequest infer = request(video.info(), tenon::ZeroCopy::kPrefer);
  const tenon::Context detour = zero_copy::detour_context();
  tenon::Router router;
  router.add(tenon::host_context());
  router.add(detour);
  tenon::Ledger ledger;
  tenon::MapOptions options;
  options.ledger = &ledger;
  PageTrap trap;
  for (int i = 0; i < 3; ++i) {
    const auto frame = video.read();
    ASSERT_TRUE(frame);
    const tenon::Memory& memory = *frame->plane(0).memory();
    watch.forget();
    watch.reset();
    ledger.reset();
    watch.watch(memory.host(), memory.size_bytes());
    trap.arm(memory.host(), memory.size_bytes());
    const Frame copied = router.map(router.map(*frame, detour, options), tenon::host_context(), options);
    infer.set_frame(0, copied);
    infer.infer();
    const std::vector<PageTrap::Touch> touches = trap.touches();
    trap.release();
    EXPECT_GE(watch.bytes(), frame->size_bytes()) << "the interposer overlooked a copy";
    EXPECT_EQ(ledger.total().copied, frame->size_bytes()) << "the ledger overlooked a copy";
    ASSERT_FALSE(touches.empty());
    for (const PageTrap::Touch& touch : touches) {
      ASSERT_NE(PageTrap::module_of(touch.code), "libtenon_device_cpu.so") << "the page trap overlooked the reader";
    }
  }
}

TEST_P(ZeroCopyModel, ThePictureLiesInTheDecodersBufferAlone) {
  // Other witnesses trust the device's own code; a copy that it makes for itself lies somewhere.
  ff::Video video = trapped_video();
  tenon::InferRequest infer = request(video.info());
  std::vector<std::uint8_t> pattern(256);
  std::uint32_t random = 1;
  for (int i = 0; i < 3; ++i) {
    const auto frame = video.read();
    ASSERT_TRUE(frame);
    const tenon::Memory& memory = *frame->plane(0).memory();
    const AVFrame& av = av_frame_of(*frame);
    std::uint8_t* row = av.data[0] + (100 + i) * av.linesize[0];
    const std::vector<std::uint8_t> saved(row, row + pattern.size());
    for (std::uint8_t& byte : pattern) byte = static_cast<std::uint8_t>((random = random * 1664525 + 1013904223) >> 24);
    for (std::size_t x = 0; x < pattern.size(); ++x) row[x] = pattern[x];
    infer.set_frame(0, *frame);
    infer.infer();
    const auto copy = [&] {
      return zero_copy::elsewhere_in_process(pattern.data(), pattern.size(), memory.host(), memory.size_bytes());
    };
    EXPECT_EQ(copy(), 0u);
    {  // Check the search: a copy by a loop, which no interposer sees.
      std::vector<std::uint8_t> planted(pattern.size());
      for (std::size_t x = 0; x < planted.size(); ++x) planted[x] = row[x];
      EXPECT_EQ(copy(), reinterpret_cast<std::uintptr_t>(planted.data()));
      for (volatile std::uint8_t& byte : planted) byte = 0;
    }
    for (std::size_t x = 0; x < saved.size(); ++x) row[x] = saved[x];
  }
}

INSTANTIATE_TEST_SUITE_P(Clips, ZeroCopyModel,
                         testing::Values(Source{"Generated", false, 40}, Source{"Demo", true, 60}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(ZeroCopyPattern, WrittenIntoTheDecodersBufferReachesTheModel) {
  tenon_test::Folder folder;
  ff::Options options;
  options.threads = 1;
  ff::Video video = ff::open(clip_of(folder), options);
  video.use_pool();
  tenon::Core core;
  const auto model = picture_model(video.info().height_px, video.info().width_px);
  auto infer = core.compile_model(model, "CPU", tenon::zero_copy(tenon::ZeroCopy::kRequire)).create_infer_request();
  for (int i = 0; i < 12; ++i) {
    const auto frame = video.read();
    ASSERT_TRUE(frame);
    infer.set_frame(0, *frame);
    infer.infer();
    const auto result = [&] {
      const Tensor y = infer.get_output_tensor();
      return std::vector<float>(y.data<float>(), y.data<float>() + y.element_count());
    };
    const std::vector<float> before = result();
    EXPECT_THAT(before, testing::Pointwise(testing::FloatNear(1.01f), expected_picture(*model, *frame)));
    // Written through the decoder's pointer, unknown to the request; no tensor is set again.
    const AVFrame& av = av_frame_of(*frame);
    std::vector<std::uint8_t> saved;
    for (int y = 0; y < 90; ++y) {
      std::uint8_t* row = av.data[0] + (100 + y) * av.linesize[0];
      saved.insert(saved.end(), row, row + 640);
      for (int x = 0; x < 640; ++x) row[x] = static_cast<std::uint8_t>(16 + (x * 7 + y * 13 + i * 29) % 220);
    }
    infer.infer();
    const std::vector<float> after = result();
    EXPECT_THAT(after, testing::Pointwise(testing::FloatNear(1.01f), expected_picture(*model, *frame)));
    EXPECT_NE(before, after);
    for (int y = 0; y < 90; ++y)
      std::memcpy(av.data[0] + (100 + y) * av.linesize[0], &saved[static_cast<std::size_t>(y) * 640], 640);
  }
}

}  // namespace zero_copy_model_test
