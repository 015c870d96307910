// SPDX-License-Identifier: Apache-2.0
// What is known of a frame (objects, tracks, classes, masks, zones, times) as bytes that another process reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <tenon/core/frame.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/cpu/fd.hpp>

namespace tenon {
inline namespace v1 {
namespace ipc {

/// The metadata of a frame as bytes, made once and sent over any number of links. All types of core/metadata.hpp, core/zones.hpp and
/// core/placement.hpp are carried, in their order and with what they belong to; types of a user's own stay behind, with what belongs to
/// them. Tensors are packed: their bytes are copied.
/// @thread a value that does not change.
class FrameMetadata {
 public:
  /// Nothing is known.
  FrameMetadata() = default;
  /// @errors kResourceExhausted: more than 16,384 entries or 16 MiB, or no descriptor left; kUnimplemented: a tensor of strings, or of
  /// more than 32 axes; kInvalidArgument: a mask that is not u8 [height, width]; those of reading a tensor. The message names the entry.
  /// @cost none where nothing is known of the frame; else a pass over its entries, and a memfd for more than 4 KiB.
  explicit FrameMetadata(const Frame& frame);
  /// Tensors have none.
  explicit FrameMetadata(const Tensor&) {}

  bool empty() const { return count_ == 0; }
  std::uint32_t entry_count() const { return count_; }
  std::size_t size_bytes() const { return size_; }
  /// What follows the wire::Frame: a wire::Metadata, and the bytes, unless they are in a memfd.
  std::span<const std::byte> part_of_message() const { return bytes_; }
  /// A sealed memfd with the bytes; -1: they are in the message. Belongs to this.
  int borrow_fd() const { return fd_.get(); }

 private:
  std::uint32_t count_ = 0;
  std::size_t size_ = 0;
  std::vector<std::byte> bytes_;
  cpu::UniqueFd fd_;
};

namespace detail {

/// Reads what a FrameMetadata of another process holds.
/// @errors kDataLoss: bytes that end early or are too many; kInvalidArgument, kOutOfRange, kUnimplemented: values that cannot be, or are not
/// known. The message names the entry and the field.
std::shared_ptr<metadata::Collection> read_metadata(std::span<const std::byte> bytes, std::uint32_t entry_count);

/// The bytes of a memfd that another process made. @errors kInvalidArgument: no memfd; kDataLoss: not of that size.
std::vector<std::byte> bytes_of_memfd(int fd, std::uint64_t size_bytes);

}  // namespace detail
}  // namespace ipc
}  // namespace v1
}  // namespace tenon
