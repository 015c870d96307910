// SPDX-License-Identifier: Apache-2.0
// The messages between two processes: plain structs of fixed size, in the byte order of the machine, since both ends are on it.
// Each is one packet of a socket of type SOCK_SEQPACKET; descriptors travel beside it (SCM_RIGHTS).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace ipc::wire {

inline constexpr std::uint32_t kMagic = 0x43504e54;  ///< "TNPC"
/// The newest version that this release reads. Each message has the number of the version in which it was last changed, and an end
/// sends nothing newer than the other has said to read in its Hello: 2 is a Frame with Metadata, 1 is all the rest.
inline constexpr std::uint16_t kVersion = 2;
inline constexpr std::uint16_t kFirstVersion = 1;
inline constexpr std::uint16_t kMetadataVersion = 2;
inline constexpr std::size_t kMaxMemories = 64;  ///< Memories that a receiver keeps mapped, as numbers 0 to 63.
inline constexpr std::size_t kMaxFences = 16;
inline constexpr std::size_t kMaxRank = 8;
inline constexpr std::size_t kMaxDescriptors = 4 + kMaxFences + 1;
inline constexpr std::size_t kMaxMetadataEntries = 16'384;               ///< In a frame.
inline constexpr std::size_t kMaxMetadataBytes = std::size_t{16} << 20;  ///< In a frame.
inline constexpr std::size_t kMaxInlineMetadata = 4096;  ///< Bytes that go inside the message; more come in a memfd.

enum class Kind : std::uint16_t { kHello = 1, kFrame = 2, kTensor = 3, kRelease = 4, kEnd = 5 };

struct Header {
  std::uint32_t magic = kMagic;
  std::uint16_t version = kFirstVersion;
  std::uint16_t kind = 0;
  /// Number of the frame or tensor that it brings or gives back. In a Hello: the newest version that its sender reads; 0, which the first
  /// version sends, is 1.
  std::uint64_t sequence = 0;
};

/// The first message of both ends. A subscriber leaves the picture at 0.
struct Hello {
  Header header;
  std::uint64_t modifier = 0;
  std::uint32_t fourcc = 0, width_px = 0, height_px = 0;
  std::uint32_t is_live = 0;
  double frames_per_second = 0;
};

/// A memory that the receiver does not know yet, or that takes the number of an older one. Its descriptor comes with the message.
struct NewMemory {
  std::uint32_t number = 0;
  std::uint32_t reserved = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t modifier = 0;
};

/// What Frame and Tensor have in common. Descriptors come in this order: memories, then fences.
struct Brought {
  std::uint8_t new_memories = 0;
  std::uint8_t fences = 0;
  std::array<std::uint8_t, kMaxFences> fence_kinds{};
  std::array<std::uint8_t, 6> reserved{};
  std::array<NewMemory, 4> memories{};
};

enum class FenceKind : std::uint8_t { kEventFd = 1, kSyncFile = 2 };

struct Plane {
  std::uint32_t memory = 0;
  std::uint32_t reserved = 0;
  std::uint64_t offset = 0;
  std::uint64_t pitch_bytes = 0;
};

struct Frame {
  Header header;
  Brought brought;
  std::uint64_t modifier = 0;
  std::int64_t timestamp_ns = 0;
  std::uint32_t fourcc = 0, width_px = 0, height_px = 0;
  std::uint8_t colour_space = 0, colour_range = 0, rotation = 0, plane_count = 0;
  std::array<Plane, 4> planes{};
};

/// Follows a Frame of version 2. Then come, inside the message or in a memfd whose descriptor is the last one, `entries` times a
/// MetadataEntry and its fields.
struct Metadata {
  std::uint32_t entries = 0;
  std::uint32_t is_apart = 0;  ///< 1: in a memfd.
  std::uint64_t size_bytes = 0;
};

/// The fields are those of the type with this number (metadata.cpp), one after another: numbers as they lie in memory, choices and flags as
/// one byte, texts and lists behind their count (u32), tensors as the name of their type, their extents (u64 each) and packed bytes.
struct MetadataEntry {
  std::uint32_t id = 0;
  std::uint32_t parent = 0;      ///< An id that came before; 0: the frame.
  std::uint32_t size_bytes = 0;  ///< The fields have so many.
  std::uint16_t kind = 0;
  std::uint16_t reserved = 0;
};

struct Tensor {
  Header header;
  Brought brought;
  std::array<char, 16> element_type{};  ///< The short name ("f32"), which is the same in every version.
  std::uint32_t memory = 0;
  std::uint16_t rank = 0;
  std::uint16_t has_strides = 0;
  std::uint64_t offset = 0;
  std::array<std::uint64_t, kMaxRank> shape{};
  std::array<std::int64_t, kMaxRank> byte_strides{};
};

/// The receiver does not use the frame `header.sequence` any more, once its fences are reached.
struct Release {
  Header header;
  std::uint32_t fences = 0;
  std::uint32_t reserved = 0;
};

/// Nothing comes any more.
struct End {
  Header header;
};

inline constexpr std::size_t kMaxBytes = sizeof(Frame) + sizeof(Metadata) + kMaxInlineMetadata;

static_assert(sizeof(Header) == 16 && sizeof(Hello) == 48 && sizeof(NewMemory) == 24 && sizeof(Brought) == 120 &&
              sizeof(Plane) == 24 && sizeof(Frame) == 264 && sizeof(Tensor) == 296 && sizeof(Release) == 24 &&
              sizeof(Metadata) == 16 && sizeof(MetadataEntry) == 16);
static_assert(std::is_trivially_copyable_v<Frame> && std::is_trivially_copyable_v<Tensor>);

}  // namespace ipc::wire
}  // namespace v1
}  // namespace tenon
