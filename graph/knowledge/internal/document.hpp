// SPDX-License-Identifier: Apache-2.0
// Side files as trees, and what their readers need of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <tenon/graph/knowledge/internal/ultralytics.hpp>
#include <tenon/graph/partial_shape.hpp>

namespace tenon {
inline namespace v1 {

class Model;

/// Objects are in the order of their keys, so that a file with many keys is read in time.
using Tree = nlohmann::json;

/// What a file states.
struct SideFacts {
  FactTexts facts;
  std::vector<std::string> remarks;

  /// Leaves out empty values.
  void add(const char* key, std::string value);
};

constexpr std::uintmax_t kMaxSideFileBytes = 16u << 20;
/// The text of a file; nothing if there is no such file. @errors kInvalidArgument: it has more than kMaxSideFileBytes; as read_file().
std::optional<std::string> text_of_file(const std::filesystem::path& file);

/// @errors kInvalidArgument: damaged (where), or nested deeper than any such file.
Tree parse_json(std::string_view text);
/// Scalars are texts, whatever YAML takes them for: labels are called "yes" and "1". @errors kInvalidArgument as above, also more
/// nodes or text than such files have; kUnimplemented: a build without yaml-cpp.
Tree parse_yaml(std::string_view text);

/// The member; null if `from` is no object or has none. Never throws.
const Tree& member(const Tree& from, const char* name);
/// A scalar as a text; empty for anything else.
std::string text_of(const Tree& scalar);
/// A map or list as Python prints it, a scalar as its text.
std::string literal_of(const Tree& tree);
/// A number, also one that is a text, as "1./255.". @errors kInvalidArgument: names `what` and the value.
double number_of(const Tree& scalar, const char* what);
/// A number or a list of them. @errors kInvalidArgument
std::vector<double> numbers_of(const Tree& tree, const char* what);
/// A list of texts. @errors kInvalidArgument: it is none, or too long.
std::vector<std::string> names_of(const Tree& list, const char* what);
bool is_true(const Tree& scalar);

/// The shape of the model's input or output of that name. @errors kInvalidArgument: there is none (lists those that there are).
PartialShape shape_of_port(const Model& model, bool is_input, const std::string& name);

// Readers, one for each kind. @errors kInvalidArgument: the file contradicts its format, or the model (names what).
void read_ultralytics(const Tree& root, const Model& model, SideFacts& to);
void read_model_proc(const Tree& root, const Model& model, SideFacts& to);
void read_config(const Tree& root, const Model& model, SideFacts& to);
void read_preprocessor_config(const Tree& root, const Model& model, SideFacts& to);
void read_paddle(const Tree& root, const Model& model, SideFacts& to);
/// Sections of "key=value" lines, as objects of objects.
Tree parse_ini(std::string_view text);
void read_modelinfo(const Tree& root, const Model& model, SideFacts& to);

/// mean and scale for samples of 0 to 255, from those for samples times `factor` plus `offset`. Empty lists are 0 and 1.
void add_normalisation(double factor, double offset, const std::vector<double>& mean,
                       const std::vector<double>& deviation, SideFacts& to);

}  // namespace v1
}  // namespace tenon
