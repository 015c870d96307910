// SPDX-License-Identifier: Apache-2.0
// Runs ONNX backend-test folders through the reference interpreter, or through the runtime on a device:
// backend_tests [--device CPU [--default-precision]] [--at-least N] [--all] [--faults FILE] [--share K/N] [--list] [--rtol R] [--atol A]
// [--signed-zeros] FOLDER...
// With --all every test must pass, and there must be some. With --faults no output may differ from the recorded one,
// except in tests that FILE lists ("name: why the test is wrong"); each of those must exist and differ.
// --share runs every Nth test from the Kth on, from 0.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/readers/onnx/backend_suite.hpp>
#include <tenon/runtime/compiled_model.hpp>
#include <tenon/runtime/core.hpp>
#include <tenon/runtime/infer_request.hpp>
#include <tenon/runtime/properties.hpp>

namespace {

/// What bf16 makes of a few layers: a number has eight binary digits, and sums of some of them one less.
constexpr tenon::BackendTestTolerance kDefaultPrecision{.rtol = 0.04, .atol = 0.04};
constexpr int kNoDevice = 77;  ///< The exit code that ctest takes for a skipped test.

/// The result of a run on a device, and how much of it used the operation table's slow kernels.
struct DeviceRun {
  tenon::Core core;
  std::string device;
  bool has_default_precision = false;  ///< As programs get it that set no property.
  std::string by_reference;            ///< Types of the nodes that ran by a slow kernel of the operation table.

  bool is_available() {
    const std::vector<std::string> names = core.get_available_devices();
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return name.starts_with(device); });
  }

  std::vector<tenon::Tensor> operator()(const std::shared_ptr<tenon::Model>& model,
                                        const std::vector<tenon::Tensor>& inputs) {
    tenon::AnyMap properties{{"PERF_COUNT", true}};
    if (!has_default_precision) properties["INFERENCE_PRECISION_HINT"] = tenon::element::f32;
    auto compiled = core.compile_model(model, device, properties);
    auto request = compiled.create_infer_request();
    for (std::size_t i = 0; i < inputs.size(); ++i) request.set_input_tensor(i, inputs[i]);
    request.infer();
    try {
      for (const auto& each : request.get_profiling_info())
        if (each.exec_type == "reference") by_reference += " " + each.node_type;
    } catch (const tenon::Error&) {
      by_reference += " (in stages)";  // Shapes depend on values, so there is no profile.
    }
    std::vector<tenon::Tensor> outputs;
    for (std::size_t i = 0; i < compiled.outputs().size(); ++i) outputs.push_back(request.get_output_tensor(i));
    return outputs;
  }
};

/// Tests that are wrong themselves, by name; # begins a comment.
std::map<std::string, std::string> read_faults(const std::string& path) {
  std::map<std::string, std::string> faults;
  std::ifstream file(path);
  if (!file) throw tenon::Error(tenon::Code::kNotFound, "no list of faults \"" + path + "\"");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.empty() || line[0] == '#' || colon == line.npos) continue;
    faults[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return faults;
}

/// Keeps every `count`th folder from the `index`th on, and forgets the faults of the others.
void keep_share(int index, int count, std::vector<std::filesystem::path>& folders,
                std::map<std::string, std::string>& faults) {
  std::vector<std::filesystem::path> kept;
  for (std::size_t i = 0; i < folders.size(); ++i) {
    if (static_cast<int>(i % static_cast<std::size_t>(count)) == index)
      kept.push_back(folders[i]);
    else
      faults.erase(folders[i].filename().string());
  }
  folders = std::move(kept);
}

}  // namespace

int main(int count, char** arguments) {
  namespace fs = std::filesystem;
  int at_least = 0, share = 0, shares = 1;
  bool list = false, all = false, has_faults = false;
  std::map<std::string, std::string> faults;
  std::unique_ptr<DeviceRun> device;
  tenon::BackendTestTolerance tolerance;
  std::vector<fs::path> folders;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    if (argument == "--at-least" && i + 1 < count) {
      at_least = std::atoi(arguments[++i]);
    } else if (argument == "--device" && i + 1 < count) {
      device = std::make_unique<DeviceRun>();
      device->device = arguments[++i];
    } else if (argument == "--default-precision" && device) {
      device->has_default_precision = true;
      tolerance = kDefaultPrecision;
    } else if (argument == "--rtol" && i + 1 < count) {
      tolerance.rtol = std::atof(arguments[++i]);
    } else if (argument == "--atol" && i + 1 < count) {
      tolerance.atol = std::atof(arguments[++i]);
    } else if (argument == "--signed-zeros") {
      tolerance.tells_zeros_apart = true;
    } else if (argument == "--faults" && i + 1 < count) {
      faults = read_faults(arguments[++i]);
      has_faults = true;
    } else if (argument == "--share" && i + 1 < count) {
      if (std::sscanf(arguments[++i], "%d/%d", &share, &shares) != 2 || share < 0 || share >= shares) {
        std::fprintf(stderr, "--share %s: it takes K/N, with 0 <= K < N\n", arguments[i]);
        return 2;
      }
    } else if (argument == "--all") {
      all = true;
    } else if (argument == "--list") {
      list = true;
    } else if (fs::exists(fs::path(argument) / "model.onnx")) {
      folders.emplace_back(argument);
    } else {
      for (const auto& entry : fs::directory_iterator(argument)) folders.push_back(entry.path());
    }
  }
  if (device && !device->is_available()) {
    std::printf("there is no device %s\n", device->device.c_str());
    return kNoDevice;
  }
  std::sort(folders.begin(), folders.end());
  keep_share(share, shares, folders, faults);
  int passed = 0, failed = 0, skipped = 0, by_reference = 0, unexpected = 0;
  for (const fs::path& folder : folders) {
    if (device) device->by_reference.clear();
    const auto result = tenon::run_backend_test(
        folder,
        [&](const auto& model, const auto& inputs) {
          return device ? (*device)(model, inputs) : tenon::evaluate(*model, inputs);
        },
        tolerance);
    const bool is_passed = result.outcome == tenon::BackendTestOutcome::kPassed;
    passed += is_passed;
    by_reference += is_passed && device && !device->by_reference.empty();
    failed += result.outcome == tenon::BackendTestOutcome::kFailed;
    skipped += result.outcome == tenon::BackendTestOutcome::kSkipped;
    if (has_faults && result.is_mismatch != (faults.erase(result.name) > 0)) {
      ++unexpected;
      std::fprintf(stderr, "%s: %s\n", result.name.c_str(),
                   result.is_mismatch ? result.reason.c_str() : "is listed as wrong itself, and does not differ");
    }
    if (all && !is_passed) std::fprintf(stderr, "%s: %s\n", result.name.c_str(), result.reason.c_str());
    if (list) {
      std::string reason = is_passed && device ? device->by_reference : result.reason.substr(0, 400);
      std::replace(reason.begin(), reason.end(), '\n', ' ');
      std::printf("%s\t%s\t%s\n", result.name.c_str(), is_passed ? "passed" : "FAILED", reason.c_str());
      std::fflush(stdout);
    }
  }
  std::printf("%d passed, %d failed, %d skipped%s%s\n", passed, failed, skipped, device ? " on " : "",
              device ? device->device.c_str() : "");
  if (device)
    std::printf("%d of those that passed used a reference kernel of the operation table for a node or more\n",
                by_reference);
  if (passed < at_least) {
    std::fprintf(stderr, "fewer than the %d that passed before\n", at_least);
    return 1;
  }
  for (const auto& [name, why] : faults) {
    ++unexpected;
    std::fprintf(stderr, "%s: is listed as wrong itself, and is not there\n", name.c_str());
  }
  return unexpected > 0 || (all && (passed == 0 || failed + skipped > 0)) ? 1 : 0;
}
