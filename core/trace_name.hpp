// SPDX-License-Identifier: Apache-2.0
// Names for spans that are known at run time only: nodes of a model, edges.
#pragma once

#include <string_view>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

/// The same text as long as the process lives, once per text: what Trace::record and TraceSpan may be given. At most
/// 65536 different ones are kept; further ones are all called "(more names)". Meant for use while a trace is open.
/// @thread any. @cost a lock and a look-up.
TENON_API const char* trace_name(std::string_view text);

}  // namespace v1
}  // namespace tenon
