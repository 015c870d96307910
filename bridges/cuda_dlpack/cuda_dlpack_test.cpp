// SPDX-License-Identifier: Apache-2.0
// DLPack on CUDA devices: both ways, the rules of streams, the deleter, wrong structs.
#include <tenon/bridges/cuda_dlpack/cuda_dlpack.hpp>

#include <tenon/bridges/cuda_dlpack/contexts.hpp>
#include <tenon/frameworks/cuda/testing/cuda.hpp>
#include <tenon/frameworks/dlpack/exchange.hpp>

#include <chrono>
#include <thread>

namespace tenon::cuda_dlpack {
namespace cuda_dlpack_test {

using cuda::bytes_info;
using cuda::bytes_of;
using cuda::counted;
using ::testing::AllOf;
using ::testing::HasSubstr;
namespace abi = dlpack::abi;

/// A producer as torch is one: bytes of CUDA, whose deleter is counted.
struct Producer {
  explicit Producer(const Tensor& of, int type = abi::kDLCUDA) : tensor(of) {
    managed.version = {1, 2};
    managed.manager_ctx = this;
    managed.deleter = [](abi::DLManagedTensorVersioned* self) { ++static_cast<Producer*>(self->manager_ctx)->deleted; };
    managed.dl_tensor = {reinterpret_cast<void*>(cuda::pointer(of)),
                         {type, cuda::device(of.context()).ordinal},
                         1,
                         {abi::kDLUInt, 8, 1},
                         &shape,
                         &stride,
                         0};
    shape = static_cast<std::int64_t>(of.size_bytes());
  }
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;
  /// Memory that work still uses is given back by another thread, which calls the deleter.
  ~Producer() { EXPECT_TRUE(drain_deferred(default_deadline())); }
  Tensor tensor;
  std::int64_t shape = 0, stride = 1;
  int deleted = 0;
  abi::DLManagedTensorVersioned managed{};
};
StreamNumber number(const cuda::HeldStream& stream) { return reinterpret_cast<StreamNumber>(stream.get()); }

class CudaDlpack : public cuda::CudaFixture {
 protected:
  Tensor device(std::size_t size) { return cuda::allocate(context, cuda::MemoryType::kDevice, bytes_info(size)); }
};

TEST_F(CudaDlpack, ImportsInPlaceAndCallsTheDeleterOnce) {
  Producer producer(device(1000));
  cuda::write(producer.tensor, counted(1000, 1));
  Ledger ledger;
  {
    producer.managed.dl_tensor.byte_offset = 100;
    producer.shape = 500;
    const Tensor tensor = import_tensor(&producer.managed, context, kLegacyDefaultStream, &ledger);
    EXPECT_EQ(cuda::pointer(tensor), cuda::pointer(producer.tensor) + 100);
    EXPECT_EQ(bytes_of(tensor), counted(500, 101));
    EXPECT_TRUE(tensor.is_writable());
    EXPECT_EQ(producer.deleted, 0);
  }
  EXPECT_TRUE(drain_deferred(default_deadline()));
  EXPECT_EQ(producer.deleted, 1);
  EXPECT_EQ(ledger.total().copied, 0u);
  EXPECT_EQ(ledger.total().maps, 1u);
}

TEST_F(CudaDlpack, ExportsWhatImportsTake) {
  const Tensor tensor = cuda::allocate(context, cuda::MemoryType::kDevice, {element::f32, {4, 6}, {}});
  cuda::write(tensor, counted(96, 3));
  const Tensor part = tensor.slice({1, 2}, {3, 5});
  abi::DLManagedTensorVersioned* const managed = export_tensor(part);
  EXPECT_EQ(managed->dl_tensor.device.device_type, abi::kDLCUDA);
  EXPECT_EQ(managed->dl_tensor.strides[0], 6);
  const Tensor back = import_tensor(managed, context);
  EXPECT_EQ(cuda::pointer(back), cuda::pointer(part));
  EXPECT_EQ(bytes_of(back), bytes_of(part));
  const Tensor old = import_tensor(export_legacy(tensor), context);
  EXPECT_EQ(bytes_of(old), counted(96, 3));
  const Tensor pinned = cuda::allocate(context, cuda::MemoryType::kHost, bytes_info(10));
  abi::DLManagedTensorVersioned* const host = export_tensor(pinned);
  EXPECT_EQ(host->dl_tensor.device.device_type, abi::kDLCUDAHost);
  EXPECT_TRUE(import_tensor(host, context).is_host_addressable());
}

TEST_F(CudaDlpack, UsersWaitForTheStreamOfTheImport) {
  Producer producer(device(4096));
  const Tensor source = cuda::allocate(context, cuda::MemoryType::kHost, bytes_info(4096));
  cuda::write(source, counted(4096, 9));
  cuda::HeldStream stream(context);
  stream.hold();
  stream.copy(cuda::pointer(producer.tensor), cuda::pointer(source), 4096);
  const Tensor tensor = import_tensor(&producer.managed, context, number(stream));
  EXPECT_EQ(tensor.memory()->pending(Access::kRead).size(), 1u);
  stream.let_go();
  EXPECT_EQ(bytes_of(router->map(tensor, host_context())), counted(4096, 9));
}

TEST_F(CudaDlpack, TheConsumersStreamWaitsAndItsWorkIsKnownAtTheEnd) {
  const Tensor tensor = device(4096), source = cuda::allocate(context, cuda::MemoryType::kHost, bytes_info(4096)),
               target = cuda::allocate(context, cuda::MemoryType::kHost, bytes_info(4096));
  cuda::write(source, counted(4096, 9));
  cuda::HeldStream producer(context), consumer(context);
  producer.hold();
  producer.copy(cuda::pointer(tensor), cuda::pointer(source), 4096);
  cuda::wrote(tensor, producer.get());
  abi::DLManagedTensorVersioned* const managed = export_tensor(tensor, number(consumer));
  consumer.copy(cuda::pointer(target), cuda::pointer(tensor), 4096);
  managed->deleter(managed);
  EXPECT_GE(tensor.memory()->pending(Access::kWrite).size(), 1u) << "the consumer's work is not known";
  producer.let_go();
  tensor.memory()->wait_for(Access::kWrite, default_deadline());
  EXPECT_EQ(bytes_of(target), counted(4096, 9)) << "the consumer did not wait";
}

TEST_F(CudaDlpack, WithoutAStreamNobodyWaits) {
  Producer producer(device(64));
  EXPECT_TRUE(import_tensor(&producer.managed, context, kNoStream).memory()->pending(Access::kRead).empty());
}

TEST_F(CudaDlpack, WrongStructsAreNamedAndDeleted) {
  int failures = 0;
  const auto error = [&](auto&& change, Code code, StreamNumber stream = 1) {
    Producer producer(device(64));
    change(producer);
    const std::string text = error_of([&] { import_tensor(&producer.managed, context, stream); }, code);
    EXPECT_EQ(producer.deleted, 1) << text;
    ++failures;
    return text;
  };
  const auto nothing = [](Producer&) {};
  EXPECT_THAT(error(nothing, Code::kInvalidArgument, 0), HasSubstr("stream 0 is ambiguous"));
  EXPECT_THAT(error([](Producer& p) { p.managed.dl_tensor.device.device_type = abi::kDLOpenCL; }, Code::kUnimplemented),
              AllOf(HasSubstr("4 (OpenCL)"), HasSubstr("dlpack::import_tensor")));
  EXPECT_THAT(error([](Producer& p) { p.managed.dl_tensor.device.device_id = 7; }, Code::kInvalidArgument),
              AllOf(HasSubstr("CUDA device 7"), HasSubstr("is device 0")));
  EXPECT_THAT(error([](Producer& p) { p.managed.version.major = 2; }, Code::kUnimplemented), HasSubstr("version 2"));
  EXPECT_THAT(error([](Producer& p) { p.shape = -1; }, Code::kInvalidArgument), HasSubstr("extent -1"));
  EXPECT_THAT(error([](Producer& p) { p.shape = std::int64_t{1} << 40; }, Code::kOutOfRange),
              HasSubstr("from there on"));
  EXPECT_THAT(error(
                  [](Producer& p) {
                    p.managed.dl_tensor.data = nullptr;
                    p.shape = 64;
                  },
                  Code::kInvalidArgument),
              HasSubstr("data is NULL"));
  EXPECT_THAT(error([](Producer& p) { p.managed.dl_tensor.data = &p; }, Code::kInvalidArgument),
              HasSubstr("no memory that CUDA knows"));
  EXPECT_EQ(failures, 8);
  EXPECT_THAT(
      error_of([&] { import_tensor(static_cast<abi::DLManagedTensor*>(nullptr), context); }, Code::kInvalidArgument),
      HasSubstr("null pointer"));
  EXPECT_THAT(error_of([&] { export_tensor(Tensor(element::u8, {4})); }, Code::kInvalidArgument),
              HasSubstr("map it to"));
}

TEST_F(CudaDlpack, EmptyTensorsNeedNoMemory) {
  Producer producer(device(64));
  producer.shape = 0;
  producer.managed.dl_tensor.data = nullptr;
  const Tensor tensor = import_tensor(&producer.managed, context);
  EXPECT_EQ(tensor.size_bytes(), 0u);
  EXPECT_EQ(producer.deleted, 1);
}

/// As programs use it that know CUDA by DLPack's numbers only.
TEST(CudaExchange, IsFoundByTheDevicesNumber) {
  contexts();
  if (cuda::contexts().empty()) {
    ASSERT_FALSE(cuda::driver_is_named()) << cuda::why_none();
    GTEST_SKIP() << cuda::why_none();
  }
  // The process's context, which keeps its events for later.
  const auto device = [](std::size_t size) {
    return cuda::allocate(cuda::contexts().front(), cuda::MemoryType::kDevice, bytes_info(size));
  };
  const dlpack::DeviceExchange* const exchange = dlpack::find_exchange(abi::kDLCUDA);
  ASSERT_NE(exchange, nullptr);
  EXPECT_EQ(dlpack::find_exchange(abi::kDLOpenCL), nullptr);
  Producer producer(device(256));
  const Tensor tensor = exchange->import_tensor(&producer.managed, exchange->default_stream(), nullptr);
  EXPECT_EQ(cuda::pointer(tensor), cuda::pointer(producer.tensor));
  EXPECT_EQ(dlpack::find_exchange(tensor), exchange);
  EXPECT_EQ(dlpack::find_exchange(Tensor(element::u8, {4})), nullptr);
  EXPECT_EQ(exchange->device_of(tensor)->device_type, abi::kDLCUDA);
  const auto at = exchange->device_at(static_cast<std::uintptr_t>(cuda::pointer(tensor)) + 8);
  ASSERT_TRUE(at);
  EXPECT_EQ(at->device_type, abi::kDLCUDA);
  EXPECT_EQ(at->device_id, 0);
  EXPECT_FALSE(exchange->device_at(reinterpret_cast<std::uintptr_t>(&producer)));
  Producer elsewhere(device(64));
  elsewhere.managed.dl_tensor.device.device_id = 7;
  EXPECT_THAT(error_of([&] { exchange->import_tensor(&elsewhere.managed, 1, nullptr); }, Code::kUnavailable),
              HasSubstr("no CUDA device 7"));
  EXPECT_EQ(elsewhere.deleted, 1);
}

}  // namespace cuda_dlpack_test
}  // namespace tenon::cuda_dlpack
