// SPDX-License-Identifier: Apache-2.0
// Finds weights that were left out of a blob by their content, not by their position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include <tenon/core/tensor.hpp>
#include <tenon/store/bytes.hpp>  // IWYU pragma: export
#include <tenon/store/content_hash.hpp>

namespace tenon::inline v1::store {

/// Host tensors by the hash of their bytes.
/// @thread one at a time.
class WeightsByHash {
 public:
  /// @param min_bytes  Smaller tensors are not added, because they are always stored in the blob.
  explicit WeightsByHash(std::size_t min_bytes) : min_bytes_(min_bytes) {}
  /// Whether the tensor can be left out and found again: large enough, and contiguous.
  bool takes(const Tensor& tensor) const { return tensor.size_bytes() >= min_bytes_ && tensor.is_contiguous(); }
  /// Adds a tensor; does nothing if takes() is false. @cost one hash of its bytes.
  void add(const Tensor& tensor);
  /// The tensor with this hash; empty if there is none.
  Tensor find(const ContentHash& hash) const;

 private:
  std::size_t min_bytes_;
  std::map<ContentHash, Tensor> all_;
};

/// A part of a weights file, if its bytes still have this hash. Empty: it is outside of the file, or has changed. @cost
/// one hash of the part.
Tensor find_at(const Tensor& file, std::uint64_t offset, std::uint64_t size, const ContentHash& hash);

}  // namespace tenon::inline v1::store
