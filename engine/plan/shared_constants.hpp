// SPDX-License-Identifier: Apache-2.0
// Packed constants that the plans of one model have in common, whatever its shapes.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <dnnl.hpp>

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/model.hpp>

namespace tenon::inline v1::engine {

/// Each constant is packed once per layout. A constant is known by its address, so only constants of models that the
/// store keeps alive count, and what is derived from them here; what a plan computes for itself is no business of
/// others.
/// @thread all members from any thread; a call that needs what another thread is packing waits for it.
class SharedConstants {
 public:
  /// From now on the constants of this model and of the bodies in it are shared; the model is kept alive.
  void keep(const std::shared_ptr<const Model>& model);
  /// Whether this is the address of such a constant.
  bool holds(const void* source) const;
  /// The constant in layout `to`; `pack` makes it for the first call that asks. @errors those of `pack`.
  Tensor find_or_pack(const void* source, const dnnl::memory::desc& from, const dnnl::memory::desc& to,
                      const std::function<Tensor()>& pack);
  /// What follows from a shared constant alone (it turned, say): made by the first call that asks, and shared like one.
  /// @param how  Says what is made of it.
  Tensor derive(const void* source, const std::string& how, const std::function<Tensor()>& make);
  /// The same where only packed_constant() should want it: the result is a stand-in, which takes no memory, and `make` runs for
  /// each new layout. The lowering asks were_read() afterwards, and starts again if so.
  Tensor derive_to_pack(const void* source, const std::string& how, ElementType type, const Shape& shape,
                        const std::function<Tensor()>& make);
  /// The tensor, or if it is such a stand-in, what it stands for: for as long as the caller keeps it.
  Tensor real(const Tensor& tensor) const;
  /// Whether a step that is being lowered has read one of these stand-ins, of which it saw zeros. Such a constant has
  /// memory from now on.
  bool were_read(const std::vector<Tensor>& stand_ins);
  /// Layouts and derived constants that were made, and their bytes.
  std::size_t count() const;
  std::size_t bytes() const;

 private:
  struct Layout {
    dnnl::memory::desc from, to;
    Tensor bytes;  ///< Empty while it is made.
  };
  using Derivation = std::pair<const void*, std::string>;
  struct StandIn {
    Tensor tensor;
    Derivation from;
    std::function<Tensor()> make;
  };
  mutable std::mutex mutex_;
  std::condition_variable made_;
  std::vector<std::shared_ptr<const Model>> models_;
  std::unordered_map<const void*, std::vector<std::shared_ptr<Layout>>> layouts_;
  std::map<Derivation, Tensor> derived_;
  std::unordered_map<const void*, StandIn> stand_ins_;  ///< By address, for the store's life.
  std::set<Derivation> unpacked_;                       ///< These are read as they are.
  std::size_t count_ = 0, bytes_ = 0;
};

}  // namespace tenon::inline v1::engine
