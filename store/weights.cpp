// SPDX-License-Identifier: Apache-2.0
// Finding weights.
#include <tenon/store/weights.hpp>

namespace tenon::inline v1::store {

void WeightsByHash::add(const Tensor& tensor) {
  if (takes(tensor)) all_.emplace(content_hash(tensor), tensor);
}

Tensor WeightsByHash::find(const ContentHash& hash) const {
  const auto found = all_.find(hash);
  return found == all_.end() ? Tensor() : found->second;
}

Tensor find_at(const Tensor& file, std::uint64_t offset, std::uint64_t size, const ContentHash& hash) {
  if (offset > file.size_bytes() || size > file.size_bytes() - offset) return {};
  const Tensor bytes = part_of(file, offset, size);
  return content_hash(bytes) == hash ? bytes : Tensor();
}

}  // namespace tenon::inline v1::store
