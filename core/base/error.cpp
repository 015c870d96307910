// SPDX-License-Identifier: Apache-2.0
// Prints an exception with the chain of its causes.
#include <tenon/core/error.hpp>

#include <exception>

namespace tenon {
inline namespace v1 {

TENON_INLINE std::string describe(const std::exception& error) {
  std::string text = error.what();
  try {
    std::rethrow_if_nested(error);
  } catch (const std::exception& cause) {
    text += "\n  because: " + describe(cause);
  } catch (...) {
    text += "\n  because: an exception of a foreign type";
  }
  return text;
}

}  // namespace v1
}  // namespace tenon
