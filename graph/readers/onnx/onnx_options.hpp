// SPDX-License-Identifier: Apache-2.0
// Options of the ONNX reader.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>

namespace tenon {
inline namespace v1 {

/// What an ONNX file leaves open about its inputs, and a model of tensors must know.
struct OnnxOptions {
  /// By name, the number of elements of each input that is a sequence of tensors or an optional of one, at most 4096.
  /// Each element becomes an input of its own: "NAME.0", "NAME.1"...
  std::map<std::string, std::size_t> sequence_lengths;
  /// Inputs that are optionals and hold nothing: the model has no such input. The other optionals always hold a value.
  std::set<std::string> empty_optionals;
  bool operator==(const OnnxOptions&) const = default;
};

}  // namespace v1
}  // namespace tenon
