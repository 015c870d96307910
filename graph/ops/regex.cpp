// SPDX-License-Identifier: Apache-2.0
// RE2, which takes time that is linear in the text whatever the pattern, and whose syntax is ONNX's.
#include <tenon/graph/ops/internal/regex.hpp>

#include <tenon/core/error.hpp>

#ifdef TENON_HAS_RE2
#include <re2/re2.h>
#endif

namespace tenon {
inline namespace v1 {

std::vector<bool> full_matches(const std::string& pattern, const std::vector<std::string>& texts) {
#ifdef TENON_HAS_RE2
  RE2::Options quiet;
  quiet.set_log_errors(false);
  const RE2 expression(pattern, quiet);
  if (!expression.ok())
    throw Error(Code::kInvalidArgument,
                "the pattern \"" + pattern + "\" is no regular expression in RE2's syntax: " + expression.error());
  std::vector<bool> matches;
  for (const std::string& text : texts) matches.push_back(RE2::FullMatch(text, expression));
  return matches;
#else
  static_cast<void>(texts);
  throw Error(Code::kUnimplemented,
              "the pattern \"" + pattern +
                  "\" needs the library RE2, which this build lacks: install libre2-dev and build again");
#endif
}

}  // namespace v1
}  // namespace tenon
