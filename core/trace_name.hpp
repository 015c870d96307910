// SPDX-License-Identifier: Apache-2.0
// Names for spans that are known only at run time: nodes of a model, edges.
#pragma once

#include <string_view>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

/// A copy of the text that lives as long as the process, as Trace::record and TraceSpan need it; one per text. At most
/// 65536 texts are kept; all others become "(more names)". Meant for use while a trace is open.
/// @thread any. @cost a lock and a look-up.
TENON_API const char* trace_name(std::string_view text);

}  // namespace v1
}  // namespace tenon
