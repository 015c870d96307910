// SPDX-License-Identifier: Apache-2.0
// The release that wrote bytes. Data that outlives a process, and that another release may interpret differently,
// contains it: cache entries in their key, exported blobs in their header.
#pragma once

#include <string_view>

namespace tenon::inline v1::store {

/// "Tenon " and the version of this release.
std::string_view release() noexcept;

/// For the fields of a sealed header. 32 bytes, without padding.
struct MadeBy {
  char text[32];

  static MadeBy this_release() noexcept;
  std::string_view release() const noexcept;
};

/// @param owner  The begin of the message: "NPU".
/// @param remedy  The end of the message.
/// @errors kFailedPrecondition: another release made the blob; names both.
void check_made_by(const MadeBy& found, std::string_view owner, std::string_view remedy = "compile the model anew");

}  // namespace tenon::inline v1::store
