// SPDX-License-Identifier: Apache-2.0
// What was measured, as it is kept in the cache folder.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include <tenon/store/content_hash.hpp>

namespace tenon::inline v1::gpu_device {

/// What was measured: for each problem the fastest candidate's name. A problem is what decides how fast candidates are:
/// the kind, types, shapes; not what else a kernel computes with the result.
using Choices = std::map<std::string, std::string>;

struct KeptChoices {
  Choices choices{};
  std::string distrust{};  ///< Why the folder must not be trusted; empty: it is not that.
};

/// The entry (*.cl_tuning) with this key; no choices: there is none.
/// @errors kDataLoss: it is damaged, of another format's version, or has another key.
KeptChoices read_choices(const std::filesystem::path& folder, const store::ContentHash& key);
/// Replaces it. A folder that must not be trusted gets nothing. @errors those of files.
void write_choices(const std::filesystem::path& folder, const store::ContentHash& key, const Choices& choices);

}  // namespace tenon::inline v1::gpu_device
