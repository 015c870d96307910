// SPDX-License-Identifier: Apache-2.0
// Regular expressions in RE2's syntax, by RE2 where the build has it.
#pragma once

#include <string>
#include <vector>

namespace tenon {
inline namespace v1 {

/// Whether the pattern matches each text from its first to its last byte. @errors kInvalidArgument: the pattern is no regular
/// expression; kUnimplemented: the build has no RE2
std::vector<bool> full_matches(const std::string& pattern, const std::vector<std::string>& texts);

}  // namespace v1
}  // namespace tenon
