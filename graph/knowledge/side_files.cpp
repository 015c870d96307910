// SPDX-License-Identifier: Apache-2.0
// The table of side files: their names, how they are recognised, and their readers.
#include <tenon/graph/knowledge/side_files.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <tenon/core/any.hpp>
#include <tenon/core/error.hpp>
#include <tenon/graph/knowledge/internal/document.hpp>
#include <tenon/graph/knowledge/internal/side_file_kinds.hpp>
#include <tenon/graph/knowledge/internal/values.hpp>
#include <tenon/graph/model.hpp>

namespace tenon {
inline namespace v1 {
namespace {

constexpr std::size_t kMaxMessageBytes = 500;  ///< Messages quote the file.

enum class Format : std::uint8_t { kJson, kYaml, kIni };

struct Reader {
  SideFileKind kind;
  const char* about;
  Format format;
  /// Names beside the model; * is the model's name without its extension, + its whole name.
  std::array<const char*, 2> names;
  bool (*is_this)(const Tree& root);
  void (*read)(const Tree& root, const Model& model, SideFacts& to);
  const char* mark = nullptr;  ///< A text that such files have, where many other files have such a name.
};

bool has(const Tree& root, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (!member(root, name).is_null()) return true;
  }
  return false;
}

constexpr Reader kReaders[] = {
    {{"gstreamer", "gstreamer"},
     "a .modelinfo of GStreamer",
     Format::kIni,
     {"+.modelinfo", "*.modelinfo"},
     [](const Tree& root) { return has(root, {"modelinfo"}); },
     read_modelinfo},
    {{"model_proc", "dl_streamer"},
     "a model-proc of DL Streamer",
     Format::kJson,
     {"*.json", "model_proc.json"},
     [](const Tree& root) {
       return has(root, {"json_schema_version"}) && has(root, {"input_preproc", "output_postproc"});
     },
     read_model_proc,
     "json_schema_version"},
    {{"metadata", "ultralytics"},
     "a metadata.yaml of Ultralytics",
     Format::kYaml,
     {"metadata.yaml", nullptr},
     [](const Tree& root) {
       return has(root, {"names"}) && has(root, {"task", "stride"});
     },
     read_ultralytics},
    {{"preprocessor_config", "hugging_face"},
     "a preprocessor_config.json of Hugging Face",
     Format::kJson,
     {"preprocessor_config.json", nullptr},
     [](const Tree& root) {
       return has(root, {"image_processor_type", "feature_extractor_type", "do_resize", "do_normalize", "do_rescale"});
     },
     read_preprocessor_config},
    {{"config", "hugging_face"},
     "a config.json of Hugging Face",
     Format::kJson,
     {"config.json", nullptr},
     [](const Tree& root) {
       return has(root, {"architectures", "id2label", "architecture", "model_type"});
     },
     read_config},
    {{"paddle", "paddle"},
     "an inference.yml of PaddlePaddle",
     Format::kYaml,
     {"inference.yml", "infer_cfg.yml"},
     [](const Tree& root) {
       return has(root, {"PreProcess", "Preprocess", "Deploy", "PostProcess"});
     },
     read_paddle},
};

constexpr auto kKinds = [] {
  std::array<SideFileKind, std::size(kReaders)> kinds{};
  for (std::size_t i = 0; i < kinds.size(); ++i) kinds[i] = kReaders[i].kind;
  return kinds;
}();

Tree parse(Format format, std::string_view text) {
  return format == Format::kJson ? parse_json(text) : format == Format::kYaml ? parse_yaml(text) : parse_ini(text);
}

/// @param file  As messages name it. The folder of a file beside the model is no part of the model, which may be moved with it.
void put(const std::filesystem::path& file, const char* kind, const char* exporter, SideFacts facts, Model& model) {
  if (facts.facts.empty() && facts.remarks.empty()) return;
  AnyMap map{{kFileEntry, Any(file.string())}, {kExporterEntry, Any(std::string(exporter))}};
  for (auto& [key, value] : facts.facts) map.emplace(key, Any(std::move(value)));
  std::string remarks;
  for (std::string remark : facts.remarks) {
    std::replace(remark.begin(), remark.end(), '\n', ' ');
    remarks += short_form(remark, kMaxMessageBytes) + "\n";
  }
  if (!remarks.empty()) map[kRemarksEntry] = Any(std::move(remarks));
  model.set_rt_info(Any(std::move(map)), {kSideFiles, kind});
}

std::string known_kinds() {
  std::string all;
  for (const Reader& reader : kReaders) all += std::string(all.empty() ? "" : ", ") + reader.about;
  return all;
}

bool looks_like_json(std::string_view text) {
  const auto first = text.find_first_not_of("\xEF\xBB\xBF \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

void read_named(const std::filesystem::path& file, Model& model) {
  const std::optional<std::string> text = text_of_file(file);
  if (!text) throw Error(Code::kNotFound, "there is no such file");
  const Format format = file.extension() == ".modelinfo" ? Format::kIni
                        : looks_like_json(*text)         ? Format::kJson
                                                         : Format::kYaml;
  const Tree root = parse(format, *text);
  for (const Reader& reader : kReaders) {
    if (reader.format != format || !reader.is_this(root)) continue;
    SideFacts facts;
    reader.read(root, model, facts);
    return put(file, kNamedSideFile, reader.kind.exporter, std::move(facts), model);
  }
  throw Error(Code::kInvalidArgument, "it is none of " + known_kinds());
}

std::filesystem::path beside(const std::filesystem::path& model_file, std::string_view name) {
  const std::filesystem::path folder = model_file.parent_path();
  if (name[0] == '*') return folder / (model_file.stem().string() + std::string(name.substr(1)));
  if (name[0] == '+') return folder / (model_file.filename().string() + std::string(name.substr(1)));
  return folder / name;
}

/// @return True: there is such a file, of this kind.
bool find(const Reader& reader, const std::filesystem::path& file, Model& model) {
  SideFacts facts;
  try {
    std::error_code error;
    if (reader.mark && std::filesystem::file_size(file, error) > kMaxSideFileBytes) return false;
    const std::optional<std::string> text = text_of_file(file);
    if (!text || (reader.mark && text->find(reader.mark) == std::string::npos)) return false;
    const Tree root = parse(reader.format, *text);
    if (!reader.is_this(root)) return false;
    reader.read(root, model, facts);
  } catch (const Error& error) {  // The model is complete without the file.
    facts.facts.clear();
    facts.remarks = {std::string("not used: ") + error.what()};
  }
  put(file.filename(), reader.kind.name, reader.kind.exporter, std::move(facts), model);
  return true;
}

}  // namespace

std::span<const SideFileKind> side_file_kinds() { return kKinds; }

void read_side_file(const std::filesystem::path& file, Model& model) {
  try {
    read_named(file, model);
  } catch (const Error& error) {
    throw Error(error.code(), "the side file \"" + file.string() + "\": " + short_form(error.what(), kMaxMessageBytes));
  }
}

void find_side_files(const std::filesystem::path& model_file, Model& model) {
  for (const Reader& reader : kReaders) {
    for (const char* name : reader.names) {
      if (name && find(reader, beside(model_file, name), model)) break;
    }
  }
}

void read_ultralytics(const Tree& root, const Model&, SideFacts& to) {
  for (auto& [key, value] :
       ultralytics_facts([&](const char* name) { return literal_of(member(root, name)); }, to.remarks))
    to.add(key.c_str(), std::move(value));
}

}  // namespace v1
}  // namespace tenon
