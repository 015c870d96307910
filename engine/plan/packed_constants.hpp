// SPDX-License-Identifier: Apache-2.0
// Lets lowering find constants that were packed before.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <dnnl.hpp>

#include <tenon/core/tensor.hpp>
#include <tenon/engine/plan/packed_constant.hpp>

namespace tenon::inline v1::engine {

/// Element type, extents, strides, blocks and size of a layout; empty for layouts that only oneDNN can describe.
std::string layout_text(const dnnl::memory::desc& desc);

/// A constant that lowering packed, for packed_model_of().
struct PackedRecord {
  const void* source;
  dnnl::memory::desc from, layout;
  Tensor bytes;
};

/// Packed constants by the address of their stand-ins, which have no memory: see PackedModel.
class PackedStore {
 public:
  /// @param packed  Must outlive the store.
  void add(const void* stand_in, const std::vector<PackedConstant>& packed) { by_address_[stand_in] = &packed; }
  /// Whether this is the address of a stand-in.
  bool holds(const void* source) const { return by_address_.count(source) > 0; }
  /// @errors kFailedPrecondition: not in that layout.
  Tensor find(const void* source, const dnnl::memory::desc& from, const dnnl::memory::desc& layout) const;

 private:
  std::map<const void*, const std::vector<PackedConstant>*> by_address_;
};

}  // namespace tenon::inline v1::engine
