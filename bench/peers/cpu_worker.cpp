// SPDX-License-Identifier: Apache-2.0
// Runs one model on the CPU when told to, line by line: one source, compiled against Tenon and against OpenVINO, so
// that both are measured by the same code. The driver (peers.py) interleaves short rounds of several such processes.
//
//   load PATH THREADS   compiles for latency in f32; answers "ok" and the ms that compiling took
//   outputs             infers; answers, per output, its size, sum and sum of magnitudes
//   infer N | async N   N times infer(), or start_async() and wait(); answers ns in all
//   set N               N times set_tensor, in turn with 4 tensors that were set before; answers ns in all
//   quit
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#ifdef PEER_OPENVINO
#include <openvino/runtime/core.hpp>
namespace api = ov;
#else
#include <tenon/runtime/core.hpp>
namespace api = tenon;
#endif

namespace {

using Clock = std::chrono::steady_clock;

/// Noise for real numbers; for integers ones, which every index and mask may be.
void fill(const api::Tensor& tensor, unsigned seed) {
  if (tensor.get_element_type() == api::element::f32) {
    std::minstd_rand random(seed);
    auto* values = static_cast<float*>(const_cast<void*>(static_cast<const void*>(tensor.data())));
    // Not a standard distribution: every peer, whatever its language, must make the same numbers.
    for (std::size_t i = 0; i < tensor.get_size(); ++i) values[i] = static_cast<float>(random() % 1024) / 1024.f;
  } else if (tensor.get_element_type() == api::element::i64) {
    std::fill_n(static_cast<std::int64_t*>(const_cast<void*>(static_cast<const void*>(tensor.data()))),
                tensor.get_size(), 1);
  } else {
    throw std::runtime_error("an input is neither f32 nor i64");
  }
}

class Worker {
 public:
  void load(const std::string& path, int threads) {
    request_ = {};
    model_ = {};
    const auto begin = Clock::now();
    model_ =
        core_.compile_model(path, "CPU", api::hint::performance_mode(api::hint::PerformanceMode::LATENCY),
                            api::hint::inference_precision(api::element::f32), api::inference_num_threads(threads));
    request_ = model_.create_infer_request();
    const std::chrono::duration<double, std::milli> taken = Clock::now() - begin;
    for (auto& tensors : known_) tensors.clear();
    for (std::size_t i = 0; i < model_.inputs().size(); ++i) {
      const auto& port = model_.inputs()[i];
      for (auto& tensors : known_) {
        tensors.emplace_back(port.get_element_type(), port.get_shape());
        fill(tensors.back(), static_cast<unsigned>(i + 1));
      }
      request_.set_input_tensor(i, known_[0][i]);
    }
    name_ = model_.inputs()[0].get_any_name();
    std::printf("ok %.1f\n", taken.count());
  }

  void outputs() {
    request_.infer();
    for (std::size_t i = 0; i < model_.outputs().size(); ++i) {
      const api::Tensor tensor = request_.get_output_tensor(i);
      const auto* values = tensor.data<float>();
      double sum = 0, magnitude = 0;
      for (std::size_t k = 0; k < tensor.get_size(); ++k) {
        sum += static_cast<double>(values[k]);
        magnitude += std::fabs(static_cast<double>(values[k]));
      }
      std::printf("%zu %.9g %.9g%s", tensor.get_size(), sum, magnitude, i + 1 < model_.outputs().size() ? " " : "\n");
    }
  }

  template <typename Once>
  void time(long count, Once once) {
    const auto begin = Clock::now();
    for (long i = 0; i < count; ++i) once(i);
    std::printf("%lld\n", static_cast<long long>((Clock::now() - begin) / std::chrono::nanoseconds(1)));
  }
  void infer(long count) {
    time(count, [&](long) { request_.infer(); });
  }
  void async(long count) {
    time(count, [&](long) {
      request_.start_async();
      request_.wait();
    });
  }
  void set(long count) {
    time(count, [&](long i) { request_.set_tensor(name_, known_[static_cast<std::size_t>(i) % known_.size()][0]); });
  }

 private:
  api::Core core_;
  api::CompiledModel model_;
  api::InferRequest request_;
  std::array<std::vector<api::Tensor>, 4> known_;  ///< Four sets of inputs.
  std::string name_;
};

}  // namespace

int main() {
  try {
    Worker worker;
    for (std::string line; std::getline(std::cin, line) && line != "quit"; std::fflush(stdout)) {
      std::istringstream words(line);
      std::string verb, path;
      long count = 0;
      words >> verb;
      if (verb == "load" && words >> path >> count)
        worker.load(path, static_cast<int>(count));
      else if (verb == "outputs")
        worker.outputs();
      else if (words >> count && verb == "infer")
        worker.infer(count);
      else if (words && verb == "async")
        worker.async(count);
      else if (words && verb == "set")
        worker.set(count);
      else
        std::printf("error: what is \"%s\"?\n", line.c_str());
    }
  } catch (const std::exception& error) {
    std::printf("error: %s\n", error.what());
    return 1;
  }
}
