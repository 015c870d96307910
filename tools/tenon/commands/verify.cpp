// SPDX-License-Identifier: Apache-2.0
// tenon verify: runs ONNX's backend tests on a device.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <tenon/core/error.hpp>
#include <tenon/core/file.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/readers/onnx/backend_suite.hpp>
#include <tenon/runtime/core.hpp>

#include <tenon/tools/tenon/commands/commands.hpp>
#include <tenon/tools/tenon/shared/interrupt.hpp>
#include <tenon/tools/tenon/shared/json_text.hpp>
#include <tenon/tools/tenon/shared/known_device.hpp>
#include <tenon/tools/tenon/shared/option_checks.hpp>
#include <tenon/tools/tenon/shared/output_file.hpp>
#include <tenon/tools/tenon/show/text/progress.hpp>

namespace tenon::tool {
namespace {

namespace fs = std::filesystem;

struct VerifyOptions {
  std::vector<std::string> folders;
  std::string device = "CPU", json, filter;
  std::optional<double> rtol, atol;
  bool has_default_precision = false, quiet = false, verbose = false;
};

/// @return What outputs may differ by if they are computed in `type`: bf16 has eight binary digits, f16 eleven.
BackendTestTolerance tolerance_of(element::Type type) {
  if (type == element::bf16) return {.rtol = 0.04, .atol = 0.04};
  if (type == element::f16) return {.rtol = 5e-3, .atol = 5e-3};
  return {};
}

/// The tests in `folder`: itself, or the folders below it that hold a model, sorted. A folder without one is a test
/// too, which is skipped.
void collect(const fs::path& folder, std::vector<fs::path>& tests) {
  std::error_code failure;
  if (!fs::is_directory(folder, failure)) {
    throw Error(Code::kNotFound, "verify: there is no folder \"" + folder.string() +
                                     "\"; give folders with a model.onnx, or folders of these");
  }
  if (fs::exists(folder / "model.onnx", failure)) {
    tests.push_back(folder);
    return;
  }
  std::vector<fs::path> found;
  std::error_code unreadable, ignored;
  for (const fs::path& path : list_folder(folder, unreadable))
    if (fs::is_directory(path, ignored) && !path.filename().string().starts_with('.')) found.push_back(path);
  if (unreadable)
    throw Error(Code::kNotFound, "verify: can't read folder \"" + folder.string() + "\": " + unreadable.message());
  if (found.empty()) {
    throw Error(Code::kNotFound,
                "verify: \"" + folder.string() + "\" holds no model.onnx and no folders; give ONNX backend tests");
  }
  std::sort(found.begin(), found.end());
  for (const fs::path& path : found) {
    // Nested folders, as in ONNX's own layout: node/, simple/, ...
    bool nested = false;
    if (!fs::exists(path / "model.onnx", ignored)) {
      for (const fs::path& inner : list_folder(path, ignored))
        nested = nested || fs::exists(inner / "model.onnx", failure);
    }
    if (nested)
      collect(path, tests);
    else
      tests.push_back(path);
  }
}

/// The type that the device computes in where nothing is asked for. A model says it: the device itself may leave it open.
element::Type default_precision(Core& core, const std::string& device) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1});
  const auto model =
      std::make_shared<const Model>(OutputVector{make_node("Relu", 1, {x})->output(0)}, ParameterVector{x});
  return core.compile_model(model, device).get_property(hint::inference_precision);
}

/// What a device is given. The published outputs were computed in f32, so devices that prefer bf16 must compute in f32, too,
/// unless that is what is to be verified.
AnyMap properties_for(Core& core, const VerifyOptions& options, BackendTestTolerance& tolerance) {
  AnyMap properties;
  for (const PropertyName& property : core.get_property(options.device, supported_properties)) {
    if (options.has_default_precision && property == hint::inference_precision.name())
      tolerance = tolerance_of(default_precision(core, options.device));
    if (!options.has_default_precision && property == hint::execution_mode.name() && property.is_mutable())
      properties.insert(hint::execution_mode(hint::ExecutionMode::ACCURACY));
  }
  tolerance.rtol = options.rtol.value_or(tolerance.rtol);
  tolerance.atol = options.atol.value_or(tolerance.atol);
  return properties;
}

std::vector<Tensor> run_on(Core& core, const std::string& device, const AnyMap& properties,
                           const std::shared_ptr<Model>& model, const std::vector<Tensor>& inputs) {
  CompiledModel compiled = core.compile_model(std::shared_ptr<const Model>(model), device, properties);
  InferRequest request = compiled.create_infer_request();
  for (std::size_t i = 0; i < inputs.size(); ++i) request.set_input_tensor(i, inputs[i]);
  request.infer();
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < compiled.outputs().size(); ++i) outputs.push_back(request.get_output_tensor(i));
  return outputs;
}

std::string first_line_of(const std::string& text) { return text.substr(0, text.find('\n')); }

void verify(const VerifyOptions& options) {
  CommandFiles files;
  OutputFile json_file(options.json, "--json", files);
  Core core;
  check_device(core, options.device);
  std::vector<fs::path> tests;
  for (const std::string& folder : options.folders) collect(folder, tests);
  if (!options.filter.empty()) {
    std::erase_if(tests, [&](const fs::path& path) {
      return path.filename().string().find(options.filter) == std::string::npos;
    });
    if (tests.empty()) throw Error(Code::kNotFound, "verify: no test's name contains \"" + options.filter + "\"");
  }
  for (const fs::path& test : tests) {
    std::error_code unreadable;  // The test itself reports it.
    for (fs::recursive_directory_iterator entry(test, unreadable), end; !unreadable && entry != end;
         entry.increment(unreadable))
      files.add_input(entry->path().string(), "a test's file");
  }
  const Interrupt interrupt;
  Progress progress(options.quiet, tests.size(), stdout, "tests");
  std::size_t counts[3] = {};
  std::uint64_t done = 0;
  nlohmann::json list = nlohmann::json::array();
  const char* const names[] = {"passed", "failed", "skipped"};
  BackendTestTolerance tolerance;
  const AnyMap properties = properties_for(core, options, tolerance);
  for (const fs::path& test : tests) {
    if (Interrupt::requested()) break;
    const auto run = [&](const std::shared_ptr<Model>& model, const std::vector<Tensor>& inputs) {
      return run_on(core, options.device, properties, model, inputs);
    };
    const BackendTestResult result = run_backend_test(test, run, tolerance);
    const auto outcome = static_cast<std::size_t>(result.outcome);
    ++counts[outcome];
    ++done;
    list.push_back(
        {{"name", result.name}, {"folder", test.string()}, {"result", names[outcome]}, {"reason", result.reason}});
    if (!options.quiet && (options.verbose || result.outcome == BackendTestOutcome::kFailed)) {
      progress.clear();
      fmt::print("{:7} {}{}{}\n", names[outcome], result.name, result.reason.empty() ? "" : ": ",
                 first_line_of(result.reason));
    }
    progress.update(done, [&] { return fmt::format("{} failed  {}", counts[1], result.name); });
  }
  progress.clear();
  json_file.commit(json_text(nlohmann::json{{"device", options.device},
                                            {"passed", counts[0]},
                                            {"failed", counts[1]},
                                            {"skipped", counts[2]},
                                            {"folders", list}}));
  fmt::print("{} passed, {} failed, {} skipped\n", counts[0], counts[1], counts[2]);
  if (Interrupt::requested()) throw CLI::RuntimeError(Interrupt::status());
  if (counts[1] != 0) throw CLI::RuntimeError(1);
}

}  // namespace

void add_verify(CLI::App& app) {
  auto* command =
      app.add_subcommand("verify", "Run ONNX backend tests on a device; exit status 1 if one of them fails");
  auto options = std::make_shared<VerifyOptions>();
  command->add_option("folders", options->folders, "Folders with a model.onnx and its data sets, or folders of these")
      ->type_name(kFolder)
      ->required();
  command->add_option("-d,--device", options->device, "Device, as 'tenon devices' lists it")->capture_default_str();
  command->add_option("--json", options->json, "Write {passed, failed, skipped, folders: [{name, result, reason}]}")
      ->type_name(kOutputFile);
  command
      ->add_option("--rtol", options->rtol,
                   "Relative tolerance of real numbers; by default 1e-3 for f32, 5e-3 for f16, 0.04 for bf16")
      ->check(reals_between(0.0, 1e9));
  command
      ->add_option("--atol", options->atol,
                   "Absolute tolerance of real numbers; by default 1e-5 for f32, else as --rtol")
      ->check(reals_between(0.0, 1e9));
  command->add_flag(
      "--default-precision", options->has_default_precision,
      "Compute as programs do that set no property, in bf16 on processors that have it; else in f32, as the "
      "recorded outputs were");
  command->add_option("--filter", options->filter, "Run only tests whose name contains this text");
  command->add_flag("-q,--quiet", options->quiet, "Print only the last line");
  command->add_flag("-v,--verbose", options->verbose, "Print every test, not only those that fail");
  command->callback([options] { verify(*options); });
}

}  // namespace tenon::tool
