// SPDX-License-Identifier: Apache-2.0
// DLPack both ways: identity of memory, flags, strides, and every struct that must be refused.
#include <tenon/frameworks/dlpack/dlpack.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <tenon/frameworks/cpu/pool.hpp>

#include <tenon/tests/support/error_of.hpp>

namespace dlpack_test {

using namespace tenon;
using namespace tenon::dlpack::abi;
using dlpack::Copy;
using dlpack::ExportOptions;
using ::testing::HasSubstr;

/// A struct as a foreign producer makes it; counts calls of its deleter.
template <typename Managed>
struct Producer {
  Managed managed{};
  std::vector<std::int64_t> shape{2, 3};
  std::vector<std::int64_t> strides{3, 1};
  alignas(64) float data[64] = {};
  std::atomic<int> deleted{0};

  Producer() {
    if constexpr (requires { managed.version; }) managed.version = {1, 2};
    managed.manager_ctx = this;
    managed.deleter = [](Managed* self) { ++static_cast<Producer*>(self->manager_ctx)->deleted; };
    managed.dl_tensor = {data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape.data(), strides.data(), 0};
  }
  DLTensor& dl() { return managed.dl_tensor; }
  void set(std::vector<std::int64_t> new_shape, std::vector<std::int64_t> new_strides) {
    shape = std::move(new_shape), strides = std::move(new_strides);
    dl().ndim = static_cast<std::int32_t>(shape.size());
    dl().shape = shape.data();
    dl().strides = strides.data();
  }
  /// Imports a struct that must be refused, and checks that the deleter ran once.
  Error refusal() {
    const Error error = error_of([&] { dlpack::import_tensor(&managed); });
    EXPECT_EQ(deleted, 1) << "the deleter must run exactly once when an import fails: " << error.what();
    return error;
  }
};
using Versioned = Producer<DLManagedTensorVersioned>;
using Legacy = Producer<DLManagedTensor>;

template <typename P>
struct DlpackImport : ::testing::Test {};
using Producers = ::testing::Types<Versioned, Legacy>;
TYPED_TEST_SUITE(DlpackImport, Producers);

TYPED_TEST(DlpackImport, SharesTheProducersBytesAndDeletesOnce) {
  TypeParam producer;
  {
    Tensor part;
    {
      const Tensor tensor = dlpack::import_tensor(&producer.managed);
      EXPECT_EQ(tensor.data(), producer.data);
      EXPECT_EQ(tensor.shape(), (Shape{2, 3}));
      EXPECT_EQ(tensor.element_type(), element::f32);
      EXPECT_EQ(tensor.context(), host_context());
      EXPECT_TRUE(tensor.is_writable());
      tensor.template data<float>()[5] = 9;
      part = tensor.slice({1, 0}, {2, 1});
    }
    EXPECT_EQ(producer.data[5], 9);
    EXPECT_EQ(producer.deleted, 0);
  }
  EXPECT_EQ(producer.deleted, 1);
}

TYPED_TEST(DlpackImport, KeepsStridesAndByteOffset) {
  TypeParam producer;
  producer.set({2, 3}, {16, 2});
  producer.dl().byte_offset = 64;
  const Tensor tensor = dlpack::import_tensor(&producer.managed);
  EXPECT_EQ(tensor.byte_strides(), (ByteStrides{64, 8}));
  EXPECT_EQ(tensor.data(), producer.data + 16);
  EXPECT_EQ(tensor.offset(), 64u);
}

TYPED_TEST(DlpackImport, TakesScalarsEmptyTensorsAndMissingDeleters) {
  TypeParam scalar;
  scalar.set({}, {});
  scalar.dl().shape = nullptr;
  scalar.dl().strides = nullptr;
  EXPECT_EQ(dlpack::import_tensor(&scalar.managed).element_count(), 1u);
  TypeParam empty;
  empty.set({0, 3}, {3, 1});
  empty.dl().data = nullptr;
  empty.dl().byte_offset = 12;
  EXPECT_EQ(dlpack::import_tensor(&empty.managed).size_bytes(), 0u);
  EXPECT_EQ(empty.deleted, 1);
  TypeParam eternal;
  eternal.managed.deleter = nullptr;
  EXPECT_EQ(dlpack::import_tensor(&eternal.managed).element_count(), 6u);
}

TYPED_TEST(DlpackImport, StridesOfAxesOfOneElementMayBeAnything) {
  TypeParam producer;
  producer.set({1, 3}, {-77, 2});
  const Tensor tensor = dlpack::import_tensor(&producer.managed);
  producer.data[4] = 5;
  EXPECT_EQ(*reinterpret_cast<const float*>(static_cast<const char*>(tensor.data()) + 2 * tensor.byte_strides()[1]), 5);
}

TYPED_TEST(DlpackImport, RefusesExtentsAndStridesThatMakeNoSense) {
  const std::int64_t huge = std::int64_t{1} << 62;
  const auto refused = [](auto change) {
    TypeParam producer;
    change(producer);
    return producer.refusal();
  };
  EXPECT_EQ(refused([](auto& p) { p.set({-1, 3}, {3, 1}); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(refused([&](auto& p) { p.set({huge, huge}, {1, 1}); }).code(), Code::kInvalidArgument);
  EXPECT_THAT(refused([](auto& p) { p.set({2, 3}, {-3, 1}); }).what(), HasSubstr("negative"));
  EXPECT_EQ(refused([&](auto& p) { p.set({2, 3}, {huge, 1}); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(refused([&](auto& p) { p.set({3, 3}, {huge / 4 - 1, 1}); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(refused([](auto& p) { p.dl().byte_offset = UINT64_MAX - 8; }).code(), Code::kInvalidArgument);
  EXPECT_EQ(refused([](auto& p) { p.dl().ndim = -1; }).code(), Code::kInvalidArgument);
  EXPECT_EQ(refused([](auto& p) { p.dl().ndim = 1000; }).code(), Code::kInvalidArgument);
  EXPECT_EQ(refused([](auto& p) { p.dl().shape = nullptr; }).code(), Code::kInvalidArgument);
  EXPECT_THAT(refused([](auto& p) { p.dl().data = nullptr; }).what(), HasSubstr("NULL"));
}

// torch.float4_e2m1fn_x2 goes over as 4 bits with two lanes, and a shape in bytes.
TYPED_TEST(DlpackImport, TakesPackedLanesBelowAByte) {
  const auto shape_of = [](DLDataType type, std::vector<std::int64_t> shape, std::vector<std::int64_t> strides) {
    TypeParam producer;
    producer.dl().dtype = type;
    producer.set(std::move(shape), std::move(strides));
    reinterpret_cast<std::uint8_t*>(producer.data)[1] = 0x21;
    const Tensor tensor = dlpack::import_tensor(&producer.managed);
    EXPECT_EQ(tensor.data(), producer.data);
    EXPECT_EQ(static_cast<const std::uint8_t*>(tensor.data())[1], 0x21);
    return std::pair(tensor.element_type(), tensor.shape());
  };
  using Found = std::pair<ElementType, Shape>;
  EXPECT_EQ(shape_of({kDLFloat4_e2m1fn, 4, 2}, {2, 3}, {3, 1}), Found(ElementType::kF4E2M1, {2, 6}));
  EXPECT_EQ(shape_of({kDLFloat4_e2m1fn, 4, 2}, {}, {}), Found(ElementType::kF4E2M1, {2}));
  EXPECT_EQ(shape_of({kDLInt, 4, 2}, {4}, {1}), Found(ElementType::kI4, {8}));
  EXPECT_EQ(shape_of({kDLUInt, 1, 8}, {1, 2}, {2, 1}), Found(ElementType::kU1, {1, 16}));
}

TYPED_TEST(DlpackImport, RefusesLanesThatDoNotFillBytesOrHaveGaps) {
  const auto refused = [](DLDataType type, std::vector<std::int64_t> shape, std::vector<std::int64_t> strides) {
    TypeParam producer;
    producer.dl().dtype = type;
    producer.set(std::move(shape), std::move(strides));
    return producer.refusal().code();
  };
  EXPECT_EQ(refused({kDLFloat4_e2m1fn, 4, 3}, {2, 3}, {3, 1}), Code::kUnimplemented);
  EXPECT_EQ(refused({kDLFloat4_e2m1fn, 4, 2}, {2, 3}, {4, 1}), Code::kUnimplemented);
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_EQ(refused({kDLFloat4_e2m1fn, 4, 2}, {2, huge}, {huge, 1}), Code::kInvalidArgument);
}

TYPED_TEST(DlpackImport, RefusesTypesAndDevicesByName) {
  const auto refused = [](auto change) {
    TypeParam producer;
    change(producer);
    const Error error = producer.refusal();
    EXPECT_EQ(error.code(), Code::kUnimplemented);
    return std::string(error.what());
  };
  EXPECT_THAT(refused([](auto& p) { p.dl().dtype = {kDLFloat8_e3m4, 8, 1}; }), HasSubstr("float8_e3m4"));
  EXPECT_THAT(refused([](auto& p) { p.dl().dtype = {kDLComplex, 64, 1}; }), HasSubstr("complex"));
  EXPECT_THAT(refused([](auto& p) { p.dl().dtype = {kDLFloat, 32, 4}; }), HasSubstr("4 lanes"));
  EXPECT_THAT(refused([](auto& p) { p.dl().dtype = {200, 8, 1}; }), HasSubstr("200"));
  EXPECT_THAT(refused([](auto& p) { p.dl().dtype = {kDLInt, 24, 1}; }), HasSubstr("24 bits"));
  EXPECT_THAT(refused([](auto& p) { p.dl().device = {kDLCUDA, 0}; }), HasSubstr("CUDA"));
  EXPECT_THAT(refused([](auto& p) { p.dl().device = {12345, 0}; }), HasSubstr("12345"));
}

TEST(DlpackImportVersioned, NewerMajorVersionIsRefusedUnreadAndDeleted) {
  Versioned producer;
  producer.managed.version = {2, 0};
  producer.managed.flags = ~0ull;
  producer.managed.dl_tensor = {};  // Laid out differently in that version, so it must not be read.
  const Error error = producer.refusal();
  EXPECT_EQ(error.code(), Code::kUnimplemented);
  EXPECT_THAT(error.what(), HasSubstr("2.0"));
  EXPECT_THAT(error.what(), HasSubstr("max_version"));
}

TEST(DlpackImportVersioned, NullStridesAreTakenOnlyBefore12) {
  Versioned old;
  old.managed.version = {1, 1};
  old.dl().strides = nullptr;
  EXPECT_EQ(dlpack::import_tensor(&old.managed).byte_strides(), (ByteStrides{12, 4}));
  Versioned newer;
  newer.managed.version = {1, 2};
  newer.dl().strides = nullptr;
  EXPECT_THAT(newer.refusal().what(), HasSubstr("1.2"));
  Legacy legacy;
  legacy.dl().strides = nullptr;
  EXPECT_EQ(dlpack::import_tensor(&legacy.managed).byte_strides(), (ByteStrides{12, 4}));
}

TEST(DlpackImportVersioned, FlagsBecomeReadOnlyAndBookedCopies) {
  Versioned producer;
  producer.managed.flags = kFlagReadOnly | kFlagIsCopied;
  Ledger ledger;
  const Tensor tensor = dlpack::import_tensor(&producer.managed, &ledger);
  EXPECT_FALSE(tensor.is_writable());
  EXPECT_EQ(ledger.total().copied, 24u);
  EXPECT_EQ(ledger.total().maps, 1u);
}

TEST(DlpackImportVersioned, TypesBelowAByteAreTakenPackedOnly) {
  Versioned packed;
  packed.dl().dtype = {kDLUInt, 4, 1};
  EXPECT_EQ(dlpack::import_tensor(&packed.managed).size_bytes(), 3u);
  Versioned padded;
  padded.dl().dtype = {kDLUInt, 4, 1};
  padded.managed.flags = kFlagSubbyteTypePadded;
  EXPECT_THAT(padded.refusal().what(), HasSubstr("padded"));
  Versioned strided;
  strided.dl().dtype = {kDLUInt, 4, 1};
  strided.set({2, 3}, {8, 1});
  EXPECT_EQ(strided.refusal().code(), Code::kUnimplemented);
  Legacy legacy;
  legacy.dl().dtype = {kDLUInt, 4, 1};
  EXPECT_EQ(legacy.refusal().code(), Code::kUnimplemented);
}

TEST(DlpackImportVersioned, RefusesNull) {
  EXPECT_EQ(error_of([] { dlpack::import_tensor(static_cast<DLManagedTensorVersioned*>(nullptr)); }).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(error_of([] { dlpack::import_tensor(static_cast<DLManagedTensor*>(nullptr)); }).code(),
            Code::kInvalidArgument);
}

TEST(DlpackImportVersioned, DeletesOnTheThreadThatDropsTheTensor) {
  Versioned producer;
  Tensor tensor = dlpack::import_tensor(&producer.managed);
  std::thread([&] { tensor = {}; }).join();
  EXPECT_EQ(producer.deleted, 1);
}

TEST(DlpackExport, HandsOutTheSameBytesWithElementStrides) {
  const Tensor whole(element::f32, {4, 8});
  const Tensor tensor = whole.slice({1, 2}, {3, 6});
  DLManagedTensorVersioned* managed = dlpack::export_tensor(tensor);
  EXPECT_EQ(managed->version.major, 1u);
  EXPECT_EQ(managed->flags, 0u);
  const DLTensor& dl = managed->dl_tensor;
  EXPECT_EQ(static_cast<char*>(dl.data) + dl.byte_offset, tensor.data());
  EXPECT_EQ(dl.ndim, 2);
  EXPECT_EQ(dl.shape[0], 2);
  EXPECT_EQ(dl.shape[1], 4);
  EXPECT_EQ(dl.strides[0], 8);
  EXPECT_EQ(dl.strides[1], 1);
  EXPECT_EQ(dl.device.device_type, kDLCPU);
  managed->deleter(managed);
}

TEST(DlpackExport, KeepsMemoryAndLeaseUntilDeleted) {
  cpu::Pool pool(1024, 1);
  Tensor tensor = pool.acquire_tensor({element::f32, {256}, {}});
  DLManagedTensorVersioned* managed = dlpack::export_tensor(tensor);
  tensor = {};
  EXPECT_FALSE(pool.try_acquire()) << "the consumer still reads this buffer";
  static_cast<float*>(managed->dl_tensor.data)[255] = 1;
  std::thread([&] { managed->deleter(managed); }).join();
  EXPECT_TRUE(pool.try_acquire());
}

TEST(DlpackExport, SaysReadOnlyWhereTheTensorIs) {
  const float data[4] = {};
  const Tensor tensor = cpu::wrap(data, {element::f32, {4}, {}});
  DLManagedTensorVersioned* managed = dlpack::export_tensor(tensor);
  EXPECT_EQ(managed->flags, kFlagReadOnly);
  managed->deleter(managed);
  EXPECT_EQ(error_of([&] { dlpack::export_legacy(tensor); }).code(), Code::kPermissionDenied);
  DLManagedTensor* copy = dlpack::export_legacy(tensor, {.copy = Copy::kIfNeeded});
  EXPECT_NE(copy->dl_tensor.data, data);
  copy->deleter(copy);
}

TEST(DlpackExport, StridesThatAreNoWholeElementsAreRefusedOrCopiedAndBooked) {
  std::vector<char> bytes(64);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i);
  const Tensor odd(element::u16, {3, 4}, bytes.data(), {9, 2});
  EXPECT_THAT(error_of([&] { dlpack::export_tensor(odd); }).what(), HasSubstr("multiples"));
  Ledger ledger;
  DLManagedTensorVersioned* managed = dlpack::export_tensor(odd, {.copy = Copy::kIfNeeded, .ledger = &ledger});
  EXPECT_EQ(managed->flags, kFlagIsCopied);
  EXPECT_EQ(managed->dl_tensor.strides[0], 4);
  EXPECT_EQ(static_cast<char*>(managed->dl_tensor.data)[8], 9);
  EXPECT_EQ(ledger.total().copied, 24u);
  managed->deleter(managed);
  const Tensor even(element::u16, {3, 4}, bytes.data(), {10, 2});
  managed = dlpack::export_tensor(even, {.copy = Copy::kIfNeeded, .ledger = &ledger});
  EXPECT_EQ(managed->dl_tensor.data, bytes.data()) << "no copy was needed";
  managed->deleter(managed);
  managed = dlpack::export_tensor(even, {.copy = Copy::kAlways});
  EXPECT_NE(managed->dl_tensor.data, bytes.data());
  managed->deleter(managed);
}

TEST(DlpackExport, OfEveryElementTypeComesBackAsIs) {
  for (const ElementTypeInfo& type : kElementTypes) {
    if (type.type == ElementType::kUndefined || type.type == ElementType::kNf4) continue;  // DLPack has no nf4.
    if (type.type == ElementType::kString) {
      EXPECT_EQ(error_of([&] { dlpack::export_tensor(Tensor(type.type, {2})); }).code(), Code::kInvalidArgument);
      continue;
    }
    const Tensor tensor(type.type, {2, 5});
    const Tensor back = dlpack::import_tensor(dlpack::export_tensor(tensor));
    EXPECT_EQ(back.element_type(), type.type);
    EXPECT_EQ(back.data(), tensor.data()) << type.name;
    EXPECT_EQ(back.byte_strides(), tensor.byte_strides()) << type.name;
    if (type.bits < 8) {
      EXPECT_EQ(error_of([&] { dlpack::export_legacy(tensor); }).code(), Code::kUnimplemented);
    }
  }
}

TEST(DlpackExport, ScalarsAndEmptyTensors) {
  const Tensor scalar(element::i64, {});
  DLManagedTensorVersioned* managed = dlpack::export_tensor(scalar);
  EXPECT_EQ(managed->dl_tensor.ndim, 0);
  EXPECT_NE(managed->dl_tensor.data, nullptr);
  managed->deleter(managed);
  managed = dlpack::export_tensor(Tensor(element::i64, {3, 0}));
  EXPECT_NE(managed->dl_tensor.data, nullptr) << "torch 1.13 leaks tensors without data";
  EXPECT_EQ(managed->dl_tensor.shape[1], 0);
  managed->deleter(managed);
  EXPECT_EQ(error_of([] { dlpack::export_tensor(Tensor()); }).code(), Code::kInvalidArgument);
}

TEST(DlpackExport, WaitsForTheLastWrite) {
  const Tensor tensor(element::f32, {16});
  auto timeline = make_ref<HostTimeline>();
  tensor.memory()->hazards().wrote(timeline->next());
  EXPECT_EQ(error_of([&] {
              dlpack::export_tensor(tensor, {.deadline = Clock::now() + std::chrono::milliseconds(5)});
            }).code(),
            Code::kDeadlineExceeded);
  timeline->advance(1);
  DLManagedTensorVersioned* managed = dlpack::export_tensor(tensor);
  managed->deleter(managed);
}

TEST(DlpackExport, OfMemoryThatTheCpuCannotReachNamesTheRemedy) {
  class Hidden final : public Memory {
   public:
    Hidden() : Memory(host_context(), MemoryKind("hidden"), {64, nullptr, false, FdKind::kNone, 0, {}}) {}
  };
  const Tensor tensor({element::u8, {64}, {}}, make_ref<Hidden>());
  EXPECT_THAT(error_of([&] { dlpack::export_tensor(tensor); }).what(), HasSubstr("Router"));
}

}  // namespace dlpack_test
