// SPDX-License-Identifier: Apache-2.0
// Programs for the NPU's context and tensors: Level Zero's memory, memory of the program's, files, copies, batches, states, refusals.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#if __has_include(<linux/dma-heap.h>)
#include <linux/dma-heap.h>
#endif
#include <cstring>
#include <fstream>

#include <openvino/runtime/intel_npu/level_zero/level_zero.hpp>
#include <openvino/runtime/intel_npu/properties.hpp>

#include "remote.hpp"

namespace npu_programs {
namespace {

using ov::intel_npu::MemType;
using ov::intel_npu::TensorType;
using ov::intel_npu::level_zero::ZeroBufferTensor;
using ov::intel_npu::level_zero::ZeroContext;

alignas(4096) float page[1024];

void describe(const char* name, ZeroBufferTensor& tensor) {
  line(name, ' ', tensor.get_element_type(), tensor.get_shape(), ' ', tensor.get_byte_size(), ' ',
       keys(tensor.get_params()), ' ', tensor.get_params().at("MEM_TYPE").as<std::string>(), ' ',
       tensor.is<ZeroBufferTensor>(), ' ', tensor.get_device_name(), ' ', tensor.get() != nullptr);
}

void contexts(ov::Core& core) {
  ZeroContext context(core);
  line(context.get_device_name(), ' ', keys(context.get_params()), ' ', context.get() != nullptr);
  ov::RemoteContext any = core.get_default_context("NPU");
  line(any.is<ZeroContext>(), ' ', any.get_params().at("L0_CONTEXT").as<void*>() == context.get());
  for (const auto type : {TensorType::INPUT, TensorType::OUTPUT, TensorType::BINDED}) {
    auto tensor = context.create_l0_host_tensor(ov::element::f32, {1, 8}, type);
    describe("of the driver", tensor);
  }
  auto plain = context.create_tensor(ov::element::f16, {2, 3});
  line("plain ", plain.get_element_type(), plain.get_shape(), ' ', plain.is<ZeroBufferTensor>(), ' ',
       plain.get_params().at("MEM_TYPE").as<std::string>());
  ov::RemoteTensor by_keys = any.create_tensor(
      ov::element::f32, {1, 8},
      {ov::intel_npu::mem_type(MemType::L0_INTERNAL_BUF), ov::intel_npu::tensor_type(TensorType::INPUT)});
  line("by keys ", by_keys.get_params().at("MEM_TYPE").as<MemType>() == MemType::L0_INTERNAL_BUF, ' ',
       keys(by_keys.get_params()));
  ov::Tensor host = context.create_host_tensor(ov::element::f32, {4});
  line("host tensor ", host.get_shape(), ' ', host.data() != nullptr);
  refused("memory that is the driver's",
          [&] { context.create_tensor(ov::element::f32, {8}, page, MemType::L0_INTERNAL_BUF); });
  refused("a descriptor of another kind", [&] { context.create_tensor(ov::element::f32, {8}, 3, MemType::CPU_VA); });
  refused("no address",
          [&] { context.create_tensor(ov::element::f32, {8}, static_cast<void*>(nullptr), MemType::CPU_VA); });
  refused("no file",
          [&] { context.create_tensor(ov::element::f32, {8}, ov::intel_npu::FileDescriptor("/nowhere/data.bin")); });
  refused("a kind that is none", [&] { any.create_tensor(ov::element::f32, {8}, {{"MEM_TYPE", "PAPER"}}); });
  refused("a handle that is missing",
          [&] { any.create_tensor(ov::element::f32, {8}, {ov::intel_npu::mem_type(MemType::SHARED_BUF)}); });
  refused("a context by keys", [&] {
    ov::RemoteContext made = core.create_context("NPU", {});
    line(made.get_device_name());
  });
}

void in_place(ov::Core& core) {
  ZeroContext context(core);
  ov::CompiledModel compiled = core.compile_model(sum_model({1, 8}), "NPU");
  line(compiled.get_context().get_device_name(), ' ', keys(compiled.get_context().get_params()));
  ov::InferRequest request = compiled.create_infer_request();
  auto x = context.create_l0_host_tensor(ov::element::f32, {1, 8}, TensorType::INPUT);
  auto y = context.create_l0_host_tensor(ov::element::f32, {1, 8}, TensorType::OUTPUT);
  std::fill_n(static_cast<float*>(x.get()), 8, 3.0F);
  request.set_tensor("x", x);
  request.set_tensor("y", y);
  request.infer();
  line("of the driver ", static_cast<float*>(y.get())[7], ' ', request.get_tensor("x").is<ZeroBufferTensor>());
  static_cast<float*>(x.get())[7] = -3;
  request.start_async();
  request.wait();
  line("again ", static_cast<float*>(y.get())[7], ' ', static_cast<float*>(y.get())[0]);
  page[5] = 20;
  refused("the program's own memory", [&] {
    auto own = context.create_tensor(ov::element::f32, {1, 8}, page, MemType::CPU_VA);
    describe("address", own);
    request.set_input_tensor(own);
    request.infer();
    line(static_cast<float*>(y.get())[5]);
  });
  const std::string file = std::filesystem::temp_directory_path() / ("ov_npu_" + std::to_string(::getpid()));
  std::vector<float> values(2048, 9.0F);
  std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char*>(values.data()), 8192);
  refused("a file", [&] {
    auto mapped = context.create_tensor(ov::element::f32, {1, 8}, ov::intel_npu::FileDescriptor(file));
    describe("file", mapped);
    request.set_input_tensor(mapped);
    request.infer();
    line(static_cast<float*>(y.get())[5]);
  });
  refused("an offset of a file", [&] {
    auto mapped = context.create_tensor(ov::element::f32, {1, 8}, ov::intel_npu::FileDescriptor(file, 4096));
    request.set_input_tensor(mapped);
    request.infer();
    line(static_cast<float*>(y.get())[5]);
  });
  ::unlink(file.c_str());
  refused("another shape", [&] { request.set_input_tensor(context.create_l0_host_tensor(ov::element::f32, {1, 9})); });
  refused("another type", [&] { request.set_input_tensor(context.create_l0_host_tensor(ov::element::i32, {1, 8})); });
  // Two models, one after the other.
  ov::InferRequest second = compiled.create_infer_request();
  second.set_tensor("x", y);
  request.set_tensor("x", x);
  request.infer();
  second.infer();
  print_values("chained", second.get_output_tensor(), 2);
}

/// Memory behind a descriptor, which is mapped here, too: a dma-buf of the system's heap, or, without one, a file in memory.
class Shared {
 public:
  explicit Shared(std::size_t size) : fd_(heap(size)), size_(size) {
    if (fd_ < 0 && ((fd_ = ::memfd_create("npu", MFD_CLOEXEC)) < 0 || ::ftruncate(fd_, static_cast<off_t>(size)) != 0))
      throw std::runtime_error("no memory behind a descriptor");
    map_ = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (map_ == MAP_FAILED) throw std::runtime_error("no mapping");
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() {
    ::munmap(map_, size_);
    close();
  }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  int fd() const { return fd_; }
  float* data() const { return static_cast<float*>(map_); }

 private:
  static int heap([[maybe_unused]] std::size_t size) {
#ifdef DMA_HEAP_IOCTL_ALLOC
    const int heaps = ::open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC);
    if (heaps < 0) return -1;
    dma_heap_allocation_data wanted{};
    wanted.len = size;
    wanted.fd_flags = O_RDWR | O_CLOEXEC;
    const int result = ::ioctl(heaps, DMA_HEAP_IOCTL_ALLOC, &wanted);
    ::close(heaps);
    return result == 0 ? static_cast<int>(wanted.fd) : -1;
#else
    return -1;
#endif
  }
  int fd_;
  std::size_t size_;
  void* map_ = nullptr;
};

void descriptors(ov::Core& core) {
  ZeroContext context(core);
  ov::CompiledModel compiled = core.compile_model(sum_model({1, 8}), "NPU");
  ov::InferRequest request = compiled.create_infer_request(), second = compiled.create_infer_request();
  Shared in(4096), out(4096), more(4096), last(4096);
  auto x = context.create_tensor(ov::element::f32, {1, 8}, in.fd());
  auto y = context.create_tensor(ov::element::f32, {1, 8}, out.fd(), MemType::SHARED_BUF, TensorType::OUTPUT);
  ov::RemoteTensor by_keys = core.get_default_context("NPU").create_tensor(
      ov::element::f32, {1, 8},
      {ov::intel_npu::mem_type(MemType::SHARED_BUF),
       ov::intel_npu::mem_handle(reinterpret_cast<void*>(static_cast<std::intptr_t>(more.fd()))),
       ov::intel_npu::tensor_type(TensorType::BINDED)});
  auto third = by_keys.as<ZeroBufferTensor>();
  // As a pointer, which is where Windows has its handles of shared memory.
  auto fourth =
      context.create_tensor(ov::element::f32, {1, 8}, reinterpret_cast<void*>(static_cast<std::intptr_t>(last.fd())));
  describe("descriptor", x);
  describe("descriptor of an output", y);
  describe("descriptor by keys", third);
  describe("descriptor as a pointer", fourth);
  for (Shared* each : {&in, &out, &more, &last}) each->close();  // The driver has its own.
  request.set_tensor("x", x);
  request.set_tensor("y", y);
  second.set_tensor("x", y);
  second.set_tensor("y", by_keys);
  for (const float value : {3.0F, -4.0F, 7.0F}) {
    std::fill_n(in.data(), 8, value);
    in.data()[7] = 50;
    request.infer();
    second.infer();
    line("in place ", out.data()[0], ' ', out.data()[7], ", and on ", more.data()[0], ' ', more.data()[7]);
  }
  ov::Tensor host(ov::element::f32, {1, 8});
  std::fill_n(host.data<float>(), 8, 11.0F);
  x.copy_from(host);
  line("copied ", in.data()[3]);
  second.set_tensor("y", fourth);
  second.infer();
  line("into a pointer ", last.data()[0], ' ', last.data()[7]);
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
  refused("a pipe", [&] { context.create_tensor(ov::element::f32, {1, 8}, ends[0]); });
  ::close(ends[0]);
  ::close(ends[1]);
  refused("no descriptor", [&] { context.create_tensor(ov::element::f32, {1, 8}, 1 << 20); });
  refused("too small", [&] {
    const Shared small(4096);
    context.create_tensor(ov::element::f32, {1, 2048}, small.fd());
  });
}

void copies(ov::Core& core) {
  ZeroContext context(core);
  auto remote = context.create_l0_host_tensor(ov::element::f32, {2, 4});
  ov::Tensor host(ov::element::f32, {2, 4});
  for (int i = 0; i < 8; ++i) host.data<float>()[i] = static_cast<float>(i);
  refused("from the host", [&] {
    remote.copy_from(host);
    line(static_cast<float*>(remote.get())[7]);
  });
  refused("to the host", [&] {
    ov::Tensor back(ov::element::f32, {2, 4});
    remote.copy_to(back);
    print_values("back", back);
  });
  refused("between", [&] {
    auto other = context.create_l0_host_tensor(ov::element::f32, {2, 4});
    other.copy_from(remote);
    line(static_cast<float*>(other.get())[6]);
  });
  refused("a region", [&] {
    ov::Tensor part(ov::element::f32, {2, 2});
    ov::RemoteTensor(remote, {0, 1}, {2, 3}).copy_to(part);
    print_values("part", part);
  });
  refused("the data", [&] { static_cast<ov::Tensor&>(remote).data(); });
}

void batches(ov::Core& core) {
  ZeroContext context(core);
  auto model = sum_model({2, 8});
  model->get_parameters()[0]->set_layout("N?");
  ov::InferRequest request = core.compile_model(model, "NPU").create_infer_request();
  std::vector<ov::Tensor> rows;
  for (int i = 0; i < 2; ++i) {
    auto each = context.create_l0_host_tensor(ov::element::f32, {1, 8}, TensorType::INPUT);
    std::fill_n(static_cast<float*>(each.get()), 8, static_cast<float>(i + 1));
    rows.emplace_back(each);
  }
  refused("rows", [&] {
    request.set_tensors("x", rows);
    request.infer();
    line(request.get_output_tensor().data<float>()[0], ' ', request.get_output_tensor().data<float>()[8]);
  });
}

void settings(ov::Core& core) {
  const auto names = core.get_property("NPU", ov::supported_properties);
  print_known(names, {"AVAILABLE_DEVICES",
                      "CACHE_DIR",
                      "DEVICE_ARCHITECTURE",
                      "DEVICE_GOPS",
                      "DEVICE_ID",
                      "DEVICE_PCI_INFO",
                      "DEVICE_TYPE",
                      "DEVICE_UUID",
                      "DEVICE_LUID",
                      "EXECUTION_DEVICES",
                      "EXECUTION_MODE_HINT",
                      "FULL_DEVICE_NAME",
                      "INFERENCE_PRECISION_HINT",
                      "LOG_LEVEL",
                      "MODEL_PRIORITY",
                      "NPU_BYPASS_UMD_CACHING",
                      "NPU_COMPILATION_MODE_PARAMS",
                      "NPU_COMPILER_VERSION",
                      "NPU_DEFER_WEIGHTS_LOAD",
                      "NPU_DEVICE_ALLOC_MEM_SIZE",
                      "NPU_DEVICE_TOTAL_MEM_SIZE",
                      "NPU_DRIVER_VERSION",
                      "NPU_TILES",
                      "NPU_TURBO",
                      "NPU_PLATFORM",
                      "OPTIMAL_NUMBER_OF_INFER_REQUESTS",
                      "OPTIMIZATION_CAPABILITIES",
                      "PERFORMANCE_HINT",
                      "PERFORMANCE_HINT_NUM_REQUESTS",
                      "PERF_COUNT",
                      "RANGE_FOR_ASYNC_INFER_REQUESTS",
                      "RANGE_FOR_STREAMS",
                      "SUPPORTED_PROPERTIES",
                      "WORKLOAD_TYPE",
                      "WEIGHTS_PATH",
                      "CACHE_MODE",
                      "NPU_RUN_INFERENCES_SEQUENTIALLY",
                      "NPU_COMPILER_TYPE"});
  line(core.get_property("NPU", ov::device::type), ' ',
       core.get_property("NPU", ov::intel_npu::device_total_mem_size) > 0, ' ',
       core.get_property("NPU", ov::intel_npu::driver_version) > 0, ' ',
       core.get_property("NPU", ov::intel_npu::max_tiles) > 0, ' ',
       core.get_property("NPU", ov::device::full_name).empty(), ' ',
       core.get_property("NPU", ov::available_devices).size());
  core.set_property("NPU", {ov::hint::performance_mode(ov::hint::PerformanceMode::LATENCY), ov::intel_npu::turbo(true),
                            ov::hint::model_priority(ov::hint::Priority::HIGH)});
  line(core.get_property("NPU", ov::hint::performance_mode), ' ', core.get_property("NPU", ov::intel_npu::turbo), ' ',
       core.get_property("NPU", ov::hint::model_priority));
  core.set_property("NPU", {ov::intel_npu::turbo(false), ov::hint::model_priority(ov::hint::Priority::MEDIUM)});
  ov::CompiledModel compiled =
      core.compile_model(sum_model({1, 8}), "NPU", ov::intel_npu::tiles(1), ov::enable_profiling(false));
  line(compiled.get_property(ov::model_name), ' ', compiled.get_property(ov::execution_devices).at(0), ' ',
       compiled.get_property(ov::hint::performance_mode), ' ',
       compiled.get_property(ov::optimal_number_of_infer_requests) >= 1);
  refused(
      "no such key", [&] { core.get_property("NPU", "NO_SUCH_KEY"); }, "NO_SUCH_KEY");
  std::stringstream blob;
  compiled.export_model(blob);
  ov::InferRequest request = core.import_model(blob, "NPU").create_infer_request();
  std::fill_n(request.get_input_tensor().data<float>(), 8, 2.0F);
  request.infer();
  print_values("imported", request.get_output_tensor(), 2);
  refused("no blob", [&] {
    std::stringstream none("no blob");
    core.import_model(none, "NPU");
  });
}

void states(ov::Core& core) {
  ov::CompiledModel compiled = core.compile_model(stateful_model(), "NPU");
  auto remote = ZeroContext(core).create_l0_host_tensor(ov::element::f32, {1, 2});
  std::fill_n(static_cast<float*>(remote.get()), 2, 70.0F);
  print_states(compiled, remote);
}

}  // namespace
}  // namespace npu_programs

void npu(ov::Core& core) {
  run("NPU: contexts", [&] { npu_programs::contexts(core); });
  run("NPU: in place", [&] { npu_programs::in_place(core); });
  run("NPU: descriptors", [&] { npu_programs::descriptors(core); });
  run("NPU: copies", [&] { npu_programs::copies(core); });
  run("NPU: batches", [&] { npu_programs::batches(core); });
  run("NPU: settings", [&] { npu_programs::settings(core); });
  run("NPU: states", [&] { npu_programs::states(core); });
}
