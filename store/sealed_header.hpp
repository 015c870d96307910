// SPDX-License-Identifier: Apache-2.0
// The header of all formats here, and its verification before any data behind it is used.
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

/// The beginning of every header. Little-endian; 40 bytes.
struct SealStart {
  char magic[8];
  std::uint32_t version;
  std::uint32_t minor;  ///< Defined by the format: a minor version, a kind, flags.
  std::uint64_t total;  ///< Size of the whole in bytes, header included.
  ContentHash content;  ///< Hash of all bytes behind the header, up to `total`; or of the part that the format defines.
};
static_assert(sizeof(SealStart) == 40 && std::is_trivially_copyable_v<SealStart>);

/// A header: its start, the fields of the format, and a hash of both. `Fields` has no padding and consists of whole
/// words.
template <typename Fields>
struct Sealed {
  static_assert(std::is_trivially_copyable_v<Fields> && sizeof(Fields) % 8 == 0);
  SealStart start;
  Fields fields;
  ContentHash own;  ///< Hash of the header before this field.
};

/// Description of a format, and its errors for bytes of other formats. Each function throws an Error.
struct Format {
  std::string_view magic;  ///< 8 letters.
  std::uint32_t version = 0;
  std::optional<std::uint32_t> minor{};  ///< Set if this must be equal too.
  Damaged damaged;
  std::function<void()> foreign{};                              ///< Throws for another magic. None: treated as damage.
  std::function<void(const SealStart& found)> other_version{};  ///< None: treated as damage.
};

namespace detail {
void unseal(std::string_view bytes, void* header, std::size_t header_bytes, const Format& format);
void seal(SealStart& start, const Format& format);
}  // namespace detail

/// Returns the header of these bytes after checks of magic, version and the header's own hash. Its values are then
/// those that were written; check_total() and check_content() verify the bytes behind it.
/// @errors those of `format`.
template <typename Fields>
Sealed<Fields> unseal(std::string_view bytes, const Format& format) {
  Sealed<Fields> header;
  static_assert(sizeof header == sizeof header.start + sizeof header.fields + sizeof header.own, "no padding");
  detail::unseal(bytes, &header, sizeof header, format);
  return header;
}

/// Fills in magic, version and the header's own hash. Call it when all other fields are set.
template <typename Fields>
void seal(Sealed<Fields>& header, const Format& format) {
  detail::seal(header.start, format);
  header.own = content_hash(&header, sizeof header - sizeof header.own);
}

/// Checks the total size. Bytes behind `total` are ignored.
/// @errors those of `format.damaged`: fewer bytes than the header names, or a total smaller than the header.
void check_total(const SealStart& start, std::size_t header_bytes, std::size_t available, const Damaged& damaged);
/// Checks the content's hash. Call after check_total(). @cost one read of the bytes up to `total`. @errors those of
/// `damaged`.
void check_content(const SealStart& start, std::size_t header_bytes, std::string_view bytes, const Damaged& damaged);

/// A range of bytes within the whole.
struct Section {
  std::uint64_t offset = 0, size = 0;
  std::string_view in(std::string_view bytes) const { return bytes.substr(offset, size); }
};
/// Whether the section is within [`begin`, `end`] and aligned. Safe against overflow.
inline bool lies_within(const Section& section, std::uint64_t begin, std::uint64_t end, std::uint64_t alignment = 1) {
  return section.offset >= begin && section.offset % alignment == 0 && section.offset <= end &&
         section.size <= end - section.offset;
}
constexpr std::uint64_t aligned(std::uint64_t size, std::uint64_t alignment) {
  return (size + alignment - 1) / alignment * alignment;
}

}  // namespace tenon::inline v1::store
