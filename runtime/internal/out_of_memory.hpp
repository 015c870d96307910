// SPDX-License-Identifier: Apache-2.0
// Errors about exhausted resources (memory, threads, descriptors) say what the resource was needed for.
#pragma once

#include <new>
#include <string>
#include <system_error>
#include <utility>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {

/// Rethrows the exception being handled. std::bad_alloc, threads that do not start and errors of that code become
/// kResourceExhausted with `what` in the text ("compiling model 'm' for CPU"); all others are unchanged.
[[noreturn]] void rethrow_out_of_memory(const std::string& what);

/// @param what  Returns the text that says what was being done; called only on such an error.
template <typename What, typename Body>
decltype(auto) report_out_of_memory(What&& what, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (const std::bad_alloc&) {
    rethrow_out_of_memory(what());
  } catch (const std::system_error&) {
    rethrow_out_of_memory(what());
  } catch (const Error& error) {
    if (error.code() != Code::kResourceExhausted) throw;
    rethrow_out_of_memory(what());
  }
}

}  // namespace v1
}  // namespace tenon
