// SPDX-License-Identifier: Apache-2.0
// Stand-ins for constants that are only read packed, and the check that nothing else reads them.
#include <tenon/engine/packed_model.hpp>

#include <algorithm>
#include <map>
#include <set>

#include <tenon/core/error.hpp>
#include <tenon/engine/plan/packed_constants.hpp>
#include <tenon/engine/plan/plan.hpp>

namespace tenon::inline v1::engine {
namespace {

/// Smaller constants are not worth an address range.
constexpr std::size_t kLeastPackedBytes = 4096;
/// Each try keeps the values that the last one read; models need one or two.
constexpr int kTries = 4;

/// Constants that were packed and are read by oneDNN primitives only: those access memory through the plan's
/// buffers, while a kernel of ours may have kept an address.
std::map<const void*, std::vector<const PackedRecord*>> candidates(const PlanImpl& plan) {
  std::map<std::string, bool> only_primitives;
  for (const auto& step : plan.steps) {
    const bool primitive = dynamic_cast<const PrimitiveStep*>(step.get()) != nullptr;
    const auto note = [&](const std::string& name) {
      const auto [entry, is_new] = only_primitives.emplace(name, primitive);
      if (!is_new) entry->second &= primitive;
    };
    note(step->info.node_name);
    for (const std::string& name : step->info.fused) note(name);
  }
  std::set<const void*> in_place;
  for (const Buffer& buffer : plan.buffers)
    if (buffer.kind == BufferKind::kConstant && buffer.constant && buffer.size_bytes)
      in_place.insert(buffer.constant.data());

  std::map<const void*, std::vector<const PackedRecord*>> packed;
  for (const PackedRecord& record : plan.packed) packed[record.source].push_back(&record);
  std::map<const void*, std::vector<const PackedRecord*>> found;
  std::set<const void*> twice;
  for (const auto& node : plan.model->get_ordered_ops()) {
    const auto* constant = as_type<op::v0::Constant>(node.get());
    if (!constant || constant->get_byte_size() < kLeastPackedBytes) continue;
    const void* address = constant->get_data_ptr();
    const auto records = packed.find(address);
    if (records == packed.end() || in_place.count(address)) continue;
    bool describable = true;
    for (const PackedRecord* record : records->second)
      describable &= !layout_text(record->from).empty() && !layout_text(record->layout).empty();
    const auto users = node->get_users();
    const bool good = describable && std::all_of(users.begin(), users.end(), [&](const auto& user) {
                        const auto entry = only_primitives.find(user->get_friendly_name());
                        return entry != only_primitives.end() && entry->second;
                      });
    if (!found.emplace(address, records->second).second || !good) twice.insert(address);
  }
  for (const void* address : twice) found.erase(address);
  return found;
}

/// A copy of the plan's model with stand-ins for those constants.
PackedModel with_stand_ins(const PlanImpl& plan, const std::map<const void*, std::vector<const PackedRecord*>>& which) {
  PackedModel prepared;
  const auto model = plan.model->clone();
  for (const auto& node : model->get_ordered_ops()) {
    const auto* constant = as_type<op::v0::Constant>(node.get());
    if (!constant) continue;
    const auto records = which.find(constant->get_byte_size() ? constant->get_data_ptr() : nullptr);
    if (records == which.end()) continue;
    PackedModel::Constant made;
    made.stand_in = make_stand_in(constant->get_tensor().element_type(), constant->get_tensor().shape());
    for (const PackedRecord* record : records->second) {
      const std::string from = layout_text(record->from), layout = layout_text(record->layout);
      const bool known = std::any_of(made.packed.begin(), made.packed.end(),
                                     [&](const PackedConstant& p) { return p.from == from && p.layout == layout; });
      if (!known) made.packed.push_back({from, layout, record->bytes});
    }
    const auto replacement = std::make_shared<op::v0::Constant>(made.stand_in);
    replacement->set_friendly_name(node->get_friendly_name());
    node->output(0).replace(replacement->output(0));
    prepared.constants.push_back(std::move(made));
  }
  prepared.model = model;
  return prepared;
}

}  // namespace

std::string layout_authority() {
  const dnnl_version_t* version = dnnl_version();
  return "oneDNN " + std::to_string(version->major) + '.' + std::to_string(version->minor) + '.' +
         std::to_string(version->patch) + " (" + std::string(version->hash).substr(0, 8) + ") isa " +
         std::to_string(static_cast<int>(dnnl::get_effective_cpu_isa()));
}

std::shared_ptr<const Plan> restore_plan(const PackedModel& prepared, const Options& options) {
  auto plan = Plan::compile_packed(prepared, options);
  for (const auto& constant : prepared.constants) {
    if (was_touched(constant.stand_in))
      throw Error(Code::kFailedPrecondition,
                  "CPU: a kernel reads a constant that only exists in packed form; compile the model again");
  }
  return plan;
}

PackedModel packed_model_of(const Plan& plan) {
  const PlanImpl& impl = plan.impl();
  auto which = candidates(impl);
  for (int attempt = 0; attempt < kTries && !which.empty(); ++attempt) {
    PackedModel prepared = with_stand_ins(impl, which);
    try {
      restore_plan(prepared, impl.options);
      return prepared;
    } catch (const Error&) {  // Constants that were read keep their values; the rest is tried again.
    }
    std::map<const void*, std::vector<const PackedRecord*>> less;
    auto made = prepared.constants.begin();
    for (const auto& node : impl.model->get_ordered_ops()) {
      const auto* constant = as_type<op::v0::Constant>(node.get());
      const auto entry = which.find(constant && constant->get_byte_size() ? constant->get_data_ptr() : nullptr);
      if (entry != which.end() && !was_touched((made++)->stand_in)) less.insert(*entry);
    }
    if (less.size() == which.size()) break;
    which = std::move(less);
  }
  return with_stand_ins(impl, {});
}

}  // namespace tenon::inline v1::engine
