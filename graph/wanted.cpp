// SPDX-License-Identifier: Apache-2.0
// Scopes in which compilations can be cancelled.
#include <tenon/graph/wanted.hpp>

#include <utility>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace {

thread_local CancellationScope* innermost = nullptr;

}  // namespace

CancellationScope::CancellationScope(std::function<bool()> is_wanted)
    : is_wanted_(std::move(is_wanted)), outer_(std::exchange(innermost, this)) {}

CancellationScope::~CancellationScope() { innermost = outer_; }

std::function<bool()> CancellationScope::current() {
  return innermost ? innermost->is_wanted_ : std::function<bool()>();
}

void CancellationScope::check(const char* what, const std::string& subject) {
  if (innermost && innermost->is_wanted_ && !innermost->is_wanted_())
    throw Error(Code::kCancelled, std::string(what) + " '" + subject + "' was given up: it is not wanted any more");
}

}  // namespace v1
}  // namespace tenon
