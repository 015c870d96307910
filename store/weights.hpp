// SPDX-License-Identifier: Apache-2.0
// Weights that were left out of a blob, found again by what they are, not by where they were.
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
  /// @param least_bytes  Smaller ones are not taken in: none of them was left out.
  explicit WeightsByHash(std::size_t least_bytes) : least_bytes_(least_bytes) {}
  /// Whether it is one to leave out, and to be found: large enough, and in one piece.
  bool takes(const Tensor& tensor) const { return tensor.size_bytes() >= least_bytes_ && tensor.is_contiguous(); }
  /// Does nothing for what takes() refuses. @cost one hash of it.
  void add(const Tensor& tensor);
  /// Empty: there is none.
  Tensor find(const ContentHash& hash) const;

 private:
  std::size_t least_bytes_;
  std::map<ContentHash, Tensor> all_;
};

/// That part of a weights file, if these are still its bytes. Empty: they lie outside, or have changed.
/// @cost one hash of it.
Tensor find_at(const Tensor& file, std::uint64_t offset, std::uint64_t size, const ContentHash& hash);

}  // namespace tenon::inline v1::store
