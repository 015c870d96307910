// SPDX-License-Identifier: Apache-2.0
// Joins requirements: the stricter of two bounds, the intersection of two lists.
#include <tenon/core/requirements.hpp>

#include <algorithm>

namespace tenon {
inline namespace v1 {
namespace detail {

/// Intersection in the order of `a`. An empty list means "any", so the other is returned.
template <typename List>
bool intersect(const List& a, const List& b, List& out) {
  if (a.empty() || b.empty()) return out = a.empty() ? b : a, true;
  out.clear();
  for (const auto& value : a) {
    if (std::find(b.begin(), b.end(), value) != b.end()) out.push_back(value);
  }
  return !out.empty();
}

}  // namespace detail

TENON_INLINE std::variant<Requirements, Refusal> Requirements::join(const Requirements& other) const {
  Requirements both;
  both.size_bytes = std::max(size_bytes, other.size_bytes);
  both.alignment = std::max(alignment, other.alignment);
  both.pitch_alignment = std::max(pitch_alignment, other.pitch_alignment);
  both.height_alignment = std::max(height_alignment, other.height_alignment);
  both.tail_padding = std::max(tail_padding, other.tail_padding);
  both.max_pitch = std::min(max_pitch, other.max_pitch);
  if (!fd.serves(other.fd) && !other.fd.serves(fd)) {
    return Refusal{"one consumer wants a descriptor of kind " + std::string(fd.name()) + ", another one of kind " +
                   std::string(other.fd.name()) + ", and neither serves as the other"};
  }
  both.fd = fd.serves(other.fd) ? fd : other.fd;
  both.host_access = host_access || other.host_access;
  both.contiguous = contiguous || other.contiguous;
  if (both.pitch_alignment > both.max_pitch) {
    return Refusal{"one consumer wants rows aligned to " + std::to_string(both.pitch_alignment) +
                   " bytes, another takes rows of at most " + std::to_string(both.max_pitch)};
  }
  if (!detail::intersect(kinds, other.kinds, both.kinds)) {
    std::string text = "no kind of memory serves both: one takes";
    for (MemoryKind kind : kinds) text += " " + std::string(kind.name());
    text += ", the other";
    for (MemoryKind kind : other.kinds) text += " " + std::string(kind.name());
    return Refusal{text};
  }
  if (!detail::intersect(modifiers, other.modifiers, both.modifiers)) {
    return Refusal{"no DRM modifier serves both consumers"};
  }
  return both;
}

}  // namespace v1
}  // namespace tenon
