// SPDX-License-Identifier: Apache-2.0
// TIFF is the one such format so far: its tags say what FFmpeg (5.1 to 8.0) does not look at.
#include <tenon/frameworks/ffmpeg/misread.hpp>

#include <cstdint>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {
namespace detail {

/// The first directory of tags of a TIFF in memory. What lies beyond the end reads as 0.
class TiffTags {
 public:
  explicit TiffTags(std::span<const std::byte> data)
      : data_(data), is_big_endian_(!data.empty() && data[0] == std::byte{'M'}), directory_(number(4, 4)) {}

  bool has(std::uint16_t tag) const { return find(tag) != 0; }
  /// The first of the tag's 16-bit numbers. @param absent  Where there are none.
  std::uint32_t first(std::uint16_t tag, std::uint32_t absent) const {
    const std::size_t entry = find(tag);
    if (entry == 0) return absent;
    const bool is_inline = number(entry + 4, 4) <= 2;  // Four bytes have room for two.
    return number(is_inline ? entry + 8 : number(entry + 8, 4), 2);
  }

 private:
  static constexpr std::size_t kEntryBytes = 12;  // Tag, type, count, and the values or their place.

  std::uint32_t number(std::size_t at, std::size_t bytes) const {
    if (at > data_.size() || data_.size() - at < bytes) return 0;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i)
      value = value << 8 | std::to_integer<std::uint32_t>(data_[is_big_endian_ ? at + i : at + bytes - 1 - i]);
    return value;
  }
  /// The place of an entry; 0: there is none.
  std::size_t find(std::uint16_t tag) const {
    const std::uint32_t count = number(directory_, 2);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t entry = directory_ + 2 + i * kEntryBytes;
      if (entry >= data_.size()) break;
      if (number(entry, 2) == tag) return entry;
    }
    return 0;
  }

  const std::span<const std::byte> data_;
  const bool is_big_endian_;
  const std::size_t directory_;
};

TENON_INLINE const char* why_misread(AVCodecID codec, std::span<const std::byte> data) noexcept {
  if (codec != AV_CODEC_ID_TIFF) return nullptr;
  constexpr std::uint16_t kBitsPerSample = 258, kTileWidth = 322, kSampleFormat = 339, kDngVersion = 50706;
  const TiffTags tags(data);
  if (tags.has(kDngVersion)) return nullptr;  // FFmpeg reads their tiles, and their format.
  if (tags.has(kTileWidth)) return "a TIFF in tiles, which FFmpeg leaves unwritten: store it in strips";
  constexpr std::uint32_t kUnsigned = 1, kSigned = 2, kReal = 3;
  const std::uint32_t format = tags.first(kSampleFormat, kUnsigned), bits = tags.first(kBitsPerSample, 1);
  if (format == kSigned) return "a TIFF of signed numbers, which FFmpeg takes for unsigned ones: store unsigned ones";
  if (format == kReal && bits == 16)
    return "a TIFF of 16-bit reals, which FFmpeg takes for integers: store 32-bit ones";
  if (format == kUnsigned && bits == 32)
    return "a TIFF of 32-bit integers, which FFmpeg takes for reals: store 16-bit ones";
  return nullptr;
}

}  // namespace detail
}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
