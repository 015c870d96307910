// SPDX-License-Identifier: Apache-2.0
// tenon compile: compiles a model for a device, shows what the passes did to it, and writes the result to a file.
#include <chrono>
#include <memory>
#include <optional>
#include <sstream>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <tenon/runtime/core.hpp>

#include <tenon/tools/tenon/commands/commands.hpp>
#include <tenon/tools/tenon/shared/clock.hpp>
#include <tenon/tools/tenon/shared/json_text.hpp>
#include <tenon/tools/tenon/shared/known_device.hpp>
#include <tenon/tools/tenon/shared/model_options.hpp>
#include <tenon/tools/tenon/shared/option_checks.hpp>
#include <tenon/tools/tenon/shared/output_file.hpp>
#include <tenon/tools/tenon/show/models/executed_steps.hpp>
#include <tenon/tools/tenon/show/models/npu_times.hpp>
#include <tenon/tools/tenon/show/models/pass_dump.hpp>
#include <tenon/tools/tenon/show/models/stage.hpp>
#include <tenon/tools/tenon/show/text/progress.hpp>
#include <tenon/tools/tenon/show/text/text_table.hpp>

namespace tenon::tool {
namespace {

struct CompileOptions {
  std::string model, device = "CPU", output, dump, platform, report;
  ModelOptions model_options;
  bool json = false;
};

std::string counts_text(const std::map<std::string, std::size_t>& counts) {
  std::string text;
  for (const auto& [type, count] : counts) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, type);
  return text;
}

struct Compiled {
  double read_ms = 0, compile_ms = 0, export_ms = 0, blob_bytes = 0;
  std::string device, inputs, outputs, not_drawn;
  std::optional<NpuTimes> times;
  bool dynamic = false;
};

nlohmann::json json_of(const Compiled& done, const CompileOptions& options, const PassDump& passes,
                       const ExecutedSteps& steps) {
  nlohmann::json list = nlohmann::json::array();
  for (const PassChange& change : passes.changes()) {
    list.push_back({{"pass", change.pass},
                    {"changed", change.changed},
                    {"nodes", change.nodes},
                    {"gone", change.gone},
                    {"made", change.made},
                    {"dot", change.dot},
                    {"svg", change.svg}});
  }
  nlohmann::json all{{"model", options.model},        {"device", done.device},    {"inputs", done.inputs},
                     {"outputs", done.outputs},       {"dynamic", done.dynamic},  {"read_ms", done.read_ms},
                     {"compile_ms", done.compile_ms}, {"passes", std::move(list)}};
  all["runtime"] = steps.to_json();
  all["runtime"]["dot"] = passes.runtime_dot();
  all["runtime"]["svg"] = passes.runtime_svg();
  if (done.times) all["estimate"] = done.times->to_json();
  if (!options.output.empty())
    all["blob"] = {{"path", options.output}, {"bytes", done.blob_bytes}, {"export_ms", done.export_ms}};
  return all;
}

void print_text(const Compiled& done, const CompileOptions& options, const PassDump& passes,
                const ExecutedSteps& steps) {
  fmt::print("{} on {}: read {:.1f} ms, compile {:.1f} ms\n", options.model, done.device, done.read_ms,
             done.compile_ms);
  fmt::print("  inputs   {}\n  outputs  {}\n", done.inputs, done.outputs);
  if (!passes.changes().empty()) {
    std::vector<std::vector<std::string>> rows{{"pass", "nodes", "gone", "made"}};
    for (const PassChange& change : passes.changes()) {
      rows.push_back({change.pass, std::to_string(change.nodes),
                      change.changed || change.pass == "input" ? counts_text(change.gone) : "nothing to do",
                      counts_text(change.made)});
    }
    fmt::print("\n{}", text_table(rows));
  } else if (done.dynamic) {
    fmt::print("\n{} compiles a model of dynamic shapes when tensors are set: --shape shows the passes\n", done.device);
  } else {
    fmt::print("\n{} ran no passes of Tenon's{}\n", done.device,
               options.dump.empty() ? "" : ": there are no graphs to write");
  }
  if (const std::string table = steps.to_text(done.device); !table.empty()) fmt::print("\n{}", table);
  if (done.times) fmt::print("\n{}", done.times->to_text());
  if (!passes.runtime_dot().empty() || (!options.dump.empty() && !passes.changes().empty()))
    fmt::print("graphs in {}\n", options.dump);
  if (!done.not_drawn.empty()) fmt::print("{}\n", done.not_drawn);
  if (!options.output.empty())
    fmt::print("{}: {}, written in {:.1f} ms\n", options.output, in_bytes(done.blob_bytes), done.export_ms);
}

void compile(const CompileOptions& options) {
  Core core;
  check_device(core, options.device);
  CommandFiles files;
  if (options.platform.empty() && !options.report.empty())
    throw Error(Code::kInvalidArgument, "--report has the times of --estimate: name a platform");
  OutputFile file(options.output, "--output", files), report(options.report, "--report", files);
  Compiled done;
  auto begin = Clock::now();
  const auto model = [&] {
    const Stage stage("reading " + options.model);
    return read_model(core, files, options.model);
  }();
  done.read_ms = ms_since(begin);
  reshape(*model, options.model_options);
  done.dynamic = model->is_dynamic();
  if (!options.platform.empty()) done.times.emplace(*model, options.platform);
  PassDump passes(options.dump, files);
  begin = Clock::now();
  CompiledModel compiled = [&] {
    const Stage stage("compiling for " + options.device);
    return core.compile_model(model, options.device, properties_of(options.model_options));
  }();
  done.compile_ms = ms_since(begin);
  done.device = chosen_device(compiled, options.device);
  done.inputs = ports_text(compiled.inputs());
  done.outputs = ports_text(compiled.outputs());
  const ExecutedSteps steps(compiled);
  if (steps.model())
    passes.add_runtime(*steps.model(), fmt::format("what {} executes of {}", done.device, model->get_friendly_name()));
  done.not_drawn = passes.draw_all();
  if (file) {
    begin = Clock::now();
    std::ostringstream blob;
    compiled.export_model(blob);
    file.commit(blob.view());
    done.blob_bytes = static_cast<double>(blob.view().size());
    done.export_ms = ms_since(begin);
  }
  if (report) report.commit(done.times->to_html(options.model));
  if (options.json)
    fmt::print("{}", json_text(json_of(done, options, passes, steps)));
  else
    print_text(done, options, passes, steps);
}

}  // namespace

void add_compile(CLI::App& app) {
  auto* command = app.add_subcommand(
      "compile", "Compile a model for a device, show what each pass did, and write the result to a file");
  auto options = std::make_shared<CompileOptions>();
  command->add_option("model", options->model, "ONNX file, or the .xml of an OpenVINO IR")
      ->type_name(kModelFile)
      ->required();
  command->add_option("-d,--device", options->device, "Device, as 'tenon devices' lists it")->capture_default_str();
  command->add_option("-o,--output", options->output, "Write the compiled model, for import_model")
      ->type_name(kOutputFile);
  command
      ->add_option(
          "--dump-graph", options->dump,
          "Folder for the graph after each pass and for the steps that the device executes, as DOT and, if Graphviz is "
          "installed, as SVG")
      ->type_name(kOutputFolder);
  command
      ->add_option("--estimate", options->platform,
                   "Estimate the time and the memory traffic of each layer on an NPU: 3720, 4000 or 5010, or 4000:2 "
                   "for two tiles")
      ->check([](const std::string& text) { return std::string(text.empty() ? "a platform is missing" : ""); });
  command->add_option("--report", options->report, "Write the estimate as an HTML page with a plot")
      ->type_name(kOutputFile);
  add_shape_option(*command, options->model_options);
  add_setting_option(*command, options->model_options);
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      "\nEach pass is listed with the nodes that it removed and made, constants not counted; in the graphs, what a "
      "pass\n"
      "made is green. Compile time with --dump-graph includes writing the graphs.\n"
      "The last graph, NN_runtime, has the steps that run: their kernels, the layouts and types in which values lie, "
      "and\n"
      "the bytes that each reads and writes, weights apart. Steps that only change a layout or a type are gold.\n"
      "\nExamples:\n"
      "  tenon compile model.onnx                              what the passes do to it\n"
      "  tenon compile model.onnx --dump-graph graphs          and pictures of it: graphs/00_input.svg, ...\n"
      "  tenon compile model.onnx --device CPU -o model.blob   compiled once, imported many times\n"
      "  tenon compile model.onnx --estimate 4000              how long would it take on that NPU, and where?\n"
      "  tenon compile model.onnx --shape \"x[1,3,224,224]\" --set INFERENCE_PRECISION_HINT=bf16\n");
  command->callback([options] { compile(*options); });
}

}  // namespace tenon::tool
