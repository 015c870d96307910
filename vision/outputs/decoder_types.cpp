// SPDX-License-Identifier: Apache-2.0
// The table of decoders: the built-in families, those of programs, and those of modules.
#include <tenon/vision/decoder_types.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string_view>
#include <utility>

#include <tenon/core/any.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/module_files.hpp>
#include <tenon/core/platform/modules.hpp>
#include <tenon/vision/internal/families.hpp>
#include <tenon/vision/internal/reading.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

struct DecoderTable {
  std::mutex mutex;
  std::vector<std::unique_ptr<const DecoderType>> types;  ///< Never removed: pointers stay valid.
  std::map<std::string, std::filesystem::path> modules;   ///< Modules that are not loaded yet.
  std::string absent;                                     ///< Why modules are not there, for messages.
};

bool has_name(const DecoderType& type, const std::string& lower) {
  return lower_case(type.name) == lower ||
         std::find(type.other_names.begin(), type.other_names.end(), lower) != type.other_names.end();
}

const DecoderType* find_in(const DecoderTable& table, const std::string& lower) {
  const auto found =
      std::find_if(table.types.begin(), table.types.end(), [&](const auto& type) { return has_name(*type, lower); });
  return found == table.types.end() ? nullptr : found->get();
}

/// @pre The table is locked, or not shared yet.
void add_type(DecoderTable& table, DecoderType type) {
  if (type.name.empty() || !type.fits || !type.make)
    throw Error(Code::kInvalidArgument,
                "register_decoder: \"" + type.name + "\": a decoder needs a name, fits and make");
  std::vector<std::string> names = type.other_names;
  names.push_back(lower_case(type.name));
  for (const std::string& name : names) {
    if (find_in(table, name))
      throw Error(Code::kAlreadyExists, "register_decoder: there is a decoder \"" + name + "\" already");
  }
  table.types.push_back(std::make_unique<const DecoderType>(std::move(type)));
}

/// Loads a module. @return Why its decoders are not there; empty: they are.
std::string load_module(DecoderTable& table, const std::filesystem::path& module) {
  std::string why;
  void* const library = platform::load_module(module, false, why);
  if (!library) return why;
  const auto release = reinterpret_cast<const char* (*)()>(platform::symbol_of(library, "tenon_decoders_release"));
  const auto function =
      reinterpret_cast<void (*)(std::vector<DecoderType>*)>(platform::symbol_of(library, "tenon_decoders"));
  if (!release || !function) return module.string() + " is not a module of decoders: TENON_DECODER_MODULE makes one";
  if (std::string_view(release()) != TENON_VERSION)
    return module.string() + " was built for another release: " + release() + ", and this is " TENON_VERSION;
  try {
    std::vector<DecoderType> types;
    function(&types);
    for (DecoderType& type : types) add_type(table, std::move(type));
  } catch (const std::exception& error) {
    return module.string() + ": " + error.what();
  }
  return {};
}

DecoderTable& decoder_table() {
  static DecoderTable& all = []() -> DecoderTable& {
    auto& made = *new DecoderTable;  // Outlives static destructors.
    for (const auto family :
         {yolo_row_types, ssd_types, class_types, query_types, grid_types, face_types, box_list_types, text_box_types,
          text_types, mask_types, point_types, anomaly_types, value_types, hierarchy_types}) {
      for (DecoderType& type : family()) add_type(made, std::move(type));
    }
    made.modules = find_modules("libtenon_decoders_",
                                module_folders("TENON_DECODER_PATH", reinterpret_cast<const void*>(&decoder_types)));
    return made;
  }();
  return all;
}

}  // namespace

DecoderSettings::DecoderSettings(const DecoderType& type, const DecodeOptions& options)
    : type_(type.name), all_(type.parameters) {
  for (const auto& [name, value] : options.parameters) {
    const auto found = std::find_if(all_.begin(), all_.end(), [&](const auto& known) { return known.name == name; });
    if (found == all_.end()) {
      std::string known;
      for (const DecoderParameter& one : all_) known += (known.empty() ? "" : ", ") + one.name;
      throw Error(Code::kInvalidArgument, "decoding " + type_ + ": there is no parameter \"" + name + "\"; " +
                                              (known.empty() ? "this decoder has none" : "there are: " + known));
    }
    found->value = value;
  }
}

const std::string& DecoderSettings::text(const std::string& name) const {
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const auto& known) { return known.name == name; });
  if (found == all_.end())
    throw Error(Code::kInternal, "decoding " + type_ + ": its row has no parameter \"" + name + "\"");
  return found->value;
}

void DecoderSettings::refuse(const std::string& name, const char* wanted) const {
  throw Error(Code::kInvalidArgument,
              "decoding " + type_ + ": parameter " + name + " is \"" + text(name) + "\"; it must be " + wanted);
}

double DecoderSettings::number(const std::string& name) const {
  double value = 0;
  if (!parse_text(text(name), value) || !std::isfinite(value)) refuse(name, "a number");
  return value;
}

bool DecoderSettings::flag(const std::string& name) const {
  bool value = false;
  if (!parse_text(lower_case(text(name)), value)) refuse(name, "true or false");
  return value;
}

std::vector<double> DecoderSettings::numbers(const std::string& name) const {
  std::vector<double> values;
  for (const std::string& word : words(name)) {
    double value = 0;
    if (!parse_text(word, value) || !std::isfinite(value)) refuse(name, "numbers separated by commas");
    values.push_back(value);
  }
  return values;
}

std::vector<std::string> DecoderSettings::words(const std::string& name) const {
  std::vector<std::string> found;
  std::istringstream all(text(name));
  for (std::string word; std::getline(all, word, ',');) {
    const auto first = word.find_first_not_of(' '), last = word.find_last_not_of(' ');
    found.push_back(first == std::string::npos ? std::string() : word.substr(first, last - first + 1));
  }
  return found;
}

void register_decoder(DecoderType type) {
  DecoderTable& table = decoder_table();
  const std::lock_guard lock(table.mutex);
  add_type(table, std::move(type));
}

const DecoderType* find_decoder(const std::string& name) {
  DecoderTable& table = decoder_table();
  const std::lock_guard lock(table.mutex);
  const std::string lower = lower_case(name);
  const DecoderType* found = find_in(table, lower);
  while (!found && !lower.empty() && !table.modules.empty()) {
    const auto next = table.modules.extract(table.modules.begin());
    if (const std::string reason = load_module(table, next.mapped()); !reason.empty())
      table.absent += "; the decoders of \"" + next.key() + "\" are not there: " + reason;
    found = find_in(table, lower);
  }
  return found;
}

std::string absent_decoders() {
  DecoderTable& table = decoder_table();
  const std::lock_guard lock(table.mutex);
  return table.absent;
}

std::vector<const DecoderType*> decoder_types() {
  DecoderTable& table = decoder_table();
  const std::lock_guard lock(table.mutex);
  std::vector<const DecoderType*> types;
  for (const auto& type : table.types) types.push_back(type.get());
  return types;
}

std::vector<std::string> decoders_that_fit(const DecodeOptions& options, std::span<const TensorInfo> outputs) {
  std::vector<std::string> names;
  for (const DecoderType* type : decoder_types()) {
    if (type->fits(options, outputs)) names.push_back(type->name);
  }
  return names;
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
