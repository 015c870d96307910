// SPDX-License-Identifier: Apache-2.0
// The release, once: CMakeLists.txt reads it here, and blobs, cache entries and the C API name it.
#pragma once

/// "0.1.0". A macro, so that texts are put together when compiled.
#define TENON_VERSION "0.1.0"
