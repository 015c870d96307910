// SPDX-License-Identifier: Apache-2.0
// Packed constants that the plans of one model have in common, whatever its shapes.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <dnnl.hpp>

#include <tenon/core/tensor.hpp>
#include <tenon/graph/model.hpp>

namespace tenon::inline v1::engine {

/// Each constant is packed once per layout. A constant is known by its address, so only constants of models that the
/// store keeps alive count; what a plan computes for itself is no business of others.
/// @thread all members from any thread; who needs what another thread is packing waits for it.
class SharedConstants {
 public:
  /// From now on the constants of this model and of the bodies in it are shared; the model is kept alive.
  void keep(const std::shared_ptr<const Model>& model);
  /// Whether this is the address of such a constant.
  bool holds(const void* source) const;
  /// The constant in layout `to`; `pack` makes it if this is the first who asks. @errors those of `pack`.
  Tensor find_or_pack(const void* source, const dnnl::memory::desc& from, const dnnl::memory::desc& to,
                      const std::function<Tensor()>& pack);
  /// Layouts that exist, and their bytes.
  std::size_t count() const;
  std::size_t bytes() const;

 private:
  struct Layout {
    dnnl::memory::desc from, to;
    Tensor bytes;  ///< Empty while it is made.
  };
  mutable std::mutex mutex_;
  std::condition_variable made_;
  std::vector<std::shared_ptr<const Model>> models_;
  std::unordered_map<const void*, std::vector<std::shared_ptr<Layout>>> layouts_;
  std::size_t count_ = 0, bytes_ = 0;
};

}  // namespace tenon::inline v1::engine
