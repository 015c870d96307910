// SPDX-License-Identifier: Apache-2.0
// Letters as towupper() and towlower() have them.
#include <tenon/core/platform/letters.hpp>

#include <locale.h>
#include <wctype.h>

#include <string_view>

namespace tenon {
inline namespace v1 {
namespace platform {

TENON_INLINE Letters::Letters(const std::string& locale) : table_(nullptr) {
  for (const char* candidate : {locale.c_str(), "C.UTF-8", "en_US.UTF-8"}) {
    if (!*candidate || std::string_view(candidate).find("UTF-8") == std::string_view::npos) continue;
    if ((table_ = ::newlocale(LC_CTYPE_MASK, candidate, nullptr))) return;
  }
}
TENON_INLINE Letters::~Letters() {
  if (table_) ::freelocale(static_cast<locale_t>(table_));
}
TENON_INLINE std::uint32_t Letters::changed(std::uint32_t letter, bool to_upper) const noexcept {
  if (!table_) return letter;
  const auto wide = static_cast<wint_t>(letter);
  const auto table = static_cast<locale_t>(table_);
  return static_cast<std::uint32_t>(to_upper ? ::towupper_l(wide, table) : ::towlower_l(wide, table));
}

}  // namespace platform
}  // namespace v1
}  // namespace tenon
