// SPDX-License-Identifier: Apache-2.0
// The only place of the release number: CMakeLists.txt reads it here; blobs, cache entries and the C API contain it.
#pragma once

/// "0.1.0". A macro, so that texts are joined at compile time.
#define TENON_VERSION "0.1.0"
