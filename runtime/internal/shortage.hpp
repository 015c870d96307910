// SPDX-License-Identifier: Apache-2.0
// What runs short (memory, threads, descriptors) is told with what it was wanted for.
#pragma once

#include <new>
#include <string>
#include <system_error>
#include <utility>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {

/// Throws the exception that is being handled anew: std::bad_alloc and threads that do not start as kResourceExhausted
/// with `what` ("compiling model 'm' for CPU"), as other errors of that code; everything else as it is.
[[noreturn]] void rethrow_shortage(const std::string& what);

/// @param what  Says what is done, as a text, when it is needed.
template <typename What, typename Body>
decltype(auto) telling_shortage(What&& what, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (const std::bad_alloc&) {
    rethrow_shortage(what());
  } catch (const std::system_error&) {
    rethrow_shortage(what());
  } catch (const Error& error) {
    if (error.code() != Code::kResourceExhausted) throw;
    rethrow_shortage(what());
  }
}

}  // namespace v1
}  // namespace tenon
