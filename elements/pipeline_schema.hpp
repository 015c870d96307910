// SPDX-License-Identifier: Apache-2.0
// The JSON schema of pipeline files, for editors and for who generates such files.
#pragma once

#include <string>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

/// JSON Schema (2020-12) of what parse_pipeline() reads, with all known_elements() and their parameters. A line break at
/// the end. @thread any.
TENON_API std::string pipeline_schema();

}  // namespace elements
}  // namespace v1
}  // namespace tenon
