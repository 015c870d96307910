// SPDX-License-Identifier: Apache-2.0
// The JSON schema of pipeline files, for editors and for programs that generate such files.
#pragma once

#include <string>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

/// The JSON Schema (2020-12) of the files that parse_pipeline() reads, with all known_elements() and their parameters. The
/// text ends with a line break. @thread any.
TENON_API std::string pipeline_schema();

}  // namespace elements
}  // namespace v1
}  // namespace tenon
