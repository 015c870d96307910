// SPDX-License-Identifier: Apache-2.0
// Tenon's own extension, 1.0: cancels a running command list. No vendor's driver has it.
#pragma once

#include <cstdint>

#include <tenon/frameworks/level_zero/abi/base.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero::abi {

inline constexpr char kCancelExtension[] = "ZE_extension_tenon_cancel";
inline constexpr std::uint32_t kCancelVersion = version(1, 0);

/// Returned by zeDriverGetExtensionFunctionAddress for kCancelExtension.
struct CancelTable {
  /// Ends the submission that the list belongs to, from any thread. Computation stops between two steps, the rest does
  /// not run, and fences and events are signalled with ZE_RESULT_ERROR_NOT_AVAILABLE. Has no effect on a list that is
  /// not submitted, and does not wait.
  ze_result_t(ZE_APICALL* cancel)(ze_command_list_handle_t list);
};
static_assert(sizeof(CancelTable) == sizeof(void*));

}  // namespace level_zero::abi
}  // namespace v1
}  // namespace tenon
