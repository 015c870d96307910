// SPDX-License-Identifier: Apache-2.0
// The kinds of files that describe models, and the form in which a model keeps what they state.
#pragma once

#include <span>

namespace tenon {
inline namespace v1 {

/// rt_info[kSideFiles] has a map for each kind: facts by their keys, beside these entries.
constexpr const char* kSideFiles = "side_files";
constexpr const char* kFileEntry = "file";
constexpr const char* kExporterEntry = "exporter";
constexpr const char* kRemarksEntry = "remarks";
/// The kind of the file that the user named.
constexpr const char* kNamedSideFile = "named";

struct SideFileKind {
  const char* name;
  const char* exporter;
};

/// In the order of their precedence.
std::span<const SideFileKind> side_file_kinds();

}  // namespace v1
}  // namespace tenon
