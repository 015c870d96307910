// SPDX-License-Identifier: Apache-2.0
// For tests of memory of other APIs: what the layer was asked to be, and a descriptor as another API would have it.
#pragma once

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>

#include <tenon/core/fd.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/frameworks/dmabuf/client.hpp>
#include <tenon/frameworks/dmabuf/dmabuf.hpp>
#include <tenon/frameworks/dmabuf/testing/vgem.hpp>
#include <tenon/frameworks/opencl/opencl.hpp>
#include <tenon/frameworks/opencl/testing/opencl.hpp>
#include <tenon/tests/support/in_threads.hpp>

namespace tenon::opencl {

inline constexpr std::size_t kSize = 8192;

inline std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

/// Skipped where there is no OpenCL device.
class ExternalTest : public OpenclFixture {
 protected:
  /// What the layer was asked to be: see testing/external_layer.cpp.
  static bool driver_is(const char* word) {
    const char* words = std::getenv("TENON_OPENCL_LAYER");
    return words && std::string(words).find(word) != std::string::npos;
  }
  /// Whether the device imports the memfds of these tests. GPUs with memory of their own import what their driver exports
  /// (bridges/cuda_opencl); the tests of refusals are for platforms that import nothing.
  bool has_memory() const {
    return imports(context, FdKind::kOpaqueFd) && (device(context).is_cpu() || device(context).host_unified);
  }
  TensorInfo bytes(std::size_t size = kSize) const { return {element::u8, {size}, {}}; }

  /// What another API would have: the descriptor, and its own address of the pages.
  struct Foreign {
    UniqueFd fd;
    std::byte* data = nullptr;
    Foreign() : fd(dmabuf::client::sealed_memfd(kSize)) {
      data = static_cast<std::byte*>(::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0));
    }
    ~Foreign() { ::munmap(data, kSize); }
    void fill(int value) const { std::memset(data, value, kSize); }
    bool holds(int value) const {
      for (std::size_t i = 0; i < kSize; ++i)
        if (data[i] != static_cast<std::byte>(value)) return false;
      return true;
    }
  };
  void add_one_to(const Tensor& tensor) {
    const Released<cl_kernel> kernel(add_kernel());
    const cl_mem memory = buffer(tensor);
    EXPECT_EQ(clSetKernelArg(kernel, 0, sizeof memory, &memory), CL_SUCCESS);
    const WaitList before = wait_list(tensor, Access::kReadWrite);
    const cl_ulong from = tensor.offset();
    EXPECT_EQ(clSetKernelArg(kernel, 1, sizeof from, &from), CL_SUCCESS);
    const std::size_t size = tensor.size_bytes();
    cl_event event = nullptr;
    EXPECT_EQ(clEnqueueNDRangeKernel(queue(tensor.context()), kernel, 1, nullptr, &size, nullptr, before.size(),
                                     before.data(), &event),
              CL_SUCCESS);
    const Released<cl_event> done(event);
    wrote(tensor, done);
  }
};

}  // namespace tenon::opencl
