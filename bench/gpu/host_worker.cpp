// SPDX-License-Identifier: Apache-2.0
// Models on a CPU's OpenCL platform beside the CPU device, in one process: host_worker SECONDS MODEL... prints a line of JSON for each.
// The two take turns, in f32.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <tenon/runtime/runtime.hpp>

namespace {

using namespace tenon;
using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Side {
  InferRequest request;
  std::vector<double> times;

  Side(Core& core, const std::string& model, const char* device) {
    auto compiled = core.compile_model(model, device, hint::inference_precision(element::f32),
                                       hint::performance_mode(hint::PerformanceMode::LATENCY));
    request = compiled.create_infer_request();
    for (std::size_t i = 0; i < compiled.inputs().size(); ++i) {
      Tensor tensor = request.get_input_tensor(i);
      // Small distinct numbers, valid as indices too.
      auto* const bytes = static_cast<std::uint8_t*>(tensor.data());
      std::memset(bytes, 0, tensor.get_byte_size());
      if (tensor.get_element_type() == element::f32)
        for (std::size_t x = 0; x < tensor.get_size(); ++x)
          tensor.data<float>()[x] = static_cast<float>((x * 7919) % 251) / 251;
    }
    for (int i = 0; i < 3; ++i) request.infer();
  }
  void infer() {
    const auto start = Clock::now();
    request.infer();
    times.push_back(ms_since(start));
  }
  double median() {
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }
};

/// Difference of the first outputs, relative to their largest value.
double difference(Side& a, Side& b) {
  const Tensor x = a.request.get_output_tensor(0), y = b.request.get_output_tensor(0);
  double largest = 1e-30, most = 0;
  for (std::size_t i = 0; x.get_element_type() == element::f32 && i < x.get_size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(y.data<float>()[i])));
    most = std::max(most, std::abs(static_cast<double>(x.data<float>()[i]) - static_cast<double>(y.data<float>()[i])));
  }
  return most / largest;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) throw Error(Code::kInvalidArgument, "usage: host_worker SECONDS MODEL...");
  Core core;
  for (int i = 2; i < argc; ++i) {
    Side gpu(core, argv[i], "GPU"), cpu(core, argv[i], "CPU");
    for (const auto start = Clock::now(); ms_since(start) < 1000 * std::stod(argv[1]) || gpu.times.size() < 5;) {
      gpu.infer();
      cpu.infer();
    }
    std::printf("{\"gpu_ms\": %.3f, \"cpu_ms\": %.3f, \"runs\": %zu, \"difference\": %.2g}\n", gpu.median(),
                cpu.median(), gpu.times.size(), difference(gpu, cpu));
    std::fflush(stdout);
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "host_worker: %s\n", error.what());
  return 1;
}
