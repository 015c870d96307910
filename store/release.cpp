// SPDX-License-Identifier: Apache-2.0
// The release's name, in one place of each binary: tests/version_bump changes it there.
#include <tenon/store/release.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/version.hpp>

namespace tenon::inline v1::store {
namespace {

// Read at run time, so that no compiler builds pieces of it into instructions.
const char* const volatile release_name = "Tenon " TENON_VERSION;
static_assert(sizeof "Tenon " TENON_VERSION <= sizeof MadeBy::text);

}  // namespace

std::string_view release() noexcept { return release_name; }

MadeBy MadeBy::this_release() noexcept {
  MadeBy made{};
  std::memcpy(made.text, store::release().data(), store::release().size());
  return made;
}

std::string_view MadeBy::release() const noexcept {
  return {text, static_cast<std::size_t>(std::find(text, text + sizeof text, '\0') - text)};
}

void check_made_by(const MadeBy& found, std::string_view owner, std::string_view remedy) {
  if (found.release() == release()) return;
  throw Error(Code::kFailedPrecondition, std::string(owner) + ": the compiled blob was made by \"" +
                                             std::string(found.release()) + "\", this is \"" + std::string(release()) +
                                             "\"; " + std::string(remedy));
}

}  // namespace tenon::inline v1::store
