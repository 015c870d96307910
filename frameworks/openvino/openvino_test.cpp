// SPDX-License-Identifier: Apache-2.0
// OpenVINO's tensors: what the conformance suite does not cover. OpenVINO's copies and regions are the reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <thread>

#include <openvino/op/constant.hpp>

#include <tenon/core/router.hpp>
#include <tenon/frameworks/cpu/pool.hpp>
#include <tenon/frameworks/openvino/openvino.hpp>

#include <tenon/frameworks/openvino/testing/failing_calls.hpp>
#include <tenon/tests/support/asleep.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon {
namespace openvino_test {

using ::testing::HasSubstr;

/// Host bytes that record their release.
struct Watched {
  std::vector<std::byte> bytes;
  int released = 0;
  Ref<Memory> memory(bool read_only = false) {
    return HostMemory::borrow(bytes.data(), bytes.size(), read_only, [this] { ++released; });
  }
};

TEST(OpenVinoAllocator, GivesTheAlignmentThatItsNameSays) {
  class Demanding final : public ContextImpl {
   public:
    std::string_view name() const override { return "demanding"; }
    MemoryKind kind() const override { return MemoryKind("demanding"); }
    Requirements requirements() const override {
      Requirements wanted;
      wanted.alignment = 512;
      return wanted;
    }
  };
  const Context demanding{make_ref<Demanding>()};
  const std::pair<ov::Allocator, std::size_t> all[] = {{openvino::allocator(), 64},
                                                       {openvino::allocator(4096), 4096},
                                                       {openvino::allocator(host_context()), 64},
                                                       {openvino::allocator(demanding), 512}};
  for (const auto& [allocator, alignment] : all) {
    std::vector<ov::Tensor> kept;  // Kept, so that each has a different address.
    for (std::size_t i = 1; i <= 64; ++i) {
      kept.emplace_back(ov::element::f32, ov::Shape{i, 7}, allocator);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(kept.back().data()) % alignment, 0u);
      EXPECT_GE(describe(openvino::wrap(kept.back())).alignment, alignment);
    }
    kept.front().set_shape({100, 100});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(kept.front().data()) % alignment, 0u) << "grown";
  }
  EXPECT_EQ(error_of([] { openvino::allocator(48); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([] { openvino::allocator(Context()); }).code(), Code::kInvalidArgument);
}

TEST(OpenVinoTypes, MapBothWaysWithTheSameWidth) {
  for (const auto& [type, native] : openvino::kTypes) {
    EXPECT_EQ(openvino::to_native(type), native);
    EXPECT_EQ(openvino::from_native(native), type);
    EXPECT_EQ(bit_width(type), ov::element::Type(native).bitwidth());
    EXPECT_EQ(std::string(name(type)), ov::element::Type(native).get_type_name());
    // OpenVINO counts the codes of nf4 as integers; their values are real.
    EXPECT_EQ(info(type).is_real, ov::element::Type(native).is_real() || type == ElementType::kNf4);
  }
}

TEST(OpenVinoTypes, EveryTypeThatHasNoCounterpartIsRefusedWithAReason) {
  for (const ov::element::Type* native : ov::element::Type::get_known_types()) {
    if (native->is_dynamic() || openvino::from_native(*native)) continue;
    const ov::Tensor tensor(*native, ov::Shape{8});
    const Error error = error_of([&] { openvino::wrap(tensor); });
    EXPECT_EQ(error.code(), Code::kUnimplemented) << native->get_type_name();
    EXPECT_THAT(error.what(), HasSubstr(native->get_type_name()));
  }
  std::size_t refused = 0;
  for (const ElementTypeInfo& entry : kElementTypes) {
    if (entry.bits == 0 || openvino::to_native(entry.type)) continue;
    ++refused;
    const Tensor tensor(entry.type, {8});
    EXPECT_EQ(error_of([&] { openvino::tensor(tensor); }).code(), Code::kUnimplemented) << entry.name;
    Router router;
    router.add(openvino::context());
    EXPECT_THAT(error_of([&] { router.map(tensor, openvino::context()); }).what(), HasSubstr(std::string(entry.name)));
  }
  EXPECT_EQ(refused, 4u) << "u1, strings, and the two 8-bit types of ONNX alone";
}

TEST(OpenVinoTypes, SubByteElementsHaveTheirOrderFromOpenVino) {
  // OpenVINO's own constants show its packing order; u1 has the opposite one, so it is refused.
  const ov::op::v0::Constant u4(ov::element::u4, ov::Shape{3}, std::vector<int>{1, 2, 15});
  EXPECT_EQ(*static_cast<const std::uint8_t*>(u4.get_data_ptr()), 0x21);
  const ov::op::v0::Constant u1(ov::element::u1, ov::Shape{8}, std::vector<int>{1, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(*static_cast<const std::uint8_t*>(u1.get_data_ptr()), 0x80);
  Tensor tensor(element::i4, {3});
  const auto native = openvino::tensor(tensor);
  EXPECT_EQ(native.get_element_type(), ov::element::i4);
  EXPECT_EQ(native.get_byte_size(), tensor.size_bytes());
  EXPECT_EQ(std::as_const(native).data(), tensor.data());
}

TEST(OpenVinoWrap, SharesTheBytesAndKeepsThem) {
  ov::Tensor native(ov::element::f32, ov::Shape{2, 3});
  std::iota(native.data<float>(), native.data<float>() + 6, 0.f);
  const Tensor tensor = openvino::wrap(native);
  EXPECT_EQ(tensor.kind(), openvino::kOpenVinoMemory);
  EXPECT_EQ(tensor.context(), openvino::context());
  EXPECT_EQ(tensor.data(), native.data());
  tensor.data<float>()[4] = 40;
  EXPECT_EQ(native.data<float>()[4], 40);
  native = {};
  EXPECT_EQ(tensor.data<float>()[5], 5.f) << "the wrapped tensor keeps the memory";
}

TEST(OpenVinoWrap, KeepsRegionsAndStrides) {
  ov::Tensor whole(ov::element::i32, ov::Shape{4, 6});
  std::iota(whole.data<int>(), whole.data<int>() + 24, 0);
  const ov::Tensor region(whole, {1, 2}, {3, 5});
  const Tensor tensor = openvino::wrap(region);
  EXPECT_EQ(tensor.shape(), (Shape{2, 3}));
  EXPECT_EQ(tensor.byte_strides(), (ByteStrides{24, 4}));
  Tensor packed;
  tensor.copy_to(packed);
  EXPECT_THAT(std::vector<int>(packed.data<int>(), packed.data<int>() + 6),
              ::testing::ElementsAre(8, 9, 10, 14, 15, 16));
  // And back: a region of the region, as OpenVINO sees it.
  const ov::Tensor part = openvino::tensor(tensor.slice({1, 1}, {2, 3}));
  ov::Tensor copy(ov::element::i32, ov::Shape{1, 2});
  part.copy_to(copy);
  EXPECT_EQ(copy.data<int>()[0], 15);
  EXPECT_EQ(copy.data<int>()[1], 16);
}

TEST(OpenVinoWrap, ComesOutAsTheVeryTensor) {
  ov::Tensor native(ov::element::u8, ov::Shape{4, 8});
  const ov::Tensor region(native, {0, 2}, {4, 6});
  for (const ov::Tensor& in : {native, region}) {
    const ov::Tensor out = openvino::tensor(openvino::wrap(in));
    EXPECT_EQ(std::as_const(out).data(), std::as_const(in).data());
    EXPECT_EQ(out.get_shape(), in.get_shape());
    EXPECT_EQ(out.get_strides(), in.get_strides());
  }
  // The same bytes under another shape are a new tensor, which still keeps them alive.
  ov::Tensor other = openvino::tensor(openvino::wrap(native).reshaped({32}));
  EXPECT_EQ(other.get_shape(), (ov::Shape{32}));
  EXPECT_EQ(other.data(), native.data());
  void* const data = native.data();
  native = {};
  std::memset(data, 7, 32);
  EXPECT_EQ(other.data<std::uint8_t>()[31], 7);
}

TEST(OpenVinoWrap, ReadOnlyStaysReadOnlyBothWays) {
  const float values[4] = {1, 2, 3, 4};
  const Tensor tensor = openvino::wrap(ov::Tensor(ov::element::f32, ov::Shape{4}, values));
  EXPECT_FALSE(tensor.is_writable());
  EXPECT_EQ(tensor.data(), values);
  float bytes[4] = {};
  ov::Tensor native = openvino::tensor(Tensor({element::f32, {4}, {}}, HostMemory::borrow(bytes, 16, true)));
  EXPECT_THROW(native.data(), std::exception);
  EXPECT_EQ(std::as_const(native).data(), bytes);
}

TEST(OpenVinoWrap, RefusesTensorsWithoutMemory) {
  EXPECT_EQ(error_of([] { openvino::wrap(ov::Tensor()); }).code(), Code::kInvalidArgument);
}

TEST(OpenVinoWrap, TakesScalarsAndEmptyTensors) {
  ov::Tensor scalar(ov::element::f32, ov::Shape{});
  scalar.data<float>()[0] = 3;
  EXPECT_EQ(openvino::wrap(scalar).shape(), Shape{});
  EXPECT_EQ(*openvino::wrap(scalar).data<float>(), 3);
  const Tensor empty = openvino::wrap(ov::Tensor(ov::element::f32, ov::Shape{0, 3}));
  EXPECT_EQ(empty.element_count(), 0u);
  EXPECT_EQ(openvino::tensor(empty).get_shape(), (ov::Shape{0, 3}));
  EXPECT_EQ(openvino::tensor(Tensor(element::f32, {})).get_shape(), ov::Shape{});
}

TEST(OpenVinoTensor, KeepsTheMemoryInCopiesRegionsAndOtherThreads) {
  for (int way = 0; way < 3; ++way) {
    Watched watched{std::vector<std::byte>(64), 0};
    {
      ov::Tensor left;
      {
        Tensor source({element::u8, {8, 8}, {}}, watched.memory());
        ov::Tensor native = openvino::tensor(source);
        source = {};
        if (way == 0) left = native;
        if (way == 1) left = ov::Tensor(native, {2, 2}, {4, 4});
        if (way == 2) std::thread([moved = std::move(native)]() mutable { moved = {}; }).join();
      }
      EXPECT_EQ(watched.released, way == 2 ? 1 : 0);
    }
    EXPECT_EQ(watched.released, 1) << "released once";
  }
}

TEST(OpenVinoTensor, HoldsThePoolsBuffer) {
  cpu::Pool pool(64, 2);
  Tensor first = pool.acquire_tensor({element::u8, {64}, {}});
  void* const data = first.data();
  ov::Tensor native = openvino::tensor(first);
  first = {};
  EXPECT_EQ(std::as_const(native).data(), data);
  const Tensor second = pool.acquire_tensor({element::u8, {64}, {}});
  EXPECT_NE(second.data(), data) << "the buffer is still in use by OpenVINO's tensor";
  native = {};
  const Tensor third = pool.acquire_tensor({element::u8, {64}, {}});
  EXPECT_EQ(third.data(), data);
}

TEST(OpenVinoTensor, SeesStridesAsWeMeanThem) {
  // Pseudo-random shapes, paddings and regions: OpenVINO's copy of its view must equal ours.
  unsigned seed = 7;
  const auto random = [&](unsigned below) { return (seed = seed * 1664525u + 1013904223u, (seed >> 10) % below); };
  for (int round = 0; round < 200; ++round) {
    Shape whole, begin, end;
    for (unsigned axis = 0, rank = 1 + random(4); axis < rank; ++axis) {
      whole.push_back(1 + random(6));
      begin.push_back(random(static_cast<unsigned>(whole.back())));
      end.push_back(begin.back() + 1 + random(static_cast<unsigned>(whole.back() - begin.back())));
    }
    Tensor source(element::i32, whole);
    std::iota(source.data<int>(), source.data<int>() + source.element_count(), 0);
    const Tensor region = source.slice(begin, end);
    Tensor expected;
    region.copy_to(expected);
    const ov::Tensor native = openvino::tensor(region);
    EXPECT_EQ(std::as_const(native).data(), region.data());
    ov::Tensor copy(native.get_element_type(), native.get_shape());
    native.copy_to(copy);
    ASSERT_EQ(std::memcmp(copy.data(), expected.data(), expected.size_bytes()), 0) << to_string(region);
    const Tensor back = openvino::wrap(native);
    EXPECT_EQ(back.shape(), region.shape());
    Tensor again;
    back.copy_to(again);
    EXPECT_EQ(std::memcmp(again.data(), expected.data(), expected.size_bytes()), 0);
  }
}

TEST(OpenVinoTensor, RefusesStridesThatOpenVinoLacks) {
  float values[64] = {};
  const struct {
    Shape shape;
    ByteStrides strides;
    const char* why;
  } cases[] = {{{4, 4}, {0, 4}, "byte stride 0 of axis 0"},
               {{4, 4}, {4, 16}, "byte stride 4 of axis 0"},
               {{2, 3}, {18, 4}, "byte stride 18 of axis 0"}};
  for (const auto& each : cases) {
    const Tensor tensor(element::f32, each.shape, values, each.strides);
    const Error error = error_of([&] { openvino::tensor(tensor); });
    EXPECT_EQ(error.code(), Code::kUnimplemented);
    EXPECT_THAT(error.what(), HasSubstr(each.why));
    Router router;
    router.add(openvino::context());
    EXPECT_THAT(error_of([&] { router.map(tensor, openvino::context()); }).what(), HasSubstr(each.why));
  }
}

TEST(OpenVinoTensor, WaitsForWhoStillWritesTheBytes) {
  const Tensor source(element::u8, {64});
  const auto producer = make_ref<HostTimeline>("a producer");
  const TimelinePoint written = producer->next();
  source.memory()->hazards().wrote(written);
  openvino::TensorOptions now;
  now.deadline = Clock::now();
  EXPECT_EQ(error_of([&] { openvino::tensor(source, now); }).code(), Code::kDeadlineExceeded);
  EXPECT_EQ(openvino::pending_tensor(source).get_byte_size(), 64u);
  Ledger ledger;
  openvino::TensorOptions booked;
  booked.ledger = &ledger;
  std::thread late = tenon_test::once_this_thread_sleeps([&] {
    std::memset(source.data(), 5, 64);
    producer->advance(written.value());
  });
  const ov::Tensor native = openvino::tensor(source, booked);
  EXPECT_EQ(native.data<std::uint8_t>()[63], 5);
  EXPECT_EQ(ledger.total().waits, 1u);
  late.join();

  source.memory()->hazards().read_until(producer->next());
  now.access = Access::kRead;
  now.deadline = Clock::now();
  EXPECT_EQ(openvino::tensor(source, now).get_byte_size(), 64u) << "readers do not keep each other waiting";
  now.access = Access::kReadWrite;
  EXPECT_EQ(error_of([&] { openvino::tensor(source, now); }).code(), Code::kDeadlineExceeded);
  producer->advance(written.value() + 1);
}

TEST(OpenVinoTensor, RefusesWhatLiesElsewhere) {
  EXPECT_EQ(error_of([] { openvino::tensor(Tensor()); }).code(), Code::kInvalidArgument);
}

TEST(OpenVinoTensor, LeavesNothingBehindWhenOpenVinoFails) {
  Watched watched{std::vector<std::byte>(64), 0};
  {
    const Tensor source({element::u8, {8, 8}, {}}, watched.memory());
    testing::fail_openvino_call = 1;
    const Error error = error_of([&] { openvino::tensor(source); });
    EXPECT_EQ(error.native_api(), "ov::Tensor");
    EXPECT_THAT(error.what(), HasSubstr("made to fail"));
    EXPECT_EQ(openvino::tensor(source).get_byte_size(), 64u) << "and works on";
  }
  EXPECT_EQ(watched.released, 1);
}

TEST(OpenVinoEdges, RoundTripIsTheSameTensorAndBooksNoBytes) {
  Router router;
  router.add(openvino::context());
  Ledger ledger;
  MapOptions options;
  options.ledger = &ledger;
  options.access = Access::kReadWrite;
  options.policy = ZeroCopy::kRequire;
  const Tensor source(element::f32, {4, 4});
  const Tensor there = router.map(source, openvino::context(), options);
  const Tensor back = router.map(there, host_context(), options);
  EXPECT_EQ(back.view(), nullptr) << "back to where it came from needs no view";
  EXPECT_EQ(back.data(), source.data());
  const ov::Tensor native = openvino::tensor(there);
  EXPECT_EQ(native.data(), source.data());
  EXPECT_EQ(ledger.total().copied, 0u);
  EXPECT_EQ(ledger.total().maps, 2u);
}

}  // namespace openvino_test
}  // namespace tenon
