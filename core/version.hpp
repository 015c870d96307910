// SPDX-License-Identifier: Apache-2.0
// The release number, defined only here. CMakeLists.txt reads it; blobs, cache entries and the C API contain it.
#pragma once

/// "0.1.0". A macro, so that string literals can be joined with it at compile time.
#define TENON_VERSION "0.1.0"
