// SPDX-License-Identifier: Apache-2.0
// One process's first inference: from a model file to its first result, in steps. bench/first/first.py runs it
// repeatedly, cold and through the cache; bench/npu/npu.py also runs it compiled against OpenVINO.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>

#include <tenon/bench/worker.hpp>

namespace {

double wall_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double cpu_ms() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto ms = [](const timeval& t) {
    return 1e3 * static_cast<double>(t.tv_sec) + 1e-3 * static_cast<double>(t.tv_usec);
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

}  // namespace

/// first_inference MODEL DEVICE [CACHE_DIR [OPTIMIZE_SIZE]] [KEY=VALUE...]: prints {"load_ms", "load_cpu_ms",
/// "first_ms", "from_cache", "peak_kb"}.
int main(int argc, char** argv) {
  if (argc < 3)
    return std::fprintf(stderr, "usage: first_inference MODEL DEVICE [CACHE_DIR [OPTIMIZE_SIZE]] [KEY=VALUE...]\n"), 2;
  try {
    api::Core core;
    // Loading the device's module is not part of compiling: it is the same for all.
    core.get_property(argv[2], api::device::full_name);
    api::AnyMap properties;
    const char* by_place[] = {"CACHE_DIR", "CACHE_MODE"};
    for (int i = 3, place = 0; i < argc; ++i) {
      const std::string word = argv[i];
      const std::size_t equals = word.find('=');
      if (equals != std::string::npos)
        properties[word.substr(0, equals)] = word.substr(equals + 1);
      else if (place < 2)
        properties[by_place[place++]] = word;
    }
    const double begin = wall_ms(), begin_cpu = cpu_ms();
    auto model = core.compile_model(std::string(argv[1]), argv[2], properties);
    const double compiled = wall_ms(), compiled_cpu = cpu_ms();
    auto request = model.create_infer_request();
    for (std::size_t i = 0; i < model.inputs().size(); ++i) {
      api::Tensor tensor = request.get_input_tensor(i);
      if (tensor.get_element_type() != api::element::string) std::memset(tensor.data(), 0, tensor.get_byte_size());
    }
    request.infer();
    const double done = wall_ms();
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    bool cached = false;
    try {
      cached = model.get_property(api::loaded_from_cache);
    } catch (const std::exception&) {
    }
    std::printf(
        "{\"load_ms\": %.3f, \"load_cpu_ms\": %.3f, \"first_ms\": %.3f, \"from_cache\": %s, \"peak_kb\": %ld}\n",
        compiled - begin, compiled_cpu - begin_cpu, done - begin, cached ? "true" : "false", usage.ru_maxrss);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "first_inference: %s\n", error.what());
    return 1;
  }
  return 0;
}
