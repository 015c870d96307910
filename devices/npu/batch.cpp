// SPDX-License-Identifier: Apache-2.0
// Finds a batch, and builds the model of one item.
#include <tenon/devices/npu/batch.hpp>
#include <tenon/devices/npu/model_info.hpp>

#include <optional>

#include <tenon/graph/layout.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/runtime/exception.hpp>

namespace tenon::inline v1::npu_device {
namespace {

/// Whether a layout puts the batch first; nullopt without a layout.
std::optional<bool> batch_first(const Node& parameter) {
  const auto output = parameter.output(0);
  for (const RTMap* info : {&output.get_rt_info(), &parameter.get_rt_info()}) {
    for (const char* key : {"layout", "layout_0"}) {
      const auto found = info->find(key);
      if (found == info->end()) continue;
      std::string text = found->second.is<AnyMap>() ? std::string() : found->second.to_text();
      if (found->second.is<AnyMap>()) {
        const auto map = found->second.as<AnyMap>();
        if (const auto inner = map.find("layout"); inner != map.end()) text = inner->second.to_text();
      }
      if (text.empty()) continue;
      const Layout layout(text);
      return layout::has_batch(layout) && layout.get_index_by_name("N") == 0;
    }
  }
  return std::nullopt;
}

/// The extent at axis 0 that all inputs and outputs share, which may be dynamic; nullopt if there is none.
std::optional<Dimension> common_batch(const Model& model) {
  std::optional<Dimension> batch;
  const auto agrees = [&](const PartialShape& shape) {
    if (shape.rank().is_dynamic() || shape.size() == 0) return false;
    if (!batch) batch = shape[0];
    return shape[0] == *batch;
  };
  for (const auto& parameter : model.get_parameters())
    if (!agrees(parameter->get_output_partial_shape(0))) return std::nullopt;
  for (const auto& result : model.get_results())
    if (!agrees(result->get_output_partial_shape(0))) return std::nullopt;
  return batch;
}

bool only_batch_is_dynamic(const Model& model) {
  for (const auto& parameter : model.get_parameters()) {
    const PartialShape& shape = parameter->get_output_partial_shape(0);
    for (std::size_t i = 1; i < shape.size(); ++i)
      if (shape[i].is_dynamic()) return false;
  }
  return true;
}

/// The model of one item; null if its operations do not accept that or lose the batch.
std::shared_ptr<Model> of_one_item(const Model& model) {
  auto copy = model.clone();
  std::map<std::size_t, PartialShape> shapes;
  for (std::size_t i = 0; i < copy->get_parameters().size(); ++i) {
    PartialShape shape = copy->get_parameters()[i]->get_output_partial_shape(0);
    shape[0] = Dimension(1);
    shapes.emplace(i, std::move(shape));
  }
  try {
    copy->reshape(shapes);
  } catch (const Error&) {
    return nullptr;
  }
  for (std::size_t i = 0; i < copy->get_results().size(); ++i) {
    const PartialShape& one = copy->get_results()[i]->get_output_partial_shape(0);
    const PartialShape& all = model.get_results()[i]->get_output_partial_shape(0);
    if (one.is_dynamic() || one.size() != all.size() || one[0] != Dimension(1)) return nullptr;
    for (std::size_t axis = 1; axis < one.size(); ++axis)
      if (!all[axis].compatible(one[axis])) return nullptr;
  }
  return copy;
}

}  // namespace

Debatched debatch(const std::shared_ptr<const Model>& model, BatchMode mode) {
  const Debatched whole{model, 0};
  if (mode == BatchMode::COMPILER) return whole;
  const auto refused = [&](const char* why) -> Debatched {
    if (mode == BatchMode::AUTO) return whole;
    throw AssertFailure(std::string("Cannot debatch a model: ") + why +
                        "; NPU_BATCH_MODE COMPILER leaves the batch to the driver");
  };
  const auto batch = common_batch(*model);
  if (!batch) return refused("its inputs and outputs have no extent in common at axis 0");
  if (mode == BatchMode::AUTO) {
    // The driver's compiler handles a batch of known extent.
    if (batch->is_static()) return whole;
    // One input's layout must name the batch; the others share axis 0's extent unless their layouts say otherwise.
    bool is_named = false;
    for (const auto& parameter : model->get_parameters()) {
      const auto first = batch_first(*parameter);
      if (!first.value_or(true)) return whole;
      is_named |= first.has_value();
    }
    if (!is_named) return whole;
  } else {
    for (const auto& parameter : model->get_parameters())
      if (!batch_first(*parameter).value_or(true)) return refused("the layout of an input has no N at axis 0");
  }
  if (batch->is_static() && batch->get_length() == 1) return whole;
  if (!only_batch_is_dynamic(*model)) return refused("other extents than the batch's are dynamic");
  for (const auto& node : model->get_ordered_ops())
    if (is_op(node, "ReadValue")) return refused("it has states");
  auto one = of_one_item(*model);
  if (!one) return refused("its operations do not take a batch of one");
  return {std::move(one), batch->is_static() ? static_cast<std::uint32_t>(batch->get_length()) : ModelInfo::kAnyBatch};
}

}  // namespace tenon::inline v1::npu_device
