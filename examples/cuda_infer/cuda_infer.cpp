// SPDX-License-Identifier: Apache-2.0
// A model on the GPU device reads CUDA memory in place: cuda_infer model [device]. Exits with 77 if there is no NVIDIA
// driver, or no OpenCL device that imports CUDA's memory.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include <tenon/bridges/cuda_opencl/cuda_opencl.hpp>
#include <tenon/core/router.hpp>
#include <tenon/runtime/runtime.hpp>

namespace {

constexpr int kSkipped = 77;

/// Bytes that the request's edges copied on the way into the device, from the ledger.
std::uint64_t copied_in(tenon::InferRequest& request) {
  std::uint64_t bytes = 0;
  for (const tenon::LedgerEntry& entry : request.ledger().snapshot())
    if (entry.name.starts_with("cuda")) bytes += entry.copied;
  return bytes;
}

int run(const std::string& path, const std::string& device) {
  tenon::Context cuda;
  try {
    cuda = tenon::cuda::make_context();
  } catch (const tenon::Error& error) {
    std::printf("skipped: %s\n", error.what());
    return kSkipped;
  }
  tenon::Core core;
  core.router().add(cuda);
  core.router().add(tenon::cuda_opencl::edges());
  tenon::CompiledModel model = core.compile_model(path, device);
  const auto port = model.inputs().at(0);
  const tenon::TensorInfo info{port.get_element_type(), port.get_shape(), {}};

  // The usual way of a CUDA program: a kernel writes the tensor, and wrote() names its stream.
  const tenon::Tensor input = tenon::cuda::allocate_exported(cuda, info);
  const std::vector<std::byte> bytes(input.size_bytes(), std::byte{0});
  cuda->write(input, bytes);

  tenon::InferRequest request = model.create_infer_request();
  request.set_tensor(port, input);
  request.infer();
  const auto begin = std::chrono::steady_clock::now();
  request.infer();
  const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  std::printf("%s: input copied %llu bytes, %.3f ms\n%s", device.c_str(),
              static_cast<unsigned long long>(copied_in(request)), ms, request.ledger().report().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: cuda_infer model [device]\n");
    return 2;
  }
  try {
    return run(argv[1], argc > 2 ? argv[2] : "GPU");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cuda_infer: %s\n", tenon::describe(error).c_str());
    return 1;
  }
}
