// SPDX-License-Identifier: Apache-2.0
// tenon convert: writes a model of any format that can be read as OpenVINO IR.
#include <filesystem>
#include <memory>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <tenon/graph/passes/compress.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>
#include <tenon/runtime/core.hpp>

#include <tenon/tools/tenon/commands/commands.hpp>
#include <tenon/tools/tenon/shared/json_text.hpp>
#include <tenon/tools/tenon/shared/model_options.hpp>
#include <tenon/tools/tenon/shared/option_checks.hpp>
#include <tenon/tools/tenon/shared/output_file.hpp>
#include <tenon/tools/tenon/show/models/stage.hpp>
#include <tenon/tools/tenon/show/text/progress.hpp>

namespace tenon::tool {
namespace {

namespace fs = std::filesystem;

struct ConvertOptions {
  std::string input, weights, output;
  ModelOptions model_options;
  bool compress = false, json = false;
};

double bytes_of(const fs::path& path) {
  std::error_code failure;
  const auto size = fs::file_size(path, failure);
  return failure ? 0 : static_cast<double>(size);
}

void convert(const ConvertOptions& options) {
  const fs::path xml(options.output);
  if (xml.extension() != ".xml") {
    throw Error(Code::kInvalidArgument, "OUT is \"" + options.output +
                                            "\", but the output is OpenVINO IR: give a name that ends with .xml; its "
                                            "weights go beside it, in .bin");
  }
  fs::path bin = xml;
  bin.replace_extension(".bin");
  CommandFiles files;
  OutputFile xml_file(xml.string(), "OUT", files), bin_file(bin.string(), "OUT", files);
  Core core;
  const auto model = [&] {
    const Stage stage("reading " + options.input);
    return read_model(core, files, options.input, options.weights);
  }();
  reshape(*model, options.model_options);
  pass::Compressed compressed;
  if (options.compress) {
    const Stage stage("rounding weights to f16");
    compressed = pass::compress_to_f16(*model);
  }
  {
    const Stage stage("writing " + options.output);
    const HeldSignals held;
    serialize(*model, xml_file.partial(), bin_file.partial());
    bin_file.commit();
    xml_file.commit();
  }
  const std::size_t nodes = model->get_ordered_ops().size();
  if (options.json) {
    nlohmann::json all{{"input", options.input},
                       {"xml", xml.string()},
                       {"bin", bin.string()},
                       {"xml_bytes", bytes_of(xml)},
                       {"bin_bytes", bytes_of(bin)},
                       {"nodes", nodes},
                       {"inputs", ports_text(model->inputs())},
                       {"outputs", ports_text(model->outputs())}};
    if (options.compress) {
      all["compressed"] = {{"constants", compressed.constants},
                           {"kept_f32", compressed.kept},
                           {"bytes_before", compressed.bytes_before},
                           {"bytes_after", compressed.bytes_after},
                           {"largest_relative_error", compressed.largest_error}};
    }
    fmt::print("{}", json_text(all));
    return;
  }
  fmt::print("{}: {} nodes, {} + {} of weights in {}\n", xml.string(), nodes, in_bytes(bytes_of(xml)),
             in_bytes(bytes_of(bin)), bin.filename().string());
  fmt::print("  inputs   {}\n  outputs  {}\n", ports_text(model->inputs()), ports_text(model->outputs()));
  if (!options.compress) return;
  fmt::print("  f16      {} constants, {} -> {}; a weight changed by at most {:.3g} of its size\n",
             compressed.constants, in_bytes(static_cast<double>(compressed.bytes_before)),
             in_bytes(static_cast<double>(compressed.bytes_after)), compressed.largest_error);
  if (compressed.kept)
    fmt::print("           {} constants stay f32: they have values above 65504, the largest of f16\n", compressed.kept);
}

}  // namespace

void add_convert(CLI::App& app) {
  auto* command =
      app.add_subcommand("convert", "Write a model as OpenVINO IR: from ONNX, or IR of other shapes or weights");
  auto options = std::make_shared<ConvertOptions>();
  command->add_option("input", options->input, "ONNX file, or the .xml of an OpenVINO IR")
      ->type_name(kModelFile)
      ->required();
  command->add_option("output", options->output, "The .xml to write; the weights go beside it, in .bin")
      ->type_name(kOutputFile)
      ->required();
  command->add_option("--weights", options->weights, "Weights of an IR whose .bin lies elsewhere")
      ->type_name(kWeightsFile);
  add_shape_option(*command, options->model_options);
  command->add_flag(
      "--compress-to-fp16", options->compress,
      "Store weights as f16, which halves their size. Devices convert them back, so only the rounding remains");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      "\nBoth files appear whole or not at all. The same model gives the same bytes.\n"
      "\nExamples:\n"
      "  tenon convert model.onnx model.xml\n"
      "  tenon convert model.onnx small.xml --compress-to-fp16\n"
      "  tenon convert model.xml batch8.xml --shape \"images[8,3,224,224]\"\n"
      "  tenon convert model.onnx any.xml --shape \"[?,3,224..448,224..448]\"\n");
  command->callback([options] { convert(*options); });
}

}  // namespace tenon::tool
