// SPDX-License-Identifier: Apache-2.0
// The walk done again after a change of shapes.
#include <algorithm>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tenon/engine/lower/walk.hpp>
#include <tenon/planning/same_value.hpp>

namespace tenon::inline v1::engine {

/// One walk done again. What a unit adds gets the numbers that it had, since all units before it added as much as the
/// last time; so a place or a step number in what is taken over stays true. A value counts as moved when its readers could tell:
/// by its shape, its layouts, its place or its known value.
class Walk::Repetition {
 public:
  explicit Repetition(Walk& walk)
      : walk_(walk),
        plan_(walk.plan_),
        builder_(walk.builder_),
        old_{std::move(plan_.buffers),       std::move(plan_.steps),  std::move(plan_.made),
             std::move(plan_.optimized_out), std::move(plan_.packed), std::move(builder_.part_requests())},
        end_{old_.buffers.size(),       old_.steps.size(),  old_.made.size(),
             old_.optimized_out.size(), old_.packed.size(), old_.requests.size()},
        is_renewed_(builder_.value_count()),
        is_moved_(builder_.value_count()),
        holds_moved_(old_.buffers.size()) {
    plan_.buffers.clear(), plan_.steps.clear(), plan_.made.clear(), plan_.optimized_out.clear(), plan_.packed.clear();
    builder_.part_requests().clear();
  }

  bool run(const std::vector<bool>& changed, const TimeLimit& time) {
    renew(changed);
    NodeVector nodes;  // The nodes of chains that may be others now.
    for (const Unit& unit : walk_.units_)
      if (unit.kind == Unit::Kind::kLowered && is_any(unit.writes, is_renewed_))
        nodes.insert(nodes.end(), unit.chain.nodes.begin(), unit.chain.nodes.end());
    std::ranges::sort(nodes, {}, [&](const auto& node) { return builder_.id_of(builder_.value(node->output(0))); });
    const ChainFinder chains(builder_, nodes);
    for (std::size_t i = 0; i < walk_.units_.size(); ++i) {
      time.check("compiling", walk_.model_.get_friendly_name(), limit_property::kCompileSeconds);
      const Unit& unit = walk_.units_[i];
      const bool is_reached = is_any(unit.writes, is_renewed_) || is_any(unit.reads, is_moved_);
      if (!(is_reached ? lower(i, chains) : take_over(i))) return false;
    }
    return true;
  }

 private:
  using Variants = std::vector<Value::Variant>;
  struct Old {
    std::vector<Buffer> buffers;
    std::vector<std::shared_ptr<Step>> steps;
    std::vector<Made> made;
    std::vector<std::pair<std::string, std::string>> optimized_out;
    std::vector<PackedRecord> packed;
    std::vector<PartRequest> requests;
  };
  /// A value as it was, with what later units had made of it.
  struct Before {
    planning::ValueId id;
    Variants variants;
    std::optional<Quantization> quantization;
  };
  struct Description {
    ElementType type;
    Shape shape;
    Tensor constant;
  };

  static bool is_any(const std::vector<planning::ValueId>& ids, const std::vector<bool>& flags) {
    return std::any_of(ids.begin(), ids.end(), [&](planning::ValueId id) { return flags[id]; });
  }
  const Marks& end_of(std::size_t unit) const {
    return unit + 1 < walk_.units_.size() ? walk_.units_[unit + 1].begin : end_;
  }

  void renew(const std::vector<bool>& changed) {
    for (std::size_t i = 0; i < walk_.order_.size(); ++i) {
      if (!changed[i]) continue;
      for (const auto& output : walk_.order_[i]->outputs()) {
        Value& value = builder_.value(output);
        const planning::ValueId id = builder_.id_of(value);
        is_renewed_[id] = true;
        described_.emplace(id, Description{value.type, value.shape, value.constant});
        builder_.renew(value, output);
      }
    }
  }

  template <typename T>
  static void move_range(std::vector<T>& from, std::size_t begin, std::size_t end, std::vector<T>& to) {
    const auto at = [&](std::size_t i) {
      return std::make_move_iterator(from.begin() + static_cast<std::ptrdiff_t>(i));
    };
    to.insert(to.end(), at(begin), at(end));
  }

  bool take_over(std::size_t index) {
    const Unit& unit = walk_.units_[index];
    for (const Overwrite& overwrite : unit.overwrites)
      if (overwrite.answer.allowed && overwrite.answer.depends_on_extents && holds_moved_[overwrite.buffer])
        return false;
    const Marks &begin = unit.begin, &end = end_of(index);
    move_range(old_.buffers, begin.buffers, end.buffers, plan_.buffers);
    move_range(old_.steps, begin.steps, end.steps, plan_.steps);
    move_range(old_.made, begin.made, end.made, plan_.made);
    move_range(old_.optimized_out, begin.optimized_out, end.optimized_out, plan_.optimized_out);
    move_range(old_.packed, begin.packed, end.packed, plan_.packed);
    move_range(old_.requests, begin.requests, end.requests, builder_.part_requests());
    return true;
  }

  static Variants made_by(std::size_t unit, const Variants& variants) {
    Variants own;
    std::copy_if(variants.begin(), variants.end(), std::back_inserter(own),
                 [&](const auto& variant) { return variant.unit == unit; });
    return own;
  }

  /// Takes what the unit and later ones had made of the value away from it.
  Before hide_layouts(std::size_t unit, planning::ValueId id) {
    Value& value = builder_.value(id);
    Before before{id, value.variants, value.quantization};
    std::erase_if(value.variants, [&](const auto& variant) { return variant.unit >= unit; });
    return before;
  }

  void note_moved(const Variants& variants) {
    for (const auto& variant : variants)
      if (variant.place.buffer < holds_moved_.size()) holds_moved_[variant.place.buffer] = true;
  }

  bool settle_read(std::size_t unit, Before& before) {
    Value& value = builder_.value(before.id);
    if (made_by(unit, value.variants) != made_by(unit, before.variants)) return false;
    value.variants = std::move(before.variants);
    return true;
  }

  void settle_written(std::size_t unit, Before& before) {
    Value& value = builder_.value(before.id);
    bool stays = value.variants == made_by(unit, before.variants) && value.quantization == before.quantization;
    if (const auto found = described_.find(before.id); found != described_.end()) {
      const Description& was = found->second;
      const bool has_value =
          static_cast<bool>(was.constant) && value.constant && planning::is_same_value(was.constant, value.constant);
      if (has_value) value.constant = was.constant;  // Its address is known to others.
      stays &= was.type == value.type && was.shape == value.shape && (has_value || (!was.constant && !value.constant));
    }
    if (stays) {
      value.variants = std::move(before.variants);
      return;
    }
    is_moved_[before.id] = true;
    note_moved(before.variants);
    note_moved(value.variants);
  }

  bool lower(std::size_t index, const ChainFinder& chains) {
    const Unit& unit = walk_.units_[index];
    const Marks &begin = unit.begin, &end = end_of(index);
    std::vector<Before> reads, writes;
    for (const planning::ValueId id : unit.reads) {
      if (is_moved_[id]) continue;  // Nothing is known of its later layouts.
      if (builder_.value(id).is_dropped) return false;
      reads.push_back(hide_layouts(index, id));
    }
    for (const planning::ValueId id : unit.writes) {
      writes.push_back(hide_layouts(index, id));
      builder_.value(id).quantization.reset();
    }
    if (std::any_of(old_.buffers.begin() + static_cast<std::ptrdiff_t>(begin.buffers),
                    old_.buffers.begin() + static_cast<std::ptrdiff_t>(end.buffers),
                    [](const Buffer& buffer) { return buffer.kind == BufferKind::kConstant; }))
      builder_.forget_constants(begin.buffers, end.buffers);
    builder_.begin_again(static_cast<std::uint32_t>(index), unit.overwrites);
    if (!lower_nodes(unit, chains) || !builder_.end_again() || walk_.marks() != end) return false;
    for (std::size_t i = begin.buffers; i < end.buffers; ++i) {
      const Buffer &was = old_.buffers[i], &is = plan_.buffers[i];
      if (was.kind != is.kind || was.index != is.index) return false;
      if (is.kind == BufferKind::kConstant && builder_.is_shared_constant(i) &&
          was.constant.data() != is.constant.data())
        return false;
    }
    for (Before& before : reads)
      if (!settle_read(index, before)) return false;
    for (Before& before : writes) settle_written(index, before);
    return true;
  }

  bool lower_nodes(const Unit& unit, const ChainFinder& chains) {
    const auto& node = unit.chain.last();
    switch (unit.kind) {
      case Unit::Kind::kParameter:
        walk_.lower_parameter(node, unit.port);
        return true;
      case Unit::Kind::kResult:
        walk_.lower_result(node, unit.port);
        return true;
      case Unit::Kind::kGrown:
        walk_.lower_grown(node);
        return true;
      case Unit::Kind::kWeightOnly:
        walk_.lower_product_of_weight_only(unit.chain);
        return true;
      case Unit::Kind::kFolded:
        if (!walk_.is_known(node) && !walk_.fold(node)) return false;
        walk_.lower_folded(node);
        return true;
      case Unit::Kind::kLowered:
        break;
    }
    for (const auto& member : unit.chain.nodes)
      if (walk_.is_known(member) || walk_.fold(member)) return false;
    if (is_any(unit.writes, is_renewed_)) {
      const Chain* found = chains.chain_of(node);
      if (found ? found->nodes != unit.chain.nodes || found->lower != unit.chain.lower
                : unit.chain.nodes.size() != 1 || unit.chain.lower)
        return false;
    }
    walk_.lower_chain(unit.chain);
    return true;
  }

  Walk& walk_;
  PlanImpl& plan_;
  PlanBuilder& builder_;
  Old old_;
  const Marks end_;
  std::unordered_map<planning::ValueId, Description> described_;  ///< What was renewed, as it was before.
  std::vector<bool> is_renewed_;                                  ///< The value's node was asked for shapes again.
  std::vector<bool> is_moved_;     ///< Its shape, its layouts, its place or its known value differ.
  std::vector<bool> holds_moved_;  ///< The buffer holds such a value.
};

bool Walk::again(const std::vector<bool>& changed, const TimeLimit& time) {
  if (!is_kept_ || !plan_.variables.empty()) return false;
  const std::size_t own_constant_bytes = plan_.own_constant_bytes;
  const bool is_done = Repetition(*this).run(changed, time);
  plan_.own_constant_bytes = own_constant_bytes;  // About: the same ones were added anew.
  return is_done;
}

}  // namespace tenon::inline v1::engine
