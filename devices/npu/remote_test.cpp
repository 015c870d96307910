// SPDX-License-Identifier: Apache-2.0
// Remote contexts and tensors: sharing, refusals and their messages, and closing early.
#include <sys/mman.h>

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>

#include <tenon/core/router.hpp>
#include <tenon/devices/npu/testing/npu.hpp>
#include <tenon/frameworks/cpu/shared_memory.hpp>
#include <tenon/frameworks/dmabuf/client.hpp>
#include <tenon/frameworks/dmabuf/dmabuf.hpp>
#include <tenon/frameworks/level_zero/level_zero.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace tenon::npu_testing {
namespace npu_remote_test {

using intel_npu::FileDescriptor;
using intel_npu::MemType;
using intel_npu::TensorType;
using intel_npu::level_zero::ZeroBufferTensor;
using intel_npu::level_zero::ZeroContext;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class NpuRemote : public Npu {
 protected:
  /// A request of relu on [1, 1024] that refuses copies.
  InferRequest request(const RemoteContext& context) {
    return core.compile_model(relu({1, 1024}), context, zero_copy(ZeroCopy::kRequire)).create_infer_request();
  }
};

/// A temporary file, deleted after the test.
class File {
 public:
  explicit File(const std::vector<float>& values, std::size_t offset = 0) {
    std::ofstream out(path_, std::ios::binary);
    out << std::string(offset, '\0');
    out.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * 4));
  }
  const std::string& path() const { return path_; }

 private:
  TemporaryFolder folder_;
  std::string path_ = folder_.path() / "values";
};

TEST_F(NpuRemote, TheDefaultContextIsOneForCoreAndModels) {
  ZeroContext context(core);
  EXPECT_EQ(context.get_device_name(), "NPU");
  EXPECT_NE(context.get(), nullptr);
  EXPECT_EQ(context.get_params().size(), 1u);
  auto compiled = core.compile_model(relu(), "NPU");
  EXPECT_EQ(compiled.get_context().as<ZeroContext>().get_params().at("L0_CONTEXT").as<void*>(), context.get());
  Core other;
  EXPECT_EQ(other.get_default_context("NPU").as<ZeroContext>().get_params().at("L0_CONTEXT").as<void*>(), context.get())
      << "one ze_context for the process";
  EXPECT_NO_THROW(core.create_context("NPU", AnyMap{}));
  EXPECT_NO_THROW(core.create_context("NPU", AnyMap{{"L0_CONTEXT", context.get()}}));
  EXPECT_THROW(core.create_context("NPU", AnyMap{{"L0_CONTEXT", static_cast<void*>(nullptr)}}), Error);
  EXPECT_THROW(core.create_context("NPU", AnyMap{{"OCL_CONTEXT", 1}}), Error);
}

TEST_F(NpuRemote, HostMemoryOfTheDeviceIsUsedInPlace) {
  ZeroContext context(core);
  auto request = this->request(context);
  auto x = context.create_l0_host_tensor(element::f32, {1, 1024}, TensorType::INPUT);
  auto y = context.create_l0_host_tensor(element::f32, {1, 1024}, TensorType::OUTPUT);
  EXPECT_EQ(x.get_params().at("MEM_TYPE").as<MemType>(), MemType::L0_INTERNAL_BUF);
  EXPECT_EQ(x.get_params().at("TENSOR_TYPE").as<TensorType>(), TensorType::INPUT);
  EXPECT_EQ(x.get_params().size(), 3u);
  // The handle is the memory's address.
  std::fill_n(static_cast<float*>(x.get()), 1024, -1.f);
  static_cast<float*>(x.get())[7] = 7;
  request.set_tensor("x", x);
  request.set_tensor("y", y);
  request.infer();
  EXPECT_EQ(static_cast<float*>(y.get())[7], 7);
  EXPECT_EQ(static_cast<float*>(y.get())[8], 0);
  EXPECT_EQ(request.ledger().total().copied, 0u);
  const Tensor& as_tensor = x;
  EXPECT_THROW(as_tensor.data(), Error) << "a remote tensor has no data()";
  EXPECT_EQ(RemoteTensor(request.get_tensor("x")).get_params().at("MEM_HANDLE").as<void*>(), x.get());
}

TEST_F(NpuRemote, ADescriptorsMemoryIsSharedAndTheDescriptorMayBeClosed) {
  ZeroContext context(core);
  auto request = this->request(context);
  const std::size_t descriptors = open_descriptors();
  {
    auto in = cpu::SharedMemory::allocate(4096), out = cpu::SharedMemory::allocate(4096);
    int fd = ::dup(in->borrow_fd());
    auto x = context.create_tensor(element::f32, {1, 1024}, fd);
    auto y = context.create_tensor(element::f32, {1, 1024}, out->borrow_fd());
    ::close(fd);
    auto* values = static_cast<float*>(in->host());
    for (int i = 0; i < 1024; ++i) values[i] = static_cast<float>(i - 100);
    request.set_tensor("x", x);
    request.set_tensor("y", y);
    request.infer();
    EXPECT_EQ(static_cast<float*>(out->host())[101], 1);
    EXPECT_EQ(static_cast<float*>(out->host())[99], 0);
    values[0] = 42;
    request.infer();
    EXPECT_EQ(static_cast<float*>(out->host())[0], 42);
    EXPECT_EQ(x.get_params().at("MEM_TYPE").as<MemType>(), MemType::SHARED_BUF);
    EXPECT_EQ(request.ledger().total().copied, 0u);
    request = {};
  }
  // The thread that ended an inference lets go of it a moment later.
  for (int i = 0; i < 6000 && open_descriptors() != descriptors; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(open_descriptors(), descriptors);
}

TEST_F(NpuRemote, TensorsOverDescriptorsNeedNoRemoteTensor) {
  auto request = this->request(core.get_default_context("NPU"));
  // Memory with a descriptor is imported by it, from any framework.
  auto in = cpu::SharedMemory::allocate(4096);
  std::fill_n(static_cast<float*>(in->host()), 1024, 3.f);
  request.set_tensor("x", Tensor(TensorInfo{ElementType::kF32, {1, 1024}, {}}, in));
  request.infer();
  EXPECT_EQ(request.get_tensor("y").data<float>()[1023], 3);
  // A dma-buf (or its stand-in) is mapped by the router.
  const Context dmabufs = dmabuf::context();
  core.router().add(dmabufs);
  const Tensor buffer(TensorInfo{ElementType::kF32, {1, 1024}, {}}, dmabufs->allocate([] {
    Requirements wanted;
    wanted.size_bytes = 4096;
    return wanted;
  }()));
  {
    dmabuf::CpuAccess access(buffer, Access::kWrite);
    std::fill_n(static_cast<float*>(access.data()), 1024, 8.f);
    access.end();
  }
  request.set_tensor("x", buffer);
  request.infer();
  EXPECT_EQ(request.get_tensor("y").data<float>()[5], 8);
  EXPECT_EQ(request.ledger().total().copied, 0u);
}

TEST_F(NpuRemote, PagesOfTheApplicationAreShared) {
  TENON_NEEDS("sysmem");
  ZeroContext context(core);
  auto request = this->request(context);
  const Pages pages(2 * 4096);
  auto x = context.create_tensor(element::f32, {1, 1024}, pages.data(), MemType::CPU_VA);
  auto y = context.create_tensor(element::f32, {1, 1024}, static_cast<std::byte*>(pages.data()) + 4096, MemType::CPU_VA,
                                 TensorType::OUTPUT);
  EXPECT_EQ(x.get(), pages.data());
  pages.floats()[5] = 5;
  request.set_tensor("x", x);
  request.set_tensor("y", y);
  request.infer();
  EXPECT_EQ(pages.floats()[1024 + 5], 5);
  EXPECT_EQ(request.ledger().total().copied, 0u);
  const auto words = [&](void* data, const Shape& shape) {
    return std::string(error_of([&] { context.create_tensor(element::f32, shape, data, MemType::CPU_VA); }).what());
  };
  const char* unaligned =
      "Importing standard allocation is not supported if memory is not aligned to standard page size";
  EXPECT_THAT(words(static_cast<std::byte*>(pages.data()) + 64, {1024}), HasSubstr(unaligned));
  EXPECT_THAT(words(pages.data(), {1000}), HasSubstr(unaligned));
  EXPECT_THAT(words(nullptr, {1024}), HasSubstr("Data pointer for importing memory can't be null"));
  EXPECT_THAT(words(pages.data(), {2048}),
              HasSubstr("Can not import a memory which is part of an existing allocation"));
}

TEST_F(NpuRemote, AFilesBytesAreAnInput) {
  ZeroContext context(core);
  auto request = this->request(context);
  std::vector<float> values(1024);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) - 1000;
  for (const std::size_t offset : {0u, 4096u, 100u}) {
    const File file(values, offset);
    auto x = context.create_tensor(element::f32, {1, 1024}, FileDescriptor(file.path(), offset));
    EXPECT_EQ(x.get_params().at("MEM_TYPE").as<MemType>(), MemType::MMAPED_FILE);
    EXPECT_EQ(x.get_params().at("TENSOR_TYPE").as<TensorType>(), TensorType::INPUT);
    std::filesystem::remove(file.path());
    request.set_tensor("x", x);
    request.infer();
    EXPECT_EQ(request.get_tensor("y").data<float>()[1001], 1) << offset;
    EXPECT_EQ(request.get_tensor("y").data<float>()[999], 0) << offset;
  }
  EXPECT_EQ(request.ledger().total().copied, 0u);
  const File file(values);
  const auto words = [&](const FileDescriptor& descriptor, TensorType type) {
    return std::string(error_of([&] { context.create_tensor(element::f32, {1, 1024}, descriptor, type); }).what());
  };
  EXPECT_THAT(words({file.path()}, TensorType::OUTPUT), HasSubstr("supported only for input tensors"));
  EXPECT_THAT(words({file.path(), 4096}, TensorType::INPUT), HasSubstr("Offset is beyond the end of the file."));
  EXPECT_THAT(words({file.path(), 4}, TensorType::INPUT), HasSubstr("the tensor needs 4096"));
  EXPECT_THAT(words({"/nonexistent/file"}, TensorType::INPUT), HasSubstr("/nonexistent/file"));
  EXPECT_THAT(words({"/dev/null"}, TensorType::INPUT), HasSubstr("not a regular file"));
  EXPECT_THAT(error_of([] { FileDescriptor(""); }).what(), HasSubstr("Provided path is empty."));
  const File behind(values, 100);
  const AnyMap by_words{{"MEM_TYPE", std::string("MMAPED_FILE")}, {"FILE_DESCRIPTOR", behind.path()}};
  AnyMap with_offset = by_words;
  with_offset["FILE_OFFSET"] = std::string("100");
  request.set_tensor("x", RemoteContext(context).create_tensor(element::f32, {1, 1024}, with_offset));
  request.infer();
  EXPECT_EQ(request.get_tensor("y").data<float>()[1001], 1) << "a path and an offset as text";
  EXPECT_EQ(request.get_tensor("y").data<float>()[999], 0);
  auto x = context.create_tensor(element::f32, {1, 1024}, FileDescriptor(file.path()), TensorType::BINDED);
  EXPECT_EQ(x.get_params().at("TENSOR_TYPE").as<TensorType>(), TensorType::INPUT);
  EXPECT_THROW(request.set_tensor("y", x), Error) << "a file is not written to";
}

TEST_F(NpuRemote, ParametersAreChecked) {
  auto context = core.get_default_context("NPU");
  const auto words = [&](const AnyMap& params, const Shape& shape = {1, 1024}) {
    return std::string(error_of([&] { context.create_tensor(element::f32, shape, params); }).what());
  };
  void* const some = this;
  EXPECT_THAT(words({{"MEM_HANDLE", some}}), HasSubstr("Parameter MEM_TYPE must be set"));
  EXPECT_THAT(words({{"TENSOR_TYPE", TensorType::INPUT}}), HasSubstr("Parameter MEM_TYPE must be set"));
  EXPECT_THAT(words({{"MEM_TYPE", MemType::SHARED_BUF}}), HasSubstr("MEM_HANDLE"));
  EXPECT_THAT(words({{"MEM_TYPE", MemType::CPU_VA}}), HasSubstr("MEM_HANDLE"));
  EXPECT_THAT(words({{"MEM_TYPE", MemType::MMAPED_FILE}}), HasSubstr("FILE_DESCRIPTOR"));
  EXPECT_THAT(words({{"MEM_TYPE", std::string("NO_SUCH")}}), HasSubstr("NO_SUCH"));
  const std::string file = "MMAPED_FILE";
  EXPECT_THAT(words({{"MEM_TYPE", file}, {"FILE_OFFSET", std::string("7")}}), HasSubstr("without FILE_DESCRIPTOR"));
  EXPECT_THAT(
      words({{"MEM_TYPE", file}, {"FILE_DESCRIPTOR", std::string("/f")}, {"FILE_OFFSET", std::string("seven")}}),
      HasSubstr("seven"));
  EXPECT_THAT(words({{"VA_DEVICE", some}}), HasSubstr("VA_DEVICE"));
  EXPECT_THAT(words({}, {0, 4}), HasSubstr("must have elements"));
  EXPECT_THAT(words({}, {std::size_t{1} << 40, std::size_t{1} << 40}), HasSubstr("too large"));
  // Parameters as strings, like in property files.
  RemoteTensor text = context.create_tensor(element::f32, {1, 4}, {{"MEM_TYPE", std::string("L0_INTERNAL_BUF")}});
  EXPECT_TRUE(text.is<ZeroBufferTensor>());
  EXPECT_FALSE(floats({1}, {1}).is<ZeroBufferTensor>());
  // A context's own parameters are defaults for its tensors.
  auto inputs =
      core.create_context("NPU", AnyMap{{"MEM_TYPE", MemType::L0_INTERNAL_BUF}, {"TENSOR_TYPE", TensorType::INPUT}});
  EXPECT_EQ(inputs.create_tensor(element::f32, {1, 4}).get_params().at("TENSOR_TYPE").as<TensorType>(),
            TensorType::INPUT);
  EXPECT_EQ(inputs.get_params().size(), 1u) << "get_params tells the context alone";
}

TEST_F(NpuRemote, DescriptorsThatAreNoMemoryAreRefused) {
  ZeroContext context(core);
  const auto words = [&](int fd) {
    return std::string(error_of([&] { context.create_tensor(element::f32, {1, 1024}, fd); }).what());
  };
  EXPECT_THAT(words(0), HasSubstr("Data pointer for importing memory can't be null"));
  EXPECT_THAT(words(12345), HasSubstr("12345"));
  EXPECT_THAT(words(-1), HasSubstr("NT handles"));
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  EXPECT_THAT(words(pipe[0]), HasSubstr("is not memory"));
  ::close(pipe[0]);
  ::close(pipe[1]);
  auto small = cpu::SharedMemory::allocate(100);
  EXPECT_THAT(error_of(
                  [&] {
                    context.create_tensor(element::f32, {2, 1024}, small->borrow_fd());
                  },
                  Code::kOutOfRange),
              HasSubstr("has 4096 bytes, the tensor needs 8192"));
  EXPECT_THAT(error_of([&] { context.create_tensor(element::f32, {4}, static_cast<void*>(this)); }).what(),
              HasSubstr("NT handles exist on Windows only"));
  EXPECT_THAT(error_of([&] { context.create_tensor(element::f32, {4}, 5, MemType::CPU_VA); }).what(),
              HasSubstr("Only SHARED_BUF memory type is supported for DMA-BUF file descriptor"));
  EXPECT_THAT(error_of([&] {
                context.create_tensor(element::f32, {4}, static_cast<void*>(this), MemType::MMAPED_FILE);
              }).what(),
              HasSubstr("Only SHARED_BUF and CPU_VA memory types are supported"));
}

TEST_F(NpuRemote, ADescriptorThatMayOnlyBeReadIsNoOutputAndKeepsItsPosition) {
  ZeroContext context(core);
  auto request = this->request(context);
  auto memory = cpu::SharedMemory::allocate(4096);
  static_cast<float*>(memory->host())[3] = 3;
  const int fd = ::open(("/proc/self/fd/" + std::to_string(memory->borrow_fd())).c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(::lseek(fd, 100, SEEK_SET), 100);
  auto x = context.create_tensor(element::f32, {1, 1024}, fd);
  EXPECT_EQ(::lseek(fd, 0, SEEK_CUR), 100);
  ::close(fd);
  request.set_tensor("x", x);
  request.infer();
  EXPECT_EQ(request.get_tensor("y").data<float>()[3], 3);
  EXPECT_THAT(error_of([&] { request.set_tensor("y", x); }).what(), HasSubstr("read"));
  EXPECT_THROW(x.copy_from(floats({1, 1024}, std::vector<float>(1024, 1))), Error);
}

/// A memfd that emulates a dma-buf with another device's fence, which poll reports as pending a given number of times.
/// The VM's tests have real ones.
std::atomic<int> fence_polls{0};
int like_a_dmabuf(const char* call) {
  const std::string_view name(call);
  if (name == "ioctl(DMA_BUF_IOCTL_SYNC)") return EINVAL;
  return name == "poll" && fence_polls > 0 && fence_polls-- > 0 ? EAGAIN : 0;
}

TEST_F(NpuRemote, FencesOfOtherDevicesAreWaitedForBeforeEachInference) {
  ZeroContext context(core);
  auto request = this->request(context);
  const cpu::UniqueFd memfd = dmabuf::client::sealed_memfd(4096);
  dmabuf::native::fault = like_a_dmabuf;
  const Tensor tensor({element::f32, {1, 1024}, {}}, dmabuf::import(memfd.duplicate(), 4096));
  ASSERT_EQ(tensor.memory()->fd_kind(), FdKind::kDmabuf);
  const Tensor remote = context.create_tensor(element::f32, {1, 1024}, memfd.get());
  for (const Tensor& x : {tensor, remote}) {
    request.set_tensor("x", x);
    for (int run = 0; run < 3; ++run) {
      const std::uint64_t waits = request.ledger().total().waits;
      fence_polls = 3;
      request.infer();
      if (lacks("fences")) {
        EXPECT_EQ(fence_polls, 0) << "computed before the other device was done";
        EXPECT_GE(request.ledger().total().waits, waits + 1) << "it was not booked";
      } else {
        EXPECT_EQ(fence_polls, 3) << "the driver waits itself, and the host waits as well";
      }
    }
  }
  const View* const view = tensor.memory()->find_view_if([](const View&) { return true; });
  ASSERT_TRUE(view);
  EXPECT_EQ(view->host(), nullptr) << "the CPU could use a dma-buf without its bracket";
  dmabuf::native::fault = nullptr;
}

TEST_F(NpuRemote, ATiledDmaBufIsRefusedForItsTiles) {
  auto request = this->request(ZeroContext(core));
  const Ref<Memory> tiled = dmabuf::import(dmabuf::client::sealed_memfd(4096), 4096, 0x100000000000001);
  EXPECT_THAT(error_of([&] {
                request.set_tensor("x", Tensor({element::f32, {1, 1024}, {}}, tiled));
              }).what(),
              HasSubstr("tiled"));
}

TEST_F(NpuRemote, ARefusalCarriesTheDriversWords) {
  TENON_NEEDS("sysmem");
  ZeroContext context(core);
  void* const nothing = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_THAT(error_of([&] { context.create_tensor(element::f32, {1024}, nothing, MemType::CPU_VA); }).what(),
              HasSubstr("imported where it is mapped and readable"));
  ::munmap(nothing, 4096);
}

TEST_F(NpuRemote, RegionsAreViews) {
  ZeroContext context(core);
  auto whole = context.create_l0_host_tensor(element::f32, {4, 8});
  for (int i = 0; i < 32; ++i) static_cast<float*>(whole.get())[i] = static_cast<float>(i);
  RemoteTensor part(whole, {1, 2}, {3, 5});
  EXPECT_EQ(part.get_shape(), (Shape{2, 3}));
  Tensor copy;
  part.copy_to(copy);
  EXPECT_THAT(values_of(copy), ElementsAre(10, 11, 12, 18, 19, 20));
  part.copy_from(floats({2, 3}, {-1, -2, -3, -4, -5, -6}));
  EXPECT_EQ(static_cast<float*>(whole.get())[10], -1);
  EXPECT_EQ(static_cast<float*>(whole.get())[13], 13);
  EXPECT_EQ(static_cast<float*>(whole.get())[20], -6);
  EXPECT_THROW(RemoteTensor(whole, {1, 2}, {5, 5}), Error);
  // A row of a remote tensor as an input, in place.
  auto request = core.compile_model(relu({1, 8}), context, zero_copy(ZeroCopy::kRequire)).create_infer_request();
  request.set_tensor("x", RemoteTensor(whole, {3, 0}, {4, 8}));
  request.infer();
  EXPECT_THAT(values_of(request.get_tensor("y")), ElementsAre(24, 25, 26, 27, 28, 29, 30, 31));
  EXPECT_EQ(request.ledger().total().copied, 0u);
}

TEST_F(NpuRemote, CopiesGoBetweenHostAndRemoteTensors) {
  ZeroContext context(core);
  auto a = context.create_l0_host_tensor(element::f32, {2, 2}), b = context.create_l0_host_tensor(element::f32, {2, 2});
  a.copy_from(floats({2, 2}, {1, 2, 3, 4}));
  EXPECT_EQ(core.ledger().total().copied, 4 * sizeof(float));
  Tensor to = b;
  a.copy_to(to);
  EXPECT_EQ(core.ledger().total().copied, 8 * sizeof(float));
  EXPECT_THAT(values_of(b), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(core.ledger().report(), HasSubstr("NPU: remote copy"));
  EXPECT_THAT(error_of([&] {
                a.copy_from(Tensor(element::i32, {2, 2}));
              }).what(),
              HasSubstr("Tensor element types are not equal."));
  EXPECT_THAT(error_of([&] {
                a.copy_from(floats({3, 2}, std::vector<float>(6, 1)));
              }).what(),
              HasSubstr("Cannot set a new bigger shape to this tensor."));
  EXPECT_THAT(error_of([&] {
                a.set_shape({3, 2});
              }).what(),
              HasSubstr("Cannot set a new bigger shape to this tensor."));
  a.set_shape({1, 2});
  EXPECT_EQ(a.get_shape(), (Shape{1, 2}));
  EXPECT_EQ(values_of(a)[1], 2);
}

/// A batch in several remote tensors: read where they lie by a graph of one item, gathered for a graph of the whole batch.
TEST_F(NpuRemote, BatchesInSeveralTensorsAreTaken) {
  ZeroContext context(core);
  std::vector<Tensor> items;
  for (std::size_t i = 0; i < 3; ++i) {
    auto item = context.create_l0_host_tensor(element::f32, {1, 2}, TensorType::INPUT);
    item.copy_from(floats({1, 2}, {static_cast<float>(i), -1}));
    items.push_back(item);
  }
  for (const bool is_split : {true, false}) {
    for (const PartialShape& shape : {PartialShape{3, 2}, PartialShape{Dimension(1, 8), 2}}) {
      SCOPED_TRACE(shape.to_string() + (is_split ? " item by item" : " whole"));
      AnyMap properties;
      if (is_split) properties = {{"NPU_BATCH_MODE", "PLUGIN"}, zero_copy(ZeroCopy::kRequire)};
      auto request = core.compile_model(relu(shape), context, properties).create_infer_request();
      request.set_tensors("x", items);
      request.infer();
      EXPECT_THAT(values_of(request.get_tensor("y")), ElementsAre(0, 0, 1, 0, 2, 0));
      // An output whose shape is known late is copied, too.
      if (shape.is_static()) {
        EXPECT_EQ(request.ledger().total().copied, is_split ? 0u : 6 * sizeof(float));
      }
      // Others in another order, one tensor for all, and the same again.
      request.set_tensors("x", {items[2], items[0], items[1]});
      request.infer();
      EXPECT_THAT(values_of(request.get_tensor("y")), ElementsAre(2, 0, 0, 0, 1, 0));
      auto whole = context.create_l0_host_tensor(element::f32, {8, 2}, TensorType::INPUT);
      whole.copy_from(floats({3, 2}, {4, 5, 6, 7, 8, 9}));
      request.set_tensor("x", whole);
      request.infer();
      EXPECT_THAT(values_of(request.get_tensor("y")), ElementsAre(4, 5, 6, 7, 8, 9));
      request.set_tensors("x", items);
      request.infer();
      EXPECT_THAT(values_of(request.get_tensor("y")), ElementsAre(0, 0, 1, 0, 2, 0));
    }
  }
  auto strict = core.compile_model(relu({3, 2}), context, zero_copy(ZeroCopy::kRequire)).create_infer_request();
  strict.set_tensors("x", items);
  EXPECT_THAT(error_of([&] { strict.infer(); }).what(), HasSubstr("NPU_BATCH_MODE PLUGIN"));
}

TEST_F(NpuRemote, TensorsOfOthersAreRefusedOrRouted) {
  auto request = this->request(core.get_default_context("NPU"));
  EXPECT_THROW(request.set_tensor("x", Tensor()), Error);
  // The same ze_context from another Core.
  Core other;
  ZeroContext same(other);
  EXPECT_NO_THROW(request.set_tensor("x", same.create_l0_host_tensor(element::f32, {1, 1024})));
  EXPECT_THROW(request.set_tensor("x", same.create_l0_host_tensor(element::f32, {1, 512})), Error);
  EXPECT_THROW(request.set_tensor("x", same.create_l0_host_tensor(element::i32, {1, 1024})), Error);
  // The NPU cannot access another ze_context's memory: `require` refuses it and names the possible route.
  const Context foreign = level_zero::make_context();
  const Tensor theirs = level_zero::allocate(foreign, level_zero::UsmType::kHost, {ElementType::kF32, {1, 1024}, {}});
  EXPECT_THAT(error_of([&] { request.set_tensor("x", theirs); }).what(), HasSubstr("another context"));
}

TEST_F(NpuRemote, ModelsAreCompiledAndImportedOnAContext) {
  auto context = core.create_context("NPU", AnyMap{});
  auto compiled = core.compile_model(relu(), context);
  std::stringstream blob;
  compiled.export_model(blob);
  auto imported = core.import_model(blob, context);
  EXPECT_EQ(imported.get_context().impl(), context.impl());
  auto request = imported.create_infer_request();
  request.set_tensor("x", floats({1, 4}, {1, -1, 1, -1}));
  request.infer();
  EXPECT_THAT(values_of(request.get_tensor("y")), ElementsAre(1, 0, 1, 0));
  EXPECT_THROW(core.compile_model(relu(), RemoteContext()), Error);
}

TEST_F(NpuRemote, TensorsOutliveEverything) {
  const std::size_t before = handles();
  {
    ZeroBufferTensor y;
    {
      Core temporary;
      temporary.set_property("NPU", {hint::inference_precision(element::f32)});
      ZeroContext context(temporary);
      y = context.create_l0_host_tensor(element::f32, {1, 4});
      auto request = temporary.compile_model(relu(), context).create_infer_request();
      request.set_tensor("x", floats({1, 4}, {9, -9, 9, -9}));
      request.set_tensor("y", y);
      request.infer();
    }
    EXPECT_THAT(values_of(y), ElementsAre(9, 0, 9, 0));
  }
  EXPECT_TRUE(handles_fall_to(before)) << handles() << " of " << before;
}

}  // namespace npu_remote_test
}  // namespace tenon::npu_testing
