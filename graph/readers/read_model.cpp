// SPDX-License-Identifier: Apache-2.0
// Selects the reader for a file by its content.
#include <tenon/graph/readers/read_model.hpp>

#include <string_view>
#include <system_error>

#include <tenon/graph/knowledge/side_files.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/readers/internal/weights.hpp>
#include <tenon/graph/readers/onnx/onnx_reader.hpp>
#include <tenon/graph/readers/openvino_ir/ir_reader.hpp>

namespace tenon {
inline namespace v1 {

namespace {
// A UTF-8 byte order mark and white space may precede the first tag.
bool looks_like_xml(std::string_view text) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '<';
}

// A ModelProto starts with a known field: ir_version (0x08), or any of the fields 2 to 8, 14, 20, 25 with their wire
// types.
bool looks_like_onnx(std::string_view bytes) {
  if (bytes.size() < 2) return false;
  const auto first = static_cast<unsigned char>(bytes[0]);
  constexpr unsigned char starts[] = {0x08, 0x12, 0x1A, 0x22, 0x28, 0x32, 0x3A, 0x42, 0x72};
  for (unsigned char start : starts) {
    if (first == start) return true;
  }
  return false;
}

std::shared_ptr<Model> read_by_content(const std::filesystem::path& model, const std::filesystem::path& weights,
                                       bool map) {
  const auto open = [map](const std::filesystem::path& path) { return map ? map_file(path) : read_file(path); };
  const Tensor bytes = open(model);
  const std::string origin = "\"" + model.string() + "\"";
  if (bytes.size_bytes() == 0) throw Error(Code::kInvalidArgument, origin + " is empty; a model file is expected");
  const std::string_view text(static_cast<const char*>(bytes.data()), bytes.size_bytes());
  if (looks_like_xml(text)) {
    std::filesystem::path bin = weights;
    if (bin.empty()) {
      bin = model;
      bin.replace_extension(".bin");
      // A model without constants needs no weights; a model with constants reports the missing file.
      std::error_code error;
      if (std::filesystem::status(bin, error).type() == std::filesystem::file_type::not_found) bin.clear();
    }
    return read_ir(text, bin.empty() ? Tensor() : open(bin), origin);
  }
  if (looks_like_onnx(text)) {
    if (!weights.empty()) {
      throw Error(Code::kInvalidArgument, origin + " is an ONNX model, which takes no weights file, but \"" +
                                              weights.string() +
                                              "\" was given; external data is found through the model itself");
    }
    return read_onnx(bytes, model.has_parent_path() ? model.parent_path() : std::filesystem::path("."), origin, map);
  }
  throw Error(Code::kInvalidArgument,
              origin +
                  " is no model in a format known here. Supported: ONNX (operation sets up to 28) and "
                  "OpenVINO IR (.xml with .bin, versions 10 and 11)");
}
}  // namespace

std::shared_ptr<Model> read_model(const std::filesystem::path& model, const std::filesystem::path& weights, bool map) {
  std::shared_ptr<Model> read = read_by_content(model, weights, map);
  find_side_files(model, *read);
  return read;
}

}  // namespace v1
}  // namespace tenon
