// SPDX-License-Identifier: Apache-2.0
// Operations with bodies: TensorIterator, Loop, If.
#include <tenon/graph/subgraph.hpp>

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <openvino/op/if.hpp>
#include <openvino/op/loop.hpp>
#include <openvino/op/tensor_iterator.hpp>

#include "graph.hpp"

namespace ov {
namespace op {

using detail::from;
using detail::guarded;
using detail::Lock;
using detail::to;

namespace {

using Mine = util::MultiSubGraphOp;
using Theirs = tenon::op::util::MultiSubGraphOp;

template <typename T>
T& as(const Node& node) {
  return static_cast<T&>(*node.impl().node);
}
/// A null parameter stays null.
std::shared_ptr<tenon::op::v0::Parameter> to_parameter(const std::shared_ptr<v0::Parameter>& parameter) {
  return parameter ? detail::nodes_of<tenon::op::v0::Parameter>(ParameterVector{parameter}).front() : nullptr;
}
template <typename T>
const T* is_a(const auto& description) {
  return dynamic_cast<const T*>(description.get());
}

/// The same description there; null: the program put in none, or one of a class of its own.
Theirs::InputDescription::Ptr to(const Mine::InputDescription::Ptr& description) {
  const auto input = description ? description->m_input_index : 0;
  const auto parameter = description ? description->m_body_parameter_index : 0;
  if (const auto* slice = is_a<Mine::SliceInputDescription>(description)) {
    return std::make_shared<Theirs::SliceInputDescription>(input, parameter, slice->m_start, slice->m_stride,
                                                           slice->m_part_size, slice->m_end, slice->m_axis);
  }
  if (const auto* merged = is_a<Mine::MergedInputDescription>(description))
    return std::make_shared<Theirs::MergedInputDescription>(input, parameter, merged->m_body_value_index);
  if (is_a<Mine::InvariantInputDescription>(description))
    return std::make_shared<Theirs::InvariantInputDescription>(input, parameter);
  return nullptr;
}
Theirs::OutputDescription::Ptr to(const Mine::OutputDescription::Ptr& description) {
  const auto value = description ? description->m_body_value_index : 0;
  const auto output = description ? description->m_output_index : 0;
  if (const auto* joint = is_a<Mine::ConcatOutputDescription>(description)) {
    return std::make_shared<Theirs::ConcatOutputDescription>(value, output, joint->m_start, joint->m_stride,
                                                             joint->m_part_size, joint->m_end, joint->m_axis);
  }
  if (const auto* one = is_a<Mine::BodyOutputDescription>(description))
    return std::make_shared<Theirs::BodyOutputDescription>(value, output, one->m_iteration);
  return nullptr;
}
Mine::InputDescription::Ptr from(const Theirs::InputDescription::Ptr& description) {
  const auto input = description->m_input_index, parameter = description->m_body_parameter_index;
  if (const auto* slice = is_a<Theirs::SliceInputDescription>(description)) {
    return std::make_shared<Mine::SliceInputDescription>(input, parameter, slice->m_start, slice->m_stride,
                                                         slice->m_part_size, slice->m_end, slice->m_axis);
  }
  if (const auto* merged = is_a<Theirs::MergedInputDescription>(description))
    return std::make_shared<Mine::MergedInputDescription>(input, parameter, merged->m_body_value_index);
  return std::make_shared<Mine::InvariantInputDescription>(input, parameter);
}
Mine::OutputDescription::Ptr from(const Theirs::OutputDescription::Ptr& description) {
  const auto value = description->m_body_value_index, output = description->m_output_index;
  if (const auto* joint = is_a<Theirs::ConcatOutputDescription>(description)) {
    return std::make_shared<Mine::ConcatOutputDescription>(value, output, joint->m_start, joint->m_stride,
                                                           joint->m_part_size, joint->m_end, joint->m_axis);
  }
  return std::make_shared<Mine::BodyOutputDescription>(value, output,
                                                       is_a<Theirs::BodyOutputDescription>(description)->m_iteration);
}

/// Appends what came since: descriptions that the program has keep their addresses.
template <typename Mines, typename All>
void follow(Mines& mine, const All& all) {
  if (mine.size() > all.size()) mine.clear();
  for (std::size_t i = mine.size(); i < all.size(); ++i) mine.push_back(from(all[i]));
}
template <typename All, typename Mines>
All translated(const Mines& mine, const Node& node) {
  All all;
  for (const auto& description : mine) {
    auto there = to(description);
    OPENVINO_ASSERT(there, "a description of ", node.get_friendly_name(), " is null, or of a class of the program's");
    all.push_back(std::move(there));
  }
  return all;
}

template <typename T, typename... Args>
std::shared_ptr<Node::Impl> make(const OutputVector& inputs, const Args&... args) {
  return guarded([&] { return detail::made(std::make_shared<T>(args...), inputs); });
}

}  // namespace

namespace util {

MultiSubGraphOp::InputDescription::~InputDescription() = default;
MultiSubGraphOp::OutputDescription::~OutputDescription() = default;
#define OV_TENON_COPY(kind, name)                                                    \
  std::shared_ptr<MultiSubGraphOp::kind> MultiSubGraphOp::name##kind::copy() const { \
    return std::make_shared<name##kind>(*this);                                      \
  }
OV_TENON_COPY(InputDescription, Slice)
OV_TENON_COPY(InputDescription, Merged)
OV_TENON_COPY(InputDescription, Invariant)
OV_TENON_COPY(OutputDescription, Concat)
OV_TENON_COPY(OutputDescription, Body)
#undef OV_TENON_COPY

MultiSubGraphOp::MultiSubGraphOp(std::shared_ptr<Impl> impl) : Sink(std::move(impl)) {}
MultiSubGraphOp::~MultiSubGraphOp() {
  try {
    store();
  } catch (...) {  // The node stays as it was: the program never asked whether its descriptions fit.
  }
}

void MultiSubGraphOp::store() const {
  const Lock lock(detail::wrappers_mutex());
  auto& there = as<Theirs>(*this);
  for (std::size_t i = 0; is_lent_ && i < inputs_.size(); ++i) {
    const int index = static_cast<int>(i);
    auto inputs = translated<Theirs::MultiSubgraphInputDescriptionVector>(inputs_[i], *this);
    auto outputs = translated<Theirs::MultiSubgraphOutputDescriptionVector>(outputs_[i], *this);
    there.set_input_descriptions(index, inputs);
    there.set_output_descriptions(index, outputs);
  }
  for (const auto& body : bodies_)
    if (body) detail::store_rt_info(*body);
}
void MultiSubGraphOp::read() const {
  const Lock lock(detail::wrappers_mutex());
  const auto& there = as<Theirs>(*this);
  const auto& models = there.get_functions();
  bodies_.resize(models.size());
  inputs_.resize(models.size());
  outputs_.resize(models.size());
  for (std::size_t i = 0; i < models.size(); ++i) {
    if (!models[i])
      bodies_[i] = nullptr;
    else if (!bodies_[i] || bodies_[i]->impl().model != models[i])
      bodies_[i] = detail::from(models[i]);
    if (is_lent_) continue;
    follow(inputs_[i], there.get_input_descriptions(static_cast<int>(i)));
    follow(outputs_[i], there.get_output_descriptions(static_cast<int>(i)));
  }
}
void MultiSubGraphOp::read_again() const {
  is_lent_ = false;
  inputs_.clear();
  outputs_.clear();
  for (const auto& body : bodies_)
    if (body) detail::read_again(*body);
}
const std::vector<std::shared_ptr<Model>>& MultiSubGraphOp::get_functions() const {
  read();
  return bodies_;
}
namespace {
template <typename T>
T& at(std::vector<T>& all, std::size_t index, const Node& node) {
  OPENVINO_ASSERT(index < all.size(), node.get_friendly_name(), " has ", all.size(), " bodies, asked for number ",
                  index);
  return all[index];
}
}  // namespace
const std::shared_ptr<Model>& MultiSubGraphOp::get_function(std::size_t index) const {
  read();
  return at(bodies_, index, *this);
}
void MultiSubGraphOp::set_function(int index, const std::shared_ptr<Model>& func) {
  guarded([&] { as<Theirs>(*this).set_function(index, detail::model_of(func)); });
  read();
  bodies_[static_cast<std::size_t>(index)] = func;
}
#define OV_TENON_DESCRIPTIONS(Vector, name, list)                               \
  const MultiSubGraphOp::Vector& MultiSubGraphOp::get_##name(int index) const { \
    read();                                                                     \
    return at(list, static_cast<std::size_t>(index), *this);                    \
  }                                                                             \
  MultiSubGraphOp::Vector& MultiSubGraphOp::get_##name(int index) {             \
    read();                                                                     \
    is_lent_ = true;                                                            \
    return at(list, static_cast<std::size_t>(index), *this);                    \
  }                                                                             \
  void MultiSubGraphOp::set_##name(int index, const Vector& descriptions) {     \
    get_##name(index) = descriptions;                                           \
    store();                                                                    \
  }
OV_TENON_DESCRIPTIONS(MultiSubgraphInputDescriptionVector, input_descriptions, inputs_)
OV_TENON_DESCRIPTIONS(MultiSubgraphOutputDescriptionVector, output_descriptions, outputs_)
#undef OV_TENON_DESCRIPTIONS

namespace {
/// Calls Tenon's node with what the program changed before; lists follow.
template <typename T, typename Call>
auto called(const MultiSubGraphOp& node, Call&& call) {
  return guarded([&] {
    node.store();
    return call(as<T>(node));
  });
}
}  // namespace
void MultiSubGraphOp::set_invariant_inputs(const Output<Node>& value, const ParameterVector& bodies_parameters) {
  tenon::ParameterVector parameters;
  for (const auto& parameter : bodies_parameters) parameters.push_back(to_parameter(parameter));
  called<Theirs>(*this, [&](Theirs& there) { there.set_invariant_inputs(detail::to(value), parameters); });
  appended();
}
Output<Node> MultiSubGraphOp::set_body_outputs(const ResultVector& bodies_results) {
  const auto results = detail::nodes_of<tenon::op::v0::Result>(bodies_results);
  auto output = called<Theirs>(*this, [&](Theirs& there) { return detail::from(there.set_body_outputs(results)); });
  appended();
  return output;
}
void MultiSubGraphOp::validate_and_infer_types() {
  called<Theirs>(*this, [](Theirs& there) { there.validate_and_infer_types(); });
}
std::shared_ptr<Node> MultiSubGraphOp::clone_with_new_inputs(const OutputVector& inputs) const {
  store();
  return Sink::clone_with_new_inputs(inputs);
}
void MultiSubGraphOp::appended() const {
  const auto& there = as<Theirs>(*this);
  for (std::size_t i = 0; is_lent_ && i < inputs_.size(); ++i) {
    follow(inputs_[i], there.get_input_descriptions(static_cast<int>(i)));
    follow(outputs_[i], there.get_output_descriptions(static_cast<int>(i)));
  }
}

using Loops = tenon::op::util::SubGraphOp;
void SubGraphOp::set_sliced_input(const std::shared_ptr<v0::Parameter>& parameter, const Output<Node>& value,
                                  std::int64_t start, std::int64_t stride, std::int64_t part_size, std::int64_t end,
                                  std::int64_t axis) {
  called<Loops>(*this, [&](Loops& there) {
    there.set_sliced_input(to_parameter(parameter), detail::to(value), start, stride, part_size, end, axis);
  });
  appended();
}
void SubGraphOp::set_merged_input(const std::shared_ptr<v0::Parameter>& body_parameter,
                                  const Output<Node>& initial_value, const Output<Node>& successive_value) {
  called<Loops>(*this, [&](Loops& there) {
    there.set_merged_input(to_parameter(body_parameter), detail::to(initial_value), detail::to(successive_value));
  });
  appended();
}
void SubGraphOp::set_invariant_input(const std::shared_ptr<v0::Parameter>& body_parameter, const Output<Node>& value) {
  called<Loops>(*this,
                [&](Loops& there) { there.set_invariant_input(to_parameter(body_parameter), detail::to(value)); });
  appended();
}
Output<Node> SubGraphOp::get_iter_value(const Output<Node>& body_value, std::int64_t iteration) {
  auto output = called<Loops>(
      *this, [&](Loops& there) { return detail::from(there.get_iter_value(detail::to(body_value), iteration)); });
  appended();
  return output;
}
Output<Node> SubGraphOp::get_concatenated_slices(const Output<Node>& value, std::int64_t start, std::int64_t stride,
                                                 std::int64_t part_size, std::int64_t end, std::int64_t axis) {
  auto output = called<Loops>(*this, [&](Loops& there) {
    return detail::from(there.get_concatenated_slices(detail::to(value), start, stride, part_size, end, axis));
  });
  appended();
  return output;
}
std::int64_t SubGraphOp::get_num_iterations() const { return as<Loops>(*this).get_num_iterations(); }

}  // namespace util

v0::TensorIterator::TensorIterator() : SubGraphOp(make<tenon::op::v0::TensorIterator>({})) {}
v0::TensorIterator::TensorIterator(const OutputVector& values)
    : SubGraphOp(guarded([&] { return make<tenon::op::v0::TensorIterator>(values, detail::to(values)); })) {}
v5::Loop::Loop() : SubGraphOp(make<tenon::op::v5::Loop>({})) {}
v5::Loop::Loop(const Output<Node>& trip_count, const Output<Node>& execution_condition)
    : SubGraphOp(guarded([&] {
        return make<tenon::op::v5::Loop>({trip_count, execution_condition}, detail::to(trip_count),
                                         detail::to(execution_condition));
      })) {}
void v5::Loop::set_special_body_ports(const SpecialBodyPorts& ports) {
  as<tenon::op::v5::Loop>(*this).set_special_body_ports(
      {ports.current_iteration_input_idx, ports.body_condition_output_idx});
}
v5::Loop::SpecialBodyPorts v5::Loop::get_special_body_ports() const {
  const auto ports = as<tenon::op::v5::Loop>(*this).get_special_body_ports();
  return {ports.current_iteration_input_idx, ports.body_condition_output_idx};
}
v8::If::If() : MultiSubGraphOp(make<tenon::op::v8::If>({})) {}
v8::If::If(const Output<Node>& execution_condition)
    : MultiSubGraphOp(
          guarded([&] { return make<tenon::op::v8::If>({execution_condition}, detail::to(execution_condition)); })) {}
void v8::If::set_input(const Output<Node>& value, const std::shared_ptr<v0::Parameter>& then_parameter,
                       const std::shared_ptr<v0::Parameter>& else_parameter) {
  set_invariant_inputs(value, {then_parameter, else_parameter});
}
Output<Node> v8::If::set_output(const std::shared_ptr<v0::Result>& then_result,
                                const std::shared_ptr<v0::Result>& else_result) {
  return set_body_outputs({then_result, else_result});
}

}  // namespace op
}  // namespace ov
