// SPDX-License-Identifier: Apache-2.0
// No graph extension: in the place of graph_table.cpp where the compiler is not built.
#include <tenon/drivers/npu/extensions_internal.hpp>

namespace tenon::npu {

__attribute__((weak)) void* graph_extension_table(const char*) noexcept { return nullptr; }

}  // namespace tenon::npu
