// SPDX-License-Identifier: Apache-2.0
// Constants as kernels want them: converted and rearranged once for a model, whatever plans are made of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <tenon/core/tensor.hpp>
#include <tenon/devices/gpu/lower/build/chunks.hpp>

namespace tenon::inline v1::gpu_device {

/// @thread all members from any thread.
class PackedWeights {
 public:
  /// @param threads  Among so many a large constant is divided; 0: as many as there are CPUs.
  explicit PackedWeights(std::int32_t threads = 0) : threads_(threads) {}
  /// @param how  Names what `pack` does: with the source, the key.
  /// @return the tensor that `pack` made, the first time.
  Tensor get(const Tensor& source, const std::string& how, const std::function<Tensor(const Tensor&)>& pack);

 private:
  /// Sources are kept, so that an address means the same bytes.
  struct Entry {
    Tensor source, packed;
  };
  const std::int32_t threads_;
  std::mutex mutex_;
  std::map<std::pair<const void*, std::string>, Entry> entries_;
};

/// Filters [out, in, rows, columns] of reals, or without rows, as f16 or f32 [out, rows, columns, channels]: the input channels last,
/// and zeros up to `channels` of them.
Tensor pack_filters(const Tensor& filters, ElementType type, std::size_t channels);
/// The same as [out, rows, run]: a row's columns, of 4 channels each, as one run with zeros up to `run`.
Tensor pack_filter_rows(const Tensor& filters, ElementType type, std::size_t run);
/// Filters [out, in, rows, columns], or without rows, as f32 [blocks, rows, columns, in, wide]: `wide` filters side by side, and zeros
/// for those that the last block lacks.
Tensor pack_filter_blocks(const Tensor& filters, std::size_t wide);
/// Filters [in, out, rows, columns] of a transposed convolution, or without rows, as f32 [rows, columns, blocks, in, wide].
Tensor pack_unfolding_blocks(const Tensor& filters, std::size_t wide);
/// A right side [k, n] as f32 [blocks, k, wide]. @param is_transposed  It is [n, k].
Tensor pack_side_blocks(const Tensor& side, std::size_t wide, bool is_transposed);
/// Filters [channels, 1, 1, rows, columns], or without rows, as [rows, columns, channels].
Tensor pack_channel_filters(const Tensor& filters, ElementType type);
/// The right sides [..., k, n] of products as [..., n, k], with zeros up to a whole number of chunks of k, of `chunk` elements.
/// @param is_transposed  They are [..., n, k] already.
Tensor pack_right_sides(const Tensor& sides, ElementType type, bool is_transposed, std::size_t chunk = kChunk);

}  // namespace tenon::inline v1::gpu_device
