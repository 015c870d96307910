// SPDX-License-Identifier: Apache-2.0
// ONNX's sequences while a file is read. Models support tensors only: operations on a sequence are expanded into
// operations on its elements, and no node of this kind is left in the model.
#pragma once

#include <cstdint>
#include <string>

#include <tenon/graph/node.hpp>
#include <tenon/graph/readers/onnx/internal/onnx.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

/// Splits, written-out maps and inputs put this many nodes or more into the model for each element.
inline constexpr std::int64_t kMaxElements = 4096;

/// Stands for a sequence or an empty optional among the values of a graph; its one output has no type.
class Sequence final : public Node {
 public:
  enum class Form {
    kList,      ///< Each element by itself: the inputs.
    kStack,     ///< Any number of elements of one shape: the input holds them along axis 0.
    kState,     ///< The sequence that a loop carries, within the loop's body: its elements are unknown.
    kAppended,  ///< A state with one element more: the input.
    kAbsent,    ///< An optional that holds nothing.
  };
  Sequence(Form form, OutputVector parts, const Node* state = nullptr);
  Form form() const { return form_; }
  /// The state to which an element was appended.
  const Node* state() const { return state_; }

 private:
  Form form_;
  const Node* state_;
};

Out sequence_of(Sequence::Form form, OutputVector parts, const Node* state = nullptr);
/// Null for tensors.
const Sequence* as_sequence(const Out& value);
/// Elements of a list. @errors kUnimplemented: another form, since their number is known only when the model runs.
OutputVector elements_of(const Sequence& sequence);
/// A list or a stack as a stack. @errors kUnimplemented: shapes of elements that differ.
Out stack_of(const Sequence& sequence);
/// Whether an operation ("domain:type") takes sequences; any other would read the stand-in as a tensor.
bool takes_sequences(const std::string& key);

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
