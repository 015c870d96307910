// SPDX-License-Identifier: Apache-2.0
// tenon bench: how fast a model runs on a device, what it takes to start, what it allocates while running.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <random>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <tenon/runtime/core.hpp>

#include "allocation_count.hpp"
#include "commands.hpp"
#include "interrupt.hpp"
#include "known_device.hpp"

namespace tenon::tool {
namespace {

struct BenchOptions {
  std::string model, device = "CPU", hint = "throughput";
  double seconds = 5;
  std::uint64_t requests = 0;
  int threads = 0;
  bool json = false;
};

struct Measured {
  std::vector<double> latency_ms;  ///< Sorted.
  double seconds = 0, compile_ms = 0, first_inference_ms = 0, read_ms = 0;
  std::uint64_t requests = 0, allocation_runs = 0;
  AllocationCounts allocations;
  double fps() const { return seconds > 0 ? static_cast<double>(latency_ms.size()) / seconds : 0; }
  double quantile(double q) const {
    if (latency_ms.empty()) return 0;
    return latency_ms[std::min(latency_ms.size() - 1,
                               static_cast<std::size_t>(q * static_cast<double>(latency_ms.size())))];
  }
};

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

/// The most memory that this process ever had, MB; 0 where the system does not say.
double peak_rss_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::stod(line.substr(6)) / 1024;
  }
  return 0;
}

/// Noise in 0..1 for real numbers, zeros for the rest: indices must stay in range.
void fill(const Tensor& tensor, unsigned seed) {
  std::memset(tensor.data(), 0, tensor.size_bytes());
  std::minstd_rand random(seed);
  std::uniform_real_distribution<float> noise(0, 1);
  if (tensor.element_type() == ElementType::kF32) {
    for (std::size_t i = 0; i < tensor.element_count(); ++i) static_cast<float*>(tensor.data())[i] = noise(random);
  } else if (tensor.element_type() == ElementType::kU8) {
    for (std::size_t i = 0; i < tensor.element_count(); ++i)
      static_cast<std::uint8_t*>(tensor.data())[i] = static_cast<std::uint8_t>(random());
  }
}

/// Requests that run round after round. Latency is from the start of a request to its end, waiting for a stream
/// included.
class Load {
 public:
  Load(CompiledModel& compiled, std::uint64_t requests) : slots_(requests) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      slots_[i].request = compiled.create_infer_request();
      for (std::size_t input = 0; input < compiled.inputs().size(); ++input) {
        const auto& port = compiled.inputs()[input];
        if (port.get_partial_shape().is_dynamic()) {
          throw Error(Code::kInvalidArgument, "input '" + port.get_any_name() + "' has the dynamic shape " +
                                                  port.get_partial_shape().to_string() +
                                                  "; bench needs a model of static shapes");
        }
        Tensor tensor(port.get_element_type(), port.get_shape());
        fill(tensor, static_cast<unsigned>(i * 31 + input));
        slots_[i].request.set_input_tensor(input, tensor);
      }
      slots_[i].request.set_callback([this, i](std::exception_ptr error) { done(i, error); });
    }
  }
  ~Load() {
    for (Slot& slot : slots_) {
      try {
        slot.request.wait();
      } catch (...) {  // Reported by run().
      }
    }
  }

  InferRequest& first() { return slots_.front().request; }

  /// Runs until `stop` says so or `most` inferences have started. @errors what an inference threw
  void run(Clock::time_point until, std::uint64_t most, std::vector<double>* latency_ms) {
    until_ = until;
    left_ = most;
    latency_ms_ = latency_ms;
    running_ = slots_.size();
    failure_ = nullptr;
    for (Slot& slot : slots_) start(slot);
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return running_ == 0; });
    lock.unlock();
    for (Slot& slot : slots_) slot.request.wait();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  struct Slot {
    InferRequest request;
    Clock::time_point begin;
  };

  void start(Slot& slot) {
    const bool over = Clock::now() >= until_.load() || Interrupt::requested() || left_.fetch_sub(1) <= 0;
    if (!over) {
      slot.begin = Clock::now();
      slot.request.start_async();
      return;
    }
    std::lock_guard lock(mutex_);
    if (--running_ == 0) idle_.notify_all();
  }

  void done(std::size_t index, std::exception_ptr error) {
    Slot& slot = slots_[index];
    const double ms = ms_since(slot.begin);
    {
      std::lock_guard lock(mutex_);
      if (error && !failure_) failure_ = error;
      // The vector was given room beforehand: past it nothing is noted, so that measuring allocates nothing.
      if (latency_ms_ && latency_ms_->size() < latency_ms_->capacity()) latency_ms_->push_back(ms);
    }
    if (error) until_ = Clock::time_point::min();
    start(slot);
  }

  std::vector<Slot> slots_;
  std::mutex mutex_;
  std::condition_variable idle_;
  std::size_t running_ = 0;
  std::exception_ptr failure_;
  std::atomic<Clock::time_point> until_{};
  std::atomic<std::int64_t> left_{0};
  std::vector<double>* latency_ms_ = nullptr;
};

Measured measure(const BenchOptions& options) {
  Measured measured;
  Core core;
  check_device(core, options.device);
  auto begin = Clock::now();
  const auto model = core.read_model(options.model);
  measured.read_ms = ms_since(begin);
  AnyMap properties{hint::performance_mode(options.hint == "latency" ? hint::PerformanceMode::LATENCY
                                                                     : hint::PerformanceMode::THROUGHPUT)};
  if (options.threads > 0) properties.insert(inference_num_threads(options.threads));
  begin = Clock::now();
  CompiledModel compiled = core.compile_model(model, options.device, properties);
  measured.compile_ms = ms_since(begin);
  measured.requests = options.requests ? options.requests
                      : options.hint == "latency"
                          ? 1
                          : std::max<std::uint64_t>(1, compiled.get_property(optimal_number_of_infer_requests));
  Load load(compiled, measured.requests);
  begin = Clock::now();
  load.first().infer();
  measured.first_inference_ms = ms_since(begin);

  const Interrupt interrupt;
  const auto length = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.seconds));
  // Warm first: caches, thread pools, clocks.
  load.run(Clock::now() + std::min<Clock::duration>(length / 5, std::chrono::seconds(1)), INT64_MAX / 2, nullptr);
  measured.latency_ms.reserve(4'000'000);
  begin = Clock::now();
  load.run(begin + length, INT64_MAX / 2, &measured.latency_ms);
  measured.seconds = ms_since(begin) / 1e3;
  std::sort(measured.latency_ms.begin(), measured.latency_ms.end());

  if (can_count_allocations()) {
    measured.allocation_runs = std::max<std::uint64_t>(measured.requests * 4, 20);
    const auto room = Clock::now() + std::chrono::seconds(30);
    start_counting_allocations();
    load.run(room, measured.allocation_runs, nullptr);
    measured.allocations = stop_counting_allocations();
  }
  return measured;
}

/// A share of all inferences per band of time, as bars.
std::string histogram(const std::vector<double>& sorted) {
  if (sorted.empty()) return "";
  constexpr int kBands = 10;
  const double low = sorted.front(),
               high = std::max(sorted[static_cast<std::size_t>(0.99 * static_cast<double>(sorted.size() - 1))],
                               low * 1.001);
  std::size_t counts[kBands + 1] = {};
  for (double value : sorted) ++counts[std::min(kBands, static_cast<int>((value - low) / (high - low) * kBands))];
  const std::size_t most = *std::max_element(std::begin(counts), std::end(counts));
  std::string text;
  for (int band = 0; band <= kBands; ++band) {
    const double from = low + (high - low) * band / kBands;
    std::string bar;
    for (std::size_t cell = 0; cell < counts[band] * 40 / std::max<std::size_t>(most, 1); ++cell) bar += "█";
    text += fmt::format("  {}{:9.3f} ms  {:5.1f}%  {}\n", band == kBands ? ">" : " ", from,
                        100.0 * static_cast<double>(counts[band]) / static_cast<double>(sorted.size()), bar);
  }
  return text;
}

void bench(const BenchOptions& options) {
  const Measured m = measure(options);
  if (m.latency_ms.empty()) throw Error(Code::kAborted, "bench was interrupted before the first inference ended");
  const double runs = static_cast<double>(std::max<std::uint64_t>(1, m.allocation_runs));
  const double own = static_cast<double>(m.allocations.own) / runs,
               libraries = static_cast<double>(m.allocations.libraries) / runs;
  if (options.json) {
    using nlohmann::json;
    const bool counted = m.allocation_runs != 0;
    fmt::print(
        "{}\n",
        json{{"model", options.model},
             {"device", options.device},
             {"hint", options.hint},
             {"requests", m.requests},
             {"inferences", m.latency_ms.size()},
             {"seconds", m.seconds},
             {"latency_ms", {{"p50", m.quantile(0.5)}, {"p90", m.quantile(0.9)}, {"p99", m.quantile(0.99)}}},
             {"fps", m.fps()},
             {"read_ms", m.read_ms},
             {"compile_ms", m.compile_ms},
             {"first_inference_ms", m.first_inference_ms},
             {"peak_rss_mb", peak_rss_mb()},
             {"allocations_per_inference",
              {{"own", counted ? json(own) : json(nullptr)}, {"libraries", counted ? json(libraries) : json(nullptr)}}}}
            .dump(2));
    return;
  }
  fmt::print("{} on {}, hint {}, {} request{} in flight\n", options.model, options.device, options.hint, m.requests,
             m.requests == 1 ? "" : "s");
  fmt::print("  read {:.1f} ms, compile {:.1f} ms, first inference {:.2f} ms, peak memory {:.0f} MB\n", m.read_ms,
             m.compile_ms, m.first_inference_ms, peak_rss_mb());
  fmt::print("  {} inferences in {:.1f} s: {:.1f} per second\n", m.latency_ms.size(), m.seconds, m.fps());
  fmt::print("  latency p50 {:.3f} ms, p90 {:.3f} ms, p99 {:.3f} ms\n", m.quantile(0.5), m.quantile(0.9),
             m.quantile(0.99));
  if (m.allocation_runs)
    fmt::print("  allocations per inference: {:.2f} by Tenon, {:.2f} by libraries\n", own, libraries);
  else
    fmt::print("  allocations were not counted: this build has another allocator\n");
  fmt::print("\n{}", histogram(m.latency_ms));
}

}  // namespace

void add_bench(CLI::App& app) {
  auto* command =
      app.add_subcommand("bench", "Measure a model on a device: latency, throughput, start, memory, allocations");
  auto options = std::make_shared<BenchOptions>();
  command->add_option("-m,--model", options->model, "ONNX file, or the .xml of an OpenVINO IR")->required();
  command->add_option("-d,--device", options->device, "Device, as tenon devices lists them")->capture_default_str();
  command->add_option("--seconds", options->seconds, "How long to measure")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command->add_option("--requests", options->requests, "Inferences in flight; 0: what the device likes, 1 for latency")
      ->check(CLI::Range(0, 256))
      ->capture_default_str();
  command->add_option("--hint", options->hint, "What the device should aim at")
      ->check(CLI::IsMember({"latency", "throughput"}))
      ->capture_default_str();
  command->add_option("--threads", options->threads, "Threads of the device; 0: all processors")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] { bench(*options); });
}

}  // namespace tenon::tool
