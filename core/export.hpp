// SPDX-License-Identifier: Apache-2.0
// Symbol visibility and the header-only switch.
#pragma once

/// TENON_API marks the exported symbols of the shared libraries. Programs may be built with hidden visibility.
#include <tenon/core/platform/visibility.hpp>  // IWYU pragma: export

/// TENON_HEADER_ONLY makes the compiled parts of core inline. Only for programs of a single binary, because registries
/// and ledger must exist once per process.
#ifdef TENON_HEADER_ONLY
#define TENON_INLINE inline
#else
#define TENON_INLINE
#endif
