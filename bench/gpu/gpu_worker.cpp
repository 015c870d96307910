// SPDX-License-Identifier: Apache-2.0
// One model on the GPU device, with inputs and outputs in the device's memory: gpu_worker MODEL PRECISION SECONDS FOLDER
// [profile]. Reads FOLDER/input_N.bin, compiles, waits for a line of standard input or its end, so that several can compile at
// once and run in turns, then writes FOLDER/output_N.bin and prints a line of JSON.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <tenon/devices/gpu/public/ocl.hpp>
#include <tenon/graph/exec_model_info.hpp>
#include <tenon/runtime/runtime.hpp>

namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

tenon::Tensor read(const std::filesystem::path& path, const tenon::Output<const tenon::Node>& port) {
  tenon::Tensor tensor(port.get_element_type(), port.get_shape());
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  if (bytes.size() != tensor.get_byte_size()) throw std::runtime_error(path.string() + ": not as large as the input");
  std::memcpy(tensor.data(), bytes.data(), bytes.size());
  return tensor;
}

/// Prints the profile: microseconds by kind of kernel and by kernel, the largest first.
void print_profile(const tenon::InferRequest& request) {
  std::vector<std::pair<double, std::string>> lines, sums;
  std::map<std::string, std::pair<double, int>> kinds;
  for (const auto& info : request.get_profiling_info()) {
    if (info.exec_type.empty()) continue;  // Fused into another.
    const double us = static_cast<double>(info.real_time.count());
    lines.emplace_back(us, info.exec_type + " " + info.node_name);
    auto& [sum, count] = kinds[info.exec_type];
    sum += us;
    ++count;
  }
  for (const auto& [kind, sum] : kinds) sums.emplace_back(sum.first, std::to_string(sum.second) + " of " + kind);
  std::sort(sums.rbegin(), sums.rend());
  std::sort(lines.rbegin(), lines.rend());
  for (const auto& [us, name] : sums) std::fprintf(stderr, "%8.1f us  %s\n", us, name.c_str());
  for (const auto& [us, name] : lines) std::fprintf(stderr, "%8.1f us  %s\n", us, name.c_str());
}

/// The work of each kernel: "[[multiply-adds, bytes], ...]".
std::string steps_of(const tenon::CompiledModel& compiled) {
  std::string text;
  for (const auto& node : compiled.get_runtime_model()->get_ordered_ops()) {
    const auto& notes = node->get_rt_info();
    const auto number = [&](const char* key) {
      const auto found = notes.find(key);
      return found == notes.end() ? 0.0 : std::stod(found->second.as<std::string>());
    };
    using namespace tenon::exec_model_info;
    const double bytes = number(BYTES_READ) + number(BYTES_WRITTEN) + number(WEIGHT_BYTES);
    if (bytes == 0) continue;
    char step[64];
    std::snprintf(step, sizeof step, "%s[%.0f, %.0f]", text.empty() ? "" : ", ", number(MULTIPLY_ADDS), bytes);
    text += step;
  }
  return "[" + text + "]";
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 5) throw std::runtime_error("usage: gpu_worker MODEL PRECISION SECONDS FOLDER [profile]");
  const std::filesystem::path folder = argv[4];
  const bool profiles = argc > 5;
  tenon::Core core;
  const auto start = Clock::now();
  const auto precision = tenon::Any(std::string(argv[2])).as<tenon::element::Type>();
  auto compiled = core.compile_model(argv[1], "GPU", tenon::hint::inference_precision(precision),
                                     tenon::enable_profiling(profiles));
  const double compile_ms = ms_since(start);
  auto context = compiled.get_context().as<tenon::intel_gpu::ocl::ClContext>();
  auto request = compiled.create_infer_request();
  for (std::size_t i = 0; i < compiled.inputs().size(); ++i) {
    const auto port = compiled.input(i);
    auto remote = context.create_tensor(port.get_element_type(), port.get_shape());
    remote.copy_from(read(folder / ("input_" + std::to_string(i) + ".bin"), port));
    request.set_tensor(port, remote);
  }
  std::vector<tenon::RemoteTensor> results;
  for (std::size_t i = 0; i < compiled.outputs().size(); ++i) {
    const auto port = compiled.output(i);
    results.push_back(context.create_tensor(port.get_element_type(), port.get_shape()));
    request.set_tensor(port, results.back());
  }
  std::getchar();
  const auto first = Clock::now();
  request.infer();
  const double first_ms = ms_since(first);
  // The device finds out how kernels get into a queue best, for which CUDA's compiler may have to end first.
  const auto is_settled = [&] { return profiles || compiled.get_property("GPU_LAUNCHES").as<std::string>() != "AUTO"; };
  for (int i = 0; i < 5 || (!is_settled() && ms_since(first) < 60e3); ++i) request.infer();
  const double settled_ms = ms_since(first);
  if (profiles) print_profile(request);
  // Measures alternately the time of one inference and the time for which enqueueing it blocks the caller.
  std::vector<double> times, starts;
  const auto begin = Clock::now();
  while (ms_since(begin) < 1000 * std::stod(argv[3]) || times.size() < 5) {
    auto one = Clock::now();
    request.infer();
    times.push_back(ms_since(one));
    one = Clock::now();
    request.start_async();
    starts.push_back(ms_since(one));
    request.wait();
  }
  std::sort(times.begin(), times.end());
  std::sort(starts.begin(), starts.end());
  for (std::size_t i = 0; i < compiled.outputs().size(); ++i) {
    const auto port = compiled.output(i);
    tenon::Tensor host(port.get_element_type(), port.get_shape());
    results[i].copy_to(host);
    std::ofstream file(folder / ("output_" + std::to_string(i) + ".bin"), std::ios::binary);
    file.write(static_cast<const char*>(host.data()), static_cast<std::streamsize>(host.get_byte_size()));
  }
  std::printf(
      "{\"compile_ms\": %.1f, \"first_ms\": %.1f, \"settled_ms\": %.1f, \"launches\": \"%s\", \"ms\": %.4f, "
      "\"best_ms\": %.4f, \"start_ms\": %.4f, \"runs\": %zu, \"steps\": %s}\n",
      compile_ms, first_ms, settled_ms, compiled.get_property("GPU_LAUNCHES").as<std::string>().c_str(),
      times[times.size() / 2], times.front(), starts[starts.size() / 2], times.size(), steps_of(compiled).c_str());
} catch (const std::exception& error) {
  std::fprintf(stderr, "gpu_worker: %s\n", error.what());
  return 1;
}
