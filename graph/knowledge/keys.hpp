// SPDX-License-Identifier: Apache-2.0
// The vocabulary in which models are described: one name for each fact, whichever exporter states it.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

enum class FactForm : std::uint8_t { kText, kNumbers, kFlag, kNames };

/// A fact that a model may state. The names are those of OpenVINO's Model API where it has one.
struct FactKey {
  const char* name;
  FactForm form;
  bool is_of_input;   ///< It says how pictures are prepared, so that a change of it compiles the model anew.
  const char* about;  ///< For help texts.
  /// The bounds of each of its numbers, inclusive.
  double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();
};

/// All keys, those of the input first.
TENON_API std::span<const FactKey> fact_keys();
/// Null if there is none of that name.
TENON_API const FactKey* find_fact_key(const std::string& name);

/// The value in the form in which facts are kept. Names may be separated by commas, or be a list as Python prints it.
/// @errors kInvalidArgument: no such key (proposes the known), or a value of another form.
TENON_API std::string checked_fact(const std::string& key, const std::string& value);

}  // namespace v1
}  // namespace tenon
