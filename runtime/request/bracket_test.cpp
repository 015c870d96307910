// SPDX-License-Identifier: Apache-2.0
// Memory that the CPU may use only between the begin and the end of an access, as a dma-buf: each inference has its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <tenon/core/edge.hpp>
#include <tenon/core/host.hpp>
#include <tenon/runtime/runtime.hpp>
#include <tenon/runtime/testing/reference_device.hpp>

namespace tenon::testing {
namespace bracket_test {

constexpr MemoryKind kIncoherent{"incoherent"};

/// Memory as a device without a view of the CPU's caches sees it (`device`), and as the CPU sees it (`cached`): the begin of an
/// access brings the one to the other, its end takes writes back.
struct IncoherentMemory final : Memory {
  IncoherentMemory(const Context& context, std::shared_ptr<std::vector<std::byte>> cache, std::size_t size, bool mapped)
      : Memory(context, kIncoherent, {size, mapped ? cache->data() : nullptr, false, FdKind::kDmabuf, 0, {}}),
        device(size),
        cached(std::move(cache)) {}
  std::vector<std::byte> device;
  std::shared_ptr<std::vector<std::byte>> cached;
  mutable int open = 0, begun = 0;
};

struct AccessOfTheCpu final : LeaseState {
  AccessOfTheCpu(const Tensor& source, Access how) : memory(source.memory()), access(how) {
    auto& of = static_cast<IncoherentMemory&>(*memory);
    ++of.open, ++of.begun;
    if (covers(access, Access::kRead)) *of.cached = of.device;
  }
  void dispose() noexcept override {
    {
      auto& of = static_cast<IncoherentMemory&>(*memory);
      --of.open;
      if (writes(access)) of.device = *of.cached;
    }
    delete this;
  }
  Ref<Memory> memory;
  Access access;
};

class IncoherentToCpu final : public Edge {
 public:
  std::string_view name() const override { return "incoherent->cpu"; }
  MemoryKind from() const override { return kIncoherent; }
  MemoryKind to() const override { return kCpuMemory; }
  Step step(const Description& from, const Context& to, Access) const override {
    Reached reached{from, false, 100, 0};
    reached.result.context = to;
    reached.result.kind = kCpuMemory;
    reached.result.alignment = 64;
    reached.result.host_addressable = true;
    return reached;
  }
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    auto& memory = static_cast<IncoherentMemory&>(*source.memory());
    const View* view = memory.find_view(*to, kCpuMemory, options.access);
    if (!view) {
      view = &memory.add_view(std::make_unique<View>(to, kCpuMemory, Access::kReadWrite, memory.cached->data()));
    }
    return source.through(view).with_lease(Lease(new AccessOfTheCpu(source, options.access)));
  }
};

class IncoherentContext final : public ContextImpl {
 public:
  std::string_view name() const override { return "incoherent"; }
  MemoryKind kind() const override { return kIncoherent; }
  std::span<const Edge* const> edges() const override {
    static const IncoherentToCpu edge;
    static constexpr std::array<const Edge*, 1> kEdges{&edge};
    return kEdges;
  }
};

/// The parameter: whether the memory was mapped when it was made, so that it has a host address of its own.
class Brackets : public ::testing::TestWithParam<bool> {
 protected:
  Ref<IncoherentMemory> memory(std::size_t size) const {
    return make_ref<IncoherentMemory>(context, std::make_shared<std::vector<std::byte>>(size), size, GetParam());
  }
  static void device_writes(IncoherentMemory& memory, const std::vector<float>& values) {
    std::memcpy(memory.device.data(), values.data(), values.size() * sizeof(float));
  }
  static std::vector<float> device_reads(const IncoherentMemory& memory) {
    std::vector<float> values(memory.device.size() / sizeof(float));
    std::memcpy(values.data(), memory.device.data(), memory.device.size());
    return values;
  }
  static std::vector<float> values_of(const Tensor& tensor) {
    return {tensor.data<float>(), tensor.data<float>() + tensor.element_count()};
  }

  const Context context{make_ref<IncoherentContext>()};
  Core core;
};

TEST_P(Brackets, EachInferenceSeesWhatTheDeviceWroteAndEndsItsAccess) {
  for (const bool asynchronous : {false, true}) {
    auto request = core.compile_model(relu_model(), "REFERENCE", own_queue(asynchronous)).create_infer_request();
    const Ref<IncoherentMemory> in = memory(16), out = memory(16);
    request.set_input_tensor(Tensor({element::f32, {1, 4}, {}}, in));
    request.set_output_tensor(Tensor({element::f32, {1, 4}, {}}, out));
    EXPECT_EQ(in->open + out->open, 0) << "it is not used before the first inference";
    for (int round = 1; round < 4; ++round) {
      const auto value = static_cast<float>(round);
      device_writes(*in, {value, value + 1, value + 2, value + 3});
      const int before = in->begun;
      request.infer();
      EXPECT_EQ(in->begun, before + 1);
      EXPECT_EQ(in->open + out->open, 0) << "the access lasts beyond the inference";
      EXPECT_EQ(device_reads(*out), (std::vector<float>{value, value + 1, value + 2, value + 3})) << "round " << round;
    }
    device_writes(*in, {9, 9, 9, 9});
    request.start_async();
    request.wait();
    EXPECT_EQ(in->open + out->open, 0);
    EXPECT_EQ(device_reads(*out)[3], 9);
    EXPECT_EQ(request.ledger().total().copied, 0u);
  }
}

TEST_P(Brackets, SettingBuffersThatWereSetBeforeBeginsNoAccess) {
  auto request = core.compile_model(relu_model(), "REFERENCE").create_infer_request();
  const std::array<Ref<IncoherentMemory>, 2> pool{memory(16), memory(16)};
  for (int round = 0; round < 6; ++round) {
    IncoherentMemory& in = *pool[round % 2];
    device_writes(in, std::vector<float>(4, static_cast<float>(round + 1)));
    const int before = in.begun;
    request.set_input_tensor(Tensor({element::f32, {1, 4}, {}}, pool[round % 2]));
    request.infer();
    EXPECT_EQ(in.begun - before, round < 2 ? 2 : 1)
        << "round " << round << ": the first time it is mapped for the check";
    EXPECT_EQ(in.open, 0);
    EXPECT_EQ(values_of(request.get_output_tensor())[3], static_cast<float>(round + 1));
  }
}

TEST_P(Brackets, APackedCopyIsMadeWithinTheAccess) {
  auto request = core.compile_model(relu_model(), "REFERENCE").create_infer_request();
  const Ref<IncoherentMemory> in = memory(32), out = memory(32);
  const TensorInfo every_second{element::f32, {1, 4}, ByteStrides{32, 8}};
  request.set_input_tensor(Tensor(every_second, in));
  request.set_output_tensor(Tensor(every_second, out));
  for (const float value : {1.f, 2.f}) {
    device_writes(*in, std::vector<float>(8, value));
    request.infer();
    EXPECT_EQ(device_reads(*out)[6], value);
    EXPECT_EQ(in->open + out->open, 0);
  }
}

TEST_P(Brackets, EndWhenTheInferenceFails) {
  for (const bool asynchronous : {false, true}) {
    const AnyMap failing{fail_with("on purpose"), own_queue(asynchronous)};
    auto request = core.compile_model(relu_model(), "REFERENCE", failing).create_infer_request();
    const Ref<IncoherentMemory> in = memory(16);
    request.set_input_tensor(Tensor({element::f32, {1, 4}, {}}, in));
    const int before = in->begun;
    EXPECT_THROW(request.infer(), std::exception);
    EXPECT_EQ(in->begun, before + 1);
    EXPECT_EQ(in->open, 0);
  }
}

TEST_P(Brackets, OfABatchAreThoseOfItsItems) {
  if (!GetParam()) GTEST_SKIP() << "items need a host address";
  auto request = core.compile_model(relu_model(PartialShape{2, 4}), "REFERENCE").create_infer_request();
  const Ref<IncoherentMemory> first = memory(16), second = memory(16);
  const TensorInfo item{element::f32, {1, 4}, {}};
  request.set_input_tensors({Tensor(item, first), Tensor(item, second)});
  for (const float value : {1.f, 2.f}) {
    device_writes(*first, std::vector<float>(4, value));
    device_writes(*second, std::vector<float>(4, value + 10));
    request.infer();
    const auto found = values_of(request.get_output_tensor());
    EXPECT_EQ(found[0], value);
    EXPECT_EQ(found[4], value + 10);
    EXPECT_EQ(first->open + second->open, 0);
  }
}

TEST_P(Brackets, OfAFrameAreOneForAllPlanesOfAMemory) {
  for (const bool strided :
       {true, false}) {  // Otherwise the device takes packed planes only, and padded rows are copied.
    auto request = core.compile_model(relu_model(PartialShape{1, 3, 4, 8}), "REFERENCE", takes_strides(strided))
                       .create_infer_request();
    const FrameInfo info{kNv12, 16, 8, ColourSpace::kUnknown, ColourRange::kFull};
    const Ref<IncoherentMemory> pixels = memory(Frame::size_bytes_for(info, {}));
    request.set_frame("x", Frame::over(info, pixels, {}));
    EXPECT_EQ(pixels->open, 0);
    for (const int grey : {40, 200}) {
      std::fill(pixels->device.begin(), pixels->device.end(), std::byte{128});
      std::fill_n(pixels->device.begin(), Frame::over(info, pixels, {}).plane(1).offset(),
                  static_cast<std::byte>(grey));
      const int before = pixels->begun;
      request.infer();
      EXPECT_NEAR(values_of(request.get_output_tensor())[0], grey, 1) << (strided ? "in place" : "packed");
      EXPECT_EQ(pixels->begun, before + 1);
      EXPECT_EQ(pixels->open, 0);
    }
    const int before = pixels->begun;
    request.set_frame("x", Frame::over(info, pixels, {}));
    request.infer();
    EXPECT_EQ(pixels->begun, before + 1) << "the buffer was mapped before: no access for the check alone";
  }
}

INSTANTIATE_TEST_SUITE_P(Memory, Brackets, ::testing::Bool(),
                         [](const auto& of) { return of.param ? "mapped" : "unmapped"; });

TEST(PackedFrames, AreCopiedWhenTheirWriterIsDone) {
  Core core;
  auto request = core.compile_model(relu_model(PartialShape{1, 3, 4, 8}), "REFERENCE").create_infer_request();
  const FrameInfo info{kNv12, 16, 8, ColourSpace::kUnknown, ColourRange::kFull};
  const Frame frame = Frame::allocate(info);
  std::memset(frame.plane(0).memory()->host(), 128, frame.plane(0).memory()->size_bytes());
  const auto decoder = make_ref<HostTimeline>("a decoder");
  const TimelinePoint written = decoder->next();
  frame.plane(0).memory()->hazards().wrote(written);
  request.set_frame("x", frame);
  std::memset(frame.plane(0).memory()->host(), 60, frame.plane(1).offset());
  decoder->advance(written.value());
  request.infer();
  EXPECT_NEAR(request.get_output_tensor().data<float>()[0], 60, 1);
}

}  // namespace bracket_test
}  // namespace tenon::testing
