// SPDX-License-Identifier: Apache-2.0
// Letters as LCMapStringEx has them, without a language's own rules.
#include <tenon/core/platform/letters.hpp>

#include <tenon/core/platform/windows/api.hpp>

namespace tenon {
inline namespace v1 {
namespace platform {

TENON_INLINE Letters::Letters(const std::string& /*locale*/) : table_(this) {}
TENON_INLINE Letters::~Letters() = default;
TENON_INLINE std::uint32_t Letters::changed(std::uint32_t letter, bool to_upper) const noexcept {
  // UTF-16: letters past 0xffff are two words.
  wchar_t in[2] = {static_cast<wchar_t>(letter), 0}, out[2] = {};
  const int words = letter > 0xffff ? 2 : 1;
  if (words == 2) {
    in[0] = static_cast<wchar_t>(0xd800 + ((letter - 0x10000) >> 10));
    in[1] = static_cast<wchar_t>(0xdc00 + ((letter - 0x10000) & 0x3ff));
  }
  const DWORD how = to_upper ? LCMAP_UPPERCASE : LCMAP_LOWERCASE;
  if (::LCMapStringEx(LOCALE_NAME_INVARIANT, how, in, words, out, 2, nullptr, nullptr, 0) != words) return letter;
  if (words == 1) return out[0];
  return 0x10000 + ((static_cast<std::uint32_t>(out[0]) & 0x3ff) << 10) + (static_cast<std::uint32_t>(out[1]) & 0x3ff);
}

}  // namespace platform
}  // namespace v1
}  // namespace tenon
