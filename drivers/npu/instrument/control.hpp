// SPDX-License-Identifier: Apache-2.0
// A socket that changes what fails while the process runs (TENON_NPU_CONTROL).
#pragma once

#include <string>
#include <string_view>

namespace tenon::npu {

/// Listens on the path in TENON_NPU_CONTROL, if there is one, from a thread of its own; "%p" in it is the process's number.
/// Reports on stderr why it cannot. A socket that a dead process left behind is replaced. Called when the driver is created.
void start_control() noexcept;

/// Whether the variable is set.
bool has_control() noexcept;

/// Carries out one command. @return "ok", "ok: ..." or "error: ..."; one line.
std::string control(std::string_view command);

}  // namespace tenon::npu
