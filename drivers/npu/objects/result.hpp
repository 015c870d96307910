// SPDX-License-Identifier: Apache-2.0
// Helpers for results of calls: codes with a reason, two-call lists, structure chains.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <level_zero/ze_api.h>

#include <tenon/frameworks/level_zero/abi/core.hpp>

namespace tenon::npu {

namespace abi = tenon::level_zero::abi;

/// Stores why a call failed for this thread (zeDriverGetLastErrorDescription), and returns the code.
ze_result_t fail(ze_result_t result, std::string_view why) noexcept;

/// The text that fail() stored for this thread.
std::string& last_error() noexcept;

/// The idiom of every list: a count of 0 asks for the number; otherwise up to *count entries are written.
template <class T, class Fill>
ze_result_t enumerate(std::uint32_t* count, T* entries, std::size_t available, Fill fill) {
  if (!count) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  const auto number = static_cast<std::uint32_t>(available);
  if (*count == 0 || *count > number || !entries) {
    const std::uint32_t wanted = *count;
    *count = number;
    if (wanted == 0 || !entries) return ZE_RESULT_SUCCESS;
  }
  for (std::uint32_t i = 0; i < *count; ++i) fill(i, entries[i]);
  return ZE_RESULT_SUCCESS;
}

/// Calls visit(stype, link) for the first link only: of queues and command lists clients leave what follows uninitialised.
template <class Visit>
ze_result_t visit_first(const void* first, Visit visit) {
  const auto* link = static_cast<const abi::ChainLink*>(first);
  return link ? visit(link->stype, link) : ZE_RESULT_SUCCESS;
}

/// Calls visit(stype, link) for each link of a chain until one fails. Refuses endless chains.
template <class Visit>
ze_result_t visit_chain(const void* first, Visit visit) {
  int length = 0;
  for (auto* link = static_cast<const abi::ChainLink*>(first); link;
       link = static_cast<const abi::ChainLink*>(link->next)) {
    if (++length > 1024) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the chain of extension structures has no end");
    if (const ze_result_t result = visit(link->stype, link)) return result;
  }
  return ZE_RESULT_SUCCESS;
}

}  // namespace tenon::npu
