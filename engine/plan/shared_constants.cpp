// SPDX-License-Identifier: Apache-2.0
// One packing per constant and layout, for all plans of a model.
#include <algorithm>

#include <tenon/engine/plan/shared_constants.hpp>
#include <tenon/engine/plan/stand_in.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon::inline v1::engine {

void SharedConstants::keep(const std::shared_ptr<const Model>& model) {
  const std::lock_guard lock(mutex_);
  models_.push_back(model);
  for_each_node(*model, [&](const std::shared_ptr<Node>& node) {
    const auto* constant = as_type<op::v0::Constant>(node.get());
    if (constant && constant->get_byte_size() > 0) layouts_[constant->get_data_ptr()];
  });
}

bool SharedConstants::holds(const void* source) const {
  const std::lock_guard lock(mutex_);
  return layouts_.count(source) > 0;
}

Tensor SharedConstants::find_or_pack(const void* source, const dnnl::memory::desc& from, const dnnl::memory::desc& to,
                                     const std::function<Tensor()>& pack) {
  std::shared_ptr<Layout> layout;
  {
    std::unique_lock lock(mutex_);
    auto& known = layouts_.at(source);
    for (;;) {
      const auto found = std::find_if(known.begin(), known.end(),
                                      [&](const auto& some) { return some->from == from && some->to == to; });
      if (found == known.end()) break;
      if ((*found)->bytes) return (*found)->bytes;
      // Bounded by one packing, which takes no lock and does not wait. If it fails, the next caller tries.
      made_.wait(lock);
    }
    layout = std::make_shared<Layout>(Layout{from, to, {}});
    known.push_back(layout);
  }
  Tensor bytes;
  try {
    bytes = pack();
  } catch (...) {
    {
      const std::lock_guard lock(mutex_);
      std::erase(layouts_.at(source), layout);
    }
    made_.notify_all();
    throw;
  }
  {
    const std::lock_guard lock(mutex_);
    layout->bytes = bytes;
    ++count_;
    bytes_ += bytes.size_bytes();
  }
  made_.notify_all();
  return bytes;
}

Tensor SharedConstants::derive(const void* source, const std::string& how, const std::function<Tensor()>& make) {
  const Derivation from{source, how};
  {
    const std::lock_guard lock(mutex_);
    const auto found = derived_.find(from);
    if (found != derived_.end() && !stand_ins_.count(found->second.data())) return found->second;
  }
  const Tensor made = make();
  const std::lock_guard lock(mutex_);
  Tensor& kept = derived_[from];
  // Another may have been faster.
  if (!kept || stand_ins_.count(kept.data())) {
    kept = made;
    ++count_;
    bytes_ += made.size_bytes();
  }
  layouts_[kept.data()];
  return kept;
}

Tensor SharedConstants::derive_to_pack(const void* source, const std::string& how, ElementType type, const Shape& shape,
                                       const std::function<Tensor()>& make) {
  const Derivation from{source, how};
  {
    const std::lock_guard lock(mutex_);
    if (!unpacked_.count(from)) {
      Tensor& kept = derived_[from];
      if (!kept) {
        kept = make_stand_in(type, shape);
        stand_ins_[kept.data()] = {kept, from, make};
        layouts_[kept.data()];
      }
      return kept;
    }
  }
  return derive(source, how, make);
}

Tensor SharedConstants::real(const Tensor& tensor) const {
  std::function<Tensor()> make;
  {
    const std::lock_guard lock(mutex_);
    const auto found = stand_ins_.find(tensor.element_count() ? tensor.data() : nullptr);
    if (found == stand_ins_.end()) return tensor;
    make = found->second.make;
  }
  return make();
}

bool SharedConstants::were_read(const std::vector<Tensor>& stand_ins) {
  bool any = false;
  for (const Tensor& tensor : stand_ins) {
    const std::lock_guard lock(mutex_);
    const auto found = stand_ins_.find(tensor.data());
    if (found == stand_ins_.end() || !was_touched(tensor)) continue;
    any = true;
    unpacked_.insert(found->second.from);
  }
  return any;
}

std::size_t SharedConstants::count() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

std::size_t SharedConstants::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace tenon::inline v1::engine
