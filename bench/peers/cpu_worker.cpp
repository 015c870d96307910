// SPDX-License-Identifier: Apache-2.0
// Runs one model on the CPU on command, line by line: one source, compiled against Tenon and against OpenVINO, so
// that the same code measures both. The driver (peers.py) interleaves short rounds of several such processes.
//
//   device NAME         the device for models loaded from now on, CPU by default; on others the threads are NPU_TILES;
//                       answers "ok"
//   memory plain|host   where the tensors of models loaded from now on lie: ordinary memory, or the device's host
//                       memory (create_host_tensor); answers "ok"
//   load PATH THREADS [f32|bf16|own [latency|throughput [BATCH]]]   compiles, by default for latency in f32 with the
//                       model's own batch; own is the precision that a device other than the CPU chooses; answers "ok"
//                       and the ms that compiling took
//   profiled yes|no     whether models loaded from now on measure their operations; answers "ok"
//   dump PATH           infers and writes all outputs, f32, one after the other; answers "ok" and their shapes (1x3x5)
//   profile N           infers N times; answers one line of JSON: for the fastest, [node type, kernel, calls, us]...
//   throughput MS       keeps every request of the device's choice busy for that time; answers inferences, ns, requests
//   peak                answers the peak resident kB
//   allocations N       infers N times; answers all calls of malloc and its family
//   infer N | async N   N times infer(), or start_async() and wait(); answers total ns
//   set N | set_infer N N times set_tensor, in turn with 4 tensors that were set before, or that and infer(), which may
//                       have to do what set_tensor deferred; answers total ns
//   quit
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <istream>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <tenon/bench/worker.hpp>

std::atomic<long> allocations{0};

// Replace the C library's functions in the whole process; the library's own are behind these names.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void* malloc(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(old, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  *out = __libc_memalign(alignment, size);
  return *out ? 0 : 12;  // ENOMEM
}
}

namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
  int threads = 1;
  std::string precision = "f32", hint = "latency";
  std::size_t batch = 0;  ///< 0: the model's own.
};

/// Noise for real numbers; ones for integers, which every index and mask may be.
void fill(const api::Tensor& tensor, unsigned seed) {
  if (tensor.get_element_type() == api::element::f32) {
    std::minstd_rand random(seed);
    auto* values = static_cast<float*>(const_cast<void*>(static_cast<const void*>(tensor.data())));
    // Not a standard distribution: peers in any language must make the same numbers.
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
  void load(const std::string& path, const Settings& settings) {
    request_ = {};
    pool_.clear();
    model_ = {};
    const auto begin = Clock::now();
    using Mode = api::hint::PerformanceMode;
    const auto mode = api::hint::performance_mode(settings.hint == "throughput" ? Mode::THROUGHPUT : Mode::LATENCY);
    api::AnyMap properties{mode, api::enable_profiling(profiled_)};
    if (device_ == "CPU") {
      properties.insert(
          api::hint::inference_precision(settings.precision == "bf16" ? api::element::bf16 : api::element::f32));
      properties.insert(api::inference_num_threads(settings.threads));
    } else {
      properties["NPU_TILES"] = settings.threads;
      if (settings.precision == "f32") properties.insert(api::hint::inference_precision(api::element::f32));
    }
    if (settings.batch > 0) {
      const auto source = core_.read_model(path);
      std::map<std::size_t, api::PartialShape> shapes;
      for (std::size_t i = 0; i < source->inputs().size(); ++i) {
        auto shape = source->inputs()[i].get_shape();
        shape[0] *= settings.batch;
        shapes[i] = api::PartialShape(shape);
      }
      source->reshape(shapes);
      model_ = core_.compile_model(source, device_, properties);
    } else {
      model_ = core_.compile_model(path, device_, properties);
    }
    request_ = model_.create_infer_request();
    const std::chrono::duration<double, std::milli> taken = Clock::now() - begin;
    for (auto& tensors : known_) tensors.clear();
    for (std::size_t i = 0; i < model_.inputs().size(); ++i) {
      const auto& port = model_.inputs()[i];
      for (auto& tensors : known_) {
        tensors.push_back(new_tensor(port.get_element_type(), port.get_shape()));
        fill(tensors.back(), static_cast<unsigned>(i + 1));
      }
      request_.set_input_tensor(i, known_[0][i]);
    }
    name_ = model_.inputs()[0].get_any_name();
    std::printf("ok %.1f\n", taken.count());
  }

  void device(const std::string& name) {
    device_ = name;
    std::printf("ok\n");
  }

  void memory(bool host) {
    host_memory_ = host;
    std::printf("ok\n");
  }

  void profiled(bool on) {
    profiled_ = on;
    std::printf("ok\n");
  }

  void dump(const std::string& path) {
    request_.infer();
    std::ofstream file(path, std::ios::binary);
    std::printf("ok");
    for (std::size_t i = 0; i < model_.outputs().size(); ++i) {
      const api::Tensor tensor = request_.get_output_tensor(i);
      std::vector<float> values(tensor.get_size());
      if (tensor.get_element_type() == api::element::i64)
        std::transform(tensor.data<std::int64_t>(), tensor.data<std::int64_t>() + values.size(), values.begin(),
                       [](std::int64_t value) { return static_cast<float>(value); });
      else
        std::copy_n(tensor.data<float>(), values.size(), values.begin());
      file.write(reinterpret_cast<const char*>(values.data()),
                 static_cast<std::streamsize>(values.size() * sizeof(float)));
      std::printf(" ");
      const auto shape = tensor.get_shape();
      for (std::size_t k = 0; k < shape.size(); ++k) std::printf(k ? "x%zu" : "%zu", shape[k]);
      if (shape.empty()) std::printf("1");
    }
    std::printf("\n");
  }

  void profile(long count) {
    std::map<std::pair<std::string, std::string>, std::pair<long, long>> sums, best;
    long least = -1;
    for (long i = 0; i < count; ++i) {
      request_.infer();
      sums.clear();
      long all = 0;
      for (const auto& info : request_.get_profiling_info()) {
        if (info.real_time.count() == 0) continue;
        auto& [calls, us] = sums[{info.node_type, info.exec_type}];
        ++calls;
        us += static_cast<long>(info.real_time.count());
        all += static_cast<long>(info.real_time.count());
      }
      if (least >= 0 && all >= least) continue;
      least = all;
      best = sums;
    }
    const char* separator = "[";
    for (const auto& [what, sum] : best) {
      std::printf("%s[\"%s\", \"%s\", %ld, %ld]", separator, what.first.c_str(), what.second.c_str(), sum.first,
                  sum.second);
      separator = ", ";
    }
    std::printf("]\n");
  }

  void throughput(long ms) {
    const std::uint32_t wanted = model_.get_property(api::optimal_number_of_infer_requests);
    while (pool_.size() < wanted) {
      pool_.push_back(model_.create_infer_request());
      for (std::size_t i = 0; i < model_.inputs().size(); ++i) {
        const auto& port = model_.inputs()[i];
        api::Tensor tensor(port.get_element_type(), port.get_shape());
        fill(tensor, static_cast<unsigned>(i + 1));
        pool_.back().set_input_tensor(i, tensor);
      }
      pool_.back().infer();
    }
    const auto begin = Clock::now(), end = begin + std::chrono::milliseconds(ms);
    long done = 0;
    for (auto& request : pool_) request.start_async();
    for (std::size_t i = 0; Clock::now() < end; i = (i + 1) % pool_.size(), ++done) {
      pool_[i].wait();
      pool_[i].start_async();
    }
    for (auto& request : pool_) {
      request.wait();
      ++done;
    }
    std::printf("%ld %lld %zu\n", done, static_cast<long long>((Clock::now() - begin) / std::chrono::nanoseconds(1)),
                pool_.size());
  }

  void allocated(long count) {
    const long before = allocations;
    for (long i = 0; i < count; ++i) request_.infer();
    std::printf("%ld\n", allocations - before);
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
  void set(long count, bool and_infer) {
    time(count, [&](long i) {
      request_.set_tensor(name_, known_[static_cast<std::size_t>(i) % known_.size()][0]);
      if (and_infer) request_.infer();
    });
  }

 private:
  api::Tensor new_tensor(const api::element::Type& type, const api::Shape& shape) {
    return host_memory_ ? core_.get_default_context(device_).create_host_tensor(type, shape) : api::Tensor(type, shape);
  }

  api::Core core_;
  api::CompiledModel model_;
  api::InferRequest request_;
  std::array<std::vector<api::Tensor>, 4> known_;  ///< Four sets of inputs.
  std::vector<api::InferRequest> pool_;
  std::string name_, device_ = "CPU";
  bool profiled_ = false, host_memory_ = false;
};

}  // namespace

int main() {
  Worker worker;
  return bench::serve([&](const std::string& verb, std::istream& words) {
    std::string word;
    long count = 0;
    if (verb == "load") {
      Settings settings;
      words >> word >> settings.threads >> settings.precision >> settings.hint >> settings.batch;
      worker.load(word, settings);
    } else if (verb == "device" && words >> word) {
      worker.device(word);
    } else if (verb == "memory" && words >> word) {
      worker.memory(word == "host");
    } else if (verb == "profiled" && words >> word) {
      worker.profiled(word == "yes");
    } else if (verb == "dump" && words >> word) {
      worker.dump(word);
    } else if (verb == "peak") {
      std::printf("%ld\n", bench::status_kb("VmHWM:"));
    } else if (words >> count && verb == "infer") {
      worker.infer(count);
    } else if (words && verb == "profile") {
      worker.profile(count);
    } else if (words && verb == "throughput") {
      worker.throughput(count);
    } else if (words && verb == "allocations") {
      worker.allocated(count);
    } else if (words && verb == "async") {
      worker.async(count);
    } else if (words && (verb == "set" || verb == "set_infer")) {
      worker.set(count, verb == "set_infer");
    } else {
      return false;
    }
    return true;
  });
}
