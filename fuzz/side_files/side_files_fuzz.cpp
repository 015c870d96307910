// SPDX-License-Identifier: Apache-2.0
// Any text as each kind of file that describes a model, and what ModelInfo then says of the model. The file is read, or refused with an
// Error. An input is read three times: by its content, as an INI file, and beside the model under the name of each kind.
#include <stdlib.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include <tenon/core/error.hpp>
#include <tenon/graph/knowledge/model_info.hpp>
#include <tenon/graph/knowledge/side_files.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>

namespace {

using namespace tenon;

/// A folder that goes with the process.
struct Folder {
  std::filesystem::path path;
  Folder() {
    std::string made = (std::filesystem::temp_directory_path() / "tenon_side_files_XXXXXX").string();
    if (!::mkdtemp(made.data())) std::abort();
    path = made;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

std::shared_ptr<Model> model() {
  const auto image = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 3, 64, 64});
  image->output(0).set_names({"images"});
  const auto value = op::v0::Constant::create(element::f32, Shape{1, 13, 84}, {0.0f});
  value->output(0).set_names({"out"});
  return std::make_shared<Model>(ResultVector{std::make_shared<op::v0::Result>(value)}, ParameterVector{image}, "m");
}

/// Asks everything that commands and decoders ask.
void ask(const Model& model) {
  const ModelInfo info(model);
  for (const Fact& fact : info.facts()) {
    if (fact.short_value().size() > fact.value.size() + 16) std::abort();
  }
  info.remarks();
  info.labels();
  info.model_type();
  info.is_end_to_end();
  info.keypoint_count();
  info.keypoint_values();
  info.picture_size();
}

template <typename Read>
void attempt(Read read) {
  try {
    const auto made = model();
    read(*made);
    ask(*made);
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const char* name : {"file", "file.modelinfo"}) {
    std::ofstream(folder.path / name) << text;
    attempt([&](Model& of) { read_side_file(folder.path / name, of); });
  }
  for (const char* name :
       {"model.modelinfo", "model.json", "metadata.yaml", "preprocessor_config.json", "config.json", "inference.yml"}) {
    const auto file = folder.path / name;
    std::ofstream(file) << text;
    attempt([&](Model& of) { find_side_files(folder.path / "model.onnx", of); });
    std::filesystem::remove(file);
  }
  return 0;
}
