// SPDX-License-Identifier: Apache-2.0
// ONNX: sequences and optionals, resolved while the file is read.
#include <algorithm>
#include <set>

#include <tenon/graph/operation_table.hpp>
#include <tenon/graph/readers/onnx/internal/sequence.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {
const Operation& stand_in() {
  static const Operation row = [] {
    Operation made;
    made.type = "Sequence";
    made.version = "reader";
    made.type_info = {made.type.c_str(), made.version.c_str()};
    made.max_inputs = kManyInputs;
    made.infer = [](Node& node) { node.set_output_type(0, element::dynamic, PartialShape::dynamic()); };
    return made;
  }();
  return row;
}

const Sequence& sequence_at(const NodeContext& node, std::size_t index) {
  const Sequence* sequence = as_sequence(node.input(index));
  if (!sequence) fail("input " + std::to_string(index) + " is a tensor, expected a sequence");
  if (sequence->form() == Sequence::Form::kAbsent)
    fail("input " + std::to_string(index) + " is an optional that holds nothing");
  return *sequence;
}

/// A position among `count` elements, from the end if negative; `count` itself only for insertions.
std::int64_t position(const NodeContext& node, std::size_t index, std::int64_t count, bool may_be_end) {
  const Ints values = node.constant_ints(index, "position");
  if (values.size() != 1) fail("position has " + std::to_string(values.size()) + " values, expected 1");
  const std::int64_t at = values[0] < 0 ? values[0] + count : values[0];
  if (at < 0 || at >= count + (may_be_end ? 1 : 0))
    fail("position " + std::to_string(values[0]) + " is outside of a sequence of " + std::to_string(count) +
         " elements");
  return at;
}

Out list_of(OutputVector elements) { return sequence_of(Sequence::Form::kList, std::move(elements)); }

OutputVector sequence_construct(const NodeContext& node) { return {list_of(node.inputs())}; }
OutputVector sequence_empty(const NodeContext&) { return {list_of({})}; }

OutputVector sequence_insert(const NodeContext& node) {
  const Sequence& sequence = sequence_at(node, 0);
  const Out& x = node.input(1);
  if (sequence.form() == Sequence::Form::kState) {
    if (node.has_input(2))
      unimplemented("puts an element into a loop's sequence at a position; only the end is written out");
    return {sequence_of(Sequence::Form::kAppended, {x}, &sequence)};
  }
  if (sequence.form() == Sequence::Form::kStack && !node.has_input(2))
    return {sequence_of(Sequence::Form::kStack, {concat({stack_of(sequence), unsqueeze(x, {0})}, 0)})};
  OutputVector elements = elements_of(sequence);
  const auto count = static_cast<std::int64_t>(elements.size());
  const std::int64_t at = node.has_input(2) ? position(node, 2, count, true) : count;
  elements.insert(elements.begin() + at, x);
  return {list_of(std::move(elements))};
}

OutputVector sequence_erase(const NodeContext& node) {
  OutputVector elements = elements_of(sequence_at(node, 0));
  const auto count = static_cast<std::int64_t>(elements.size());
  if (count == 0) fail("takes an element from an empty sequence");
  elements.erase(elements.begin() + (node.has_input(1) ? position(node, 1, count, false) : count - 1));
  return {list_of(std::move(elements))};
}

std::int64_t rank_of_known(const Out& x) {
  const Rank rank = x.get_partial_shape().rank();
  if (rank.is_dynamic())
    unimplemented("its elements have a dynamic rank, and joining them is written out for a known one");
  return rank.get_length();
}

bool have_one_static_shape(const OutputVector& parts) {
  return std::all_of(parts.begin(), parts.end(), [&](const Out& part) {
    return part.get_partial_shape().is_static() && part.get_partial_shape() == parts[0].get_partial_shape();
  });
}

/// An element of a list whose elements differ in shape: cut out of all their numbers in a row.
Out cut_out(const OutputVector& parts, const Out& position) {
  const std::int64_t rank = rank_of_known(parts[0]);
  OutputVector rows, numbers;
  for (const Out& part : parts) {
    if (rank_of_known(part) != rank)
      unimplemented("takes an element at a computed position of a sequence with elements of ranks " +
                    std::to_string(rank) + " and " + std::to_string(rank_of_known(part)) +
                    "; written out are elements of one rank: take them at constant positions");
    rows.push_back(unsqueeze(shape_of(part), {0}));
    numbers.push_back(reshape(part, Ints{-1}));
  }
  const Out shapes = concat(rows, 0), sizes = reduce("ReduceProd", shapes, ints({1}), false);
  const Out begins = op("CumSum", 3, {sizes, int_scalar(0)}, {{"exclusive", true}, {"reverse", false}});
  const Out at = reshape(convert(position, ElementType::kI64), Ints{1});
  const auto row = [&](const Out& table) { return op("Gather", 8, {table, at, int_scalar(0)}, {{"batch_dims", 0}}); };
  const Out begin = row(begins), end = add(begin, row(sizes));
  const Out cut = op("Slice", 8, {concat(numbers, 0), begin, end, ints({1}), ints({0})});
  return reshape(cut, squeeze(row(shapes), {0}));
}

OutputVector sequence_at_position(const NodeContext& node) {
  const Sequence& sequence = sequence_at(node, 0);
  if (sequence.form() == Sequence::Form::kList && node.known_ints(1)) {
    const OutputVector elements = elements_of(sequence);
    return {elements[static_cast<std::size_t>(position(node, 1, static_cast<std::int64_t>(elements.size()), false))]};
  }
  if (sequence.form() == Sequence::Form::kList) {
    const OutputVector elements = elements_of(sequence);
    if (!elements.empty() && !have_one_static_shape(elements)) return {cut_out(elements, node.input(1))};
  }
  return {op("Gather", 8, {stack_of(sequence), reshape(node.input(1), Ints{}), int_scalar(0)}, {{"batch_dims", 0}})};
}

OutputVector sequence_length(const NodeContext& node) {
  const Sequence& sequence = sequence_at(node, 0);
  if (sequence.form() == Sequence::Form::kList)
    return {int_scalar(static_cast<std::int64_t>(sequence.get_input_size()))};
  return {extent_of(stack_of(sequence), 0)};
}

OutputVector concat_from_sequence(const NodeContext& node) {
  const Sequence& sequence = sequence_at(node, 0);
  const bool is_new = node.get_int("new_axis", 0) != 0;
  const std::int64_t axis = node.get_int("axis");
  if (sequence.form() == Sequence::Form::kList) {
    OutputVector parts = elements_of(sequence);
    if (parts.empty()) fail("joins the elements of an empty sequence");
    if (is_new) {
      const std::int64_t at = normalized_axis(axis, rank_of_known(parts[0]) + 1);
      for (Out& part : parts) part = unsqueeze(part, {at});
      return {concat(parts, at)};
    }
    return {concat(parts, axis)};
  }
  // The elements are along axis 0: that axis is moved to its position and merged with the next one.
  const Out stack = stack_of(sequence);
  const std::int64_t rank = rank_of_known(stack), at = normalized_axis(axis, is_new ? rank : rank - 1);
  Ints order;
  for (std::int64_t i = 1; i < rank; ++i) order.push_back(i);
  order.insert(order.begin() + at, 0);
  const Out moved = at == 0 ? stack : transpose(stack, order);
  if (is_new) return {moved};
  const Out shape = shape_of(moved);
  OutputVector extents;
  if (at > 0) extents.push_back(slice(shape, 0, at, 0));
  extents.push_back(op("ReduceProd", 1, {slice(shape, at, at + 2, 0), ints({0})}, {{"keep_dims", true}}));
  if (at + 2 < rank) extents.push_back(slice(shape, at + 2, rank, 0));
  return {reshape(moved, concat(extents, 0))};
}

OutputVector split_to_sequence(const NodeContext& node) {
  const Out& x = node.input(0);
  const std::int64_t rank = node.rank(0), axis = normalized_axis(node.get_int("axis", 0), rank);
  const Dimension extent = x.get_partial_shape()[static_cast<std::size_t>(axis)];
  const auto check = [&](std::int64_t count) {
    if (count > kMaxElements)
      throw Error(Code::kResourceExhausted,
                  "splits into " + std::to_string(count) + " elements; up to " + std::to_string(kMaxElements) + " are");
  };
  OutputVector parts;
  if (!node.has_input(1)) {
    const bool keeps = node.get_int("keepdims", 1) != 0;
    if (extent.is_dynamic()) {
      // One element for each index: a stack as it is.
      Ints order{axis};
      for (std::int64_t i = 0; i < rank; ++i)
        if (i != axis) order.push_back(i);
      const Out moved = transpose(x, order);
      return {sequence_of(Sequence::Form::kStack, {keeps ? unsqueeze(moved, {axis + 1}) : moved})};
    }
    check(extent.get_length());
    for (std::int64_t i = 0; i < extent.get_length(); ++i) {
      const Out part = slice(x, i, i + 1, axis);
      parts.push_back(keeps ? part : squeeze(part, {axis}));
    }
    return {list_of(std::move(parts))};
  }
  const PartialShape& lengths = node.input(1).get_partial_shape();
  if (lengths.rank() == Rank(0)) {
    const std::int64_t step = node.constant_ints(1, "split")[0];
    if (step < 1) fail("split is " + std::to_string(step) + ", expected 1 or more");
    if (extent.is_dynamic())
      unimplemented("splits an axis whose extent is known only when the model runs; give it a static one");
    check((extent.get_length() + step - 1) / step);
    for (std::int64_t i = 0; i < extent.get_length(); i += step)
      parts.push_back(slice(x, i, std::min(i + step, extent.get_length()), axis));
    return {list_of(std::move(parts))};
  }
  if (lengths.is_dynamic())
    unimplemented("split has a length that is known only when the model runs; give it a static one");
  check(lengths[0].get_length());
  if (lengths[0].get_length() == 0) return {list_of({})};
  return {list_of(ops("VariadicSplit", 1, {x, int_scalar(axis), node.input(1)}))};
}

// Inlines the graph for each element, one after the other.
OutputVector sequence_map(const NodeContext& node) {
  const auto count = elements_of(sequence_at(node, 0)).size();
  std::vector<OutputVector> all;
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    const Sequence* sequence = as_sequence(node.input(i));
    all.push_back(sequence ? elements_of(*sequence) : OutputVector(count, node.input(i)));
    if (all.back().size() != count)
      fail("input " + std::to_string(i) + " has " + std::to_string(all.back().size()) + " elements, input 0 has " +
           std::to_string(count));
  }
  std::vector<OutputVector> made(node.output_count());
  for (std::size_t k = 0; k < count; ++k) {
    OutputVector inputs;
    for (const OutputVector& each : all) inputs.push_back(each[k]);
    const OutputVector outputs = node.bodies().read_inline(node.get_graph("body"), inputs);
    for (std::size_t i = 0; i < made.size() && i < outputs.size(); ++i) made[i].push_back(outputs[i]);
  }
  OutputVector results;
  for (OutputVector& elements : made) results.push_back(list_of(std::move(elements)));
  return results;
}

OutputVector optional(const NodeContext& node) {
  if (node.input_count() == 0 || !node.has_input(0)) return {sequence_of(Sequence::Form::kAbsent, {})};
  return {node.input(0)};
}

OutputVector optional_get_element(const NodeContext& node) {
  const Sequence* value = as_sequence(node.input(0));
  if (value && value->form() == Sequence::Form::kAbsent) fail("reads an optional that holds nothing");
  return {node.input(0)};
}

// An optional that is a tensor in this graph always holds a value; one that no node provides never does.
OutputVector optional_has_element(const NodeContext& node) {
  const Sequence* value = node.has_input(0) ? as_sequence(node.input(0)) : nullptr;
  const bool has = node.has_input(0) && !(value && value->form() == Sequence::Form::kAbsent);
  return {scalar(ElementType::kBool, has ? 1 : 0)};
}

}  // namespace

Sequence::Sequence(Form form, OutputVector parts, const Node* state)
    : Node(stand_in(), std::move(parts)), form_(form), state_(state) {}

Out sequence_of(Sequence::Form form, OutputVector parts, const Node* state) {
  return std::make_shared<Sequence>(form, std::move(parts), state)->output(0);
}

const Sequence* as_sequence(const Out& value) {
  return value ? dynamic_cast<const Sequence*>(value.get_node()) : nullptr;
}

OutputVector elements_of(const Sequence& sequence) {
  if (sequence.form() == Sequence::Form::kList) return sequence.input_values();
  unimplemented("takes the elements of a sequence one by one whose length is known only when the model runs");
}

Out stack_of(const Sequence& sequence) {
  if (sequence.form() == Sequence::Form::kStack) return sequence.input_value(0);
  OutputVector parts = elements_of(sequence);
  if (parts.empty()) fail("takes an element of an empty sequence");
  if (!have_one_static_shape(parts))
    unimplemented("joins elements of different or dynamic shapes, such as " + parts[0].get_partial_shape().to_string() +
                  ", into a sequence of any length; written out are equal, static shapes");
  for (Out& part : parts) part = unsqueeze(part, {0});
  return concat(parts, 0);
}

bool takes_sequences(const std::string& key) {
  static const std::set<std::string> kKeys = {
      ":SequenceInsert",     ":SequenceErase",      ":SequenceAt", ":SequenceLength",
      ":ConcatFromSequence", ":SequenceMap",        ":Identity",   ":Optional",
      ":OptionalGetElement", ":OptionalHasElement", ":Loop"};
  return kKeys.count(key) > 0;
}

void add_sequences(ConverterTable& table) {
  table[":SequenceConstruct"] = sequence_construct;
  table[":SequenceEmpty"] = sequence_empty;
  table[":SequenceInsert"] = sequence_insert;
  table[":SequenceErase"] = sequence_erase;
  table[":SequenceAt"] = sequence_at_position;
  table[":SequenceLength"] = sequence_length;
  table[":ConcatFromSequence"] = concat_from_sequence;
  table[":SplitToSequence"] = split_to_sequence;
  table[":SequenceMap"] = sequence_map;
  table[":Optional"] = optional;
  table[":OptionalGetElement"] = optional_get_element;
  table[":OptionalHasElement"] = optional_has_element;
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
