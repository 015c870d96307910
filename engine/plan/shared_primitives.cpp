// SPDX-License-Identifier: Apache-2.0
// Keys of kernels, and the two generations of what is kept.
#include <bit>

#include <tenon/engine/plan/shared_primitives.hpp>

namespace tenon::inline v1::engine {

void append(KernelKey& key, const dnnl::memory::desc& desc) {
  // The C calls: the C++ ones make a vector for each answer.
  const const_dnnl_memory_desc_t handle = desc.get(true);
  int rank = 0;
  if (handle) dnnl_memory_desc_query(handle, dnnl_query_ndims_s32, &rank);
  if (rank == 0) {
    key.push_back(0);
    return;
  }
  dnnl_data_type_t type{};
  dnnl_format_kind_t kind{};
  dnnl_memory_desc_query(handle, dnnl_query_data_type, &type);
  dnnl_memory_desc_query(handle, dnnl_query_format_kind, &kind);
  key.push_back(static_cast<std::uint64_t>(rank) << 32 | static_cast<std::uint64_t>(type) << 16 |
                static_cast<std::uint64_t>(kind));
  const auto add = [&](dnnl_query_t what, int count) {
    const dnnl_dims_t* values = nullptr;
    dnnl_memory_desc_query(handle, what, static_cast<void*>(&values));
    for (int i = 0; i < count; ++i) key.push_back(static_cast<std::uint64_t>((*values)[i]));
  };
  add(dnnl_query_dims, rank);
  if (kind != dnnl_blocked) return;
  add(dnnl_query_strides, rank);
  int blocks = 0;
  dnnl_memory_desc_query(handle, dnnl_query_inner_nblks_s32, &blocks);
  key.push_back(static_cast<std::uint64_t>(blocks));
  if (blocks == 0) return;
  add(dnnl_query_padded_dims, rank);
  add(dnnl_query_inner_blks, blocks);
  add(dnnl_query_inner_idxs, blocks);
}

void append(KernelKey& key, float value) { key.push_back(std::bit_cast<std::uint32_t>(value)); }

std::shared_ptr<const MadeKernel> SharedPrimitives::find_or_make(const KernelKey& key,
                                                                 const std::function<MadeKernel()>& make) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = young_.find(key); found != young_.end()) return found->second;
    if (const auto found = old_.find(key); found != old_.end()) {
      const auto made = found->second;
      keep(key, made);
      return made;
    }
  }
  const auto made = std::make_shared<const MadeKernel>(make());
  const std::lock_guard lock(mutex_);
  keep(key, made);
  return made;
}

void SharedPrimitives::keep(const KernelKey& key, const std::shared_ptr<const MadeKernel>& made) {
  if (young_.size() >= kMost) {
    old_ = std::move(young_);
    young_.clear();
  }
  young_[key] = made;
}

}  // namespace tenon::inline v1::engine
