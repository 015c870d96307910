// SPDX-License-Identifier: Apache-2.0
// Runs a model with dynamic shapes on command, line by line: one source, compiled against Tenon and against OpenVINO.
//
//   device NAME                  of what is loaded next, instead of CPU
//   load PATH THREADS f32|bf16 [TYPE]  compiles for latency, with caches of that type; answers "ok" and the ms that it took
//   infer N...                   one inference for each N, the extent of every open dimension; answers the us of each
//   reset                        the states take their initial values; answers "ok"
//   sum                          answers the sum of magnitudes of the last run's first output, to compare
//   read THREADS                 answers the GB/s at which so many threads only read memory that no cache holds
//   memory                       answers the resident and the peak kB
//   quit
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <istream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tenon/bench/worker.hpp>

namespace {

using Clock = std::chrono::steady_clock;

class Worker {
 public:
  void use(std::string device) {
    device_ = std::move(device);
    std::printf("ok\n");
  }

  void load(const std::string& path, int threads, const std::string& precision, const std::string& cache) {
    request_ = {};
    model_ = {};
    given_ = false;
    const auto begin = Clock::now();
    api::AnyMap settings{api::hint::performance_mode(api::hint::PerformanceMode::LATENCY),
                         api::hint::inference_precision(precision == "bf16" ? api::element::bf16 : api::element::f32)};
    if (device_ == "CPU") settings.insert(api::inference_num_threads(threads));
    if (!cache.empty()) settings.insert({"KV_CACHE_PRECISION", cache});
    model_ = core_.compile_model(path, device_, settings);
    request_ = model_.create_infer_request();
    std::printf("ok %.1f\n", std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  }

  double infer(std::size_t extent) {
    const auto begin = Clock::now();
    for (std::size_t i = 0; i < model_.inputs().size(); ++i) {
      const auto& port = model_.inputs()[i];
      // The encoder's output stays the same while a decoder runs.
      if (given_ && port.get_partial_shape().is_static()) continue;
      api::Shape shape;
      for (const auto& dimension : port.get_partial_shape())
        shape.push_back(dimension.is_dynamic() ? extent : static_cast<std::size_t>(dimension.get_length()));
      api::Tensor tensor(port.get_element_type(), shape);
      if (tensor.get_element_type() == api::element::i64)
        for (std::size_t k = 0; k < tensor.get_size(); ++k)
          tensor.data<std::int64_t>()[k] = port.get_any_name() == "input_ids" ? static_cast<std::int64_t>(k % 61) : 1;
      else if (tensor.get_element_type() == api::element::i32)
        std::fill_n(tensor.data<std::int32_t>(), tensor.get_size(), 0);  // Beam indices without a change of order.
      else
        std::fill_n(tensor.data<float>(), tensor.get_size(), 0.25f);
      request_.set_input_tensor(i, tensor);
    }
    given_ = true;
    request_.infer();
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  }

  void reset() {
    for (auto& state : request_.query_state()) state.reset();
    std::printf("ok\n");
  }

  void sum() {
    const api::Tensor tensor = request_.get_output_tensor(0);
    const float* values = static_cast<const float*>(static_cast<const void*>(tensor.data()));
    double sum = 0;
    for (std::size_t i = 0; i < tensor.get_size(); ++i) sum += std::abs(values[i]);
    std::printf("%.6g\n", sum);
  }

 private:
  api::Core core_;
  api::CompiledModel model_;
  api::InferRequest request_;
  std::string device_ = "CPU";
  bool given_ = false;
};

/// The best of several passes; each thread searches its part for a byte that does not occur.
double read_gb_per_s(std::size_t threads) {
  constexpr std::size_t kBytes = std::size_t{512} << 20;
  const std::vector<char> memory(kBytes, 1);
  std::atomic<bool> found = false;
  double best = 0;
  for (int pass = 0; pass < 5; ++pass) {
    const auto begin = Clock::now();
    {
      std::vector<std::jthread> team;
      for (std::size_t t = 0; t < threads; ++t)
        team.emplace_back([&, t] {
          const std::size_t from = kBytes * t / threads, to = kBytes * (t + 1) / threads;
          if (std::memchr(memory.data() + from, 2, to - from)) found = true;
        });
    }
    const std::chrono::duration<double> took = Clock::now() - begin;
    best = std::max(best, static_cast<double>(kBytes) / took.count() / 1e9);
  }
  return found ? 0 : best;
}

}  // namespace

int main() {
  Worker worker;
  return bench::serve([&](const std::string& verb, std::istream& words) {
    if (verb == "device") {
      std::string name;
      words >> name;
      worker.use(std::move(name));
    } else if (verb == "load") {
      std::string path, precision = "f32", cache;
      int threads = 1;
      words >> path >> threads >> precision >> cache;
      worker.load(path, threads, precision, cache);
    } else if (verb == "infer") {
      for (std::size_t extent = 0; words >> extent;) std::printf("%.1f ", worker.infer(extent));
      std::printf("\n");
    } else if (verb == "reset") {
      worker.reset();
    } else if (verb == "sum") {
      worker.sum();
    } else if (verb == "read") {
      std::size_t threads = 1;
      words >> threads;
      std::printf("%.2f\n", read_gb_per_s(threads));
    } else if (verb == "memory") {
      std::printf("%ld %ld\n", bench::status_kb("VmRSS:"), bench::status_kb("VmHWM:"));
    } else {
      return false;
    }
    return true;
  });
}
