// SPDX-License-Identifier: Apache-2.0
// How lowering finds constants that were packed before.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <dnnl.hpp>

#include <tenon/devices/cpu/engine/prepared.hpp>

namespace tenon::inline v1::engine {

/// Element type, extents, strides, blocks and size of a layout; empty for layouts that only oneDNN can describe.
std::string layout_text(const dnnl::memory::desc& desc);

/// A constant that lowering packed, for prepare_again().
struct PackedRecord {
  const void* source;
  dnnl::memory::desc from, layout;
  Tensor bytes;
};

/// The packed constants of a PreparedModel by the address of their stand-ins.
class PackedStore {
 public:
  explicit PackedStore(const PreparedModel& prepared);
  /// True for the address of a stand-in.
  bool holds(const void* source) const { return by_address_.count(source) > 0; }
  /// @errors kFailedPrecondition: not in that layout.
  Tensor find(const void* source, const dnnl::memory::desc& from, const dnnl::memory::desc& layout) const;

 private:
  std::map<const void*, const PreparedModel::Constant*> by_address_;
};

}  // namespace tenon::inline v1::engine
