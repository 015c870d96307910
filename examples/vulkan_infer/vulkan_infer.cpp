// SPDX-License-Identifier: Apache-2.0
// A model reads a Vulkan buffer in place: vulkan_infer model [device]. On the CPU the buffer is one that the host sees; on a GPU it is
// exported, and OpenCL imports it. Exits with 77 if there is no Vulkan device, or if the model's device cannot read its memory.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <tenon/bridges/vulkan_opencl/vulkan_opencl.hpp>
#include <tenon/core/router.hpp>
#include <tenon/runtime/runtime.hpp>

namespace {

constexpr int kSkipped = 77;

/// Bytes that the request's edges copied on the way into the device, from the ledger.
std::uint64_t copied_in(tenon::InferRequest& request) {
  std::uint64_t bytes = 0;
  for (const tenon::LedgerEntry& entry : request.ledger().snapshot())
    if (entry.name.starts_with("vulkan")) bytes += entry.copied;
  return bytes;
}

int run(const std::string& path, const std::string& device) {
  tenon::Context vulkan;
  try {
    vulkan = tenon::vulkan::make_context();
  } catch (const tenon::Error& error) {
    std::printf("skipped: %s\n", error.what());
    return kSkipped;
  }
  tenon::Core core;
  core.router().add(vulkan);
  core.router().add(tenon::vulkan_opencl::edges());
  tenon::CompiledModel model = core.compile_model(path, device);
  const auto port = model.inputs().at(0);
  const tenon::TensorInfo info{port.get_element_type(), port.get_shape(), {}};

  // The usual way of a Vulkan program: a shader writes tenon::vulkan::buffer(input), and wrote() names the timeline semaphore that its
  // submission signals. Here the queue copies zeros.
  const tenon::Tensor input = device == "CPU" ? tenon::vulkan::allocate(vulkan, tenon::vulkan::MemoryType::kHost, info)
                                              : tenon::vulkan::allocate_exported(vulkan, info);
  vulkan->write(input, std::vector<std::byte>(input.size_bytes(), std::byte{0}));

  tenon::InferRequest request = model.create_infer_request();
  request.set_tensor(port, input);
  request.infer();
  const auto begin = std::chrono::steady_clock::now();
  request.infer();
  const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  std::printf("%s on %s: input copied %llu bytes, %.3f ms\n%s", path.c_str(), std::string(vulkan->name()).c_str(),
              static_cast<unsigned long long>(copied_in(request)), ms, request.ledger().report().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: vulkan_infer model [device]\n");
    return 2;
  }
  try {
    return run(argv[1], argc > 2 ? argv[2] : "CPU");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "vulkan_infer: %s\n", tenon::describe(error).c_str());
    return 1;
  }
}
