// SPDX-License-Identifier: Apache-2.0
// The header that every format here begins with, and how it is judged before anything behind it is believed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string_view>
#include <type_traits>

#include <tenon/store/content_hash.hpp>
#include <tenon/store/table.hpp>

namespace tenon::inline v1::store {

/// How a header begins. Little-endian; 40 bytes.
struct SealStart {
  char magic[8];
  std::uint32_t version;
  std::uint32_t minor;  ///< The format's own: a minor version, a kind, flags.
  std::uint64_t total;  ///< Bytes of the whole, header and all.
  ContentHash content;  ///< Of all behind the header, up to `total`; or of the part that the format names.
};
static_assert(sizeof(SealStart) == 40 && std::is_trivially_copyable_v<SealStart>);

/// A header: its start, what the format has in it, and a hash of both. `Fields` has no padding and whole words.
template <typename Fields>
struct Sealed {
  static_assert(std::is_trivially_copyable_v<Fields> && sizeof(Fields) % 8 == 0);
  SealStart start;
  Fields fields;
  ContentHash own;  ///< Of the header before this field.
};

/// What a format says of itself, and of bytes that are none of its own. Each function throws an Error.
struct Format {
  std::string_view magic;  ///< 8 letters.
  std::uint32_t version = 0;
  std::optional<std::uint32_t> minor{};  ///< Where that, too, must be equal.
  Damaged damaged;
  std::function<void()> foreign{};                              ///< Another magic. None: damage.
  std::function<void(const SealStart& found)> other_version{};  ///< None: damage.
};

namespace detail {
void unseal(std::string_view bytes, void* header, std::size_t header_bytes, const Format& format);
void seal(SealStart& start, const Format& format);
}  // namespace detail

/// The header of these bytes, whole: its magic, version and own hash are right. What it says is then what was written;
/// whether all of that is there, check_total() and check_content() tell.
/// @errors those of `format`.
template <typename Fields>
Sealed<Fields> unseal(std::string_view bytes, const Format& format) {
  Sealed<Fields> header;
  static_assert(sizeof header == sizeof header.start + sizeof header.fields + sizeof header.own, "no padding");
  detail::unseal(bytes, &header, sizeof header, format);
  return header;
}

/// Fills in magic, version and the header's own hash, when all else is there.
template <typename Fields>
void seal(Sealed<Fields>& header, const Format& format) {
  detail::seal(header.start, format);
  header.own = content_hash(&header, sizeof header - sizeof header.own);
}

/// Bytes behind `total` are none of the format's business.
/// @errors those of `format.damaged`: there are fewer than the header says, or it says less than itself.
void check_total(const SealStart& start, std::size_t header_bytes, std::size_t available, const Damaged& damaged);
/// After check_total(). @cost one read of the bytes up to `total`. @errors those of `damaged`.
void check_content(const SealStart& start, std::size_t header_bytes, std::string_view bytes, const Damaged& damaged);

/// A part of the whole.
struct Section {
  std::uint64_t offset = 0, size = 0;
  std::string_view in(std::string_view bytes) const { return bytes.substr(offset, size); }
};
/// Whether it begins at `begin` or behind it, ends at `end` at most, and is aligned. No sum of it can overflow.
inline bool lies_within(const Section& section, std::uint64_t begin, std::uint64_t end, std::uint64_t alignment = 1) {
  return section.offset >= begin && section.offset % alignment == 0 && section.offset <= end &&
         section.size <= end - section.offset;
}
constexpr std::uint64_t aligned(std::uint64_t size, std::uint64_t alignment) {
  return (size + alignment - 1) / alignment * alignment;
}

}  // namespace tenon::inline v1::store
